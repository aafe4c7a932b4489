import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from evenruler.errors import UserError
from evenruler.instruments.saged.diagnose.statistics import (
    OPTIONS,
    STATISTICS,
    USES_BASELINE,
    cell_options,
    resolve_statistic,
    standard_of,
    undefined_reason,
)
from tests.instruments.near import approx

nan = math.nan
seeds = st.integers(0, 10_000)

Reference = Callable[[np.ndarray, np.ndarray, dict[str, Any]], float]


def references() -> dict[str, Reference]:
    """Each statistic of one group by numpy or scipy, no null among its numbers."""
    return {
        "mean": lambda x, b, o: np.mean(x),
        "median": lambda x, b, o: np.median(x),
        "mode": lambda x, b, o: (
            stats.mode(
                np.round(x / o["width"]),
            ).mode
            * o["width"]
        ),
        "variance": lambda x, b, o: np.var(x, ddof=1),
        "std": lambda x, b, o: np.std(x, ddof=1),
        "skewness": lambda x, b, o: stats.skew(x, bias=False),
        "kurtosis": lambda x, b, o: stats.kurtosis(x, bias=False),
        "range": lambda x, b, o: np.ptp(x),
        "quantile_range": lambda x, b, o: (
            np.quantile(
                x,
                1 - o["q"],
            )
            - np.quantile(x, o["q"])
        ),
        "percentile_range": lambda x, b, o: (
            np.percentile(x, o["high"]) - np.percentile(x, o["low"])
        ),
        "selection_rate": lambda x, b, o: np.mean(x >= o["standard"]),
        "correlation": lambda x, b, o: stats.pearsonr(x, b).statistic,
        "kl_divergence": lambda x, b, o: stats.entropy(
            np.histogram(x, o["edges"])[0] + o["epsilon"],
            np.histogram(b, o["edges"])[0] + o["epsilon"],
        ),
        "precision": lambda x, b, o: np.mean(np.abs(x - b) <= o["tolerance"]),
    }


FEWEST = {
    "variance": 2,
    "std": 2,
    "skewness": 3,
    "kurtosis": 4,
    "correlation": 2,
}
NEEDS_SPREAD = ("skewness", "kurtosis", "correlation")


def wanted(kind: str, values: np.ndarray, baseline: np.ndarray, options: dict[str, Any]) -> float:
    present = ~np.isnan(values)
    if kind in USES_BASELINE:
        present &= ~np.isnan(baseline)
    values, baseline = values[present], baseline[present]
    if len(values) < FEWEST.get(kind, 1):
        return nan
    if kind in NEEDS_SPREAD and (
        not np.ptp(values) or (kind == "correlation" and not np.ptp(baseline))
    ):
        return nan
    return float(references()[kind](values, baseline, options))


def block(seed: int, ties: bool) -> tuple[np.ndarray, np.ndarray]:
    """Groups of 1 to 40 numbers with nulls in both; one constant, one of one row, one without any
    value."""
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(7, 40))
    baseline = 0.6 * values + rng.normal(
        scale=0.5,
        size=values.shape,
    )
    if ties:  # eighths, so that sums are exact
        values = np.round(values * 4) / 8
        baseline = np.round(baseline * 4) / 8
    values[rng.random(values.shape) < 0.1] = nan
    baseline[rng.random(values.shape) < 0.1] = nan
    for group, length in enumerate(rng.integers(1, 41, size=4)):
        values[group, length:] = baseline[group, length:] = nan
    values[4] = 0.625
    values[5, 1:] = nan
    values[6] = nan
    return values, baseline


