"""The truth table of verdicts, by hand: every claim, each condition that it needs, and no other."""

from dataclasses import replace

import pandas as pd
import pytest

from evenruler.measurement.figures import Figure, Verdict
from evenruler.measurement.resampling import Interval
from evenruler.measurement.verdicts import (
    HeadlineTest,
    PositiveControl,
    ReferenceComparison,
    ValidityCheck,
    judge,
    judge_all,
    mark_invalid,
    mark_rows_invalid,
)
from tests.measurement.conftest import JUDGED, NULL
from tests.text_tables import read_cells

BASE = HeadlineTest(
    "gain",
    "attributes",
    {"attributes": 43, "sentences": 16, "pairs": 1},
    Interval(1.0, 0.8, 1.2),
    bound=0.5,
    p=0.001,
    null=NULL,
)

LARGE = PositiveControl("brides and monks", Interval(3.2, 2.2, 4.2), 0.0004)
SMALL = PositiveControl("brides and monks", Interval(0.4, 0.3, 0.5), 0.01)
UNDETECTED = PositiveControl("brides and monks", Interval(0.3, -0.1, 0.7), 0.2)
WRONG_WAY = PositiveControl("brides and monks", Interval(-3.2, -4.2, -2.2), 0.0004)
LARGE_P = PositiveControl("brides and monks", Interval(3.2, 2.2, 4.2), 0.0501)
FAILED = ValidityCheck(failure="all replies are the same")
DOUBTED = ValidityCheck(doubt="no plain fact was asked")

LOW, HIGH = 0.01, 0.2  # p below and above .05
ABOVE, AROUND = (0.6, 1.2), (-0.2, 0.3)
WIDE = (-0.7, 0.3)

# The bound is .5. Ends that lie on 0 or on the bound assert nothing.
ROWS = """
p      | interval   | control    | verdict
.01    |  .6  1.2   | large      | detected
.01    |  .6  1.2   | small      | detected
.01    |  .6  1.2   | none       | detected
.01    | -1.2 -.6   | large      | detected
.01    | -1.2 -.6   | none       | detected
.01    |  .2   .8   | large      | detected
.01    |  .2   .8   | none       | detected
.01    |  .1   .4   | large      | detected, below
.01    | -.4  -.1   | large      | detected, below
.01    |  .1   .4   | small      | detected
.01    | -.4  -.1   | small      | detected
.01    |  .1   .4   | none       | detected
.01    | -.2   .3   | large      | below
.01    | -.2   .3   | small      | inconclusive
.01    | -.2   .3   | none       | inconclusive
.01    | -.7   .3   | large      | inconclusive
.01    | -.7   .3   | none       | inconclusive
.2     |  .6  1.2   | large      | inconclusive
.2     |  .6  1.2   | none       | inconclusive
.2     | -1.2 -.6   | large      | inconclusive
.2     |  .2   .8   | large      | inconclusive
.2     |  .1   .4   | large      | below
.2     | -.4  -.1   | large      | below
.2     |  .1   .4   | small      | inconclusive
.2     |  .1   .4   | none       | inconclusive
.2     | -.2   .3   | large      | below
.2     | -.2   .3   | small      | inconclusive
.2     | -.2   .3   | none       | inconclusive
.2     | -.7   .3   | large      | inconclusive
.2     | -.7   .3   | none       | inconclusive
none   |  .6  1.2   | large      | inconclusive
none   |  .6  1.2   | none       | inconclusive
none   |  .1   .4   | large      | below
none   | -.4  -.1   | large      | below
none   | -.2   .3   | large      | below
none   | -.2   .3   | none       | inconclusive
none   | -.2   .3   | small      | inconclusive
.01    |  .6  1.2   | undetected | invalid
.01    | -.2   .3   | undetected | invalid
.2     | -.2   .3   | undetected | invalid
none   | -.2   .3   | undetected | invalid
.01    |  .6  1.2   | wrong way  | invalid
.2     | -.2   .3   | large p    | invalid
.01    |  0    .8   | large      | inconclusive
.01    | -.8   0    | large      | inconclusive
.2     | -.5   .4   | large      | inconclusive
.2     | -.4   .5   | large      | inconclusive
.0501  |  .6  1.2   | large      | inconclusive
.05    |  .6  1.2   | large      | detected
"""
CONTROLS = {
    "large": LARGE,
    "small": SMALL,
    "undetected": UNDETECTED,
    "wrong way": WRONG_WAY,
    "large p": LARGE_P,
    "none": None,
}


def build_test(
    p: float | None, ends: tuple[float, float], control: PositiveControl | None
) -> HeadlineTest:
    effect = Interval(sum(ends) / 2, *ends)
    if p is None:
        no_null = "no reference set was asked"
        return replace(BASE, p=None, null=None, no_null=no_null, effect=effect, control=control)
    return replace(BASE, p=p, effect=effect, control=control)


TRUTH_TABLE: list[tuple[HeadlineTest, str]] = []
for p, ends, control, verdict in read_cells(ROWS)[1:]:
    low, high = map(float, ends.split())
    p_value = None if p == "none" else float(p)
    TRUTH_TABLE.append((build_test(p_value, (low, high), CONTROLS[control]), verdict))


@pytest.mark.parametrize(("test", "verdict"), TRUTH_TABLE)
def test_the_truth_table(test: HeadlineTest, verdict: str) -> None:
    assert judge(test).verdict == verdict


