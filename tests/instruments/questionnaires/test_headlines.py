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
    recipe_label,
)
from evenruler.measurement.figures import Verdict
from evenruler.measurement.verdicts import ValidityCheck, judge
from tests.instruments.questionnaires.doors import PLAN, labelled, subject

ITEMS = [f"item-{i}" for i in range(7)]
WORDS = ["never", "rarely", "often", "always"]
WEIGHTS = [-4.0, -2.0, 2.0, 4.0]


def cells(source: np.ndarray, inverse: np.ndarray) -> pd.DataFrame:
    """Cells of answers to terms, [items, terms] mean weights from -4 to 4: the mass is on the two
    ends alone."""
    rows = []
    for polarity, table in (("source", source), ("inverse", inverse)):
        for item, own in zip(ITEMS, table, strict=False):
            for term, mean in enumerate(own):
                always = (mean + 4) / 8
                rows += [
                    {
                        "item": item,
                        "polarity": polarity,
                        "term": f"{polarity}-{term}",
                        "intensifier": word,
                    }
                    | {"weight": weight, "pss": pss}
                    for word, weight, pss in zip(
                        WORDS, WEIGHTS, (1 - always, 0.0, 0.0, always), strict=True
                    )
                ]
    return pd.DataFrame(rows).assign(configuration="head", level=0, p=0.5)


def scored(answers: np.ndarray) -> pd.DataFrame:
    """By `schemas.ITEM_SCORES`, of answers on the scale itself, [items, wordings]."""
    rows = [
        {"item": item, "twin": twin, "keying": 1, "score": answer / len(WORDS), "silhouette": 0.5}
        for item, own in zip(ITEMS, answers, strict=False)
        for twin, answer in enumerate(own)
    ]
    columns = ["item", "twin", "keying", "score", "silhouette"]
    return pd.DataFrame(rows, columns=columns).assign(configuration="head", questionnaire="fear")


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
    nothing = pd.DataFrame(columns=["model", "configuration", "corpus"])
    found = {
        "cells": cells(source, inverse),
        "items": scored(source.mean(axis=1)[:, None]),
        "twins": scored(twins),
        "accuracy_of_any": accuracies_of(name, right),
        "course_of_any": nothing,
        "trajectories": nothing,
        "changes": nothing,
    }
    tables = {"prompts": pd.DataFrame({"intensifier": WORDS})}
    return Record("fear", who, tables, {**PLAN, "least": 6}, found)


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
    found = judge_headlines(records, 0.95)
    return [*found[found["figure"] == "beyond_twins"].to_dict("records")]


class TestOneVerdict:
    def test_fits_of_opposite_signs_have_one_and_it_is_inconclusive(self) -> None:
        signs = (1.0, -1.0, 0.8)
        fits = [
            fit(f"nli-{'abc'[i]}", i, SOURCE * sign, INVERSE * sign, NONE)
            for i, sign in enumerate(signs)
        ]
        (row,) = verdicts(fits)
        assert (row["model"], row["figure"], row["part"]) == (
            "nli-a and 2 other fits",
            "beyond_twins",
            "all",
        )
        assert (row["verdict"], row["levels"]) == (
            str(Verdict.INCONCLUSIVE),
            "7 items, 3 twins, 3 fits",
        )
        assert row["value"] == pytest.approx(SOURCE.mean() * sum(signs) / 3)

    def test_of_one_twin_nothing_is_asserted_and_the_null_is_told(self) -> None:
        (row,) = verdicts([record("m0", SOURCE, INVERSE, NONE[:, :1])])
        assert (row["model"], row["verdict"]) == ("m0", str(Verdict.INCONCLUSIVE))
        assert row["why"] == "No verdict is possible: 1 twin per item (at least 3 needed)."
        assert row["p"] == 2 / 2**7

    def test_items_are_described_beside_the_verdict(self) -> None:
        found = judge_headlines([record("m0", SOURCE, INVERSE, NONE + 0.25)], 0.95).set_index(
            ["part", "figure"]
        )
        row = found.loc["item-3", "item_answer"]
        assert (row["value"], row["control"]) == (pytest.approx(SOURCE[3].mean()), 0.25)
        assert found.loc["item-3", "item_silhouette"]["value"] == 0.5
        without = np.delete(SOURCE.mean(axis=1), 3).mean() - 0.25
        assert found.loc["item-3", "without_item"]["value"] == pytest.approx(without)

    def test_models_of_another_recipe_stand_alone(self) -> None:
        own = (SOURCE, INVERSE, NONE)
        others = [
            record("m0", *own),
            record("m1", *own),
            record("m2", *own, recipe={"seed": 1, "epochs": 9}),
        ]
        found = verdicts([*others, fit("nli-a", 0, *own), fit("nli-b", 1, *own)])
        assert [row["model"] for row in found] == ["m0", "m1", "m2", "nli-a and 1 other fit"]

    def test_a_fit_that_misses_its_bar_is_left_out_and_where_all_do_they_are_invalid(self) -> None:
        own = (SOURCE, INVERSE, NONE)
        (row,) = verdicts([fit("a", 0, *own), fit("b", 1, *own, right=8)])
        assert row["levels"].endswith("1 fit")
        (row,) = verdicts([fit("a", 0, *own, right=8), fit("b", 1, *own, right=8)])
        assert row["verdict"] == str(Verdict.INVALID)

    def test_of_items_without_twins_there_is_no_value(self) -> None:
        (row,) = verdicts([record("m0", SOURCE, INVERSE, np.empty((0, 3)))])
        assert (row["value"], row["reason"]) == (None, "no twins")
        assert row["verdict"] == str(Verdict.INCONCLUSIVE)

    def test_records_that_stand_there_twice_change_nothing(self) -> None:
        once = judge_headlines([record("m0", SOURCE, INVERSE, NONE)], 0.95)
        twice = judge_headlines([record("m0", SOURCE, INVERSE, NONE)] * 2, 0.95)
        pd.testing.assert_frame_equal(once, twice)

    def test_a_sixth_model_changes_nothing_of_five(self) -> None:
        sizes = (1.0, 0.1, 0.0, -0.1, 0.2)
        five = [
            record(f"m{i}", SOURCE * size, INVERSE * size, NONE) for i, size in enumerate(sizes)
        ]
        sixth = record("m5", SOURCE * 2, INVERSE * 2, NONE, right=8)
        alone, beside = judge_headlines(five, 0.95), judge_headlines([sixth, *five], 0.95)
        own = beside[beside["model"] != "m5"].reset_index(drop=True)
        pd.testing.assert_frame_equal(own.astype(alone.dtypes), alone)

    def test_names(self) -> None:
        assert recipe_label(["b", "a"]) == "a and 1 other fit"
        assert recipe_label(["a"]) == "a"


