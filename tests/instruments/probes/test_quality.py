"""What describes a set on a model: reliability, validity, items, variance components."""

import math

import numpy as np
import pandas as pd
import pingouin
import pytest
from scipy import stats

from evenruler import measurement
from evenruler.instruments.probes.diagnose.quality import (
    TARGETS,
    TEMPLATES,
    ScoreCube,
    further_validity,
    items_of,
    mean_interval,
    of_sets,
    reliability_figures,
    variance_components,
)
from evenruler.measurement import Figure
from evenruler.measurement.facets import difference_of_groups
from evenruler.measurement.resampling import BELOW_ONE, CORRELATION, jackknife
from tests.instruments.probes.known import BIAS, CRITERION, KNOWN, RESAMPLING, cube_of

ATTRIBUTES = pd.DataFrame({"criterion": CRITERION.values, "match": CRITERION.matches})
MEAN = BIAS.mean(axis=1)


def validity(bias: pd.Series = MEAN, attributes: pd.DataFrame = ATTRIBUTES) -> dict[str, Figure]:
    return {
        found.figure: found
        for found in further_validity(bias, attributes.astype({"criterion": float}), 0.9)
    }


def reliabilities(
    matrix: pd.DataFrame = BIAS, of_halvings: float | None = None
) -> dict[str, Figure]:
    return {
        found.figure: found
        for found in reliability_figures(matrix.to_numpy(), RESAMPLING, of_halvings)
    }


