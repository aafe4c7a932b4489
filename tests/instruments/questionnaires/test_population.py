"""How well a model says what follows, whether it counts, and its place among others."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm

from evenruler.instruments.instrument import ModelMeta, Record
from evenruler.instruments.questionnaires.ask.item_scores import of_facts
from evenruler.instruments.questionnaires.diagnose.population import (
    accuracy_table,
    check_accuracy_validity,
    judged_by,
    members_of,
    normal_scores,
    population_table,
    scale_scores,
    standardise_scores,
    validity_by_method,
)
from evenruler.measurement.verdicts import ValidityCheck
from tests.instruments.questionnaires.doors import PLAN, fact_answers, labelled, subject
from tests.text_tables import table_of_text


def accuracies_of(*frames: pd.DataFrame) -> pd.DataFrame:
    return accuracy_table(pd.concat(frames).assign(model="m0"), 0.95)


class TestAccuracies:
    def test_sets_and_forms_are_told_apart_beside_chance(self) -> None:
        rows = accuracies_of(
            labelled(right=340, n=501),
            labelled(right=3, n=6, name="statements"),
            labelled("verbaliser", 0, 6),
        )
        columns = ["method", "set", "n", "accuracy", "chance"]
        assert rows[columns].to_numpy().tolist() == [
            ["head", "mnli", 501, 340 / 501, 1 / 3],
            ["head", "statements", 6, 0.5, 1 / 3],
            ["verbaliser", "mnli", 6, 0.0, 1 / 3],
        ]

    def test_where_no_pair_is_neutral_it_is_no_answer(self) -> None:
        two = labelled(right=6, n=6).query("label != 'neutral'").assign(neutral=9.0)
        (row,) = accuracies_of(two).to_dict("records")
        assert (row["accuracy"], row["chance"], row["n"]) == (1.0, 0.5, 4)

    def test_auc_by_hand(self) -> None:
        pairs = labelled(n=6).assign(
            entailment=[1.0, 9.0, 0.0, 0.5, 9.0, 0.8], contradiction=0.0, neutral=0.0
        )
        # Entailment has 1 and .5, contradiction 0 and .8: of the four comparisons .5 against .8
        # alone is lost.
        (row,) = accuracies_of(pairs).to_dict("records")
        assert row["auc"] == 0.75

    def test_auc_is_none_without_contradiction(self) -> None:
        pairs = labelled(n=6).query("label != 'contradiction'")
        assert pd.isna(accuracies_of(pairs)["auc"]).all()


class TestFitness:
    def test_the_lower_end_decides(self) -> None:
        record = judged_by(
            accuracies_of(labelled(right=365, n=501), labelled(right=0, name="statements"))
        )["head"]
        assert record["accuracy"] == pytest.approx(0.7285, abs=1e-4)
        assert check_accuracy_validity(record, record["low"] - 1e-9) == ValidityCheck()
        assert check_accuracy_validity(record, record["low"]).failure is not None
        assert check_accuracy_validity(record, 0.7).failure == (
            "its accuracy on 501 labelled pairs is 0.73 [0.69, 0.77], interval not above 0.7 "
            "(chance 0.33)"
        )

    def test_of_whom_nothing_is_known(self) -> None:
        assert check_accuracy_validity(None, 0.7).failure == "no labelled pairs or facts were asked"


def record(
    who: ModelMeta,
    *answers: pd.DataFrame,
    threshold: float = 0.5,
    name: str = "fear",
    by_facts: pd.DataFrame | None = None,
) -> Record:
    answered = pd.concat(answers).assign(model=who.name)
    plan: dict[str, Any] = {**PLAN, "accuracy": {"threshold": threshold, "pairs": []}}
    facts = None if by_facts is None else of_facts(by_facts, PLAN).assign(model=who.name)
    return Record(name, who, {}, plan, {"accuracy_of_any": accuracy_table(answered, 0.95, facts)})


class TestFacts:
    """Known answers, by likelihoods."""

    @pytest.mark.parametrize(
        ("liked", "share"),
        [
            ("(term == 'right') == (word == 'always')", 1.0),
            ("word == 'always'", 0.0),
            ("term == 'right'", 0.0),
        ],
    )
    def test_only_who_knows_how_often_is_right(self, liked, share) -> None:
        """Terms and words that are liked by themselves are taken off by the normalisation: a tie is
        not right."""
        answers = fact_answers(n=30)
        answers["nats"] = answers.eval(liked).astype(float)
        right_facts = of_facts(answers, PLAN).assign(model="m0")
        nothing = labelled(n=0).assign(model="m0")
        (row,) = accuracy_table(nothing, 0.95, right_facts).to_dict("records")
        assert (row["set"], row["n"]) == ("facts", 30)
        assert (row["accuracy"], row["chance"]) == (share, 0.5)

    def test_by_hand(self) -> None:
        """Of a prior of e for "always" and one for the right term, and .1 nats for both
        together."""
        less = fact_answers(n=1).assign(nats=[0.0, 1.0, 0.5, 1.4])
        assert of_facts(less, PLAN)["right"].tolist() == [True]
        more = less.assign(nats=[0.0, 1.0, 0.5, 1.6])
        assert of_facts(more, PLAN)["right"].tolist() == [False]


class TestPopulation:
    def test_one_bar_for_heads_and_verbalisers(self) -> None:
        talker = subject("talker", methods=("verbaliser", "sentence"))
        rows = population_table(
            [
                record(subject("good"), labelled(right=20)),
                record(subject("chance"), labelled(right=7)),
                record(talker, labelled("verbaliser", right=7), by_facts=fact_answers(right=18)),
                record(subject("silent"), labelled(n=0)),
            ]
        )
        by_model = rows.set_index(["model", "method"])
        members = by_model.index[by_model["member"]]
        assert {*members} == {("good", "head"), ("talker", "sentence")}
        assert len(by_model) == 5
        standing = by_model["standing"]
        assert standing["talker", "verbaliser"].startswith("accuracy interval is not above the")
        assert standing["silent", "head"].startswith("no labelled pairs or facts were asked")
        assert members_of(rows) == ["good", "talker (sentence)"]

    def test_the_highest_bar_of_several_questionnaires_counts(self) -> None:
        who = subject("a")
        rows = population_table(
            [
                record(who, labelled(right=18), threshold=0.6),
                record(who, labelled(right=18), threshold=0.9, name="b"),
            ]
        )
        (row,) = rows.to_dict("records")
        assert (row["threshold"], row["member"], row["accuracy"]) == (0.9, False, 0.9)


class TestStandardised:
    def test_by_hand(self) -> None:
        # Mean 4, SD sqrt((9 + 1 + 16) / 2) = sqrt(13).
        standardised = standardise_scores(np.array([1.0, 3.0, 8.0]))
        sd = 13**0.5
        assert standardised == pytest.approx([-3 / sd, -1 / sd, 4 / sd], abs=1e-15)

    @pytest.mark.parametrize("scores", [[1.0, 2.0], [0.1, 0.1, 0.1]])
    def test_nan_below_three_or_where_all_are_equal(self, scores) -> None:
        """The mean of three times .1 is rounded."""
        standardised = standardise_scores(np.array(scores))
        assert np.isnan(standardised).tolist() == [True] * len(scores)


class TestNormalScores:
    def test_ties_share_a_rank(self) -> None:
        # Ranks 1.5, 4, 1.5, 3: (1.5 - .375) / 4.25 and so on.
        expected = norm.ppf(np.array([1.125, 3.625, 1.125, 2.625]) / 4.25)
        scores = normal_scores(np.array([1.0, 7.0, 1.0, 2.0]))
        assert scores == pytest.approx(expected, abs=1e-15)


def test_answers_that_no_term_changes_measure_nothing() -> None:
    """However well the model tells labelled pairs apart."""
    cells = table_of_text("""\
