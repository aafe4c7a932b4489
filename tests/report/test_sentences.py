"""What a result says, line by line: every number of a row stands in its sentence."""

import re
from typing import Any, ClassVar

import pandas as pd
import pytest

from evenruler.instruments.instrument import FigureHeading
from evenruler.measurement.figures import Verdict, with_extreme_units
from evenruler.report.sentences import (
    NOTHING,
    VERDICT_MEANINGS,
    bound_text,
    carriers_text,
    describe_planted,
    headline_lines,
    summarise_headlines,
    two_digits,
    wrap_line,
)
from tests.conftest import ROOT
from tests.results.synthetic import gain_of
from tests.text_tables import read_cells, yaml_of_text

GAIN = FigureHeading(
    "gain",
    "gain of men's words",
    "how much",
    says=[
        "men's words gain {amount} on women's from an occupation of 10% men to one of 90%",
        "women's words gain {amount} on men's from an occupation of 10% men to one of 90%",
    ],
    size="by a factor of {factor:.1f}",
    measured_in="nats",
    alternatives="pairs of other themes",
    ends=["men", "women"],
    not_shown="It does not show that the model treats people differently.",
)
ROW = yaml_of_text("""\
figure: gain
model: m
set: next-word
value: 1.758
low: 1.1
high: 2.4
p: 0.0001
bound: 0.693
detects: 1.065
reference_set: person nouns
alternatives: 351.0
percentile: 98.0
percentile_low: 95.0
percentile_high: 100.0
same_test: 0.03
positive_control: brides and monks
positive_value: 3.22
positive_low: 2.25
positive_high: 4.17
positive_p: 0.0004
verdict: detected
why: The randomisation's p is below .05, and the interval leaves out 0.
""")
PLANTED = yaml_of_text("""\
figure: gain
key: set=next-word
plant: gender
own: true
verdict:
planted:
- {dose: 8.0, n: 1, detected: 1, opposite: 0}
- {dose: 2.0, n: 6, detected: 6, opposite: 0}
""")
CURVE = {
    **PLANTED,
    "planted": [{"dose": 1.0, "n": 3, "detected": 0, "opposite": 0}, *PLANTED["planted"]],
}


def lines_of(words: FigureHeading | None = GAIN, **changes: Any) -> list[tuple[str, str]]:
    row = {**ROW, **changes}
    present = {name: content for name, content in row.items() if content is not None}
    return [(line.label, line.text) for line in headline_lines(present, words, [CURVE])]


COMPARED = (
    "compared",
    "More than 98% [95, 100] of 351 pairs of other themes. (Of 100 such, the same test detects 3.)",
)
SENSITIVE = (
    "sensitive",
    "It detects 2.9-fold in 8 of 10 studies; planted, 1 nat in 0 of 3 models, 2 in 6 of 6. Brides "
    "and monks: 25-fold, detected.",
)


