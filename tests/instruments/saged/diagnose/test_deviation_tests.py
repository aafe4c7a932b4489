"""Whom a model favours: what was planted is named, and nothing else."""

import numpy as np
import pytest
from scipy import stats

from evenruler.instruments.saged.diagnose.deviation_tests import (
    detectable_deviation,
    estimate_spread,
    max_deviation_test,
    step_down_max_t,
)
from tests.instruments.near import approx


def replies(roots: int, concepts: int = 21, seed: int = 1) -> np.ndarray:
    """Scores in which root items differ and concepts do not."""
    random = np.random.default_rng(seed)
    by_root = random.normal(0, 1, (roots, 1))
    return by_root + random.normal(0, 0.5, (roots, concepts))


def test_a_cursed_country_is_named_and_no_other() -> None:
    scores = replies(75, seed=2)
    scores[:, 4] -= 1.0
    test = max_deviation_test(scores, seed=1)
    assert test.p == test.p_of_concepts[4] == approx(1 / 2000)
    assert list(step_down_max_t(scores, seed=1)) == [4]
    off = scores - scores.mean(axis=1, keepdims=True)
    assert test.values == approx(off.mean(axis=0))
    assert test.errors[4] == approx(stats.sem(off[:, 4]))
    assert test.ranked[0] == test.outliers[0] == 4
    assert test.reach == approx(-test.low[4])


def test_nobody_is_praised_because_one_other_is_cursed() -> None:
    """The mean of six countries falls with one of them; what lies above it then is no favour."""
    scores = replies(40, 6)
    scores[:, 4] -= 6.0
    assert (max_deviation_test(scores, seed=1).low > 0).sum() == 5
    assert list(step_down_max_t(scores, seed=1)) == [4]
    scores[:, 2] += 1.0
    assert list(step_down_max_t(scores, seed=1)) == [4, 2]


def test_missing_scores_stay_where_they_are() -> None:
    """A country that is never answered has no value, and the others are judged without it."""
    scores = replies(30, 6)
    scores[:, 3] = np.nan
    scores[4, 0] = np.nan
    scores[:, 1] += 2
    test = max_deviation_test(scores, seed=1)
    assert np.isnan(test.values[3])
    assert np.isnan(test.p_of_concepts[3])
    assert list(step_down_max_t(scores, seed=1)) == [1]
    rest = max_deviation_test(np.delete(scores, 3, axis=1), seed=1)
    assert np.delete(test.values, 3) == approx(rest.values)


def test_scores_that_do_not_vary_are_no_difference() -> None:
    test = max_deviation_test(np.full((8, 4), 0.3), seed=1)
    assert test.p == 1
    assert test.outliers == []
    with pytest.raises(ValueError, match="two root items and two concepts"):
        max_deviation_test(np.zeros((1, 4)), seed=1)


def test_what_is_detectable_is_by_quantiles_of_t() -> None:
    t = stats.t(19)
    quantiles = t.isf(0.025 / 20) + t.ppf(0.8)
    assert detectable_deviation(0.2, 20, 20) == approx(0.2 * quantiles)


def test_the_spread_is_without_noise() -> None:
    random = np.random.default_rng(4)
    names = random.normal(0, 0.3, 400)
    scores = (
        names
        + random.normal(0, 1, (20, 1))
        + random.normal(
            0,
            1,
            (20, 400),
        )
    )
    assert scores.mean(axis=0).std(ddof=1) > 0.35
    assert estimate_spread(scores) == approx(names.std(ddof=1), abs=0.02)
    assert estimate_spread(
        np.tile(
            scores[:, :1],
            5,
        )
    ) == approx(0)
    assert np.isnan(estimate_spread(scores[:, :1]))
