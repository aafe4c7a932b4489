"""A small contrast, made up."""

from typing import Any

from evenruler.instruments.framing.declare.source import ContrastSource

TEXTS = {f"s{number}": f"hair of length s{number}" for number in range(8)}
WORDS = {"gender-salience": "the prompt names gender", "instruction": "the prompt asks"}
TASKS = {"going-on": "Going on", "choosing": "Choosing"}


def source(**changes: Any) -> ContrastSource:
    both = "gender-salience+instruction"
    cells = {"going-on": ["bare", "instruction", both], "choosing": ["instruction", both]}
    tasks = {}
    for task, title in TASKS.items():
        prompts = {cell: f"{task} {cell} {{STIMULUS}} {{ANSWER}}" for cell in cells[task]}
        tasks[task] = {"title": title, "cells": prompts}
    declared: dict[str, Any] = {
        "title": "Pronouns",
        "construct": "choice of pronouns",
        "direction": "a shift above 0 says more of it",
        "source": "the test",
        "licence": "cc0-1.0",
        "factors": WORDS,
        "focal_outcome": "they",
        "outcomes": {"they": ["they"], "he": ["he"]},
        "stimuli": TEXTS,
        "continuation": {"outcome": "they", "keywords": ["man", "woman"]},
        "tasks": tasks,
    }
    return ContrastSource.model_validate(declared | changes)
