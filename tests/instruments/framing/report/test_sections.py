"""What the pictures and tables of framings hold: numbers, marks, and words where there is nothing."""

from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import vl_convert as vlc

from evenruler.instruments.framing.report import charts, sections
from evenruler.instruments.framing.report.charts import over_stimuli
from evenruler.instruments.instrument import Shown
from evenruler.report.page import Cell, Picture, Section, Table
from tests.instruments.framing.report.framings import MADE, STIMULI, TEXTS, source, table


def of_framing(sources: dict[str, Any], tables: dict[str, pd.DataFrame]) -> list[Section]:
    return sections(Shown(sources, settings={}, tables=tables, built={}))


@pytest.fixture
def framings(tmp_path: Path) -> dict[str, pd.DataFrame]:
    return {name: table(name, make(), tmp_path) for name, make in MADE.items()}


@pytest.fixture
def empty(tmp_path: Path) -> dict[str, pd.DataFrame]:
    return {name: table(name, [], tmp_path) for name in MADE}


@pytest.fixture
def pronouns(framings: Any) -> Section:
    (found,) = of_framing({"pronouns": source()}, framings)
    return found


@pytest.fixture
def probing(framings: Any) -> Section:
    one = {"factors": {"instruction": "the prompt asks"}, "replicates": "indirect-probing"}
    tasks = {
        "going-on": {"title": "Going on", "cells": {"-": "{STIMULUS} {ANSWER}", "+": "Go on: {STIMULUS} {ANSWER}"}}
    }
    (found,) = of_framing({"probing": source(**one, tasks=tasks)}, framings)
    return found


def picture(found: Section, title: str) -> Picture:
    return next(part for part in found.parts if isinstance(part, Picture) and part.title == title)


def data_of(found: Section, title: str) -> list[dict[str, Any]]:
    (data,) = picture(found, title).chart.to_dict()["datasets"].values()
    return list(data)


def rows_of(found: Section, title: str) -> list[list[str]]:
    """The texts of a table, headings first, spaces that do not break as plain ones."""
    part = next(part for part in found.parts if isinstance(part, Table) and part.title == title)
    rows = [list(part.columns), *([cell.text for cell in row] for row in part.cells)]
    return [[text.replace("\u00a0", " ") for text in row] for row in rows]


def test_a_dot_is_a_mean_over_tasks_and_then_over_factors(pronouns: Section) -> None:
    dots = {(row["model"], row["stimulus"]): row["apd"] for row in data_of(pronouns, "Probability of a shift")}
    # Tasks: (.1 + .4) / 2 and .5; factors: (.25 + .5) / 2.
    assert dots["m", "hair of length s0"] == 0.375
    assert dots["m (chat)", "hair of length s5"] == 0.625
    by_factor = {(row["factor"], row["stimulus"]): row["apd"] for row in data_of(pronouns, "Cue by cue")}
    assert by_factor["gender salience", "hair of length s0"] == 0.25
    assert by_factor["instruction", "hair of length s0"] == 0.5


def test_means_are_the_figures_of_the_table(pronouns: Section) -> None:
    means = [row for row in data_of(pronouns, "Cue by cue") if row["stimulus"] is None]
    found = {(row["model"], row["factor"]): (row["value"], row["low"], row["high"]) for row in means}
    assert found["m", "gender salience"] == (0.5, 0.45, 0.55)
    assert found["m (chat)", "instruction"] == (0.5, None, None)
    assert len(found) == 4


def marks(chart: Any, mark: str) -> int:
    """Shapes of one kind in a picture."""
    return vlc.vegalite_to_svg(chart.to_dict()).count(f'aria-roledescription="{mark}"')


@pytest.mark.parametrize(
    ("values", "shaped"), [([0.1, 0.2, 0.3, 0.4, 0.5], True), ([0.3] * 9, False), ([0.1, 0.2, 0.3, 0.4], False)]
)
def test_few_or_equal_dots_have_no_violin_and_are_drawn(values: list[float], shaped: bool) -> None:
    names = [f"s{number}" for number in range(len(values))]
    dots = pd.DataFrame({"model": "m", "factor": "f", "stimulus": names, "apd": values})
    mean = pd.DataFrame([{"model": "m", "value": 0.3, "low": 0.3, "high": 0.3}])
    chart = charts.shift_probability(dots, mean)
    assert marks(chart, "circle") == len(values)
    assert marks(chart, "point") == 1
    assert marks(chart, "area mark") == int(shaped)


def test_dots_that_differ_by_rounding_alone_have_no_violin() -> None:
    dots = pd.DataFrame({"model": "m", "factor": "f", "stimulus": list("abcdef"), "apd": [0.1 + 0.2, *[0.3] * 5]})
    chart = charts.shift_probability(dots, pd.DataFrame([{"model": "m", "value": 0.3, "low": 0.3, "high": 0.3}]))
    assert marks(chart, "area mark") == 0


