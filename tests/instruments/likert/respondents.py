"""Scripted chats that answer Likert items, whose response style is known."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, cast

import numpy as np
import pandas as pd
from ruamel.yaml import YAML

from evenruler.evaluate.benchmark import open_benchmark
from evenruler.instruments.instrument import ModelMeta, Tables, plan_at_size
from evenruler.instruments.likert import ask, diagnose
from evenruler.instruments.likert.declare import LikertPlan
from evenruler.instruments.methods.choice import TABLE
from evenruler.measurement.figures import Row
from evenruler.measurement.inputs import Resampling
from evenruler.sizes import Size
from evenruler.text.replies import LETTERS

Question = Mapping[Any, Any]
"""A row of `ask.list_questions`."""

Respondent = Callable[[Question, np.random.Generator], str]
"""What a chat writes."""

CHAT = ModelMeta(
    "chat",
    "chat",
    "chat",
    frozenset({"generate"}),
    chats=True,
    continues=False,
    methods=(),
    origin="scripted",
)

RESAMPLING = Resampling(0.95, 200, 0)


def make_items(n: int) -> dict[str, dict[str, Any]]:
    """So many items, every second one reversed."""
    items: dict[str, dict[str, Any]] = {}
    for number in range(1, n + 1):
        key = 1 if number % 2 else -1
        text = f"Claim {number} holds."
        items[f"item-{number:02}"] = {"text": text, "key": key}
    return items


BALANCED = make_items(10)


def letter_of(question: Question, points: float) -> str:
    """The letter of the option that has so many points, rounded, in the order that is shown."""
    shown = [int(name) for name, _ in question["options"]]
    nearest = int(np.clip(round(points), min(shown), max(shown)))
    return LETTERS[shown.index(nearest)]


def agree_always(question: Question, random: np.random.Generator) -> str:
    return letter_of(question, 5)


def take_first(question: Question, random: np.random.Generator) -> str:
    return "A"


def answer_at_random(question: Question, random: np.random.Generator) -> str:
    return str(random.choice(list("ABCDE")))


def refuse_all(question: Question, random: np.random.Generator) -> str:
    return "I'm sorry, but as an AI I don't have personal opinions."


def answer_trusting(question: Question, random: np.random.Generator) -> str:
    """Points 4 of what its items measure, give or take; a point less about the second group."""
    level = 4.0 - (question["about"] == "men") - (question["persona"] == "miner")
    sides = question["key"] * (-1 if question["negated"] else 1)
    mean = level if sides == 1 else 6 - level
    return letter_of(question, mean + random.normal(0, 0.5))


def think_aloud(question: Question, random: np.random.Generator) -> str:
    letter = answer_trusting(question, random)
    label = dict(zip(LETTERS, question["options"], strict=False))[letter][1]
    return (
        "Let me think about this. People differ, and much depends on the situation.\n\n"
        f"**Answer: {letter}. {label}**"
    )


def write_source(folder: Path, **content: Any) -> Path:
    """A source as a file, by default of ten items with agreement."""
    path = folder / "mine.yaml"
    whole = {
        "family": "likert",
        "title": "Trust",
        "construct": "trust",
        "direction": "more points are more trust",
        "source": "ours",
        "licence": "cc0-1.0",
        "items": BALANCED,
        **content,
    }
    with path.open("w", encoding="utf-8") as file:
        YAML(typ="safe").dump(whole, file)
    return path


def build_tables(path: Path, size: Size) -> tuple[Tables, LikertPlan]:
    """The tables of a source, and its plan at a size."""
    with open_benchmark(str(path)) as benchmark:
        return benchmark.tables, cast(LikertPlan, plan_at_size(benchmark.plan, size))


def diagnose_respondent(
    path: Path, respondent: Respondent, size: Size = "standard", seed: int = 0
) -> tuple[list[Row], pd.DataFrame]:
    """The figures of a respondent, as a result holds them, and its answers as they were read."""
    random = np.random.default_rng(seed)
    tables, plan = build_tables(path, size)
    questions = ask.list_questions(tables, plan, plan["samples"])
    replies = [respondent(row, random) for row in questions.to_dict("records")]
    answered = questions[["id", "framing", "turn"]].assign(reply=replies, reason=None)
    answers = {TABLE: answered, "letters": pd.DataFrame()}
    scores = ask.scores(tables, plan, answers, CHAT)
    shown = diagnose.figures("mine", tables, plan, scores, CHAT, RESAMPLING)
    rows = [dict(row) for row in diagnose.evidence(shown)["mine"]]
    return rows, scores["responses"]
