"""Answers to a contrast: scripted chats of which it is known what moves them, through the parser
and the judge.

`moved`: six of ten replies that would be of another class say "they" under the cue: 42 points, what
`standard` detects.
"""

from collections.abc import Iterable
from dataclasses import replace
from functools import cache, partial
from typing import Any

import pandas as pd

from evenruler.evaluate.benchmark import open_benchmark
from evenruler.instruments.framing import ask, diagnose
from evenruler.instruments.framing.declare.task_prompts import placebo_of
from evenruler.instruments.framing.declare.tasks import cues_of
from evenruler.instruments.framing.diagnose.effects import CHANGE, UNANSWERED
from evenruler.instruments.framing.schemas import FORM_ANSWERS
from evenruler.instruments.instrument import Plan, Subject, Tables, plan_at_size
from evenruler.measurement import Resampling
from evenruler.measurement.figures import Verdict
from tests.performance.planted import Case, Family, Kind, Row
from tests.personas import STYLES, Answerer, sampled

NAME, CUE = "framing-gender", "gender-salience"

CHAT = Subject("scripted", "chat", "scripted", frozenset({"generate"}), True, False, (), "")

COLUMNS: list[tuple[str, Kind]] = [
    ("false effect, any headline", "false"),
    ("right verdict, each task", "power"),
    ("unanswered told", "power"),
]


@cache
def published() -> tuple[Tables, Plan, pd.DataFrame]:
    """Tables, plan and prompts of the benchmark."""
    with open_benchmark(NAME) as found:
        plan = plan_at_size(found.plan, "standard")
        return found.tables, plan, sampled(found.tables, plan)


def found(chat: Answerer, seed: int) -> pd.Series:
    """The verdict of every headline on a chat, by name."""
    tables, plan, rows = published()
    replies = rows[["id", "configuration", "repetition", "seed"]].assign(
        reply=chat.replies(rows, seed), reason=None
    )
    answers = {"replies": replies, "forms": pd.DataFrame(columns=FORM_ANSWERS.names)}
    scores = ask.scores(tables, plan, answers, CHAT)
    own = diagnose.figures(NAME, tables, plan, scores, CHAT, Resampling(0.95, 100, 0))["figures"]
    return own.set_index("figure")["verdict"].dropna()


def _told(chat: Answerer, right: Verdict | None, silent: Verdict | None, seed: int) -> Row:
    verdicts = found(chat, seed)
    under = verdicts.index.str.contains(CUE)
    changes, unanswered = (
        verdicts[verdicts.index.str.startswith(kind) & under] for kind in (CHANGE, UNANSWERED)
    )
    may_be = set()
    if right == Verdict.EFFECT:
        may_be |= set(changes.index)
    if silent == Verdict.EFFECT:
        may_be |= set(unanswered.index)
    false = (verdicts == Verdict.EFFECT) & ~verdicts.index.isin(may_be)
    return (
        bool(false.any()),
        None if right is None else float((changes == right).mean()),
        None if silent is None else bool((unanswered == silent).all()),
    )


def _case(
    name: str,
    chat: Answerer,
    right: Verdict | None = None,
    silent: Verdict | None = None,
    share: float = 0.2,
) -> Case:
    return Case(f"answers, {name}", partial(_told, chat, right, silent), share)


def under_the_cue(row: dict[str, Any]) -> float:
    """Refuses seven of ten questions under the cue, whatever its wording."""
    there = any(cue.partition("~")[0] == CUE for cue in cues_of(row["framing"]))
    return 0.7 * (there and placebo_of(row["framing"]) <= 0)


def _cases() -> Iterable[Case]:
    invalid, effect, none = Verdict.INVALID, Verdict.EFFECT, Verdict.NO_EFFECT
    moved = Answerer(moved=0.6)
    yield _case("no bias", Answerer(), silent=none)
    yield _case("moved by the cue", moved, effect, none)
    yield _case("moved by any prefix", replace(moved, any_prefix=True), Verdict.NOT_SPECIFIC, none)
    yield _case("refuses under the cue", Answerer(refuses=under_the_cue), silent=effect)
    yield _case("always A", Answerer(always="A"), invalid, invalid, 0.02)
    yield _case("refuses all", Answerer(refuses=lambda row: 1.0), invalid, invalid, 0.02)
    yield _case("no bias, a third takes the last option", Answerer(last=0.33), None, none, 0.06)
    yield _case(
        "moved by the cue, a third takes the last option",
        replace(moved, last=0.33),
        effect,
        none,
        0.06,
    )
    for name in ("marked", "text", "wordy"):
        yield _case(
            f"moved by the cue, {name}", replace(moved, style=STYLES[name]), effect, none, 0.02
        )


ANSWERS = Family("answers", COLUMNS, _cases)
