"""What the pictures and tables of framings hold: numbers, marks, and words where there is
nothing."""

from collections.abc import Iterable
from typing import Any

import pandas as pd
import pytest
import vl_convert as vlc

from evenruler.instruments.framing.report import charts, sections
from evenruler.instruments.framing.report.charts import over_stimuli
from evenruler.instruments.instrument import ReportInput
from evenruler.report.page import Cell, Picture, Section, Table
from tests.instruments.framing.report.framings import MADE, STIMULI, TEXTS, source, table


def of_framing(sources: dict[str, Any], tables: dict[str, pd.DataFrame]) -> list[Section]:
    return sections(ReportInput(sources, settings={}, tables=tables, built={}))


@pytest.fixture(scope="module")
def framings(tmp_path_factory: pytest.TempPathFactory) -> dict[str, pd.DataFrame]:
    folder = tmp_path_factory.mktemp("made")
    return {name: table(name, make(), folder) for name, make in MADE.items()}


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> dict[str, pd.DataFrame]:
    folder = tmp_path_factory.mktemp("empty")
    return {name: table(name, [], folder) for name in MADE}


@pytest.fixture(scope="module")
def pronouns(framings: Any) -> Section:
    (section,) = of_framing({"pronouns": source()}, framings)
    return section


@pytest.fixture(scope="module")
def probing(framings: Any) -> Section:
    study = {"factors": {"instruction": "the prompt asks"}, "replicates": "indirect-probing"}
    tasks = {
        "going-on": {
            "title": "Going on",
            "cells": {"bare": "{STIMULUS} {ANSWER}", "instruction": "Go on: {STIMULUS} {ANSWER}"},
        }
    }
    (section,) = of_framing({"probing": source(**study, tasks=tasks)}, framings)
    return section


def picture(section: Section, title: str) -> Picture:
    pictures = [part for part in section.parts if isinstance(part, Picture)]
    return next(part for part in pictures if part.title == title)


def table_in(section: Section, title: str) -> Table:
    tables = [part for part in section.parts if isinstance(part, Table)]
    return next(part for part in tables if part.title == title)


def data_of(section: Section, title: str) -> list[dict[str, Any]]:
    (rows,) = picture(section, title).chart.to_dict()["datasets"].values()
    return list(rows)


def rows_of(section: Section, title: str) -> list[list[str]]:
    """The texts of a table, headings first, spaces that do not break as plain ones."""
    part = table_in(section, title)
    rows = [with_plain_spaces(part.columns)]
    rows += [with_plain_spaces(cell.text for cell in row) for row in part.cells]
    return rows


def with_plain_spaces(texts: Iterable[str]) -> list[str]:
    return [text.replace("\u00a0", " ") for text in texts]


def test_a_dot_is_a_mean_over_tasks_and_then_over_factors(pronouns: Section) -> None:
    dots = {
        (row["model"], row["stimulus"]): row["apd"]
        for row in data_of(pronouns, "Probability of a shift")
    }
    # Tasks: (.1 + .4) / 2 and .5; factors: (.25 + .5) / 2. Placebos are in none of it.
    assert dots["m", "hair of length s0"] == 0.375
    assert dots["m (chat)", "hair of length s5"] == 0.625


def test_a_cue_is_drawn_with_its_figure_among_its_placebos(pronouns: Section) -> None:
    rows = [row for row in data_of(pronouns, "Cues and placebos") if row["model"] == "m"]
    row_by_mark = {(row["factor"], row["task"], row["what"]): row for row in rows}
    cue = row_by_mark["gender salience", "Going on", "cue"]
    assert cue.items() >= {"value": 0.35, "low": 0.3, "high": 0.4, "kind": "cue"}.items()
    assert row_by_mark["gender salience", "Choosing", "cue"]["kind"] == "cue"
    values = {row["what"]: row["value"] for row in rows}
    del values["cue"], values[None]
    assert values == {
        "placebo 1, of 5 stimuli": 0.05,
        "placebo 2, of 5 stimuli": 0.15,
        "placebo 3, of 4 stimuli": 0.9,
    }
    # A panel that has nothing holds a row nonetheless: without, panels stand under names that are
    # not theirs.
    assert row_by_mark["instruction", "Choosing", None]["value"] is None


