import math

import numpy as np
import pandas as pd
import pingouin
import pytest
from scipy import stats

from evenruler import measurement
from evenruler.instruments.probes.ask import diversities
from evenruler.instruments.probes.declare import Criterion, without_slots
from evenruler.instruments.probes.diagnose.diagnosing import diagnose
from evenruler.instruments.probes.diagnose.figuring import of_model, of_sets
from evenruler.instruments.probes.diagnose.metrics import with_items
from evenruler.instruments.probes.schemas import ASSOCIATIONS, BIASES, CORRELATIONS, FIGURES, ITEMS
from evenruler.measurement import Resampling, as_metrics, rounded
from evenruler.tables import write_table
from tests.instruments.probes.conftest import KnownUnigramModel, frames, scores_of

RESAMPLING = Resampling(level=0.9, resamples=60, seed=3)

TEMPLATES = {
    "first": "The {ATTRIBUTE} is a {TARGET}.",
    "odd": {"text": "It is odd when a {ATTRIBUTE} is a {TARGET}.", "keying": -1},
    "last": "They say that each {ATTRIBUTE} here is a {TARGET}.",
}

# Bias in nats, all of them sums of powers of two, so that nothing below is rounded.
BIAS = pd.DataFrame(
    {
        "first": [2.0, -1.0, 0.5, -0.25, -0.75, -1.25, -1.75, -0.25],
        "odd": [1.0, 3.25, 0.5, 1.25, -1.25, -0.75, -3.0, -0.25],
        "last": [1.5, 2.75, 0.5, 0.0, 0.25, -1.75, -1.25, 0.0],
    },
    index=["smith", "driver", "cook", "judge", "clerk", "nurse", "dancer", "poet"],
)

CRITERION = Criterion(
    "men (%)",
    {"smith": 97, "driver": 80.5, "cook": 60, "judge": 42, "clerk": 27, "nurse": 12, "dancer": 20.5, "poet": None},
    {**dict.fromkeys(BIAS.index, "exact"), "cook": "group", "nurse": "group", "poet": "none"},
)

WOBBLE = {"man": 0.5, "uncle": -0.5, "woman": 0.25, "girl": -0.25}
"""What targets add besides; nothing on the mean of a group."""


