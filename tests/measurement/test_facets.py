"""Variance over crossed random facets, what placebos take off, and components of variance by
published examples."""

import math
from typing import ClassVar

import numpy as np
import pandas as pd
import pytest
import statsmodels.formula.api as smf
from scipy import stats

from evenruler.measurement.facets import (
    Estimate,
    Facet,
    GroupDifference,
    PlaceboLists,
    difference_of_groups,
    jackknife_crossed,
    pair_placebos,
    sum_estimates,
    variance_components,
)


def test_the_variance_of_a_mean_over_two_crossed_facets_is_that_of_generalizability_theory() -> (
    None
):
    x = np.random.default_rng(1).normal(size=(7, 5)) + np.arange(7)[:, None] + 2 * np.arange(5)
    found = jackknife_crossed(
        lambda rows, columns: float(x[rows][:, columns].mean()), [Facet.of(7), Facet.of(5)]
    )
    squares = variance_components(x, ("row", "column")).mean_squares
    expected = (squares["row",] + squares["column",] - squares["row", "column"]) / x.size
    assert found.value == pytest.approx(x.mean())
    assert found.variance == pytest.approx(expected, rel=1e-12)


def test_one_facet_alone_is_the_mean_of_a_sample_with_its_t() -> None:
    x = np.random.default_rng(2).normal(size=9)
    found = jackknife_crossed(lambda kept: float(x[kept].mean()), [Facet.of(9)])
    expected = stats.ttest_1samp(x, 0)
    assert (found.df, found.p()) == pytest.approx((8, expected.pvalue))
    interval = expected.confidence_interval(0.95)
    assert (found.interval().low, found.interval().high) == pytest.approx(
        (interval.low, interval.high)
    )


def test_words_of_two_lists_are_two_samples() -> None:
    x, lists = np.array([1.0, 4.0, 2.0, 8.0, 5.0, 5.5, 9.0]), ["a"] * 4 + ["b"] * 3
    first = np.array([name == "a" for name in lists])

    def difference(kept: np.ndarray) -> float:
        return float(x[kept & first].mean() - x[kept & ~first].mean())

    found = jackknife_crossed(difference, [Facet(lists)])
    assert found.variance == pytest.approx(x[:4].var(ddof=1) / 4 + x[4:].var(ddof=1) / 3)
    assert found.df == 5
    with pytest.raises(ValueError, match="two levels at least"):
        jackknife_crossed(difference, [Facet(["a"] * 6 + ["b"])])


def test_a_variance_that_noise_took_off_stays_its_largest_part() -> None:
    found = sum_estimates(1.0, [(4.0, 3.0), (1.0, 9.0)], shared=4.5)
    assert (found.variance, found.df) == (4, 3)  # 16 / (16 / 3 + 1 / 9) is less than the fewest
    assert sum_estimates(1.0, [(4.0, 3.0), (1.0, 9.0)]).df == pytest.approx(25 / (16 / 3 + 1 / 9))
    assert sum_estimates(1.0, [(0.0, 3.0), (0.0, 2.0)]) == Estimate(1.0, 0.0, 2.0)
    with pytest.raises(ValueError, match="one degree of freedom"):
        sum_estimates(1.0, [(1.0, 0.5)])


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
    effect, found = pair_placebos(real, other)
    assert effect.value == pytest.approx(real.mean())
    assert found.mean == pytest.approx(other.mean())
    assert found.specific(effect).value == pytest.approx(real.mean() - other.mean())
    assert found.p_half(effect) == found.half.p_sign(-1)
    turned, of_turned = pair_placebos(-real, -other)
    assert of_turned.p_half(turned) == pytest.approx(found.p_half(effect))
    assert found.half.value == pytest.approx(real.mean() / 2 - other.mean())
    with pytest.raises(ValueError, match="1 wordings and 1 placebos"):
        pair_placebos(real[:, :1], other[:, :1])


def test_one_unit_is_all_that_differs() -> None:
    """Wordings that all do the same leave the spread of units alone."""
    of_units = np.array([1.0, 2.0, 4.0, 9.0])
    _, found = pair_placebos(np.tile(of_units[:, None], 3), np.zeros((4, 5)))
    assert found.difference.variance == pytest.approx(of_units.var(ddof=1) / 4)
    assert found.difference.df == 3


