"""What README and the pages of docs say in numbers and rows is so."""

import json
import re
import subprocess
from pathlib import Path

import pandas as pd
import pytest

from evenruler.evaluate.benchmark import open_benchmark
from evenruler.evaluate.measure import result_lines
from evenruler.evaluate.session import _planted_records, _summarise
from evenruler.instruments.registry import family_module
from evenruler.measurement.figures import Row, figure_in_words
from evenruler.results.record import Heading
from tests.documents.pages import ROOT, blocks
from tests.figures import find_figure, select_figures
from tests.results.synthetic import synthetic

NAME = "probes-occupation-gender"
MODELS = ("gemma-3-270m", "smollm2-135m-instruct")


def text_of(page: str) -> str:
    return (ROOT / page).read_text(encoding="utf-8")


def evidence_of(name: str) -> list[Row]:
    path = ROOT / f"benchmarks/{name}/evidence.json"
    evidence: dict[str, list[Row]] = json.loads(path.read_text())
    return evidence["figures"]


def validity_figures(model: str) -> list[Row]:
    """r, r over exact matches, and alpha of the validation set."""
    figures = evidence_of(NAME)
    of_set = {"model": model, "set": "validation", "templates": None}
    dimensions = ({"figure": "r", "match": None}, {"figure": "r", "match": "exact"})
    return [find_figure(figures, **of_set, **row) for row in (*dimensions, {"figure": "alpha"})]


def test_the_validation_experiment_is_that_of_the_benchmark() -> None:
    for model in MODELS:
        r, exact, alpha = [figure_in_words(row, 3) for row in validity_figures(model)]
        assert f"| {model} | {r} | {exact} | {alpha} |" in text_of("docs/probes.md")


def test_its_figures_are_the_target_ones() -> None:
    """Computed apart from this project: Gemma .834, SmolLM2 .804 on 43 occupations with literal
    articles."""
    for model, expected in zip(MODELS, (0.834, 0.804), strict=True):
        r, exact, _ = validity_figures(model)
        assert abs(r["value"] - expected) <= 0.005
        assert (r["n"], exact["n"]) == (43, 21)


def test_offsets_of_an_untrained_model_are_as_large_as_is_said() -> None:
    printed = re.findall(r"offsets of ([\d.]+) and ([\d.]+) nats", text_of("docs/reading.md"))
    names = ("probes-age-competence", "probes-political-ideology-personality")
    offsets = []
    for name in names:
        offset = {"figure": "offset", "set": "seed", "model": "untrained-smollm2"}
        offsets.append(f"{find_figure(evidence_of(name), **offset)['value']:.1f}")
    assert printed == [tuple(offsets)]


def test_the_row_of_each_family_is_published() -> None:
    for table, columns in {
        f"{NAME}/stems": ["text"],
        "questionnaires-gad-7/prompts": ["premise", "hypothesis"],
        "framing-gender/prompts": ["prompt"],
        "saged-countries/prompts": ["prompt"],
    }.items():
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
    expected = {("declared", stage) for stage, _ in rows if stage != "declared"}
    for stage, sources in rows:
        expected |= {(source, stage) for source in re.findall(r"`([\w-]+)`", sources)}
    command = ["dvc", "dag", "--mermaid"]
    diagram = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    stages = dict(re.findall(r'(node\d+)\["([^"@]+)', diagram))
    arrows = {
        (
            stages[a],
            stages[b],
        )
        for a, b in re.findall(r"(node\d+)-->(node\d+)", diagram)
    }
    # Names that end in .dvc are data.
    assert {arrow for arrow in arrows if not arrow[0].endswith(".dvc")} == expected


SOURCES = {
    "probes": ("docs/adding-a-probe-domain.md", {"embedder": "all-minilm-l6-v2"}),
    "questionnaires": ("docs/adding-a-questionnaire.md", {"embedder": "all-minilm-l6-v2"}),
    "framing": ("docs/adding-a-contrast.md", {}),
    "saged": ("docs/adding-a-saged-domain.md", {"embedder": "all-minilm-l6-v2"}),
}


@pytest.mark.parametrize("family", SOURCES)
def test_the_example_of_a_family_is_read(family: str, tmp_path: Path) -> None:
    page, settings = SOURCES[family]
    place = f"data/sources/{family}/"
    whole = [block for block in blocks(page) if block.language == "yaml" and not block.merge]
    (example,) = [block for block in whole if block.title and block.title.startswith(place)]
    path = tmp_path / "mine.yaml"
    path.write_text(example.text)
    declare = family_module(family, "declare")
    read = declare.Settings.model_validate(settings, context={"profile": "quick"})
    assert declare.load(path, read, ROOT / "data/sources" / family / "shared").title


def shown_of_measuring() -> str:
    extracts = re.findall(
        r"```text\n(probes-occupation-gender [^\n]* on smollm2\n.*?)```",
        text_of("docs/measure.md"),
        flags=re.S,
    )
    (shown,) = extracts
    return str(shown)


def test_what_is_shown_of_measuring_is_what_measure_says_of_the_published_figures() -> None:
    """`tests/evaluate` holds that `measure` finds these figures."""
    with open_benchmark(NAME) as benchmark:
        columns = family_module(benchmark.family, "declare").headings(benchmark.plan)
    figures_of_model = select_figures(evidence_of(NAME), model=MODELS[1])
    rows = [row for row in figures_of_model if row["set"] in ("next-word", "validation")]
    figures = [{**row, "model": "smollm2"} for row in rows]
    base = synthetic("smollm2", benchmark=NAME, version=benchmark.manifest.version)
    headings = []
    for column in columns:
        fields = {name: getattr(column, name) for name in Heading.model_fields}
        headings.append(Heading(**fields))
    titled = base.benchmark.model_copy(update={"title": benchmark.title})
    update = {"benchmark": titled, "headings": headings, "figures": figures}
    measured = base.model_copy(update=update)
    with open_benchmark(NAME) as benchmark:
        summary = _summarise(measured, _planted_records(benchmark))
    measured = measured.model_copy(update={"summary": summary})
    assert shown_of_measuring().splitlines() == list(result_lines(measured))
    (answer,) = re.findall(r" on smollm2, trial\n(.*?)```", text_of("docs/measure.md"), flags=re.S)
    assert answer.split() == " ".join(measured.summary).split()


@pytest.mark.parametrize("page", ["README.md", "docs/reading.md"])
def test_extracts_of_it_are_of_it(page) -> None:
    (extract,) = [block.text for block in blocks(page) if block.language == "text"]
    whole = text_of("docs/measure.md")
    assert [line for line in extract.splitlines() if line not in whole] == []