class TestFurtherValidity:
    @pytest.mark.parametrize(
        ("figure", "correlate", "names"),
        [
            ("rho", stats.spearmanr, KNOWN),
            (
                "r_exact",
                stats.pearsonr,
                [name for name in KNOWN if CRITERION.matches[name] == "exact"],
            ),
            (
                "rho_exact",
                stats.spearmanr,
                [name for name in KNOWN if CRITERION.matches[name] == "exact"],
            ),
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
        assert (found.reason, found.verdict) == (None, None)

    def test_with_the_jackknifes_interval_of_r(self) -> None:
        names = [name for name in KNOWN if CRITERION.matches[name] == "exact"]
        numbers = [CRITERION.values[name] for name in names]
        interval = jackknife(
            lambda x, y: stats.pearsonr(x, y).statistic,
            MEAN[names],
            numbers,
            scale=CORRELATION,
            level=0.9,
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
            {
                "criterion": [0.0, 1, 2, 3, *[math.nan] * 4],
                "match": [*["exact"] * 3, *["group"] * 5],
            },
            index=BIAS.index,
        )
        found = validity(attributes=few)
        assert (found["rho"].n, found["rho"].reason) == (4, None)
        for figure in ("r_exact", "rho_exact"):
            assert (found[figure].value, found[figure].p, found[figure].n) == (None, None, 3)
            assert found[figure].reason == "fewer than 4 attributes to correlate"

    @pytest.mark.parametrize(
        "mean", [MEAN, pd.Series([0.1 + 0.2, *[0.3] * 7], BIAS.index)], ids=["flat", "blurred"]
    )
    def test_what_is_the_same_for_all_is_null_with_the_reason(self, mean) -> None:
        same = ATTRIBUTES.assign(match="exact", criterion=50.0 if mean is MEAN else np.arange(8))
        for found in validity(mean, same).values():
            assert (found.value, found.reason) == (None, "all values are equal")


RELIABILITY = ["alpha", "inter_item_correlation", "alpha_at_8", "first_component_share"]


class TestReliability:
    def test_alpha_is_that_of_pingouin_beside_its_control(self) -> None:
        found = reliabilities(of_halvings=0.25)["alpha"]
        alpha = pingouin.cronbach_alpha(BIAS)[0]
        assert 0.5 < alpha < 0.95
        assert (found.value, found.n, found.unit) == (
            pytest.approx(alpha, abs=1e-12),
            8,
            "attributes",
        )
        assert (found.control, found.verdict) == (0.25, None)

    def test_the_control_is_of_alpha_alone(self) -> None:
        assert [
            name for name, one in reliabilities(of_halvings=0.25).items() if one.control is not None
        ] == ["alpha"]
        assert reliabilities()["alpha"].control is None

    def test_intervals_are_the_jackknifes_over_attributes(self) -> None:
        found = reliabilities()
        expected = jackknife(
            lambda x: pingouin.cronbach_alpha(pd.DataFrame(x))[0], BIAS, scale=BELOW_ONE, level=0.9
        )
        assert (found["alpha"].low, found["alpha"].high) == pytest.approx(
            (expected.low, expected.high), abs=1e-9
        )
        for figure in RELIABILITY:
            assert found[figure].low < found[figure].value < found[figure].high < 1

    def test_the_others_are_what_they_are_defined_as(self) -> None:
        found = reliabilities()

        assert list(found) == RELIABILITY
        correlations = np.corrcoef(BIAS.to_numpy(), rowvar=False)
        mean = correlations[np.triu_indices(3, 1)].mean()
        assert found["inter_item_correlation"].value == pytest.approx(mean, abs=1e-12)
        assert found["alpha_at_8"].value == pytest.approx(8 * mean / (1 + 7 * mean), abs=1e-12)
        largest = np.linalg.eigvalsh(correlations)[-1]
        assert found["first_component_share"].value == pytest.approx(largest / 3, abs=1e-12)

    @pytest.mark.parametrize(
        ("matrix", "why"),
        [
            pytest.param(
                BIAS.assign(last=0.25),
                "a template has the same bias for all attributes",
                id="constant",
            ),
            pytest.param(
                BIAS.assign(last=[0.1 + 0.2, *[0.3] * 7]),  # 0.30000000000000004
                "a template has the same bias for all attributes",
                id="constant-but-for-rounding",
            ),
            pytest.param(
                BIAS[["first"]],
                "a set of one template has no internal consistency",
                id="one-template",
            ),
            pytest.param(BIAS.iloc[:2], "fewer than three attributes", id="two-attributes"),
        ],
    )
    def test_none_with_the_reason(self, matrix, why) -> None:
        found = reliabilities(matrix, 0.5)
        assert list(found) == RELIABILITY
        for figure in found.values():
            assert (figure.value, figure.low, figure.high, figure.control) == (
                None,
                None,
                None,
                None,
            )
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

        found = of_sets(diversity).set_index(["part", "figure"])

        assert found.loc[("hand", "semantic_diversity"), "value"] == 0.5
        assert found.loc[("hand", "lexical_diversity"), "value"] == 0.75
        assert found.loc[("hand", "semantic_diversity"), ["n", "unit"]].tolist() == [3, "templates"]
        assert pd.isna(found.loc[("other", "semantic_diversity"), "value"])
        assert found.loc[("other", "semantic_diversity"), "reason"] == "a set of one template"


def test_alpha_at_eight_is_spearman_browns() -> None:
    """A set of eight has there the alpha of its standardised items."""
    eight = pd.DataFrame(
        np.random.default_rng(1).normal(size=(40, 8))
        + np.random.default_rng(2).normal(size=(40, 1))
    )
    standardised = (eight - eight.mean()) / eight.std()
    assert reliabilities(eight)["alpha_at_8"].value == pytest.approx(
        measurement.cronbach_alpha(standardised), abs=1e-12
    )


def cube(biases: pd.DataFrame) -> ScoreCube:
    """Scores that have these biases."""
    scores = biases.to_numpy()[:, :, None] * np.array([0.5, 0.5, -0.5, -0.5]) + [
        1.0,
        -1.0,
        2.0,
        -2.0,
    ]
    poles = np.array([1, 1, -1, -1], dtype=np.int8)
    return ScoreCube(
        scores,
        list(biases.index),
        list(biases),
        ["man", "uncle", "woman", "girl"],
        poles,
        np.ones(4),
    )


def interval(x: pd.Series, y: pd.Series) -> tuple[float, float]:
    """Of their correlation, by the jackknife over attributes."""
    found = jackknife(
        lambda one, other: stats.pearsonr(one, other).statistic, x, y, scale=CORRELATION, level=0.9
    )
    return found.low, found.high


def rows_of(
    biases: pd.DataFrame, controls: pd.DataFrame | None = None, level: float = 0.9
) -> pd.DataFrame:
    found = items_of(cube(biases), None if controls is None else cube(controls), level)
    assert found["template"].is_unique
    return found.set_index("template")


class TestTemplates:
    @pytest.mark.parametrize("name", BIAS)
    def test_what_one_says_and_adds(self, name) -> None:
        others = BIAS.drop(columns=name)

        row = rows_of(BIAS).loc[name]

        assert not row["control"]
        assert row["mean"] == pytest.approx(BIAS[name].mean(), abs=1e-12)
        assert row["sd"] == pytest.approx(BIAS[name].std(ddof=1), abs=1e-12)
        rest = stats.pearsonr(BIAS[name], others.sum(axis=1)).statistic
        assert row["item_rest_correlation"] == pytest.approx(rest, abs=1e-12)
        assert (row["low"], row["high"]) == pytest.approx(
            interval(BIAS[name], others.sum(axis=1)), abs=1e-9
        )
        assert row["alpha_if_removed"] == pytest.approx(
            pingouin.cronbach_alpha(others)[0], abs=1e-12
        )

    def test_one_that_is_read_the_other_way_round(self) -> None:
        """Eight attributes whose correlation with the rest is surely below 0."""
        rest = BIAS["first"] + BIAS["last"]
        turned = [0.25, -0.5, 0.0, 0.25, 0.5, -0.25, 0.0, -0.25] - rest
        rows = rows_of(BIAS.assign(odd=turned))
        assert rows.loc["odd", "high"] < 0
        assert rows.loc["odd", "item_rest_correlation"] == pytest.approx(
            np.corrcoef(turned, rest)[0, 1], abs=1e-12
        )

    def test_one_that_tells_nothing_apart(self) -> None:
        rows = rows_of(BIAS.assign(last=0.25))
        assert rows.loc["last", ["item_rest_correlation", "low", "high"]].isna().all()
        assert rows.loc["last", ["mean", "sd"]].tolist() == [0.25, 0]
        assert rows.loc["first", "item_rest_correlation"] == pytest.approx(
            np.corrcoef(BIAS["first"], BIAS["odd"])[0, 1], abs=1e-12
        )

    def test_alone_there_is_nothing_to_hold_it_against(self) -> None:
        row = rows_of(BIAS[["first"]]).loc["first"]
        assert row[["item_rest_correlation", "low", "high", "alpha_if_removed"]].isna().all()
        assert row["mean"] == BIAS["first"].mean()

    def test_two_are_held_against_each_other(self) -> None:
        rows = rows_of(BIAS[["first", "odd"]])
        r = np.corrcoef(BIAS["first"], BIAS["odd"])[0, 1]
        assert rows["item_rest_correlation"].tolist() == pytest.approx([r, r], abs=1e-12)

    def test_of_two_attributes_there_is_the_alpha_without_it(self) -> None:
        rows = rows_of(BIAS.iloc[:2])
        others = pingouin.cronbach_alpha(BIAS.iloc[:2].drop(columns="first"))[0]
        assert rows.loc["first", "alpha_if_removed"] == pytest.approx(others, abs=1e-12)

    @pytest.mark.parametrize(("n", "known"), [(3, False), (4, True)])
    def test_so_many_attributes_at_least(self, n, known) -> None:
        rows = rows_of(BIAS.iloc[:n])
        assert rows["item_rest_correlation"].notna().all() == known

    def test_of_one_attribute_there_is_its_bias(self) -> None:
        rows = rows_of(BIAS.iloc[:1])
        assert rows["mean"].to_dict() == BIAS.loc["smith"].to_dict()
        assert rows[["sd", "item_rest_correlation", "alpha_if_removed"]].isna().all(axis=None)


class TestControls:
    @pytest.fixture
    def controls(self) -> pd.DataFrame:
        """One goes with the others, one against them."""
        wobble = [0.5, -0.25, 0.25, 0.0, -0.5, 0.0, 0.25, -0.25]
        total = BIAS.sum(axis=1)
        return pd.DataFrame({"same": total + wobble, "against": 0.5 - total + wobble})

    def test_are_held_against_all_that_are_in(self, controls) -> None:
        rows = rows_of(BIAS, controls)
        for name in controls:
            expected = stats.pearsonr(controls[name], BIAS.sum(axis=1))
            assert rows.loc[name, "item_rest_correlation"] == pytest.approx(
                expected.statistic, abs=1e-12
            )
            assert tuple(rows.loc[name, ["low", "high"]]) == pytest.approx(
                interval(controls[name], BIAS.sum(axis=1)), abs=1e-9
            )
        assert rows["control"].to_dict() == {
            **dict.fromkeys(BIAS, False),
            "same": True,
            "against": True,
        }
        assert rows.loc["same", "low"] > 0 > rows.loc["against", "high"]
        assert rows.loc["against", "mean"] == pytest.approx(controls["against"].mean(), abs=1e-12)
        assert math.isnan(rows.loc["against", "alpha_if_removed"])

    def test_change_nothing_of_the_others(self, controls) -> None:
        pd.testing.assert_frame_equal(rows_of(BIAS, controls).loc[list(BIAS)], rows_of(BIAS))

    def test_an_attribute_that_they_lack_stays_out_of_theirs_alone(self, controls) -> None:
        rows = rows_of(BIAS, controls.drop(index="nurse"))
        without = BIAS.drop(index="nurse").sum(axis=1)
        assert rows.loc["same", "item_rest_correlation"] == pytest.approx(
            np.corrcoef(controls["same"].drop("nurse"), without)[0, 1], abs=1e-12
        )
        assert rows.loc["first", "mean"] == BIAS["first"].mean()

    def test_one_that_is_left_out_of_the_set_stays_out_of_theirs(self, controls) -> None:
        rows = rows_of(BIAS.drop(index="nurse"), controls)
        assert rows.loc["same", "mean"] == pytest.approx(
            controls["same"].drop("nurse").mean(), abs=1e-12
        )


def scores(
    seed: int = 4, n: int = 30, templates: int = 6, targets: int = 8, offset: float = 2.0
) -> np.ndarray:
    """Effects of every kind."""
    rng, poles = np.random.default_rng(seed), np.repeat([1, -1], targets // 2) / 2
    return (
        -20
        + offset * poles
        + rng.normal(size=(n, 1, 1)) * poles
        + rng.normal(size=(1, templates, 1)) * poles
        + rng.normal(size=(n, templates, 1)) * poles
        + rng.normal(size=(1, 1, targets))
        + rng.normal(size=(n, 1, targets))
        + rng.normal(size=(n, templates, targets))
    )


def figures(found: tuple[pd.DataFrame, pd.DataFrame, list[Figure]]) -> dict[str, Figure]:
    return {figure.figure: figure for figure in found[2]}


class TestVariances:
    def test_are_those_of_the_difference(self) -> None:
        x = scores()
        expected = difference_of_groups(x, np.repeat([1, -1], 4)).variances
        found = variance_components(cube_of(x), 0.9)[0].set_index("effect")["variance"]
        assert found.to_dict() == {
            "attribute": expected["unit",],
            "template": expected["template",],
            "target": expected["word",],
            "attribute x template": expected["unit", "template"],
            "attribute x target": expected["unit", "word"],
            "template x target": expected["template", "word"],
            "attribute x template x target": expected["unit", "template", "word"],
        }

    def test_what_was_planted_comes_out(self) -> None:
        """One for each but the interaction of templates and targets, which is not there."""
        found = [
            variance_components(cube_of(scores(seed, 60, 12, 24)), 0.9)[0] for seed in range(20)
        ]
        mean = sum(rows.set_index("effect")["variance"] for rows in found) / len(found)
        # With 20 draws of 60 attributes, 12 templates and 12 targets a group.
        for effect in (
            "attribute",
            "attribute x template",
            "attribute x target",
            "attribute x template x target",
        ):
            assert mean[effect] == pytest.approx(1, abs=0.1)
        assert mean["target"] == pytest.approx(1, abs=0.3)
        assert mean["template"] == pytest.approx(1, abs=0.4)
        assert mean["template x target"] == pytest.approx(0, abs=0.05)

    def test_the_spread_without_noise_is_that_of_the_attributes(self) -> None:
        """Planted with an SD of 1, beside as much noise of every kind, which the spread holds,
        too."""
        found = [
            figures(variance_components(cube_of(scores(seed, 60, 4, 12)), 0.9))[
                "attribute_sd"
            ].value
            for seed in range(30)
        ]
        spreads = [
            cube_of(scores(seed, 60, 4, 12)).biases().mean(axis=1).std() for seed in range(30)
        ]
        assert np.mean(found) == pytest.approx(1, abs=0.05)
        assert np.mean(spreads) > 1.2

    def test_one_below_zero_stays(self) -> None:
        x = np.random.default_rng(3).normal(size=(12, 3, 4))
        found = variance_components(cube_of(x), 0.9)[0]["variance"]
        assert (found < 0).any()


class TestCurve:
    @pytest.fixture
    def curve(self):
        return variance_components(cube_of(scores()), 0.9)[1]

    def test_every_size_once(self, curve) -> None:
        assert (
            len(curve)
            == len(TEMPLATES) * len(TARGETS)
            == len(curve[["templates", "targets"]].drop_duplicates())
        )

    def test_is_the_coefficient_of_the_difference(self, curve) -> None:
        expected = difference_of_groups(scores(), np.repeat([1, -1], 4))
        for row in curve.itertuples():
            assert row.coefficient == expected.coefficient(row.templates, row.targets)

    def test_more_templates_or_targets_are_never_less_reliable(self, curve) -> None:
        table = curve.pivot(index="templates", columns="targets", values="coefficient").to_numpy()
        assert (np.diff(table, axis=0) > 0).all()
        assert (np.diff(table, axis=1) > 0).all()
        assert 0 < table.min() < 0.5 < table.max() < 1


class TestFigures:
    def test_generalizability_is_that_of_the_set_as_it_is(self) -> None:
        x = scores()
        found = figures(variance_components(cube_of(x), 0.9))["generalizability"]
        expected = difference_of_groups(x, np.repeat([1, -1], 4)).coefficient(6, 4)
        assert (found.value, found.n, found.unit) == (expected, 30, "attributes")
        assert found.verdict is None

    def test_targets_of_the_curve_are_of_a_group(self) -> None:
        """Six templates are not in the curve, four are; 8 targets are 4 of each group."""
        found = variance_components(cube_of(scores(templates=4)), 0.9)
        curve = found[1].set_index(["templates", "targets"])["coefficient"]
        assert curve[4, 4] == figures(found)["generalizability"].value

    def test_offset_is_the_mean_bias_with_its_interval(self) -> None:
        x = scores()
        found = figures(variance_components(cube_of(x), 0.9))["offset"]
        expected = difference_of_groups(x, np.repeat([1, -1], 4)).interval(0.9)
        assert found.value == pytest.approx(cube_of(x).biases().to_numpy().mean(), abs=1e-12)
        assert (found.low, found.high) == (expected.low, expected.high)
        assert found.low < found.value < found.high
        assert found.verdict is None

    @pytest.mark.parametrize("added", [3.0, -1.5])
    def test_offset_alone_follows_a_leaning_of_all(self, added) -> None:
        """As longer targets have it."""
        before = variance_components(cube_of(scores()), 0.9)
        after = variance_components(cube_of(scores() + added * np.repeat([1, -1], 4) / 2), 0.9)
        assert figures(after)["offset"].value == pytest.approx(
            figures(before)["offset"].value + added, abs=1e-9
        )
        assert figures(after)["generalizability"].value == pytest.approx(
            figures(before)["generalizability"].value
        )
        assert after[1]["coefficient"].tolist() == pytest.approx(
            before[1]["coefficient"].tolist(), abs=1e-9
        )


class TestWhereThereIsNone:
    @pytest.mark.parametrize(
        ("shape", "poles", "why"),
        [
            ((9, 3, 5), [1, 1, 1, -1, -1], "the groups are not of equal size, two at least"),
            ((9, 3, 2), [1, -1], "the groups are not of equal size, two at least"),
            ((1, 3, 4), None, "fewer than two attributes or templates"),
            ((9, 1, 4), None, "fewer than two attributes or templates"),
        ],
    )
    def test_there_is_the_offset_alone(self, shape, poles, why) -> None:
        cube = cube_of(np.random.default_rng(4).normal(size=shape), poles)
        found = variance_components(cube, 0.9)
        assert found[0].empty
        assert found[1].empty
        offset, nothing = figures(found)["offset"], figures(found)["generalizability"]
        assert (offset.value, offset.low, offset.high) == (
            cube.biases().to_numpy().mean(),
            None,
            None,
        )
        assert (nothing.value, nothing.reason) == (None, why)

    def test_nothing_varies(self) -> None:
        found = figures(variance_components(cube_of(np.tile([3.0, 1.0, 0.0, 0.0], (5, 3, 1))), 0.9))
        assert (found["generalizability"].value, found["generalizability"].reason) == (
            None,
            "no variance",
        )
        assert found["offset"].value == 2