def test_lists_add_what_their_words_do_not_explain() -> None:
    effect = Estimate(1.0, 0.1, 20)
    lists = PlaceboLists([0.5, -0.5, 0.1, -0.3, 0.2], of_words=0.03, words=3, pairs=2)
    beyond = np.var(lists.values, ddof=1) - 0.01
    found = lists.specific(effect)
    assert (found.value, found.variance, found.df) == pytest.approx((1.0, 0.1 + beyond, 4))
    assert PlaceboLists([0.01, 0.0], of_words=0.03, words=3).specific(effect).variance == 0.1
    assert lists.typical() == pytest.approx(np.std(lists.values, ddof=1))
    assert PlaceboLists(lists.values, 0.03, 3).typical() == pytest.approx(
        math.sqrt(2) * lists.typical()
    )


def test_half_the_effect_is_the_border_of_what_placebos_may_do() -> None:
    lists = PlaceboLists(
        [-1.0, 0.0, 1.0], of_words=0.0, words=3, pairs=2
    )  # whose typical size is 1
    assert lists.p_half(Estimate(2.0, 0.1, 9)) == pytest.approx(0.5)
    assert lists.p_half(Estimate(1.0, 0.0, 9)) == pytest.approx(stats.norm.sf(math.log(2) / 0.5))
    assert lists.p_half(Estimate(4.0, 0.0, 9)) == pytest.approx(stats.norm.sf(-math.log(2) / 0.5))


# Brennan (2001), Generalizability Theory, synthetic data set 3: 10 persons x 2 occasions x 4 items.
OCCASIONS = (
    ("2455442306", "6559346458", "7648546447", "5766675556"),
    ("2655462656", "5747547658", "5557677658", "5756485436"),
)
"""By occasion and item, a digit a person."""

BRENNAN = np.array(
    [[[int(score) for score in item] for item in items] for items in OCCASIONS]
).transpose(2, 1, 0)
"""[persons, items, occasions]."""


class TestPublished:
    @pytest.fixture
    def found(self):
        return variance_components(BRENNAN, ("p", "i", "o"))

    def test_mean_squares(self, found):
        assert found.degrees == {
            ("p",): 9,
            ("i",): 3,
            ("o",): 1,
            ("p", "i"): 27,
            ("p", "o"): 9,
            ("i", "o"): 3,
            ("p", "i", "o"): 27,
        }
        assert found.mean_squares == pytest.approx(
            {
                ("p",): 6.9111,
                ("i",): 12.4833,
                ("o",): 3.2,
                ("p", "i"): 2.0852,
                ("p", "o"): 1.3389,
                ("i", "o"): 2.5,
                ("p", "i", "o"): 0.9352,
            },
            abs=1e-4,
        )

    def test_variances(self, found):
        assert found.variances == pytest.approx(
            {
                ("p",): 0.5528,
                ("i",): 0.4417,
                ("o",): 0.0074,
                ("p", "i"): 0.5750,
                ("p", "o"): 0.1009,
                ("i", "o"): 0.1565,
                ("p", "i", "o"): 0.9352,
            },
            abs=1e-4,
        )


class TestOfTwoFacets:
    def test_a_variance_below_zero_stays(self):
        x = np.array([[1.0, 2.0], [2.0, 1.0], [1.5, 1.5]])
        found = variance_components(x, ("person", "item"))
        assert found.variances[("person",)] == pytest.approx(-0.25)


@pytest.mark.parametrize(
    ("x", "facets", "said"),
    [
        (np.zeros((3, 4)), ("a",), "expected 1 axes"),
        (np.zeros((3, 4)), ("a", "a"), "expected 2 axes"),
        (np.zeros((3, 1)), ("a", "b"), "of at least two levels"),
        (np.full((3, 2), np.inf), ("a", "b"), "finite"),
        (1.0, (), "expected 0 axes"),
    ],
)
def test_what_is_no_design(x, facets, said):
    with pytest.raises(ValueError, match=said):
        variance_components(x, facets)


def test_as_a_crossed_mixed_model_of_statsmodels_has_them():
    """Balanced and all above 0: restricted maximum likelihood is analysis of variance."""
    rng = np.random.default_rng(5)
    a, b = 2.0 * rng.normal(size=(12, 1)), 1.0 * rng.normal(size=(1, 9))
    x = a + b + 0.7 * rng.normal(size=(12, 9))
    found = variance_components(x, ("a", "b")).variances
    rows = pd.DataFrame(
        [(f"a{i}", f"b{j}", x[i, j]) for i in range(12) for j in range(9)], columns=["a", "b", "y"]
    )
    model = smf.mixedlm(
        "y ~ 1", rows.assign(all=1), groups="all", vc_formula={"a": "0 + C(a)", "b": "0 + C(b)"}
    )
    fit = model.fit(reml=True)
    expected = dict(zip(model.exog_vc.names, fit.vcomp, strict=True))
    assert found[("a",)] == pytest.approx(expected["a"], rel=1e-3)
    assert found[("b",)] == pytest.approx(expected["b"], rel=1e-3)
    assert found[("a", "b")] == pytest.approx(fit.scale, rel=1e-3)


