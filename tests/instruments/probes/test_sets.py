"""The tables of a diagnosis, and what is left out of them."""

import math

import numpy as np
import pandas as pd
import pytest

from evenruler.instruments.probes import schemas
from evenruler.instruments.probes.ask import template_diversities, with_placebos
from evenruler.instruments.probes.declare.source import without_slots
from evenruler.instruments.probes.diagnose import NOT_STARTED, TABLES, Started, diagnose, evidence
from evenruler.instruments.probes.diagnose import figures as figures_with_diversities
from evenruler.measurement import as_metrics, figures_to_dicts
from evenruler.measurement.figures import with_extreme_units
from evenruler.tables import write_table
from evenruler.tables.frames import for_people
from evenruler.tables.schemas import HEADLINES
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
from tests.later import Later

pingouin = Later("pingouin")

NO_PREFIXES = pd.DataFrame()
NO_PLACEBOS = pd.DataFrame({"set": [], "id": []})


class TestScores:
    def test_every_model_template_and_attribute_has_its_own(self, diagnosed) -> None:
        found = diagnosed(m=BIAS, other=-2 * BIAS)["biases"]

        assert len(found) == 2 * 3 * 8
        for model, expected in (("m", BIAS), ("other", -2 * BIAS)):
            rows = found[found["model"] == model]
            matrix = rows.pivot(index="attribute", columns="template", values="bias")
            pd.testing.assert_frame_equal(
                matrix.loc[BIAS.index, BIAS.columns], expected, check_names=False
            )

    def test_the_order_of_scores_does_not_matter(self, diagnosed) -> None:
        def shuffled(probes: pd.DataFrame) -> pd.DataFrame:
            return scores_of(probes, values_for(probes, BIAS)).sample(frac=1, random_state=1)

        found, expected = diagnosed(scores=shuffled), diagnosed()
        for table, rows in expected.items():
            pd.testing.assert_frame_equal(found[table], rows)

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
            assert (
                diagnose(probes, attributes, none, NO_PREFIXES, NO_PLACEBOS, PLAN, RESAMPLING) == {}
            )

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
    def without(self, compiled):
        """Diagnoses the sentences that are left once those for which a condition holds were
        rejected."""

        def make(rejected) -> dict[str, pd.DataFrame]:
            sets = {"hand": {"title": "By hand", "templates": TEMPLATES}}
            probes, _, attributes = frames(
                compiled(
                    sets=sets, attributes={slug: slug for slug in BIAS.index}, criterion=CRITERION
                )
            )
            scores = scores_of(probes, values_for(probes, BIAS))
            left = probes[[not rejected(row) for row in probes.itertuples()]]
            return diagnose(left, attributes, scores, NO_PREFIXES, NO_PLACEBOS, PLAN, RESAMPLING)

        return make

    def test_nothing_is_said_where_nothing_was(self, without, capsys) -> None:
        assert figures_of(without(lambda row: False))["alpha"]["n"] == 8
        assert capsys.readouterr().err == ""

    @pytest.mark.parametrize(
        ("lost", "n_with_criterion"),
        [
            pytest.param({"poet": ("odd", "men")}, 7, id="without-a-criterion"),
            pytest.param(
                {"smith": ("first", "women"), "cook": ("odd", "men")}, 5, id="with-a-criterion"
            ),
        ],
    )
    def test_attributes_that_lost_a_group_are_left_out_of_their_set(
        self, without, capsys, lost, n_with_criterion
    ):
        diagnosis = without(lambda row: lost.get(row.attribute) == (row.template, row.group))

        left = BIAS.drop(index=list(lost))
        rows = diagnosis["associations"].set_index("attribute")
        assert rows["bias"].to_dict() == pytest.approx(left.mean(axis=1).to_dict(), abs=1e-12)
        found = figures_of(diagnosis)
        assert {found[name]["n"] for name in ("spread", "alpha", "offset")} == {len(left)}
        assert found["r"]["n"] == n_with_criterion
        assert found["alpha"]["value"] == pytest.approx(pingouin.cronbach_alpha(left)[0], abs=1e-12)
        assert diagnosis["items"].set_index("template").loc["last", "mean"] == pytest.approx(
            left["last"].mean()
        )
        assert capsys.readouterr().err == f"{LEFT_OUT}{', '.join(sorted(lost))}\n"

    def test_one_sentence_is_enough(self, without, capsys) -> None:
        diagnosis = without(
            lambda row: (row.template, row.attribute, row.target) == ("odd", "poet", "uncle")
        )

        assert "poet" not in set(diagnosis["associations"]["attribute"])
        assert figures_of(diagnosis)["alpha"]["n"] == 7
        assert capsys.readouterr().err == f"{LEFT_OUT}poet\n"

    def test_an_attribute_that_lost_all_is_named_too(self, without, capsys) -> None:
        diagnosis = without(lambda row: row.attribute == "poet")

        assert figures_of(diagnosis)["alpha"]["n"] == 7
        assert capsys.readouterr().err == f"{LEFT_OUT}poet\n"

    def test_each_has_lost_one(self, without, error_of) -> None:
        template_of = dict(zip(BIAS.index, [*BIAS, *BIAS, *BIAS], strict=False))

        line = error_of(
            without, lambda row: row.group == "men" and row.template == template_of[row.attribute]
        )

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

        assert rows["bias"].to_dict() == pytest.approx(BIAS.mean(axis=1).to_dict(), abs=1e-12)
        assert rows.loc["smith", "bias"] == 1.5  # (2 + 1 + 1.5) / 3
        assert set(rows["n"]) == {3}

    def test_and_what_it_has_beyond_what_templates_give_to_all(self, diagnosed) -> None:
        rows = diagnosed()["associations"].set_index("attribute")
        leaning = diagnosed(m=BIAS.add([4.0, -1.0, 0.5]))["associations"].set_index("attribute")

        centred = (BIAS - BIAS.mean()).mean(axis=1)
        for found in (rows, leaning):
            assert found["centred"].to_dict() == pytest.approx(centred.to_dict(), abs=1e-12)
        assert rows["centred"].sum() == pytest.approx(0, abs=1e-12)

    def test_with_word_criterion_and_match(self, diagnosed) -> None:
        rows = diagnosed()["associations"].set_index("attribute")

        assert rows.loc["smith", ["word", "criterion", "match"]].tolist() == ["smith", 97, "exact"]
        assert rows.loc["cook", ["criterion", "match"]].tolist() == [60, "group"]
        assert math.isnan(rows.loc["poet", "criterion"])
        assert rows.loc["poet", "match"] == "none"

    def test_three_templates_have_no_interval(self, diagnosed) -> None:
        assert diagnosed()["associations"][["low", "high"]].isna().all(axis=None)

    def test_five_have_that_of_t_over_templates_around_what_is_centred(self, diagnosed) -> None:
        five = BIAS.assign(
            more=BIAS["first"] / 2 + 0.25, further=[0.5, 1, -0.25, 0, 0.5, -1, -2, 0.25]
        )
        templates = {name: f"The {name} {{ATTRIBUTE}} met a {{TARGET}}." for name in five}

        rows = diagnosed(templates=templates, m=five)["associations"].set_index("attribute")

        centred = (five - five.mean()).loc["dancer"]
        half = 2.131846786 * centred.std() / math.sqrt(5)  # t at .95, four degrees of freedom
        expected = [centred.mean() - half, centred.mean(), centred.mean() + half]
        assert rows.loc["dancer", ["low", "centred", "high"]].tolist() == pytest.approx(
            expected, abs=1e-8
        )


