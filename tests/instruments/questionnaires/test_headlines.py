"""Headlines of questionnaires: I less others over fits, its rank as a null, and its control."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

from evenruler.instruments.instrument import Record
from evenruler.instruments.questionnaires.diagnose.headlines import (
    compare_with_others,
    contrast,
    find_items_apart,
    influential_items_note,
    judge_headlines,
)
from evenruler.instruments.questionnaires.diagnose.population import accuracy_table
from evenruler.measurement.figures import Verdict, model_label
from evenruler.measurement.randomisation import randomise_within_items
from evenruler.measurement.verdicts import HeadlineTest
from tests.instruments.questionnaires.doors import PLAN, labelled, subject

ITEMS = [f"item-{number}" for number in range(7)]
WORDS = ["never", "rarely", "often", "always"]
WORDINGS = ["plain", "premise", "hypothesis"]


def scored(answers: np.ndarray) -> pd.DataFrame:
    """By `schemas.ITEM_SCORES`, of answers on the scale itself, [items, wordings]."""
    rows = []
    for (item, twin), answer in np.ndenumerate(answers):
        rows.append((ITEMS[item], twin, answer / len(WORDS)))
    table = pd.DataFrame(rows, columns=["item", "twin", "score"])
    return table.assign(keying=1, silhouette=0.5, method="head", questionnaire="fear")


def sentences(
    about_i: np.ndarray, about_others: np.ndarray, control: float, keying: int = 1
) -> pd.DataFrame:
    """By `schemas.SUBJECT_SCORES`: about I [items, wordings], others [items, subjects], and two
    wordings of the control, which moves answers by so much."""
    rows: list[Any] = []
    noise = np.random.default_rng(8).normal(scale=0.1, size=(len(about_i), 4))
    for item, of_item in enumerate(about_i):
        for wording, answer in zip(WORDINGS, of_item, strict=True):
            rows.append((item, "I", wording, None, answer))
        for place, answer in enumerate(about_others[item]):
            wording = WORDINGS[place % 3]
            rows.append((item, f"the s{place}", wording, None, answer))
        for place, says in enumerate(("all the time", "all the time", "never", "never")):
            moved = control / 2 if says == "all the time" else -control / 2
            answer = (moved + noise[item, place]) * keying
            rows.append((item, "I", WORDINGS[place % 2], says, answer))
    table = pd.DataFrame(rows, columns=["item", "subject", "wording", "control", "score"])
    table = table.assign(
        score=table["score"] / len(WORDS), item=table["item"].map(ITEMS.__getitem__)
    )
    form = table["subject"].where(table["subject"] == "I", "noun")
    return table.assign(
        form=form, sentence=table.groupby("item").cumcount() + 1, keying=keying, method="head"
    )


NOTHING = pd.DataFrame(columns=["model", "method", "corpus"])
NO_ANSWERS = np.empty((0, 3))
NO_SENTENCES = sentences(NO_ANSWERS, NO_ANSWERS, 0.0)


def record(
    name: str,
    about: pd.DataFrame = NO_SENTENCES,
    right: int = 20,
    recipe: dict[str, Any] | None = None,
    twins: float = 0.25,
    **plan: Any,
) -> Record:
    """A model with such scores of sentences about I and others."""
    who = subject(name, lineage="base", recipe=recipe)
    accuracy = accuracy_table(labelled("head", right).assign(model=name), 0.95)
    cells = pd.DataFrame(
        {
            "method": "head",
            "item": ["a", "a"],
            "term": "t",
            "intensifier": WORDS[:2],
            "pss": [0.2, 0.8],
        }
    )
    without_rows = dict.fromkeys(("course_of_any", "trajectories", "changes"), NOTHING)
    scores = scored(np.full((7, 1), 2.0))
    tables_of_record = {
        "cells": cells,
        "items": scores,
        "twins": scored(np.full((7, 3), twins)),
        "subjects": about,
        "accuracy_of_any": accuracy,
    }
    items = pd.DataFrame({"item": ITEMS})
    prompts = pd.DataFrame({"intensifier": WORDS}).merge(items, how="cross")
    plan_of_record = {**PLAN, "least": 6, **plan}
    tables = tables_of_record | without_rows
    return Record("fear", who, {"prompts": prompts}, plan_of_record, tables)


def fit(name: str, seed: int, about: pd.DataFrame, right: int = 20) -> Record:
    return record(name, about, right=right, recipe={"seed": seed, "epochs": 3})


def drawn(seed: int = 1, subjects: int = 20, more: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
    """[items, wordings] answers about I, and [items, subjects] about others, who differ a little as
    persons; I is answered for by so much more."""
    random = np.random.default_rng(seed)
    items = random.normal(2.0, 0.6, (7, 1))
    persons = random.normal(0.0, 0.1, subjects + 1)
    rest = random.normal(0.0, 0.1, (7, subjects + 3))
    about_i = items + persons[0] + rest[:, :3] + more
    return about_i, items + persons[1:] + rest[:, 3:]


def verdicts(records: list[Record]) -> list[Any]:
    """The headlines alone."""
    return [row for row in judge_headlines(records, 0.95) if row["figure"] == "i_less_others"]


class TestOneVerdict:
    def test_a_point_more_about_i_is_detected(self) -> None:
        about_i, about_others = drawn(more=1.0)
        (row,) = verdicts([record("m0", sentences(about_i, about_others, 4.0))])
        assert row["verdict"] == str(Verdict.DETECTED), row["why"]
        assert row["value"] == pytest.approx(about_i.mean() - about_others.mean())
        assert row["p"] == pytest.approx(1 / 21)
        assert row["null"].startswith("rank of I among 20 subjects")
        assert row["facets"] == "7 items (fixed), 3 wordings, 20 subjects, 1 fit (fixed)"
        assert (row["alternatives"], row["percentile"]) == (20, 100)
        assert row["positive_value"] == pytest.approx(4.0, abs=0.1)

    def test_nothing_more_is_below_half_a_point(self) -> None:
        (row,) = verdicts([record("m0", sentences(*drawn(2), 4.0))])
        assert row["verdict"] == str(Verdict.BELOW), row["why"]

    def test_of_six_subjects_nothing_is_detected_and_the_reason_is_told(self) -> None:
        about = sentences(*drawn(subjects=6, more=1.0), 4.0)
        (row,) = verdicts([record("m0", about)])
        assert row["verdict"] == str(Verdict.INCONCLUSIVE)
        assert (
            "Nothing can be detected: of 6 subjects the furthest has no p of .05; 19" in row["why"]
        )
        assert row["p"] is None

    @pytest.mark.parametrize(
        ("moves", "verdict"), [(0.0, Verdict.INVALID), (0.3, Verdict.INCONCLUSIVE)]
    )
    def test_a_control_that_does_not_move_the_answer_bars_below(self, moves, verdict) -> None:
        (row,) = verdicts([record("m0", sentences(*drawn(2), moves))])
        assert row["verdict"] == str(verdict), row["why"]

    def test_of_a_keyed_item_the_control_says_what_the_terms_say(self) -> None:
        about = sentences(*drawn(2), 4.0, keying=-1)
        (row,) = verdicts([record("m0", about)])
        assert row["positive_value"] == pytest.approx(4.0, abs=0.1)

    def test_fits_are_one_figure_of_their_mean(self) -> None:
        about_i, about_others = drawn(3)
        fits = []
        for seed, more in enumerate((1.0, -1.0, 0.3)):
            about = sentences(about_i + more, about_others, 4.0)
            fits.append(fit(f"nli-{seed}", seed, about))
        (row,) = verdicts(fits)
        assert (row["model"], row["n_fits"], row["method"]) == ("nli-0", "3", None)
        assert model_label(row) == "nli-0 and 2 other fits"
        difference = about_i.mean() - about_others.mean()
        assert row["value"] == pytest.approx(difference + 0.1)
        assert row["facets"].endswith("3 fits (fixed)")

    def test_models_of_another_recipe_stand_alone(self) -> None:
        about = sentences(*drawn(), 4.0)
        unfitted = [
            record("m0", about),
            record("m1", about),
            record("m2", about, recipe={"seed": 1, "epochs": 9}),
        ]
        fits = [fit("nli-a", 0, about), fit("nli-b", 1, about)]
        headlines = verdicts([*unfitted, *fits])
        fits_by_model = {row["model"]: row["n_fits"] for row in headlines}
        assert fits_by_model == {"m0": None, "m1": None, "m2": None, "nli-a": "2"}

    def test_a_fit_that_misses_its_bar_is_left_out_and_where_all_do_they_are_invalid(self) -> None:
        about = sentences(*drawn(), 4.0)
        fails = fit("b", 1, about, right=8)
        (row,) = verdicts([fit("a", 0, about), fails])
        assert row["facets"].endswith("1 fit (fixed)")
        (row,) = verdicts([fit("a", 0, about, right=8), fails])
        assert row["verdict"] == str(Verdict.INVALID)

    @pytest.mark.parametrize(
        ("refused", "reason"),
        [
            ({}, "it was not asked about other subjects than I"),
            (dict.fromkeys(ITEMS[:3], "why"), "4 of 7 items are about I (at least 6 needed)"),
        ],
    )
    def test_what_was_not_asked_is_described_with_the_reason(self, refused, reason) -> None:
        (row,) = verdicts([record("m0", refused=refused)])
        assert (row["value"], row["verdict"]) == (None, str(Verdict.DESCRIPTIVE))
        assert row["facets"] == "0 items, 0 wordings, 0 subjects, 1 fit"
        assert reason in row["why"]

    def test_a_sixth_model_changes_nothing_of_five(self) -> None:
        five = []
        for number, more in enumerate((1.0, 0.1, 0.0, -0.1, 0.2)):
            about = sentences(*drawn(number, more=more), 4.0)
            five.append(record(f"m{number}", about))
        sixth = record("m5", sentences(*drawn(9, more=2.0), 4.0), right=8)
        alone, of_six = judge_headlines(five, 0.95), judge_headlines([sixth, *five], 0.95)
        assert [row for row in of_six if row["model"] != "m5"] == alone


def compared(about_i: np.ndarray, about_others: np.ndarray, least: int = 6) -> HeadlineTest:
    return compare_with_others(about_i, about_others, fits=1, bound=0.5, least=least)


class TestCompareWithOthers:
    def test_wordings_and_subjects_are_random(self) -> None:
        """The variance is that of the means of columns, since items are the scale."""
        about_i, about_others = drawn(5)
        effect = compared(about_i, about_others).effect
        assert effect is not None
        of_wordings = about_i.mean(axis=0).var(ddof=1) / 3
        of_subjects = about_others.mean(axis=0).var(ddof=1) / 20
        variance = of_wordings + of_subjects
        from scipy import stats

        of_parts = of_wordings**2 / 2 + of_subjects**2 / 19
        df = variance**2 / of_parts
        half = stats.t.ppf(0.975, max(df, 2)) * variance**0.5
        assert effect.high - effect.value == pytest.approx(half)

    def test_answers_that_do_not_vary_detect_nothing(self) -> None:
        about_i = np.full((7, 3), 2.0)
        about_others = np.full((7, 20), 2.0)
        figure = compared(about_i, about_others)
        assert figure.p == 1.0
        assert not figure.is_detected

    def test_fewer_items_than_declared_are_described(self) -> None:
        about_i, about_others = drawn(6, more=2.0)
        figure = compared(about_i[:5], about_others[:5])
        assert figure.no_verdict == "5 items (at least 6 needed)"

    def test_false_alarms_are_few_where_i_is_a_person_among_persons(self) -> None:
        """A guard of 200 draws; the labels within items, which take persons for nothing, alarm in
        a fifth or more."""
        alarms = within_items = 0
        for seed in range(200):
            about_i, about_others = drawn(seed)
            alarms += compared(about_i, about_others).is_detected
            if seed < 60:
                _, test = randomise_within_items(about_i, about_others[:, :6], n=199)
                within_items += test.p < 0.05
        assert alarms / 200 <= 0.09
        assert within_items / 60 > 0.2


class TestItems:
    def test_a_point_in_one_item_is_named_alone(self) -> None:
        about_i, about_others = drawn(7)
        about_i[2] += 1.0
        assert find_items_apart(about_i, about_others) == [2]
        note = influential_items_note(compared(about_i, about_others), ITEMS, about_i, about_others)
        assert note is not None
        assert note.startswith("I is further from the others than any of them in item-2.")

    def test_nobody_is_named_below_nineteen_subjects(self) -> None:
        about_i, about_others = drawn(7, subjects=18)
        about_i[2] += 5.0
        assert find_items_apart(about_i, about_others) == []

    def test_an_item_that_carries_more_than_a_third_is_named(self) -> None:
        about_others = np.random.default_rng(1).normal(scale=0.01, size=(7, 6))
        by_item = np.array([0.5, 0.6, 3.0, 0.7, 0.6, 0.5, 0.6])
        about_i = by_item[:, None] + np.zeros((7, 3))
        note = influential_items_note(compared(about_i, about_others), ITEMS, about_i, about_others)
        assert note == "More than a third of it comes from item-2 (46%)."


def rows_of(about_i: np.ndarray, about_others: np.ndarray) -> pd.DataFrame:
    """The rows behind a headline, as `schemas.HEADLINES`."""
    rows: list[Any] = []
    for pole, table, names in ((1, about_i, "wording"), (0, about_others, "subject")):
        for (item, place), answer in np.ndenumerate(table):
            rows.append((ITEMS[item], f"{names}-{place}", pole, answer))
    return pd.DataFrame(rows, columns=["unit", "at", "pole", "value"])


class TestContrast:
    def test_two_models_differ_by_the_difference_of_their_differences(self) -> None:
        about_i, about_others = drawn(1)
        more = about_i + 1.0
        figure = contrast(rows_of(more, about_others), rows_of(about_i, about_others), 0.5)
        assert figure.effect is not None
        assert figure.effect.value == pytest.approx(1.0)
        assert figure.is_detected

    def test_without_shared_subjects_there_is_no_verdict(self) -> None:
        about_i, about_others = drawn(1)
        alone = rows_of(about_i, about_others).query("pole == 1")
        figure = contrast(alone, alone, 0.5)
        assert figure.no_verdict == "the models share too few sentences about I and others"