class TestAgainstNumpyAndScipy:
    @pytest.mark.parametrize("kind", STATISTICS)
    @settings(max_examples=40, deadline=None)
    @given(seed=seeds, ties=st.booleans())
    def test_on_random_blocks(self, kind, seed, ties) -> None:
        values, baseline = block(seed, ties)
        given_options = {"bins": 8} if kind == "kl_divergence" else {}
        options = cell_options(kind, values.ravel(), baseline.ravel(), **given_options)
        figures = STATISTICS[kind](values, baseline, **options)
        groups = list(zip(values, baseline, strict=True))
        expected = [wanted(kind, *group, options) for group in groups]
        np.testing.assert_allclose(figures, expected, rtol=1e-9, atol=1e-12)
        reasons = [undefined_reason(kind, *group) for group in groups]
        assert [bool(words) for words in reasons] == np.isnan(figures).tolist()

    @settings(max_examples=20, deadline=None)
    @given(seed=seeds, q=st.floats(0.01, 0.49), width=st.floats(0.05, 2))
    def test_with_other_options(self, seed, q, width) -> None:
        values, baseline = block(seed, ties=False)
        chosen: dict[str, dict[str, Any]] = {
            "mode": {"width": width},
            "quantile_range": {"q": q},
            "percentile_range": {"low": 100 * q, "high": 100 - q},
            "selection_rate": {"standard": "quantile", "q": q},
            "kl_divergence": {"bins": 5, "epsilon": 0.01},
            "precision": {"tolerance": width},
        }
        assert set(chosen) == set(OPTIONS)
        for kind, given_options in chosen.items():
            options = cell_options(kind, values.ravel(), baseline.ravel(), **given_options)
            groups = zip(values, baseline, strict=True)
            expected = [wanted(kind, *group, options) for group in groups]
            figures = STATISTICS[kind](values, baseline, **options)
            np.testing.assert_allclose(figures, expected, rtol=1e-9, atol=1e-12)


class TestByHand:
    def test_constant_groups(self) -> None:
        tenths = np.full((1, 10), 0.1)
        assert STATISTICS["variance"](tenths)[0] == 0
        assert STATISTICS["mode"](tenths)[0] == 0.1
        standard = standard_of(np.array([0.1] * 6))  # may be off by rounding
        for method in ("larger", "smaller"):
            rate = STATISTICS["selection_rate"](tenths, standard=standard, method=method)
            assert rate[0] == 1

    def test_mode_is_the_lowest_of_equally_full_bins(self) -> None:
        values = np.array(
            [
                [3.0, 1.0, 1.0, 3.0, 2.0],
                [0.96, 1.04, 0.0, nan, 5.0],
            ]
        )
        np.testing.assert_allclose(STATISTICS["mode"](values), [1.0, 1.0])

    @pytest.mark.parametrize(
        ("options", "rate"),
        [
            ({"standard": "mean"}, 2 / 4),  # 2
            ({"method": "smaller"}, 3 / 4),
            ({"standard": "median"}, 2 / 4),  # 1.5
            (
                {"standard": "quantile", "q": 1},
                1 / 4,
            ),  # 6
            (
                {"standard": "mode", "width": 1, "method": "smaller"},
                1 / 4,
            ),  # 0
            (
                {"method": "within_range", "margin": 1},
                2 / 4,
            ),  # 1 to 3
            (
                {"method": "within_percentage", "margin": 1},
                3 / 4,
            ),  # 0 to 4
        ],
    )
    def test_selection_rate(self, options, rate) -> None:
        cell = np.array(
            [0.0, 1.0, 2.0, 6.0, nan, 0.0, 3.0]
        )  # a null does not take the standard away
        group = np.array([[nan, 1.0, 2.0, 6.0, 0.0]])
        rates = STATISTICS["selection_rate"](
            group, **cell_options("selection_rate", cell, **options)
        )
        assert rates[0] == rate

    def test_a_percentage_of_a_negative_standard_is_of_its_magnitude(self) -> None:
        rate = STATISTICS["selection_rate"](
            np.array([-2.0, -3.0, -5.0]), standard=-2.0, method="within_percentage", margin=0.5
        )
        assert rate == approx(2 / 3)

    def test_decimal_bounds_are_met(self) -> None:
        # .4 - .3 is .10000000000000003 in binary.
        values = np.array([0.4, 0.5, 0.61])
        baseline = np.array([0.3, 0.5, 0.5])
        assert STATISTICS["precision"](values, baseline) == approx(2 / 3)

    def test_kurtosis_of_many(self) -> None:
        values = (
            np.random.default_rng(1).normal(size=3000) ** 2
        )  # their number cubed is beyond 32 bits
        assert STATISTICS["kurtosis"](values) == approx(stats.kurtosis(values, bias=False))

    def test_rounding_takes_no_correlation_beyond_one(self) -> None:
        values = np.array([0.36, 1.3, 0.95, -0.7, -1.27])  # products give -1.0000000000000002
        assert STATISTICS["correlation"](values, 1 - 3 * values) == -1
        assert STATISTICS["correlation"](values, 3 * values - 1) == 1


class TestDivergence:
    def test_by_hand_runs_from_the_group_to_the_baseline(self) -> None:
        # Counts 2, 2 and 1, 3, each plus .5: .5 ln(.5 / .3) + .5 ln(.5 / .7).
        values = np.array([0.0, 0, 1, 1])
        baseline = np.array([0.0, 1, 1, 1])
        divergence = STATISTICS["kl_divergence"]
        assert divergence(values, baseline, edges=[0, 0.5, 1]) == approx(0.0871766936)
        # The other way: .3 ln(.3 / .5) + .7 ln(.7 / .5).
        assert divergence(baseline, values, edges=[0, 0.5, 1]) == approx(0.0822828785)