def test_templates_correlate_with_one_another(diagnosed) -> None:
    found = diagnosed()["correlations"]

    expected = np.corrcoef(BIAS.to_numpy(), rowvar=False)
    pairs = {(row.template, row.other): row.correlation for row in found.itertuples()}
    assert len(pairs) == len(found) == 9
    for i, one in enumerate(BIAS):
        for j, other in enumerate(BIAS):
            assert pairs[one, other] == pytest.approx(expected[i, j], abs=1e-12)


class TestFigures:
    def test_are_those_of_every_part(self, diagnosed) -> None:
        assert list(figures_of(diagnosed())) == [
            *("gain", "spread", "r"),
            *("rho", "r_exact", "rho_exact"),
            *("alpha", "inter_item_correlation", "alpha_at_8", "first_component_share"),
            "token_difference",
            *(
                "detectable_at_8",
                "offset",
                "generalizability",
                "generalizability_at_8",
                "attribute_sd",
            ),
            *("level_shift", "reordering", "start_flips"),
        ]

    def test_a_domain_without_a_criterion_has_none_of_its_figures(self, diagnosed) -> None:
        without = figures_of(diagnosed(criterion=None))
        assert not {"gain", "r", "rho", "r_exact", "rho_exact"} & set(without)
        assert without["spread"]["value"] == figures_of(diagnosed())["spread"]["value"]

    def test_by_hand(self, diagnosed) -> None:
        found, mean = figures_of(diagnosed()), BIAS.mean(axis=1)
        assert found["spread"]["value"] == pytest.approx(mean.std(), abs=1e-12)
        assert found["offset"]["value"] == pytest.approx(mean.mean(), abs=1e-12)
        known = [name for name, value in CRITERION.values.items() if value is not None]
        criterion = [CRITERION.values[name] for name in known]
        assert found["r"]["value"] == pytest.approx(
            np.corrcoef(mean[known], criterion)[0, 1], abs=1e-12
        )
        assert not pd.isna(found["alpha"]["control"])
        exact = [name for name in known if CRITERION.matches[name] == "exact"]
        r_exact = np.corrcoef(mean[exact], [CRITERION.values[name] for name in exact])[0, 1]
        assert found["r_exact"]["value"] == pytest.approx(r_exact, abs=1e-12)

    def test_tokens_are_compared_by_their_means(self, compiled) -> None:
        tokens = {"man": 5, "uncle": 5, "king": 11, "woman": 4, "girl": 4, "queen": 7}
        names = list(tokens)
        sets = {"hand": {"title": "By hand", "templates": TEMPLATES}}
        built = compiled(
            sets=sets,
            attributes={slug: slug for slug in BIAS.index},
            targets={"men": names[:3], "women": names[3:]},
        )
        probes, _, attributes = frames(built)
        scores = scores_of(probes, np.random.default_rng(1).normal(size=len(probes)))
        scores = scores.assign(n_tokens=probes["target"].map(tokens).to_numpy())
        found = diagnose(probes, attributes, scores, NO_PREFIXES, NO_PLACEBOS, PLAN, RESAMPLING)
        assert figures_of(found)["token_difference"]["value"] == 2.0  # 7 - 5

    def test_how_many_tokens_more_a_sentence_has_with_the_first_group(self, diagnosed) -> None:
        tokens = {"man": 5, "uncle": 8, "woman": 5, "girl": 6}

        def scored(probes: pd.DataFrame) -> pd.DataFrame:
            return scores_of(probes, values_for(probes, BIAS)).assign(
                n_tokens=probes["target"].map(tokens).to_numpy()
            )

        row = figures_of(diagnosed(scores=scored))["token_difference"]
        assert (row["value"], row["n"], row["unit"]) == (1.0, 4, "targets")

    def test_the_same_each_time(self, diagnosed) -> None:
        pd.testing.assert_frame_equal(diagnosed()["figures"], diagnosed()["figures"])

    @pytest.mark.parametrize("n", [1, 2, 3])
    def test_of_few_attributes_there_are_reasons(self, diagnosed, n) -> None:
        found = figures_of(diagnosed(m=BIAS.iloc[:n]))
        assert (
            found["r"]["reason"] == "fewer than 4 attributes to correlate"
            if n > 1
            else "fewer than two attributes"
        )
        assert (found["alpha"]["reason"] == "fewer than three attributes") == (n < 3)
        assert found["offset"]["value"] == pytest.approx(BIAS.iloc[:n].to_numpy().mean(), abs=1e-12)
        assert pd.isna(found["spread"]["value"]) == (n == 1)
        assert found["spread"]["reason"] == "fewer than two attributes" or n > 1


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
        found = figures_of(diagnosed())["gain"]
        criterion = np.array([CRITERION.values[name] for name in KNOWN])
        slope = np.polyfit(criterion, BIAS.mean(axis=1)[KNOWN], 1)[0]
        assert found["value"] == pytest.approx(80 * slope, abs=1e-12)
        assert found["low"] < found["value"] < found["high"]
        assert (found["n"], found["levels"]) == (7, "7 attributes, 3 templates, 4 words")

    def test_without_placebos_it_stays_open(self, diagnosed) -> None:
        found = figures_of(diagnosed())["gain"]
        assert (found["verdict"], found["why"]) == (
            "inconclusive",
            "No verdict is possible: no placebo.",
        )

    def test_only_declared_sets_have_one(self, diagnosed) -> None:
        assert "gain" not in figures_of(diagnosed(plan={**PLAN, "headline": ["other"]}))

    def test_placebos_stand_beside_it(self, compiled) -> None:
        """Nouns whose sentences are as likely as those of a noun of the same list, but for a slope
        of the list."""
        sets = {"hand": {"title": "By hand", "templates": TEMPLATES}}
        probes, written, attributes = frames(
            compiled(sets=sets, attributes={slug: slug for slug in BIAS.index}, criterion=CRITERION)
        )
        beside = with_placebos(
            {"templates": written, "attributes": attributes}, {**PLAN, "placebo_lists": LISTS}
        )
        assert len(beside) == 3 * 7 * 24
        slopes = {name: place / 80 for place, name in enumerate(LISTS)}
        along = (
            beside["attribute"].map(CRITERION.values)
            * beside["group"].map(slopes)
            * beside["keying"]
        )
        scores = pd.concat(
            [
                scores_of(probes, values_for(probes, BIAS)),
                scores_of(beside, along).assign(framing="placebo"),
            ]
        )
        found = figures_of(
            diagnose(probes, attributes, scores, NO_PREFIXES, beside, PLAN, RESAMPLING)
        )["gain"]
        assert found["placebo"] == pytest.approx(math.sqrt(2) * np.std(np.arange(12), ddof=1))
        assert found["specific"] == found["value"]
        assert found["specific_high"] - found["specific_low"] > found["high"] - found["low"]
        assert found["why"] == "No verdict is possible: 7 attributes (at least 10 needed)."

    def test_a_missing_placebo_is_an_error_and_no_dropped_row(self, compiled) -> None:
        sets = {"hand": {"title": "By hand", "templates": TEMPLATES}}
        probes, written, attributes = frames(
            compiled(sets=sets, attributes={slug: slug for slug in BIAS.index}, criterion=CRITERION)
        )
        beside = with_placebos(
            {"templates": written, "attributes": attributes}, {**PLAN, "placebo_lists": LISTS}
        )
        scores = pd.concat(
            [
                scores_of(probes, values_for(probes, BIAS)),
                scores_of(beside[1:], 0.0 * beside[1:].index),
            ]
        )
        with pytest.raises(ValueError, match=r"^m: 1 sentences have no score$"):
            diagnose(probes, attributes, scores, NO_PREFIXES, beside, PLAN, RESAMPLING)

    def test_the_reliability_that_is_asked_for_is_the_plans(self, diagnosed) -> None:
        rows = {
            floor: figures_of(diagnosed(plan={**PLAN, "reliability": floor}))
            for floor in (0.0, 0.8, 1.0)
        }
        low, high = rows[0.0]["alpha"]["low"], rows[0.0]["alpha"]["high"]
        assert 0 < low < 0.8 < high < 1
        said = f"alpha is between {low:.2f} and {high:.2f}"
        assert rows[0.8]["gain"]["verdict"] == "inconclusive"
        for name in ("gain", "spread", "r"):
            assert rows[1.0][name]["verdict"] == "invalid on this model"
            assert rows[1.0][name]["why"].endswith(f": {said}, below 1.")

    def test_targets_of_a_group_that_share_a_word_stay_open(self, compiled) -> None:
        targets = {"men": ["tall man", "tall uncle"], "women": ["woman", "girl"]}
        sets = {"hand": {"title": "By hand", "templates": TEMPLATES}}
        probes, _, attributes = frames(
            compiled(
                sets=sets,
                attributes={slug: slug for slug in BIAS.index},
                criterion=CRITERION,
                targets=targets,
            )
        )
        short = probes.assign(target=probes["target"].str.removeprefix("tall-"))
        scores = scores_of(probes, values_for(short, BIAS))
        found = diagnose(probes, attributes, scores, NO_PREFIXES, NO_PLACEBOS, PLAN, RESAMPLING)
        assert figures_of(found)["gain"]["verdict"] == "inconclusive"

    def test_no_figure_but_verdicts_depends_on_other_sets(self, compiled) -> None:
        one = {"hand": {"title": "By hand", "templates": TEMPLATES}}
        other = {
            "title": "Other",
            "templates": {f"{name}-too": TEMPLATES[name] for name in TEMPLATES},
        }
        found = {}
        for name, sets in (("alone", one), ("beside", {**one, "other": other})):
            probes, _, attributes = frames(
                compiled(
                    sets=sets, attributes={slug: slug for slug in BIAS.index}, criterion=CRITERION
                )
            )
            biases = BIAS.assign(**{f"{template}-too": BIAS[template] ** 2 for template in BIAS})
            scores = scores_of(probes, values_for(probes, biases))
            plan = {**PLAN, "headline": ["hand", "other"]}
            found[name] = diagnose(
                probes, attributes, scores, NO_PREFIXES, NO_PLACEBOS, plan, RESAMPLING
            )

        for table, rows in found["alone"].items():
            beside = found["beside"][table]
            own = beside[beside["part" if table == "headlines" else "set"] == "hand"].reset_index(
                drop=True
            )
            told = ["verdict", "why"] if table == "figures" else []
            pd.testing.assert_frame_equal(own.drop(columns=told), rows.drop(columns=told))


