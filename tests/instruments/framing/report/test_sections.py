"""What the pictures and tables of framings hold: numbers, marks, and words where there is
nothing."""

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
    (found,) = of_framing({"pronouns": source()}, framings)
    return found


@pytest.fixture(scope="module")
def probing(framings: Any) -> Section:
    one = {"factors": {"instruction": "the prompt asks"}, "replicates": "indirect-probing"}
    tasks = {
        "going-on": {
            "title": "Going on",
            "cells": {"bare": "{STIMULUS} {ANSWER}", "instruction": "Go on: {STIMULUS} {ANSWER}"},
        }
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
    dots = {
        (row["model"], row["stimulus"]): row["apd"]
        for row in data_of(pronouns, "Probability of a shift")
    }
    # Tasks: (.1 + .4) / 2 and .5; factors: (.25 + .5) / 2. Placebos are in none of it.
    assert dots["m", "hair of length s0"] == 0.375
    assert dots["m (chat)", "hair of length s5"] == 0.625


def test_a_cue_is_drawn_with_its_figure_among_its_placebos(pronouns: Section) -> None:
    data = [row for row in data_of(pronouns, "Cues and placebos") if row["model"] == "m"]
    found = {(row["factor"], row["task"], row["what"]): row for row in data}
    cue = found["gender salience", "Going on", "cue"]
    assert (cue["value"], cue["low"], cue["high"], cue["kind"]) == (0.35, 0.3, 0.4, "cue")
    assert found["gender salience", "Choosing", "cue"]["kind"] == "cue"
    placebos = {
        what: row["value"] for (*_, what), row in found.items() if what not in ("cue", None)
    }
    of = "placebo {}, of {} stimuli"
    assert placebos == {of.format(1, 5): 0.05, of.format(2, 5): 0.15, of.format(3, 4): 0.9}
    # A panel that has nothing holds a row nonetheless: without, panels stand under names that are
    # not theirs.
    assert found["instruction", "Choosing", None]["value"] is None
    chart = picture(pronouns, "Cues and placebos").chart
    assert {side: of["field"] for side, of in chart.to_dict()["facet"].items()} == {
        "row": "factor",
        "column": "task",
    }
    assert marks(chart, "circle") == 12


def test_below_five_stimuli_a_cue_is_its_stimuli(framings: Any) -> None:
    effects = framings["effects"]
    few = effects[(effects["metric"] == "token") & effects["stimulus"].isin(STIMULI[:4])]
    (found,) = of_framing({"pronouns": source()}, framings | {"effects": few})
    data = data_of(found, "Cues and placebos")
    assert {row["kind"] for row in data if row["value"]} == {
        "cue, one stimulus",
        "a placebo in its place",
    }
    choosing = [
        row["value"] for row in data if (row["model"], row["task"]) == ("m (chat)", "Choosing")
    ]
    assert sorted(choosing) == [0.4, 0.5, 0.6, 0.7]
    assert not any(row["stimulus"] is None for row in data_of(found, "Probability of a shift"))


def marks(chart: Any, mark: str) -> int:
    """Shapes of one kind in a picture."""
    return vlc.vegalite_to_svg(chart.to_dict()).count(f'aria-roledescription="{mark}"')


@pytest.mark.parametrize(
    ("values", "shaped", "means"),
    [([0.1, 0.2, 0.3, 0.4, 0.5], True, 1), ([0.3] * 9, False, 1), ([0.1, 0.2, 0.3, 0.4], False, 0)],
)
def test_few_or_equal_dots_have_no_violin_and_are_drawn(
    values: list[float], shaped: bool, means: int
) -> None:
    names = [f"s{number}" for number in range(len(values))]
    dots = pd.DataFrame({"model": "m", "factor": "f", "stimulus": names, "apd": values})
    mean = pd.DataFrame([{"model": "m", "value": 0.3, "low": 0.3, "high": 0.3}])
    chart = charts.shift_probability(dots, mean)
    assert marks(chart, "circle") == len(values)
    assert marks(chart, "point") == means
    assert marks(chart, "area mark") == int(shaped)


def test_dots_that_differ_by_rounding_alone_have_no_violin() -> None:
    dots = pd.DataFrame(
        {"model": "m", "factor": "f", "stimulus": list("abcdef"), "apd": [0.1 + 0.2, *[0.3] * 5]}
    )
    chart = charts.shift_probability(
        dots, pd.DataFrame([{"model": "m", "value": 0.3, "low": 0.3, "high": 0.3}])
    )
    assert marks(chart, "area mark") == 0


@pytest.mark.parametrize(("stimuli", "drawn"), [(5, (1, 0)), (4, (0, 0))])
def test_a_mean_without_interval_is_drawn_alone_and_one_of_four_stimuli_not_at_all(
    stimuli: int, drawn: tuple[int, int]
) -> None:
    names = [f"s{number}" for number in range(stimuli)]
    dots = pd.DataFrame({"model": "m", "factor": "f", "stimulus": names, "apd": 0.3})
    chart = charts.shift_probability(
        dots, pd.DataFrame([{"model": "m", "value": 0.3, "low": None, "high": None}])
    )
    assert (marks(chart, "point"), marks(chart, "rule mark")) == drawn


def test_bars_are_the_figures(pronouns: Section) -> None:
    they, he = data_of(pronouns, "Which classes shift")
    assert [they[name] for name in ("outcome", "value", "low", "high")] == ["they", 0.35, 0.3, 0.4]
    assert [he[name] for name in ("outcome", "value")] == ["he", -0.2]


def test_shifts_of_few_stimuli_are_dots(framings: Any) -> None:
    few = framings["shifts"][framings["shifts"]["stimulus"].isin(STIMULI[:4])]
    (found,) = of_framing({"pronouns": source()}, framings | {"shifts": few})
    assert sorted(row["value"] for row in data_of(found, "Which classes shift")) == [
        *[-0.2] * 4,
        0.1,
        0.2,
        0.3,
        0.4,
    ]
    assert marks(picture(found, "Which classes shift").chart, "bar") == 0


def test_a_stimulus_with_more_rows_counts_more_and_four_stimuli_have_no_interval() -> None:
    rows = [
        ("x", stimulus, shift)
        for stimulus, shift in zip("aabcde", (0.0, 0.3, 0.6, 0.3, 0.3, 0.3), strict=True)
    ]
    rows += [("y", stimulus, 0.5) for stimulus in "abcd"]
    x, y = over_stimuli(
        pd.DataFrame(rows, columns=["of", "stimulus", "shift"]), ["of"], "shift"
    ).to_dict("records")
    assert x["value"] == pytest.approx(0.3)
    # Left out: a, 1.5 / 4; b, 1.2 / 5; c, d and e, 1.5 / 5. Their SD, .0428, times root 4 times
    # 2.776, t of 4.
    assert (x["low"], x["high"]) == (
        pytest.approx(0.0621, abs=5e-5),
        pytest.approx(0.5379, abs=5e-5),
    )
    assert y["value"] == 0.5
    assert pd.isna([y["low"], y["high"]]).all()


def test_metrics_are_compared_on_what_both_have(pronouns: Section) -> None:
    data = data_of(pronouns, "Metric by metric")
    dots = {(row["metric"], row["stimulus"]): row["apd"] for row in data if row["stimulus"]}
    assert len(dots) == 10
    assert dots["token probability", "hair of length s3"] == 0.7
    assert dots["proportion of choices", "hair of length s3"] == 0.75
    assert {(row["task"], row["model"]) for row in data if row["stimulus"]} == {
        ("Choosing", "m (chat)")
    }
    means = {row["metric"]: row["value"] for row in data if not row["stimulus"]}
    assert means == {"token probability": 0.6, "proportion of choices": 0.5}


def test_choices_without_a_figure_are_in_no_picture(framings: Any) -> None:
    """As of one reply per question, which cannot be told from chance."""
    figures = framings["figures"]
    here = framings | {"figures": figures[figures["part"] != "chat, choice"]}
    (found,) = of_framing({"pronouns": source()}, here)
    assert "Metric by metric" not in [part.title for part in found.parts]


def test_arrows_point_where_a_measure_went(probing: Section) -> None:
    data = data_of(probing, "Before and after")
    after = {row["measure"].split(",")[0]: row for row in data if row["moment"] == "after"}
    assert {name: row["way"] for name, row in after.items()} == {
        "GAS": "up",
        "GLD": "down",
        "ADD": "same",
    }
    assert [after["GAS"][name] for name in ("value", "low", "high")] == [0.6, 0.5, 0.7]
    assert [after["GLD"][name] for name in ("value", "low", "high")] == [0.25, None, None]
    assert [row["value"] for row in data if row["moment"] == "before"] == [0.4, 0.5, 0.3]


def test_every_picture_is_drawn_without_a_complaint(
    pronouns: Section, probing: Section, capfd: pytest.CaptureFixture[str]
) -> None:
    drawn = [
        part for found in (pronouns, probing) for part in found.parts if isinstance(part, Picture)
    ]
    assert len(drawn) == 5
    for part in drawn:
        svg = vlc.vegalite_to_svg(part.chart.to_dict(), show_warnings=True)
        assert svg.count("<text") > 5, part.title
        assert capfd.readouterr() == ("", ""), part.title


def test_the_text_says_what_the_cues_are_and_what_was_asked(pronouns: Section) -> None:
    assert pronouns.title == "Cues"
    assert pronouns.text == (
        "Cues: gender salience (the prompt names gender) and instruction (the prompt asks). "
        "Only 6 of the 8 stimuli were asked, evenly spread: a sample. Replies were sampled from m "
        "(chat)."
    )
    captions = [part.caption for part in pronouns.parts if isinstance(part, Picture)]
    assert all(
        caption.endswith("Only 6 of the 8 stimuli were asked, evenly spread: a sample.")
        for caption in captions
    )


def test_where_all_stimuli_were_asked_nothing_is_called_a_sample(framings: Any) -> None:
    (found,) = of_framing(
        {"pronouns": source(stimuli={name: TEXTS[name] for name in STIMULI})}, framings
    )
    assert "sample." not in found.text + "".join(part.caption for part in found.parts)


def test_a_cue_stands_beside_its_placebos(pronouns: Section) -> None:
    heading, *rows = rows_of(pronouns, "The cue and its placebos")
    assert heading[4:] == ["effect", "control", "why"]
    m, salience = ["m", "token probability"], "gender salience"
    assert rows[:5] == [
        [*m, salience, "all tasks", "0.50 [0.45, 0.55], n = 6", "0.30", ""],
        [*m, salience, "Going on", "0.35 [0.30, 0.40], n = 6", "0.10", ""],
        [*m, salience, "Choosing", "0.65 [0.60, 0.70], n = 6", "", "Hardly any answer."],
        [*m, "instruction", "Going on", "0.50 [0.45, 0.55], n = 6", *[""] * 2],
        [
            "m (chat)",
            "token probability",
            salience,
            "all tasks",
            "0.50 [0.45, 0.55], n = 6",
            *[""] * 2,
        ],
    ]
    choosing = [row for row in rows if row[1] == "proportion of choices"]
    assert choosing[0][2:] == [salience, "Choosing", "0.50 [0.45, 0.55], n = 6", "", ""]
    part = next(part for part in pronouns.parts if part.title == "The cue and its placebos")
    assert "Each was asked about 4 to 5 of them." in part.caption


def test_what_no_reply_tells_is_one_row(framings: Any) -> None:
    figures = framings["figures"].copy()
    figures.loc[figures["part"] == "chat, choice", ["value", "low", "high"]] = None
    figures.loc[figures["part"] == "chat, choice", "reason"] = "one reply per question"
    (found,) = of_framing({"pronouns": source()}, framings | {"figures": figures})
    (row,) = [
        row
        for row in rows_of(found, "The cue and its placebos")
        if row[1] == "proportion of choices"
    ]
    assert row == [
        *[
            "m (chat)",
            "proportion of choices",
            "every cue",
            "",
            "none (one reply per question)",
            *[""] * 2,
        ]
    ]


def test_over_all_cues_stand_shift_probability_and_coverage(pronouns: Section) -> None:
    assert rows_of(pronouns, "Over all cues") == [
        ["metric", "model", "shift probability", "coverage"],
        *(
            ["token probability", model, "0.50 [0.45, 0.55], n = 6", "0.25 [0.20, 0.30], n = 6"]
            for model in ("m", "m (chat)")
        ),
        ["proportion of choices", "m (chat)", "", ""],
    ]


def test_cells_with_too_little_are_marked_and_counted(pronouns: Section) -> None:
    title = "How many answers name an option"
    part = next(part for part in pronouns.parts if isinstance(part, Table) and part.title == title)
    choice = "proportion of choices"
    assert rows_of(pronouns, title) == [
        ["metric", "task: cues", "m", "m (chat)"],
        ["token probability", "Choosing: instruction", "0.062, too little", ""],
        [choice, "Going on: no cue", "", "0.390, too little"],
        [choice, "Going on: instruction", "", "0.400"],
        [choice, "Going on: gender salience + instruction", "", "0.125, too little"],
        [choice, "Choosing: instruction", "", "1.000"],
    ]
    assert [row[-1].mark if isinstance(row[-1], Cell) else None for row in part.rows] == [
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
    assert "less than 10% of the probability" in part.caption
    assert "less than 40% valid replies of 12" in part.caption


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
        ["m (chat)", f"1.50% ({three})", "2.00% (3 of 150)", *[none] * 3]
    ]


def test_measures_of_a_study_stand_before_and_after_beside_placebos(probing: Section) -> None:
    token = "token probability"
    assert rows_of(probing, "The study's own measures") == [
        ["model", "measure", "metric", "before", "after", "change", "control"],
        [
            *[
                "m",
                "GAS",
                token,
                "0.400 [0.300, 0.500]",
                "0.600 [0.500, 0.700]",
                "0.200 [-0.500, 0.500], n = 6",
            ],
            "0.050",
        ],
        ["m", "GLD", token, "0.500", "0.250", "-0.250, n = 6", ""],
        ["m", "ADD", token, "0.300", "0.300", "0.000, n = 6", ""],
        ["m", "S", token, "", "", "none (no reply was valid)", ""],
        ["m", "AS", "all", "", "", "0.150, n = 6", "0.100"],
    ]


def test_without_sampled_choices_there_is_a_sentence_and_no_part(framings: Any, empty: Any) -> None:
    here = framings | {"continuations": empty["continuations"]}
    here |= {
        name: framings[name][framings[name]["metric"] == "token"]
        for name in ("effects", "exclusions")
    }
    here["figures"] = framings["figures"][framings["figures"]["part"] != "chat, choice"]
    (found,) = of_framing({"pronouns": source()}, here)
    assert found.text.endswith(
        "No replies were sampled: figures are from token probabilities only."
    )
    assert [part.title for part in found.parts] == [
        "The cue and its placebos",
        "Cues and placebos",
        "Probability of a shift",
        "Over all cues",
        "Which classes shift",
        "Classes compared",
        "How many answers name an option",
    ]


def test_empty_tables_are_a_sentence(empty: Any) -> None:
    (found,) = of_framing({"pronouns": source()}, empty)
    assert list(found.parts) == []
    assert found.text.endswith("No model was asked.")


def test_one_cue_has_one_picture_of_its_effect(framings: Any) -> None:
    cells = {"bare": "{STIMULUS} {ANSWER}", "instruction": "Go on: {STIMULUS} {ANSWER}"}
    one = source(
        factors={"instruction": "the prompt asks"},
        tasks={"going-on": {"title": "Going on", "cells": cells}},
    )
    effects = framings["effects"]
    here = framings | {
        "effects": effects[(effects["factor"] == "instruction") & (effects["metric"] == "token")]
    }
    here |= {name: framings[name].iloc[:0] for name in ("exclusions", "shifts")}
    (found,) = of_framing({"pronouns": one}, here)
    titles = [part.title for part in found.parts if isinstance(part, Picture)]
    assert titles == ["Cues and placebos"]
    assert "Cue: instruction (the prompt asks)." in found.text


def test_an_effect_over_some_tasks_says_which(framings: Any) -> None:
    figures = framings["figures"].copy()
    own = (figures["figure"] == "effect: gender-salience") & (figures["part"] == "plain, token")
    figures.loc[own, "reason"] = "over going-on alone: no placebos in choosing"
    (found,) = of_framing({"pronouns": source()}, framings | {"figures": figures})
    titles = {slug: entry.title for slug, entry in source().tasks.items()}
    told = f"over “{titles['going-on']}” alone: no placebos in “{titles['choosing']}”"
    where = [row[3] for row in rows_of(found, "The cue and its placebos")]
    assert where.count(told) == 1
    assert "all tasks" in where