def test_below_five_stimuli_a_cue_is_its_stimuli(framings: Any) -> None:
    effects = framings["effects"]
    tokens = effects[effects["readout"] == "token"]
    few = tokens[tokens["stimulus"].isin(STIMULI[:4])]
    (section,) = of_framing({"pronouns": source()}, framings | {"effects": few})
    rows = data_of(section, "Cues and placebos")
    assert {row["kind"] for row in rows if row["value"]} == {
        "cue, one stimulus",
        "a placebo in its place",
    }
    of_chat = [row for row in rows if row["model"] == "m (chat)"]
    choosing = [row["value"] for row in of_chat if row["task"] == "Choosing"]
    assert sorted(choosing) == [0.4, 0.5, 0.6, 0.7]
    assert not any(row["stimulus"] is None for row in data_of(section, "Probability of a shift"))


def marks(chart: Any, mark: str) -> int:
    """Shapes of one kind in a picture."""
    return vlc.vegalite_to_svg(chart.to_dict()).count(f'aria-roledescription="{mark}"')


@pytest.mark.parametrize(
    ("values", "end", "shapes"),
    [
        ([0.1, 0.2, 0.3, 0.4, 0.5], 0.3, {"area mark": 1, "point": 1}),
        ([0.3] * 9, 0.3, {"area mark": 0, "point": 1}),
        ([0.1 + 0.2, *[0.3] * 5], 0.3, {"area mark": 0}),
        ([0.1, 0.2, 0.3, 0.4], 0.3, {"area mark": 0, "point": 0}),
        ([0.3] * 5, None, {"point": 1, "rule mark": 0}),
        ([0.3] * 4, None, {"point": 0, "rule mark": 0}),
    ],
    ids=["all", "equal", "equal but for rounding", "few", "no interval", "few, no interval"],
)
def test_few_or_equal_dots_have_no_violin_and_few_no_mean(
    values: list[float], end: float | None, shapes: dict[str, int]
) -> None:
    names = [f"s{number}" for number in range(len(values))]
    dots = pd.DataFrame({"model": "m", "factor": "f", "stimulus": names, "apd": values})
    mean = pd.DataFrame([{"model": "m", "value": 0.3, "low": end, "high": end}])
    chart = charts.shift_probability(dots, mean)
    assert marks(chart, "circle") == len(values)
    assert {shape: marks(chart, shape) for shape in shapes} == shapes


def test_bars_are_the_figures(pronouns: Section) -> None:
    they, he = data_of(pronouns, "Which classes shift")
    assert they.items() >= {"outcome": "they", "value": 0.35, "low": 0.3, "high": 0.4}.items()
    assert [he[name] for name in ("outcome", "value")] == ["he", -0.2]


def test_shifts_of_few_stimuli_are_dots(framings: Any) -> None:
    shifts = framings["shifts"]
    few = shifts[shifts["stimulus"].isin(STIMULI[:4])]
    (section,) = of_framing({"pronouns": source()}, framings | {"shifts": few})
    assert sorted(row["value"] for row in data_of(section, "Which classes shift")) == [
        *[-0.2] * 4,
        0.1,
        0.2,
        0.3,
        0.4,
    ]
    assert marks(picture(section, "Which classes shift").chart, "bar") == 0


def test_a_stimulus_with_more_rows_counts_more_and_four_stimuli_have_no_interval() -> None:
    rows = [
        ("x", stimulus, shift)
        for stimulus, shift in zip("aabcde", (0.0, 0.3, 0.6, 0.3, 0.3, 0.3), strict=True)
    ]
    rows += [("y", stimulus, 0.5) for stimulus in "abcd"]
    of_five, of_four = over_stimuli(
        pd.DataFrame(rows, columns=["of", "stimulus", "shift"]), ["of"], "shift"
    ).to_dict("records")
    assert of_five["value"] == pytest.approx(0.3)
    # Left out: a, 1.5 / 4; b, 1.2 / 5; c, d and e, 1.5 / 5. Their SD, .0428, times root 4 times
    # 2.776, t of 4.
    assert (of_five["low"], of_five["high"]) == (
        pytest.approx(0.0621, abs=5e-5),
        pytest.approx(0.5379, abs=5e-5),
    )
    assert of_four["value"] == 0.5
    assert pd.isna([of_four["low"], of_four["high"]]).all()