def values_for(probes: pd.DataFrame, biases: pd.DataFrame) -> list[float]:
    """Scores of sentences whose biases, signed by keying, are these."""
    values = []
    for number, row in enumerate(probes.itertuples()):
        half = biases.loc[row.attribute, row.template] * row.keying * row.pole / 2
        values.append(-20.0 - number // 4 + half + WOBBLE[row.target])
    return values


def embeddings(templates: pd.DataFrame) -> dict[str, np.ndarray]:
    """Each template in a direction of its own."""
    texts = [without_slots(text) for text in templates["text"]]
    return dict(zip(texts, np.eye(len(texts), 8, dtype=np.float32), strict=True))


def diversity(templates: pd.DataFrame) -> pd.DataFrame:
    """How far templates of `trades` lie apart."""
    return diversities({"templates": templates}, embeddings(templates)).assign(benchmark="trades")


@pytest.fixture
def diagnosed(compiled):
    """Diagnoses models whose biases are given; all else as above unless it is given too."""

    def make(templates=None, criterion=CRITERION, scores=None, **biases: pd.DataFrame):
        matrices = biases or {"m": BIAS}
        matrix = next(iter(matrices.values()))
        templates = templates or {name: TEMPLATES[name] for name in matrix.columns}
        sets = {"hand": {"title": "By hand", "templates": templates}}
        probes, template_rows, attributes = frames(
            compiled(sets=sets, attributes={slug: slug for slug in matrix.index}, criterion=criterion)
        )
        if scores is None:
            scores = pd.concat([scores_of(probes, values_for(probes, m), name) for name, m in matrices.items()])
        elif callable(scores):
            scores = scores(probes)
        return diagnose(probes, template_rows, attributes, scores, diversity(template_rows), RESAMPLING)

    return make


def figures(diagnosis, model: str | None = "m") -> dict[str, pd.Series]:
    rows = diagnosis.figures
    rows = rows[rows["model"].isna() if model is None else rows["model"] == model]
    return {row["figure"]: row for _, row in rows.iterrows()}


class TestBiases:
    def test_one_cell_on_paper(self, diagnosed) -> None:
        """Biases of the two first attributes in the first two templates, from scores as they come."""
        # first: smith   men -20, -22 (mean -21), women -21, -24 (-22.5)   -> 1.5
        #        driver  men -19, -25 (-22),      women -18, -20 (-19)     -> -3
        # odd:   smith   men -30, -31 (-30.5),    women -30, -30 (-30)     -> -.5, keyed -1: .5
        #        driver  men -28, -30 (-29),      women -33, -31 (-32)     -> 3,   keyed -1: -3
        raw = [-20, -22, -21, -24, -19, -25, -18, -20, -30, -31, -30, -30, -28, -30, -33, -31]
        matrix = BIAS.loc[["smith", "driver"], ["first", "odd"]]

        found = diagnosed(m=matrix, criterion=None, scores=lambda probes: scores_of(probes, raw)).biases

        table = {(row.template, row.attribute): row.bias for row in found.itertuples()}
        assert table == {
            ("first", "smith"): 1.5,
            ("first", "driver"): -3.0,
            ("odd", "smith"): 0.5,
            ("odd", "driver"): -3.0,
        }

    def test_every_model_template_and_attribute_has_its_own(self, diagnosed) -> None:
        found = diagnosed(m=BIAS, other=-2 * BIAS).biases

        assert len(found) == 2 * 3 * 8
        for model, expected in (("m", BIAS), ("other", -2 * BIAS)):
            rows = found[found["model"] == model]
            matrix = rows.pivot(index="attribute", columns="template", values="bias")
            pd.testing.assert_frame_equal(matrix.loc[BIAS.index, BIAS.columns], expected, check_names=False)

    def test_keying_turns_the_sign_of_its_template_alone(self, diagnosed) -> None:
        """The same scores, with the template keyed the other way."""
        unkeyed = {**TEMPLATES, "odd": TEMPLATES["odd"]["text"]}
        same_scores = BIAS.assign(odd=-BIAS["odd"])

        found = diagnosed(templates=unkeyed, m=same_scores).biases

        matrix = found.pivot(index="attribute", columns="template", values="bias").loc[BIAS.index]
        assert matrix["odd"].tolist() == (-BIAS["odd"]).tolist()
        assert matrix["first"].tolist() == BIAS["first"].tolist()
        assert set(found["keying"]) == {1}

    def test_of_no_model_there_is_nothing(self, diagnosed) -> None:
        found = diagnosed(scores=lambda probes: scores_of(probes, np.zeros(len(probes)), "m").head(0))
        assert len(found.biases) == len(found.associations) == len(found.items) == len(found.correlations) == 0
        assert found.figures.empty

    def test_the_order_of_scores_does_not_matter(self, diagnosed) -> None:
        def shuffled(probes: pd.DataFrame) -> pd.DataFrame:
            return scores_of(probes, values_for(probes, BIAS)).sample(frac=1, random_state=1)

        pd.testing.assert_frame_equal(diagnosed(scores=shuffled).biases, diagnosed().biases)

    def test_other_measures_of_the_same_sentences_are_left_alone(self, diagnosed) -> None:
        def with_others(probes: pd.DataFrame) -> pd.DataFrame:
            scores = scores_of(probes, values_for(probes, BIAS))
            return pd.concat([scores.assign(measure="choice", value=99.0), scores])

        pd.testing.assert_frame_equal(diagnosed(scores=with_others).biases, diagnosed().biases)

    def test_a_missing_score_is_an_error_that_names_the_model(self, diagnosed) -> None:
        def two_missing(probes: pd.DataFrame) -> pd.DataFrame:
            whole = scores_of(probes, values_for(probes, BIAS), "whole")
            return pd.concat([whole, whole.assign(model="holed").drop(index=[5, 17])])

        with pytest.raises(ValueError, match=r"^holed: 2 sentences have no score$"):
            diagnosed(scores=two_missing)


LEFT_OUT = "trades, set hand: left out, since sentences of theirs were rejected: "


class TestRejected:
    """What `rejected.parquet` took out of the sentences."""

    @pytest.fixture
    def without(self, compiled):
        """Diagnoses the sentences that are left once those for which a condition holds were rejected."""

        def make(rejected, *models: str):
            sets = {"hand": {"title": "By hand", "templates": TEMPLATES}}
            probes, templates, attributes = frames(
                compiled(sets=sets, attributes={slug: slug for slug in BIAS.index}, criterion=CRITERION)
            )
            scores = pd.concat([scores_of(probes, values_for(probes, BIAS), name) for name in models or ("m",)])
            left = probes[[not rejected(row) for row in probes.itertuples()]]
            return diagnose(left, templates, attributes, scores, diversity(templates), RESAMPLING)

        return make

    def test_nothing_is_said_where_nothing_was(self, without, capsys) -> None:
        assert figures(without(lambda row: False))["alpha"]["n"] == 8
        assert capsys.readouterr().err == ""

    @pytest.mark.parametrize(
        ("lost", "n_with_criterion"),
        [
            pytest.param({"poet": ("odd", "men")}, 7, id="without-a-criterion"),
            pytest.param(
                {"smith": ("first", "women"), "cook": ("odd", "men")},
                5,
                id="with-a-criterion",
            ),
        ],
    )
    def test_attributes_that_lost_a_group_are_left_out_of_their_set(self, without, capsys, lost, n_with_criterion):
        diagnosis = without(lambda row: lost.get(row.attribute) == (row.template, row.group))

        left = BIAS.drop(index=list(lost))
        rows = diagnosis.associations.set_index("attribute")
        assert rows["bias"].to_dict() == pytest.approx(left.mean(axis=1).to_dict(), abs=1e-12)
        found = figures(diagnosis)
        assert (found["alpha"]["n"], found["mean_bias"]["n"]) == (len(left), len(left))
        assert found["r"]["n"] == n_with_criterion
        assert found["alpha"]["value"] == pytest.approx(pingouin.cronbach_alpha(left)[0], abs=1e-12)
        assert diagnosis.items.set_index("template").loc["last", "mean"] == pytest.approx(left["last"].mean())
        assert capsys.readouterr().err == f"{LEFT_OUT}{', '.join(sorted(lost))}\n"

    def test_one_sentence_is_enough(self, without, capsys) -> None:
        diagnosis = without(lambda row: (row.template, row.attribute, row.target) == ("odd", "poet", "uncle"))

        assert "poet" not in set(diagnosis.associations["attribute"])
        assert figures(diagnosis)["alpha"]["n"] == 7
        assert capsys.readouterr().err == f"{LEFT_OUT}poet\n"

    def test_an_attribute_that_lost_all_is_named_too(self, without, capsys) -> None:
        diagnosis = without(lambda row: row.attribute == "poet")

        assert figures(diagnosis)["alpha"]["n"] == 7
        assert capsys.readouterr().err == f"{LEFT_OUT}poet\n"

    def test_each_has_lost_one(self, without, error_of) -> None:
        template_of = dict(zip(BIAS.index, [*BIAS, *BIAS, *BIAS], strict=False))

        line = error_of(without, lambda row: row.group == "men" and row.template == template_of[row.attribute])

        assert line == (
            "trades, set hand: every attribute lost a sentence; see rejected.parquet and mend the templates"
        )

    def test_a_template_that_lost_all_is_left_out_and_named(self, without, capsys) -> None:
        diagnosis = without(lambda row: row.template == "odd" and row.group == "men")

        assert set(diagnosis.items["template"]) == set(BIAS) - {"odd"}
        assert figures(diagnosis)["alpha"]["n"] == 8
        assert capsys.readouterr().err == f"{LEFT_OUT}odd\n"

    def test_all_have_lost_all(self, without, error_of) -> None:
        line = error_of(without, lambda row: row.group == "men")

        assert line.startswith("trades, set hand: every attribute lost a sentence; ")


class TestAssociations:
    def test_an_attribute_has_the_mean_over_templates(self, diagnosed) -> None:
        rows = diagnosed().associations.set_index("attribute")

        assert rows["bias"].to_dict() == pytest.approx(BIAS.mean(axis=1).to_dict(), abs=1e-12)
        assert rows.loc["smith", "bias"] == 1.5  # (2 + 1 + 1.5) / 3
        assert set(rows["n"]) == {3}

    def test_with_word_criterion_and_match(self, diagnosed) -> None:
        rows = diagnosed().associations.set_index("attribute")

        assert rows.loc["smith", ["word", "criterion", "match"]].tolist() == ["smith", 97, "exact"]
        assert rows.loc["cook", ["criterion", "match"]].tolist() == [60, "group"]
        assert math.isnan(rows.loc["poet", "criterion"])
        assert rows.loc["poet", "match"] == "none"

    def test_and_an_interval_over_templates(self, diagnosed) -> None:
        rows = diagnosed().associations.set_index("attribute")

        # The cook has the same bias in each template: nothing to be unsure about.
        assert rows.loc["cook", ["low", "bias", "high"]].tolist() == [0.5, 0.5, 0.5]
        # Templates stand in the order of their names: first, last, odd.
        expected = measurement.bootstrap(np.mean, [-1.75, -1.25, -3.0], level=0.9, n=60, seed=3)
        assert rows.loc["dancer", ["low", "bias", "high"]].tolist() == [expected.low, -2.0, expected.high]
        assert -3.0 <= expected.low < -2.0 < expected.high <= -1.25


class TestItems:
    def test_what_a_template_says_and_adds(self, diagnosed) -> None:
        rows = diagnosed().items.set_index("template")

        for name in BIAS:
            others = BIAS.drop(columns=name)
            row = rows.loc[name]
            assert row["mean"] == pytest.approx(BIAS[name].mean(), abs=1e-12)
            assert row["sd"] == pytest.approx(BIAS[name].std(ddof=1), abs=1e-12)
            rest = stats.pearsonr(BIAS[name], others.sum(axis=1)).statistic
            assert row["item_rest_correlation"] == pytest.approx(rest, abs=1e-12)
            assert row["alpha_if_removed"] == pytest.approx(pingouin.cronbach_alpha(others)[0], abs=1e-12)

    def test_templates_correlate_with_one_another(self, diagnosed) -> None:
        found = diagnosed().correlations

        expected = np.corrcoef(BIAS.to_numpy(), rowvar=False)
        pairs = {(row.template, row.other): row.correlation for row in found.itertuples()}
        assert len(pairs) == len(found) == 9
        for i, one in enumerate(BIAS):
            for j, other in enumerate(BIAS):
                assert pairs[one, other] == pytest.approx(expected[i, j], abs=1e-12)

    def test_diversity_is_a_templates_own_whatever_the_model(self, diagnosed) -> None:
        rows = diagnosed(m=BIAS, other=-BIAS).items

        assert rows.groupby("model").size().to_dict() == {"m": 3, "other": 3}
        # Embeddings at right angles: no cosine with the others.
        assert rows["semantic_diversity"].tolist() == [1.0] * 6
        # Words: {the is a}, {it is odd when a}, {they say that each here is a}. Jaccard first-odd: {is a} of 6;
        # first-last: {is a} of 8; odd-last: {is a} of 10.
        expected = {"first": 1 - (2 / 6 + 2 / 8) / 2, "odd": 1 - (2 / 6 + 2 / 10) / 2, "last": 1 - (2 / 8 + 2 / 10) / 2}
        for _, own in rows.groupby("model"):
            assert own.set_index("template")["lexical_diversity"].to_dict() == pytest.approx(expected, abs=1e-12)

    def test_slots_are_embedded_as_someone(self) -> None:
        assert without_slots("A {ATTRIBUTE} met a {TARGET}.") == "A someone met a someone."


KNOWN = [name for name, value in CRITERION.values.items() if value is not None]


class TestValidity:
    @pytest.mark.parametrize(
        ("figure", "correlate"), [("r", stats.pearsonr), ("rho", stats.spearmanr)], ids=["pearson", "spearman"]
    )
    @pytest.mark.parametrize("subset", ["", "_exact"])
    def test_mean_bias_is_held_against_the_criterion(self, figure, correlate, subset, diagnosed) -> None:
        names = KNOWN if not subset else [name for name in KNOWN if CRITERION.matches[name] == "exact"]
        expected = correlate(BIAS.mean(axis=1)[names], [CRITERION.values[name] for name in names])

        found = figures(diagnosed())[figure + subset]

        assert len(names) == (7 if not subset else 5)
        assert (found["n"], found["unit"]) == (len(names), "attributes")
        assert found["value"] == pytest.approx(expected.statistic, abs=1e-12)
        assert found["p"] == pytest.approx(expected.pvalue, abs=1e-12)
        assert found["value"] > 0.6
        assert found["reason"] is None or pd.isna(found["reason"])

    def test_with_the_interval_of_fishers_z(self, diagnosed) -> None:
        found = figures(diagnosed())["r"]

        interval = stats.pearsonr(
            BIAS.mean(axis=1)[KNOWN], [CRITERION.values[name] for name in KNOWN]
        ).confidence_interval(0.9)
        assert (found["low"], found["high"]) == pytest.approx(tuple(interval), abs=1e-12)

    def test_a_model_that_leans_the_other_way_has_the_other_sign(self, diagnosed) -> None:
        diagnosis = diagnosed(m=BIAS, turned=-BIAS)

        there, turned = figures(diagnosis), figures(diagnosis, "turned")
        for figure in ("r", "rho", "r_exact", "rho_exact", "mean_bias"):
            assert turned[figure]["value"] == pytest.approx(-there[figure]["value"], abs=1e-12)
        assert turned["alpha"]["value"] == pytest.approx(there["alpha"]["value"], abs=1e-12)

    def test_a_domain_without_a_criterion_has_no_such_figures(self, diagnosed) -> None:
        found = figures(diagnosed(criterion=None))

        assert not {"r", "rho", "r_exact", "rho_exact"} & set(found)
        assert found["alpha"]["value"] == pytest.approx(pingouin.cronbach_alpha(BIAS)[0], abs=1e-12)

    def test_too_few_criteria_are_null_with_the_reason(self, diagnosed) -> None:
        few = Criterion(
            "men",
            {name: float(i) if i < 4 else None for i, name in enumerate(BIAS.index)},
            {name: ("exact" if i < 3 else "group") if i < 4 else "none" for i, name in enumerate(BIAS.index)},
        )

        found = figures(diagnosed(criterion=few))

        assert found["r"]["n"] == 4
        assert not pd.isna(found["r"]["value"])
        for figure in ("r_exact", "rho_exact"):
            assert pd.isna(found[figure]["value"])
            assert pd.isna(found[figure]["p"])
            assert found[figure]["n"] == 3
            assert found[figure]["reason"] == "fewer than 4 attributes to correlate"

    def test_a_criterion_that_is_the_same_for_all_is_null_with_the_reason(self, diagnosed) -> None:
        flat = Criterion("men", dict.fromkeys(BIAS.index, 50.0), dict.fromkeys(BIAS.index, "exact"))

        for figure in ("r", "rho", "r_exact", "rho_exact"):
            found = figures(diagnosed(criterion=flat))[figure]
            assert pd.isna(found["value"])
            assert found["reason"] == "all values are equal"


RELIABILITY = [
    "alpha",
    "alpha_feldt",
    "omega",
    "inter_item_correlation",
    "alpha_at_8",
    "first_component_share",
    "factors",
]


class TestReliability:
    NO_CRITERION = pd.DataFrame({"criterion": np.nan, "match": "none"}, index=BIAS.index)

    def test_alpha_is_that_of_pingouin(self, diagnosed) -> None:
        found = figures(diagnosed())

        alpha, interval = pingouin.cronbach_alpha(BIAS, ci=0.9)
        assert 0.5 < alpha < 0.95
        assert found["alpha"]["value"] == found["alpha_feldt"]["value"] == pytest.approx(alpha, abs=1e-12)
        assert found["alpha"]["n"] == 8
        assert (found["alpha_feldt"]["low"], found["alpha_feldt"]["high"]) == pytest.approx(tuple(interval), abs=6e-4)
        assert found["alpha"]["low"] < alpha < found["alpha"]["high"]

    def test_the_others_are_what_they_are_defined_as(self, diagnosed) -> None:
        found = figures(diagnosed())

        correlations = np.corrcoef(BIAS.to_numpy(), rowvar=False)
        mean = correlations[np.triu_indices(3, 1)].mean()
        assert found["inter_item_correlation"]["value"] == pytest.approx(mean, abs=1e-12)
        assert found["alpha_at_8"]["value"] == pytest.approx(8 * mean / (1 + 7 * mean), abs=1e-12)
        largest = np.linalg.eigvalsh(correlations)[-1]
        assert found["first_component_share"]["value"] == pytest.approx(largest / 3, abs=1e-12)
        # Three items fix the loadings of one factor: l1 = sqrt(r12 r13 / r23) and so on.
        r12, r13, r23 = correlations[0, 1], correlations[0, 2], correlations[1, 2]
        loadings = np.sqrt([r12 * r13 / r23, r12 * r23 / r13, r13 * r23 / r12])
        deviations = BIAS.std(ddof=1).to_numpy()
        common = (loadings @ deviations) ** 2
        omega = common / (common + (1 - loadings**2) @ deviations**2)
        assert found["omega"]["value"] == pytest.approx(omega, abs=1e-6)
        assert found["factors"]["value"] == 1.0
        assert found["mean_bias"]["value"] == pytest.approx(BIAS.to_numpy().mean(), abs=1e-12)

    def test_omega_without_a_proper_solution_is_null_with_the_reason(self, diagnosed) -> None:
        # r12 = .72, r13 = .83, r23 = .38: the first template would need a loading of sqrt(.72 * .83 / .38) > 1.
        heywood = BIAS.assign(
            first=[2.0, 1.5, 0.5, 0.25, -0.5, -1.0, -2.5, -0.5],
            odd=[1.0, 2.0, 0.5, -0.5, 0.5, -0.75, -1.0, -2.0],
            last=[1.5, 0.5, 0.5, 1.0, -1.0, -2.0, -1.5, 0.25],
        )

        found = figures(diagnosed(m=heywood))

        assert pd.isna(found["omega"]["value"])
        assert found["omega"]["reason"] == "no proper one-factor solution"
        assert not pd.isna(found["alpha"]["value"])

    def test_intervals_are_over_attributes_and_the_same_each_time(self, diagnosed) -> None:
        first, second = diagnosed().figures, diagnosed().figures

        pd.testing.assert_frame_equal(first, second)
        expected = measurement.bootstrap(measurement.cronbach_alpha, BIAS.sort_index(), level=0.9, n=60, seed=3)
        found = figures(diagnosed())["alpha"]
        assert (found["low"], found["high"]) == pytest.approx((expected.low, expected.high), abs=1e-12)

    def test_a_template_that_tells_nothing_apart_is_a_reason(self, diagnosed) -> None:
        diagnosis = diagnosed(m=BIAS.assign(last=0.25))

        found = figures(diagnosis)
        for figure in RELIABILITY:
            assert pd.isna(found[figure]["value"])
            assert found[figure]["reason"] == "a template does not tell the attributes apart"
            assert found[figure]["n"] == 8
        assert found["mean_bias"]["value"] == pytest.approx(BIAS.assign(last=0.25).to_numpy().mean())
        assert not pd.isna(found["r"]["value"])
        assert pd.isna(diagnosis.items.set_index("template").loc["last", "item_rest_correlation"])

    def test_even_where_rounding_blurs_it(self) -> None:
        nearly = BIAS.assign(last=[0.1 + 0.2, *[0.3] * 7])  # 0.30000000000000004

        found = of_model(nearly, self.NO_CRITERION, RESAMPLING).set_index("figure")

        assert found.loc["alpha", "reason"] == "a template does not tell the attributes apart"

    def test_a_bias_that_is_constant_but_for_rounding_is_null_with_the_reason(self) -> None:
        matrix = BIAS.assign(first=0.0, odd=0.0, last=[0.1 + 0.2, *[0.3] * 7])
        attributes = pd.DataFrame({"criterion": range(8), "match": "exact"}, index=BIAS.index)

        found = of_model(matrix, attributes, RESAMPLING).set_index("figure")

        assert found.loc["r", "reason"] == "all values are equal"

    def test_a_set_of_one_template_has_no_reliability(self, diagnosed) -> None:
        diagnosis = diagnosed(m=BIAS[["first"]])

        found = figures(diagnosis)
        for figure in RELIABILITY:
            assert pd.isna(found[figure]["value"])
            assert found[figure]["reason"] == "a set of one template has no internal consistency"
        assert found["mean_bias"]["value"] == BIAS["first"].mean()

    def test_the_figures_of_one_template_themselves_are_null_with_the_reason(self) -> None:
        found = of_model(BIAS[["first"]], self.NO_CRITERION, RESAMPLING).set_index("figure")

        assert found.loc[RELIABILITY, "value"].isna().all()
        assert set(found.loc[RELIABILITY, "reason"]) == {"a set of one template has no internal consistency"}
        assert found.loc["mean_bias", "value"] == BIAS["first"].mean()

    def test_two_attributes_are_too_few(self, diagnosed) -> None:
        found = figures(diagnosed(m=BIAS.iloc[:2]))

        for figure in RELIABILITY:
            assert pd.isna(found[figure]["value"])
            assert found[figure]["reason"] == "fewer than three attributes"
        assert found["r"]["reason"] == "fewer than 4 attributes to correlate"

    def test_one_attribute_is_too_few(self, diagnosed) -> None:
        found = figures(diagnosed(m=BIAS.iloc[:1]))

        assert found["alpha"]["reason"] == "fewer than three attributes"
        assert found["mean_bias"]["value"] == 1.5
        assert found["mean_bias"]["reason"] == "a single value has no interval"


class TestOfSets:
    def test_a_set_has_the_mean_diversity_of_its_templates(self) -> None:
        diversity = pd.DataFrame(
            {
                "benchmark": "trades",
                "set": ["hand", "hand", "other"],
                "template": ["a", "b", "c"],
                "semantic_diversity": [0.25, 0.75, math.nan],
                "lexical_diversity": [0.5, 1.0, math.nan],
            }
        )

        found = of_sets(diversity).set_index(["set", "figure"])

        assert found.loc[("hand", "semantic_diversity"), "value"] == 0.5
        assert found.loc[("hand", "lexical_diversity"), "value"] == 0.75
        assert found.loc[("hand", "semantic_diversity"), ["n", "unit"]].tolist() == [2, "templates"]
        assert pd.isna(found.loc[("other", "semantic_diversity"), "value"])
        assert found.loc[("other", "semantic_diversity"), "reason"] == "a set of one template"


class TestTables:
    def test_every_table_is_by_its_schema(self, diagnosed, tmp_path) -> None:
        diagnosis = diagnosed()

        for name, schema in (
            ("biases", BIASES),
            ("associations", ASSOCIATIONS),
            ("items", ITEMS),
            ("correlations", CORRELATIONS),
        ):
            write_table(getattr(diagnosis, name), schema, tmp_path / f"{name}.parquet")
        figures = diagnosis.figures.rename(columns={"set": "part"})
        write_table(figures[FIGURES.names], FIGURES, tmp_path / "figures.parquet")

    def test_a_model_of_known_words_has_the_bias_that_stands_on_paper(self, diagnosed) -> None:
        # p(man) = 1/4, p(uncle) = 1/16, p(woman) = 1/8, p(girl) = 1/32, all else alike: in bits men cost
        # (2 + 4) / 2 = 3, women (3 + 5) / 2 = 4. One bit for men where "an" is as likely as "a".
        bits = {"man": 2, "uncle": 4, "woman": 3, "girl": 5}
        template_words = ["the", "is", "a", "an", "it", "odd", "when", "they", "say", "that", "each", "here"]
        model = KnownUnigramModel(
            {**{w: 2.0**-b for w, b in bits.items()}, **dict.fromkeys([*template_words, *BIAS.index], 0.125)}
        )

        def scored(probes: pd.DataFrame) -> pd.DataFrame:
            return scores_of(probes, model.loglikelihood(probes["text"].tolist()).nats)

        found = diagnosed(m=BIAS[["first", "last"]].iloc[:2], criterion=None, scores=scored)

        assert found.biases["bias"].tolist() == pytest.approx([math.log(2)] * 4, abs=1e-12)


class TestMetrics:
    ROWS = pd.DataFrame(
        [
            ("trades", "hand", "m", "r", 0.12345, -0.5, 0.70049, 0.000123456, 7, "attributes", None),
            ("trades", "hand", "m", "alpha", math.nan, math.nan, math.nan, math.nan, 2, "attributes", "too few"),
            ("trades", "hand", None, "lexical_diversity", 0.9996, None, None, None, 3, "templates", None),
            ("jobs", "hand", "m", "r", 1.0, 1.0, 1.0, 0.0456, 7, "attributes", None),
        ],
        columns=FIGURES.names,
    )

    def test_figures_are_nested_and_rounded(self) -> None:
        assert as_metrics(self.ROWS, "part") == {
            "trades": {
                "hand": {
                    "m": {
                        "r": {"value": 0.123, "low": -0.5, "high": 0.7, "p": 0.00012, "n": 7, "unit": "attributes"},
                        "alpha": {"value": None, "n": 2, "unit": "attributes", "reason": "too few"},
                    },
                    "any-model": {"lexical_diversity": {"value": 1.0, "n": 3, "unit": "templates"}},
                }
            },
            "jobs": {
                "hand": {"m": {"r": {"value": 1.0, "low": 1.0, "high": 1.0, "p": 0.046, "n": 7, "unit": "attributes"}}}
            },
        }

    def test_records_are_plain_numbers(self) -> None:
        record = rounded(self.ROWS)[0]

        assert {key: type(value) for key, value in record.items()} == {
            "figure": str,
            "value": float,
            "low": float,
            "high": float,
            "p": float,
            "n": int,
            "unit": str,
        }

    def test_items_stand_beside_the_figures_of_their_model(self) -> None:
        items = pd.DataFrame(
            {
                "benchmark": ["trades", "trades"],
                "set": ["hand", "hand"],
                "model": ["m", "m"],
                "template": ["a", "b"],
                "mean": [0.12345, 1.0],
                "sd": [0.5, 0.25],
                "item_rest_correlation": [-0.9996, math.nan],
                "alpha_if_removed": [0.7, math.nan],
                "semantic_diversity": [0.5, 0.5],
                "lexical_diversity": [1.0, 1.0],
            }
        )

        metrics = with_items(as_metrics(self.ROWS, "part"), items)

        found = metrics["trades"]["hand"]["m"]["items"]
        assert list(found) == ["a", "b"]
        assert found["a"] == {
            "mean": 0.123,
            "sd": 0.5,
            "item_rest_correlation": -1.0,
            "alpha_if_removed": 0.7,
            "semantic_diversity": 0.5,
            "lexical_diversity": 1.0,
        }
        assert found["b"]["item_rest_correlation"] is None
        assert "items" not in metrics["jobs"]["hand"]["m"]

    def test_a_diagnosis_goes_through(self, diagnosed) -> None:
        metrics = as_metrics(diagnosed(m=BIAS).figures, "set")["trades"]["hand"]

        assert set(metrics) == {"m"}
        assert metrics["m"]["alpha"]["value"] == round(pingouin.cronbach_alpha(BIAS)[0], 3)
        assert "reason" not in metrics["m"]["alpha"]
