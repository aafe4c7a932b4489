"""What the controls of framing tell apart, from the declaration to verdicts.

The models are scripted: their answers are numbers that are written down here, made from what stands
in a prompt. One moves with the cue, one with its syntax whatever it says, one answers to letters
and reads nothing.
"""

import math
import re
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pandas as pd
import pytest

from evenruler.instruments.asking import AnsweringModels, OperationInputs, collect_answers
from evenruler.instruments.framing.ask import requests, scores
from evenruler.instruments.framing.diagnose import figures
from evenruler.instruments.instrument import RequestBatch
from evenruler.measurement import Resampling
from tests.instruments.framing.answering import none
from tests.instruments.framing.hair import (
    COLOURS,
    built,
    declaration,
    subject,
    with_alternatives,
)
from tests.instruments.near import approx, near

MOVED = 0.2
"""What a cue, or what stands in its place, adds to the share of `he` of a model that it moves."""

Rule = Callable[[str, str], float]
"""The probability of a form after a prompt."""

Masses = Mapping[str, float]
"""Of answers: `He`, `She`, and `Rabbit`."""

CUES = ("Complete, inferring gender:", "Choose a pronoun for ")
"""How prompts with the cue of salience begin."""

ANY = ("Complete, ", "Choose")
"""How prompts with it, or with anything in its place, begin."""


class Scripted(AnsweringModels):
    """Answers by a rule; what it gives for a form is certain to end there."""

    def __init__(self, rule: Rule) -> None:
        self.rule = rule

    def answer(self, request: RequestBatch, inputs: OperationInputs, n: int) -> dict[str, Any]:
        assert request.operation == "words"
        questions = zip(inputs["prompt"], inputs["surface_form"], strict=True)
        masses = [self.rule(prompt, form) for prompt, form in questions]
        nats = [math.log(mass) if mass else -math.inf for mass in masses]
        certain = [0.0] * n
        return {
            "nats": nats,
            "ends": certain,
            "alone": certain,
            "first_nats": nats,
            "first_token": list(range(n)),
        }


def answering(masses: Callable[[str], Masses]) -> Rule:
    """A model that has these answers after a prompt, each in one form; as letters where the prompt
    lists them."""

    def rule(prompt: str, form: str) -> float:
        mass_by_answer = masses(prompt)
        if "Options: " not in prompt:
            return {" he": mass_by_answer["He"], " she": mass_by_answer["She"]}.get(
                form,
                0.0,
            )
        letters = dict(re.findall(r"\b([A-J]): (He|She|Rabbit)", prompt))
        if not letters:  # no content: nothing to choose by
            return 0.1 if form in (" A", " B", " C") else 0.0
        space, letter = form[:1], form[1:]
        is_listed = space == " " and letter in letters
        return mass_by_answer[letters[letter]] if is_listed else 0.0

    return rule


def moving(prompts: tuple[str, ...]) -> Callable[[str], Masses]:
    """Shares of `he` of .3 to .41 by colour, `MOVED` added where a prompt begins so."""

    def masses(prompt: str) -> Masses:
        (colour,) = [
            number for number, name in enumerate(COLOURS) if f" {name} hair" in prompt
        ] or [0]
        share = 0.3 + colour / 100 + MOVED * prompt.startswith(prompts)
        return {"He": 0.6 * share, "She": 0.6 * (1 - share), "Rabbit": 0.05}

    return masses


def by_letters(prompt: str, form: str) -> float:
    """In lists, masses by letter; elsewhere the same whatever is asked."""
    if "Options: " in prompt:
        return {" A": 0.5, " B": 0.2, " C": 0.1}.get(form, 0.0)
    return {" he": 0.3, " she": 0.3}.get(form, 0.0)


CONFIRMATORY = ["salience, completion", "salience, choice", "salience", "instruction"]

EFFECTS = [
    ("salience", "completion"),
    ("salience", "choice"),
    ("salience", ""),
    ("instruction", ""),
]
"""The same by cue and task."""


def measured(rule: Rule, **changes: Any) -> dict[str, pd.DataFrame]:
    """A contrast about hair of twelve colours on a scripted model, by table."""
    source = with_alternatives(headlines=CONFIRMATORY)
    tables, plan = built(declaration(source, generations=0, **changes))
    whom = subject(name="scripted")
    answered = collect_answers(
        {"hair": (tables, plan)},
        requests,
        whom,
        Scripted(rule),
    )
    answers = none() | answered
    return figures(
        "hair",
        tables,
        plan,
        scores(tables, plan, answers, whom),
        whom,
        Resampling(
            0.95,
            100,
            0,
        ),
    )


def effects(tables: dict[str, pd.DataFrame]) -> pd.DataFrame:
    figure_rows = tables["figures"].query("figure == 'effect'").fillna({"task": ""})
    return figure_rows.set_index(["cue", "task"]).loc[EFFECTS]


@pytest.mark.parametrize(
    ("prompts", "control"),
    [(CUES, 0), (ANY, MOVED)],
)
def test_what_moves_with_the_cue_alone_moves_farther_than_with_alternatives(
    prompts: tuple[str, ...], control: float
) -> None:
    figure_rows = effects(measured(answering(moving(prompts))))
    for key in EFFECTS[:3]:
        row = figure_rows.loc[key]
        assert row["value"] == approx(MOVED)
        assert row["control"] == near(control)
        assert row["n"] == 12
    other = figure_rows.loc[EFFECTS[3]]
    assert other["value"] == near(0)
    assert pd.isna(other["control"])


def test_a_model_that_answers_to_letters_alone_has_no_effect() -> None:
    tables = measured(by_letters)
    assert effects(tables)["value"].tolist() == near([0, 0, 0, 0])
    shares = tables["distributions"].query("task == 'choice'")["share"]
    assert shares.to_numpy() == approx(np.full(len(shares), 0.5))