def test_a_mean_without_interval_is_drawn_alone() -> None:
    dots = pd.DataFrame({"model": "m", "factor": "f", "stimulus": ["a"], "apd": [0.3]})
    chart = charts.shift_probability(dots, pd.DataFrame([{"model": "m", "value": 0.3, "low": None, "high": None}]))
    assert (marks(chart, "point"), marks(chart, "rule mark")) == (1, 0)


def test_bars_are_means_over_rows_with_intervals_over_stimuli(pronouns: Section) -> None:
    data = data_of(pronouns, "Which classes shift")
    assert [row["outcome"] for row in data] == ["they", "he"]
    they, he = data
    assert they["value"] == 0.35
    assert 0.1 < they["low"] < 0.35 < they["high"] < 0.6
    assert (he["value"], he["low"], he["high"]) == (-0.2, -0.2, -0.2)


def test_a_stimulus_with_more_rows_counts_more_and_one_stimulus_has_no_interval() -> None:
    rows = pd.DataFrame({"of": list("xxxy"), "stimulus": list("aabb"), "shift": [0.0, 0.3, 0.6, 0.5]})
    x, y = over_stimuli(rows, ["of"], "shift").to_dict("records")
    assert x["value"] == pytest.approx(0.3)
    # Drawn: a twice, b twice, or one of each.
    assert (x["low"], x["high"]) == (pytest.approx(0.15), pytest.approx(0.6))
    assert y["value"] == 0.5
    assert pd.isna([y["low"], y["high"]]).all()


def test_metrics_are_compared_on_what_both_have(pronouns: Section) -> None:
    data = data_of(pronouns, "Metric by metric")
    dots = {(row["metric"], row["stimulus"]): row["apd"] for row in data if row["stimulus"]}
    assert len(dots) == 8
    assert dots["token probability", "hair of length s3"] == 0.7
    assert dots["proportion of choices", "hair of length s3"] == 0.75
    assert {(row["task"], row["model"]) for row in data if row["stimulus"]} == {("Choosing", "m (chat)")}
    means = {row["metric"]: row["value"] for row in data if not row["stimulus"]}
    assert means == {"token probability": 0.55, "proportion of choices": 0.375}


def test_arrows_point_where_a_measure_went(probing: Section) -> None:
    data = data_of(probing, "Before and after")
    after = {row["measure"].split(",")[0]: row for row in data if row["moment"] == "after"}
    assert {name: row["way"] for name, row in after.items()} == {"GAS": "up", "GLD": "down", "ADD": "same"}
    assert (after["GLD"]["value"], after["GLD"]["low"], after["GLD"]["high"]) == (0.25, 0.15, 0.35)
    assert [row["value"] for row in data if row["moment"] == "before"] == [0.4, 0.5, 0.3]


def test_every_picture_is_drawn_without_a_complaint(
    pronouns: Section, probing: Section, capfd: pytest.CaptureFixture[str]
) -> None:
    drawn = [part for found in (pronouns, probing) for part in found.parts if isinstance(part, Picture)]
    assert len(drawn) == 5
    for part in drawn:
        svg = vlc.vegalite_to_svg(part.chart.to_dict(), show_warnings=True)
        assert svg.count("<text") > 5, part.title
        assert capfd.readouterr() == ("", ""), part.title


def test_the_lead_says_what_is_measured_by_which_cues_of_which_sample(pronouns: Section) -> None:
    assert pronouns.title == "Framing: Pronouns"
    assert pronouns.text == (
        "Measures the choice of pronouns; a shift above 0 says more of it. Cues: gender salience (the prompt names "
        "gender) and instruction (the prompt asks). Only 6 of the 8 stimuli were asked, evenly spread: a sample. "
        "Replies were sampled from m (chat)."
    )
    captions = [part.caption for part in pronouns.parts if isinstance(part, Picture)]
    assert all(caption.endswith("Only 6 of the 8 stimuli were asked, evenly spread: a sample.") for caption in captions)


def test_where_all_stimuli_were_asked_nothing_is_called_a_sample(framings: Any) -> None:
    (found,) = of_framing({"pronouns": source(stimuli={name: TEXTS[name] for name in STIMULI})}, framings)
    assert "sample." not in found.text + "".join(part.caption for part in found.parts)


def test_effects_are_a_row_a_model_and_a_reason_where_there_is_none(pronouns: Section) -> None:
    assert rows_of(pronouns, "Effects of the cues") == [
        ["metric", "model", "shift probability", "effect: gender salience", "effect: instruction", "coverage"],
        *(
            ["token probability", model, *["0.50 [0.45, 0.55], n = 6"] * 2, "0.50, n = 6", "0.25 [0.20, 0.30], n = 6"]
            for model in ("m", "m (chat)")
        ),
    ]
    assert rows_of(pronouns, "Effects of the cues, task by task")[:3] == [
        ["metric", "model", "cue", "Going on", "Choosing"],
        ["token probability", "m", "gender salience", "0.35 [0.30, 0.40], n = 6", ""],
        ["token probability", "m", "instruction", "0.50 [0.45, 0.55], n = 6", "none (no two cells differ)"],
    ]