@pytest.mark.parametrize(("test", "verdict"), TRUTH_TABLE)
def test_what_comes_before_the_figures(test: HeadlineTest, verdict: str) -> None:
    """A failed check is invalid whatever the figures are; a design that cannot test, or a doubt, is
    descriptive unless its control says that it is invalid.
    """
    described = replace(test, no_verdict="selected on this model")
    before = "invalid" if verdict == "invalid" else "descriptive"
    assert judge(test, DOUBTED).verdict == judge(described).verdict == before
    assert judge(test, FAILED).verdict == judge(described, FAILED).verdict == "invalid"


REASONS = [
    (build_test(LOW, ABOVE, None), "The randomisation's p is at most .05, and the interval leaves"),
    (build_test(HIGH, AROUND, LARGE), "The interval lies within 0.5 of 0, and the control reaches"),
    (build_test(HIGH, WIDE, LARGE), "Not detected: p is 0.2."),
    (build_test(LOW, WIDE, LARGE), "Not detected: the interval holds 0."),
    (build_test(HIGH, WIDE, LARGE), "Not below 0.5: the interval reaches beyond it."),
    (build_test(HIGH, AROUND, None), "Not below 0.5: no positive control was asked."),
    (build_test(HIGH, AROUND, SMALL), "Not below 0.5: the positive control reads 0.4."),
    (build_test(None, WIDE, LARGE), "Nothing can be detected: no reference set was asked."),
    (build_test(LOW, ABOVE, UNDETECTED), "its positive control, brides and monks, is not detected"),
    (replace(BASE, no_verdict="two sentences"), "A number without a test: two sentences."),
]


@pytest.mark.parametrize(("test", "sentence"), REASONS)
def test_reasons(test: HeadlineTest, sentence: str) -> None:
    assert sentence in str(judge(test).why)


def test_a_second_interval_has_to_leave_out_zero_too() -> None:
    test = build_test(LOW, ABOVE, None)
    around, above = (Interval(0.1, *ends) for ends in (AROUND, ABOVE))
    detected = replace(test, also_required={"at equal sharpness": above})
    undetected = replace(test, also_required={"at equal sharpness": around})
    assert judge(detected).verdict == "detected"
    figure = judge(undetected)
    assert (figure.verdict, figure.p) == ("inconclusive", LOW)
    assert "Not detected: at equal sharpness the interval holds 0." in figure.why


def test_a_second_interval_on_the_other_side_of_zero_detects_nothing() -> None:
    test = build_test(LOW, ABOVE, None)
    turned = Interval(-0.1, -ABOVE[1], -ABOVE[0])
    figure = judge(replace(test, also_required={"at equal sharpness": turned}))
    assert figure.verdict == "inconclusive"
    assert "at equal sharpness the difference has the other sign." in figure.why


def test_reasons_of_validity() -> None:
    assert judge(BASE, FAILED).why == "Its validity check fails: all replies are the same."
    assert judge(BASE, DOUBTED).why == ("No verdict: no plain fact was asked.")
    assert str(judge(replace(BASE, note="Nurses carry it.")).why).endswith(" Nurses carry it.")


def test_all_fields_of_a_headline() -> None:
    compared = ReferenceComparison("person nouns", 351, Interval(98.0, 95.0, 100.0), 0.03)
    test = replace(
        BASE,
        control=LARGE,
        compared=compared,
        detects=1.06,
        fixed=frozenset({"pairs"}),
        dimensions={"set": "next-word"},
    )
    assert judge(test) == JUDGED


def test_a_headline_without_a_value_gives_the_reason() -> None:
    test = replace(BASE, effect=None, p=None, null=None, no_verdict="no attribute was scored")
    figure = judge(test)
    assert (figure.value, figure.low, figure.p, figure.reason) == (
        None,
        None,
        None,
        "no attribute was scored",
    )
    assert figure.verdict == "descriptive"


IMPOSSIBLE = [
    ({"bound": 0.0}, "the bound of gain is 0.0, expected a positive number"),
    ({"unit": "items"}, "gain counts items, and has no such facet"),
    ({"effect": None}, "gain has no value, and does not say why"),
    ({"p": None}, "gain has a p without its null, or a null without its p"),
    ({"null": None}, "gain has a p without its null, or a null without its p"),
    ({"p": None, "null": None}, "gain has no null, and does not say why"),
]


@pytest.mark.parametrize(("changes", "message"), IMPOSSIBLE)
def test_what_no_headline_may_lack(changes: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        replace(BASE, **changes)  # type: ignore[arg-type]


def test_a_verdict_rests_on_its_own_figure() -> None:
    """Other figures, models and instruments never change it, so there is nothing to correct for."""
    undetected = build_test(HIGH, WIDE, None)
    tests = [build_test(0.04, ABOVE, None), *[undetected] * 20]
    judged = judge_all([(test, ValidityCheck()) for test in tests])
    assert judged[0] == judge(tests[0])
    assert judged[0].verdict == "detected"


def test_descriptive_figures_pass_through() -> None:
    spread = Figure("spread", 1.0, 3, "attributes")
    assert judge_all([(spread, FAILED)]) == [spread]
    assert mark_invalid(spread, DOUBTED) == spread
    assert mark_invalid(spread, FAILED).verdict == Verdict.INVALID


def test_rows_are_marked_alike() -> None:
    rows = pd.DataFrame({"value": [1.0, 2.0], "verdict": [None, None]})
    assert mark_rows_invalid(rows, None) is rows
    marked = mark_rows_invalid(rows, "all refused")
    assert marked["verdict"].tolist() == ["invalid", "invalid"]
    assert marked["why"].tolist() == ["Its validity check fails: all refused."] * 2
