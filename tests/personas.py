"""Scripted chats whose bias is known: they choose between two sentences by odds, in memory or behind a server.

The same odds give the replies of both, so what the whole way over HTTP finds can be told beforehand.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import expit, logit

from evenruler.instruments import choosing
from evenruler.instruments.choosing import FIRST, KNOWN, SECOND
from evenruler.instruments.instrument import Plan, Tables
from evenruler.instruments.probes.ask import questions
from evenruler.tables.schemas import BARE
from tests.loopback_openai import ScriptedServer, said_in

REFUSAL = "I'm sorry, but I can't help with that."

Style = Callable[[str, str], str]
"""How a choice is worded, of its letter and its sentence."""

STYLES: dict[str, Style] = {
    "terse": lambda letter, text: letter,
    "marked": lambda letter, text: f"**{letter.lower()})**",
    "text": lambda letter, text: text,
    "wordy": lambda letter, text: f"Sure! The answer is {letter}. {text}",
}


def asked(tables: Tables, plan: Plan) -> pd.DataFrame:
    """Every question of a set of probes in both turns, known ones too, with its `prompt` and `seed`."""
    every = pd.concat([questions(tables, plan), choosing.known_pairs(plan["choice"]["known"])], ignore_index=True)
    request = choosing.request_of(every)
    return request.rows.assign(**request.inputs).merge(every, on=["id", "framing"], how="left", validate="m:1")


@dataclass(frozen=True)
class Chooser:
    """Whom a chat that chooses favours, and how it words that."""

    rise: float = 0.0
    """Of the share of the first group's sentences, from an attribute at 10% of the criterion to one at 90%."""
    of_words: float = 0.0
    """SD of the same over pairs of words, targets and placebo nouns alike."""
    knows: float = 5.0
    """Log odds of the sentence that makes sense."""
    last: float = 0.0
    """Log odds that the second option has in front."""
    noise: float = 0.5
    """SD of the log odds of a question by itself."""
    style: Style = STYLES["terse"]
    refuses: Callable[[dict[str, Any]], float] = lambda row: 0.0
    """The probability that a question is refused."""

    def odds(self, rows: pd.DataFrame, random: np.random.Generator) -> NDArray[np.float64]:
        """Log odds of option A in each row of `asked`."""
        own = rows.drop_duplicates(["id", "framing"]).reset_index(drop=True)
        slopes = {word: random.normal(0, self.of_words) for word in sorted(own["word"].dropna().unique())}
        place = ((own["beside"] - own.loc[own["framing"] == BARE, "beside"].mean()) / 80).fillna(0.0)
        rise = own["word"].map(slopes).fillna(0.0) + np.where(own["framing"] == BARE, self.rise, 0.0)
        first = logit((0.5 + rise * place).clip(0.001, 0.999)) + random.normal(0, self.noise, len(own))
        own["first"] = np.where(own["framing"] == KNOWN, self.knows, first)
        both = rows[["id", "framing", "turn"]].merge(own[["id", "framing", "first"]], on=["id", "framing"], how="left")
        turned: NDArray[np.float64] = np.where(both["turn"] == 0, both["first"], -both["first"]) - self.last
        return turned

    def replies(self, rows: pd.DataFrame, seed: int) -> pd.DataFrame:
        """Answers by `choosing.ANSWERS` to rows of `asked`."""
        random = np.random.default_rng(seed)
        took = random.random(len(rows)) < expit(self.odds(rows, random))
        silent = random.random(len(rows))
        said = [
            REFUSAL if silent[i] < self.refuses(row) else self.style(*_option(row, bool(took[i])))
            for i, row in enumerate(rows.to_dict("records"))
        ]
        return rows[["id", "framing", "turn"]].assign(reply=said, reason=None)


def _option(row: dict[str, Any], a: bool) -> tuple[str, str]:
    """Letter and text of an option of a row."""
    return "A" if a else "B", str(row[FIRST] if a == (row["turn"] == 0) else row[SECOND])


@dataclass
class ChoosingServer(ScriptedServer):
    """A server behind which a chooser answers."""

    said: dict[str, str] = field(default_factory=dict)
    """By prompt."""

    @classmethod
    def of(cls, chooser: Chooser, rows: pd.DataFrame, seed: int = 0) -> "ChoosingServer":
        """Of a chooser who is asked these rows of `asked`."""
        return cls(said=dict(zip(rows["prompt"], chooser.replies(rows, seed)["reply"], strict=True)))

    def reply(self, question: dict[str, Any]) -> str:
        """What the chooser says to a prompt."""
        return self.said[said_in(question)]
