"""Variance over crossed random facets, what placebos take off, and components of variance by
published examples."""

import math
from dataclasses import astuple
from typing import ClassVar

import numpy as np
import pytest
from scipy import stats

from evenruler.measurement.facets import (
    Estimate,
    Facet,
    GroupDifference,
    difference_of_groups,
    jackknife_crossed,
    sum_estimates,
    variance_components,
)
from tests.text_tables import read_columns


def test_the_variance_of_a_mean_over_two_crossed_facets_is_that_of_generalizability_theory() -> (
    None
):
    x = np.random.default_rng(1).normal(size=(7, 5))
    x += np.arange(7)[:, None]
    x += 2 * np.arange(5)

    def mean(rows: np.ndarray, columns: np.ndarray) -> float:
        return float(x[np.ix_(rows, columns)].mean())

    estimate = jackknife_crossed(mean, [Facet.from_levels(7), Facet.from_levels(5)])
    squares = variance_components(x, "rc").mean_squares
    apart = squares["r",] + squares["c",]
    expected = (apart - squares["r", "c"]) / x.size
    assert estimate.value == pytest.approx(x.mean())
    assert estimate.variance == pytest.approx(expected, rel=1e-12)


def test_words_of_two_lists_are_two_samples() -> None:
    x = np.array([1.0, 4.0, 2.0, 8.0, 5.0, 5.5, 9.0])
    lists = np.array(list("aaaabbb"))

    def difference(is_kept: np.ndarray) -> float:
        first, second = (x[is_kept & (lists == name)] for name in "ab")
        return float(first.mean() - second.mean())

    estimate = jackknife_crossed(difference, [Facet(lists.tolist())])
    variance_of_a = x[:4].var(ddof=1) / 4
    variance_of_b = x[4:].var(ddof=1) / 3
    assert estimate.variance == pytest.approx(variance_of_a + variance_of_b)
    assert estimate.df == 5
    with pytest.raises(ValueError, match="two levels at least"):
        jackknife_crossed(difference, [Facet(list("aaaaaab"))])


def test_a_variance_that_noise_took_off_stays_its_largest_part() -> None:
    parts = [(4.0, 3.0), (1.0, 9.0)]
    estimate = sum_estimates(1.0, parts, shared=4.5)
    # 16 / (16 / 3 + 1 / 9) is less than the fewest.
    assert (estimate.variance, estimate.df) == (4, 3)
    # 25 / (16 / 3 + 1 / 9)
    assert sum_estimates(1.0, parts).df == pytest.approx(225 / 49)
    nothing = sum_estimates(1.0, [(0.0, 3.0), (0.0, 2.0)])
    assert nothing == Estimate(1.0, 0.0, 2.0)
    with pytest.raises(ValueError, match="one degree of freedom"):
        sum_estimates(1.0, [(1.0, 0.5)])


def test_the_tests_of_an_estimate_are_those_of_t() -> None:
    estimate = Estimate(0.3, 0.04, 10)
    assert estimate.p() == pytest.approx(2 * stats.t.sf(1.5, 10))
    errors = stats.t.ppf(0.975, 10) + stats.t.ppf(0.8, 10)
    assert estimate.detectable() == pytest.approx(errors * 0.2)
    exact = Estimate(0.3, 0.0, 10)
    assert exact.p() == 0
    assert Estimate(0.0, 0.0, 10).p() == 1


# Brennan (2001), Generalizability Theory, synthetic data set 3: 10 persons x 2 occasions x 4 items.
OCCASIONS = (
    ("2455442306", "6559346458", "7648546447", "5766675556"),
    ("2655462656", "5747547658", "5557677658", "5756485436"),
)
"""By occasion and item, a digit a person."""

DIGITS = np.array(OCCASIONS).view("U1").reshape(2, 4, 10)
BRENNAN = DIGITS.astype(int).transpose(2, 1, 0)
"""[persons, items, occasions]."""


PUBLISHED = read_columns("""
    effect  degrees  mean_square  variance
    p       9        6.9111       0.5528
    i       3        12.4833      0.4417
    o       1        3.2          0.0074
    pi      27       2.0852       0.5750
    po      9        1.3389       0.1009
    io      3        2.5          0.1565
    pio     27       0.9352       0.9352
""").set_index("effect")


