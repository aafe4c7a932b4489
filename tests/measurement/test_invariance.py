"""Whether a benchmark measures one thing in every model: by hand, with planted truths."""

import math

import numpy as np
import pytest
from scipy import stats
from scipy.special import expit
from scipy.stats import permutation_test

from evenruler.measurement.invariance import compare_units
from evenruler.measurement.randomisation import randomise_keys

MODELS, UNITS, EACH = 5, 20, 12
UNIT_NAMES = [f"u{unit:02d}" for unit in range(UNITS)]
NAMES = np.repeat(UNIT_NAMES, EACH).tolist()


def leans(seed: int, apart: float = 0.0, by_models: float = 0.0) -> np.ndarray:
    """Choices of 1 and -1, of models that lean alike in units and items; in one unit of the first
    model oftener the other way, by so many nats; `by_models`: SD of units by models, nats."""
    random = np.random.default_rng(seed)
    of_units = np.repeat(random.normal(0, 0.8, UNITS), EACH)
    of_items = random.normal(0, 1.0, UNITS * EACH)
    of_models = random.normal(0, 0.5, (MODELS, 1))
    of_cells = np.repeat(random.normal(0, by_models, (MODELS, UNITS)), EACH, axis=1)
    log_odds = of_units + of_items + of_models + of_cells
    log_odds[0, :EACH] += apart
    drawn = random.random(log_odds.shape)
    return np.where(drawn < expit(log_odds), 1.0, -1.0)


def test_the_ratio_by_hand() -> None:
    """Two models that differ by 0 in one unit and by 4 in the other, with noise of 1 each way."""
    other = np.array([1.0, -1, 3, 5])
    result = compare_units([np.zeros(4), other], ["a", "a", "b", "b"], n=9)
    # Half of the differences, less their mean: -.5, -1.5, .5, 1.5, in both models.
    of_first_model = np.array([1, -1])
    assert result.deviations[0] == pytest.approx(of_first_model)
    assert result.deviations[1] == pytest.approx(-of_first_model)
    between, within = 8 * 1.0, 8 * 0.25
    assert result.ratio == pytest.approx(between / (within / 2))
    # Units vary as all together, which has two degrees of freedom: .5, over 1/2 - 1/4.
    expected = 2 * stats.t.sf(1 / math.sqrt(0.125), 2)
    assert result.p_values == pytest.approx(np.full((2, 2), expected))


def test_guard_without_an_interaction_units_are_rarely_called_apart() -> None:
    results = [compare_units(leans(draw), NAMES, n=199, seed=draw) for draw in range(200)]
    assert np.mean([result.is_apart.any() for result in results]) <= 0.09
    assert np.mean([result.test.p <= 0.05 for result in results]) <= 0.09


def test_one_unit_that_functions_differently_is_named() -> None:
    studies = [compare_units(leans(draw, 6.0), NAMES, n=9) for draw in range(20)]
    flagged = np.array([study.is_apart for study in studies])
    assert flagged[:, 0, 0].mean() >= 0.8
    flagged[:, :, 0] = False
    assert flagged.any(axis=(1, 2)).mean() <= 0.2


def test_what_models_share_of_units() -> None:
    shared = [compare_units(leans(draw), NAMES, n=9).shared for draw in range(40)]
    assert np.mean([share for share in shared if share is not None]) > 0.85
    apart = [compare_units(leans(draw, by_models=1.5), NAMES, n=199) for draw in range(40)]
    assert np.mean([result.shared for result in apart if result.shared is not None]) < 0.5
    assert np.mean([result.test.p < 0.05 for result in apart]) > 0.9


@pytest.mark.parametrize(
    ("scores", "units", "message"),
    [
        (np.ones((1, 4)), list("aabb"), "two models at least"),
        (np.ones((2, 3)), list("aabb"), "two models at least"),
        (np.full((2, 4), np.nan), list("aabb"), "finite"),
        (np.eye(2, 4), list("abcd"), "4 units in 4 items"),
        (np.eye(2, 4), list("aaaa"), "1 units in 4 items"),
        (np.ones((2, 4)), list("aabb"), "do not differ within units"),
    ],
)
def test_what_cannot_be_compared_is_refused(
    scores: np.ndarray, units: list[str], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        compare_units(scores, units)


def test_keys_are_dealt_as_scipy_deals_them() -> None:
    """Of nine and seven units, all divisions."""
    random = np.random.default_rng(5)
    scores = random.normal(size=16)
    keys = np.repeat([1, -1], [9, 7])

    def difference(first: np.ndarray, second: np.ndarray, axis: int) -> np.ndarray:
        return np.abs(first.mean(axis=axis) - second.mean(axis=axis))

    sides = (scores[:9], scores[9:])
    expected = permutation_test(sides, difference, n_resamples=np.inf, alternative="greater")
    test = randomise_keys(scores, keys, units="stereotypes")
    assert test.p == pytest.approx(expected.pvalue)
    assert test.null.endswith("over 16 stereotypes, 9 and 7 of a key, all 11,440 divisions")


def test_of_many_divisions_random_ones_are_drawn() -> None:
    keys = np.repeat([1, -1], 20)
    test = randomise_keys(keys + np.arange(40) / 100, keys, n=499, seed=3)
    assert test.p == 1 / 500
    assert test.null.endswith("20 and 20 of a key, 499 randomisations, seed 3")


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ([1, 1, 1], "the same key"),
        ([1, -1], "three units"),
        ([1, 0, -1], "a key of 1 or -1"),
    ],
)
def test_keys_that_cannot_be_dealt_are_refused(keys: list[int], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        randomise_keys([1.0, 2.0, 3.0], keys)