def test_excluded_cells_are_marked_and_counted(pronouns: Section) -> None:
    title = "Invalid replies, and what was excluded"
    part = next(part for part in pronouns.parts if isinstance(part, Table) and part.title == title)
    assert rows_of(pronouns, title) == [
        ["task: cues", "m (chat)"],
        ["Going on: no cue", "0.61 excluded"],
        ["Going on: instruction", "0.60"],
        ["Going on: gender salience + instruction", "0.88 excluded"],
        ["Choosing: instruction", "0.00"],
        ["Choosing: gender salience + instruction", ""],
    ]
    assert [row[-1].mark if isinstance(row[-1], Cell) else None for row in part.rows] == [
        "poor",
        None,
        "poor",
        *[None] * 2,
    ]
    assert part.caption.endswith("Excluded: m (chat), 2 of 4 cells.")
    assert "(12 replies a cell)" in part.caption


def test_classes_are_compared_by_every_method(pronouns: Section) -> None:
    assert rows_of(pronouns, "Classes compared") == [
        ["of", "lineages", "classes", "fixed effects", "tukey", "bootstrap"],
        [
            "token probability, bare prompt",
            "1",
            "they against he",
            "0.55 [0.25, 0.85], n = 12; p < 0.001",
            "none (it did not converge)",
            "0.55 [0.25, 0.85], n = 12",
        ],
    ]


def test_continuations_are_shares_with_their_counts(pronouns: Section) -> None:
    none, three = "none (no such reply)", "3 of 200"
    assert rows_of(pronouns, "Does “they” stay “they”?")[1:] == [
        ["m (chat)", f"1.50% ({three})", "2.00% (3 of 150)", *[none] * 3]
    ]


def test_measures_of_a_study_stand_before_and_after(probing: Section) -> None:
    assert rows_of(probing, "The study's own measures") == [
        ["model", "measure", "metric", "before", "after", "change"],
        [
            "m",
            "GAS",
            "token probability",
            "0.400 [0.300, 0.500]",
            "0.600 [0.500, 0.700]",
            "0.200 [-0.500, 0.500], n = 6",
        ],
        [
            "m",
            "GLD",
            "token probability",
            "0.500 [0.400, 0.600]",
            "0.250 [0.150, 0.350]",
            "-0.250 [-0.500, 0.500], n = 6",
        ],
        [
            "m",
            "ADD",
            "token probability",
            "0.300 [0.200, 0.400]",
            "0.300 [0.200, 0.400]",
            "0.000 [-0.500, 0.500], n = 6",
        ],
        ["m", "S", "token probability", "", "", "none (no reply was valid)"],
        ["m", "AS", "all", "", "", "0.150 [0.100, 0.200], n = 6"],
    ]


def test_without_sampled_choices_there_is_a_sentence_and_no_part(framings: Any, empty: Any) -> None:
    here = {name: empty[name] if name in ("exclusions", "continuations") else framings[name] for name in framings}
    here["effects"] = framings["effects"][framings["effects"]["metric"] == "token"]
    (found,) = of_framing({"pronouns": source()}, here)
    assert found.text.endswith("No replies were sampled, so there are token probabilities alone.")
    assert [part.title for part in found.parts] == [
        "Effects of the cues",
        "Effects of the cues, task by task",
        "Probability of a shift",
        "Cue by cue",
        "Which classes shift",
        "Classes compared",
    ]


def test_empty_tables_are_a_sentence(empty: Any) -> None:
    (found,) = of_framing({"pronouns": source()}, empty)
    assert list(found.parts) == []
    assert found.text.endswith("No model was asked.")


def test_one_cue_has_no_pictures_cue_by_cue(framings: Any) -> None:
    cells = {"-": "{STIMULUS} {ANSWER}", "+": "Go on: {STIMULUS} {ANSWER}"}
    one = source(factors={"instruction": "the prompt asks"}, tasks={"going-on": {"title": "Going on", "cells": cells}})
    effects = framings["effects"]
    here = framings | {"effects": effects[(effects["factor"] == "instruction") & (effects["metric"] == "token")]}
    here |= {name: framings[name].iloc[:0] for name in ("exclusions", "shifts")}
    (found,) = of_framing({"pronouns": one}, here)
    titles = [part.title for part in found.parts if isinstance(part, Picture)]
    assert titles == ["Probability of a shift"]
    assert "Cue: instruction (the prompt asks)." in found.text
