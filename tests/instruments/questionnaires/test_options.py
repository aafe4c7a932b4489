"""A chat says how often something is so: what is asked, how it is read, and what scripted chats get
of it."""

import re
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from evenruler.instruments.instrument import ModelMeta, Plan, Record, Tables
from evenruler.instruments.questionnaires.ask import options, requests, scores
from evenruler.instruments.questionnaires.declare.shared import load_facts
from evenruler.instruments.questionnaires.declare.source import load_questionnaire
from evenruler.instruments.questionnaires.diagnose import across, figures
from evenruler.instruments.questionnaires.diagnose.population import population_table
from evenruler.instruments.questionnaires.rows import fill_templates
from evenruler.measurement import Resampling
from evenruler.tables import read_frame, write_table
from evenruler.tables.schemas import build_schema
from tests.instruments.questionnaires.doors import (
    PLAN,
    figure_table,
    no_answers,
    no_subjects,
    subject,
)
from tests.personas import REFUSAL, Rater, rated

SOURCES = Path(__file__).parents[3] / "data/sources/questionnaires"

RESAMPLING = Resampling(resamples=100, seed=0, level=0.95)

CHAT = subject(
    "chat",
    kind="chat",
    operations=frozenset({"generate"}),
    chats=True,
    continues=False,
    methods=("options",),
)


@cache
def published() -> tuple[Tables, Plan]:
    """A shipped questionnaire, and a plan that asks it in four orders."""
    source, scale = load_questionnaire(SOURCES / "gad-7.yaml", SOURCES / "shared/scales")
    rows = fill_templates("gad-7", source, scale)
    facts = [fact.model_dump() for fact in load_facts(SOURCES / "shared/pairs/facts.csv")]
    words = {word: level.weight for level in scale.levels for word in level.words.values()}
    accuracy = {**PLAN["accuracy"], "threshold": 0.7, "facts": facts, "words": words}
    tables = {"items": rows.items, "terms": rows.terms, "prompts": rows.prompts}
    plan = {**PLAN, "least": 6, "orders": 4, "accuracy": accuracy}
    frames = {name: pd.DataFrame(table) for name, table in tables.items()}
    return {**frames, "subjects": no_subjects()}, plan


def scripted_replies(rater: Rater) -> tuple[pd.DataFrame, "pd.Series[str]"]:
    tables, plan = published()
    rows = rated(tables, plan)
    weighing = replace(rater, weights=plan["accuracy"]["words"])
    return rows, pd.Series(weighing.replies(rows, 0), index=rows.index)


@cache
def measured(rater: Rater) -> pd.DataFrame:
    """The figures of a scripted chat, by name."""
    return of_answers(replied(*scripted_replies(rater)))


def record_of(answers: dict[str, pd.DataFrame], who: ModelMeta = CHAT) -> Record:
    tables, plan = published()
    scored = scores(tables, plan, {**no_answers(), **answers}, who)
    tables_of_figures = figures("gad-7", tables, plan, scored, who, RESAMPLING)
    return Record("gad-7", who, tables, plan, tables_of_figures)


def of_answers(answers: dict[str, pd.DataFrame], who: ModelMeta = CHAT) -> pd.DataFrame:
    record = record_of(answers, who)
    of_any = across([record], RESAMPLING)["figures"]
    figure_rows = figure_table(pd.concat([record.diagnosis["figures"], of_any]))
    of_scale = "model == 'chat' and method == 'options' and subscale == '' and item == ''"
    return figure_rows.query(of_scale).set_index("figure")


