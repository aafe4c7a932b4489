"""The headline of a contrast: planted truths, from what a model answers to the verdict."""

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest

from evenruler.instruments.asking import AnsweringModels, OperationInputs, collect_answers
from evenruler.instruments.framing.ask import requests, scores
from evenruler.instruments.framing.diagnose import contrast, figures
from evenruler.instruments.instrument import RequestBatch
from evenruler.measurement import Resampling
from evenruler.measurement.figures import Verdict
from evenruler.measurement.verdicts import ValidityCheck, judge
from tests.instruments.framing.answering import none
from tests.instruments.framing.hair import (
    COLOURS,
    MORE_PLACEBOS,
    PLACEBOS,
    WORDINGS,
    built,
    declaration,
    subject,
    with_placebos,
)
from tests.instruments.framing.plans import figures_of, find_figure
from tests.instruments.framing.tables import distributions

CUES = ("inferring gender", "Choose a pronoun", *WORDINGS)
"""What every wording of the cue has in it."""

ANY = (*CUES, "noting", "Choose, ")
"""The same of every wording of it and of every placebo."""


class Replying(AnsweringModels):
    """One reply to every question, made from the prompt."""

    def __init__(self, reply: Callable[[str], str]) -> None:
        self.reply = reply

    def answer(self, request: RequestBatch, inputs: OperationInputs, n: int) -> dict[str, Any]:
        replies = [self.reply(prompt) for prompt in inputs["prompt"]]
        return {"reply": replies, "reason": [None] * n}


def replied(*args: Any, **changes: Any) -> "pd.DataFrame":
    """Figures of replies of a hosted chat model: arguments as of `diagnosed`."""
    return diagnosed(*args, **changes)["figures"].query("readout == 'choice'")


def find_change(figures: pd.DataFrame, **dimensions: str) -> "pd.Series[Any]":
    """The headline of salience."""
    about = {"cue": "salience", "outcome": "he"}
    return find_figure(figures, "change", **about | dimensions)


def diagnosed(
    reply: Callable[[str], str],
    doubled: bool = False,
    **changes: Any,
) -> dict[str, pd.DataFrame]:
    """What is found of the replies of a hosted chat model: one reply a question, placebos
    included."""
    changes.setdefault("headlines", ["salience, completion", "salience, choice"])
    source = with_placebos([*PLACEBOS, *MORE_PLACEBOS], WORDINGS, **changes)
    sizes = {
        "generations": 1,
        "most_wordings": 9,
        "most_placebos": 99,
        "placebo_stimuli": 99,
        "confirmed": "choice",
    }
    tables, plan = built(declaration(source, **sizes))
    whom = subject("chat", name="scripted")
    answers = collect_answers({"hair": (tables, plan)}, requests, whom, Replying(reply))
    assert not answers["replies"].duplicated(["id", "repetition"]).any()
    if doubled:
        answers = {
            name: pd.concat([table, table], ignore_index=True) for name, table in answers.items()
        }
    answers = none() | answers
    return figures(
        "hair", tables, plan, scores(tables, plan, answers, whom), whom, Resampling(0.95, 100, 0)
    )


def turning(*moves: str, share: float = 1.0) -> Callable[[str], str]:
    """She, and he where something of a list stands in the prompt, for a share of the colours."""
    some = COLOURS[: round(share * len(COLOURS))]

    def reply(prompt: str) -> str:
        is_moved = any(move in prompt for move in moves) and any(
            f"{colour} hair" in prompt for colour in some
        )
        if "Options: " not in prompt:
            return "He smiles." if is_moved else "She smiles."
        return f"{prompt[prompt.index(': ' + ('He' if is_moved else 'She')) - 1]}"

    return reply


@cache
def made_of(*moves: str, share: float = 1.0) -> pd.DataFrame:
    """What a headline is made of, of a model that is turned by these."""
    rows = diagnosed(turning(*moves, share=share))["headlines"]
    return rows.query("figure == 'change' and task == 'completion'")