class TestReasons:
    @pytest.mark.parametrize(
        ("kind", "values", "baseline", "words"),
        [
            ("mean", [nan, nan], [], "no value"),
            ("skewness", [1.0, 2.0], [], "2 values, needs 3"),
            ("kurtosis", [2.0] * 5, [], "all values are equal"),
            ("correlation", [1.0, 2.0], [1.0, nan], "1 value with a baseline, needs 2"),
            ("skewness", [1.0, 2.0, 4.0], [3.0, 3.0, 3.0], ""),
            ("correlation", [1.0, 2.0], [3.0, 3.0], "all baselines are equal"),
        ],
    )
    def test_say_why(self, kind, values, baseline, words) -> None:
        baselines = np.array(baseline) if baseline else None
        assert undefined_reason(kind, np.array(values), baselines) == words


def spread(values: np.ndarray, factor: float = 1) -> float:
    return factor * float(values.max() - values.min())


def picky(values: np.ndarray) -> float:
    if len(values) < 3:
        raise ValueError("too\nfew")
    return nan


def ordered(values: np.ndarray) -> np.ndarray:
    return np.sort(values)


class TestOwn:
    def test_takes_what_there_is_and_its_options(self) -> None:
        statistic = resolve_statistic(f"{__name__}.spread")
        values = np.array([[[1.0, nan, 4.0], [nan, nan, nan]]])
        np.testing.assert_array_equal(statistic(values, None), [[3, nan]])
        np.testing.assert_array_equal(statistic(values, None, factor=2), [[6, nan]])
        assert resolve_statistic("numpy.median")(np.array([1.0, 5.0, nan, 2.0])) == 2
        assert cell_options(f"{__name__}.spread", values, factor=2) == {"factor": 2}

    @pytest.mark.parametrize(
        ("name", "values", "words"),
        [
            ("spread", [nan], "no value"),
            ("picky", [1.0], "raised ValueError: too few"),
            ("picky", [1.0, 2.0, 3.0], "gave nan"),
            ("ordered", [2.0, 1.0], "gave ndarray, not a number"),
        ],
    )
    def test_failures_are_null_with_the_reason(self, name, values, words) -> None:
        statistic, numbers = f"{__name__}.{name}", np.array(values)
        assert np.isnan(resolve_statistic(statistic)(numbers))
        assert undefined_reason(statistic, numbers).endswith(words)

    @pytest.mark.parametrize(
        ("name", "words"),
        [
            ("medain", "no statistic 'medain'; did you mean 'median'?"),
            ("nowhere.at_all", "nowhere.at_all cannot be imported"),
            (".median", ".median cannot be imported"),
            ("numpy.pi", "numpy.pi is no function"),
        ],
    )
    def test_names_that_are_none(self, name, words) -> None:
        with pytest.raises(UserError, match=words):
            resolve_statistic(name)


class TestOptions:
    @pytest.mark.parametrize(
        ("kind", "options", "words"),
        [
            ("mean", {"width": 1}, "has no option 'width'; it takes no options"),
            ("precision", {"tolerence": 1}, "has no option 'tolerence'; did you mean"),
            ("precision", {"tolerance": -1}, "precision.tolerance: found -1"),
            ("precision", {"tolerance": "wide"}, "found 'wide', expected a number"),
            ("quantile_range", {"q": 0.7}, "quantile_range.q: found 0.7"),
            ("percentile_range", {"low": 60, "high": 40}, "low is 60 and high 40"),
            ("kl_divergence", {"bins": 2.5}, "kl_divergence.bins: found 2.5; a whole number"),
            ("kl_divergence", {"epsilon": 0}, "kl_divergence.epsilon: found 0"),
            ("selection_rate", {"standard": "meen"}, "found 'meen'; did you mean 'mean'"),
            ("selection_rate", {"method": "within_range"}, "within_range needs a margin"),
            ("selection_rate", {"q": nan, "standard": "quantile"}, "selection_rate.q: found nan"),
        ],
    )
    def test_mistakes_are_one_line(self, kind, options, words) -> None:
        numbers = np.array([1.0, 2.0])
        with pytest.raises(UserError, match=words):
            cell_options(kind, numbers, numbers, **options)