def test_metrics_are_compared_on_what_both_have(pronouns: Section) -> None:
    rows = data_of(pronouns, "By readout")
    of_stimuli = [row for row in rows if row["stimulus"]]
    dots = {(row["readout"], row["stimulus"]): row["apd"] for row in of_stimuli}
    assert len(dots) == 10
    assert dots["token probability", "hair of length s3"] == 0.7
    assert dots["proportion of choices", "hair of length s3"] == 0.75
    assert {(row["task"], row["model"]) for row in of_stimuli} == {("Choosing", "m (chat)")}
    means = {row["readout"]: row["value"] for row in rows if not row["stimulus"]}
    assert means == {"token probability": 0.6, "proportion of choices": 0.5}


def test_choices_without_a_figure_are_in_no_picture(framings: Any) -> None:
    """As of one reply per question, which cannot be told from chance."""
    figures = framings["figures"]
    here = framings | {"figures": figures[figures["readout"] == "token"]}
    (section,) = of_framing({"pronouns": source()}, here)
    assert "By readout" not in [part.title for part in section.parts]


def test_arrows_point_where_a_measure_went(probing: Section) -> None:
    rows = data_of(probing, "Before and after")
    after = [row for row in rows if row["moment"] == "after"]
    ways = {row["measure"].split(",")[0]: row["way"] for row in after}
    assert ways == {"GAS": "up", "GLD": "down", "ADD": "same"}


def test_every_picture_is_drawn_without_a_complaint(
    pronouns: Section, probing: Section, capfd: pytest.CaptureFixture[str]
) -> None:
    drawn = [
        part
        for section in (pronouns, probing)
        for part in section.parts
        if isinstance(part, Picture)
    ]
    assert len(drawn) == 5
    for part in drawn:
        svg = vlc.vegalite_to_svg(part.chart.to_dict(), show_warnings=True)
        assert svg.count("<text") > 5, part.title
        assert capfd.readouterr() == ("", ""), part.title


def test_a_sample_is_called_one_where_not_all_stimuli_were_asked(
    pronouns: Section, framings: Any
) -> None:
    (whole,) = of_framing(
        {"pronouns": source(stimuli={name: TEXTS[name] for name in STIMULI})}, framings
    )
    for section, sampled in ((pronouns, True), (whole, False)):
        captions = [part.caption for part in section.parts if isinstance(part, Picture)]
        assert {"sample." in text for text in (section.text, *captions)} == {sampled}


def test_a_cue_stands_beside_its_placebos(pronouns: Section) -> None:
    m, salience = ["m", "token probability"], "gender salience"
    assert rows_of(pronouns, "The cue and its placebos")[1:5] == [
        [*m, salience, "all tasks", "0.50 [0.45, 0.55], n = 6", "0.30", ""],
        [*m, salience, "Going on", "0.35 [0.30, 0.40], n = 6", "0.10", ""],
        [*m, salience, "Choosing", "0.65 [0.60, 0.70], n = 6", "", "Hardly any answer."],
        [*m, "instruction", "Going on", "0.50 [0.45, 0.55], n = 6", "", ""],
    ]


def test_what_no_reply_tells_is_one_row_and_an_effect_over_some_tasks_says_which(
    prefixes: Any,
) -> None:
    figures = framings["figures"].copy()
    is_choice = figures["readout"] == "choice"
    figures.loc[is_choice, ["value", "low", "high"]] = None
    figures.loc[is_choice, "reason"] = "one reply per question"
    is_whole = (figures["cue"] == "gender-salience") & figures["task"].isna()
    is_lacking = is_whole & (figures["prompt_format"] == "plain")
    figures.loc[is_lacking, "reason"] = "over going-on alone: no placebos in choosing"
    (section,) = of_framing({"pronouns": source()}, framings | {"figures": figures})
    rows = rows_of(section, "The cue and its placebos")
    where = [row[3] for row in rows]
    assert where.count("over “Going on” alone: no placebos in “Choosing”") == 1
    assert "all tasks" in where
    (row,) = [row for row in rows if row[1] == "proportion of choices"]
    assert row == [
        "m (chat)",
        "proportion of choices",
        "every cue",
        "",
        "none (one reply per question)",
        "",
        "",
    ]


