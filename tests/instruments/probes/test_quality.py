"""What describes a set on a model: reliability, validity, items, variance components."""

import math

import numpy as np
import pandas as pd
import pingouin
import pytest
from scipy import stats

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
from tests.instruments.near import approx, near
from tests.instruments.probes.known import (
    BIAS,
    CRITERION,
    KNOWN,
    RESAMPLING,
    FigureKey,
    by_key,
    cube_of,
)

ATTRIBUTES = pd.DataFrame({"criterion": CRITERION.values, "match": CRITERION.matches})
MEAN = BIAS.mean(axis=1)
EXACT = [name for name in KNOWN if CRITERION.matches[name] == "exact"]


def validity(
    bias: pd.Series = MEAN, attributes: pd.DataFrame = ATTRIBUTES
) -> dict[FigureKey, Figure]:
    numbers = attributes.astype({"criterion": float})
    return by_key(further_validity(bias, numbers, 0.9))


def reliabilities(
    matrix: pd.DataFrame = BIAS, of_halvings: float | None = None
) -> dict[FigureKey, Figure]:
    figures = reliability_figures(
        matrix.to_numpy(),
        RESAMPLING,
        of_halvings,
    )
    return by_key(figures)


class TestFurtherValidity:
    @pytest.mark.parametrize(
        ("figure", "correlate", "names"),
        [
            ("rho", stats.spearmanr, KNOWN),
            (
                ("r", "exact"),
                stats.pearsonr,
                EXACT,
            ),
            (
                ("rho", "exact"),
                stats.spearmanr,
                EXACT,
            ),
        ],
    )
    def test_mean_bias_is_held_against_the_criterion(self, figure, correlate, names) -> None:
        expected = correlate(
            MEAN[names],
            [CRITERION.values[name] for name in names],
        )

        measured = validity()[figure]

        assert len(names) == (7 if figure == "rho" else 5)
        assert (measured.n, measured.unit) == (
            len(names),
            "attributes",
        )
        assert measured.value == near(expected.statistic)
        assert measured.p == near(expected.pvalue)
        assert measured.low < measured.value < measured.high
        assert (measured.reason, measured.verdict) == (None, None)

    def test_with_the_jackknifes_interval_of_r(self) -> None:
        numbers = pd.Series(CRITERION.values)[EXACT].astype(float)
        expected = interval(MEAN[EXACT], numbers)
        figure = validity()["r", "exact"]
        assert (figure.low, figure.high) == approx(expected, abs=1e-9)

    def test_too_few_criteria_are_null_with_the_reason(self) -> None:
        numbers = [
            0.0,
            1,
            2,
            3,
            math.nan,
            math.nan,
            math.nan,
            math.nan,
        ]
        matches = ["exact"] * 3 + ["group"] * 5
        few = pd.DataFrame({"criterion": numbers, "match": matches}, index=BIAS.index)
        by_name = validity(attributes=few)
        assert (by_name["rho"].n, by_name["rho"].reason) == (4, None)
        exact = by_name["r", "exact"]
        assert (exact.value, exact.p, exact.n) == (None, None, 3)
        assert exact.reason == "fewer than 4 attributes to correlate"


RELIABILITY = [
    "alpha",
    "inter_item_correlation",
    ("alpha", "8"),
    "first_component_share",
]


class TestReliability:
    def test_alpha_is_that_of_pingouin_beside_its_control(self) -> None:
        every = reliabilities(of_halvings=0.25)
        measured = every["alpha"]
        alpha = pingouin.cronbach_alpha(BIAS)[0]
        assert 0.5 < alpha < 0.95
        assert measured.value == near(alpha)
        assert (measured.n, measured.unit) == (8, "attributes")
        assert (measured.control, measured.verdict) == (0.25, None)
        assert [name for name, figure in every.items() if figure.control is not None] == ["alpha"]

    def test_intervals_are_the_jackknifes_over_attributes(self) -> None:
        by_name = reliabilities()

        def alpha(biases: np.ndarray) -> float:
            return pingouin.cronbach_alpha(pd.DataFrame(biases))[0]

        expected = jackknife(
            alpha,
            BIAS,
            scale=BELOW_ONE,
            level=0.9,
        )
        ends = (
            by_name["alpha"].low,
            by_name["alpha"].high,
        )
        assert ends == approx((expected.low, expected.high), abs=1e-9)
        for name in RELIABILITY:
            figure = by_name[name]
            assert figure.low < figure.value < figure.high < 1

    def test_the_others_are_what_they_are_defined_as(self) -> None:
        by_name = reliabilities()

        assert list(by_name) == RELIABILITY
        correlations = np.corrcoef(BIAS.to_numpy(), rowvar=False)
        mean = correlations[np.triu_indices(3, 1)].mean()
        assert by_name["inter_item_correlation"].value == near(mean)
        alpha = 8 * mean / (1 + 7 * mean)
        assert by_name["alpha", "8"].value == near(alpha)
        largest = np.linalg.eigvalsh(correlations)[-1]
        assert by_name["first_component_share"].value == near(largest / 3)

    @pytest.mark.parametrize(
        ("matrix", "why"),
        [
            (
                BIAS.assign(last=0.25),
                "a template has the same bias for all attributes",
            ),
            (
                BIAS[["first"]],
                "a set of one template has no internal consistency",
            ),
            (
                BIAS.iloc[:2],
                "fewer than three attributes",
            ),
        ],
    )
    def test_none_with_the_reason(self, matrix, why) -> None:
        by_name = reliabilities(matrix, 0.5)
        assert list(by_name) == RELIABILITY
        for figure in by_name.values():
            numbers = {
                figure.value,
                figure.low,
                figure.high,
                figure.control,
            }
            assert numbers == {None}
            assert (figure.reason, figure.n) == (
                why,
                len(matrix),
            )