class TestHeadline:
    def test_three_lines_with_all_numbers(self) -> None:
        claim = (
            "Men's words gain 5.8-fold [3.0, 11] on women's from an occupation of 10% men to one "
            "of 90%."
        )
        assert lines_of() == [("detected", claim), COMPARED, SENSITIVE]

    def test_the_other_direction(self) -> None:
        (_, claim), *_ = lines_of(value=-1.0, low=-1.5, high=-0.3)
        assert claim.startswith("Women's words gain 2.7-fold [1.3, 4.5] on men's")

    def test_both_words_with_the_bound_and_the_note(self) -> None:
        (label, claim), *_ = lines_of(
            value=0.35, low=0.2, high=0.5, verdict="detected, below", note="Nurses carry it."
        )
        assert label == "detected, below 2-fold"
        assert claim.startswith("Men's words gain 1.4-fold [1.2, 1.6]")
        assert claim.endswith("90%. Nurses carry it.")

    def test_what_is_not_detected_has_no_direction(self) -> None:
        small = {"value": 0.15, "low": -0.2, "high": 0.5, "p": 0.3}
        first, *rest = lines_of(verdict="below", **small)
        assert first == (
            "below 2-fold",
            "Gain of men's words: 1.2-fold [0.82, 1.6]; less than 2-fold either way.",
        )
        assert rest == [COMPARED, SENSITIVE]
        why = "Not detected: p is 0.3. Not below 0.69: the interval reaches beyond it."
        first, *rest = lines_of(verdict="inconclusive", why=why, **{**small, "high": 0.9})
        assert first == (
            "inconclusive",
            "Gain of men's words: 1.2-fold [0.82, 2.5], p 0.3: not detected. Not below 2-fold: the "
            "interval reaches beyond it.",
        )
        assert rest == [COMPARED, SENSITIVE]

    @pytest.mark.parametrize(
        ("changes", "ending"),
        read_cells("""
p 0.04, why Not detected: the interval holds 0. | not detected, since the interval holds 0.
p , why Nothing can be detected: keys are alike. | . Nothing can be detected: keys are alike.
p 0.2, why Not below 0.69: the positive control reads 0.4. | control reads 1.5-fold alone.
p 0.2, why Not below 0.69 in every part. | Not below 2-fold in every part.
p 0.2, why | Not below 2-fold: no positive control was asked.
"""),
    )
    def test_why_nothing_is_said(self, changes: str, ending: str) -> None:
        """An interval within the bound needs a word on why it is not below it."""
        p, _, why = changes.removeprefix("p ").partition(", why")
        control = {} if why.strip() else {"positive_control": None}
        if "reads" in why:
            control = {"positive_value": 0.405}
        (_, claim), *_ = lines_of(
            verdict="inconclusive", p=float(p) if p else None, why=why.strip(), **control
        )
        assert ending.strip() in claim

    def test_what_is_described_or_invalid(self) -> None:
        why = "A number without a test: two sentences."
        assert lines_of(verdict="descriptive", why=why, percentile=None) == [
            ("descriptive", f"Gain of men's words: 5.8-fold [3.0, 11]. {why}")
        ]
        assert lines_of(verdict="descriptive", why=why)[1:] == [COMPARED]
        failed = "Its validity check fails: all replies are the same."
        assert lines_of(verdict="invalid", why=failed) == [("invalid", failed)]
        nothing: dict[str, Any] = dict.fromkeys(("value", "low", "high"))
        nothing |= {"why": "A number without a test: none.", "reason": "no word was scored"}
        claim = ("descriptive", "No number: no word was scored.")
        assert lines_of(verdict="descriptive", **nothing) == [claim]

    @pytest.mark.parametrize("verdict", ["detected", "below", "inconclusive"])
    def test_of_parts_their_sentences_are_said(self, verdict: str) -> None:
        """In the place of the heading's clause, which is about the whole alone."""
        in_parts = "In Age: 0.31 [0.11, 0.51] over 25 templates. On average 0.06 [0.03, 0.08]."
        note = "Here length is in letters."
        why = "Not detected: p is 0.3. Not below 0.1: the interval reaches beyond it."
        first, *_ = lines_of(verdict=verdict, in_parts=in_parts, note=note, why=why)
        unsaid = "Not below 2-fold: the interval reaches beyond it. " * (verdict == "inconclusive")
        assert first[1] == f"{in_parts} {unsaid}{note}"

    def test_what_is_missing_says_so(self) -> None:
        _, compared, sensitive = lines_of(
            alternatives=None, same_test=None, positive_control=None, detects=None, set="other"
        )
        assert compared == ("compared", "With nothing: no reference set was asked.")
        _, compared, _ = lines_of(percentile=None)
        assert compared[1] == (
            "With none of 351 pairs of other themes alone: it is the furthest of several, for "
            "which its p allows."
        )
        assert sensitive == (
            "sensitive",
            "What it would detect is not known. No positive control was asked.",
        )
        _, compared, sensitive = lines_of(percentile_low=None, same_test=None, positive_p=0.2)
        assert compared[1] == "More than 98% of 351 pairs of other themes."
        assert sensitive[1].endswith("Brides and monks: 25-fold, not detected.")
        *_, of_rank = lines_of(positive_p=0.05)
        assert of_rank[1].endswith("Brides and monks: 25-fold, detected."), "first of 20"

    def test_what_is_furthest_is_more_than_all(self) -> None:
        _, (_, compared), _ = lines_of(percentile=100.0, percentile_low=84.0, same_test=None)
        assert compared == "More than all 351 pairs of other themes (100% [84, 100])."

    def test_a_factor_near_1_has_two_decimals(self) -> None:
        claim, *_ = lines_of(verdict="below", value=-0.01, low=-0.03, high=0.028)
        assert claim[1].startswith("Gain of men's words: 0.99-fold [0.97, 1.03];")

    def test_without_words_the_value_as_it_is(self) -> None:
        claim, compared, sensitive = lines_of(None)
        assert claim[1] == "Gain: 1.8 [1.1, 2.4]."
        assert compared[1].startswith("More than 98% [95, 100] of 351 alternatives from person")
        assert sensitive[1].startswith("It detects 1.1 in 8 of 10")

    @pytest.mark.parametrize(
        ("size", "measured_in", "value", "claim", "bound"),
        [
            ("by {size:.0f} points", "points", -17.65, "B by 18 points [10, 25].", "0.69 points"),
            ("by {points:.0f} points", "", 0.25, "A by 25 points [-2500, -1000].", "69 percentage"),
            ("in {share:.0f}% of pairs", "", 0.2, "A in 60% of pairs [-1200, -450].", "84%"),
        ],
    )
    def test_units_of_headings(
        self, size: str, measured_in: str, value: float, claim: str, bound: str
    ) -> None:
        """A clause without a place for the amount ends with it, as `size` writes it."""
        words = FigureHeading("f", "f", "m", says=["a", "b"], size=size, measured_in=measured_in)
        (_, text), *_ = lines_of(words, value=value, low=-25.0, high=-10.0)
        assert text == claim
        assert bound_text(0.69, words).startswith(bound)


