"""Chats that are asked whom of a list of candidates they put first: scripted ones with known odds,
through the parser and the judge.

Lists are made: 1,000 of eight candidates, one of each of eight groups of 100 names, as a chat is
asked at `trial`; names differ, anew in each draw. Prints a Markdown table: the verdict on the group
that odds are planted in, and how often something is detected in any group. A run that is stopped
goes on.
"""

import math
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

import pandas as pd
import typer
from scipy.special import expit

from evenruler.instruments.external.ask.choice import choice_questions, choice_texts
from evenruler.instruments.external.ask.ranking import parse_names, score_replies
from evenruler.instruments.external.declare import LOG_ODDS
from evenruler.instruments.external.diagnose import ranking
from evenruler.instruments.external.diagnose.ranking import ranking_figures
from evenruler.instruments.instrument import BuiltInstrument, plan_at_size
from evenruler.instruments.methods.choice import count_replies
from evenruler.measurement.figures import HeadlineFigure, Verdict
from evenruler.measurement.nonresponse import validity_of_replies
from studies.draws import describe_draws, draw_cell, has_verdict, mean_text, share_text
from studies.planted.cases import read_studies
from studies.planted.replies import ReplyReader
from studies.tables import print_head, print_row
from tests.instruments.external import made
from tests.instruments.external.chats import NamingChat
from tests.instruments.external.made_rankings import ranking_source, shuffled_lists, table_of_lists

GROUPS = ("amber", "blue", "coral", "dun", "ecru", "fawn", "gold", "hazel")
PLANTED = "blue"
"""The group that odds are planted in."""

NAMES, LISTS = 100, 1000
"""Names of a group, and lists."""

RANDOMISATIONS = 999
"""9,999 ship: p is as exact, in coarser steps."""

CHATS = """
fair: {}
fair, first place +1: {at_first: 1.0}
fair, first place +2: {at_first: 2.0}
fair, first place +4: {at_first: 4.0}
fair, names differ by an SD of .5: {at_first: 1.0, names: 0.5}
fair, refuses 5%: {at_first: 1.0, refuses: 0.05}
odds .8, first place +1: {odds: {blue: 0.8}, at_first: 1.0}
always the first: {at_first: 60.0}
odds .67: {odds: {blue: 0.67}}
odds .67, first place +1: {odds: {blue: 0.67}, at_first: 1.0}
odds .5: {odds: {blue: 0.5}}
odds .5, first place +1: {odds: {blue: 0.5}, at_first: 1.0}
odds .5, first place +4: {odds: {blue: 0.5}, at_first: 4.0}
odds .5, refuses 40%: {odds: {blue: 0.5}, refuses: 0.4}
odds .5, refuses 90%: {odds: {blue: 0.5}, refuses: 0.9}
"""
"""In words, and what they are. Odds of .8 lie at the bound, so that `below` is false."""

FEWER = 5
"""So many times fewer draws of chats with odds beyond the bound."""


def build_lists() -> BuiltInstrument:
    """A benchmark of made lists."""
    lists = shuffled_lists(LISTS, n_names=NAMES, groups=GROUPS)
    with TemporaryDirectory() as folder:
        return made.built_at_sizes(ranking_source(Path(folder), table_of_lists(lists)))


@dataclass(frozen=True)
class Lists:
    """What chats are asked, with what no draw changes."""

    built: BuiltInstrument

    @cached_property
    def plan(self) -> Any:
        """As at `trial`: each list is asked in one order."""
        return plan_at_size(self.built.plan, "trial")

    @cached_property
    def texts(self) -> pd.DataFrame:
        """Candidates in the order in which they are read."""
        return choice_texts(made.frames(self.built), self.plan)

    @cached_property
    def reader(self) -> ReplyReader:
        """The questions, with what is read of replies."""
        return ReplyReader(choice_questions(made.frames(self.built), self.plan), parse_names)

    def judge_chat(self, chat: NamingChat, seed: int) -> dict[str, HeadlineFigure]:
        """The headlines of one chat by group, its replies drawn by the seed."""
        replies = self.reader.read_replies(chat.replies(self.reader.questions, seed))
        fit = validity_of_replies(count_replies(replies))
        items = score_replies(replies)
        with patch.object(ranking, "DRAWS", RANDOMISATIONS):
            figures = ranking_figures(self.texts, self.plan, items, 0.95, seed, fit)
        headlines: dict[str, HeadlineFigure] = {}
        for figure in figures:
            if isinstance(figure, HeadlineFigure) and figure.figure == LOG_ODDS:
                headlines[figure.dimensions["candidates"]] = figure
        return headlines

    def read_draw(self, chat: NamingChat, draw: int) -> dict[str, object]:
        """What one draw says of the planted group, and how many others get which verdict."""
        headlines = self.judge_chat(chat, draw)
        planted = headlines.pop(PLANTED)
        verdicts = [Verdict(str(headline.verdict)) for headline in headlines.values()]
        n_detected = sum(verdict.is_detected for verdict in verdicts)
        n_below = sum(verdict.is_below for verdict in verdicts)
        row = {"verdict": str(planted.verdict), **read_odds(planted, chat)}
        return {**row, "others_detected": n_detected, "others_below": n_below}


def read_odds(headline: HeadlineFigure, chat: NamingChat) -> dict[str, object]:
    """The log odds of a headline, and whether its interval holds the planted ones; no number where
    the odds have no maximum.
    """
    if headline.value is None or headline.low is None or headline.high is None:
        return {"value": math.nan, "holds": False}
    planted = math.log(chat.odds.get(PLANTED, 1.0))
    holds = headline.low <= planted <= headline.high
    return {"value": round(headline.value, 4), "holds": holds}


def share_of_first(chat: NamingChat) -> float:
    """How often a fair chat takes the first place of a list, names alike."""
    return float(expit(chat.at_first - math.log(len(GROUPS) - 1)))


def main(draws: int = 1000, out: Path = Path(".cache/external-rankings.csv")) -> None:
    """Print the table; `draws`: of chats without odds beyond the bound, others have a fifth."""
    lists = Lists(build_lists())
    chats = read_studies(NamingChat(), CHATS)
    verdicts = (Verdict.DETECTED, Verdict.BELOW, Verdict.INCONCLUSIVE, Verdict.INVALID)
    headings = [f"`{verdict}`" for verdict in verdicts]
    of_groups = ["detected in any group", "others below", "interval holds the odds"]
    print_head("chat", "log odds", "first place", *headings, *of_groups, "draws", "±")
    for words, chat in chats.items():
        is_beyond = chat.odds.get(PLANTED, 1.0) < 0.8
        n = max(1, draws // FEWER) if is_beyond else draws
        rows = draw_cell(out, words, n, partial(lists.read_draw, chat))
        is_read = rows["value"].notna() & ~has_verdict(rows, Verdict.INVALID)
        shares = [share_text(has_verdict(rows, verdict)) for verdict in verdicts]
        is_detected = has_verdict(rows, Verdict.DETECTED)
        in_any = share_text(is_detected | (rows["others_detected"] > 0))
        others_below = mean_text(rows["others_below"] / (len(GROUPS) - 1))
        odds = mean_text(rows.loc[is_read, "value"])
        holds = share_text(rows.loc[is_read, "holds"].astype(bool))
        first_place = f"{share_of_first(chat):.2f}"
        cells = [words, odds, first_place, *shares, in_any, others_below, holds]
        print_row(*cells, *describe_draws(n))


if __name__ == "__main__":
    typer.run(main)
