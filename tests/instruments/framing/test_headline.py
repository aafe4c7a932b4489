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
from tests.instruments.near import approx

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
    source = with_placebos(
        [*PLACEBOS, *MORE_PLACEBOS],
        WORDINGS,
        **changes,
    )
    sizes = {
        "generations": 1,
        "most_wordings": 9,
        "most_placebos": 99,
        "placebo_stimuli": 99,
        "confirmed": "choice",
    }
    tables, plan = built(declaration(source, **sizes))
    whom = subject("chat", name="scripted")
    answers = collect_answers(
        {"hair": (tables, plan)},
        requests,
        whom,
        Replying(reply),
    )
    assert not answers["replies"].duplicated(["id", "repetition"]).any()
    if doubled:
        answers = {
            name: pd.concat([table, table], ignore_index=True) for name, table in answers.items()
        }
    answers = none() | answers
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
        assert (figure.verdict, figure.value) == (
            str(Verdict.EFFECT),
            approx(75),
        )
        assert figure.levels == "12 stimuli, 3 wordings, 12 placebos"
        assert self.compared(less, more).value == approx(-75)


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
        assert total["value"] == approx(2)
        reason = "one reply per question cannot be distinguished from chance"
        assert find_figure(rows, "effect", cue="salience")["reason"] == reason
        assert find_figure(rows, "shift_probability")["reason"] == reason

    def test_where_placebos_turn_it_as_well_it_is_not_specific(self) -> None:
        row = find_change(replied(turning(*ANY)), task="completion")
        assert (row["value"], row["placebo"], row["specific"]) == (100, 100, 0)
        assert row["verdict"] == str(Verdict.NOT_SPECIFIC)

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
        assert twice[numbers].astype(float).tolist() == approx(once[numbers].astype(float).tolist())
        assert (twice["levels"], twice["verdict"]) == (once["levels"], once["verdict"])


def test_the_quick_scale_asks_one_wording_and_six_placebos() -> None:
    source = with_placebos([*PLACEBOS, *MORE_PLACEBOS], WORDINGS)
    tables, plan = built(declaration(source))
    (words, *_) = requests(
        tables,
        plan,
        {},
        subject(chats=False),
    )
    framings = tables["prompts"].set_index("id")["framing"]
    expected = {"bare", "instruction", "salience+instruction"}
    for number in range(1, 7):
        expected |= {
            f"salience~{number}+instruction",
            f"instruction~{number}",
        }
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
    assert row["value"] == approx(30, abs=0.5)
    assert (row["verdict"], row["why"]) == (
        str(Verdict.INCONCLUSIVE),
        f"No verdict is possible: {lacking}.",
    )


@pytest.mark.parametrize("reply", ["I cannot help with that.", "She"])
def test_replies_that_say_nothing_are_no_measurement(reply: str) -> None:
    """Refusals, and answers that never change, are no equality."""
    assert find_change(replied(lambda _: reply), task="completion")["verdict"] == Verdict.INVALID