class TestMeanInterval:
    def test_is_that_of_t(self) -> None:
        values = np.array([1.0, 2.0, 4.0, -1.0, 0.5])
        mean = mean_interval(values, 0.9)
        expected = stats.ttest_1samp(values, 0).confidence_interval(0.9)
        assert mean.value == near(1.3)
        assert (mean.low, mean.high) == near(tuple(expected))

    @pytest.mark.parametrize(
        "values",
        [
            [1.0, 2.0, 4.0, -1.0],
            [2.0] * 6,
        ],
    )
    def test_none_below_five_or_where_all_are_equal(self, values) -> None:
        mean = mean_interval(np.array(values), 0.9)
        assert mean.value == np.mean(values)
        assert math.isnan(mean.low)
        assert math.isnan(mean.high)


class TestOfSets:
    def test_a_set_has_the_mean_diversity_of_its_templates(self) -> None:
        rows = [
            ("hand", "a", 0.25),
            ("hand", "b", 0.25),
            ("hand", "c", 1.0),
            ("other", "d", math.nan),
        ]
        diversity = pd.DataFrame(rows, columns=["set", "template", "semantic_diversity"])
        diversity = diversity.assign(benchmark="trades", lexical_diversity=0.5)
        figures = of_sets(diversity).set_index(["set", "figure"])
        of_hand = figures.loc[("hand", "semantic_diversity"), ["value", "n", "unit"]]
        assert of_hand.tolist() == [0.5, 3, "templates"]
        of_other = figures.loc[("other", "semantic_diversity")]
        assert pd.isna(of_other["value"])
        assert of_other["reason"] == "a set of one template"


def cube(biases: pd.DataFrame) -> ScoreCube:
    """Scores that have these biases."""
    poles = np.array(
        [1, 1, -1, -1],
        dtype=np.int8,
    )
    of_words = np.array([1.0, -1.0, 2.0, -2.0])
    scores = biases.to_numpy()[:, :, None] * (0.5 * poles) + of_words
    words = ["man", "uncle", "woman", "girl"]
    return ScoreCube(
        scores,
        list(biases.index),
        list(biases),
        words,
        poles,
        np.ones(4),
    )


def interval(x: pd.Series, y: pd.Series) -> tuple[float, float]:
    """Of their correlation, by the jackknife over attributes."""

    def correlation(first: np.ndarray, second: np.ndarray) -> float:
        return stats.pearsonr(first, second).statistic

    ends = jackknife(
        correlation,
        x,
        y,
        scale=CORRELATION,
        level=0.9,
    )
    return ends.low, ends.high


def rows_of(
    biases: pd.DataFrame, controls: pd.DataFrame | None = None, level: float = 0.9
) -> pd.DataFrame:
    items = items_of(
        cube(biases),
        None if controls is None else cube(controls),
        level,
    )
    assert items["template"].is_unique
    return items.set_index("template")


class TestTemplates:
    def test_what_one_says_and_adds(self) -> None:
        odd, remaining = BIAS["odd"], BIAS.drop(columns="odd")
        total = remaining.sum(axis=1)

        row = rows_of(BIAS).loc["odd"]

        assert not row["control"]
        assert row["mean"] == near(odd.mean())
        assert row["sd"] == near(odd.std(ddof=1))
        rest = stats.pearsonr(odd, total).statistic
        assert row["item_rest_correlation"] == near(rest)
        assert (row["low"], row["high"]) == approx(interval(odd, total), abs=1e-9)
        alpha, _ = pingouin.cronbach_alpha(remaining)
        assert row["alpha_if_removed"] == near(alpha)

    @pytest.mark.parametrize(
        ("n", "has_correlation"),
        [
            (3, False),
            (4, True),
        ],
    )
    def test_so_many_attributes_at_least(self, n, has_correlation) -> None:
        rows = rows_of(BIAS.iloc[:n])
        assert rows["item_rest_correlation"].notna().all() == has_correlation


