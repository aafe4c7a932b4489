"""Headlines of questionnaires: one verdict over fits, and whether source terms are told from
inverse ones."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

from evenruler.instruments.instrument import Record
from evenruler.instruments.questionnaires.diagnose.headlines import (
    judge_headlines,
    placebo_contrast,
    polarity_permutation_p,
)
from evenruler.measurement.figures import Verdict, model_label
from evenruler.measurement.verdicts import ValidityCheck, judge
from tests.instruments.questionnaires.doors import PLAN, figure_table, labelled, subject

ITEMS = [f"item-{number}" for number in range(7)]
WORDS = ["never", "rarely", "often", "always"]
WEIGHTS = [-4.0, -2.0, 2.0, 4.0]


def cells(source: np.ndarray, inverse: np.ndarray) -> pd.DataFrame:
    """Cells of answers to terms, [items, terms] mean weights from -4 to 4: the mass is on the two
    ends alone."""
    tables = []
    for polarity, table in (("source", source), ("inverse", inverse)):
        for (item, term), mean in np.ndenumerate(table):
            always = (mean + 4) / 8
            shares = [1 - always, 0.0, 0.0, always]
            cell = pd.DataFrame({"intensifier": WORDS, "weight": WEIGHTS, "pss": shares})
            names = {"item": ITEMS[item], "term": f"{polarity}-{term}"}
            tables.append(cell.assign(polarity=polarity, **names))
    return pd.concat(tables).assign(method="head", level=0, p=0.5)


def scored(answers: np.ndarray) -> pd.DataFrame:
    """By `schemas.ITEM_SCORES`, of answers on the scale itself, [items, wordings]."""
    rows = []
    for (item, twin), answer in np.ndenumerate(answers):
        rows.append((ITEMS[item], twin, answer / len(WORDS)))
    table = pd.DataFrame(rows, columns=["item", "twin", "score"])
    return table.assign(keying=1, silhouette=0.5, method="head", questionnaire="fear")


def record(
    name: str,
    source: np.ndarray,
    inverse: np.ndarray,
    twins: np.ndarray,
    right: int = 20,
    recipe: dict[str, Any] | None = None,
) -> Record:
    """A model that answers the terms so, [items, terms], and twins so, [items, twins]."""
    who = subject(name, lineage="base", recipe=recipe)
    nothing = pd.DataFrame(columns=["model", "method", "corpus"])
    tables_of_record = {
        "cells": cells(source, inverse),
        "items": scored(source.mean(axis=1)[:, None]),
        "twins": scored(twins),
        "accuracy_of_any": accuracies_of(name, right),
        "course_of_any": nothing,
        "trajectories": nothing,
        "changes": nothing,
    }
    tables = {"prompts": pd.DataFrame({"intensifier": WORDS})}
    return Record("fear", who, tables, {**PLAN, "least": 6}, tables_of_record)


def accuracies_of(name: str, right: int) -> pd.DataFrame:
    from evenruler.instruments.questionnaires.diagnose.population import accuracy_table

    return accuracy_table(labelled("head", right).assign(model=name), 0.95)


def fit(name: str, seed: int, *tables: np.ndarray, right: int = 20) -> Record:
    return record(name, *tables, right=right, recipe={"seed": seed, "epochs": 3})


RANDOM = np.random.default_rng(3)
SOURCE = 2.0 + RANDOM.normal(scale=0.3, size=(7, 4))
INVERSE = -2.0 + RANDOM.normal(scale=0.3, size=(7, 4))
NONE = np.zeros((7, 3))


def verdicts(records: list[Record]) -> list[Any]:
    """The headlines alone."""
    return [row for row in judge_headlines(records, 0.95) if row["figure"] == "beyond_twins"]


class TestOneVerdict:
    def test_fits_of_opposite_signs_have_one_and_it_is_inconclusive(self) -> None:
        signs = {"nli-c": 1.0, "nli-b": -1.0, "nli-a": 0.8}
        fits = []
        for seed, (name, sign) in enumerate(signs.items()):
            fits.append(fit(name, seed, SOURCE * sign, INVERSE * sign, NONE))
        (row,) = verdicts(fits)
        assert (row["model"], row["n_fits"], row["method"]) == ("nli-a", "3", None)
        assert model_label(row) == "nli-a and 2 other fits"
        assert row["verdict"] == str(Verdict.INCONCLUSIVE)
        assert row["levels"] == "7 items, 3 twins, 3 fits"
        assert row["value"] == pytest.approx(SOURCE.mean() * 0.8 / 3)

    def test_of_one_twin_nothing_is_asserted_and_the_null_is_told(self) -> None:
        one_twin = np.zeros((7, 1))
        (row,) = verdicts([record("m0", SOURCE, INVERSE, one_twin)])
        assert (row["model"], row["verdict"]) == ("m0", str(Verdict.INCONCLUSIVE))
        assert row["why"] == "No verdict is possible: 1 twin per item (at least 3 needed)."
        assert row["p"] == 2 / 2**7

    def test_items_are_described_beside_the_verdict(self) -> None:
        rows = judge_headlines([record("m0", SOURCE, INVERSE, NONE + 0.25)], 0.95)
        described = figure_table(rows).set_index(["item", "figure"])
        assert described.loc["item-3", "item_response"]["control"] == 0.25
        assert described.loc["item-3", "item_silhouette"]["value"] == 0.5

    def test_models_of_another_recipe_stand_alone(self) -> None:
        answers = (SOURCE, INVERSE, NONE)
        unfitted = [
            record("m0", *answers),
            record("m1", *answers),
            record("m2", *answers, recipe={"seed": 1, "epochs": 9}),
        ]
        fits = [fit("nli-a", 0, *answers), fit("nli-b", 1, *answers)]
        headlines = verdicts([*unfitted, *fits])
        fits_by_model = {row["model"]: row["n_fits"] for row in headlines}
        assert fits_by_model == {"m0": None, "m1": None, "m2": None, "nli-a": "2"}

    def test_a_fit_that_misses_its_bar_is_left_out_and_where_all_do_they_are_invalid(self) -> None:
        answers = (SOURCE, INVERSE, NONE)
        fails = fit("b", 1, *answers, right=8)
        (row,) = verdicts([fit("a", 0, *answers), fails])
        assert row["levels"].endswith("1 fit")
        (row,) = verdicts([fit("a", 0, *answers, right=8), fails])
        assert row["verdict"] == str(Verdict.INVALID)

    def test_of_items_without_twins_there_is_no_value(self) -> None:
        no_twins = np.empty((0, 3))
        (row,) = verdicts([record("m0", SOURCE, INVERSE, no_twins)])
        assert (row["value"], row["reason"]) == (None, "no twins")
        assert row["verdict"] == str(Verdict.INCONCLUSIVE)

    def test_a_sixth_model_changes_nothing_of_five(self) -> None:
        sizes = (1.0, 0.1, 0.0, -0.1, 0.2)
        five = [
            record(f"m{number}", SOURCE * size, INVERSE * size, NONE)
            for number, size in enumerate(sizes)
        ]
        sixth = record("m5", SOURCE * 2, INVERSE * 2, NONE, right=8)
        alone, of_six = judge_headlines(five, 0.95), judge_headlines([sixth, *five], 0.95)
        assert [row for row in of_six if row["model"] != "m5"] == alone


def judged(answers: np.ndarray, twins: np.ndarray, p_null: float = 0.001) -> Any:
    """The figure of [fits, items] answers, and of means over three twins."""
    contrast = placebo_contrast(answers, twins, 3, p_null, 0.5, 6)
    (figure,) = judge([(contrast, ValidityCheck())])
    return figure


def noisy(mean: float, seed: int, fits: int = 3) -> np.ndarray:
    """[fits, items] answers about a mean."""
    random = np.random.default_rng(seed)
    of_items = random.normal(mean, 0.2, size=(1, 7))
    return of_items + random.normal(scale=0.05, size=(fits, 7))


class TestTellsApart:
    @pytest.mark.parametrize("whole", [False, True])
    def test_terms_that_are_swapped_at_random_within_items(self, whole: bool) -> None:
        """One by one, or all of an item together; what is left is no effect, whatever twins do."""
        random, p_values = np.random.default_rng(11), []
        for _ in range(20):
            both = np.concatenate([SOURCE, INVERSE], axis=1)
            mixed = random.permuted(both, axis=1)
            if whole:
                stays = random.random((len(both), 1)) < 0.5
                mixed = np.where(stays, both, np.roll(both, 4, axis=1))
            swapped = record("m0", mixed[:, :4], mixed[:, 4:], NONE)
            p_values.append(polarity_permutation_p([swapped], "head"))
        assert sum(p < 0.05 for p in p_values) <= 3
        for p in p_values:
            verdict = judged(noisy(1.0, 1), noisy(0.0, 2), p).verdict
            assert p < 0.05 or verdict == str(Verdict.INCONCLUSIVE)

    def test_keyed_items_are_turned(self) -> None:
        """All seven items point one way then: of 128 ways to turn them, two are as far."""
        source = np.concatenate([INVERSE[:3], SOURCE[3:]])
        inverse = np.concatenate([SOURCE[:3], INVERSE[3:]])
        keyed = record("m0", source, inverse, NONE)
        assert polarity_permutation_p([keyed], "head") > 0.05
        keyed.diagnosis["items"].loc[:2, "keying"] = -1  # type: ignore[index]
        assert polarity_permutation_p([keyed], "head") == 2 / 2**7

    def test_items_of_one_kind_of_terms_tell_nothing(self) -> None:
        unpaired = record("m0", SOURCE, np.empty((7, 0)), NONE)
        assert polarity_permutation_p([unpaired], "head") == 1