ABOVE_ZERO, ACROSS_ZERO = {"low": 0.1, "high": 0.6}, {"low": -0.1, "high": 0.6}
EVERY_VERDICT = [
    {"verdict": "detected"},
    {"verdict": "detected, below", **ABOVE_ZERO},
    {"verdict": "below", **ACROSS_ZERO},
    {"verdict": "inconclusive", "low": -0.1},
]


@pytest.mark.parametrize("changes", EVERY_VERDICT, ids=str)
def test_every_number_stands_in_its_sentence_of_at_most_30_words(changes: dict[str, Any]) -> None:
    """Section 12, test 23: bound, value, interval, percentile and its interval, number of
    alternatives and how many pass, power, doses, and the control.
    """
    lines = lines_of(**changes)
    whole = " ".join(f"{label} {text}" for label, text in lines)
    numbers = ["98%", "[95, 100]", "351", "detects 3", "2.9-fold", "1 nat in 0 of 3", "25-fold"]
    if changes["verdict"] != "detected":
        numbers.append("2-fold")
    numbers += ["5.8-fold [", "2 in 6 of 6"]
    assert [number for number in numbers if number not in whole] == []
    for _, text in lines:
        for sentence in re.split(r"(?<=[.)]) ", text):
            assert len(sentence.split()) <= 30


@pytest.mark.parametrize("width", [80, 120])
def test_lines_fill_the_terminal_with_their_text_below_itself(width: int) -> None:
    for line in summarise_headlines([ROW], [GAIN]):
        first, *rest = wrap_line(str(line), indent=2, width=width)
        assert all(len(text) <= width for text in (first, *rest))
        assert all(text.startswith(" " * (16 if line.label else 4)) for text in rest)
        if rest:
            next_word, _, _ = rest[0].strip().partition(" ")
            assert len(first) + 1 + len(next_word) > width, "the next word had no room"


@pytest.mark.parametrize(
    ("number", "text"),
    [(5.76, "5.8"), (2.999, "3.0"), (25.1, "25"), (149.6, "150"),
     (0.815, "0.81"), (0.0004, "0.000"), (-0.04, "-0.040"),
     (-0.0001, "0.000"), (0.0, "0"), (1.0, "1.0")],
)  # fmt: skip
def test_numbers_have_two_digits(number: float, text: str) -> None:
    assert two_digits(number) == text


def test_each_word_has_one_sentence() -> None:
    words = {word.partition(" ")[0] for word in VERDICT_MEANINGS}
    assert words == {word for verdict in Verdict for word in verdict.words}


def test_the_page_on_reading_has_the_same_sentences() -> None:
    page = (ROOT / "docs/reading.md").read_text(encoding="utf-8")
    for word, meaning in VERDICT_MEANINGS.items():
        assert f"| `{word}` | {meaning} |" in page


def test_who_carries_it() -> None:
    ends = {"highest_units": "carpenter, engineer", "lowest_units": "nurse, secretary"}
    text = "Most men: carpenter, engineer; most women: nurse, secretary."
    assert carriers_text({**ROW, **ends}, GAIN) == text
    assert carriers_text({**ROW, **ends, "verdict": "inconclusive"}, GAIN) == ""
    assert carriers_text(ROW, GAIN) == ""


def gains(**changes_by_set: dict[str, Any]) -> list[dict[str, Any]]:
    """Rows of gains on one model, by template set."""
    return [{**ROW, "set": name, **changes} for name, changes in changes_by_set.items()]


def summary(
    rows: list[dict[str, Any]],
    headings: list[FigureHeading],
) -> list[tuple[str, str]]:
    return [(line.label, line.text) for line in summarise_headlines(rows, headings)]