def test_mean_squares_and_variances_are_the_published_ones() -> None:
    components = variance_components(BRENNAN, ("p", "i", "o"))
    assert ["".join(effect) for effect in components.degrees] == list(PUBLISHED.index)
    assert list(components.degrees.values()) == PUBLISHED["degrees"].tolist()
    for computed, name in (
        (components.mean_squares, "mean_square"),
        (components.variances, "variance"),
    ):
        assert list(computed.values()) == pytest.approx(PUBLISHED[name].tolist(), abs=1e-4)


@pytest.mark.parametrize(
    ("x", "facets", "message"),
    [
        (np.zeros((3, 4)), ("a",), "expected 1 axes"),
        (np.zeros((3, 4)), ("a", "a"), "expected 2 axes"),
        (np.zeros((3, 1)), ("a", "b"), "of at least two levels"),
        (np.full((3, 2), np.inf), ("a", "b"), "finite"),
    ],
)
def test_what_is_no_design(x, facets, message):
    with pytest.raises(ValueError, match=message):
        variance_components(x, facets)


SPREADS = {
    "u": 0.2,
    "t": 0.4,
    "ut": 0.1,
    "w": 0.5,
    "uw": 0.3,
    "tw": 0.4,
    "utw": 0.3,
}
"""SD of every effect of units, templates and words; those of no word are of the bias."""
TRUE = 0.3
GROUPS = [1, 1, -1, -1]
"""Of four words."""


