"""Prompts of a contrast: cells, orders of options, ids."""

import json
from collections import Counter

import pandas as pd
import pytest
from scipy.stats import chisquare

from evenruler.instruments.framing.ask.asked import asked_replies
from evenruler.instruments.framing.build import build
from evenruler.instruments.framing.build.composing import balanced_orders, compose
from evenruler.instruments.framing.declare.plan import FramingPlan
from evenruler.instruments.framing.schemas import OUTCOMES, PROMPTS, REJECTED, STIMULI
from evenruler.models.declared import Catalogue
from tests.instruments.framing.hair import declaration, hair, settings

SETTINGS = settings()


@pytest.fixture(scope="module")
def prompts() -> list[dict]:
    return compose("hair", hair(), SETTINGS).prompts


def test_every_feasible_cell_is_written_out_and_no_other(prompts: list[dict]) -> None:
    counted = Counter((row["task"], row["framing"], row["stimulus"]) for row in prompts)
    assert counted == {
        **{
            ("completion", framing, s): 1
            for framing in ("bare", "instruction", "salience+instruction")
            for s in STIMULI_
        },
        **{("choice", framing, s): 6 for framing in ("instruction", "salience+instruction") for s in STIMULI_},
    }


STIMULI_ = ("short", "long")


def test_a_prompt_ends_where_the_model_answers(prompts: list[dict]) -> None:
    row = next(row for row in prompts if row["framing"] == "bare" and row["stimulus"] == "long")
    assert row["prompt"] == "There is a person with long hair."
    assert row["decision"] == len(row["prompt"])
    assert (row["cues"], row["order"], row["variant"]) == ([], [], "balanced")


def test_options_stand_in_the_order_that_the_row_names(prompts: list[dict]) -> None:
    texts = {"he": "He", "she": "She", "rabbit": "Rabbit with short hair"}
    rows = [row for row in prompts if row["task"] == "choice" and row["stimulus"] == "short"]
    for row in rows:
        a, b, c = (texts[slug] for slug in row["order"])
        assert f"Options: A: {a}, B: {b}, C: {c}. The answer is:" in row["prompt"]


def test_every_option_stands_once_at_every_position_and_cells_share_their_orders(prompts: list[dict]) -> None:
    by_cell = {
        framing: [
            row["order"]
            for row in prompts
            if (row["task"], row["stimulus"], row["framing"]) == ("choice", "long", framing)
        ]
        for framing in ("instruction", "salience+instruction")
    }
    assert by_cell["instruction"] == by_cell["salience+instruction"]
    for position in zip(*by_cell["instruction"], strict=True):
        assert sorted(position) == ["he", "he", "rabbit", "rabbit", "she", "she"]
    assert balanced_orders(["a", "b", "c"], seed=1) != balanced_orders(["a", "b", "c"], seed=3)


