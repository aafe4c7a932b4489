"""A result in Python: its tables, verdicts, units, replies, plot and page, beside what
`result.json` holds."""

import json
import math
import sys
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import evenruler
from evenruler import models
from evenruler.evaluate.cost import SpendingLimit
from evenruler.evaluate.measure import measure, measure_each
from evenruler.evaluate.resolve_model import ModelSpec
from evenruler.evaluate.session import replies_with_prompts
from evenruler.results.record import Result
from evenruler.results.store import read_stored_result
from evenruler.tables.frames import without_last_bits
from tests.results.synthetic import CONFIRMED, figure_row, gain_of, stored, synthetic
from tests.text_tables import table_of_text
from tests.tiny import save_tiny

MADE_OF = table_of_text("""\
unit|at|word|group|pole|axis_position|value
nurse|t|man|g|1|10|1
nurse|u|man|g|1|10|3
nurse|t|woman|h|-1|10|5
nurse|t|guest|p|0|10|99
smith|t|man|g|1|90|2
smith|t|woman|h|-1|90|0.5
""").assign(set="s", readout=math.nan, model="one", figure="spread", rows="r")


def test_units_are_the_first_group_less_the_other_and_placebos_are_none() -> None:
    alone = synthetic().with_tables(MADE_OF[MADE_OF["pole"] == 1], {}).units()
    assert alone.set_index("unit")["value"].to_dict() == {"nurse": 2.0, "smith": 2.0}
    units = synthetic().with_tables(MADE_OF, {}).units()
    place = {"figure": "spread", "set": "s"}
    assert units.to_dict("records") == [
        {**place, "unit": "smith", "value": 1.5, "axis_position": 90.0},
        {**place, "unit": "nurse", "value": -3.0, "axis_position": 10.0},
    ]


def test_a_result_that_was_read_has_units_and_one_without_tables_says_so(
    tmp_path: Path, error_of: Callable[..., str]
) -> None:
    stored_result = stored(tmp_path, synthetic(), gain_of("one")).result
    names = {f"unit-{number:02}" for number in range(12)}
    assert set(stored_result.units()["unit"]) == names
    assert stored_result.replies().empty
    assert "its tables are not here" in error_of(synthetic().units)


def test_tables_are_neither_in_json_nor_compared() -> None:
    bare = synthetic()
    whole = bare.with_tables(MADE_OF, {"scores": MADE_OF})
    assert whole == bare
    assert whole.to_json() == bare.to_json()
    assert Result.model_validate_json(whole.to_json()) == bare
    assert "\n" not in whole.to_json()
    assert list(whole.tables) == ["scores"]
    assert whole.model_copy(update={"summary": ["x"]}).tables is whole.tables


def test_verdicts_by_figure_and_dimensions() -> None:
    spread = figure_row("spread", 0.6, **CONFIRMED)
    other = {**spread, "method": "mlm", "verdict": "inconclusive"}
    result = synthetic(figures=[spread, other, figure_row("alpha", 0.9)])
    assert result.verdicts == {
        "spread:set=seed": "detected",
        "spread:set=seed:method=mlm": "inconclusive",
    }


def test_a_frame_says_how_it_was_measured() -> None:
    row = synthetic(limit=5, prefixes=False).frame().iloc[0]
    assert row[["size", "limit", "prefixes"]].tolist() == ["trial", 5, False]


def test_replies_stand_beside_their_prompts() -> None:
    replies = table_of_text("id|seed|reply|reason\nb|1|yes|\na|2||no\n")
    published = {"prompts": table_of_text("id|prompt\na|A?\nb|B?\n")}
    joined = replies_with_prompts({"replies": replies, "choices": replies}, published)["replies"]
    assert list(joined.columns) == ["prompt", "reply", "reason", "id", "seed"]
    assert joined["prompt"].tolist() == ["B?", "A?"]
    assert (
        replies_with_prompts({"replies": replies.iloc[:0]}, published)
        == replies_with_prompts({}, published)
        == {}
    )


def test_a_plot_has_a_panel_a_figure(
    error_of: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    alpha = figure_row("alpha", 0.9)
    above = figure_row("spread", 0.6, **CONFIRMED)
    below = figure_row("gain", -0.6, **CONFIRMED) | {"low": -0.8, "high": -0.4}
    chart = synthetic(figures=[above, below, alpha]).plot().to_dict()
    rows = pd.concat(map(pd.DataFrame, chart["datasets"].values())).set_index("value")
    numbers = rows.loc[-0.6, ["low", "high", "less", "bound"]]
    assert numbers.tolist() == [-0.8, -0.4, -0.05, 0.05]
    assert rows.loc[0.6, "where"] == "seed: detected"
    assert len(chart["vconcat"]) == 2
    assert "no headline has a value and a verdict" in error_of(synthetic(figures=[alpha]).plot)
    monkeypatch.setitem(sys.modules, "altair", None)
    assert (
        error_of(synthetic().plot)
        == "plot: a plot needs the package altair; run `pip install 'evenruler[build]'`"
    )


class Seen(HTMLParser):
    """The tags of a page, and its text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags, self.text = list[str](), ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.tags.append(tag)

    def handle_data(self, data: str) -> None:
        self.text += data


def test_a_notebook_shows_the_answer_and_nothing_that_runs() -> None:
    bad = "<script>alert(1)</script>"
    result = synthetic(figures=[figure_row("spread", 0.6, **CONFIRMED) | {"set": bad}])
    page = Seen(result.model_copy(update={"summary": [f"detected {bad}"]})._repr_html_())
    assert "script" not in page.tags
    assert f"detected {bad}" in page.text
    assert "0.60 [0.40, 0.80], n = 20\n      90.0\n      detected\n" in page.text


@pytest.mark.slow
def test_what_is_measured_brings_its_tables_and_a_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("EVENRULER_CACHE", str(tmp_path / "cache"))
    save_tiny(tmp_path / "tiny", chat=True, max_position_embeddings=1024)
    result = measure("./tiny", "probes-age-competence", limit=6, size="trial", out="results")
    there = read_stored_result(tmp_path / "results" / result.folder / "result.json")
    written = result.with_tables(without_last_bits(result.headlines), {})
    pd.testing.assert_frame_equal(written.units(), there.result.units(), rtol=1e-12, atol=0)
    assert {path.stem for path in there.folder.glob("*.parquet")} == {
        *result.tables,
        "headlines",
        "answers-likelihoods",
        "answers-starts",
    }
    options: dict[str, Any] = {"device": None, "max_requests": None}
    options |= {"spending": SpendingLimit(), "limit": 6, "size": "trial"}
    tiny = ModelSpec("./tiny")
    folder, benchmarks = Path("results"), ["probes-age-competence", "framing-age"]
    (page,) = measure_each(tiny, benchmarks, folder, show="html", **options)
    seen = Seen(page)
    assert page.startswith("<!doctype html>")
    assert "Age and competence" in seen.text
    assert "framing-age" in seen.text
    assert "Differences" not in seen.text
    (line,) = measure_each(tiny, benchmarks[:1], folder, show="json", **options)
    assert json.loads(line) == json.loads(result.to_json())


def test_what_users_import_is_listed() -> None:
    assert {"measure", "load_results"} <= {*dir(evenruler)}
    assert {"load", "Model", "Sampling"} <= {*dir(models)}
