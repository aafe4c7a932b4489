"""Every verdict, and what decides between two that both seem to hold."""

from dataclasses import replace

import pytest
from statsmodels.stats.multitest import multipletests

from evenruler.measurement.verdicts import ALPHA, Comparison, Verdict, adjusted, judged

SURE = Comparison(value=1.0, control=0.2, low=0.5, high=1.1, p=0.001, n=50, least=10, unit="attributes", bound=0.2)


@pytest.mark.parametrize(
    ("changed", "verdict", "reason"),
    [
        ({}, Verdict.BEYOND, "The control comes out like this with an adjusted p of 0.001."),
        (
            {"unfit": "an item is reversed", "n": 2},
            Verdict.UNFIT,
            "On this model the instrument fails a bar of its own: an item is reversed.",
        ),
        ({"n": 9}, Verdict.LITTLE, "It rests on 9 attributes, of at least 10."),
        ({"value": None}, Verdict.LITTLE, "There is no figure to compare."),
        ({"control": None}, Verdict.LITTLE, "There is no control to compare."),
        # Within the bound, however small p is.
        (
            {"low": -0.05, "high": 0.19},
            Verdict.WITHIN,
            "The interval of the difference to the control lies within 0.2 of 0.",
        ),
        ({"low": 0.01, "high": 0.2}, Verdict.BEYOND, "The control comes out like this with an adjusted p of 0.001."),
        (
            {"p": ALPHA},
            Verdict.LITTLE,
            "A difference beyond the bound is neither shown nor excluded: the adjusted p is 0.05.",
        ),
        (
            {"p": None},
            Verdict.LITTLE,
            "A difference beyond the bound is neither shown nor excluded: no p could be computed.",
        ),
        # A control that is larger: an unsigned figure is never beyond it.
        (
            {"value": 0.1, "low": -0.5, "high": 0.3},
            Verdict.LITTLE,
            "The control is as large, and the interval of the difference reaches beyond the bound.",
        ),
        (
            {"value": 0.1, "low": -0.5, "high": 0.3, "signed": True},
            Verdict.BEYOND,
            "The control comes out like this with an adjusted p of 0.001.",
        ),
    ],
)
def test_each_in_its_order(changed, verdict, reason):
    assert judged(replace(SURE, **changed)) == (verdict, reason)


@pytest.mark.parametrize("bound", [0.0, -1.0, float("nan")])
def test_a_bound_is_needed(bound):
    with pytest.raises(ValueError, match="expected a positive number"):
        judged(replace(SURE, bound=bound))


def test_holm_by_hand_and_by_the_library():
    # Sorted .01, .02, .04: times 3, 2, 1, never less than the one before.
    assert adjusted([0.04, 0.01, 0.02]) == pytest.approx([0.04, 0.03, 0.04])
    drawn = [0.3, 0.001, 0.04, 0.04, 0.9]
    assert adjusted(drawn) == pytest.approx(multipletests(drawn, method="holm")[1])


def test_what_has_no_p_takes_no_part():
    assert adjusted([None, 0.02, None, 0.04]) == [None, pytest.approx(0.04), None, pytest.approx(0.04)]
    assert adjusted([]) == []
    assert adjusted([None]) == [None]