def test_over_all_cues_stand_shift_probability_and_coverage(pronouns: Section) -> None:
    numbers = ["0.50 [0.45, 0.55], n = 6", "0.25 [0.20, 0.30], n = 6"]
    assert rows_of(pronouns, "Over all cues") == [
        ["readout", "model", "shift probability", "coverage"],
        ["token probability", "m", *numbers],
        ["token probability", "m (chat)", *numbers],
        ["proportion of choices", "m (chat)", "", ""],
    ]


def test_cells_with_too_little_are_marked_and_counted(pronouns: Section) -> None:
    title = "How many answers name an option"
    part = table_in(pronouns, title)
    choice = "proportion of choices"
    assert rows_of(pronouns, title) == [
        ["readout", "task: cues", "m", "m (chat)"],
        ["token probability", "Choosing: instruction", "0.062, too little", ""],
        [choice, "Going on: no cue", "", "0.390, too little"],
        [choice, "Going on: instruction", "", "0.400"],
        [choice, "Going on: gender salience + instruction", "", "0.125, too little"],
        [choice, "Choosing: instruction", "", "1.000"],
    ]
    last = [row[-1] for row in part.rows]
    assert [cell.mark if isinstance(cell, Cell) else None for cell in last] == [
        None,
        "unfit",
        None,
        "unfit",
        None,
    ]
    assert part.caption.endswith(
        "Too little: m, token probability, 1 of 1 cells; m (chat), proportion of choices, 2 of 4 "
        "cells."
    )


def test_classes_are_compared_by_every_method(pronouns: Section) -> None:
    assert rows_of(pronouns, "Classes compared") == [
        ["of", "lineages", "classes", "fixed effects", "tukey", "jackknife"],
        [
            "token probability, plain prompt",
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
        ["m (chat)", f"1.50% ({three})", "2.00% (3 of 150)", none, none, none]
    ]


def test_measures_of_a_study_stand_before_and_after_beside_placebos(probing: Section) -> None:
    token = "token probability"
    assert rows_of(probing, "The study's own measures") == [
        ["model", "measure", "readout", "before", "after", "change", "control"],
        [
            "m",
            "GAS",
            token,
            "0.400 [0.300, 0.500]",
            "0.600 [0.500, 0.700]",
            "0.200 [-0.500, 0.500], n = 6",
            "0.050",
        ],
        ["m", "GLD", token, "0.500", "0.250", "-0.250, n = 6", ""],
        ["m", "ADD", token, "0.300", "0.300", "0.000, n = 6", ""],
        ["m", "S", token, "", "", "none (no reply was valid)", ""],
        ["m", "AS", "all", "", "", "0.150, n = 6", "0.100"],
    ]


def test_without_sampled_choices_no_part_is_of_them(
    pronouns: Section, framings: Any, empty: Any
) -> None:
    here = framings | {"continuations": empty["continuations"]}
    here |= {
        name: framings[name][framings[name]["readout"] == "token"]
        for name in ("effects", "exclusions")
    }
    here["figures"] = framings["figures"][framings["figures"]["readout"] == "token"]
    (section,) = of_framing({"pronouns": source()}, here)
    whole = {part.title for part in pronouns.parts}
    left = {part.title for part in section.parts}
    assert whole - left == {"By readout", "Does “they” stay “they”?"}


def test_empty_tables_are_a_sentence(empty: Any) -> None:
    (section,) = of_framing({"pronouns": source()}, empty)
    assert list(section.parts) == []
    assert section.text.endswith("No model was asked.")


def test_one_cue_has_one_picture_of_its_effect(framings: Any) -> None:
    cells = {"bare": "{STIMULUS} {ANSWER}", "instruction": "Go on: {STIMULUS} {ANSWER}"}
    contrast = source(
        factors={"instruction": "the prompt asks"},
        tasks={"going-on": {"title": "Going on", "cells": cells}},
    )
    effects = framings["effects"]
    here = framings | {
        "effects": effects[(effects["factor"] == "instruction") & (effects["readout"] == "token")]
    }
    here |= {name: framings[name].iloc[:0] for name in ("exclusions", "shifts")}
    (section,) = of_framing({"pronouns": contrast}, here)
    titles = [part.title for part in section.parts if isinstance(part, Picture)]
    assert titles == ["Cues and placebos"]
    assert "Cue: instruction (the prompt asks)." in section.text
