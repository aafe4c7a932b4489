"""How well a model says what follows, and whether it counts."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import roc_auc_score
from statsmodels.stats.proportion import proportion_confint

from evenruler.instruments.instrument import Record, Subject
from evenruler.instruments.questionnaires.declare.headings import headings
from evenruler.instruments.questionnaires.diagnose.population import (
    accuracies,
    accuracy_figures,
    fitness,
    judged_by,
    members_of,
    population,
)
from evenruler.measurement import Figure
from evenruler.measurement.verdicts import Fitness, marked
from tests.instruments.questionnaires.doors import PLAN, labelled, subject


def found(*frames: pd.DataFrame) -> pd.DataFrame:
    return accuracies(pd.concat(frames).assign(model="m0"), 0.95)


class TestAccuracies:
    def test_wilson_is_that_of_another_library(self) -> None:
        (row,) = found(labelled(right=340, n=501)).to_dict("records")
        assert (row["n"], row["accuracy"], row["chance"]) == (501, 340 / 501, 1 / 3)
        assert (row["low"], row["high"]) == pytest.approx(proportion_confint(340, 501, method="wilson"), abs=1e-12)

    def test_sets_and_forms_are_told_apart(self) -> None:
        rows = found(labelled(right=6, n=6), labelled(right=3, n=6, name="statements"), labelled("verbaliser", 0, 6))
        told = rows.set_index(["configuration", "set"])["accuracy"].to_dict()
        assert told == {("head", "mnli"): 1.0, ("head", "statements"): 0.5, ("verbaliser", "mnli"): 0.0}

    def test_where_no_pair_is_neutral_it_is_no_answer(self) -> None:
        two = labelled(right=6, n=6).query("label != 'neutral'").assign(neutral=9.0)
        (row,) = found(two).to_dict("records")
        assert (row["accuracy"], row["chance"], row["n"]) == (1.0, 0.5, 4)

    def test_auc_by_hand(self) -> None:
        pairs = labelled(n=6).assign(entailment=[1.0, 9.0, 0.0, 0.5, 9.0, 0.8], contradiction=0.0, neutral=0.0)
        # Entailment has 1 and .5, contradiction 0 and .8: of the four comparisons .5 against .8 alone is lost.
        (row,) = found(pairs).to_dict("records")
        assert row["auc"] == 0.75

    def test_auc_of_chance_is_a_half(self) -> None:
        rng = np.random.default_rng(0)
        pairs = labelled(n=3000)
        pairs[["entailment", "neutral", "contradiction"]] = rng.normal(size=(3000, 3))
        (row,) = found(pairs).to_dict("records")
        assert (row["auc"], row["accuracy"]) == (pytest.approx(0.5, abs=0.03), pytest.approx(1 / 3, abs=0.03))
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
        record = judged_by(found(labelled(right=365, n=501), labelled(right=0, name="statements")))["head"]
        assert record["accuracy"] == pytest.approx(0.7285, abs=1e-4)
        assert (fitness(record, record["low"] - 1e-9), fitness(record, record["low"]).doubt) == (Fitness(), None)
        assert fitness(record, record["low"]).unfit is not None
        assert fitness(record, 0.7).unfit == (
            "its accuracy on 501 labelled pairs is 0.73 [0.69, 0.77], not surely above 0.7; guessing gives 0.33"
        )

    def test_of_whom_nothing_is_known(self) -> None:
        assert fitness(None, 0.7).unfit == "no labelled pairs were asked"


def test_figures_stand_beside_guessing() -> None:
    rows = found(labelled(right=15), labelled(right=4, n=6, name="statements"), labelled("verbaliser", 0))
    told = {figure.figure: figure for figure in accuracy_figures(rows, "head")}
    assert list(told) == ["accuracy", "auc", "accuracy_of_statements", "auc_of_statements"]
    assert (told["accuracy"].value, told["accuracy"].control, told["accuracy"].n) == (0.75, 1 / 3, 20)
    assert {figure.unit for figure in told.values()} == {"pairs"}
    assert (told["auc"].control, told["accuracy_of_statements"].value) == (0.5, 4 / 6)
    shown = {column.figure for column in headings({**PLAN, "accuracy": {"bar": 0.7, "pairs": [{"set": "mnli"}]}})}
    assert set(told) <= shown


def test_a_figure_of_an_unfit_instrument_says_so() -> None:
    figure = Figure("answer", 0.4, 7, "items", 0.1, 0.7)
    assert marked(figure, Fitness()) == figure
    told = marked(figure, Fitness(unfit="it guesses"))
    assert (told.verdict, told.value) == ("instrument unfit", 0.4)
    assert told.why == "On this model the instrument fails a bar of its own: it guesses."


def record(who: Subject, *answers: pd.DataFrame, bar: float = 0.5, name: str = "fear") -> Record:
    asked = pd.concat(answers).assign(model=who.name)
    plan: dict[str, Any] = {**PLAN, "accuracy": {"bar": bar, "pairs": []}}
    return Record(name, who, {}, plan, {"accuracy_of_any": accuracies(asked, 0.95)})


class TestPopulation:
    def test_one_bar_for_heads_and_verbalisers(self) -> None:
        talker = subject("talker", lineage="llamas", forms=("verbaliser", "clm"))
        rows = population(
            [
                record(subject("good"), labelled(right=20)),
                record(subject("chance"), labelled(right=7)),
                record(talker, labelled("verbaliser", right=7)),
                record(subject("silent"), labelled(n=0)),
            ]
        )
        told = rows.set_index(["model", "configuration"])
        assert told["member"].to_dict() == {
            ("chance", "head"): False,
            ("good", "head"): True,
            ("silent", "head"): False,
            ("talker", "verbaliser"): False,
            ("talker", "clm"): False,
        }
        assert told.loc[("talker", "verbaliser"), "standing"] == "accuracy is not surely above its bar, does not count"
        assert told.loc[("silent", "head"), "standing"] == "no labelled pairs were asked, does not count"
        assert told.loc[("talker", "clm"), ["accuracy", "bar"]].isna().all()
        assert told.loc[("talker", "verbaliser"), ["accuracy", "n", "bar"]].tolist() == [0.35, 20, 0.5]
        assert told.loc[("talker", "clm"), "lineage"] == "llamas"
        assert members_of(rows) == ["good"]

    def test_the_highest_bar_of_several_questionnaires_counts(self) -> None:
        who = subject("a")
        rows = population(
            [record(who, labelled(right=18), bar=0.6), record(who, labelled(right=18), bar=0.9, name="b")]
        )
        (row,) = rows.to_dict("records")
        assert (row["bar"], row["member"], row["accuracy"]) == (0.9, False, 0.9)