SPREADS = {
    "unit": 0.2,
    "template": 0.4,
    "both": 0.1,
    "word": 0.5,
    "unit-word": 0.3,
    "template-word": 0.4,
    "rest": 0.3,
}
TRUE = 0.3


def drawn(rng, shape, spreads):
    """Scores of units x templates x words in two groups whose means differ by `TRUE`."""
    n, k, m = shape
    groups = np.repeat([1, -1], m // 2)
    bias = (
        spreads["unit"] * rng.normal(size=(n, 1, 1))
        + spreads["template"] * rng.normal(size=(1, k, 1))
        + spreads["both"] * rng.normal(size=(n, k, 1))
    )
    noise = (
        spreads["word"] * rng.normal(size=(1, 1, m))
        + spreads["unit-word"] * rng.normal(size=(n, 1, m))
        + spreads["template-word"] * rng.normal(size=(1, k, m))
        + spreads["rest"] * rng.normal(size=(n, k, m))
    )
    common = (
        rng.normal(size=(n, 1, 1))
        + 2 * rng.normal(size=(1, k, 1))
        + 0.5 * rng.normal(size=(n, k, 1))
    )
    return common + (TRUE / 2 + bias) * groups + noise, groups


def known(spreads):
    """The variances of the difference that `drawn` has: a bias counts for one group and against the
    other."""
    return {
        ("unit",): (2 * spreads["unit"]) ** 2,
        ("template",): (2 * spreads["template"]) ** 2,
        ("unit", "template"): (2 * spreads["both"]) ** 2,
        ("word",): spreads["word"] ** 2,
        ("unit", "word"): spreads["unit-word"] ** 2,
        ("template", "word"): spreads["template-word"] ** 2,
        ("unit", "template", "word"): spreads["rest"] ** 2,
    }


class TestDifference:
    def test_the_mean_of_all_differences(self):
        x, groups = drawn(np.random.default_rng(1), (5, 4, 6), SPREADS)
        found = difference_of_groups(x, groups)
        expected = x[..., :3].mean() - x[..., 3:].mean()
        assert found.mean == pytest.approx(expected)
        interval = found.interval()
        assert interval.value == pytest.approx(expected)
        assert interval.low < expected < interval.high
        assert interval.high - expected == pytest.approx(expected - interval.low)

    def test_groups_that_change_names_and_words_that_change_places(self):
        x, groups = drawn(np.random.default_rng(2), (5, 4, 6), SPREADS)
        found, order = difference_of_groups(x, groups), np.array([4, 0, 5, 2, 1, 3])
        turned = difference_of_groups(x[..., order], -groups[order])
        assert turned.mean == pytest.approx(-found.mean)
        assert turned.variances == pytest.approx(found.variances)
        assert turned.interval().low == pytest.approx(-found.interval().high)

    def test_what_is_common_to_all_words_falls_out(self):
        rng = np.random.default_rng(3)
        x, groups = drawn(rng, (5, 4, 6), SPREADS)
        found, moved = (
            difference_of_groups(x, groups),
            difference_of_groups(x + rng.normal(size=(5, 4, 1)), groups),
        )
        assert moved.variances == pytest.approx(found.variances)
        assert moved.interval().low == pytest.approx(found.interval().low)

    @pytest.mark.parametrize(
        "without", [(), ("unit", "template", "both"), ("word", "unit-word", "template-word")]
    )
    def test_variances_are_the_true_ones_on_average(self, without):
        rng, spreads = np.random.default_rng(4), SPREADS | dict.fromkeys(without, 0.0)
        found = [
            difference_of_groups(*drawn(rng, (16, 6, 8), spreads)).variances for _ in range(600)
        ]
        for effect, true in known(spreads).items():
            drawn_of = np.array([one[effect] for one in found])
            error = drawn_of.std(ddof=1) / math.sqrt(len(found))
            assert drawn_of.mean() == pytest.approx(true, abs=4 * error), effect
            assert error < 0.02, effect  # so that a factor of 2 would show in those that are not 0
            assert true == 0 or 4 * error < true / 2, effect

    def test_as_a_crossed_mixed_model_of_statsmodels_has_them_less_what_words_give(self):
        x, groups = drawn(np.random.default_rng(6), (14, 7, 6), SPREADS | {"both": 0.5})
        bias = x[..., :3].mean(axis=2) - x[..., 3:].mean(axis=2)
        rows = pd.DataFrame(
            [(f"u{i}", f"t{j}", y) for (i, j), y in np.ndenumerate(bias)], columns=["u", "t", "y"]
        )
        model = smf.mixedlm(
            "y ~ 1", rows.assign(all=1), groups="all", vc_formula={"u": "0 + C(u)", "t": "0 + C(t)"}
        )
        fit = model.fit(reml=True)
        expected = dict(zip(model.exog_vc.names, fit.vcomp, strict=True))
        assert min(expected["u"], expected["t"], fit.scale) > 0
        of_words = [
            variance_components(x[..., own], ("u", "t", "w")).variances
            for own in (slice(3), slice(3, 6))
        ]

        def of_both(*effect):
            """Of the mean of three words, minus that of three others."""
            return sum(one[(*effect, "w")] for one in of_words) / 3

        found = difference_of_groups(x, groups).variances
        assert found["unit",] == pytest.approx(expected["u"] - of_both("u"), rel=2e-3)
        assert found["template",] == pytest.approx(expected["t"] - of_both("t"), rel=2e-3)
        assert found["unit", "template"] == pytest.approx(fit.scale - of_both("u", "t"), rel=2e-3)
        assert found["word",] == pytest.approx((of_words[0]["w",] + of_words[1]["w",]) / 2)

    def test_what_is_refused(self):
        x = np.random.default_rng(1).normal(size=(3, 2, 4))
        for scores, groups in (
            (x, [1, 1, 1, -1]),
            (x[0], [1, 1, -1, -1]),
            (x, [1, -1]),
            (x, [1, 1, 0, -1]),
        ):
            with pytest.raises(ValueError, match="two groups of equal size"):
                difference_of_groups(scores, groups)
        with pytest.raises(ValueError, match="of at least two levels"):
            difference_of_groups(x[:, :1], [1, 1, -1, -1])
        with pytest.raises(ValueError, match="finite"):
            difference_of_groups(np.where(x == x.max(), np.nan, x), [1, 1, -1, -1])


class TestIntervalOfTheDifference:
    @pytest.mark.parametrize("shape", [(50, 8, 12), (50, 4, 12), (24, 8, 12)])
    @pytest.mark.parametrize(
        "without", [(), ("unit", "template", "both"), ("word", "unit-word", "template-word")]
    )
    def test_coverage(self, shape, without):
        """At the n that ship; 300 draws give 95% within 2.5."""
        rng = np.random.default_rng(7)
        spreads = SPREADS | dict.fromkeys(without, 0.0)
        found = [difference_of_groups(*drawn(rng, shape, spreads)).interval() for _ in range(300)]
        assert 0.92 <= np.mean([one.low <= TRUE <= one.high for one in found]) <= 0.98

    @pytest.mark.parametrize("level", [0.95, 0.5])
    def test_where_units_alone_vary_it_is_that_of_t(self, level):
        biases = np.random.default_rng(8).normal(1, 2, size=9)
        x = biases[:, None, None] * np.array([1, 1, -1, -1]) / 2 + np.zeros((1, 3, 1))
        found = difference_of_groups(x, [1, 1, -1, -1]).interval(level)
        expected = stats.t.interval(level, 8, biases.mean(), stats.sem(biases))
        assert (found.low, found.high) == pytest.approx(expected)

    def test_where_words_alone_vary_it_is_that_of_two_samples(self):
        words = np.random.default_rng(9).normal(size=10)
        found = difference_of_groups(words + np.zeros((4, 3, 1)), [1] * 5 + [-1] * 5).interval()
        expected = stats.ttest_ind(words[:5], words[5:]).confidence_interval()
        assert (found.low, found.high) == pytest.approx((expected.low, expected.high))

    def test_the_variance_of_the_mean_is_that_of_every_part_over_what_it_is_a_mean_of(self):
        n, k, m = 7, 5, 6
        found = difference_of_groups(*drawn(np.random.default_rng(12), (n, k, m), SPREADS))
        of, words = found.variances, m // 2
        bias = of["unit",] / n + of["template",] / k + of["unit", "template"] / (n * k)
        each = (
            of["word",] / words
            + of["unit", "word"] / (n * words)
            + of["template", "word"] / (k * words)
        )
        expected = bias + 2 * (each + of["unit", "template", "word"] / (n * k * words))
        assert sum(
            coefficient * square for coefficient, square, _ in found._parts
        ) == pytest.approx(expected)

    def test_no_variance_is_left(self):
        bias = np.array(
            [[1.0, -1.0], [-1.0, 1.0]]
        )  # neither units nor templates differ, only both together
        found = difference_of_groups(bias[..., None] * np.array([1, 1, -1, -1]) / 2, [1, 1, -1, -1])
        interval = found.interval()
        assert interval.value == 0
        assert math.isnan(interval.low)
        assert math.isnan(interval.high)
        assert found.variances["unit",] == pytest.approx(
            -2
        )  # (0 - 4) / 2 templates; it stays below 0

    def test_nothing_varies(self):
        interval = difference_of_groups(np.ones((3, 2, 4)), [1, 1, -1, -1]).interval()
        assert interval.value == 0
        assert math.isnan(interval.low)
        assert math.isnan(interval.high)

    def test_level_is_a_share(self):
        x, groups = drawn(np.random.default_rng(1), (5, 4, 6), SPREADS)
        with pytest.raises(ValueError, match="level"):
            difference_of_groups(x, groups).interval(1.0)


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

    def of(self, **changed):
        variances = {
            **self.VARIANCES,
            **{tuple(name.split("_")): value for name, value in changed.items()},
        }
        return GroupDifference(0.0, variances, [])

    def test_by_hand(self):
        # What is alike for all units says nothing of their order. 4 / (4 + 2 / 2 + 2 * (1 + 3 / 2)
        # / 3)
        assert self.of().coefficient(2, 3) == pytest.approx(4 / (4 + 1 + 5 / 3))
        assert self.of().coefficient(1, 1) == pytest.approx(4 / (4 + 2 + 8))
        assert self.of().coefficient(10**9, 10**9) == pytest.approx(1)
        # Templates without end leave the words, and the other way round.
        assert self.of().coefficient(10**9, 2) == pytest.approx(4 / (4 + 1))
        assert self.of().coefficient(4, 10**9) == pytest.approx(4 / (4 + 0.5))

    def test_variances_below_zero_count_as_none(self):
        assert self.of(unit_template=-5.0).coefficient(2, 3) == pytest.approx(4 / (4 + 5 / 3))
        assert self.of(unit=-1.0).coefficient(2, 3) == 0

    def test_nothing_varies(self):
        nothing = {"unit": 0.0, "unit_template": 0.0, "unit_word": 0.0, "unit_template_word": 0.0}
        assert math.isnan(self.of(**nothing).coefficient(2, 3))

    @pytest.mark.parametrize(("templates", "words"), [(0, 1), (1, 0)])
    def test_of_none(self, templates, words):
        with pytest.raises(ValueError, match=f"found {templates} templates and {words} words"):
            self.of().coefficient(templates, words)

    def test_of_its_own_design_it_is_a_share_of_the_variance_of_mean_biases(self):
        x, groups = drawn(np.random.default_rng(10), (20, 6, 8), SPREADS)
        found = difference_of_groups(x, groups)
        assert min(found.variances.values()) > 0
        means = x[..., :4].mean(axis=(1, 2)) - x[..., 4:].mean(axis=(1, 2))
        assert found.coefficient(6, 4) == pytest.approx(
            found.variances["unit",] / means.var(ddof=1)
        )

    def test_foretells_how_two_halves_of_a_design_agree(self):
        """The correlation of mean biases of the same units over other templates and other words."""
        rng, n = np.random.default_rng(11), 4000
        spreads = SPREADS | {"both": 0.3}
        x, _ = drawn(rng, (n, 6, 8), spreads)
        groups = np.repeat([1, -1], 4)
        halves = [
            x[:, own][..., words]
            for own, words in ((slice(3), [0, 1, 4, 5]), (slice(3, 6), [2, 3, 6, 7]))
        ]
        means = [
            half[..., :2].mean(axis=(1, 2)) - half[..., 2:].mean(axis=(1, 2)) for half in halves
        ]
        agreed = np.corrcoef(means)[0, 1]
        assert difference_of_groups(x, groups).coefficient(3, 2) == pytest.approx(agreed, abs=0.05)
