"""What the card of a contrast says about framings."""

from evenruler.instruments.framing import card, schemas
from evenruler.instruments.framing.declare.settings import ContrastSettings
from tests.instruments.framing.hair import hair

MANY = ContrastSettings(stimuli={"quick": 10, "paper": 1000}, orders={"quick": 6, "paper": 1000})
REPLIES = (
    "Replies to each question: 1 at the scale `quick`, 10 at the scale `paper`; `choice` is as rough as they are few."
)


def test_a_score_is_read_with_its_direction_in_words() -> None:
    assert card.reading(hair()).endswith("shares and shifts have: a share says which pronoun.")


def test_figures_are_those_of_the_factors() -> None:
    assert [(figure, meaning) for figure, _, meaning in card.figures(hair())] == [
        ("shift probability", "mean of the effects, from 0 to 1 (interval: bootstrap over stimuli)"),
        ("effect: salience", "mean APD with and without the cue (the prompt names gender), mean over tasks"),
        ("effect: instruction", "mean APD with and without the cue (the prompt gives a task), mean over tasks"),
        ("coverage", "share of the answers that is of any class"),
    ]


def test_limits_of_every_contrast_go_first_and_the_variant_is_named() -> None:
    assert card.LIMITS[0].startswith("The classes are words, not people")
    assert card.limits(hair(limits=["Hair alone."]), MANY) == [
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
    assert card.limits(source, ContrastSettings(variant="paper"))[len(card.LIMITS) : -1] == [
        "It was built in the variant `paper`; `balanced` would have other prompts.",
        "In the task `Choice`, `she` is no option with instruction: a shift of it is the options' doing.",
        "In the task `Sentence`, two options read the same with instruction.",
    ]
    assert card.limits(source, MANY)[len(card.LIMITS) : -1] == [
        "It was built in the variant `balanced`; `paper` would have other prompts."
    ]


def test_a_sample_of_stimuli_and_first_tokens_are_limits() -> None:
    settings = ContrastSettings(stimuli={"quick": 1, "paper": 2}, mass="first_token")
    assert card.limits(hair(), settings)[-4:] == [
        "A form counts by its first token alone, so words that only begin like it count too.",
        "At the scale `quick`, figures are of 1 of the 2 stimuli, evenly spread over the list: a sample.",
        "At the scale `quick`, options are asked in 2 of their orders, reverses among them.",
        REPLIES,
    ]


def test_columns_that_are_described_are_there() -> None:
    assert set(card.COLUMNS) <= set(schemas.PROMPTS.names)
