"""What README and the pages of docs say in numbers and rows is so."""

import importlib
import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from evenruler.evaluate.benchmark import open_benchmark
from evenruler.evaluate.measure import result_lines
from evenruler.evaluate.session import _summarise
from evenruler.instruments.registry import family_module
from evenruler.measurement.figures import figure_in_words
from evenruler.results.record import Heading
from tests.documents.pages import ROOT, blocks
from tests.results.synthetic import synthetic

NAME = "probes-occupation-gender"
MODELS = ("gemma-3-270m", "smollm2-135m-instruct")


def text_of(page: str) -> str:
    return (ROOT / page).read_text(encoding="utf-8")


def evidence_of(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((ROOT / f"benchmarks/{name}/evidence.json").read_text())
    return found


def test_the_validation_experiment_is_that_of_the_benchmark() -> None:
    evidence = evidence_of(NAME)["validation"]
    for model in MODELS:
        r, exact, alpha = (
            figure_in_words(evidence[model][figure], 3) for figure in ("r", "r_exact", "alpha")
        )
        assert f"| {model} | {r} | {exact} | {alpha} |" in text_of("docs/probes.md")


def test_its_figures_are_the_target_ones() -> None:
    """Computed apart from this project: Gemma .834, SmolLM2 .804 on 43 occupations with literal
    articles."""
    evidence = evidence_of(NAME)["validation"]
    for model, expected in (("gemma-3-270m", 0.834), ("smollm2-135m-instruct", 0.804)):
        assert abs(evidence[model]["r"]["value"] - expected) <= 0.005
        assert (evidence[model]["r"]["n"], evidence[model]["r_exact"]["n"]) == (43, 21)


def test_offsets_of_an_untrained_model_are_as_large_as_is_said() -> None:
    said = re.findall(r"offsets of ([\d.]+) and ([\d.]+) nats", text_of("docs/reading.md"))
    names = ("probes-age-competence", "probes-political-ideology-personality")
    found = [evidence_of(name)["seed"]["untrained-smollm2"]["offset"]["value"] for name in names]
    assert said == [tuple(f"{value:.1f}" for value in found)]


@pytest.mark.parametrize(
    ("table", "columns"),
    [
        (f"{NAME}/probes", ["text"]),
        ("questionnaires-gad-7/prompts", ["premise", "hypothesis"]),
        ("framing-gender/prompts", ["prompt"]),
        ("saged-countries/prompts", ["prompt"]),
    ],
)
def test_the_row_of_each_family_is_published(table: str, columns: list[str]) -> None:
    rows = pd.read_parquet(ROOT / f"benchmarks/{table}/test-00000-of-00001.parquet")
    published = set(rows[columns].agg(" ".join, axis=1))
    family = table.split("-")[0]
    for page, cell in (
        ("README.md", rf"\| \[{family}\]\(.*?\) \| (.*?) \|"),
        ("docs/index.md", rf"\| `{family}` \| (.*?) \|"),
    ):
        (row,) = re.findall(cell, text_of(page))
        assert row in published


def test_the_stages_are_the_pipeline() -> None:
    """Stage by stage; how many of each there are is in params.yaml."""
    rows = re.findall(
        r"^\| `([\w-]+)` \| [^|]* \| ([^|]*) \| [^|]*\|$",
        text_of("docs/architecture.md"),
        flags=re.M,
    )
    drawn = {
        (source, stage) for stage, sources in rows for source in re.findall(r"`([\w-]+)`", sources)
    }
    made = subprocess.run(
        ["dvc", "dag", "--mermaid"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    stages = dict(re.findall(r'(node\d+)\["([^"@]+)', made))
    arrows = {(stages[a], stages[b]) for a, b in re.findall(r"(node\d+)-->(node\d+)", made)}
    by_stages = {
        (source, stage) for source, stage in arrows if not source.endswith(".dvc")
    }  # those are data
    assert {stage for source, stage in by_stages if source == "declared"} == {
        stage for stage, _ in rows
    } - {"declared"}
    assert drawn == {(source, stage) for source, stage in by_stages if source != "declared"}


SOURCES = {
    "probes": ("docs/adding-a-probe-domain.md", {"embedder": "all-minilm-l6-v2"}),
    "questionnaires": ("docs/adding-a-questionnaire.md", {"embedder": "all-minilm-l6-v2"}),
    "framing": ("docs/adding-a-contrast.md", {}),
    "saged": ("docs/adding-a-saged-domain.md", {"embedder": "all-minilm-l6-v2"}),
}


@pytest.fixture
def source(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    """The example of a family as the family reads it."""
    family = request.param
    page, settings = SOURCES[family]
    place = f"data/sources/{family}/"
    (example,) = [
        one.text
        for one in blocks(page)
        if (one.title or "").startswith(place) and one.language == "yaml" and not one.merge
    ]
    path = tmp_path / "mine.yaml"
    path.write_text(example)
    declare = family_module(family, "declare")
    read = declare.Settings.model_validate(settings, context={"scale": "quick"})
    return declare.load(path, read, ROOT / "data/sources" / family / "shared")


@pytest.mark.parametrize("source", ["probes"], indirect=True)
def test_the_probes_pass_the_checks(source) -> None:
    assert source.sets["seed"].templates["doubt"].keying == -1
    assert [len(words) for words in source.targets.values()] == [6, 6]


@pytest.mark.parametrize("source", ["questionnaires"], indirect=True)
def test_the_questionnaire_passes_the_checks(source) -> None:
    assert source.items["promises"].terms.inverse == {"break": "break", "go-back-on": "go back on"}


@pytest.mark.parametrize("source", ["framing"], indirect=True)
def test_the_contrast_passes_the_checks(source) -> None:
    assert list(source.tasks["completion"].cells) == ["bare", "salience", "instruction"]
    assert source.tasks["completion"].placebos["salience"].texts[2] == "weather"


@pytest.mark.parametrize("source", ["saged"], indirect=True)
def test_the_domain_passes_the_checks(source) -> None:
    assert source.replacements == {
        "baker": {"smith": {"baker": "smith"}, "weaver": {"baker": "weaver"}}
    }


def shown_of_measuring() -> str:
    found = re.findall(
        r"```text\n(probes-occupation-gender [^\n]* on smollm2\n.*?)```",
        text_of("docs/measure.md"),
        flags=re.S,
    )
    (shown,) = found
    return str(shown)


def test_what_is_shown_of_measuring_is_what_measure_says_of_the_published_figures() -> None:
    """`tests/evaluate` holds that `measure` finds these figures."""
    with open_benchmark(NAME) as benchmark:
        columns = family_module(benchmark.family, "declare").headings(benchmark.plan)
    figures = {"validation": {"smollm2": evidence_of(NAME)["validation"]["smollm2-135m-instruct"]}}
    base = synthetic("smollm2", benchmark=NAME, version=benchmark.manifest.version)
    told = base.model_copy(
        update={
            "benchmark": base.benchmark.model_copy(update={"title": benchmark.title}),
            "headings": [
                Heading(**{key: getattr(one, key) for key in Heading.model_fields})
                for one in columns
            ],
            "figures": figures,
        }
    )
    told = told.model_copy(update={"answer": _summarise(told)})
    assert shown_of_measuring().splitlines() == list(result_lines(told))
    (said,) = re.findall(r" on smollm2, trial\n(.*?)```", text_of("docs/measure.md"), flags=re.S)
    assert " ".join(said.split()) == " ".join(told.answer)


@pytest.mark.parametrize("page", ["README.md", "docs/reading.md"])
def test_extracts_of_it_are_of_it(page) -> None:
    (extract,) = [one.text for one in blocks(page) if one.language == "text"]
    whole = text_of("docs/measure.md")
    assert [line for line in extract.splitlines() if line not in whole] == []


def test_every_name_of_the_reference_is_there() -> None:
    for page in (ROOT / "docs/reference").glob("*.md"):
        for name in re.findall(r"^::: ([\w.]+)$", page.read_text(), flags=re.M):
            module, _, last = name.rpartition(".")
            assert hasattr(importlib.import_module(module), last) or importlib.import_module(
                name
            ), name