class TestQuestions:
    def test_one_by_hand(self) -> None:
        tables, plan = published()
        questions = options.option_questions(tables, plan)
        first, turned = (questions.query("turn == @turn").iloc[0] for turn in (0, 1))
        assert first["prompt"] == (
            "Which word fits the gap best? Answer with the letter only.\n\n"
            "Over the last two weeks I have felt anxious. I ____ feel this way.\n\n"
            "A. never\nB. very rarely\nC. rarely\nD. seldom\nE. frequently\nF. often\nG. very "
            "frequently\nH. always"
        )
        assert turned["words"] == first["words"][::-1]
        prompts = tables["prompts"].set_index("id")["intensifier"]
        words = [prompts[key].replace("-", " ") for key in first["keys"]]
        assert words == list(first["words"])

    def test_the_same_facts_stand_in_one_table_for_each_questionnaire(self, tmp_path: Path) -> None:
        tables, plan = published()
        operations = frozenset({"words"})
        chat = replace(CHAT, kind="causal", operations=operations)
        (batch,) = options.requests(tables, plan, chat)
        answers = [batch.rows.assign(instrument=name) for name in ("gad-7", "gad-7-as-published")]
        schema = build_schema("instrument id: str; turn: int8; surface_form: str")
        write_table(pd.concat(answers), schema, tmp_path / "letters.parquet")
        facts = read_frame(tmp_path / "letters.parquet").query("id == '0 right' and turn == 0")
        assert facts["instrument"].value_counts().to_dict() == {
            "gad-7": 8,
            "gad-7-as-published": 8,
        }

    @pytest.mark.parametrize("orders", [2, 8])
    def test_each_letter_stands_for_both_ends_alike(self, orders: int) -> None:
        weights = np.array([-4, -3, -2, -2, 2, 2, 3, 4])
        listed = [weights[options.option_order(8, order, orders)] for order in range(orders)]
        assert np.sum(listed, axis=0).tolist() == [0] * 8
        assert (np.sort(listed) == weights).all()

    def test_facts_are_asked_both_ways_with_both_terms(self) -> None:
        tables, plan = published()
        facts = options.option_questions(tables, plan).query("known")
        assert len(facts) == 143 * 2 * 2
        question = options.PROMPT.partition("{")[0]
        assert facts["prompt"].iloc[0].startswith(f"{question}Fire is ____ hot.")

    @pytest.mark.parametrize(
        ("operation", "table"), [("words", "letters"), ("generate", "options")]
    )
    def test_a_model_that_says_how_likely_words_are_is_asked_for_letters(
        self, operation, table
    ) -> None:
        tables, plan = published()
        who = replace(CHAT, operations=frozenset({"generate", operation}))
        embedded = {"embeddings": pd.DataFrame()}
        (batch,) = [batch for batch in requests(tables, plan, embedded, who) if not batch.by]
        assert (batch.table, batch.operation) == (table, operation)
        n_letters = 8 if table == "letters" else 1
        assert len(batch.rows) == (4 * 168 + 572) * n_letters


def replied(rows: pd.DataFrame, replies: Any) -> dict[str, pd.DataFrame]:
    return {"options": rows[["id", "turn"]].assign(reply=replies, reason=None)}


