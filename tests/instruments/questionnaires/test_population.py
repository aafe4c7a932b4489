"""How well a model says what follows, whether it counts, and its place among others."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm
from sklearn.metrics import roc_auc_score
from statsmodels.stats.proportion import proportion_confint

from evenruler.instruments.instrument import Record, Subject
from evenruler.instruments.questionnaires.ask.item_scores import of_facts
from evenruler.instruments.questionnaires.declare import headings
from evenruler.instruments.questionnaires.diagnose.population import (
    accuracy_figures,
    accuracy_table,
    check_accuracy_validity,
    fitness_by_form,
    judged_by,
    members_of,
    normal_scores,
    population_table,
    scale_scores,
    standardise_scores,
)
from evenruler.measurement import Figure
from evenruler.measurement.verdicts import ValidityCheck, mark_invalid
from tests.instruments.questionnaires.doors import PLAN, known, labelled, subject


def found(*frames: pd.DataFrame) -> pd.DataFrame:
    return accuracy_table(pd.concat(frames).assign(model="m0"), 0.95)


class TestAccuracies:
    def test_wilson_is_that_of_another_library(self) -> None:
        (row,) = found(labelled(right=340, n=501)).to_dict("records")
        assert (row["n"], row["accuracy"], row["chance"]) == (501, 340 / 501, 1 / 3)
        assert (row["low"], row["high"]) == pytest.approx(
            proportion_confint(340, 501, method="wilson"), abs=1e-12
        )

    def test_sets_and_forms_are_told_apart(self) -> None:
        rows = found(
            labelled(right=6, n=6),
            labelled(right=3, n=6, name="statements"),
            labelled("verbaliser", 0, 6),
        )
        told = rows.set_index(["configuration", "set"])["accuracy"].to_dict()
        assert told == {
            ("head", "mnli"): 1.0,
            ("head", "statements"): 0.5,
            ("verbaliser", "mnli"): 0.0,
        }

    def test_where_no_pair_is_neutral_it_is_no_answer(self) -> None:
        two = labelled(right=6, n=6).query("label != 'neutral'").assign(neutral=9.0)
        (row,) = found(two).to_dict("records")
        assert (row["accuracy"], row["chance"], row["n"]) == (1.0, 0.5, 4)

    def test_auc_by_hand(self) -> None:
        pairs = labelled(n=6).assign(
            entailment=[1.0, 9.0, 0.0, 0.5, 9.0, 0.8], contradiction=0.0, neutral=0.0
        )
        # Entailment has 1 and .5, contradiction 0 and .8: of the four comparisons .5 against .8
        # alone is lost.
        (row,) = found(pairs).to_dict("records")
        assert row["auc"] == 0.75

    def test_auc_of_chance_is_a_half(self) -> None:
        rng = np.random.default_rng(0)
        pairs = labelled(n=3000)
        pairs[["entailment", "neutral", "contradiction"]] = rng.normal(size=(3000, 3))
        (row,) = found(pairs).to_dict("records")
        assert (row["auc"], row["accuracy"]) == (
            pytest.approx(0.5, abs=0.03),
            pytest.approx(1 / 3, abs=0.03),
        )
        told = pairs[pairs["label"] != "neutral"]
        share = told["entailment"] - told["contradiction"]
        assert row["auc"] == roc_auc_score(told["label"] == "entailment", share)

    def test_auc_is_none_without_contradiction(self) -> None:
        pairs = labelled(n=6).query("label != 'contradiction'")
        assert pd.isna(found(pairs)["auc"]).all()

    def test_nothing_asked(self) -> None:
        assert found(labelled(n=0)).empty
        assert judged_by(found(labelled(n=0))) == {}


class TestFitness:
    def test_the_lower_end_decides(self) -> None:
        record = judged_by(found(labelled(right=365, n=501), labelled(right=0, name="statements")))[
            "head"
        ]
        assert record["accuracy"] == pytest.approx(0.7285, abs=1e-4)
        assert (
            check_accuracy_validity(record, record["low"] - 1e-9),
            check_accuracy_validity(record, record["low"]).doubt,
        ) == (
            ValidityCheck(),
            None,
        )
        assert check_accuracy_validity(record, record["low"]).unfit is not None
        assert check_accuracy_validity(record, 0.7).unfit == (
            "its accuracy on 501 labelled pairs is 0.73 [0.69, 0.77], interval not above 0.7 "
            "(chance 0.33)"
        )

    def test_of_whom_nothing_is_known(self) -> None:
        assert check_accuracy_validity(None, 0.7).unfit == "no labelled pairs or facts were asked"


def test_figures_stand_beside_guessing() -> None:
    rows = found(
        labelled(right=15), labelled(right=4, n=6, name="statements"), labelled("verbaliser", 0)
    )
    told = {figure.figure: figure for figure in accuracy_figures(rows, "head")}
    assert list(told) == ["accuracy", "auc", "accuracy_of_statements", "auc_of_statements"]
    assert (told["accuracy"].value, told["accuracy"].control, told["accuracy"].n) == (
        0.75,
        1 / 3,
        20,
    )
    assert {figure.unit for figure in told.values()} == {"pairs"}
    assert (told["auc"].control, told["accuracy_of_statements"].value) == (0.5, 4 / 6)
    shown = {
        column.figure
        for column in headings({**PLAN, "accuracy": {"bar": 0.7, "pairs": [{"set": "mnli"}]}})
    }
    assert set(told) <= shown


def test_a_figure_of_an_unfit_instrument_says_so() -> None:
    figure = Figure("answer", 0.4, 7, "items", 0.1, 0.7)
    assert mark_invalid(figure, ValidityCheck()) == figure
    told = mark_invalid(figure, ValidityCheck(unfit="it guesses"))
    assert (told.verdict, told.value) == ("invalid on this model", 0.4)
    assert told.why == "Its validity check fails: it guesses."


def record(
    who: Subject,
    *answers: pd.DataFrame,
    bar: float = 0.5,
    name: str = "fear",
    by_facts: pd.DataFrame | None = None,
) -> Record:
    asked = pd.concat(answers).assign(model=who.name)
    plan: dict[str, Any] = {**PLAN, "accuracy": {"bar": bar, "pairs": []}}
    facts = None if by_facts is None else of_facts(by_facts, PLAN).assign(model=who.name)
    return Record(name, who, {}, plan, {"accuracy_of_any": accuracy_table(asked, 0.95, facts)})


class TestFacts:
    """Known answers, by likelihoods."""

    @pytest.mark.parametrize(
        ("model", "share"),
        [
            ("perfect", 1.0),
            ("says yes to all", 0.0),
            ("always often", 0.0),
            ("prefers the right term alone", 0.0),
        ],
    )
    def test_only_who_knows_how_often_is_right(self, model, share) -> None:
        """Terms and words that are liked by themselves are taken off by the normalisation: a tie is
        not right."""
        liked = {
            "perfect": lambda own: (own["term"] == "right") == (own["word"] == "always"),
            "says yes to all": lambda own: pd.Series(1.0, own.index),
            "always often": lambda own: own["word"] == "always",
            "prefers the right term alone": lambda own: own["term"] == "right",
        }[model]
        answers = known(n=30)
        told = of_facts(answers.assign(nats=liked(answers).astype(float)), PLAN).assign(model="m0")
        (row,) = accuracy_table(labelled(n=0).assign(model="m0"), 0.95, told).to_dict("records")
        assert (row["set"], row["n"], row["accuracy"], row["chance"]) == ("facts", 30, share, 0.5)

    def test_by_hand(self) -> None:
        """Of a prior of e for "always" and one for the right term, and .1 nats for both
        together."""
        answers = known(n=1).assign(nats=[0.0, 1.0, 0.5, 1.5 - 0.1])
        assert of_facts(answers, PLAN)["right"].tolist() == [True]
        assert of_facts(answers.assign(nats=[0.0, 1.0, 0.5, 1.5 + 0.1]), PLAN)[
            "right"
        ].tolist() == [False]

    def test_the_lower_end_decides_by_facts_too(self) -> None:
        told = accuracy_table(
            labelled(n=0).assign(model="m"), 0.95, of_facts(known(right=16), PLAN).assign(model="m")
        )
        assert check_accuracy_validity(judged_by(told)["sentence"], 0.5).unfit is None
        unfit = check_accuracy_validity(judged_by(told)["sentence"], 0.7).unfit
        assert (
            unfit
            == "its accuracy on 20 facts is 0.80 [0.58, 0.92], interval not above 0.7 (chance 0.50)"
        )


class TestPopulation:
    def test_one_bar_for_heads_and_verbalisers(self) -> None:
        talker = subject("talker", lineage="llamas", forms=("verbaliser", "sentence"))
        rows = population_table(
            [
                record(subject("good"), labelled(right=20)),
                record(subject("chance"), labelled(right=7)),
                record(talker, labelled("verbaliser", right=7), by_facts=known(right=18)),
                record(subject("silent"), labelled(n=0)),
            ]
        )
        told = rows.set_index(["model", "configuration"])
        assert told["member"].to_dict() == {
            ("chance", "head"): False,
            ("good", "head"): True,
            ("silent", "head"): False,
            ("talker", "verbaliser"): False,
            ("talker", "sentence"): True,
        }
        assert (
            told.loc[("talker", "verbaliser"), "standing"]
            == "accuracy interval is not above the bar, does not count"
        )
        assert (
            told.loc[("silent", "head"), "standing"]
            == "no labelled pairs or facts were asked, does not count"
        )
        assert told.loc[("talker", "sentence"), ["accuracy", "n", "bar"]].tolist() == [0.9, 20, 0.5]
        assert told.loc[("talker", "verbaliser"), ["accuracy", "n", "bar"]].tolist() == [
            0.35,
            20,
            0.5,
        ]
        assert told.loc[("talker", "sentence"), "lineage"] == "llamas"
        assert members_of(rows) == ["good", "talker (sentence)"]

    def test_the_highest_bar_of_several_questionnaires_counts(self) -> None:
        who = subject("a")
        rows = population_table(
            [
                record(who, labelled(right=18), bar=0.6),
                record(who, labelled(right=18), bar=0.9, name="b"),
            ]
        )
        (row,) = rows.to_dict("records")
        assert (row["bar"], row["member"], row["accuracy"]) == (0.9, False, 0.9)


class TestStandardised:
    def test_by_hand(self) -> None:
        # Mean 4, SD sqrt((9 + 1 + 16) / 2) = sqrt(13).
        assert standardise_scores(np.array([1.0, 3.0, 8.0])) == pytest.approx(
            np.array([-3, -1, 4]) / np.sqrt(13), abs=1e-15
        )

    @pytest.mark.parametrize("scores", [[1.0], [1.0, 2.0], [2.0, 2.0, 2.0]])
    def test_nan_below_three_or_where_all_are_equal(self, scores) -> None:
        assert np.isnan(standardise_scores(np.array(scores))).tolist() == [True] * len(scores)

    def test_nan_where_equal_scores_have_a_mean_that_is_rounded(self) -> None:
        assert np.isnan(standardise_scores(np.array([0.1, 0.1, 0.1]))).all()


class TestNormalScores:
    def test_by_hand(self) -> None:
        # Ranks 3, 1, 2: (3 - .375) / 3.25 = .8077, whose quantile is .8694.
        assert normal_scores(np.array([9.0, -1.0, 0.0])) == pytest.approx(
            [0.8694238, -0.8694238, 0.0], abs=1e-6
        )

    def test_ties_share_a_rank(self) -> None:
        # Ranks 1.5, 4, 1.5, 3: (1.5 - .375) / 4.25 and so on.
        expected = norm.ppf([1.125 / 4.25, 3.625 / 4.25, 1.125 / 4.25, 2.625 / 4.25])
        assert normal_scores(np.array([1.0, 7.0, 1.0, 2.0])) == pytest.approx(expected, abs=1e-15)

    def test_only_ranks_count(self) -> None:
        scores = np.array([0.3, -2.0, 5.0, 0.0])
        assert normal_scores(np.exp(scores)).tolist() == normal_scores(scores).tolist()

    def test_nan_below_three(self) -> None:
        assert np.isnan(normal_scores(np.array([1.0, 2.0]))).tolist() == [True, True]


@pytest.mark.parametrize("form", ["head", "verbaliser"])
def test_answers_that_no_term_changes_measure_nothing(form) -> None:
    """However well the model tells labelled pairs apart."""
    flat = [
        ("one", term, word, 0.25 * level)
        for term in ("calm", "tense")
        for level, word in enumerate("abc")
    ]
    cells = pd.DataFrame(flat, columns=["item", "term", "intensifier", "pss"]).assign(
        configuration=form
    )
    of_model = {"accuracy_of_any": found(labelled(form)), "cells": cells}
    same = fitness_by_form(of_model, [form], 0.5)[form]
    assert same.unfit == "all 2 terms of 1 items have the same score"
    varied = cells.assign(pss=cells["pss"].where(cells["term"] == "calm", 0.1))
    assert fitness_by_form({**of_model, "cells": varied}, [form], 0.5)[form].unfit is None


def items(scores: dict[str, list[float]], configuration: str = "head") -> pd.DataFrame:
    """Item scores of a questionnaire of three items, of which the first two are a subscale."""
    rows = [
        {
            "model": model,
            "lineage": model,
            "item": f"item-{i}",
            "subscale": "body" if i < 2 else None,
            "score": score,
        }
        for model, of_model in scores.items()
        for i, score in enumerate(of_model)
    ]
    same = {
        "questionnaire": "fear",
        "kind": "nli",
        "configuration": configuration,
        "framing": "bare",
    }
    return pd.DataFrame(rows).assign(**same)


SCORES = {"a": [1.0, 2.0, 3.0], "b": [3.0, 4.0, -7.0], "c": [0.0, 0.0, 3.0]}


class TestScaleScores:
    def test_means_of_scale_and_subscale(self) -> None:
        found = scale_scores(items(SCORES)).set_index(["model", "subscale"])

        assert found["score"].to_dict() == {
            ("a", "all"): 2.0,
            ("a", "body"): 1.5,
            ("b", "all"): 0.0,
            ("b", "body"): 3.5,
            ("c", "all"): 1.0,
            ("c", "body"): 0.0,
        }
        assert found["n"].to_dict() == {key: 3 if key[1] == "all" else 2 for key in found.index}

    def test_each_has_its_own_place_in_the_population(self) -> None:
        found = scale_scores(items(SCORES)).set_index(["subscale", "model"])

        assert found.loc["all", "z"].tolist() == [1.0, -1.0, 0.0]
        # 1.5, 3.5 and 0: mean 5/3, SD sqrt((1/36 + 121/36 + 100/36) / 2).
        expected = np.array([-1 / 6, 11 / 6, -10 / 6]) / np.sqrt(222 / 72)
        assert found.loc["body", "z"].tolist() == pytest.approx(expected.tolist(), abs=1e-12)
        assert found.loc["body", "normal"].tolist() == pytest.approx(
            [0, 0.8694238, -0.8694238], abs=1e-6
        )

    def test_configurations_are_populations_of_their_own(self) -> None:
        few = items({"d": [90.0, 90.0, 90.0], "e": [99.0, 99.0, 99.0]}, "verbaliser")

        found = (
            scale_scores(pd.concat([items(SCORES), few]))
            .query("subscale == 'all'")
            .set_index("model")
        )

        assert found.loc[["a", "b", "c"], "z"].tolist() == [1.0, -1.0, 0.0]
        assert found.loc[["d", "e"], ["z", "normal"]].isna().all(axis=None)


def of_all(found: pd.DataFrame) -> pd.DataFrame:
    return found.query("subscale == 'all'").set_index("model")


class TestMembers:
    MORE = {**SCORES, "d": [90.0, 90.0, 90.0], "e": [-99.0, -99.0, -99.0]}  # noqa: RUF012

    def test_others_get_no_place_and_shift_nobody(self) -> None:
        alone = of_all(scale_scores(items(SCORES)))
        found = of_all(scale_scores(items(self.MORE), members=["a", "b", "c"]))

        assert found.loc[["a", "b", "c"], "z"].tolist() == [1.0, -1.0, 0.0]
        assert found.loc[["a", "b", "c"], "normal"].tolist() == alone["normal"].tolist()
        assert found.loc[["d", "e"], ["z", "normal"]].isna().all(axis=None)
        assert found["score"].to_dict() == {"a": 2.0, "b": 0.0, "c": 1.0, "d": 90.0, "e": -99.0}
        assert found["n"].tolist() == [3] * 5

    def test_subscales_too(self) -> None:
        alone = scale_scores(items(SCORES)).query("subscale == 'body'")
        found = scale_scores(items(self.MORE), members={"c", "b", "a"}).query("subscale == 'body'")
        assert found["z"].tolist()[:3] == pytest.approx(alone["z"].tolist(), abs=1e-15)
        assert found["z"].isna().tolist() == [False] * 3 + [True] * 2

    def test_all_are_by_default(self) -> None:
        found, everybody = (
            scale_scores(items(self.MORE)),
            scale_scores(items(self.MORE), list(self.MORE)),
        )
        pd.testing.assert_frame_equal(found, everybody)
        assert of_all(found)["z"].notna().all()

    @pytest.mark.parametrize("members", [[], ["a", "b"], ["nobody"]])
    def test_below_three_nobody_has_a_place(self, members) -> None:
        found = scale_scores(items(self.MORE), members)
        assert found[["z", "normal"]].isna().all(axis=None)
        assert found["score"].notna().all()

    def test_those_of_one_configuration_are_counted_apart(self) -> None:
        few = items({"d": [90.0] * 3, "e": [99.0] * 3, "f": [93.0] * 3}, "verbaliser")
        found = of_all(
            scale_scores(pd.concat([items(SCORES), few]), members=["a", "b", "c", "d", "e"])
        )
        assert found.loc[["a", "b", "c"], "z"].tolist() == [1.0, -1.0, 0.0]
        assert found.loc[["d", "e", "f"], "z"].isna().all()  # two of them count, that are too few
