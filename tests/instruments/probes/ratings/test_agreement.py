"""Kappa and alpha against published examples, and against their definitions."""

import math
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, strategies
from hypothesis.extra.numpy import arrays

from evenruler.instruments.probes.ratings import fleiss_kappa, krippendorff_alpha

# Fourteen raters put ten subjects in five categories: the example on Wikipedia's page on Fleiss' kappa.
PSYCHIATRISTS = [
    [0, 0, 0, 0, 14],
    [0, 2, 6, 4, 2],
    [0, 0, 3, 5, 6],
    [0, 3, 9, 2, 0],
    [2, 2, 8, 1, 1],
    [7, 7, 0, 0, 0],
    [3, 2, 6, 3, 0],
    [2, 5, 3, 2, 2],
    [6, 5, 2, 1, 0],
    [0, 2, 2, 3, 7],
]

NONE = math.nan
# Krippendorff (2011), section C: four observers, twelve units.
OBSERVERS = [
    [1, 2, 3, 3, 2, 1, 4, 1, 2, NONE, NONE, NONE],
    [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, NONE, 3],
    [NONE, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, NONE],
    [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, NONE],
]

complete = strategies.tuples(strategies.integers(2, 6), strategies.integers(2, 4)).flatmap(
    lambda shape: arrays(float, shape, elements=strategies.integers(1, 5).map(float))
)
with_gaps = strategies.tuples(strategies.integers(2, 6), strategies.integers(2, 4)).flatmap(
    lambda shape: arrays(float, shape, elements=strategies.sampled_from([1.0, 2.0, 3.0, 4.0, 5.0, math.nan]))
)


def test_kappa_of_the_published_example() -> None:
    units = np.array([np.repeat(np.arange(1, 6), counts) for counts in PSYCHIATRISTS])
    assert round(fleiss_kappa(units), 3) == 0.210


def test_alpha_of_the_published_example() -> None:
    assert round(krippendorff_alpha(np.transpose(OBSERVERS)), 3) == 0.815


@given(complete)
def test_kappa_is_agreement_of_pairs_beyond_chance(x) -> None:
    pairs = [row[a] == row[b] for row in x for a, b in permutations(range(x.shape[1]), 2)]
    chance = sum(np.mean(x == value) ** 2 for value in np.unique(x))
    if chance == 1:
        assert math.isnan(fleiss_kappa(x))
    else:
        assert fleiss_kappa(x) == pytest.approx((np.mean(pairs) - chance) / (1 - chance))


@given(with_gaps)
def test_alpha_is_disagreement_of_pairs_short_of_chance(x) -> None:
    """By its definition: observed over expected disagreement, pair by pair."""
    units = [row[~np.isnan(row)] for row in x]
    units = [unit for unit in units if len(unit) > 1]
    pool = np.concatenate(units) if units else np.array([])

    def apart(a: float, b: float) -> float:
        between = np.count_nonzero((pool >= min(a, b)) & (pool <= max(a, b)))
        return (between - (np.count_nonzero(pool == a) + np.count_nonzero(pool == b)) / 2) ** 2 if a != b else 0.0

    expected = sum(apart(a, b) for a, b in permutations(pool, 2))
    if expected == 0:
        assert math.isnan(krippendorff_alpha(x))
        return
    observed = sum(sum(apart(a, b) for a, b in permutations(unit, 2)) / (len(unit) - 1) for unit in units)
    n = len(pool)
    assert krippendorff_alpha(x) == pytest.approx(1 - (observed / n) / (expected / (n * (n - 1))))


@given(with_gaps, strategies.randoms())
def test_alpha_knows_neither_names_nor_distances(x, random) -> None:
    """The order of raters, of units and what the values are called tell nothing, as long as their order stays."""
    shuffled = x[random.sample(range(len(x)), len(x))][:, random.sample(range(x.shape[1]), x.shape[1])]
    assert krippendorff_alpha(np.exp(shuffled)) == pytest.approx(krippendorff_alpha(x), nan_ok=True)


def test_a_near_miss_counts_for_less() -> None:
    agreed = [[1, 1], [2, 2], [3, 3], [4, 4], [5, 5], [3, 3]]
    near, far = [*agreed, [4, 5]], [*agreed, [1, 5]]
    assert krippendorff_alpha(far) < krippendorff_alpha(near) < krippendorff_alpha(agreed) == 1
    assert fleiss_kappa(agreed) == 1


def test_a_lone_rating_tells_nothing() -> None:
    x = [[1, 2, NONE], [3, 3, 4], [5, NONE, 5]]
    assert krippendorff_alpha([*x, [NONE, 1, NONE]]) == krippendorff_alpha(x)


def test_equal_ratings_have_no_agreement_beyond_chance() -> None:
    assert math.isnan(krippendorff_alpha([[3, 3], [3, 3]]))
    assert math.isnan(fleiss_kappa([[3, 3], [3, 3]]))


@pytest.mark.parametrize("x", [[[1, NONE], [2, 2]], [[1], [2]], [1, 2], np.empty((0, 3))])
def test_kappa_asks_for_all_ratings(x) -> None:
    with pytest.raises(ValueError, match="units x raters"):
        fleiss_kappa(x)
