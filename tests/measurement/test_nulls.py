"""Labels dealt anew: exact where they can be counted, and of the error that they should have."""

import numpy as np
import pytest
from scipy import stats

from evenruler.measurement.resampling import labels_within, sign_flips, squared_shift


def test_flips_of_few_units_are_the_exact_test() -> None:
    x = np.array([1.2, 0.4, -0.3, 2.0, 0.9, 0.1, -0.2, 1.1])
    exact = stats.permutation_test((x,), np.mean, permutation_type="samples", n_resamples=np.inf)
    assert sign_flips(x, seed=1) == pytest.approx(exact.pvalue)


def test_flips_of_many_units_are_drawn() -> None:
    x = np.random.default_rng(1).normal(0.25, 1, 40)
    assert sign_flips(x, seed=1, draws=20_000) == pytest.approx(stats.ttest_1samp(x, 0).pvalue, abs=0.01)
    assert sign_flips(x + 5, seed=1) == pytest.approx(1 / 2001)
    assert sign_flips(np.zeros(40), seed=1) == 1


def test_flips_find_half_that_moves_and_no_more_than_chance_else() -> None:
    def p(seed: int, moved: float) -> float:
        random = np.random.default_rng(seed)
        before = np.eye(3)[random.integers(0, 3, 40)]
        after = np.where(random.random((40, 1)) < moved, np.eye(3)[2], before)
        return sign_flips(after - before, seed, draws=499)

    assert np.mean([p(seed, 1 / 2) < 0.05 for seed in range(50)]) > 0.9
    still = [sign_flips(np.random.default_rng(seed).normal(0, 1, (20, 3)), seed, 199) <= 0.05 for seed in range(400)]
    assert stats.binomtest(sum(still), 400, 0.05).pvalue > 0.01


def test_a_squared_shift_holds_no_noise() -> None:
    random = np.random.default_rng(2)
    found = [squared_shift(random.normal(0, 1, (12, 3))) for _ in range(4000)]
    assert np.mean(found) == pytest.approx(0, abs=4 * np.std(found) / np.sqrt(4000))
    assert squared_shift(np.tile([3.0, 4.0], (5, 1))) == pytest.approx(25)


def test_terms_that_tell_ill_from_well() -> None:
    """Four source and four inverse terms of nine items; the mean of the two labels is all that counts."""
    random = np.random.default_rng(3)
    labels = np.tile([1, 1, 1, 1, -1, -1, -1, -1], (9, 1))
    noise = random.normal(0, 1, (9, 8))
    assert labels_within(noise + 0.8 * labels, labels, seed=1) == pytest.approx(1 / 2001)
    assert labels_within(noise, labels, seed=1) == labels_within(-noise + 7, labels, seed=1)
    one = labels_within(noise[:1], labels[:1], seed=1, draws=20_000)
    exact = stats.permutation_test(
        (noise[0, :4], noise[0, 4:]), lambda x, y: x.mean() - y.mean(), vectorized=False, n_resamples=np.inf
    )
    assert one == pytest.approx(exact.pvalue, abs=0.01)


def test_terms_that_are_not_there_change_nothing() -> None:
    random = np.random.default_rng(4)
    labels = np.tile([1, 1, 1, -1, -1, -1], (6, 1))
    values = random.normal(0, 1, (6, 6)) + 0.4 * labels
    wider = np.hstack([values, np.full((6, 2), np.nan)])
    p = labels_within(wider, np.hstack([labels, np.ones((6, 2))]), seed=1, draws=20_000)
    assert p == pytest.approx(labels_within(values, labels, seed=1, draws=20_000), abs=0.01)
    with pytest.raises(ValueError, match="both labels"):
        labels_within(values, np.ones((6, 6)), seed=1)


def test_labels_that_mean_nothing_are_found_in_one_of_twenty() -> None:
    labels = np.tile([1, 1, 1, -1, -1, -1], (7, 1))
    found = [
        labels_within(np.random.default_rng(seed).normal(0, 1, (7, 6)), labels, seed, draws=199) <= 0.05
        for seed in range(400)
    ]
    assert stats.binomtest(sum(found), 400, 0.05).pvalue > 0.01
