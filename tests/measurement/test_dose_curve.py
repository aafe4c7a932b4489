"""The dose that 8 of 10 models show: known curves, counts that hold no curve, and how often the
interval holds the truth."""

import math
from collections.abc import Sequence

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from evenruler.measurement.dose_curve import DoseThreshold, find_threshold

DOSES = [1.0, 2.0, 3.0, 4.0, 6.0, 8.0]


def of_threes(*detected: int) -> DoseThreshold:
    """Three models a dose, as in the record."""
    return find_threshold(DOSES, [3] * 6, detected)


def shares_of(dose: float, slope: float) -> "np.ndarray[tuple[int], np.dtype[np.float64]]":
    """P that each of `DOSES` is detected, where 8 of 10 models show `dose`."""
    distances = np.log(DOSES) - math.log(dose)
    shares: np.ndarray[tuple[int], np.dtype[np.float64]]
    shares = stats.norm.cdf(stats.norm.ppf(0.8) + slope * distances)
    return shares


@pytest.mark.parametrize(("dose", "slope"), [(2.5, 2.0), (5.0, 1.5)])
def test_many_models_give_the_dose_of_the_curve(dose: float, slope: float) -> None:
    n = 100_000
    detected = np.rint(n * shares_of(dose, slope)).astype(int)
    threshold = find_threshold(DOSES, [n] * 6, detected.tolist())
    assert threshold.dose == pytest.approx(dose, rel=0.015)  # the step of the grid


def test_a_curve_has_an_interval_and_no_two_doses_between() -> None:
    threshold = of_threes(0, 2, 1, 3, 3, 3)
    assert threshold.dose == pytest.approx(3.7, abs=0.1)
    assert (threshold.low, threshold.high) == (
        pytest.approx(2.4, abs=0.1),
        pytest.approx(8.8, abs=0.2),
    )
    assert threshold.between is None


def test_separated_counts_have_the_two_doses_beside_the_estimate() -> None:
    """Without the penalty the slope is infinite, and any dose from 2 to 3 as likely."""
    threshold = of_threes(0, 0, 3, 3, 3, 3)
    assert threshold.between == (2.0, 3.0)
    assert threshold.dose is not None
    assert 2 < threshold.dose < 3
    assert threshold.low is not None
    assert threshold.high is not None
    assert 1.5 < threshold.low < threshold.dose < 3 < threshold.high < 6


@pytest.mark.parametrize(
    ("detected", "why"),
    [
        ((0, 0, 0, 0, 0, 0), "it is not detected at any dose, up to 8 nats"),
        ((3, 3, 3, 3, 3, 3), "it is detected at every dose, from 1 nats"),
        ((0, 0, 0, 0, 0, 1), "fewer than 8 of 10 models show the largest dose, 8 nats"),
        ((3, 2, 1, 1, 0, 0), "the share does not rise with the dose"),
    ],
)
def test_counts_without_a_dose_say_why(detected: Sequence[int], why: str) -> None:
    threshold = of_threes(*detected)
    assert (threshold.dose, threshold.why) == (None, why)


def test_two_doses_are_no_curve() -> None:
    threshold = find_threshold([2, 8], [6, 1], [3, 1])
    assert threshold == DoseThreshold(None, why="no curve: of the 3 doses that it takes, 2 tried")


@pytest.mark.parametrize(
    ("doses", "detected"),
    [
        ([1.0, 2.0, 3.0], [0, 4, 3]),
        ([1.0, 2.0, 2.0], [0, 1, 3]),
        ([0.0, 1.0, 2.0], [0, 1, 3]),
    ],
)
def test_counts_that_cannot_be_are_refused(doses: list[float], detected: list[int]) -> None:
    with pytest.raises(ValueError, match=r"counts of detected models|doses: each above 0"):
        find_threshold(doses, [3, 3, 3], detected)


def test_the_interval_holds_the_planted_dose() -> None:
    """Of 200 sets of counts, at least .93 hold it (.96 to .99 in 300), separated or not."""
    rng = np.random.default_rng(1)
    holds: list[bool] = []
    by_counts: dict[tuple[int, ...], DoseThreshold] = {}
    for dose in (2.5, 5.0):
        drawn = pd.DataFrame(rng.binomial(3, shares_of(dose, 3.0), size=(100, 6)))
        for detected in drawn.itertuples(index=False, name=None):
            if detected not in by_counts:
                by_counts[detected] = of_threes(*detected)
            threshold = by_counts[detected]
            low, high = threshold.low or 0.0, threshold.high or math.inf
            holds.append(low <= dose <= high)
    assert len(holds) == 200
    assert np.mean(holds) >= 0.93