class TestControls:
    """Templates that are asked and shown, and make no score."""

    @pytest.fixture
    def both(self, diagnosed) -> tuple[dict[str, pd.DataFrame], dict[str, pd.DataFrame]]:
        """The set alone, and with two controls beside, one of them keyed -1."""
        total = BIAS.sum(axis=1)
        controls = pd.DataFrame(
            {"plain": total / 2 + [0.5, 0, 0, -0.5, 0, 0.25, 0, 0], "not-so": 1 - total / 4}
        )
        templates = {
            **TEMPLATES,
            "plain": {"text": "Some {ATTRIBUTE} is a {TARGET}.", "control": True},
            "not-so": {"text": "No {ATTRIBUTE} is a {TARGET}.", "control": True, "keying": -1},
        }
        return diagnosed(), diagnosed(templates=templates, m=BIAS.join(controls))

    def test_change_no_figure_and_no_other_table(self, both) -> None:
        alone, beside = both
        for table, rows in alone.items():
            found = beside[table]
            pd.testing.assert_frame_equal(
                found[~found["control"]] if table == "items" else found, rows
            )

    def test_stand_in_items_with_their_sign(self, both) -> None:
        """The control that is keyed -1 is shown as it is keyed, as any template."""
        rows = both[1]["items"].set_index("template")
        total = BIAS.sum(axis=1)
        assert rows["control"].to_dict() == {
            **dict.fromkeys(BIAS, False),
            "plain": True,
            "not-so": True,
        }
        assert rows.loc["not-so", "mean"] == pytest.approx(1 - total.mean() / 4, abs=1e-12)
        assert rows.loc["not-so", "item_rest_correlation"] == pytest.approx(-1, abs=1e-12)
        plain = total / 2 + [0.5, 0, 0, -0.5, 0, 0.25, 0, 0]
        assert rows.loc["plain", "item_rest_correlation"] == pytest.approx(
            np.corrcoef(plain, total)[0, 1], abs=1e-12
        )
        assert rows.loc["plain", "low"] > 0

    def test_a_reversed_control_makes_no_set_unfit(self, both) -> None:
        for found in both:
            assert "invalid on this model" not in set(found["figures"]["verdict"])

    def test_one_that_lost_a_sentence_costs_the_set_nothing(self, compiled, capsys) -> None:
        templates = {
            **TEMPLATES,
            "not-so": {"text": "No {ATTRIBUTE} is a {TARGET}.", "control": True},
        }
        sets = {"hand": {"title": "By hand", "templates": templates}}
        probes, _, attributes = frames(
            compiled(sets=sets, attributes={slug: slug for slug in BIAS.index})
        )
        scores = scores_of(probes, values_for(probes, BIAS.assign(**{"not-so": BIAS["first"]})))
        lost = (
            (probes["template"] == "not-so")
            & (probes["attribute"] == "poet")
            & (probes["target"] == "girl")
        )

        found = diagnose(
            probes[~lost], attributes, scores, NO_PREFIXES, NO_PLACEBOS, PLAN, RESAMPLING
        )

        assert capsys.readouterr().err == ""
        assert len(found["associations"]) == 8
        rows = found["items"].set_index("template")
        assert rows.loc["not-so", "mean"] == pytest.approx(
            BIAS["first"].drop("poet").mean(), abs=1e-12
        )


