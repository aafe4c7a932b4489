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
from tests.text_tables import read_columns

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
            (("r", "exact"), stats.pearsonr, EXACT),
            (("rho", "exact"), stats.spearmanr, EXACT),
        ],
    )
    def test_mean_bias_is_held_against_the_criterion(self, figure, correlate, names) -> None:
        measured = validity()[figure]
        expected = correlate(MEAN[names], [CRITERION.values[name] for name in names])
        assert (measured.n, measured.unit) == (7 if figure == "rho" else 5, "attributes")
        assert (measured.value, measured.p) == near((expected.statistic, expected.pvalue))
        assert measured.low < measured.value < measured.high
        assert (measured.reason, measured.verdict) == (None, None)

    def test_too_few_criteria_are_null_with_the_reason(self) -> None:
        few = ATTRIBUTES.assign(match=["exact"] * 3 + ["group"] * 5)
        by_name = validity(attributes=few)
        assert (by_name["rho"].n, by_name["rho"].reason) == (7, None)
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
    def test_alpha_is_that_of_pingouin_with_the_jackknifes_interval_beside_its_control(
        self,
    ) -> None:
        def alpha(biases: np.ndarray) -> float:
            return pingouin.cronbach_alpha(pd.DataFrame(biases))[0]

        every = reliabilities(of_halvings=0.25)
        measured = every["alpha"]
        expected = jackknife(alpha, BIAS, scale=BELOW_ONE, level=0.9)
        ends = (expected.value, expected.low, expected.high)
        assert (measured.value, measured.low, measured.high) == approx(ends, abs=1e-9)
        assert (measured.n, measured.unit) == (8, "attributes")
        assert (measured.control, measured.verdict) == (0.25, None)
        assert [name for name, figure in every.items() if figure.control is not None] == ["alpha"]
        for figure in every.values():
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
            (BIAS.assign(last=0.25), "a template has the same bias for all attributes"),
            (BIAS[["first"]], "a set of one template has no internal consistency"),
            (BIAS.iloc[:2], "fewer than three attributes"),
        ],
    )
    def test_none_with_the_reason(self, matrix, why) -> None:
        by_name = reliabilities(matrix, 0.5)
        assert list(by_name) == RELIABILITY
        for figure in by_name.values():
            assert {figure.value, figure.low, figure.high, figure.control} == {None}
            assert (figure.reason, figure.n) == (why, len(matrix))


class TestMeanInterval:
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


def test_a_set_has_the_mean_diversity_of_its_templates() -> None:
    diversity = read_columns("""
        set    template  semantic_diversity
        hand   a         0.25
        hand   b         0.25
        hand   c         1.0
        other  d         NaN
    """)
    diversity = diversity.assign(benchmark="trades", lexical_diversity=0.5)
    figures = of_sets(diversity).set_index(["set", "figure"])
    of_hand = figures.loc[("hand", "semantic_diversity"), ["value", "n", "unit"]]
    assert of_hand.tolist() == [0.5, 3, "templates"]
    of_other = figures.loc[("other", "semantic_diversity")]
    assert pd.isna(of_other["value"])
    assert of_other["reason"] == "a set of one template"


