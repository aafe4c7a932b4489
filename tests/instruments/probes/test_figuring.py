"""Figures of quality of a set of templates."""

import math

import numpy as np
import pandas as pd
import pingouin
import pytest
from scipy import stats

from evenruler import measurement
from evenruler.instruments.probes.diagnose.figuring import further_validity, mean_interval, of_sets, reliability
from evenruler.measurement import Figure
from evenruler.measurement.resampling import BELOW_ONE, CORRELATION, jackknife
from tests.instruments.probes.known import BIAS, CRITERION, KNOWN, RESAMPLING

ATTRIBUTES = pd.DataFrame({"criterion": CRITERION.values, "match": CRITERION.matches})
MEAN = BIAS.mean(axis=1)


def validity(bias: pd.Series = MEAN, attributes: pd.DataFrame = ATTRIBUTES) -> dict[str, Figure]:
    return {found.figure: found for found in further_validity(bias, attributes.astype({"criterion": float}), 0.9)}


def reliabilities(matrix: pd.DataFrame = BIAS, of_regroupings: float | None = None) -> dict[str, Figure]:
    return {found.figure: found for found in reliability(matrix.to_numpy(), RESAMPLING, of_regroupings)}


class TestFurtherValidity:
    @pytest.mark.parametrize(
        ("figure", "correlate", "names"),
        [
            ("rho", stats.spearmanr, KNOWN),
            ("r_exact", stats.pearsonr, [name for name in KNOWN if CRITERION.matches[name] == "exact"]),
            ("rho_exact", stats.spearmanr, [name for name in KNOWN if CRITERION.matches[name] == "exact"]),
        ],
    )
    def test_mean_bias_is_held_against_the_criterion(self, figure, correlate, names) -> None:
        expected = correlate(MEAN[names], [CRITERION.values[name] for name in names])

        found = validity()[figure]

        assert len(names) == (7 if figure == "rho" else 5)
        assert (found.n, found.unit) == (len(names), "attributes")
        assert found.value == pytest.approx(expected.statistic, abs=1e-12)
        assert found.p == pytest.approx(expected.pvalue, abs=1e-12)
        assert found.low < found.value < found.high
        assert (found.reason, found.bound) == (None, None)

    def test_with_the_jackknifes_interval_of_r(self) -> None:
        names = [name for name in KNOWN if CRITERION.matches[name] == "exact"]
        numbers = [CRITERION.values[name] for name in names]
        interval = jackknife(
            lambda x, y: stats.pearsonr(x, y).statistic, MEAN[names], numbers, scale=CORRELATION, level=0.9
        )
        found = validity()["r_exact"]
        assert (found.low, found.high) == pytest.approx((interval.low, interval.high), abs=1e-9)

    def test_a_model_that_leans_the_other_way_has_the_other_sign(self) -> None:
        there, turned = validity(), validity(-MEAN)
        assert list(there) == ["rho", "r_exact", "rho_exact"]
        for figure, one in there.items():
            assert turned[figure].value == pytest.approx(-one.value, abs=1e-12)

    def test_an_attribute_that_is_left_out_of_the_set_is_no_part(self) -> None:
        assert validity(MEAN.drop("nurse"))["rho"].n == 6

    def test_a_domain_without_a_criterion_has_none(self) -> None:
        assert validity(attributes=ATTRIBUTES.assign(criterion=np.nan)) == {}

    def test_too_few_criteria_are_null_with_the_reason(self) -> None:
        few = pd.DataFrame(
            {"criterion": [0.0, 1, 2, 3, *[math.nan] * 4], "match": [*["exact"] * 3, *["group"] * 5]}, index=BIAS.index
        )
        found = validity(attributes=few)
        assert (found["rho"].n, found["rho"].reason) == (4, None)
        for figure in ("r_exact", "rho_exact"):
            assert (found[figure].value, found[figure].p, found[figure].n) == (None, None, 3)
            assert found[figure].reason == "fewer than 4 attributes to correlate"

    @pytest.mark.parametrize("mean", [MEAN, pd.Series([0.1 + 0.2, *[0.3] * 7], BIAS.index)], ids=["flat", "blurred"])
    def test_what_is_the_same_for_all_is_null_with_the_reason(self, mean) -> None:
        same = ATTRIBUTES.assign(match="exact", criterion=50.0 if mean is MEAN else np.arange(8))
        for found in validity(mean, same).values():
            assert (found.value, found.reason) == (None, "all values are equal")


RELIABILITY = ["alpha", "inter_item_correlation", "alpha_at_8", "first_component_share", "omega", "factors"]


