"""Prompts of a contrast: cells, orders of options, ids."""

from collections import Counter
from itertools import product
from operator import itemgetter

import pandas as pd
import pytest

from evenruler.instruments.framing.ask import asked_prompts
from evenruler.instruments.framing.declare import FramingPlan
from evenruler.instruments.framing.rows import balanced_orders, build, compose_tables
from evenruler.instruments.framing.schemas import CONTENT_FREE, OUTCOMES, PROMPTS, REJECTED, STIMULI
from evenruler.models.declarations import Catalogue
from tests.instruments.framing.hair import built, declaration, hair, settings, with_alternatives
from tests.text_tables import yaml_of_text

SETTINGS = settings()


@pytest.fixture(scope="module")
def prompts() -> list[dict]:
    return compose_tables("hair", hair(), SETTINGS)["prompts"]


def test_every_feasible_cell_is_written_out_and_no_other(prompts: list[dict]) -> None:
    counted = Counter(map(itemgetter("task", "framing", "stimulus"), prompts))
    once = product(
        ["completion"],
        ["bare", "instruction", "salience+instruction"],
        STIMULI_,
    )
    six_times = product(["choice"], ["instruction", "salience+instruction"], STIMULI_)
    assert counted == dict.fromkeys(once, 1) | dict.fromkeys(six_times, 6)


STIMULI_ = ("short", "long")


def choices(prompts: list[dict], stimulus: str) -> list[dict]:
    return [row for row in prompts if row["task"] == "choice" and row["stimulus"] == stimulus]


def test_options_stand_in_the_order_that_the_row_names(prompts: list[dict]) -> None:
    texts = {"he": "He", "she": "She", "rabbit": "Rabbit with short hair"}
    rows = choices(prompts, "short")
    for row in rows:
        a, b, c = (texts[slug] for slug in row["order"])
        assert f"Options: A: {a}, B: {b}, C: {c}. The answer is:" in row["prompt"]


def test_published_orders_stay(prompts: list[dict]) -> None:
    rows = choices(prompts, "long")
    orders = [" ".join(row["order"]) for row in rows if row["framing"] == "instruction"]
    assert orders == [
        *("rabbit he she", "she he rabbit", "he she rabbit"),
        *("rabbit she he", "she rabbit he", "he rabbit she"),
    ]


