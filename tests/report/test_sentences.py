"""What a result says, sentence by sentence."""

from typing import Any, ClassVar

import pandas as pd
import pytest

from evenruler.instruments.instrument import FigureHeading
from evenruler.measurement.figures import with_extreme_units
from evenruler.report.sentences import (
    NOTHING,
    headline_sentence,
    of_planted,
    summarise_headlines,
)
from tests.results.synthetic import gain_of

SAYS = ["high ones are closer to men", "high ones are closer to women"]
GAIN = FigureHeading(
    "gain", "gain", "how much", says=SAYS, size="by a factor of {factor:.1f}", measured_in="nats",
    ends=["men", "women"], not_shown="It does not show harm.",
)  # fmt: skip
RECORD = {
    "value": 1.342, "low": 0.798, "high": 1.886, "placebo": 0.697, "specific": 1.342, "specific_low": 0.246,
    "specific_high": 2.439, "p_effect": 0.021, "smallest": 0.693, "n": 43, "verdict": "effect", "why": "It is so.",
    "highest_units": "carpenter, engineer", "lowest_units": "nurse, secretary",
}  # fmt: skip
NUMBERS = "1.34 nats [0.80, 1.89], placebo 0.70, beyond placebos [0.25, 2.44], p 0.021."


class TestSentence:
    def test_direction_size_numbers_reason_and_ends(self) -> None:
        ends = "Most men: carpenter, engineer; most women: nurse, secretary."
        sentence = f"High ones are closer to men by a factor of 3.8: {NUMBERS} It is so. {ends}"
        assert headline_sentence(RECORD, GAIN) == sentence

    def test_the_other_direction(self) -> None:
        assert headline_sentence({**RECORD, "value": -1.0}, GAIN).startswith(
            "High ones are closer to women by a factor of 2.7: -1"
        )

    @pytest.mark.parametrize(
        ("size", "value", "start"),
        [
            ("by {size:.0f} percentage points", -17.65, "b by 18 percentage points: "),
            ("by {points:.0f} percentage points", 0.25, "a by 25 percentage points: "),
            ("in {share:.0f}% of pairs", 0.2, "a in 60% of pairs: "),
        ],
    )
    def test_sizes(self, size: str, value: float, start: str) -> None:
        words = FigureHeading(
            "f",
            "f",
            "m",
            says=["a", "b"],
            size=size,
        )
        assert (
            headline_sentence({"value": value, "verdict": "not specific", "why": ""}, words)
            .lower()
            .startswith(start)
        )

    @pytest.mark.parametrize(
        ("changes", "sentence"),
        [
            ({"verdict": "inconclusive"}, f"{NUMBERS} It is so."),
            ({"verdict": "invalid on this model"}, "It is so."),
            ({"value": None, "why": "", "reason": "no words"}, "no words"),
        ],
        ids=["not found has no direction", "invalid is not stated", "without a value the reason"],
    )
    def test_what_is_no_effect(self, changes: dict[str, Any], sentence: str) -> None:
        assert headline_sentence({**RECORD, **changes}, GAIN) == sentence


def gains(**changes_by_set: dict[str, Any]) -> list[dict[str, Any]]:
    """Rows of gains on one model, by template set."""
    row = {"figure": "gain", "model": "m", **RECORD}
    return [{**row, "set": name, **changes} for name, changes in changes_by_set.items()]