class TestTwoModels:
    def compared(self, first: pd.DataFrame, other: pd.DataFrame) -> Any:
        return judge([(contrast(first, other, 10.0), ValidityCheck())])[0]

    def test_one_that_a_cue_turns_more_is_found(self) -> None:
        more, less = made_of(*CUES), made_of(*CUES, share=0.25)
        figure = self.compared(more, less)
        assert (figure.verdict, figure.value) == (str(Verdict.EFFECT), pytest.approx(75))
        assert figure.levels == "12 stimuli, 3 wordings, 12 placebos"
        assert self.compared(less, more).value == pytest.approx(-75)

    def test_the_difference_has_the_dimensions_of_the_headline(self) -> None:
        figure = contrast(made_of(*CUES), made_of(*ANY), 10.0)
        cue_and_task = {"cue": "salience", "task": "completion", "outcome": "he"}
        part = {"prompt_format": "chat", "readout": "choice"}
        assert (figure.figure, figure.dimensions) == ("change", part | cue_and_task)

    def test_one_that_anything_turns_is_no_more_turned_by_the_cue(self) -> None:
        figure = self.compared(made_of(*ANY), made_of(*CUES, share=0.25))
        assert figure.verdict != Verdict.EFFECT
        assert self.compared(made_of(*CUES), made_of(*CUES)).verdict == Verdict.NO_EFFECT


class TestOneReplyAQuestion:
    def test_where_every_wording_of_the_cue_turns_it_there_is_an_effect(self) -> None:
        rows = replied(turning(*CUES))
        for task in ("completion", "choice"):
            row = find_change(rows, task=task)
            assert (row["value"], row["placebo"], row["specific"]) == (100, 0, 100)
            assert (row["verdict"], row["levels"]) == (
                str(Verdict.EFFECT),
                "12 stimuli, 3 wordings, 12 placebos",
            )
            assert row["p"] == 2 / 2**12
        total = find_figure(rows, "total_shift", cue="salience", task="completion")
        assert total["value"] == pytest.approx(2)
        reason = "one reply per question cannot be distinguished from chance"
        assert find_figure(rows, "effect", cue="salience")["reason"] == reason
        assert find_figure(rows, "shift_probability")["reason"] == reason

    def test_where_placebos_turn_it_as_well_it_is_not_specific(self) -> None:
        row = find_change(replied(turning(*ANY)), task="completion")
        assert (row["value"], row["placebo"], row["specific"]) == (100, 100, 0)
        assert row["verdict"] == str(Verdict.NOT_SPECIFIC)

    def test_a_placebo_that_brings_no_class_is_answered_all_the_same(self) -> None:
        reply = turning(*CUES)
        rows = replied(
            lambda prompt: "Bananas are yellow." if "noting" in prompt else reply(prompt)
        )
        row = find_change(rows, task="completion")
        # An invalid reply is a class: placebos bring no "he", as before.
        assert (row["value"], row["placebo"]) == (100, 0)
        assert row["verdict"] == str(Verdict.EFFECT)

    def test_rows_that_stand_there_twice_change_nothing(self) -> None:
        once, twice = (
            find_change(replied(turning(*CUES, share=0.5), doubled), task="completion")
            for doubled in (False, True)
        )
        numbers = [
            "value",
            "low",
            "high",
            "p",
            "specific_low",
            "specific_high",
            "detectable",
            "p_effect",
            "p_denial",
        ]
        assert twice[numbers].astype(float).tolist() == pytest.approx(
            once[numbers].astype(float).tolist()
        )
        assert (twice["levels"], twice["verdict"]) == (once["levels"], once["verdict"])


def test_the_quick_scale_asks_one_wording_and_six_placebos() -> None:
    source = with_placebos([*PLACEBOS, *MORE_PLACEBOS], WORDINGS)
    tables, plan = built(declaration(source))
    (words, *_) = requests(tables, plan, {}, subject(chats=False))
    framings = tables["prompts"].set_index("id")["framing"]
    expected = {"bare", "instruction", "salience+instruction"}
    for number in range(1, 7):
        expected |= {f"salience~{number}+instruction", f"instruction~{number}"}
    assert set(framings.reindex(words.rows["id"]).dropna()) == expected