def drawn(rng, shape, spreads=SPREADS):
    """Scores of units x templates x words in two groups whose means differ by `TRUE`."""
    groups = np.repeat([1, -1], shape[2] // 2)
    x = TRUE / 2 * groups + rng.normal(size=(*shape[:2], 1))
    for effect, spread in spreads.items():
        size = [n if name in effect else 1 for name, n in zip("utw", shape, strict=True)]
        scores = spread * rng.normal(size=size)
        x = x + (scores if "w" in effect else scores * groups)
    return x, groups


class TestDifference:
    def test_the_mean_of_all_differences(self):
        x, groups = drawn(np.random.default_rng(1), (5, 4, 6))
        difference = difference_of_groups(x, groups)
        interval = difference.interval()
        first, second = np.split(x, 2, axis=-1)
        expected = first.mean() - second.mean()
        assert difference.mean == interval.value == pytest.approx(expected)
        assert (interval.low + interval.high) / 2 == pytest.approx(expected)

    @pytest.mark.parametrize(
        "groups",
        [
            [1, 1, 1, -1],
            [1, -1],
            [1, 1, 0, -1],
        ],
    )
    def test_what_is_refused(self, groups):
        x = np.random.default_rng(1).normal(size=(3, 2, 4))
        for scores in (x, x[0]):
            with pytest.raises(ValueError, match="two groups of equal size"):
                difference_of_groups(scores, groups)


class TestIntervalOfTheDifference:
    @pytest.mark.slow
    @pytest.mark.long
    @pytest.mark.parametrize(
        "shape",
        [
            (50, 8, 12),
            (50, 4, 12),
            (24, 8, 12),
        ],
    )
    @pytest.mark.parametrize("without", [(), ("u", "t", "ut"), ("w", "uw", "tw")])
    def test_coverage(self, shape, without):
        """At the n that ship; 300 draws give 95% within 2.5."""
        rng = np.random.default_rng(7)
        spreads = SPREADS | dict.fromkeys(without, 0.0)
        n_held = 0
        for _ in range(300):
            interval = difference_of_groups(*drawn(rng, shape, spreads)).interval()
            n_held += interval.low <= TRUE <= interval.high
        assert 0.92 <= n_held / 300 <= 0.98

    def test_where_units_alone_vary_it_is_that_of_t(self):
        biases = np.random.default_rng(8).normal(1, 2, size=9)
        same_everywhere = np.tile(GROUPS, (3, 1)) / 2
        x = np.multiply.outer(biases, same_everywhere)
        interval = difference_of_groups(x, GROUPS).interval(0.5)
        expected = stats.t.interval(0.5, 8, biases.mean(), stats.sem(biases))
        assert (interval.low, interval.high) == pytest.approx(expected)

    def test_where_words_alone_vary_it_is_that_of_two_samples(self):
        words = np.random.default_rng(9).normal(size=10)
        groups = [1] * 5 + [-1] * 5
        interval = difference_of_groups(np.tile(words, (4, 3, 1)), groups).interval()
        expected = stats.ttest_ind(words[:5], words[5:]).confidence_interval()
        assert (interval.low, interval.high) == pytest.approx(expected)

    def test_the_variance_of_the_mean_is_that_of_every_part_over_what_it_is_a_mean_of(self):
        x, groups = drawn(np.random.default_rng(12), (7, 5, 6))
        difference = difference_of_groups(x, groups)
        # What is of words counts twice, once for each group of three.
        levels = {
            "unit": 7,
            "template": 5,
            "word": 1.5,
        }
        expected = 0.0
        for part, variance in difference.variances.items():
            expected += variance / math.prod(levels[facet] for facet in part)
        variance = sum(coefficient * square for coefficient, square, _ in difference._parts)
        assert variance == pytest.approx(expected)

    def test_degrees_of_freedom_of_several_parts_by_hand(self):
        # Terms 3, 1 and -1: a variance of 3 with 3**2 / (3**2 / 3 + 1 + 1) degrees.
        parts = [(0.5, 6.0, 3), (0.25, 4.0, 1), (-0.5, 2.0, 1)]
        interval = GroupDifference(1.0, {}, parts).interval()
        half = stats.t.ppf(0.975, 1.8) * math.sqrt(3)
        assert astuple(interval) == pytest.approx((1, 1 - half, 1 + half))

    def test_no_variance_is_left(self):
        # Neither units nor templates differ, only both together.
        bias = np.array([[1.0, -1.0], [-1.0, 1.0]])
        difference = difference_of_groups(np.multiply.outer(bias, GROUPS) / 2, GROUPS)
        equal = difference_of_groups(np.ones((3, 2, 4)), GROUPS)
        for interval in (difference.interval(), equal.interval()):
            assert interval.value == 0
            assert np.isnan([interval.low, interval.high]).all()
        # (0 - 4) / 2 templates; it stays below 0.
        assert difference.variances["unit",] == pytest.approx(-2)


class TestCoefficientOfTheDifference:
    VARIANCES: ClassVar = {
        ("unit",): 4.0,
        ("template",): 50.0,
        ("unit", "template"): 2.0,
        ("word",): 70.0,
        ("unit", "word"): 1.0,
        ("template", "word"): 90.0,
        ("unit", "template", "word"): 3.0,
    }

    def difference_with(self, **changed):
        changes = {tuple(name.split("_")): value for name, value in changed.items()}
        return GroupDifference(0.0, {**self.VARIANCES, **changes}, [])

    def test_by_hand(self):
        # What is alike for all units says nothing of their order.
        difference = self.difference_with()
        # 4 / (4 + 2 / 2 + 2 * (1 + 3 / 2) / 3)
        assert difference.coefficient(2, 3) == pytest.approx(0.6)
        # 4 / (4 + 2 + 8)
        assert difference.coefficient(1, 1) == pytest.approx(2 / 7)
        assert difference.coefficient(10**9, 10**9) == pytest.approx(1)
        # Templates without end leave the words: 4 / (4 + 1). The other way round: 4 / (4 + 0.5).
        assert difference.coefficient(10**9, 2) == pytest.approx(0.8)
        assert difference.coefficient(4, 10**9) == pytest.approx(8 / 9)

    def test_variances_below_zero_count_as_none(self):
        # 4 / (4 + 5 / 3)
        difference = self.difference_with(unit_template=-5.0)
        assert difference.coefficient(2, 3) == pytest.approx(12 / 17)
        assert self.difference_with(unit=-1.0).coefficient(2, 3) == 0

    def test_nothing_varies(self):
        nothing = {"unit": 0.0, "unit_template": 0.0, "unit_word": 0.0, "unit_template_word": 0.0}
        assert math.isnan(self.difference_with(**nothing).coefficient(2, 3))

    def test_of_none(self):
        with pytest.raises(ValueError, match="found 0 templates and 1 words"):
            self.difference_with().coefficient(0, 1)