class TestReliability:
    def test_alpha_is_that_of_pingouin_beside_its_control(self) -> None:
        found = reliabilities(of_regroupings=0.25)["alpha"]
        alpha = pingouin.cronbach_alpha(BIAS)[0]
        assert 0.5 < alpha < 0.95
        assert (found.value, found.n, found.unit) == (pytest.approx(alpha, abs=1e-12), 8, "attributes")
        assert (found.control, found.bound) == (0.25, None)

    def test_the_control_is_of_alpha_alone(self) -> None:
        assert [name for name, one in reliabilities(of_regroupings=0.25).items() if one.control is not None] == [
            "alpha"
        ]
        assert reliabilities()["alpha"].control is None

    def test_intervals_are_the_jackknifes_over_attributes(self) -> None:
        found = reliabilities()
        expected = jackknife(lambda x: pingouin.cronbach_alpha(pd.DataFrame(x))[0], BIAS, scale=BELOW_ONE, level=0.9)
        assert (found["alpha"].low, found["alpha"].high) == pytest.approx((expected.low, expected.high), abs=1e-9)
        for figure in RELIABILITY[:4]:
            assert found[figure].low < found[figure].value < found[figure].high < 1
        for figure in RELIABILITY[4:]:
            assert (found[figure].low, found[figure].high) == (None, None)

    def test_the_others_are_what_they_are_defined_as(self) -> None:
        found = reliabilities()

        assert list(found) == RELIABILITY
        correlations = np.corrcoef(BIAS.to_numpy(), rowvar=False)
        mean = correlations[np.triu_indices(3, 1)].mean()
        assert found["inter_item_correlation"].value == pytest.approx(mean, abs=1e-12)
        assert found["alpha_at_8"].value == pytest.approx(8 * mean / (1 + 7 * mean), abs=1e-12)
        largest = np.linalg.eigvalsh(correlations)[-1]
        assert found["first_component_share"].value == pytest.approx(largest / 3, abs=1e-12)
        # Three items fix the loadings of one factor: l1 = sqrt(r12 r13 / r23) and so on.
        r12, r13, r23 = correlations[0, 1], correlations[0, 2], correlations[1, 2]
        loadings = np.sqrt([r12 * r13 / r23, r12 * r23 / r13, r13 * r23 / r12])
        deviations = BIAS.std(ddof=1).to_numpy()
        common = (loadings @ deviations) ** 2
        omega = common / (common + (1 - loadings**2) @ deviations**2)
        assert found["omega"].value == pytest.approx(omega, abs=1e-6)
        assert found["factors"].value == 1.0

    def test_omega_without_a_proper_solution_is_null_with_the_reason(self) -> None:
        # r12 = .72, r13 = .83, r23 = .38: the first template would need a loading of sqrt(.72 * .83 / .38) > 1.
        heywood = BIAS.assign(
            first=[2.0, 1.5, 0.5, 0.25, -0.5, -1.0, -2.5, -0.5],
            odd=[1.0, 2.0, 0.5, -0.5, 0.5, -0.75, -1.0, -2.0],
            last=[1.5, 0.5, 0.5, 1.0, -1.0, -2.0, -1.5, 0.25],
        )
        found = reliabilities(heywood)
        assert (found["omega"].value, found["omega"].reason) == (None, "no proper one-factor solution")
        assert found["alpha"].value is not None

    @pytest.mark.parametrize(
        ("matrix", "why"),
        [
            pytest.param(BIAS.assign(last=0.25), "a template does not tell the attributes apart", id="constant"),
            pytest.param(
                BIAS.assign(last=[0.1 + 0.2, *[0.3] * 7]),  # 0.30000000000000004
                "a template does not tell the attributes apart",
                id="constant-but-for-rounding",
            ),
            pytest.param(BIAS[["first"]], "a set of one template has no internal consistency", id="one-template"),
            pytest.param(BIAS.iloc[:2], "fewer than three attributes", id="two-attributes"),
        ],
    )
    def test_none_with_the_reason(self, matrix, why) -> None:
        found = reliabilities(matrix, 0.5)
        assert list(found) == RELIABILITY
        for figure in found.values():
            assert (figure.value, figure.low, figure.high, figure.control) == (None, None, None, None)
            assert (figure.reason, figure.n) == (why, len(matrix))


class TestMeanInterval:
    def test_is_that_of_t(self) -> None:
        values = np.array([1.0, 2.0, 4.0, -1.0, 0.5])
        found = mean_interval(values, 0.9)
        expected = stats.ttest_1samp(values, 0).confidence_interval(0.9)
        assert (found.value, found.low, found.high) == pytest.approx((1.3, *expected), abs=1e-12)

    @pytest.mark.parametrize("values", [[1.0, 2.0, 4.0, -1.0], [2.0] * 6])
    def test_none_below_five_or_where_all_are_equal(self, values) -> None:
        found = mean_interval(np.array(values), 0.9)
        assert found.value == np.mean(values)
        assert math.isnan(found.low)
        assert math.isnan(found.high)


class TestOfSets:
    def test_a_set_has_the_mean_diversity_of_its_templates(self) -> None:
        diversity = pd.DataFrame(
            {
                "benchmark": "trades",
                "set": ["hand", "hand", "hand", "other"],
                "template": ["a", "b", "c", "d"],
                "semantic_diversity": [0.25, 0.25, 1.0, math.nan],
                "lexical_diversity": [0.5, 1.0, 0.75, math.nan],
            }
        )

        found = of_sets(diversity).set_index(["set", "figure"])

        assert found.loc[("hand", "semantic_diversity"), "value"] == 0.5
        assert found.loc[("hand", "lexical_diversity"), "value"] == 0.75
        assert found.loc[("hand", "semantic_diversity"), ["n", "unit"]].tolist() == [3, "templates"]
        assert pd.isna(found.loc[("other", "semantic_diversity"), "value"])
        assert found.loc[("other", "semantic_diversity"), "reason"] == "a set of one template"


def test_alpha_at_eight_is_spearman_browns() -> None:
    """A set of eight has there the alpha of its standardised items."""
    eight = pd.DataFrame(np.random.default_rng(1).normal(size=(40, 8)) + np.random.default_rng(2).normal(size=(40, 1)))
    standardised = (eight - eight.mean()) / eight.std()
    assert reliabilities(eight)["alpha_at_8"].value == pytest.approx(
        measurement.cronbach_alpha(standardised), abs=1e-12
    )