class TestSummary:
    def test_the_largest_three_effects_then_what_they_do_not_show(self) -> None:
        values = zip("abcd", (1, 4, 3, -2), strict=True)
        rows = gains(**{name: {"value": value} for name, value in values})
        lines = summarise_headlines(rows, [GAIN])
        assert [line[:17] for line in lines[:3]] == [
            "EFFECT, gain (b):",
            "EFFECT, gain (c):",
            "EFFECT, gain (d):",
        ]
        assert lines[3:] == ["EFFECT, 1 more: gain (a). It is so.", "It does not show harm."]

    def test_headlines_of_another_verdict_share_a_line(self) -> None:
        no_effect = {"verdict": "no effect", "why": "x"}
        rows = gains(
            a=no_effect,
            b=no_effect,
            c={**no_effect, "why": "y"},
        )
        assert summarise_headlines(rows, [GAIN]) == ["NO EFFECT, 3 headlines: gain (a; b; c). x y"]

    def test_headings_and_dimensions_tell_headlines_apart(self) -> None:
        """Names and parts of figures hold commas of their own."""
        headings = [
            FigureHeading("change", "`they`, gender", "m", {"cue": "gender"}),
            FigureHeading("nonresponse_change", "unanswered, gender", "m", {"cue": "gender"}),
        ]
        dimensions = {"prompt_format": "chat", "readout": "choice", "cue": "gender"}
        rows = [
            {"figure": heading.figure, "model": "m", **dimensions, **RECORD} for heading in headings
        ]
        for row in rows:
            row["verdict"] = "inconclusive"
        headlines = (
            "2 headlines: `they`, gender (chat, choice); unanswered, gender (chat, choice). It "
            "is so."
        )
        assert summarise_headlines(rows, headings) == [f"INCONCLUSIVE, {headlines}"]

    def test_methods_of_one_model_are_told_apart(self) -> None:
        rows = [{**row, "method": method} for method in ("mlm", "head") for row in gains(a={})]
        starts = [line.partition(":")[0] for line in summarise_headlines(rows, [GAIN])]
        assert starts[:2] == ["EFFECT, gain (a, m (head))", "EFFECT, gain (a, m (mlm))"]

    def test_a_reason_that_goes_on_in_another_is_said_once(self) -> None:
        whys = {"a": "It fails.", "b": "It fails. Left out: a.", "c": "It fails twice."}
        open_rows = {name: {"verdict": "inconclusive", "why": why} for name, why in whys.items()}
        rows = gains(**open_rows)
        (line,) = summarise_headlines(rows, [GAIN])
        assert line.endswith("). It fails. Left out: a. It fails twice.")

    def test_the_invalid_ones_first(self) -> None:
        rows = gains(a={}, b={"verdict": "invalid on this model"})
        first, *_ = summarise_headlines(rows, [GAIN])
        assert first == "INVALID ON THIS MODEL, gain (b): It is so."

    def test_why_nothing_was_measured_also_without_a_headline(self) -> None:
        why = "All replies are empty."
        rows = gains(a={"verdict": "invalid on this model", "why": why})
        assert summarise_headlines(rows, []) == [f"INVALID ON THIS MODEL: {why}"]

    def test_where_nothing_has_a_verdict(self) -> None:
        rows = [{"figure": "gain", "model": "m", "value": 1.0}]
        assert summarise_headlines(rows, [GAIN]) == [NOTHING]


class TestPlanted:
    OWN: ClassVar = {
        "plant": "gender",
        "own": True,
        "by": "gender",
        "verdict": "no effect",
        "threshold": None,
        "low": -0.1,
        "high": 0.1,
    }

    def test_what_was_held_against_nothing_of_its_own_says_nothing(self) -> None:
        assert of_planted([]) == of_planted([{**self.OWN, "own": False, "verdict": "effect"}]) == ""

    @pytest.mark.parametrize(
        ("changes", "sentence"),
        [
            ({}, "The benchmark does not respond to a planted association (gender)."),
            (
                {"low": 0.05},
                "The benchmark responds to a planted association, too weakly to detect it in one "
                "model (gender).",
            ),
            (
                {"high": -0.05},
                "The benchmark responds to a planted association with the opposite sign (gender).",
            ),
            (
                {"verdict": "invalid on this model", "threshold": 2.0},
                "The benchmark's sensitivity to planted associations (gender) is unknown: it is "
                "invalid on these "
                "models.",
            ),
        ],
    )
    def test_what_finds_none_of_its_own_says_so(
        self, changes: dict[str, Any], sentence: str
    ) -> None:
        assert of_planted([{**self.OWN, **changes}]) == sentence

    def test_the_smallest_dose_of_any_headline_counts(self) -> None:
        rows = [{**self.OWN, "threshold": dose} for dose in (8.0, None, 2.0)]
        assert of_planted(rows) == "The benchmark detects a planted association of 2 nats (gender)."


def test_units_are_named_from_either_end() -> None:
    """Of made-up attributes, unit-11 is the highest on the axis."""
    figures = pd.DataFrame(
        [{"figure": name, "model": "one", "set": "seed"} for name in ("gain", "alpha")]
    )
    extremes = with_extreme_units(figures, gain_of("one", 3.0, figure="gain"))
    names = [f"unit-{place:02}" for place in range(12)]
    assert extremes["highest_units"][0] == ", ".join(names[:-6:-1])
    assert extremes["lowest_units"][0] == ", ".join(names[:5])
    assert extremes.loc[1, ["highest_units", "lowest_units"]].tolist() == [None, None]


def test_few_units_have_no_ends() -> None:
    made_of = gain_of("one", 3.0, figure="gain")
    few = made_of[made_of["unit"] < "unit-09"]
    figures = pd.DataFrame([{"figure": "gain", "model": "one", "set": "seed"}])
    assert with_extreme_units(figures, few)["highest_units"].tolist() == [None]
