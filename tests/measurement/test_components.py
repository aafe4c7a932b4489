"""Variance components: a published example, a mixed model of statsmodels, and coverage by simulation."""

import math

import numpy as np
import pandas as pd
import pytest
import statsmodels.formula.api as smf

from evenruler.measurement.components import components, difference_of_groups

# Brennan (2001), Generalizability Theory, synthetic data set 3: 10 persons x 2 occasions x 4 items.
OCCASIONS = (
    ("2455442306", "6559346458", "7648546447", "5766675556"),
    ("2655462656", "5747547658", "5557677658", "5756485436"),
)
"""By occasion and item, a digit a person."""

BRENNAN = np.array([[[int(score) for score in item] for item in items] for items in OCCASIONS]).transpose(2, 1, 0)
"""[persons, items, occasions]."""


class TestPublished:
    @pytest.fixture
    def found(self):
        return components(BRENNAN, ("p", "i", "o"))

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

    def test_coefficient_for_its_own_design_and_for_others(self, found):
        assert found.coefficient("p") == pytest.approx(0.64, abs=0.005)
        # By hand: .5528 / (.5528 + .5750 / 8 + .1009 / 3 + .9352 / 24)
        assert found.coefficient("p", i=8, o=3) == pytest.approx(
            0.5528 / (0.5528 + 0.071875 + 0.033633 + 0.038967), abs=1e-4
        )
        assert found.coefficient("p", i=10**9, o=10**9) == pytest.approx(1, abs=1e-6)


class TestOfTwoFacets:
    def test_the_coefficient_is_alpha(self):
        from evenruler.measurement import cronbach_alpha

        x = np.random.default_rng(2).normal(size=(30, 1)) + np.random.default_rng(3).normal(size=(30, 6))
        assert components(x, ("person", "item")).coefficient("person") == pytest.approx(cronbach_alpha(x), abs=1e-12)

    def test_a_variance_below_zero_stays_and_counts_as_none(self):
        x = np.array([[1.0, 2.0], [2.0, 1.0], [1.5, 1.5]])
        found = components(x, ("person", "item"))
        assert found.variances[("person",)] == pytest.approx(-0.25)
        assert found.coefficient("person") == 0

    def test_nothing_varies(self):
        assert math.isnan(components(np.ones((3, 4)), ("person", "item")).coefficient("person"))


@pytest.mark.parametrize(
    ("x", "facets", "said"),
    [
        (np.zeros((3, 4)), ("a",), "expected 1 axes"),
        (np.zeros((3, 4)), ("a", "a"), "expected 2 axes"),
        (np.zeros((3, 1)), ("a", "b"), "of at least two levels"),
        (np.full((3, 2), np.inf), ("a", "b"), "finite"),
    ],
)
def test_what_is_no_design(x, facets, said):
    with pytest.raises(ValueError, match=said):
        components(x, facets)


@pytest.mark.parametrize(("of", "levels"), [("c", {}), ("a", {"c": 2}), ("a", {"b": 0})])
def test_no_such_facet_or_level(of, levels):
    with pytest.raises(ValueError, match="facets are a, b"):
        components(np.random.default_rng(0).normal(size=(3, 4)), ("a", "b")).coefficient(of, **levels)


def test_as_a_crossed_mixed_model_of_statsmodels_has_them():
    """Balanced and all above 0: restricted maximum likelihood is analysis of variance."""
    rng = np.random.default_rng(5)
    a, b = 2.0 * rng.normal(size=(12, 1)), 1.0 * rng.normal(size=(1, 9))
    x = a + b + 0.7 * rng.normal(size=(12, 9))
    found = components(x, ("a", "b")).variances
    rows = pd.DataFrame([(f"a{i}", f"b{j}", x[i, j]) for i in range(12) for j in range(9)], columns=["a", "b", "y"])
    model = smf.mixedlm("y ~ 1", rows.assign(all=1), groups="all", vc_formula={"a": "0 + C(a)", "b": "0 + C(b)"})
    fit = model.fit(reml=True)
    expected = dict(zip(model.exog_vc.names, fit.vcomp, strict=True))
    assert found[("a",)] == pytest.approx(expected["a"], rel=1e-3)
    assert found[("b",)] == pytest.approx(expected["b"], rel=1e-3)
    assert found[("a", "b")] == pytest.approx(fit.scale, rel=1e-3)


SPREADS = {"unit": 0.2, "template": 0.4, "both": 0.1, "word": 0.5, "unit-word": 0.3, "template-word": 0.4, "rest": 0.3}
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
    common = rng.normal(size=(n, 1, 1)) + 2 * rng.normal(size=(1, k, 1)) + 0.5 * rng.normal(size=(n, k, 1))
    return common + (TRUE / 2 + bias) * groups + noise, groups


class TestDifference:
    def test_value_is_the_mean_of_all_differences(self):
        x, groups = drawn(np.random.default_rng(1), (5, 4, 6), SPREADS)
        found = difference_of_groups(x, groups)
        assert found.value == pytest.approx(x[..., :3].mean() - x[..., 3:].mean())
        assert found.low < found.value < found.high

    @pytest.mark.parametrize("shape", [(50, 8, 12), (50, 4, 12), (24, 8, 12)])
    @pytest.mark.parametrize("without", [(), ("unit", "template", "both"), ("word", "unit-word", "template-word")])
    def test_coverage(self, shape, without):
        """At the n that ship; 300 draws give 95% within 2.5."""
        rng = np.random.default_rng(7)
        spreads = SPREADS | dict.fromkeys(without, 0.0)
        found = [difference_of_groups(*drawn(rng, shape, spreads)) for _ in range(300)]
        assert 0.92 <= np.mean([one.low <= TRUE <= one.high for one in found]) <= 0.98

    def test_what_is_refused(self):
        x = np.random.default_rng(1).normal(size=(3, 2, 4))
        for scores, groups in ((x, [1, 1, 1, -1]), (x[0], [1, 1, -1, -1]), (x, [1, -1])):
            with pytest.raises(ValueError, match="two groups of equal size"):
                difference_of_groups(scores, groups)