class TestControls:
    @pytest.fixture
    def controls(self) -> pd.DataFrame:
        """One goes with the others, one against them."""
        wobble = [0.5, -0.25, 0.25, 0.0, -0.5, 0.0, 0.25, -0.25]
        total = BIAS.sum(axis=1)
        return pd.DataFrame({"same": total + wobble, "against": 0.5 - total + wobble})

    def test_are_held_against_all_that_are_in(self, controls) -> None:
        rows, total = rows_of(BIAS, controls), BIAS.sum(axis=1)
        for name, biases in controls.items():
            row = rows.loc[name]
            expected = stats.pearsonr(biases, total).statistic
            assert row["item_rest_correlation"] == near(expected)
            assert (row["low"], row["high"]) == approx(interval(biases, total), abs=1e-9)
        expected = dict.fromkeys(BIAS, False) | dict.fromkeys(controls, True)
        assert rows["control"].to_dict() == expected
        assert rows.loc["same", "low"] > 0 > rows.loc["against", "high"]
        mean = controls["against"].mean()
        assert rows.loc["against", "mean"] == near(mean)
        assert math.isnan(rows.loc["against", "alpha_if_removed"])


def scores(
    seed: int = 4, n: int = 30, templates: int = 6, targets: int = 8, offset: float = 2.0
) -> np.ndarray:
    """Effects of every kind."""
    rng = np.random.default_rng(seed)
    poles = np.repeat([1, -1], targets // 2) / 2
    total = -20 + offset * poles
    for shape in (
        (n, 1, 1),
        (1, templates, 1),
        (n, templates, 1),
    ):
        total = total + rng.normal(size=shape) * poles
    for shape in (
        (1, 1, targets),
        (n, 1, targets),
        (n, templates, targets),
    ):
        total = total + rng.normal(size=shape)
    return total


def figures(components: tuple[pd.DataFrame, pd.DataFrame, list[Figure]]) -> dict[FigureKey, Figure]:
    return by_key(components[2])


class TestVariances:
    def test_are_those_of_the_difference(self) -> None:
        x = scores()
        expected = difference_of_groups(x, np.repeat([1, -1], 4)).variances
        variances = variance_components(cube_of(x), 0.9)[0].set_index("effect")["variance"]
        assert variances.to_dict() == {
            "attribute": expected["unit",],
            "template": expected["template",],
            "target": expected["word",],
            "attribute x template": expected["unit", "template"],
            "attribute x target": expected["unit", "word"],
            "template x target": expected["template", "word"],
            "attribute x template x target": expected["unit", "template", "word"],
        }

    def test_the_spread_without_noise_is_that_of_the_attributes(self) -> None:
        """Noise of every kind is planted, which the spread of biases holds, too."""
        cube = cube_of(scores())
        components = variance_components(cube, 0.9)
        variances = components[0].set_index("effect")["variance"]
        spread = figures(components)["attribute_sd"].value
        assert spread == approx(math.sqrt(variances["attribute"]))
        assert spread < cube.biases().mean(axis=1).std()


class TestCurve:
    @pytest.fixture
    def curve(self):
        return variance_components(cube_of(scores()), 0.9)[1]

    def test_is_the_coefficient_of_the_difference_for_every_size(self, curve) -> None:
        sizes = set(zip(curve["templates"], curve["targets"], strict=True))
        assert len(curve) == len(TEMPLATES) * len(TARGETS) == len(sizes)
        expected = difference_of_groups(
            scores(),
            np.repeat([1, -1], 4),
        )
        for row in curve.itertuples():
            assert row.coefficient == expected.coefficient(row.templates, row.targets)


class TestFigures:
    def test_generalizability_is_that_of_the_set_as_it_is(self) -> None:
        x = scores()
        figure = figures(variance_components(cube_of(x), 0.9))["generalizability"]
        expected = difference_of_groups(x, np.repeat([1, -1], 4)).coefficient(
            6,
            4,
        )
        assert (figure.value, figure.n, figure.unit) == (expected, 30, "attributes")
        assert figure.verdict is None

    def test_offset_is_the_mean_bias_with_its_interval(self) -> None:
        x = scores()
        figure = figures(variance_components(cube_of(x), 0.9))["offset"]
        expected = difference_of_groups(x, np.repeat([1, -1], 4)).interval(0.9)
        mean = cube_of(x).biases().to_numpy().mean()
        assert figure.value == near(mean)
        assert (figure.low, figure.high) == (
            expected.low,
            expected.high,
        )
        assert figure.low < figure.value < figure.high
        assert figure.verdict is None


class TestWhereThereIsNone:
    @pytest.mark.parametrize(
        ("shape", "poles", "why"),
        [
            (
                (9, 3, 5),
                [1, 1, 1, -1, -1],
                "the groups are not of equal size, two at least",
            ),
            (
                (1, 3, 4),
                None,
                "fewer than two attributes or templates",
            ),
        ],
    )
    def test_there_is_the_offset_alone(self, shape, poles, why) -> None:
        cube = cube_of(np.random.default_rng(4).normal(size=shape), poles)
        variances, curve, offset_and_coefficient = variance_components(cube, 0.9)
        assert variances.empty
        assert curve.empty
        by_name = by_key(offset_and_coefficient)
        offset, nothing = by_name["offset"], by_name["generalizability"]
        mean = cube.biases().to_numpy().mean()
        assert (offset.value, offset.low, offset.high) == (mean, None, None)
        assert (nothing.value, nothing.reason) == (None, why)
