"""Labels dealt anew: exact where they can be counted, and of the error that they should have."""

from itertools import product

import numpy as np
import pytest
from scipy import stats

from evenruler.measurement.resampling import sign_flips, squared_shift


def test_flips_of_few_units_are_the_exact_test() -> None:
    x = np.array([1.2, 0.4, -0.3, 2.0, 0.9, 0.1, -0.2, 1.1])
    exact = stats.permutation_test((x,), np.mean, permutation_type="samples", n_resamples=np.inf)
    assert sign_flips(x, seed=1) == pytest.approx(exact.pvalue)


def test_flips_of_classes_are_compared_by_the_length_of_their_sum() -> None:
    changes = np.transpose(
        [
            [1, 1, 3, 2],
            [0, 2, 0, -3],
        ]
    )
    totals = np.array(list(product([1, -1], repeat=4))) @ changes
    squares = (totals**2).sum(axis=1)
    # (7, -1), (5, -5) with the second unit turned, and both with all turned.
    assert sorted(squares)[-5:] == [34, 50, 50, 50, 50]
    assert sign_flips(changes, seed=1) == 4 / 16


def test_flips_of_many_units_are_drawn() -> None:
    x = np.random.default_rng(1).normal(0.25, 1, 40)
    assert sign_flips(x, seed=1, draws=20_000) == pytest.approx(
        stats.ttest_1samp(x, 0).pvalue, abs=0.01
    )
    assert sign_flips(x + 5, seed=1) == pytest.approx(1 / 2001)
    assert sign_flips(np.zeros(40), seed=1) == 1


def test_a_squared_shift_holds_no_noise() -> None:
    random = np.random.default_rng(2)
    shifts = list(map(squared_shift, random.normal(0, 1, (4000, 12, 3))))
    error = np.std(shifts) / np.sqrt(4000)
    assert np.mean(shifts) == pytest.approx(0, abs=4 * error)
    same = np.tile([3.0, 4.0], (5, 1))
    assert squared_shift(same) == pytest.approx(25)