class TestTables:
    def test_every_table_is_by_its_schema(self, diagnosed, tmp_path) -> None:
        tables = diagnosed()
        tables["items"] = tables["items"].assign(semantic_diversity=0.5, lexical_diversity=0.5)
        tables["figures"] = with_extreme_units(
            tables["figures"].rename(columns={"set": "part"}), tables["headlines"]
        )

        assert set(tables) == {
            *(
                "associations",
                "biases",
                "correlations",
                "curve",
                "figures",
                "headlines",
                "items",
                "variances",
            ),
        }
        for name, rows in tables.items():
            schema = HEADLINES if name == "headlines" else getattr(schemas, name.upper())
            write_table(rows[schema.names], schema, tmp_path / f"{name}.parquet")

    def test_variances_and_curve_are_of_each_model(self, diagnosed) -> None:
        found = diagnosed(m=BIAS, wide=2 * BIAS)
        assert found["variances"].groupby("model").size().to_dict() == {"m": 7, "wide": 7}
        assert found["curve"].groupby("model").size().to_dict() == {"m": 30, "wide": 30}
        # Only what targets add, which is the same of both, is in the variance of targets.
        variances = found["variances"].pivot(index="effect", columns="model", values="variance")
        assert variances.loc["attribute", "wide"] > 3 * variances.loc["attribute", "m"] > 0
        assert variances.loc["target", "wide"] == pytest.approx(
            variances.loc["target", "m"], abs=1e-9
        )

    def test_groups_of_unequal_size_have_none_of_these(self, compiled) -> None:
        targets = {"men": ["man", "uncle"], "women": ["woman"]}
        sets = {"hand": {"title": "By hand", "templates": TEMPLATES}}
        probes, _, attributes = frames(
            compiled(
                sets=sets,
                attributes={slug: slug for slug in BIAS.index},
                criterion=CRITERION,
                targets=targets,
            )
        )
        wobble = {"man": 3.0, "uncle": -3.0, "woman": 0.0}
        values = [
            BIAS.loc[row.attribute, row.template] * row.keying * row.pole / 2 + wobble[row.target]
            for row in probes.itertuples()
        ]

        found = diagnose(
            probes,
            attributes,
            scores_of(probes, values),
            NO_PREFIXES,
            NO_PLACEBOS,
            PLAN,
            RESAMPLING,
        )

        assert not {"variances", "curve"} & set(found)
        rows = figures_of(found)
        assert pd.isna(rows["generalizability"]["value"])
        assert rows["generalizability"]["reason"].startswith(
            "the groups are not of equal size, two at least"
        )
        assert pd.isna(rows["spread"]["control"])
        assert rows["gain"]["verdict"] == "inconclusive"
        assert rows["gain"]["reason"].startswith("a single level of words")
        assert rows["alpha"]["value"] == pytest.approx(pingouin.cronbach_alpha(BIAS)[0], abs=1e-12)
        assert pd.isna(rows["alpha"]["control"])
        assert rows["offset"]["value"] == pytest.approx(BIAS.to_numpy().mean(), abs=1e-12)
        assert not pd.isna(rows["rho"]["value"])