item|term|intensifier|pss
one|calm|a|0.0
one|calm|b|0.25
one|calm|c|0.5
one|tense|a|0.0
one|tense|b|0.25
one|tense|c|0.5
""").assign(method="head")
    varied = cells.assign(pss=[*cells["pss"][:3], 0.1, 0.1, 0.1])
    unfit = []
    for answered in (cells, varied):
        of_model = {"accuracy_of_any": accuracies_of(labelled()), "cells": answered}
        unfit.append(validity_by_method(of_model, ["head"], 0.5)["head"].failure)
    assert unfit == ["all 2 terms of 1 items have the same score", None]


def items(scores: dict[str, list[float]], method: str = "head") -> pd.DataFrame:
    """Item scores of a questionnaire of three items, of which the first two are a subscale."""
    wide = pd.DataFrame(scores, index=["item-0", "item-1", "item-2"]).rename_axis("item")
    rows = wide.reset_index().melt("item", var_name="model", value_name="score")
    return rows.assign(
        lineage=rows["model"],
        subscale=rows["item"].map({"item-0": "body", "item-1": "body"}),
        questionnaire="fear",
        kind="nli",
        method=method,
        framing="bare",
    )


SCORES = {"a": [1.0, 2.0, 3.0], "b": [3.0, 4.0, -7.0], "c": [0.0, 0.0, 3.0]}


class TestScaleScores:
    def test_means_of_scale_and_subscale(self) -> None:
        scales = scale_scores(items(SCORES)).set_index("model")
        wide = scales.pivot(columns="subscale", values="score")
        assert wide.to_dict("index") == {
            "a": {"all": 2.0, "body": 1.5},
            "b": {"all": 0.0, "body": 3.5},
            "c": {"all": 1.0, "body": 0.0},
        }
        n_items = scales.groupby("subscale")["n"].unique()
        assert n_items.to_dict() == {"all": [3], "body": [2]}


def of_all(scales: pd.DataFrame) -> pd.DataFrame:
    return scales.query("subscale == 'all'").set_index("model")


class TestMembers:
    MORE = {**SCORES, "d": [90.0, 90.0, 90.0], "e": [-99.0, -99.0, -99.0]}  # noqa: RUF012

    def test_others_get_no_place_and_shift_nobody(self) -> None:
        alone = of_all(scale_scores(items(SCORES)))
        scales = of_all(scale_scores(items(self.MORE), members=["a", "b", "c"]))

        counted = scales.loc[["a", "b", "c"]]
        assert counted["z"].tolist() == [1.0, -1.0, 0.0]
        assert counted["normal"].tolist() == alone["normal"].tolist()
        assert scales.loc[["d", "e"], ["z", "normal"]].isna().all(axis=None)
