"""From rows to a folder, and from the folder alone to a result: by a model, by its log, and by a
log of another one."""

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from evenruler.errors import UserError
from evenruler.evaluate.measure import measure, result_lines
from evenruler.instruments.external import card, declare
from evenruler.instruments.instrument import Declaration
from evenruler.measurement.figures import dimensions_of
from evenruler.publish.folder import BenchmarkFolder, Config, write_benchmark
from evenruler.results.record import Result
from evenruler.versions import Changelog
from tests.instruments.external import made
from tests.instruments.near import approx
from tests.tiny import save_tiny

OLD = ("old", "elderly")
"""One shorter and one longer than young."""

WORDS = ("idle", "kind", "loud and late", "here", "tired", "quick to leave")


def written(place: Path, **more: Any) -> Path:
    """A benchmark of 48 pairs by eight writers, written out."""

    def old(unit: int, index: int) -> str:
        return f"The {OLD[index % 2]} {unit} are {WORDS[index]}."

    def young(unit: int, index: int) -> str:
        return f"The young {unit} are {WORDS[index]}."

    text = made.many_pairs(
        8,
        6,
        old,
        young,
    )
    return published(
        place,
        "external-made",
        made.source(
            place,
            "pairs",
            {"texts": text},
            **more,
        ),
    )


def published(place: Path, name: str, source: declare.Source) -> Path:
    """The folder of a benchmark, written out."""
    built = made.built(source)
    settings = made.SETTINGS
    words = card.card(
        Declaration("made", "external", settings, source), made.frames(built), built.plan, []
    )
    configs = [Config(**vars(config), table=built.tables[config.name]) for config in words.configs]
    benchmark = BenchmarkFolder(
        **{**vars(words), "configs": configs},
        name=name,
        title=source.title,
        version="0.1.0",
        language="en",
        construct=source.construct_,
        warning=None,
        citations=[],
        n_rejected=0,
        plan={**built.plan, "tools": {}},  # as the stage adds them
        evidence=[],
        models={},
        command="dvc repro card-third-party@made",
        changelog=Changelog(),
        third_party=True,
    )
    write_benchmark(benchmark, place / name)
    return place / name


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return written(tmp_path_factory.mktemp("external"), licence="cc-by-sa-4.0")


@pytest.fixture(scope="module")
def by_model(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Result, pd.DataFrame]:
    """A tiny model's result, and the scores that were written beside it."""
    place = tmp_path_factory.mktemp("model")
    monkeypatch = pytest.MonkeyPatch()
    monkeypatch.setenv("EVENRULER_CACHE", str(place / "cache"))
    model = save_tiny(place / "tiny")
    result = measure(
        f"local:{model}",
        folder,
        out=place / "results",
        size="full",
    )
    monkeypatch.undo()
    (scores,) = (place / "results").rglob("items.parquet")
    return result, pd.read_parquet(scores)


def rows_of(folder: Path) -> pd.DataFrame:
    return pd.read_parquet(folder / "texts/test-00000-of-00001.parquet")


def samples(folder: Path, values: Any) -> list[dict[str, Any]]:
    """A log of lm-evaluation-harness of its pairs, with likelihoods by text."""
    pairs = rows_of(folder).pivot(
        index="item",
        columns="role",
        values="text",
    )
    texts = pairs[["first", "second"]].itertuples(
        index=False,
        name=None,
    )
    rows = []
    for place, both in enumerate(texts):
        arguments = {
            f"gen_args_{index}": {"arg_0": "", "arg_1": text} for index, text in enumerate(both)
        }
        replies = [[[str(values(text)), "False"]] for text in both]
        rows.append({"doc_id": place, "arguments": arguments, "resps": replies})
    return rows


def log(path: Path, rows: list[dict[str, Any]]) -> str:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return f"recorded:{path}"


def rows_by_figure(result: Result) -> dict[str, dict[str, Any]]:
    """The rows of figures of all items."""
    return {row["figure"]: row for row in result.figures if not dimensions_of(row)}


@pytest.mark.slow
def test_it_is_measured_from_the_folder(by_model) -> None:
    result, items = by_model
    figures = rows_by_figure(result)
    assert figures["share"]["value"] == approx(items["won"].mean(), abs=1e-3)
    assert figures["lean"]["facets"].startswith("8 writers, ")
    assert figures["answered"]["value"] == 1
    assert figures["turned"]["n"] == figures["moved"]["n"] == 48
    assert 0 <= figures["turned"]["value"] <= 1
    assert figures["moved"]["low"] is not None  # five sentences
    lines = list(result_lines(result))
    assert any(line.split()[:1] == ["moved"] and "control" in line for line in lines)


@pytest.mark.slow
def test_a_log_gives_the_figures_of_the_model_that_it_is_of(folder, by_model, tmp_path) -> None:
    """Shares and the lean; its specific part goes by letters, which the verdict says."""
    result, items = by_model
    texts = rows_of(folder).set_index(["item", "role"])["text"]
    ratio = items.set_index("item")["value"]
    value = {texts[item, "first"]: ratio[item] for item in ratio.index}
    # A log-likelihood is never above 0; what both texts of an item have in common does not count.
    logged = samples(folder, lambda text: value.get(text, 0.0) - 1000)
    recorded = measure(log(tmp_path / "samples.jsonl", logged), folder)
    of_log, of_model = rows_by_figure(recorded), rows_by_figure(result)
    assert {**of_log["share"], "model": "tiny"} == of_model["share"]
    for name in ("value", "low", "high", "p"):
        assert of_log["lean"][name] == of_model["lean"][name]
    assert "Here length is in letters, since numbers of tokens are not" in of_log["lean"]["why"]
    assert recorded.model.kind == "recorded"
    assert of_log["turned"]["value"] is None


def test_text_that_may_not_be_passed_on_is_in_no_file(tmp_path) -> None:
    benchmark = written(tmp_path, licence="not stated", passed_on=False)
    for path in (path for path in benchmark.rglob("*") if path.is_file()):
        text = pd.read_parquet(path).to_csv() if path.suffix == ".parquet" else path.read_text()
        assert "young" not in text, path
    assert (benchmark / "ids/test-00000-of-00001.parquet").exists()
    with pytest.raises(UserError, match="lacks the table 'texts'"):
        measure(log(tmp_path / "samples.jsonl", []), benchmark)