def embeddings(templates: pd.DataFrame) -> dict[str, np.ndarray]:
    """Each template in a direction of its own."""
    texts = [without_slots(text) for text in templates["text"]]
    return dict(zip(texts, np.eye(len(texts), 8, dtype=np.float32), strict=True))


class TestDiversities:
    def test_stand_beside_what_a_template_adds(self, compiled) -> None:
        sets = {"hand": {"title": "By hand", "templates": TEMPLATES}}
        probes, templates, attributes = frames(
            compiled(sets=sets, attributes={slug: slug for slug in BIAS.index})
        )
        tables = {"probes": probes, "attributes": attributes, "templates": templates}
        diversity = template_diversities({"templates": templates}, embeddings(templates)).assign(
            model="m"
        )
        nothing = {"unread": pd.DataFrame({"id": []}), "started": pd.DataFrame()}
        scores = {
            "scores": scores_of(probes, values_for(probes, BIAS)),
            "diversity": diversity,
            **nothing,
        }

        found = figures_with_diversities("trades", tables, PLAN, scores, subject("m"), RESAMPLING)[
            "items"
        ]

        rows = found.set_index("template")
        # Embeddings at right angles: no cosine with the others.
        assert rows["semantic_diversity"].to_dict() == dict.fromkeys(TEMPLATES, 1.0)
        # Words: {the is a}, {it is odd when a}, {they say that each here is a}. Jaccard first-odd:
        # {is a} of 6; first-last: {is a} of 8; odd-last: {is a} of 10.
        expected = {
            "first": 1 - (2 / 6 + 2 / 8) / 2,
            "odd": 1 - (2 / 6 + 2 / 10) / 2,
            "last": 1 - (2 / 8 + 2 / 10) / 2,
        }
        assert rows["lexical_diversity"].to_dict() == pytest.approx(expected, abs=1e-12)

    def test_slots_are_embedded_as_someone(self) -> None:
        assert without_slots("A {ATTRIBUTE} met a {TARGET}.") == "A someone met a someone."