def judged(answers: np.ndarray, twins: np.ndarray, p_null: float = 0.001) -> Any:
    """The figure of [fits, items] answers, and of means over three twins."""
    (figure,) = judge([(placebo_contrast(answers, twins, 3, p_null, 0.5, 6), ValidityCheck())])
    return figure


def noisy(mean: float, seed: int, fits: int = 3) -> np.ndarray:
    """[fits, items] answers about a mean."""
    random = np.random.default_rng(seed)
    return mean + random.normal(scale=0.2, size=(1, 7)) + random.normal(scale=0.05, size=(fits, 7))


class TestThreeTwins:
    def test_a_planted_point_is_an_effect(self) -> None:
        figure = judged(noisy(1.0, 1), noisy(0.0, 2))
        assert (figure.verdict, figure.levels) == (str(Verdict.EFFECT), "7 items, 3 twins, 3 fits")
        assert figure.value == figure.specific == pytest.approx(1.0, abs=0.2)
        assert figure.specific_low > 0

    def test_twins_that_answer_as_much_are_none(self) -> None:
        figure = judged(noisy(1.0, 1), noisy(1.0, 2))
        assert figure.verdict in (str(Verdict.NO_EFFECT), str(Verdict.NOT_SPECIFIC))

    def test_twins_that_answer_most_of_it_make_it_not_specific(self) -> None:
        assert judged(noisy(3.0, 1), noisy(2.2, 2)).verdict == str(Verdict.NOT_SPECIFIC)

    def test_it_is_no_effect_where_terms_are_not_told_apart(self) -> None:
        assert judged(noisy(1.0, 1), noisy(0.0, 2), p_null=0.4).verdict == str(Verdict.INCONCLUSIVE)


class TestTellsApart:
    def test_terms_that_are_answered_apart(self) -> None:
        """All seven items point one way: of 128 ways to turn them, two are as far."""
        assert polarity_permutation_p([record("m0", SOURCE, INVERSE, NONE)], "head") == 2 / 2**7

    @pytest.mark.parametrize("whole", [False, True])
    def test_terms_that_are_swapped_at_random_within_items(self, whole: bool) -> None:
        """One by one, or all of an item together; what is left is no effect, whatever twins do."""
        random, found = np.random.default_rng(11), []
        for _ in range(20):
            both = np.concatenate([SOURCE, INVERSE], axis=1)
            mixed = random.permuted(both, axis=1)
            if whole:
                mixed = np.where(
                    random.random((len(both), 1)) < 0.5, both, np.roll(both, 4, axis=1)
                )
            found.append(
                polarity_permutation_p([record("m0", mixed[:, :4], mixed[:, 4:], NONE)], "head")
            )
        assert sum(p < 0.05 for p in found) <= 3
        verdicts = {judged(noisy(1.0, 1), noisy(0.0, 2), p).verdict for p in found if p >= 0.05}
        assert verdicts == {str(Verdict.INCONCLUSIVE)}

    def test_keyed_items_are_turned(self) -> None:
        source, inverse = SOURCE.copy(), INVERSE.copy()
        source[:3], inverse[:3] = INVERSE[:3], SOURCE[:3]
        own = record("m0", source, inverse, NONE)
        assert polarity_permutation_p([own], "head") > 0.05
        own.found["items"].loc[:2, "keying"] = -1  # type: ignore[index]
        assert polarity_permutation_p([own], "head") == 2 / 2**7

    def test_items_of_one_kind_of_terms_tell_nothing(self) -> None:
        own = record("m0", SOURCE, np.empty((7, 0)), NONE)
        assert polarity_permutation_p([own], "head") == 1
