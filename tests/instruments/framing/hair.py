"""A small contrast with two factors: words are read in one task, letters in the other."""

from typing import Any

import pandas as pd

from evenruler.instruments.framing.declare.source import ContrastSource, Settings
from evenruler.instruments.framing.rows import build
from evenruler.instruments.instrument import Declaration, ModelMeta, Plan, Profile
from evenruler.models.declarations import Catalogue, Kind, operations_of
from tests.text_tables import yaml_of_text

HAIR = """\
title: Hair
construct: gender inferred from hair
direction: a share says which pronoun
source: us
licence: cc0-1.0
factors: {salience: the prompt names gender, instruction: the prompt gives a task}
outcomes: {he: [he, him], she: [she, hers]}
stimuli: {short: short hair, long: long hair}
tasks:
  completion:
    title: Completion
    cells:
      bare: There is a person with {STIMULUS}. {ANSWER}
      instruction: "Complete: There is a person with {STIMULUS}. {ANSWER}"
      salience+instruction:
        "Complete, inferring gender: There is a person with {STIMULUS}. {ANSWER}"
  choice:
    title: Choice
    cells:
      instruction: "Someone with {STIMULUS}. Options: {OPTIONS}. The answer is: {ANSWER}"
      salience+instruction:
        "Choose a pronoun for {STIMULUS}. Options: {OPTIONS}. The answer is: {ANSWER}"
    option: "{LETTER}: {OPTION}"
    options: {balanced: {he: He, she: She, rabbit: "Rabbit with {STIMULUS}"}}
"""

ALTERNATIVES = """\
grammars:
  idle: # What says nothing of gender, 56 of them.
    seed: 0
    words:
      VERB: [noting, seeing, hearing, naming, counting, passing, liking]
      THING: [a day, the road, rain, a page, a tune, ink, fog, a door]
control_outcome: she
focal_outcome: he
headlines: [salience]
completion:
  salience:
    grammar: idle
    form: "{VERB} {THING}"
    cells:
      salience+instruction:
        "Complete, {ALTERNATIVE}: There is a person with {STIMULUS}. {ANSWER}"
choice:
  salience:
    grammar: idle
    form: "{VERB} {THING}"
    cells:
      salience+instruction:
        "Choose, {ALTERNATIVE}, for {STIMULUS}. Options: {OPTIONS}. The answer is: {ANSWER}"
"""


def hair(**changes: Any) -> ContrastSource:
    """About hair, with some keys changed."""
    return ContrastSource.model_validate(yaml_of_text(HAIR) | changes)


GRAMMAR = yaml_of_text(ALTERNATIVES)["grammars"]["idle"]

COLOURS = [
    "red",
    "black",
    "brown",
    "blond",
    "grey",
    "white",
    "auburn",
    "dark",
    "fair",
    "blue",
    "green",
    "silver",
]


def with_alternatives(control: bool = True, **changes: Any) -> ContrastSource:
    """About hair of twelve colours, with sentences in place of the cue of salience, and a control
    that tells that the person is a woman, with some keys changed."""
    declared = yaml_of_text(ALTERNATIVES)
    tasks = yaml_of_text(HAIR)["tasks"]
    for name, task in tasks.items():
        task["alternatives"] = declared.pop(name)
        if control:
            task["alternatives"]["salience"]["control"] = "of a woman"
    stimuli = {colour: f"{colour} hair" for colour in COLOURS}
    return hair(**declared | {"stimuli": stimuli, "tasks": tasks} | changes)


def settings(profile: Profile = "quick", **changes: Any) -> Settings:
    """Settings at a profile, with some keys changed."""
    return Settings.model_validate(changes, context={"profile": profile})


def declaration(
    source: ContrastSource | None = None, profile: Profile = "quick", **changes: Any
) -> Declaration:
    """The entry of a contrast, by default of that about hair, with some settings changed."""
    return Declaration("hair", "framing", settings(profile, **changes), source or hair())


def built(declared: Declaration) -> tuple[dict[str, pd.DataFrame], Plan]:
    """The published tables of a contrast, and its plan."""
    benchmark = build(declared, Catalogue(models={}))
    return {
        name: table.to_pandas() for name, table in benchmark.tables.items() if name != "rejected"
    }, benchmark.plan


def subject(kind: Kind = "causal", chats: bool = True, name: str = "m") -> ModelMeta:
    """A model that is asked."""
    operations = operations_of(kind)
    return ModelMeta(
        name,
        kind,
        f"{name}-family",
        operations,
        chats,
        kind != "chat",
        ("verbaliser",),
        "ours; mit",
    )