class TestMetrics:
    ROWS = pd.DataFrame(
        [
            (
                "trades",
                "hand",
                "m",
                "r",
                0.12345,
                -0.5,
                0.70049,
                0.000123456,
                7,
                "attributes",
                None,
            ),
            (
                "trades",
                "hand",
                "m",
                "alpha",
                math.nan,
                math.nan,
                math.nan,
                math.nan,
                2,
                "attributes",
                "too few",
            ),
            (
                "trades",
                "hand",
                None,
                "lexical_diversity",
                0.9996,
                None,
                None,
                None,
                3,
                "templates",
                None,
            ),
            ("jobs", "hand", "m", "r", 1.0, 1.0, 1.0, 0.0456, 7, "attributes", None),
        ],
        columns=[
            "benchmark",
            "part",
            "model",
            "figure",
            "value",
            "low",
            "high",
            "p",
            "n",
            "unit",
            "reason",
        ],
    ).reindex(columns=schemas.FIGURES.names)

    def test_figures_are_nested_and_not_rounded(self) -> None:
        assert as_metrics(self.ROWS, "part") == {
            "trades": {
                "hand": {
                    "m": {
                        "r": {
                            "value": 0.12345,
                            "low": -0.5,
                            "high": 0.70049,
                            "p": 0.000123456,
                            "n": 7,
                            "unit": "attributes",
                        },
                        "alpha": {"value": None, "n": 2, "unit": "attributes", "reason": "too few"},
                    },
                    "any-model": {
                        "lexical_diversity": {"value": 0.9996, "n": 3, "unit": "templates"}
                    },
                }
            },
            "jobs": {
                "hand": {
                    "m": {
                        "r": {
                            "value": 1.0,
                            "low": 1.0,
                            "high": 1.0,
                            "p": 0.0456,
                            "n": 7,
                            "unit": "attributes",
                        }
                    }
                }
            },
        }

    def test_records_are_plain_numbers(self) -> None:
        record = figures_to_dicts(self.ROWS)[0]

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
                "control": [False, True],
                "mean": [0.12345, 1.0],
                "sd": [0.5, 0.25],
                "item_rest_correlation": [-0.9996, math.nan],
                "low": [-1.0, math.nan],
                "high": [-0.75, math.nan],
                "alpha_if_removed": [0.7, math.nan],
                "semantic_diversity": [0.5, 0.5],
                "lexical_diversity": [1.0, 1.0],
            }
        )

        empty = {name: pd.DataFrame(columns=schema.names) for name, schema in TABLES.items()}
        metrics = evidence({**empty, "figures": self.ROWS, "items": items})

        found = metrics["trades"]["hand"]["m"]["items"]
        assert list(found) == ["a", "b"]
        assert found["a"] == {
            "control": False,
            "mean": 0.12345,
            "sd": 0.5,
            "item_rest_correlation": -0.9996,
            "low": -1.0,
            "high": -0.75,
            "alpha_if_removed": 0.7,
            "semantic_diversity": 0.5,
            "lexical_diversity": 1.0,
        }
        assert found["b"]["control"] is True
        assert found["b"]["item_rest_correlation"] is None
        assert "items" not in metrics["jobs"]["hand"]["m"]

    def test_a_diagnosis_goes_through(self, diagnosed) -> None:
        metrics = as_metrics(diagnosed()["figures"], "set")["trades"]["hand"]

        assert set(metrics) == {"m"}
        assert metrics["m"]["alpha"]["value"] == pytest.approx(
            pingouin.cronbach_alpha(BIAS)[0], abs=1e-12
        )
        assert for_people(metrics)["m"]["alpha"]["value"] == round(
            pingouin.cronbach_alpha(BIAS)[0], 3
        )
        assert "reason" not in metrics["m"]["alpha"]
        assert {"p", "smallest", "levels", "verdict", "why"} <= set(metrics["m"]["gain"])


