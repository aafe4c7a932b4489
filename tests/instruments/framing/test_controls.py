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
from evenruler.measurement.figures import Verdict
from tests.instruments.framing.hair import (
    COLOURS,
    PLACEBOS,
    built,
    declaration,
    subject,
    with_placebos,
)

MOVED = 0.2
"""What a cue, or what stands in its place, adds to the share of `he` of a model that it moves."""

Rule = Callable[[str, str], float]
"""The probability of a form after a prompt."""

Masses = Mapping[str, float]
"""Of answers: `He`, `She`, and `Rabbit`."""

CUES = ("Complete, inferring gender:", "Choose a pronoun for ")
"""How prompts with the cue of salience begin."""

ANY = ("Complete, ", "Choose")
"""How prompts with it, or with a placebo in its place, begin."""


class Scripted(AnsweringModels):
    """Answers by a rule; what it gives for a form is certain to end there."""

    def __init__(self, rule: Rule) -> None:
        self.rule = rule

    def answer(self, request: RequestBatch, inputs: OperationInputs, n: int) -> dict[str, Any]:
        assert request.operation == "words"
        asked = zip(inputs["prompt"], inputs["form"], strict=True)
        masses = [self.rule(prompt, form) for prompt, form in asked]
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
        of = masses(prompt)
        if "Options: " not in prompt:
            return {" he": of["He"], " she": of["She"]}.get(form, 0.0)
        letters = dict(re.findall(r"\b([A-J]): (He|She|Rabbit)", prompt))
        if not letters:  # no content: nothing to choose by
            return 0.1 if form in (" A", " B", " C") else 0.0
        return of[letters[form[1:]]] if form[1:] in letters and form[0] == " " else 0.0

    return rule


def moving(
    prompts: tuple[str, ...], mass: float = 0.6, other: float | None = None
) -> Callable[[str], Masses]:
    """Shares of `he` of .3 to .41 by colour, `MOVED` added where a prompt begins so; `other`: the
    mass in lists."""

    def masses(prompt: str) -> Masses:
        (colour,) = [i for i, name in enumerate(COLOURS) if f" {name} hair" in prompt] or [0]
        share = 0.3 + colour / 100 + MOVED * prompt.startswith(prompts)
        whole = other if other is not None and "Options: " in prompt else mass
        return {"He": whole * share, "She": whole * (1 - share), "Rabbit": 0.05}

    return masses


def by_letters(prompt: str, form: str) -> float:
    """In lists, masses by letter; elsewhere the same whatever is asked."""
    if "Options: " in prompt:
        return {" A": 0.5, " B": 0.2, " C": 0.1}.get(form, 0.0)
    return {" he": 0.3, " she": 0.3}.get(form, 0.0)


FIGURES = ("salience, completion", "salience, choice", "salience", "instruction")


def measured(rule: Rule, **changes: Any) -> dict[str, pd.DataFrame]:
    """A contrast about hair of twelve colours on a scripted model, by table."""
    source = with_placebos(confirmatory=list(FIGURES))
    tables, plan = built(declaration(source, generations=0, **changes))
    whom = subject(name="scripted")
    answers = collect_answers({"hair": (tables, plan)}, requests, whom, Scripted(rule))
    answers.setdefault(
        "replies",
        pd.DataFrame(columns=["id", "configuration", "repetition", "seed", "reply", "reason"]),
    )
    return figures(
        "hair", tables, plan, scores(tables, plan, answers, whom), whom, Resampling(0.95, 100, 0)
    )


def effects(found: dict[str, pd.DataFrame]) -> pd.DataFrame:
    told = found["figures"].set_index("figure")
    return told.loc[[f"effect: {name}" for name in FIGURES]].set_axis(FIGURES)


def test_a_model_that_moves_with_the_cue_alone_moves_farther_than_with_placebos() -> None:
    found = effects(measured(answering(moving(CUES))))
    for name in FIGURES[:3]:
        row = found.loc[name]
        assert (row["value"], row["control"]) == (pytest.approx(MOVED), pytest.approx(0, abs=1e-12))
        assert row["n"] == 12
    other = found.loc["instruction"]
    assert (other["value"], other["control"]) == pytest.approx((0, 0), abs=1e-12)


def test_a_model_that_moves_with_the_syntax_moves_as_with_placebos() -> None:
    found = effects(measured(answering(moving(ANY))))
    for name in FIGURES[:3]:
        row = found.loc[name]
        assert (row["value"], row["control"]) == (pytest.approx(MOVED), pytest.approx(MOVED))


def jittering(prompt: str) -> Masses:
    """Moved by any words in the place of the cue, by each wording and colour a little otherwise."""
    of = moving(ANY)(prompt)
    wording = next((i for i, text in enumerate(PLACEBOS) if text in prompt), 6)
    colour = next((i for i, name in enumerate(COLOURS) if f" {name} hair" in prompt), 0)
    by = (
        0.06 * np.sin(5 * wording + 2) + 0.04 * np.sin(7 * wording + 3 * colour)
        if prompt.startswith(ANY)
        else 0.0
    )
    return of | {"He": of["He"] + 0.6 * by, "She": of["She"] - 0.6 * by}


def test_nor_where_every_wording_moves_it_by_something_else() -> None:
    found = effects(measured(answering(jittering)))
    for name in FIGURES[:3]:
        row = found.loc[name]
        assert row["value"] > 0.1
        assert row["control"] == pytest.approx(row["value"], abs=0.1)