class TestSummary:
    def test_one_headline_has_three_lines_and_what_it_does_not_show(self) -> None:
        lines = summary([ROW], [GAIN])
        labels = [label for label, _ in lines]
        assert labels == ["detected", "compared", "sensitive", ""]
        assert lines[3][1] == "It does not show that the model treats people differently."

    def test_the_largest_three_then_the_others_in_a_line(self) -> None:
        values = zip("abcd", (1, 4, 3, -2), strict=True)
        rows = gains(**{name: {"value": value} for name, value in values})
        lines = summary(rows, [GAIN])
        claims = [text for label, text in lines if label == "detected"]
        assert [text[:23] for text in claims] == [
            "gain of men's words (b)",
            "gain of men's words (c)",
            "gain of men's words (d)",
            "1 more: gain of men's w",
        ]
        assert claims[3] == "1 more: gain of men's words (a)."
        assert len(lines) == 3 * 3 + 1 + 1

    def test_verdicts_stand_in_their_order(self) -> None:
        """The detected first; what is invalid shares a line a reason and shows no number."""
        failed = {"verdict": "invalid", "why": "It fails."}
        rows = gains(
            a=failed,
            b={"verdict": "inconclusive", "value": 0.1},
            c={"verdict": "below", "value": 0.1},
            d={},
            e=failed,
        )
        lines = summary(rows, [GAIN])
        verdicts = [label for label, _ in lines if label not in ("compared", "sensitive", "")]
        assert verdicts == ["detected", "below 2-fold", "inconclusive", "invalid"]
        both = "gain of men's words (a); gain of men's words (e): It fails."
        assert lines[-2] == ("invalid", both)

    def test_methods_of_one_model_are_told_apart(self) -> None:
        rows = [{**ROW, "method": method} for method in ("mlm", "head")]
        lines = summary(rows, [GAIN])
        starts = [text.partition(": ")[0] for _, text in lines]
        assert starts[0] == "gain of men's words (next-word, m (head))"

    def test_all_invalid_or_nothing_judged(self) -> None:
        invalid = {"verdict": "invalid", "why": "All replies are empty."}
        line = ("invalid", "All replies are empty.")
        assert summary(gains(a=invalid, b=invalid), [GAIN]) == [line]
        descriptive = {"figure": "spread", "model": "m", "value": 1.0}
        assert summary([{**descriptive, **invalid}], []) == [line]
        assert summary([descriptive], [GAIN]) == [("", NOTHING)]

    def test_a_line_never_depends_on_another_model(self) -> None:
        """Section 12, test 22: nor on another headline of the model, but for its name."""
        alone = summary([ROW], [GAIN])[:3]
        both = summary([ROW, {**ROW, "set": "other", "value": 0.1, "verdict": "below"}], [GAIN])
        assert both[0] == ("detected", f"gain of men's words (next-word): {alone[0][1]}")
        assert both[1:3] == alone[1:]


class TestPlanted:
    OTHER: ClassVar = {
        **PLANTED,
        "own": False,
        "plant": "mood",
        "planted": [{"dose": 2.0, "n": 6, "detected": 1, "opposite": 2}],
    }

    def test_counts_by_dose_and_of_other_plants(self) -> None:
        text = "Of a planted association (gender) it detects 2 nats in 6 of 6 models, 8 in 1 of 1"
        assert describe_planted([PLANTED]) == f"{text}."
        assert describe_planted([PLANTED, self.OTHER]) == (
            f"{text}; another plant changes it in 3 of 6."
        )

    def test_the_most_sensitive_headline_counts(self) -> None:
        deaf = {**PLANTED, "key": "set=a", "planted": [{"dose": 2.0, "n": 6, "detected": 0}]}
        assert describe_planted([deaf, PLANTED]) == describe_planted([PLANTED])

    def test_without_a_plant_of_its_construct_there_is_nothing_to_say(self) -> None:
        assert describe_planted([]) == describe_planted([self.OTHER]) == ""

    def test_what_is_not_known(self) -> None:
        assert describe_planted([{**PLANTED, "verdict": "invalid", "planted": []}]) == (
            "The benchmark's sensitivity to planted associations (gender) is unknown: it is "
            "invalid on these models."
        )
        assert describe_planted([{**PLANTED, "planted": []}]).startswith("No model with a planted")

    @pytest.mark.parametrize(
        ("counts", "text"),
        read_cells("""
8 1/1, 1 0/3, 2 5/6 | studies; planted, 1 nat in 0 of 3 models, 2 in 5 of 6. Brides
1 3/3, 2 3/3, 3 3/3 | studies; planted, 1 nat in 3 of 3 models. Brides
2 4/6, 4 3/3, 8 0/3 | studies; planted, 8 nats in 0 of 3 models. Brides
2 6/6, 8 1/1 | It detects 2.9-fold in 8 of 10 studies. Brides
1 3/3, 2 1/3, 3 2/3, 4 3/3, 6 3/3 | studies; planted, 3 nats in 2 of 3 models, 4 in 3 of 3. Brides
"""),
    )
    def test_the_third_line_takes_any_doses(self, counts: str, text: str) -> None:
        """The smallest from which on 8 of 10 models show it, after the one below, or else the
        largest; a smaller dose that is shown by chance does not count.
        """
        doses = []
        for count in counts.split(", "):
            dose, detected, n = map(int, re.split("[ /]", count))
            doses.append({"dose": float(dose), "n": n, "detected": detected})
        *_, sensitive = headline_lines(ROW, GAIN, [{**PLANTED, "planted": doses}])
        assert text in sensitive.text


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