def test_the_cue_of_a_cell_is_its_first_wording_and_ids_of_rows_stay() -> None:
    fewer, more = (
        built(declaration(source))[0]["prompts"]
        for source in (with_placebos(), with_placebos(PLACEBOS, WORDINGS))
    )
    assert set(fewer["id"]) < set(more["id"])
    added = more[~more["id"].isin(fewer["id"])]
    assert set(added["framing"]) == {"salience~-2+instruction", "salience~-3+instruction"}
    assert added["placebo"].isna().all()


def shares(
    cue: np.ndarray,
    placebos: np.ndarray,
    coverage: float = 0.5,
    low: str | None = None,
    **changes: Any,
) -> pd.DataFrame:
    """Figures of shares of he that wordings move by [12, m], and placebos by [12, k]; after `low`
    few answer."""
    columns = dict(zip(["salience", "salience~-2", "salience~-3"], cue.T, strict=False))
    columns |= {f"salience~{number}": column for number, column in enumerate(placebos.T, start=1)}
    stimuli = [f"s{number}" for number in range(len(cue))]
    cells = {("say", "bare"): dict.fromkeys(stimuli, (0.4, 0.6))}
    for framing, moved in columns.items():
        moved_shares = np.column_stack([0.4 + moved, 0.6 - moved])
        cells["say", framing] = dict(zip(stimuli, moved_shares.tolist(), strict=True))
    measured = distributions(cells, classes=["he", "she"]).assign(coverage=coverage)
    measured.loc[measured["framing"] == low, "coverage"] = 0.04
    return figures_of(measured, factors=["salience"], **changes)


SPREAD = np.linspace(-0.01, 0.01, 12)[:, None]
CUE = np.full((12, 3), 0.3)
"""Three wordings that move every stimulus by .3."""
STILL = np.zeros((12, 12))
"""Twelve placebos that move nothing."""


def test_what_is_there_and_surely_less_than_is_worth_naming_is_no_effect() -> None:
    moves = np.full((12, 3), 0.03) + SPREAD
    row = find_change(shares(moves, SPREAD + STILL))
    assert row["p"] < 0.001
    assert row["specific"] == pytest.approx(3)
    assert row["verdict"] == str(Verdict.NO_EFFECT)


@pytest.mark.parametrize(
    ("cue", "placebos", "lacking"),
    [
        ((12, 2), (12, 12), "2 answered wordings of the cue (at least 3 needed)"),
        ((12, 3), (12, 11), "11 answered placebos (at least 12 needed)"),
        ((9, 3), (9, 12), "9 stimuli with every wording and placebo (at least 10 needed)"),
    ],
)
def test_a_design_that_has_too_little_says_of_what(cue, placebos, lacking) -> None:
    moves = np.full(cue, 0.3) + SPREAD[: cue[0]]
    row = find_change(shares(moves, np.zeros(placebos)))
    assert row["value"] == pytest.approx(30, abs=0.5)
    assert (row["verdict"], row["why"]) == (
        str(Verdict.INCONCLUSIVE),
        f"No verdict is possible: {lacking}.",
    )


def test_hardly_any_answer_of_a_class_is_no_measurement() -> None:
    row = find_change(shares(CUE, STILL, coverage=0.04))
    assert row["verdict"] == str(Verdict.INVALID)
    assert "only 4.0% of its answers name an option (say, " in row["why"]


def test_a_placebo_that_is_hardly_answered_leaves_and_the_others_stand() -> None:
    numbers = np.zeros((12, 13))
    numbers[:, 4] = 0.5
    row = find_change(shares(CUE + SPREAD, numbers + SPREAD, low="salience~5"))
    assert (row["placebo"], row["levels"]) == (
        pytest.approx(0),
        "12 stimuli, 3 wordings, 12 placebos, 1 task",
    )
    assert row["verdict"] == str(Verdict.EFFECT)


def test_without_a_class_there_is_no_headline() -> None:
    rows = shares(CUE, STILL, focal_outcome=None, headlines=[])
    assert "change" not in set(rows["figure"])


def test_another_class_gives_what_the_first_loses() -> None:
    he, she = (
        find_change(shares(CUE + SPREAD, STILL, focal_outcome=name), outcome=name)
        for name in ("he", "she")
    )
    assert (he["value"], he["specific_low"]) == pytest.approx(
        (-she["value"], -she["specific_high"])
    )
    assert he["verdict"] == she["verdict"] == str(Verdict.EFFECT)