def test_a_model_that_answers_to_letters_alone_has_no_effect() -> None:
    tables = measured(by_letters)
    found = effects(tables)
    assert found["value"].tolist() == pytest.approx([0, 0, 0, 0], abs=1e-12)
    shares = tables["distributions"].query("task == 'choice'")["share"]
    assert shares.to_numpy() == pytest.approx(np.full(len(shares), 0.5))


def test_which_takes_the_letters_being_calibrated_or_balanced() -> None:
    # In an order and its reverse what stands at the ends has .5 and .1, what stands in the middle
    # .2 and .2: he has .6 of he and she where she is in the middle, .4 where he is, and half where
    # it is the rabbit.
    found = measured(by_letters, calibrated=False)
    own = found["distributions"].query("task == 'choice' and framing == 'instruction'")
    by_stimulus = own.pivot(index="stimulus", columns="outcome", values="share")
    assert sorted(by_stimulus["he"].round(6).unique()) == [0.4, 0.5, 0.6]
    # Over stimuli every option is at every letter as often.
    assert by_stimulus["he"].mean() == pytest.approx(0.5)
    assert effects(found)["value"].tolist() == pytest.approx([0, 0, 0, 0], abs=1e-12)


def test_a_task_that_is_hardly_answered_is_unfit_and_no_part_of_the_mean() -> None:
    tables = measured(answering(moving(CUES, other=0.04)))
    found = effects(tables)
    unfit = found.loc["salience, choice"]
    # The little that there is moves as much, and is printed.
    assert (unfit["value"], unfit["verdict"]) == (pytest.approx(MOVED), str(Verdict.INVALID))
    assert "(choice, " in unfit["why"]
    assert "only 4.0% of its answers" in unfit["why"]
    assert pd.isna(found.loc["salience", "verdict"])
    headline = tables["figures"].query("figure == 'change: salience, choice'").iloc[0]
    assert headline["verdict"] == str(Verdict.INVALID)
    assert "only 4.0% of its answers" in headline["why"]
    out = tables["exclusions"].query("excluded")
    assert set(out["task"]) == {"choice"}
    assert len(out) == 8  # two cells and six placebos
    assert "choice" not in set(tables["shifts"]["task"])


class Replying(Scripted):
    """Answers words by a rule, and replies the same to all, or what is made of its prompt."""

    def __init__(self, reply: Callable[[str], str]) -> None:
        super().__init__(answering(moving(CUES)))
        self.reply = reply

    def answer(self, request: RequestBatch, inputs: OperationInputs, n: int) -> dict[str, Any]:
        if request.operation == "words":
            return super().answer(request, inputs, n)
        return {"reply": [self.reply(prompt) for prompt in inputs["prompt"]], "reason": [None] * n}


def replied(reply: Callable[[str], str]) -> pd.DataFrame:
    """Figures of replies, by figure."""
    source = with_placebos(confirmatory=list(FIGURES))
    tables, plan = built(declaration(source, generations=2, confirmed="choice"))
    whom = subject(name="scripted")
    answers = collect_answers({"hair": (tables, plan)}, requests, whom, Replying(reply))
    found = figures(
        "hair", tables, plan, scores(tables, plan, answers, whom), whom, Resampling(0.95, 100, 0)
    )
    told = found["figures"]
    return told[told["part"].str.endswith("choice")].set_index(["part", "figure"])


class TestNoMeasurement:
    """Replies that say nothing, and answers that never change, are no equality."""

    @pytest.mark.parametrize(
        ("reply", "said"),
        [
            (
                "I cannot help with that.",
                r"\d+ of \d+ requests were not answered \(\d+ refused, 0 empty",
            ),
            (" ... ", r"\(0 refused, \d+ empty, 0 in another language\)"),
            ("She", r"all \d+ replies are the same"),
        ],
    )
    def test_replies(self, reply, said) -> None:
        found = replied(lambda _: reply)
        of_effects = found[
            found.index.get_level_values("figure").str.startswith(("effect: ", "change: ", "shift"))
        ]
        assert len(of_effects) >= len(FIGURES)
        assert set(of_effects["verdict"]) == {str(Verdict.INVALID)}
        assert of_effects["why"].str.contains(said).all()
        assert found.xs("coverage", level="figure")["verdict"].isna().all()

    def test_replies_that_nobody_can_read_are_not_held_against_the_model(self) -> None:
        found = replied(lambda _: "Bananas are yellow.")
        of_effects = found[
            found.index.get_level_values("figure").str.startswith(("effect: ", "change: ", "shift"))
        ]
        assert len(of_effects) >= len(FIGURES)
        assert set(of_effects["verdict"]) == {str(Verdict.INCONCLUSIVE)}
        assert str(Verdict.INVALID) not in set(found["verdict"])
        descriptive = of_effects[of_effects["smallest"].isna()]
        assert (
            descriptive["why"]
            .str.contains(r'replies not read: .* such as "Bananas are yellow\."')
            .all()
        )

    def test_a_model_that_answers_has_its_verdicts(self) -> None:
        found = replied(lambda prompt: "He" if prompt.startswith(CUES) else "She is here")
        assert str(Verdict.INVALID) not in set(found["verdict"])

    def test_words_that_are_as_likely_after_any_prompt(self) -> None:
        found = effects(measured(lambda prompt, form: 0.1))
        assert set(found["verdict"]) == {str(Verdict.INVALID)}
        assert found["why"].str.contains("cells .* have the same score").all()
