"""The tables of a diagnosis, and what is left out of them."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

from evenruler.instruments.probes import schemas
from evenruler.instruments.probes.ask import template_diversities, with_placebos
from evenruler.instruments.probes.declare.source import without_slots
from evenruler.instruments.probes.diagnose import NOT_STARTED, TABLES, Started, diagnose, evidence
from evenruler.instruments.probes.diagnose import figures as figures_with_diversities
from evenruler.measurement.figures import with_extreme_units
from evenruler.tables import write_table
from tests.instruments.probes.conftest import frames, scores_of
from tests.instruments.probes.known import (
    BIAS,
    CRITERION,
    KNOWN,
    PLAN,
    RESAMPLING,
    TEMPLATES,
    figures_of,
    values_for,
)
from tests.instruments.probes.whole import subject

NO_PREFIXES = pd.DataFrame()
NO_PLACEBOS = pd.DataFrame({"set": [], "id": []})

Frames = tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]


@pytest.fixture
def trades(compiled) -> Callable[..., Frames]:
    """Probes, templates and attributes of the set of `known`, but for what is given."""

    def make(templates: dict[str, Any] = TEMPLATES, **changes: Any) -> Frames:
        sets = {"hand": {"title": "By hand", "templates": templates}}
        declared = {"sets": sets, "attributes": {slug: slug for slug in BIAS.index}, **changes}
        return frames(compiled(**declared))

    return make


def diagnosis(
    probes: pd.DataFrame,
    attributes: pd.DataFrame,
    scores: pd.DataFrame,
    placebos: pd.DataFrame = NO_PLACEBOS,
    started: Started = NOT_STARTED,
) -> dict[str, pd.DataFrame]:
    return diagnose(probes, attributes, scores, NO_PREFIXES, placebos, PLAN, RESAMPLING, started)


class TestScores:
    def test_every_model_template_and_attribute_has_its_own(self, diagnosed) -> None:
        biases = diagnosed(m=BIAS, other=-2 * BIAS)["biases"]

        assert len(biases) == 2 * 3 * 8
        for model, expected in (("m", BIAS), ("other", -2 * BIAS)):
            rows = biases[biases["model"] == model]
            matrix = rows.pivot(index="attribute", columns="template", values="bias")
            matrix = matrix.loc[BIAS.index, BIAS.columns]
            pd.testing.assert_frame_equal(matrix, expected, check_names=False)

    def test_other_measures_of_the_same_sentences_are_left_alone(self, diagnosed) -> None:
        def with_others(probes: pd.DataFrame) -> pd.DataFrame:
            scores = scores_of(probes, values_for(probes, BIAS))
            return pd.concat([scores.assign(measure="choice", value=99.0), scores])

        pd.testing.assert_frame_equal(
            diagnosed(scores=with_others)["biases"], diagnosed()["biases"]
        )

    def test_who_says_no_likelihood_has_nothing(self, compiled) -> None:
        probes, _, attributes = frames(compiled())
        scores = scores_of(probes, np.zeros(len(probes)))
        for none in (scores.head(0), scores.assign(measure="choice")):
            assert diagnosis(probes, attributes, none) == {}

    def test_a_missing_score_is_an_error_that_names_the_model(self, diagnosed) -> None:
        def two_missing(probes: pd.DataFrame) -> pd.DataFrame:
            whole = scores_of(probes, values_for(probes, BIAS), "whole")
            return pd.concat([whole, whole.assign(model="holed").drop(index=[5, 17])])

        with pytest.raises(ValueError, match=r"^holed: 2 sentences have no score$"):
            diagnosed(scores=two_missing)


LEFT_OUT = "trades, set hand: left out for rejected sentences: "


class TestRejected:
    """What `rejected.parquet` took out of the sentences."""

    @pytest.fixture
    def without(self, trades):
        """Diagnoses the sentences that are left once those for which a condition holds were
        rejected."""

        def make(rejected) -> dict[str, pd.DataFrame]:
            probes, _, attributes = trades(criterion=CRITERION)
            scores = scores_of(probes, values_for(probes, BIAS))
            left = probes[[not rejected(row) for row in probes.itertuples()]]
            return diagnosis(left, attributes, scores)

        return make

    def test_attributes_that_lost_a_group_are_left_out_of_their_set(self, without, capsys):
        lost = {"smith": ("first", "women"), "cook": ("odd", "men")}
        diagnosis = without(lambda row: lost.get(row.attribute) == (row.template, row.group))

        left = set(diagnosis["associations"]["attribute"])
        assert left == set(BIAS.index) - set(lost)
        by_name = figures_of(diagnosis)
        numbers = {by_name[name]["n"] for name in ("spread", "alpha", "offset")}
        assert numbers == {6}
        assert by_name["r"]["n"] == 5
        assert capsys.readouterr().err == f"{LEFT_OUT}cook, smith\n"

    def test_an_attribute_that_lost_all_is_named_too(self, without, capsys) -> None:
        diagnosis = without(lambda row: row.attribute == "poet")

        assert figures_of(diagnosis)["alpha"]["n"] == 7
        assert capsys.readouterr().err == f"{LEFT_OUT}poet\n"

    def test_each_has_lost_one(self, without, error_of) -> None:
        template_of = dict(zip(BIAS.index, [*BIAS, *BIAS, *BIAS], strict=False))

        def lost(row) -> bool:
            return row.group == "men" and row.template == template_of[row.attribute]

        line = error_of(without, lost)

        assert line == (
            "trades, set hand: every attribute has a rejected sentence; see rejected.parquet and "
            "fix the templates"
        )

    def test_a_template_that_lost_a_group_is_left_out_and_named(self, without, capsys) -> None:
        diagnosis = without(lambda row: row.template == "odd" and row.group == "men")

        assert set(diagnosis["items"]["template"]) == set(BIAS) - {"odd"}
        assert figures_of(diagnosis)["alpha"]["n"] == 8
        assert capsys.readouterr().err == f"{LEFT_OUT}odd\n"

    def test_all_have_lost_all(self, without, error_of) -> None:
        line = error_of(without, lambda row: row.group == "men")

        assert line.startswith("trades, set hand: every attribute has a rejected sentence; ")


class TestAssociations:
    def test_an_attribute_has_the_mean_over_templates(self, diagnosed) -> None:
        rows = diagnosed()["associations"].set_index("attribute")

        means = BIAS.mean(axis=1).to_dict()
        assert rows["bias"].to_dict() == pytest.approx(means, abs=1e-12)
        assert rows.loc["smith", "bias"] == 1.5  # (2 + 1 + 1.5) / 3
        assert set(rows["n"]) == {3}

    def test_and_what_it_has_beyond_what_templates_give_to_all(self, diagnosed) -> None:
        rows = diagnosed()["associations"].set_index("attribute")
        tables = diagnosed(m=BIAS.add([4.0, -1.0, 0.5]))
        leaning = tables["associations"].set_index("attribute")

        centred = (BIAS - BIAS.mean()).mean(axis=1).to_dict()
        for associations in (rows, leaning):
            assert associations["centred"].to_dict() == pytest.approx(centred, abs=1e-12)
        assert rows["centred"].sum() == pytest.approx(0, abs=1e-12)

    def test_with_word_criterion_and_match(self, diagnosed) -> None:
        rows = diagnosed()["associations"].set_index("attribute")

        columns = ["word", "criterion", "match"]
        assert rows.loc["smith", columns].tolist() == ["smith", 97, "exact"]
        assert rows.loc["cook", columns].tolist() == ["cook", 60, "group"]
        assert math.isnan(rows.loc["poet", "criterion"])
        assert rows.loc["poet", "match"] == "none"

    def test_five_have_that_of_t_over_templates_around_what_is_centred(self, diagnosed) -> None:
        further = [0.5, 1, -0.25, 0, 0.5, -1, -2, 0.25]
        five = BIAS.assign(more=BIAS["first"] / 2 + 0.25, further=further)
        templates = {name: f"The {name} {{ATTRIBUTE}} met a {{TARGET}}." for name in five}

        rows = diagnosed(templates=templates, m=five)["associations"].set_index("attribute")

        centred = (five - five.mean()).loc["dancer"]
        half = 2.131846786 * centred.sem()  # t at .95, four degrees of freedom
        expected = centred.mean() + half * np.array([-1, 0, 1])
        row = rows.loc["dancer", ["low", "centred", "high"]]
        assert row.tolist() == pytest.approx(expected, abs=1e-8)


def test_templates_correlate_with_one_another(diagnosed) -> None:
    correlations = diagnosed()["correlations"]

    expected = np.corrcoef(BIAS.to_numpy(), rowvar=False)
    pairs = {(row.template, row.other): row.correlation for row in correlations.itertuples()}
    assert len(pairs) == len(correlations) == 9
    for i, template in enumerate(BIAS):
        for j, other in enumerate(BIAS):
            assert pairs[template, other] == pytest.approx(expected[i, j], abs=1e-12)


class TestFigures:
    def test_are_those_of_every_part(self, diagnosed) -> None:
        keys = list(figures_of(diagnosed()))
        assert keys[:5] == ["gain", "spread", "r", "rho", ("r", "exact")]
        assert keys[5:12] == [
            ("rho", "exact"),
            "alpha",
            "inter_item_correlation",
            ("alpha", "8"),
            "first_component_share",
            "token_difference",
            ("detectable", "8"),
        ]
        assert keys[12:16] == [
            "offset",
            "generalizability",
            ("generalizability", "8"),
            "attribute_sd",
        ]
        assert keys[16:] == ["level_shift", "reordering", "start_flips"]

    def test_a_domain_without_a_criterion_has_none_of_its_figures(self, diagnosed) -> None:
        without = figures_of(diagnosed(criterion=None))
        assert not {"gain", "r", "rho", ("r", "exact"), ("rho", "exact")} & set(without)
        assert without["spread"]["value"] == figures_of(diagnosed())["spread"]["value"]

    def test_by_hand(self, diagnosed) -> None:
        by_name, mean = figures_of(diagnosed()), BIAS.mean(axis=1)
        assert by_name["spread"]["value"] == pytest.approx(mean.std(), abs=1e-12)
        assert by_name["offset"]["value"] == pytest.approx(mean.mean(), abs=1e-12)
        assert not pd.isna(by_name["alpha"]["control"])

    def test_tokens_are_compared_by_their_means(self, trades) -> None:
        tokens = {"man": 5, "uncle": 5, "king": 11, "woman": 4, "girl": 4, "queen": 7}
        names = list(tokens)
        probes, _, attributes = trades(targets={"men": names[:3], "women": names[3:]})
        nats = np.random.default_rng(1).normal(size=len(probes))
        scores = scores_of(probes, nats)
        scores = scores.assign(n_tokens=probes["target"].map(tokens).to_numpy())
        row = figures_of(diagnosis(probes, attributes, scores))["token_difference"]
        assert (row["value"], row["n"], row["unit"]) == (2.0, 6, "targets")  # 7 - 5


LISTS = {f"list-{place}": [f"noun{place}", f"other{place}"] for place in range(12)}
"""Of nouns that stand for no group."""


class TestVerdicts:
    """Of a set of three templates and seven attributes with a number."""

    def test_the_headline_has_one_and_no_other_figure(self, diagnosed) -> None:
        rows = diagnosed()["figures"]
        assert set(rows.loc[rows["verdict"].notna(), "figure"]) == {"gain"}
        assert (rows["verdict"].notna() == rows["smallest"].notna()).all()
        assert (rows["verdict"].notna() == rows["why"].notna()).all()

    def test_its_value_is_the_slope_over_80_points(self, diagnosed) -> None:
        gain = figures_of(diagnosed())["gain"]
        criterion = np.array([CRITERION.values[name] for name in KNOWN])
        slope = np.polyfit(criterion, BIAS.mean(axis=1)[KNOWN], 1)[0]
        assert gain["value"] == pytest.approx(80 * slope, abs=1e-12)
        assert gain["low"] < gain["value"] < gain["high"]
        assert (gain["n"], gain["levels"]) == (7, "7 attributes, 3 templates, 4 words")

    def test_without_placebos_it_stays_open(self, diagnosed) -> None:
        gain = figures_of(diagnosed())["gain"]
        assert (gain["verdict"], gain["why"]) == (
            "inconclusive",
            "No verdict is possible: no placebo.",
        )

    def test_only_declared_sets_have_one(self, diagnosed) -> None:
        assert "gain" not in figures_of(diagnosed(plan={**PLAN, "headline": ["other"]}))

    @pytest.fixture
    def beside_nouns(self, trades) -> Frames:
        """Probes, attributes, and the sentences with nouns."""
        probes, written, attributes = trades(criterion=CRITERION)
        tables = {"templates": written, "attributes": attributes}
        return probes, attributes, with_placebos(tables, {**PLAN, "placebo_lists": LISTS})

    def test_placebos_stand_beside_it(self, beside_nouns) -> None:
        """Nouns whose sentences are as likely as those of a noun of the same list, but for a slope
        of the list."""
        probes, attributes, nouns = beside_nouns
        assert len(nouns) == 3 * 7 * 24
        slopes = {name: place / 80 for place, name in enumerate(LISTS)}
        along = nouns["attribute"].map(CRITERION.values) * nouns["group"].map(slopes)
        of_nouns = scores_of(nouns, along * nouns["keying"]).assign(framing="placebo")
        scores = pd.concat([scores_of(probes, values_for(probes, BIAS)), of_nouns])
        gain = figures_of(diagnosis(probes, attributes, scores, nouns))["gain"]
        assert gain["placebo"] == pytest.approx(math.sqrt(26))  # the variance of 0 to 11 is 13
        assert gain["specific"] == gain["value"]
        assert gain["specific_high"] - gain["specific_low"] > gain["high"] - gain["low"]
        assert gain["why"] == "No verdict is possible: 7 attributes (at least 10 needed)."

    def test_a_missing_placebo_is_an_error_and_no_dropped_row(self, beside_nouns) -> None:
        probes, attributes, nouns = beside_nouns
        of_nouns = scores_of(nouns[1:], 0.0 * nouns[1:].index)
        scores = pd.concat([scores_of(probes, values_for(probes, BIAS)), of_nouns])
        with pytest.raises(ValueError, match=r"^m: 1 sentences have no score$"):
            diagnosis(probes, attributes, scores, nouns)

    def test_the_reliability_that_is_asked_for_is_the_plans(self, diagnosed) -> None:
        rows = figures_of(diagnosed(plan={**PLAN, "reliability": 1.0}))
        assert rows["alpha"]["high"] < 1
        assert rows["gain"]["verdict"] == "invalid on this model"
        assert rows["gain"]["why"].endswith(", below 1.")

    def test_no_figure_but_verdicts_depends_on_other_sets(self, trades) -> None:
        hand_set = {"hand": {"title": "By hand", "templates": TEMPLATES}}
        templates = {f"{name}-too": template for name, template in TEMPLATES.items()}
        other = {"title": "Other", "templates": templates}
        biases = BIAS.join((BIAS**2).add_suffix("-too"))
        plan = {**PLAN, "headline": ["hand", "other"]}
        tables = {}
        for name, sets in (("alone", hand_set), ("axis_position", {**hand_set, "other": other})):
            probes, _, attributes = trades(sets=sets, criterion=CRITERION)
            scores = scores_of(probes, values_for(probes, biases))
            tables[name] = diagnose(
                probes, attributes, scores, NO_PREFIXES, NO_PLACEBOS, plan, RESAMPLING
            )

        for table, rows in tables["alone"].items():
            with_other = tables["axis_position"][table]
            hand_rows = with_other[with_other["set"] == "hand"].reset_index(drop=True)
            verdicts = ["verdict", "why"] if table == "figures" else []
            pd.testing.assert_frame_equal(
                hand_rows.drop(columns=verdicts), rows.drop(columns=verdicts)
            )


class TestControls:
    """Templates that are asked and shown, and make no score."""

    @pytest.fixture
    def both(self, diagnosed) -> tuple[dict[str, pd.DataFrame], dict[str, pd.DataFrame]]:
        """The set alone, and with two controls beside, one of them keyed -1."""
        total = BIAS.sum(axis=1)
        plain = total / 2 + [0.5, 0, 0, -0.5, 0, 0.25, 0, 0]
        controls = pd.DataFrame({"plain": plain, "not-so": 1 - total / 4})
        templates = {
            **TEMPLATES,
            "plain": {"text": "Some {ATTRIBUTE} is a {TARGET}.", "control": True},
            "not-so": {"text": "No {ATTRIBUTE} is a {TARGET}.", "control": True, "keying": -1},
        }
        return diagnosed(), diagnosed(templates=templates, m=BIAS.join(controls))

    def test_change_no_figure_and_no_other_table(self, both) -> None:
        alone, with_controls = both
        for table, rows in alone.items():
            shown = with_controls[table]
            if table == "items":
                shown = shown[~shown["control"]]
            pd.testing.assert_frame_equal(shown, rows)

    def test_stand_in_items_with_their_sign(self, both) -> None:
        """The control that is keyed -1 is shown as it is keyed, as any template."""
        rows = both[1]["items"].set_index("template")
        mean = 1 - BIAS.sum(axis=1).mean() / 4
        assert rows.loc["not-so", "mean"] == pytest.approx(mean, abs=1e-12)
        assert rows.loc["not-so", "item_rest_correlation"] == pytest.approx(-1, abs=1e-12)

    def test_a_reversed_control_makes_no_set_unfit(self, both) -> None:
        for tables in both:
            assert "invalid on this model" not in set(tables["figures"]["verdict"])

    def test_one_that_lost_a_sentence_costs_the_set_nothing(self, trades, capsys) -> None:
        templates = {
            **TEMPLATES,
            "not-so": {"text": "No {ATTRIBUTE} is a {TARGET}.", "control": True},
        }
        probes, _, attributes = trades(templates)
        biases = BIAS.assign(**{"not-so": BIAS["first"]})
        scores = scores_of(probes, values_for(probes, biases))
        lost = probes.eval("template == 'not-so' and attribute == 'poet' and target == 'girl'")

        tables = diagnosis(probes[~lost], attributes, scores)

        assert capsys.readouterr().err == ""
        assert len(tables["associations"]) == 8
        rows = tables["items"].set_index("template")
        mean = BIAS["first"].drop("poet").mean()
        assert rows.loc["not-so", "mean"] == pytest.approx(mean, abs=1e-12)


class TestTables:
    def test_every_table_is_by_its_schema(self, diagnosed, tmp_path) -> None:
        tables = diagnosed()
        tables["items"] = tables["items"].assign(semantic_diversity=0.5, lexical_diversity=0.5)
        figures = tables["figures"][schemas.FIGURES.names]
        tables["figures"] = with_extreme_units(figures, tables["headlines"])

        assert set(tables) == {
            "associations",
            "biases",
            "correlations",
            "curve",
            "figures",
            "headlines",
            "items",
            "variances",
        }
        for name, rows in tables.items():
            schema = getattr(schemas, name.upper())
            write_table(rows[schema.names], schema, tmp_path / f"{name}.parquet")

    def test_groups_of_unequal_size_have_none_of_these(self, trades) -> None:
        probes, _, attributes = trades(
            criterion=CRITERION, targets={"men": ["man", "uncle"], "women": ["woman"]}
        )
        wobble = {"man": 3.0, "uncle": -3.0, "woman": 0.0}
        nats = []
        for row in probes.itertuples():
            half = BIAS.loc[row.attribute, row.template] * row.keying * row.pole / 2
            nats.append(half + wobble[row.target])

        tables = diagnosis(probes, attributes, scores_of(probes, nats))

        assert not {"variances", "curve"} & set(tables)
        rows = figures_of(tables)
        assert pd.isna(rows["generalizability"]["value"])
        assert rows["generalizability"]["reason"].startswith("the groups are not of equal size")
        assert pd.isna(rows["spread"]["control"])
        assert pd.isna(rows["alpha"]["control"])
        assert rows["gain"]["verdict"] == "inconclusive"
        assert rows["gain"]["reason"].startswith("a single level of words")


def embeddings(templates: pd.DataFrame) -> dict[str, np.ndarray]:
    """Each template in a direction of its own."""
    texts = [without_slots(text) for text in templates["text"]]
    return dict(zip(texts, np.eye(len(texts), 8, dtype=np.float32), strict=True))


class TestDiversities:
    def test_stand_beside_what_a_template_adds(self, trades) -> None:
        probes, templates, attributes = trades()
        tables = {"probes": probes, "attributes": attributes, "templates": templates}
        diversity = template_diversities({"templates": templates}, embeddings(templates))
        scores = {
            "scores": scores_of(probes, values_for(probes, BIAS)),
            "diversity": diversity.assign(model="m"),
            "unread": pd.DataFrame({"id": []}),
            "started": pd.DataFrame(),
        }

        shown = figures_with_diversities("trades", tables, PLAN, scores, subject("m"), RESAMPLING)

        row = shown["items"].set_index("template").loc["first"]
        # Jaccard of its words {the is a} and {it is odd when a}, {they say that each here is a}.
        lexical = 1 - (2 / 6 + 2 / 8) / 2
        assert (row["semantic_diversity"], row["lexical_diversity"]) == pytest.approx((1, lexical))

    def test_slots_are_embedded_as_someone(self) -> None:
        assert without_slots("A {ATTRIBUTE} met a {TARGET}.") == "A someone met a someone."


def test_templates_are_rows_of_evidence() -> None:
    key = {"benchmark": "trades", "set": "hand"}
    figure = {**key, "model": "m", "figure": "r", "value": 0.5, "n": 7, "unit": "attributes"}
    item = {**key, "model": "m", "n": 7, "mean": 0.12345, "sd": 0.5}
    correlation = {"item_rest_correlation": 0.75, "low": 0.5, "high": 0.875}
    items = [
        {**item, **correlation, "template": "a", "control": True},
        {**item, "template": "b", "control": False, "alpha_if_removed": 0.25},
    ]
    diversity = {**key, "template": "b", "lexical_diversity": 0.5}
    by_model = [{**diversity, "model": model} for model in ("m", "other")]
    tables = {name: pd.DataFrame() for name in TABLES}
    for name, rows in (("figures", [figure]), ("items", items), ("diversity", by_model)):
        tables[name] = pd.DataFrame(rows).reindex(columns=TABLES[name].names)

    (shown,) = evidence(tables).values()

    values: dict[str | None, dict[str, float | None]] = {}
    for row in shown:
        values.setdefault(row.get("template"), {})[row["figure"]] = row["value"]
    on_model = {"item_mean": 0.12345, "item_sd": 0.5}
    correlated = {"item_rest_correlation": 0.75, "alpha_if_removed": None}
    assert values["a"] == {**on_model, **correlated}
    of_any_model = {"lexical_diversity": 0.5, "semantic_diversity": None}
    uncorrelated = {"item_rest_correlation": None, "alpha_if_removed": 0.25}
    assert values["b"] == {**on_model, **uncorrelated, **of_any_model}
    assert {row["figure"] for row in shown if row["model"] is None} == set(of_any_model)
    by_name = {(row.get("template"), row["figure"]): row for row in shown}
    key = {"figure": "item_rest_correlation", "model": "m", "set": "hand", "template": "a"}
    numbers = {"value": 0.75, "low": 0.5, "high": 0.875, "n": 7, "unit": "attributes"}
    assert by_name["a", "item_rest_correlation"] == {**key, "unscored": "yes", **numbers}
    assert "low" not in by_name["a", "item_mean"]
    assert by_name["b", "item_rest_correlation"]["reason"] == "undefined for these values"
    assert by_name["b", "semantic_diversity"]["reason"] == "a set of one template"


class TestOtherStart:
    """Pairs of attribute and template whose bias changes sign after another usual start token."""

    def flips(self, trades, after: pd.DataFrame | None) -> pd.Series:
        probes, _, attributes = trades()
        scores = scores_of(probes, values_for(probes, BIAS))
        started = NOT_STARTED
        if after is not None:
            started = Started(scores_of(probes, values_for(probes, after)), "")
        tables = diagnosis(probes, attributes, scores, started=started)
        return figures_of(tables)["start_flips"]

    def test_the_share_of_pairs(self, trades) -> None:
        """Of eight attributes two are turned in all three templates: 6 of 24."""
        after = BIAS.copy()
        after.iloc[:2] *= -0.5
        row = self.flips(trades, after)
        assert row["value"] == pytest.approx(0.25)
        assert (row["n"], row["unit"]) == (24, "pairs")
        # By hand: eight shares, two 1 and six 0; t with seven degrees at level .9, clipped at 0.
        reach = 1.8945786 * math.sqrt(0.25 * 0.75 / 7)
        assert (row["low"], row["high"]) == pytest.approx((0.0, 0.25 + reach))

    def test_other_sizes_of_the_same_sign_are_no_flips(self, trades) -> None:
        assert self.flips(trades, 3 * BIAS)["value"] == 0.0

    def test_without_another_start_there_is_a_reason(self, trades) -> None:
        row = self.flips(trades, None)
        assert pd.isna(row["value"])
        assert row["reason"] == "nothing was asked after another start token"
