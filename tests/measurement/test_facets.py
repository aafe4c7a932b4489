"""Variance over crossed random facets, and what placebos take off."""

import math

import numpy as np
import pytest
from scipy import stats

from evenruler.measurement.components import components
from evenruler.measurement.facets import Estimate, Facet, Lists, crossed, paired, summed


def test_the_variance_of_a_mean_over_two_crossed_facets_is_that_of_generalizability_theory() -> None:
    x = np.random.default_rng(1).normal(size=(7, 5)) + np.arange(7)[:, None] + 2 * np.arange(5)
    found = crossed(lambda rows, columns: float(x[rows][:, columns].mean()), [Facet.of(7), Facet.of(5)])
    squares = components(x, ("row", "column")).mean_squares
    expected = (squares["row",] + squares["column",] - squares["row", "column"]) / x.size
    assert found.value == pytest.approx(x.mean())
    assert found.variance == pytest.approx(expected, rel=1e-12)


def test_one_facet_alone_is_the_mean_of_a_sample_with_its_t() -> None:
    x = np.random.default_rng(2).normal(size=9)
    found = crossed(lambda kept: float(x[kept].mean()), [Facet.of(9)])
    expected = stats.ttest_1samp(x, 0)
    assert (found.df, found.p()) == pytest.approx((8, expected.pvalue))
    interval = expected.confidence_interval(0.95)
    assert (found.interval().low, found.interval().high) == pytest.approx((interval.low, interval.high))


def test_words_of_two_lists_are_two_samples() -> None:
    x, lists = np.array([1.0, 4.0, 2.0, 8.0, 5.0, 5.5, 9.0]), ["a"] * 4 + ["b"] * 3
    first = np.array([name == "a" for name in lists])

    def difference(kept: np.ndarray) -> float:
        return float(x[kept & first].mean() - x[kept & ~first].mean())

    found = crossed(difference, [Facet(lists)])
    assert found.variance == pytest.approx(x[:4].var(ddof=1) / 4 + x[4:].var(ddof=1) / 3)
    assert found.df == 5
    with pytest.raises(ValueError, match="two levels at least"):
        crossed(difference, [Facet(["a"] * 6 + ["b"])])


def test_a_variance_that_noise_took_off_stays_its_largest_part() -> None:
    found = summed(1.0, [(4.0, 3.0), (1.0, 9.0)], shared=4.5)
    assert (found.variance, found.df) == (4, 3)  # 16 / (16 / 3 + 1 / 9) is less than the fewest
    assert summed(1.0, [(4.0, 3.0), (1.0, 9.0)]).df == pytest.approx(25 / (16 / 3 + 1 / 9))
    assert summed(1.0, [(0.0, 3.0), (0.0, 2.0)]) == Estimate(1.0, 0.0, 2.0)
    with pytest.raises(ValueError, match="one degree of freedom"):
        summed(1.0, [(1.0, 0.5)])


def test_the_tests_of_an_estimate_are_those_of_t() -> None:
    one = Estimate(0.3, 0.04, 10)
    assert one.p() == pytest.approx(2 * stats.t.sf(1.5, 10))
    assert one.p_within(0.5) == pytest.approx(stats.t.sf(1.0, 10))
    assert one.p_sign(-1) == pytest.approx(stats.t.sf(-1.5, 10))
    assert one.detectable() == pytest.approx((stats.t.ppf(0.975, 10) + stats.t.ppf(0.8, 10)) * 0.2)
    exact, none = Estimate(0.3, 0.0, 10), Estimate(0.0, 0.0, 10)
    assert (exact.p(), exact.p_within(0.5), exact.p_within(0.2), none.p()) == (0, 0, 1, 1)


def test_placebo_wordings_are_taken_off_and_their_spread_is_pooled() -> None:
    rng = np.random.default_rng(3)
    real, other = rng.normal(1.0, 1.0, size=(40, 3)), rng.normal(0.2, 1.0, size=(40, 12))
    effect, found = paired(real, other)
    assert effect.value == pytest.approx(real.mean())
    assert found.mean == pytest.approx(other.mean())
    assert found.specific(effect).value == pytest.approx(real.mean() - other.mean())
    assert found.p_half(effect) == found.half.p_sign(-1)
    turned, of_turned = paired(-real, -other)
    assert of_turned.p_half(turned) == pytest.approx(found.p_half(effect))
    assert found.half.value == pytest.approx(real.mean() / 2 - other.mean())
    with pytest.raises(ValueError, match="1 wordings and 1 placebos"):
        paired(real[:, :1], other[:, :1])


def test_one_unit_is_all_that_differs() -> None:
    """Wordings that all do the same leave the spread of units alone."""
    of_units = np.array([1.0, 2.0, 4.0, 9.0])
    _, found = paired(np.tile(of_units[:, None], 3), np.zeros((4, 5)))
    assert found.difference.variance == pytest.approx(of_units.var(ddof=1) / 4)
    assert found.difference.df == 3


def test_lists_add_what_their_words_do_not_explain() -> None:
    effect = Estimate(1.0, 0.1, 20)
    lists = Lists([0.5, -0.5, 0.1, -0.3, 0.2], of_words=0.03, words=3, pairs=2)
    beyond = np.var(lists.values, ddof=1) - 0.01
    found = lists.specific(effect)
    assert (found.value, found.variance, found.df) == pytest.approx((1.0, 0.1 + beyond, 4))
    assert Lists([0.01, 0.0], of_words=0.03, words=3).specific(effect).variance == 0.1
    assert lists.typical() == pytest.approx(np.std(lists.values, ddof=1))
    assert Lists(lists.values, 0.03, 3).typical() == pytest.approx(math.sqrt(2) * lists.typical())


def test_half_the_effect_is_the_border_of_what_placebos_may_do() -> None:
    lists = Lists([-1.0, 0.0, 1.0], of_words=0.0, words=3, pairs=2)  # whose typical size is 1
    assert lists.p_half(Estimate(2.0, 0.1, 9)) == pytest.approx(0.5)
    assert lists.p_half(Estimate(1.0, 0.0, 9)) == pytest.approx(stats.norm.sf(math.log(2) / 0.5))
    assert lists.p_half(Estimate(4.0, 0.0, 9)) == pytest.approx(stats.norm.sf(-math.log(2) / 0.5))
