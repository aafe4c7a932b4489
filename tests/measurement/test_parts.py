"""Parts of a headline: weighted Holm by hand, and the truth table of the joined verdict."""

from dataclasses import replace

import pytest

from evenruler.measurement.figures import Verdict
from evenruler.measurement.parts import HeadlineParts, PartTest, holm_weighted
from evenruler.measurement.resampling import Interval
from evenruler.measurement.verdicts import HeadlineTest, PositiveControl, join_parts, judge

LARGE = PositiveControl("right answers", Interval(0.8, 0.7, 0.9), 0.001)
SMALL = PositiveControl("right answers", Interval(0.15, 0.1, 0.2), 0.001)
WHOLE = HeadlineTest(
    "lean",
    "templates",
    {"templates": 60, "words": 9},
    Interval(0.06, 0.03, 0.08),
    bound=0.1,
    p=0.2,
    null="roles randomised",
    control=LARGE,
)
SAYS = ("the first wins more often", "the second wins more often")


def part(name: str, value: float, half: float, p: float, n: int = 25) -> PartTest:
    return PartTest(name, n, Interval(value, value - half, value + half), p)


def joined(
    *tests: PartTest, whole: HeadlineTest = WHOLE, p_of_interval: float = 0.2
) -> HeadlineTest:
    return join_parts(whole, p_of_interval, HeadlineParts(tests, 0.2, "templates", SAYS))


def test_holm_with_equal_weights_is_the_usual_one() -> None:
    adjusted = holm_weighted([0.01, 0.04, 0.03], [1, 1, 1])
    assert adjusted == pytest.approx([0.03, 0.06, 0.06])


def test_half_is_the_wholes_and_what_is_rejected_hands_its_share_on() -> None:
    """Of .05 the whole has .025, each of two parts .0125. The whole is rejected (.02 of .025), so
    that parts have .025 each; then one is (.02), and the other has .05."""
    adjusted = holm_weighted([0.02, 0.02, 0.045], [0.5, 0.25, 0.25])
    assert adjusted == pytest.approx([0.04, 0.04, 0.045])
    # Nothing is handed on by a whole that is not: the part would need .0125.
    adjusted = holm_weighted([0.6, 0.02, 0.9], [0.5, 0.25, 0.25])
    assert adjusted[1] == pytest.approx(0.08)


def test_p_is_corrected_over_the_whole_and_judged_parts_alone() -> None:
    few = PartTest("religion", 3, None, not_judged="3 templates, at least 5 needed")
    of_age = part("age", 0.3, 0.1, 0.01)
    of_sex = part("sex", 0.0, 0.1, 0.9)
    test = joined(of_age, of_sex, few)
    assert test.parts is not None
    # .01 of a quarter: .04; then .2 of a half of three quarters: .3; then .9.
    age, sex, religion = test.parts.tests
    assert (age.p, sex.p) == (pytest.approx(0.04), pytest.approx(0.9))
    assert religion.p is None
    assert test.p == pytest.approx(0.3)
    assert test.null == ("roles randomised; corrected over the whole and 2 parts (Holm, weighted)")


def test_detected_needs_the_p_of_the_interval_too() -> None:
    test = joined(part("age", 0.0, 0.1, 0.9), whole=replace(WHOLE, p=0.001), p_of_interval=0.03)
    assert test.p == pytest.approx(0.06)
    assert not test.is_detected


def test_a_part_is_detected_and_the_whole_says_where() -> None:
    test = joined(part("Age", 0.31, 0.2, 0.01), part("sex", 0.02, 0.05, 0.9))
    judged = judge(test)
    assert judged.verdict == Verdict.DETECTED
    assert judged.in_parts == (
        "In Age: 0.31 [0.11, 0.51] over 25 templates, p 0.040. On average 0.06 [0.03, 0.08], below "
        "0.1. Nothing above 0.2 in 1 other part."
    )
    assert judged.why == (
        "In a part the randomisation's p is at most .05, and the interval leaves out 0. "
        f"{judged.in_parts}"
    )
    assert test.words_by_part == {"Age": "detected", "sex": "below 0.2"}


def test_below_needs_every_part() -> None:
    even = [part("age", 0.01, 0.1, 0.9), part("sex", 0.02, 0.05, 0.9)]
    judged = judge(joined(*even))
    assert judged.verdict == Verdict.BELOW
    assert judged.in_parts == (
        "On average 0.06 [0.03, 0.08], below 0.1. Nothing above 0.2 in 2 parts."
    )
    wide = part("faith", 0.1, 0.2, 0.9)
    judged = judge(joined(*even, wide))
    assert judged.verdict == Verdict.INCONCLUSIVE
    assert judged.in_parts == (
        "On average 0.06 [0.03, 0.08], below 0.1. Nothing above 0.2 in 2 parts. Not ruled out "
        "above 0.2 in faith."
    )
    # A part that is not judged bars nothing, and is named.
    few = PartTest("faith", 3, None, not_judged="3 templates, at least 5 needed")
    judged = judge(joined(*even, few))
    assert judged.verdict == Verdict.BELOW
    assert judged.in_parts is not None
    assert judged.in_parts.endswith("Not judged: faith (3 templates, at least 5 needed).")


@pytest.mark.parametrize("control", [SMALL, None], ids=["reaches .1 alone", "was not asked"])
def test_below_needs_a_control_as_large_as_the_bound_of_parts(
    control: PositiveControl | None,
) -> None:
    test = joined(part("age", 0.01, 0.1, 0.9), whole=replace(WHOLE, control=control))
    assert judge(test).verdict == Verdict.INCONCLUSIVE
    assert test.words_by_part == {"age": "inconclusive"}


def test_a_whole_that_is_detected_says_in_which_direction() -> None:
    whole = replace(WHOLE, effect=Interval(-0.3, -0.4, -0.2), p=0.001)
    judged = judge(joined(part("age", -0.1, 0.2, 0.4), whole=whole, p_of_interval=0.001))
    assert judged.verdict == Verdict.DETECTED
    assert judged.in_parts is not None
    assert judged.in_parts.startswith(
        "The second wins more often: on average -0.30 [-0.40, -0.20]. "
    )


def test_detected_and_below_can_both_hold() -> None:
    whole = replace(WHOLE, p=0.001)
    test = joined(part("age", 0.1, 0.05, 0.001), whole=whole, p_of_interval=0.001)
    assert judge(test).verdict == Verdict.DETECTED_BELOW
    assert test.words_by_part == {"age": "detected, below 0.2"}
