"""A small contrast with two factors: words are read in one task, letters in the other."""

from collections.abc import Sequence
from typing import Any

import pandas as pd

from evenruler.instruments.framing.declare.source import ContrastSource, Settings
from evenruler.instruments.framing.rows import build
from evenruler.instruments.instrument import Declaration, ModelMeta, Plan, Profile
from evenruler.models.declarations import Catalogue, Kind, operations_of


def hair(**changes: Any) -> ContrastSource:
    """About hair, with some keys changed."""
    declared: dict[str, Any] = {
        "title": "Hair",
        "construct": "gender inferred from hair",
        "direction": "a share says which pronoun",
        "source": "us",
        "licence": "cc0-1.0",
        "factors": {
            "salience": "the prompt names gender",
            "instruction": "the prompt gives a task",
        },
        "outcomes": {"he": ["he", "him"], "she": ["she", "hers"]},
        "stimuli": {"short": "short hair", "long": "long hair"},
        "tasks": {
            "completion": {
                "title": "Completion",
                "cells": {
                    "bare": "There is a person with {STIMULUS}. {ANSWER}",
                    "instruction": "Complete: There is a person with {STIMULUS}. {ANSWER}",
                    "salience+instruction": "Complete, inferring gender: There is a person with "
                    "{STIMULUS}. {ANSWER}",
                },
            },
            "choice": {
                "title": "Choice",
                "cells": {
                    "instruction": "Someone with {STIMULUS}. Options: {OPTIONS}. The answer is: "
                    "{ANSWER}",
                    "salience+instruction": "Choose a pronoun for {STIMULUS}. Options: {OPTIONS}. "
                    "The answer is: {ANSWER}",
                },
                "option": "{LETTER}: {OPTION}",
                "options": {
                    "balanced": {"he": "He", "she": "She", "rabbit": "Rabbit with {STIMULUS}"}
                },
            },
        },
    }
    return ContrastSource.model_validate(declared | changes)


PLACEBOS = [
    "noting the day",
    "noting the road",
    "noting rain",
    "noting a page",
    "noting a tune",
    "noting ink",
]
"""What says nothing of gender, six of them."""

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


MORE_PLACEBOS = [
    "noting a door",
    "noting a tree",
    "noting fog",
    "noting a line",
    "noting a step",
    "noting bread",
]

WORDINGS = ["guessing their gender", "telling their gender"]
"""What speaks of gender, in the place of a placebo."""


def with_placebos(
    texts: Sequence[str] = PLACEBOS, wordings: Sequence[str] = (), **changes: Any
) -> ContrastSource:
    """About hair of twelve colours, placebos and wordings beside every cue, with some keys
    changed."""
    completion, choice = (task.model_dump(exclude_unset=True) for task in hair().tasks.values())
    person, listed = (
        "There is a person with {STIMULUS}. {ANSWER}",
        "Options: {OPTIONS}. The answer is: {ANSWER}",
    )
    put = {"texts": list(texts), "wordings": list(wordings)}
    of_salience = f"Complete, {{PLACEBO}}: {person}"
    completion["placebos"] = {
        "salience": {"cells": {"salience+instruction": of_salience}, **put},
        "instruction": {"cells": {"instruction": f"{{PLACEBO}}: {person}"}, "texts": list(texts)},
    }
    of_choice = f"Choose, {{PLACEBO}}, for {{STIMULUS}}. {listed}"
    choice["placebos"] = {"salience": {"cells": {"salience+instruction": of_choice}, **put}}
    tasks = {"completion": completion, "choice": choice}
    changes.setdefault("headline", "he")
    return hair(
        **({"stimuli": {colour: f"{colour} hair" for colour in COLOURS}, "tasks": tasks} | changes)
    )


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