def cube(biases: pd.DataFrame) -> ScoreCube:
    """Scores that have these biases."""
    poles = np.array([1, 1, -1, -1], dtype=np.int8)
    of_words = [1.0, -1.0, 2.0, -2.0]
    scores = biases.to_numpy()[:, :, None] * (0.5 * poles) + of_words
    words = ["man", "uncle", "woman", "girl"]
    attributes, templates = list(biases.index), list(biases)
    return ScoreCube(
        scores,
        attributes,
        templates,
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


def rows_of(biases: pd.DataFrame, controls: pd.DataFrame | None = None) -> pd.DataFrame:
    of_controls = None if controls is None else cube(controls)
    return items_of(cube(biases), of_controls, 0.9).set_index("template")


class TestTemplates:
    def test_what_one_says_and_adds(self) -> None:
        odd, remaining = BIAS["odd"], BIAS.drop(columns="odd")
        total = remaining.sum(axis=1)
        row = rows_of(BIAS).loc["odd"]
        assert not row["control"]
        assert row["mean"] == near(odd.mean())
        assert row["sd"] == near(odd.std())
        assert row["item_rest_correlation"] == near(odd.corr(total))
        assert (row["low"], row["high"]) == approx(interval(odd, total), abs=1e-9)
        assert row["alpha_if_removed"] == near(pingouin.cronbach_alpha(remaining)[0])

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


def test_controls_are_held_against_all_that_are_in() -> None:
    """One goes with the others, one against them."""
    wobble = [0.5, -0.25, 0.25, 0.0, -0.5, 0.0, 0.25, -0.25]
    total = BIAS.sum(axis=1)
    controls = pd.DataFrame({"same": total + wobble, "against": 0.5 - total + wobble})
    rows = rows_of(BIAS, controls)
    assert rows.index[rows["control"]].tolist() == ["same", "against"]
    against = rows.loc["against"]
    biases = controls["against"]
    assert (against["mean"], against["item_rest_correlation"]) == near(
        (biases.mean(), biases.corr(total))
    )
    assert (against["low"], against["high"]) == approx(interval(biases, total), abs=1e-9)
    assert rows.loc["same", "low"] > 0 > against["high"]
    assert math.isnan(against["alpha_if_removed"])


def scores(seed: int = 4) -> np.ndarray:
    """Of 30 attributes, 6 templates and 8 targets, with effects of every kind."""
    rng = np.random.default_rng(seed)
    poles = np.repeat([1, -1], 4) / 2
    total = -20 + 2.0 * poles
    for shape in ((30, 1, 1), (1, 6, 1), (30, 6, 1)):
        total = total + rng.normal(size=shape) * poles
    for shape in ((1, 1, 8), (30, 1, 8), (30, 6, 8)):
        total = total + rng.normal(size=shape)
    return total


DIFFERENCE = difference_of_groups(scores(), np.repeat([1, -1], 4))


@pytest.fixture(scope="module")
def components() -> tuple[pd.DataFrame, pd.DataFrame, list[Figure]]:
    return variance_components(cube_of(scores()), 0.9)


class TestComponents:
    def test_variances_are_those_of_the_difference(self, components) -> None:
        variances = components[0].set_index("effect")["variance"].to_dict()
        words = {
            "attribute": "unit",
            "template": "template",
            "target": "word",
        }
        expected = {}
        for effect, variance in DIFFERENCE.variances.items():
            facets = [name for name, facet in words.items() if facet in effect]
            expected[" x ".join(facets)] = variance
        assert variances == expected

    def test_the_spread_without_noise_is_that_of_the_attributes(self, components) -> None:
        """Noise of every kind is planted, which the spread of biases holds, too."""
        spread = by_key(components[2])["attribute_sd"].value
        assert spread == approx(math.sqrt(DIFFERENCE.variances["unit",]))
        assert spread < cube_of(scores()).biases().mean(axis=1).std()

    def test_the_curve_is_the_coefficient_for_every_size(self, components) -> None:
        curve = components[1]
        sizes = set(zip(curve["templates"], curve["targets"], strict=True))
        assert len(curve) == len(TEMPLATES) * len(TARGETS) == len(sizes)
        for row in curve.itertuples():
            assert row.coefficient == DIFFERENCE.coefficient(row.templates, row.targets)

    def test_generalizability_is_that_of_the_set_as_it_is(self, components) -> None:
        figure = by_key(components[2])["generalizability"]
        assert (figure.value, figure.n) == (DIFFERENCE.coefficient(6, 4), 30)
        assert (figure.unit, figure.verdict) == ("attributes", None)

    def test_offset_is_the_mean_bias_with_its_interval(self, components) -> None:
        figure = by_key(components[2])["offset"]
        expected = DIFFERENCE.interval(0.9)
        assert figure.value == near(cube_of(scores()).biases().to_numpy().mean())
        assert (figure.low, figure.high) == (expected.low, expected.high)
        assert figure.verdict is None


@pytest.mark.parametrize(
    ("shape", "poles", "why"),
    [
        ((9, 3, 5), [1, 1, 1, -1, -1], "the groups are not of equal size, two at least"),
        ((1, 3, 4), None, "fewer than two attributes or templates"),
    ],
)
def test_where_there_are_no_components_there_is_the_offset_alone(shape, poles, why) -> None:
    cube = cube_of(np.random.default_rng(4).normal(size=shape), poles)
    variances, curve, described = variance_components(cube, 0.9)
    assert variances.empty
    assert curve.empty
    offset, nothing = (by_key(described)[name] for name in ("offset", "generalizability"))
    mean = cube.biases().to_numpy().mean()
    assert (offset.value, offset.low, offset.high) == (mean, None, None)
    assert (nothing.value, nothing.reason) == (None, why)