@pytest.mark.parametrize(("k", "orders"), [(1, 1), (2, 2), (3, 6), (4, 4), (5, 10), (6, 6)])
def test_orders_are_balanced_in_whole_pairs_of_an_order_and_its_reverse(k: int, orders: int) -> None:
    found = balanced_orders("abcdef"[:k], seed=0)
    assert len({tuple(order) for order in found}) == len(found) == orders
    for position in zip(*found, strict=True):
        assert set(Counter(position).values()) == {orders // k}
    assert k == 1 or all(found[i + 1] == found[i][::-1] for i in range(0, orders, 2))


def test_options_of_sampled_replies_are_uniform_over_positions() -> None:
    frame = pd.DataFrame(compose("hair", hair(), SETTINGS).prompts)
    position = Counter()
    for seed in range(60):
        drawn = asked_replies(frame[frame["task"] == "choice"], 5, seed, ["bare"])
        orders = frame.set_index("id")["order"]
        position.update(order.index("she") for order in orders.loc[drawn["id"]])
    assert sum(position.values()) == 60 * 5 * 4
    assert chisquare([position[i] for i in range(3)]).pvalue > 0.01


def test_an_id_stays_when_the_text_changes_and_framings_have_ids_of_their_own(prompts: list[dict]) -> None:
    changed = hair(stimuli={"short": "cropped hair", "long": "long hair"})
    others = compose("hair", changed, SETTINGS).prompts
    assert [row["id"] for row in others] == [row["id"] for row in prompts]
    same = [one["content_sha256"] == two["content_sha256"] for one, two in zip(others, prompts, strict=True)]
    assert same == [row["stimulus"] == "long" for row in prompts]
    assert len({row["id"] for row in prompts}) == len(prompts)


def test_a_prompt_that_is_there_already_is_rejected_with_its_reason() -> None:
    text = "A person with {STIMULUS}. {ANSWER}"
    cells = {"- -": text, "- +": text, "+ +": f"On gender: {text}"}
    composed = compose("hair", hair(tasks={"one": {"title": "One", "cells": cells}}), SETTINGS)
    assert [row["framing"] for row in composed.prompts] == ["bare", "salience+instruction"] * 2
    kept = [row["id"] for row in composed.prompts if row["framing"] == "bare"]
    assert [row["reason"] for row in composed.rejected] == [f"same prompt as {first}" for first in kept]


def test_the_other_tables_name_forms_and_stimuli() -> None:
    composed = compose("hair", hair(stimuli={"short": {"text": "short hair", "group": "one"}}), SETTINGS)
    assert [(row["outcome"], row["form"]) for row in composed.outcomes] == [
        ("he", "he"),
        ("he", "him"),
        ("she", "she"),
        ("she", "hers"),
    ]
    assert [(row["stimulus"], row["text"], row["group"]) for row in composed.stimuli] == [
        ("short", "short hair", "one")
    ]
    for schema, rows in ((PROMPTS, composed.prompts), (OUTCOMES, composed.outcomes), (STIMULI, composed.stimuli)):
        assert all(set(row) == set(schema.names) for row in rows)


NO_MODELS = Catalogue(models={})


def test_the_tables_are_those_of_the_schemas_and_one_line_says_how_many_rows() -> None:
    built = build(declaration(), NO_MODELS)
    assert {name: table.schema for name, table in built.tables.items()} == {
        "prompts": PROMPTS,
        "outcomes": OUTCOMES,
        "stimuli": STIMULI,
        "rejected": REJECTED,
    }
    assert {name: table.num_rows for name, table in built.tables.items()} == {
        "prompts": 30,
        "outcomes": 4,
        "stimuli": 2,
        "rejected": 0,
    }
    assert built.said == ["hair: 30 prompts, 0 rejected"]


def test_the_plan_is_all_that_is_asked_at_the_scale_as_json() -> None:
    plan = build(declaration(scale="paper"), NO_MODELS).plan
    options = {"he": "He", "she": "She", "rabbit": "Rabbit with {STIMULUS}"}
    assert plan == {
        "factors": ["salience", "instruction"],
        "outcomes": [{"outcome": "he", "forms": ["he", "him"]}, {"outcome": "she", "forms": ["she", "hers"]}],
        "options": [
            {"task": "choice", "framing": "instruction", "options": options},
            {"task": "choice", "framing": "salience+instruction", "options": options},
        ],
        "groups": [],
        "continuation": None,
        "replicates": None,
        "stimuli": ["short", "long"],
        "orders": 1000,
        "mass": "words",
        "generations": 10,
        "new_tokens": 50,
        "choices": "chat",
        "seed": 0,
    }
    assert json.loads(json.dumps(plan)) == plan
    assert FramingPlan.read(plan | {"tools": {}}).forms == {"he": ["he", "him"], "she": ["she", "hers"]}


def test_groups_stand_in_the_plan_in_the_order_of_the_source() -> None:
    stimuli = {name: {"text": name, "group": group} for name, group in (("one", "z"), ("two", "a"), ("three", "z"))}
    assert build(declaration(hair(stimuli=stimuli)), NO_MODELS).plan["groups"] == ["z", "a"]


def test_words_of_the_card_change_no_plan() -> None:
    words = {"title": "Coiffure", "direction": "above 0", "limits": ["Hair alone."], "citations": ["@misc{hair}"]}
    words |= {"factors": {"salience": "gender is named", "instruction": "a task is given"}}
    assert build(declaration(hair(**words)), NO_MODELS).plan == build(declaration(), NO_MODELS).plan