class TestScripted:
    def test_an_anxious_chat_is_so_by_what_was_planted(self) -> None:
        figure_rows = measured(Rater(mood=2))
        headline = figure_rows.loc["i_less_others"]
        values = figure_rows["value"]
        assert values["beyond_twins"] == pytest.approx(2, abs=0.4)
        assert headline["verdict"] == "descriptive"
        assert "chats are not asked about other subjects than I" in headline["why"]
        assert values["accuracy"] == 1
        assert values["acquiescence"] == pytest.approx(0, abs=0.3)

    def test_what_is_said_to_all_is_taken_off(self) -> None:
        figure_rows = measured(Rater(agrees=2))
        assert figure_rows.loc["acquiescence", "value"] > 1.5
        assert abs(figure_rows.loc["beyond_twins", "value"]) < 0.5

    @pytest.mark.parametrize(
        ("rater", "why"),
        [
            (Rater(always="A"), "all 672 replies are the same"),
            (Rater(always=REFUSAL), "672 of 672 requests were not answered .672 refused"),
            (Rater(knows=False, mood=2), "its accuracy on 143 facts is"),
        ],
    )
    def test_one_that_says_nothing_is_not_measured(self, rater: Rater, why: str) -> None:
        headline = measured(rater).loc["i_less_others"]
        assert headline["verdict"] == "invalid"
        assert re.search(why, headline["why"]), headline["why"]

    def test_one_that_refuses_items_and_knows_facts_does_not_count(self) -> None:
        rows, replies = scripted_replies(Rater(mood=0))
        replies[~rows["known"].to_numpy(dtype=bool)] = REFUSAL
        population = population_table([record_of(replied(rows, replies))])
        (row,) = population.to_dict("records")
        assert (row["accuracy"], row["member"]) == (1.0, False)
        assert row["standing"].startswith("672 of 672 requests were not answered")

    def test_the_first_option_shows_in_the_order(self) -> None:
        assert measured(Rater(mood=0, last=0.99)).loc["order_shift", "value"] > 6
        order_shift = measured(Rater(mood=1)).loc["order_shift"]
        assert order_shift["value"] < 0.5
        assert (order_shift["n"], order_shift["unit"]) == (4, "orders")

    @pytest.mark.parametrize(
        ("left_open", "verdict", "why", "n"),
        [
            ("known", "invalid", "its accuracy on 143 facts is 0.00", 7),
            ("twin > 0", "invalid", "504 of 672 requests were not answered", 0),
            ("twin == 0", "descriptive", "no completely answered item", None),
            (
                "item == 'item-1-nervous' and twin == 0 and polarity == 'source'",
                "descriptive",
                "chats are not asked about other subjects",
                6,
            ),
        ],
    )
    def test_whatever_is_left_open(
        self, left_open: str, verdict: str, why: str, n: int | None
    ) -> None:
        """`n`: the items of the figure beyond twins."""
        rows, replies = scripted_replies(Rater(mood=2))
        replies[rows.eval(left_open).to_numpy(dtype=bool)] = REFUSAL
        figure_rows = of_answers(replied(rows, replies))
        headline = figure_rows.loc["i_less_others"]
        assert headline["verdict"] == verdict
        assert why in headline["why"]
        assert figure_rows["n"].get("beyond_twins") == n

    def test_a_sentence_whose_gap_is_filled(self) -> None:
        rows, letters = scripted_replies(Rater(mood=2))
        filled = []
        for row, letter in zip(rows.to_dict("records"), letters, strict=True):
            gap = row["prompt"].split("\n\n")[1].split(". ")[-1]
            filled.append(gap.replace(options.GAP, row["words"]["ABCDEFGH".index(letter)]))
        by_letter, by_sentence = (
            of_answers(replied(rows, replies)).drop(columns="why") for replies in (letters, filled)
        )
        pd.testing.assert_frame_equal(by_letter, by_sentence)


SAYS_LETTERS = replace(CHAT, operations=frozenset({"words"}))


class TestMass:
    def test_letters_give_what_replies_give(self) -> None:
        rows, replies = scripted_replies(Rater(mood=2))
        letters = letters_of(rows, replies, mass=1.0)
        by_letters = of_answers({"letters": letters}, SAYS_LETTERS)
        by_reply = of_answers(replied(rows, replies))
        for figure in ("beyond_twins", "accuracy", "acquiescence", "order_shift"):
            assert by_letters.loc[figure, "value"] == pytest.approx(
                by_reply.loc[figure, "value"], abs=1e-6
            )

    def test_one_that_would_write_something_else_is_not_measured(self) -> None:
        letters = letters_of(*scripted_replies(Rater(mood=2)), mass=0.2)
        why = of_answers({"letters": letters}, SAYS_LETTERS).loc["i_less_others", "why"]
        assert "the letters have 0.20 of what it would write" in why


def letters_of(rows: pd.DataFrame, chosen: "pd.Series[str]", mass: float) -> pd.DataFrame:
    """All mass on the letter that was said."""
    letters = pd.DataFrame({"surface_form": list("ABCDEFGH")})
    pairs = rows[["id", "turn"]].assign(chosen=chosen).merge(letters, how="cross")
    nats = np.log(mass * (pairs["surface_form"] == pairs["chosen"]) + 1e-12)
    return pairs.assign(nats=nats, ends=0.0, alone=0.0, first_nats=0.0, first_token=0)