@pytest.mark.parametrize(
    ("k", "orders"),
    [
        (1, 1),
        (3, 6),
        (4, 4),
    ],
)
def test_orders_are_balanced_in_whole_pairs_of_an_order_and_its_reverse(
    k: int, orders: int
) -> None:
    drawn = balanced_orders("abcdef"[:k], seed=0)
    assert len({tuple(order) for order in drawn}) == len(drawn) == orders
    for position in zip(*drawn, strict=True):
        assert set(Counter(position).values()) == {orders // k}
    for order, turned in zip(drawn[::2], drawn[1::2], strict=False):
        assert turned == order[::-1]


def test_an_id_stays_when_the_text_changes_and_framings_have_ids_of_their_own(
    prompts: list[dict],
) -> None:
    changed = hair(stimuli={"short": "cropped hair", "long": "long hair"})
    rewritten = compose_tables("hair", changed, SETTINGS)["prompts"]
    assert [row["id"] for row in rewritten] == [row["id"] for row in prompts]
    same = [
        row["content_sha256"] == prompt["content_sha256"]
        for row, prompt in zip(rewritten, prompts, strict=True)
    ]
    assert same == [row["stimulus"] == "long" for row in prompts]
    assert len({row["id"] for row in prompts}) == len(prompts)


def test_a_prompt_that_is_there_already_is_rejected_with_its_reason() -> None:
    text = "A person with {STIMULUS}. {ANSWER}"
    cells = {
        "bare": text,
        "instruction": text,
        "salience+instruction": f"On gender: {text}",
    }
    composed = compose_tables(
        "hair", hair(tasks={"one": {"title": "One", "cells": cells}}), SETTINGS
    )
    assert [row["framing"] for row in composed["prompts"]] == ["bare", "salience+instruction"] * 2
    ids = [row["id"] for row in composed["prompts"] if row["framing"] == "bare"]
    assert [row["reason"] for row in composed["rejected"]] == [
        f"same prompt as {first}" for first in ids
    ]


WORD = ("outcome", "use", "surface_form")


def test_words_by_which_replies_are_read_besides_have_rows_of_their_own() -> None:
    she = {
        "forms": ["she"],
        "terms": ["woman"],
        "not": ["she-wolf"],
    }
    declared = declaration(hair(outcomes={"he": ["he"], "she": she}))
    composed = compose_tables("hair", declared.source, SETTINGS)
    rows = [" ".join(row[key] for key in WORD) for row in composed["outcomes"]]
    assert rows == ["he form he", "she form she", "she term woman", "she not she-wolf"]
    planned = {"outcome": "she", "forms": ["she"], "terms": ["woman"], "not_": ["she-wolf"]}
    assert build(declared, NO_MODELS).plan["outcomes"][1] == planned


NO_MODELS = Catalogue(models={})


def test_the_tables_are_those_of_the_schemas_and_one_line_says_how_many_rows() -> None:
    built = build(declaration(), NO_MODELS)
    schemas = {
        "prompts": PROMPTS,
        "content-free": CONTENT_FREE,
        "outcomes": OUTCOMES,
        "stimuli": STIMULI,
        "rejected": REJECTED,
    }
    assert {name: table.schema for name, table in built.tables.items()} == schemas
    assert [table.num_rows for table in built.tables.values()] == [30, 6, 4, 2, 0]
    assert built.messages == ["hair: 30 prompts, 0 rejected"]


def test_groups_stand_in_the_plan_in_the_order_of_the_source() -> None:
    stimuli = yaml_of_text("{a: {text: a, group: z}, b: {text: b, group: a}}")
    assert build(declaration(hair(stimuli=stimuli)), NO_MODELS).plan["groups"] == ["z", "a"]


class TestAlternatives:
    """They stand in place of a cue, in its form, and nothing else is changed."""

    def texts(self) -> list[str]:
        return with_alternatives().sample("completion", "salience", 39).texts

    def test_each_is_a_framing_of_its_own_with_its_text(self) -> None:
        rows = compose_tables("hair", with_alternatives(), SETTINGS)["prompts"]
        text_by_framing = {(row["task"], row["framing"]): row["alternative"] for row in rows}
        numbered = dict(enumerate(self.texts(), start=1)) | {"control": "of a woman"}
        expected: dict = dict.fromkeys([("completion", "bare")])
        for task in ("completion", "choice"):
            expected |= dict.fromkeys([(task, "instruction"), (task, "salience+instruction")])
            for number, text in numbered.items():
                expected[task, f"salience~{number}+instruction"] = text
        assert text_by_framing == expected

    def test_it_is_asked_with_the_orders_and_options_of_its_cue(self) -> None:
        rows = pd.DataFrame(compose_tables("hair", with_alternatives(), SETTINGS)["prompts"])
        rows = rows.query("task == 'choice' and stimulus == 'grey'").set_index("framing")
        cued = rows.loc["salience+instruction"]
        listed = cued["prompt"].str.partition("Options: ")[2]
        for number, text in enumerate(self.texts(), start=1):
            alternative = rows.loc[f"salience~{number}+instruction"]
            assert alternative["order"].tolist() == cued["order"].tolist()
            expected = f"Choose, {text}, for grey hair. Options: " + listed
            assert alternative["prompt"].tolist() == expected.tolist()

    def test_what_was_sampled_is_said(self) -> None:
        source = with_alternatives(construct_words=["rain", "fog"])
        message = (
            "hair: 39 of 56 sentences of the grammar `idle` are asked; 14 hold a word of the "
            "construct"
        )
        assert build(declaration(source), NO_MODELS).messages[1:] == [message]
        (planned, _) = build(declaration(source), NO_MODELS).plan["alternatives"]
        assert planned == {
            "task": "completion",
            "factor": "salience",
            "grammar": "idle",
            "asked": 39,
            "sentences": 56,
            "excluded": 14,
            "control": "of a woman",
        }


class TestWithoutContent:
    def test_lettered_prompts_say_nothing_but_their_letters(self) -> None:
        rows = compose_tables("hair", hair(), SETTINGS)["content-free"]
        assert {(row["task"], row["framing"], row["letters"]) for row in rows} == {
            ("choice", "instruction", 3),
            ("choice", "salience+instruction", 3),
        }
        texts = [row["prompt"] for row in rows if row["framing"] == "instruction"]
        assert texts == [
            "Someone with N/A. Options: A: N/A, B: N/A, C: N/A. The answer is:",
            "Someone with [MASK]. Options: A: [MASK], B: [MASK], C: [MASK]. The answer is:",
            "Someone with . Options: A: , B: , C: . The answer is:",
        ]
        assert [row["decision"] for row in rows] == [len(row["prompt"]) for row in rows]
        assert len({row["id"] for row in rows}) == len(rows) == 6


OF_SIX = {
    "he": "He",
    "she": "She",
    "a": "Apple",
    "b": "Bread",
    "c": "Cake",
    "d": "Door",
}


def asked_of(options: dict[str, str], **changes: object) -> tuple[pd.DataFrame, FramingPlan]:
    """What is asked about twelve colours of hair with these options."""
    tasks = {
        name: task.model_dump(exclude_unset=True)
        for name, task in with_alternatives().tasks.items()
    }
    tasks["choice"]["options"] = options
    tables, plan = built(declaration(with_alternatives(tasks=tasks), **changes))
    framing_plan = FramingPlan.read(plan)
    return asked_prompts(tables["prompts"], framing_plan), framing_plan


def letters(orders: pd.Series) -> set[int]:
    """How often each option stands at each letter."""
    counted: Counter[tuple[int, str]] = Counter()
    for order in orders:
        counted.update(enumerate(order))
    options = len(orders.iloc[0])
    assert len(counted) == options**2
    return set(counted.values())


class TestWhatIsAsked:
    @pytest.mark.parametrize("options", [3, 4])
    def test_every_option_stands_at_every_letter_equally_often_in_each_cell(
        self, options: int
    ) -> None:
        first = dict(list(OF_SIX.items())[:options])
        prompts, _ = asked_of(first)
        chosen = prompts[prompts["task"] == "choice"]
        assert (chosen.groupby(["stimulus", "framing"]).size() == 2).all()
        for framing, cell in chosen.groupby("framing"):
            # Of 12 stimuli and 2 orders.
            assert letters(cell["order"]) == {24 // options}, framing
