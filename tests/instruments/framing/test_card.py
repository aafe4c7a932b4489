"""What the card of a contrast says about framings."""

from evenruler.instruments.framing import schemas
from evenruler.instruments.framing.card import card as card_of
from evenruler.instruments.framing.card import words as card
from evenruler.instruments.framing.declare.headings import of_factors
from evenruler.instruments.framing.declare.settings import Settings
from evenruler.instruments.framing.declare.source import ContrastSource
from evenruler.instruments.instrument import Card
from tests.instruments.framing.hair import built, declaration, hair, settings

MANY = settings(stimuli=10, orders=6)
REPLIES = "Replies to each question: 1; `choice` is as rough as they are few."


def limits(source: ContrastSource, settings: Settings) -> list[str]:
    """Where there are six orders of options."""
    return card.limits(source, settings, 6)


def made(**changes: object) -> Card:
    declared = declaration(**changes)
    return card_of(declared, *built(declared))


def test_the_card_publishes_what_figures_need_and_the_variant_alone_is_a_parameter() -> None:
    found = made()
    assert [config.name for config in found.configs] == ["prompts", "outcomes", "stimuli"]
    assert (found.parameters, found.task_categories) == ({"variant": "balanced"}, ["text-generation"])
    names = ["shift probability", "effect: salience", "effect: instruction", "coverage"]
    assert [column.figure for column in found.quality] == names
    assert (list(found.quality_of_any), dict(found.harness), found.harness_task) == ([], {}, None)


def test_numbers_on_the_card_are_those_of_the_scale() -> None:
    variant = "It was built in the variant `balanced`."
    every = [*card.LIMITS, variant]
    orders = "Options are asked in 2 of their orders, reverses among them."
    assert made().limits == [*every, orders, REPLIES]
    assert made(scale="paper").limits == [*every, REPLIES.replace("1", "10")]
    assert made(orders=6, generations=0).limits == [
        *every,
        "No replies are sampled, so there are no figures of `choice`.",
    ]


def test_a_score_is_read_with_its_direction_in_words() -> None:
    assert card.reading(hair()).endswith("shares and shifts have: a share says which pronoun.")


def test_figures_are_those_of_the_factors() -> None:
    assert [(column.figure, column.meaning) for column in of_factors(hair().factors)] == [
        ("shift probability", "mean of the effects, from 0 to 1 (interval: bootstrap over stimuli)"),
        ("effect: salience", "mean APD with and without the cue (the prompt names gender), mean over tasks"),
        ("effect: instruction", "mean APD with and without the cue (the prompt gives a task), mean over tasks"),
        ("coverage", "share of the answers that is of any class"),
    ]


def test_limits_of_every_contrast_go_first_and_the_variant_is_named() -> None:
    assert card.LIMITS[0].startswith("The classes are words, not people")
    assert limits(hair(limits=["Hair alone."]), MANY) == [
        *card.LIMITS,
        "Hair alone.",
        "It was built in the variant `balanced`.",
        REPLIES,
    ]


def test_slips_of_a_variant_are_named_where_it_is_built() -> None:
    """As in table 3 of the paper: other classes on offer in either cell, and two options that read the same."""
    tasks = {name: task.model_dump(exclude_unset=True) for name, task in hair().tasks.items()}
    balanced, paper = {"he": "He", "she": "She"}, {"- +": {"he": "He", "the": "The"}, "+ +": {"he": "He", "she": "She"}}
    tasks["choice"]["options"] = {"balanced": balanced, "paper": paper}
    even, twice = ('Reply A for "{STIMULUS}: he", B for "{STIMULUS}: ' + last + '". {ANSWER}' for last in ("she", "he"))
    cells = {"- +": {"balanced": even, "paper": twice}, "+ +": even}
    source = hair(tasks=tasks | {"sentence": {"title": "Sentence", "cells": cells}})
    assert limits(source, settings(variant="paper", orders=6))[len(card.LIMITS) : -1] == [
        "It was built in the variant `paper`; `balanced` would have other prompts.",
        "In the task `Choice`, `she` is no option with instruction: a shift of it is the options' doing.",
        "In the task `Sentence`, two options read the same with instruction.",
    ]
    assert limits(source, MANY)[len(card.LIMITS) : -1] == [
        "It was built in the variant `balanced`; `paper` would have other prompts."
    ]


def test_a_sample_of_stimuli_and_first_tokens_are_limits() -> None:
    assert limits(hair(), settings(stimuli=1, mass="first_token"))[-4:] == [
        "A form counts by its first token alone, so words that only begin like it count too.",
        "Figures are of 1 of the 2 stimuli, evenly spread over the list: a sample.",
        "Options are asked in 2 of their orders, reverses among them.",
        REPLIES,
    ]


def test_columns_that_are_described_are_there() -> None:
    assert set(card.COLUMNS) <= set(schemas.PROMPTS.names)
