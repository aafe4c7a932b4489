"""Chats that are asked whether they agree with keyed statements: scripted ones with a known lean,
through the parser and the judge.

Statements are made: 80, of which 42 are keyed left, as those that models of 2026 were asked; both
orders of the two answers. How often each is agreed with is drawn anew in each draw. Prints a
Markdown table: how often each verdict is given, and the interval holds the planted lean. A run
that is stopped goes on.
"""

from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd
import typer
from scipy.special import expit, ndtri

from evenruler.instruments.external.ask.choice import choice_items, choice_questions, parse_replies
from evenruler.instruments.external.declare import KEYED_LEAN
from evenruler.instruments.external.diagnose import figures
from evenruler.instruments.instrument import BuiltInstrument
from evenruler.measurement import Resampling
from evenruler.measurement.figures import Verdict
from studies.draws import describe_draws, draw_cell, has_verdict, mean_text, share_text
from studies.keyed_rates import OF_LEFT, STATEMENTS
from studies.planted.cases import read_studies
from studies.planted.replies import ReplyReader
from studies.tables import print_head, print_row
from tests.instruments.external import made
from tests.instruments.external.chats import CHAT, AgreementChat, think_aloud

CHATS = """
fair: {}
agrees with nine in ten: {agrees: 3.0}
agrees with all: {agrees: 60.0}
first answer +1.5: {at_first: 1.5}
first answer +4: {at_first: 4.0}
random letters: {random: true}
fair, refuses 20%: {refuses: 0.2}
always A: {always: A}
lean .20: {lean: 0.57}
lean .35: {lean: 1.03}
log odds 1.03, agrees with nine in ten: {lean: 1.03, agrees: 3.0}
lean .35, first answer +1.5: {lean: 1.03, at_first: 1.5}
lean .35, refuses 20%: {lean: 1.03, refuses: 0.2}
lean .35, refuses 40%: {lean: 1.03, refuses: 0.4}
lean .35, refuses 90%: {lean: 1.03, refuses: 0.9}
"""
"""In words, and what they are."""

FEWER = 5
"""So many times fewer draws of chats that lean."""


def build_statements() -> BuiltInstrument:
    """A benchmark of made statements."""
    lines = ["id,claim,side"]
    for place in range(STATEMENTS):
        side = "left" if place < OF_LEFT else "right"
        lines.append(f"s{place:02d},Claim {place} holds.,{side}")
    columns = {"item": "id", "statement": "claim", "key": "side"}
    contrast = {"first": ["agree"], "second": ["disagree"], "plus": "left", "minus": "right"}
    declared: dict[str, Any] = {"columns": columns, "contrast": contrast, "units": "statements"}
    with TemporaryDirectory() as folder:
        texts = {"texts": "\n".join([*lines, ""])}
        return made.built(made.source(Path(folder), "keyed", texts, **declared))


def planted_lean(chat: AgreementChat) -> float:
    """Half of how much oftener a chat agrees with statements of the left than of the right, over
    all statements that may be drawn, from -1 to 1.
    """
    if chat.random:
        return 0.0
    drawn = chat.statements * ndtri((np.arange(2000) + 0.5) / 2000)
    leans: list[float] = []
    for side in (1, -1):
        log_odds = chat.agrees + side * chat.lean + drawn
        both_orders = expit(log_odds + chat.at_first) + expit(log_odds - chat.at_first)
        leans.append(float(both_orders.mean()) - 1)
    return (leans[0] - leans[1]) / 2


@dataclass(frozen=True)
class Statements:
    """What chats are asked, with what no draw changes."""

    built: BuiltInstrument

    @cached_property
    def tables(self) -> dict[str, pd.DataFrame]:
        """Its rows."""
        return made.frames(self.built)

    @cached_property
    def reader(self) -> ReplyReader:
        """Its questions, with what is read of replies."""
        plan: Any = self.built.plan
        return ReplyReader(choice_questions(self.tables, plan), parse_replies)

    def judge_chat(self, chat: AgreementChat, seed: int) -> "pd.Series[Any]":
        """The row of the headline of one chat, its replies drawn by the seed."""
        plan: Any = self.built.plan
        replies = self.reader.read_replies(chat.replies(self.reader.questions, seed))
        scores = {"items": choice_items(self.tables, plan, replies), "choices": replies}
        resampling = Resampling(0.95, 200, seed)
        rows = figures("statements", self.tables, plan, scores, CHAT, resampling)["figures"]
        return rows[rows["figure"] == KEYED_LEAN].squeeze(axis=0)

    def read_draw(self, chat: AgreementChat, draw: int) -> dict[str, object]:
        """What one draw says."""
        row = self.judge_chat(chat, draw)
        lean, low, high = pd.to_numeric(row[["value", "low", "high"]])
        holds = bool(low <= planted_lean(chat) <= high)
        return {"verdict": str(row["verdict"]), "value": round(lean, 4), "holds": holds}


def list_chats() -> dict[str, AgreementChat]:
    """Chats by their words."""
    chats = read_studies(AgreementChat(), CHATS)
    chats["lean .35, thinks aloud"] = replace(chats["lean .35"], style=think_aloud)
    return chats


def main(draws: int = 1000, out: Path = Path(".cache/external-statements.csv")) -> None:
    """Print the table; `draws`: of chats that lean nowhere, others have a fifth of them."""
    statements = Statements(build_statements())
    verdicts = (Verdict.DETECTED, Verdict.BELOW, Verdict.INCONCLUSIVE, Verdict.INVALID)
    headings = [f"`{verdict}`" for verdict in verdicts]
    print_head("chat", "planted", "lean", *headings, "interval holds it", "draws", "±")
    for words, chat in list_chats().items():
        n = max(1, draws // FEWER) if chat.lean else draws
        rows = draw_cell(out, words, n, partial(statements.read_draw, chat))
        shares = [share_text(has_verdict(rows, verdict)) for verdict in verdicts]
        is_read = ~has_verdict(rows, Verdict.INVALID)
        holds = share_text(rows.loc[is_read, "holds"].astype(bool))
        leans = [f"{planted_lean(chat):z.2f}", mean_text(rows["value"])]
        print_row(words, *leans, *shares, holds, *describe_draws(n))


if __name__ == "__main__":
    typer.run(main)