class TestOtherStart:
    """Pairs of attribute and template whose bias changes sign after another usual start token."""

    def flips(self, compiled, after: pd.DataFrame | None) -> pd.Series:
        sets = {"hand": {"title": "By hand", "templates": TEMPLATES}}
        probes, _, attributes = frames(
            compiled(sets=sets, attributes={slug: slug for slug in BIAS.index})
        )
        scores, started = scores_of(probes, values_for(probes, BIAS)), NOT_STARTED
        if after is not None:
            started = Started(scores_of(probes, values_for(probes, after)), "")
        found = diagnose(
            probes, attributes, scores, NO_PREFIXES, NO_PLACEBOS, PLAN, RESAMPLING, started
        )
        return figures_of(found)["start_flips"]

    def test_the_share_of_pairs(self, compiled) -> None:
        """Of eight attributes two are turned in all three templates: 6 of 24."""
        after = BIAS.copy()
        after.iloc[:2] *= -0.5
        found = self.flips(compiled, after)
        assert found["value"] == pytest.approx(0.25)
        assert (found["n"], found["unit"]) == (24, "pairs")
        # By hand: eight shares, two 1 and six 0; t with seven degrees at level .9, clipped at 0.
        reach = 1.8945786 * math.sqrt(0.25 * 0.75 / 7)
        assert (found["low"], found["high"]) == pytest.approx((0.0, 0.25 + reach))

    def test_other_sizes_of_the_same_sign_are_no_flips(self, compiled) -> None:
        assert self.flips(compiled, 3 * BIAS)["value"] == 0.0

    def test_without_another_start_there_is_a_reason(self, compiled) -> None:
        found = self.flips(compiled, None)
        assert pd.isna(found["value"])
        assert found["reason"] == "nothing was asked after another start token"
