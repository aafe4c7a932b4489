"""A small contrast with two factors: words are read in one task, letters in the other."""

from typing import Any

from evenruler.instruments.framing.declare.source import ContrastSource


def hair(**changes: Any) -> ContrastSource:
    """About hair, with some keys changed."""
    declared: dict[str, Any] = {
        "title": "Hair",
        "construct": "gender inferred from hair",
        "direction": "a share says which pronoun",
        "source": "us",
        "licence": "cc0-1.0",
        "factors": {"salience": "the prompt names gender", "instruction": "the prompt gives a task"},
        "outcomes": {"he": ["he", "him"], "she": ["she", "hers"]},
        "stimuli": {"short": "short hair", "long": "long hair"},
        "tasks": {
            "completion": {
                "title": "Completion",
                "cells": {
                    "- -": "There is a person with {STIMULUS}. {ANSWER}",
                    "- +": "Complete: There is a person with {STIMULUS}. {ANSWER}",
                    "+ +": "Complete, inferring gender: There is a person with {STIMULUS}. {ANSWER}",
                },
            },
            "choice": {
                "title": "Choice",
                "cells": {
                    "- +": "Someone with {STIMULUS}. Options: {OPTIONS}. The answer is: {ANSWER}",
                    "+ +": "Choose a pronoun for {STIMULUS}. Options: {OPTIONS}. The answer is: {ANSWER}",
                },
                "option": "{LETTER}: {OPTION}",
                "options": {"balanced": {"he": "He", "she": "She", "rabbit": "Rabbit with {STIMULUS}"}},
            },
        },
    }
    return ContrastSource.model_validate(declared | changes)
