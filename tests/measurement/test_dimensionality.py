import math

import numpy as np
import pytest

from evenruler.measurement import first_component_share, parallel_analysis


def planted(factors: int, seed: int, observations: int = 200, items_each: int = 4) -> np.ndarray:
    """Items that load .7 on one of some uncorrelated factors each."""
    rng = np.random.default_rng(seed)
    common = np.repeat(rng.normal(size=(observations, factors)), items_each, axis=1)
    return 0.7 * common + np.sqrt(1 - 0.49) * rng.normal(size=common.shape)


class TestFirstComponentShare:
    def test_equal_correlations(self, sample_with):
        # The first eigenvalue of k items with correlation r is 1 + (k - 1) r: (1 + 3 * .4) / 4 = .55. Scales
        # do not matter.
        x = sample_with(np.full((4, 4), 0.4) + 0.6 * np.eye(4)) * [1, 10, 100, 1000]
        assert first_component_share(x) == pytest.approx(0.55, abs=1e-9)

    def test_two_items_that_oppose(self, sample_with):
        # Eigenvalues 1 + .6 and 1 - .6: 1.6 / 2.
        x = sample_with(np.array([[1, -0.6], [-0.6, 1]]))
        assert first_component_share(x) == pytest.approx(0.8, abs=1e-9)

    def test_two_blocks(self, sample_with):
        # Blocks of 3 with correlation .5 and of 2 with .2: the first eigenvalue is 1 + 2 * .5 = 2, of 5.
        correlations = np.eye(5)
        correlations[:3, :3] += 0.5 * (1 - np.eye(3))
        correlations[3:, 3:] += 0.2 * (1 - np.eye(2))
        assert first_component_share(sample_with(correlations)) == pytest.approx(2 / 5, abs=1e-9)

    def test_bounds(self, sample_with):
        assert first_component_share(sample_with(np.eye(5))) == pytest.approx(1 / 5, abs=1e-9)
        assert first_component_share([[1, 2, -3], [2, 4, -6], [4, 8, -12]]) == pytest.approx(1, abs=1e-9)

    def test_nan_with_a_constant_item(self):
        assert math.isnan(first_component_share([[1, 0.1], [2, 0.1], [5, 0.1]]))

    @pytest.mark.parametrize(
        ("x", "message"),
        [([1, 2], "matrix"), ([[1], [2]], "2 items"), ([[1, 2]], "2 obs"), ([[1, 2], [2, np.inf]], "finite")],
    )
    def test_refuses(self, x, message):
        with pytest.raises(ValueError, match=message):
            first_component_share(x)


class TestParallelAnalysis:
    @pytest.mark.parametrize("factors", [1, 2, 3])
    @pytest.mark.parametrize("seed", [0, 1, 2])
    def test_finds_the_planted_factors(self, factors, seed):
        x = planted(factors, seed)
        assert parallel_analysis(x, seed=seed, resamples=200) == factors
        assert parallel_analysis(x * np.arange(1, x.shape[1] + 1) + 5, seed=seed, resamples=200) == factors

    def test_noise_has_a_factor_as_seldom_as_the_quantile_says(self):
        rng = np.random.default_rng(0)
        found = [parallel_analysis(rng.normal(size=(30, 4)), seed=i, resamples=100) > 0 for i in range(200)]
        strict = [
            parallel_analysis(rng.normal(size=(30, 4)), seed=i, resamples=100, quantile=0.5) > 0 for i in range(200)
        ]
        # Expected .05 and .5; standard errors over 200 are .015 and .035.
        assert 0.01 <= np.mean(found) <= 0.11
        assert 0.39 <= np.mean(strict) <= 0.61

    def test_counting_stops_at_the_first_that_is_not_above(self, sample_with):
        # Correlations of -.5 have eigenvalues 3/2, 3/2, 0. In noise of 12 x 3 the first is above 3/2 more
        # often than one time in twenty, the second hardly ever: the second counts only if the first does.
        x = sample_with(1.5 * np.eye(3) - 0.5, observations=12)
        noise = [
            np.linalg.eigvalsh(np.corrcoef(np.random.default_rng(i).normal(size=(12, 3)), rowvar=False))[::-1]
            for i in range(300)
        ]
        first, second, _ = np.quantile(noise, 0.95, axis=0)
        assert second < 1.45 < 1.55 < first
        assert parallel_analysis(x, seed=0) == 0

    def test_each_is_compared_with_those_of_its_own_place(self, sample_with):
        # Pairs of items with correlations .9 and .4: eigenvalues 1.9 and 1.4. The second is above the second of noise,
        # and below what one in twenty of all eigenvalues of noise exceeds.
        correlations = np.eye(4)
        correlations[[0, 1], [1, 0]] = 0.9
        correlations[[2, 3], [3, 2]] = 0.4
        noise = [
            np.linalg.eigvalsh(np.corrcoef(np.random.default_rng(i).normal(size=(30, 4)), rowvar=False))[::-1]
            for i in range(300)
        ]
        first, second = np.quantile(noise, 0.95, axis=0)[:2]
        assert second < 1.35 < 1.45 < np.quantile(noise, 0.95)
        assert first < 1.85
        assert parallel_analysis(sample_with(correlations), seed=0) == 2

    def test_one_data_set_of_noise_is_enough(self):
        assert parallel_analysis(planted(1, 0), seed=0, resamples=1) == 1

    def test_same_seed_same_count(self):
        # An eigenvalue near its threshold: the count depends on the noise that was drawn.
        rng = np.random.default_rng(0)
        x = rng.normal(size=(30, 4)) + 0.4 * rng.normal(size=(30, 1))
        counts = [parallel_analysis(x, seed=i, resamples=3) for i in range(20)]
        assert counts == [parallel_analysis(x, seed=i, resamples=3) for i in range(20)]
        assert set(counts) == {0, 1}

    @pytest.mark.parametrize(
        ("x", "options", "message"),
        [
            ([[1, 2], [3, 5]], {}, "at least 3 observations"),
            ([[1], [3], [4]], {}, "at least 2 items"),
            ([[1, 2], [3, 2], [4, 2]], {}, "constant"),
            ([[1, 2], [3, np.nan], [4, 2]], {}, "finite"),
            ([[1, 2], [3, 5], [4, 2]], {"resamples": 0}, "resamples"),
            ([[1, 2], [3, 5], [4, 2]], {"quantile": 1.0}, "quantile"),
            ([[1, 2], [3, 5], [4, 2]], {"quantile": 0.0}, "quantile"),
        ],
    )
    def test_refuses(self, x, options, message):
        with pytest.raises(ValueError, match=message):
            parallel_analysis(x, seed=0, **options)
