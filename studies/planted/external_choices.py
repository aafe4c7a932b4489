"""Chats that are asked published benchmarks by choice: scripted ones with a known lean, through the
parser and the judge.

Needs the packages of requirements-models.txt. Prints a Markdown table: how often each verdict is
given, and how often a part is named in which nothing is planted. A run that is stopped goes on.
With `--detects`: how often a lean is detected, by size.

Replies are drawn anew in each draw; so is what units and pairs add to the log odds. BBQ is asked
as at `standard` (four ambiguous questions of a template and one that tells), pairs are eight a unit
or all, of sentences with a pronoun, too. What no draw changes is made once: the questions, the
words in which texts differ, and how a reply to a question is read.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import typer

from evenruler.instruments.external.ask.choice import (
    choice_items,
    choice_questions,
    choice_texts,
    parse_replies,
    sample_choices,
)
from evenruler.instruments.external.declare import LEAN
from evenruler.instruments.external.diagnose.choices import (
    choice_headline,
    choice_validity,
    unanswered_test,
)
from evenruler.instruments.external.diagnose.lean import differing_words
from evenruler.instruments.external.schemas import AMBIGUOUS, DISAMBIGUATED
from evenruler.measurement.figures import WHOLE, HeadlineFigure, Verdict
from evenruler.measurement.inputs import ALPHA
from evenruler.measurement.verdicts import HeadlineTest, judge
from studies.draws import describe_draws, draw_cell, has_verdict, mean_text, share_text
from studies.planted.cases import read_studies
from studies.planted.external import build_benchmark
from studies.planted.replies import ReplyReader
from studies.tables import print_head, print_row
from tests.instruments.external.chats import (
    Chat,
    OptionChat,
    PairChat,
    ReferentChat,
    think_aloud,
)

Most = dict[str, float]

Benchmark = tuple[dict[str, pd.DataFrame], Any]
"""Rows and plan."""

TRIAL: Most = {AMBIGUOUS: 1, DISAMBIGUATED: 0.5}
STANDARD: Most = {AMBIGUOUS: 4, DISAMBIGUATED: 1}
FULL: Most = {AMBIGUOUS: 8, DISAMBIGUATED: 4}
EIGHT: Most = {WHOLE: 8}
EVERY: Most = {WHOLE: 1_000_000}

RANDOMISATIONS = 499

FEWER = 5
"""So many times fewer draws of chats that lean, whose verdict no draw changes, or that are asked
all pairs, which takes long."""


@cache
def _build(name: str) -> Benchmark:
    return build_benchmark(name)


def build_sample(name: str, most: Most) -> Benchmark:
    """The rows that a chat is asked, and the plan."""
    tables, plan = _build(name)
    asked_plan = {**plan, "choice_most": most}
    texts = choice_texts(tables, asked_plan)
    items = sample_choices(texts, asked_plan)["item"]
    asked_texts = texts[texts["item"].isin(items)]
    return {**tables, "texts": asked_texts[tables["texts"].columns]}, asked_plan


@dataclass(frozen=True)
class Sample:
    """What chats are asked of a benchmark, with what no draw changes."""

    tables: dict[str, pd.DataFrame]
    plan: Any
    words: pd.DataFrame
    """By `lean.differing_words`."""
    reader: ReplyReader

    @classmethod
    def from_benchmark(cls, name: str, most: Most) -> "Sample":
        """At most so many questions of a unit, by condition."""
        tables, plan = build_sample(name, most)
        words = differing_words(choice_texts(tables, plan))
        return cls(tables, plan, words, ReplyReader(choice_questions(tables, plan), parse_replies))

    def judge_chat(self, chat: Chat, seed: int) -> tuple[HeadlineTest, HeadlineFigure]:
        """The headline of one chat, its replies drawn by the seed, and its verdict."""
        plan, questions = self.plan, self.reader.questions
        replies = self.reader.read_replies(chat.replies(questions, seed))
        items = choice_items(self.tables, plan, replies)
        validity = choice_validity(plan, items, replies)
        # The judge looks at nothing else of an invalid chat.
        test = unanswered_test(LEAN, plan["units"], plan["bound"])
        if validity.failure is None:
            test = choice_headline(plan, items, replies, self.words, seed, RANDOMISATIONS)
        return test, judge(test, validity)

    def read_draw(self, chat: Chat, draw: int) -> dict[str, object]:
        """What one draw says; `parts`: those in which something is detected."""
        test, headline = self.judge_chat(chat, draw)
        verdict = Verdict(str(headline.verdict))
        names: list[str] = []
        if test.parts is not None and verdict.asserts:
            names = [part.name for part in test.parts.detected_tests(ALPHA)]
        lean = np.nan if headline.value is None else headline.value
        return {"verdict": str(verdict), "value": round(lean, 4), "parts": "|".join(names)}


@cache
def open_sample(name: str, of_unit: tuple[tuple[str, float], ...]) -> Sample:
    """What is asked of a benchmark, made once for all of its chats."""
    return Sample.from_benchmark(name, dict(of_unit))


QUESTION_CHATS = """
fair: {}
lean .16 everywhere: {lean: 0.7}
lean .31 everywhere: {lean: 1.0}
lean .34 in Age alone: {lean: 1.1, part: Age}
lean .65 in Age alone: {lean: 2.0, part: Age}
fair, first place +2: {at_first: 2.0}
lean .31, first place +2: {lean: 1.0, at_first: 2.0}
always A: {always: A}
random letters: {random: true}
right in about half where the context tells: {knows: 0.75}
refuses 90%: {refuses: 0.9}
fair, refuses 45%: {refuses: 0.45}
"""
PAIR_CHATS = """
fair: {}
fair, A +1.5: {at_first: 1.5}
log odds .5: {lean: 0.5}
log odds .5, A +1.5: {lean: 0.5, at_first: 1.5}
log odds 1, A +3, knows: {lean: 1.0, at_first: 3.0, knows: 8.0}
fair, A +4, knows: {at_first: 4.0, knows: 9.0}
always A: {always: A}
random letters: {random: true}
refuses 90%: {refuses: 0.9}
"""
"""Chats that are asked questions, and pairs: in words, and what they are."""


def _list_referent_chats(name: str) -> Iterator[tuple[str, ReferentChat]]:
    """Chats that are asked whom a pronoun means, with their words.

    In Winogender no syntax tells, so that a chat that is asked it has to know more.
    """
    knows = {"winobias": 2.0, "winogender": 2.5}[name]
    small, large = {"winobias": (1.0, 1.8), "winogender": (0.9, 1.65)}[name]
    yield "fair", ReferentChat(knows=knows)
    yield "fair, A +1.5", ReferentChat(knows=knows, at_first=1.5)
    yield "fair, right with his pronoun +1", ReferentChat(knows=knows, his=1.0)
    yield "lean .17", ReferentChat(knows=knows, lean=small)
    yield "lean .31", ReferentChat(knows=knows, lean=large)
    thinks = ReferentChat(knows=knows, lean=large, style=think_aloud)
    yield "lean .31, thinks aloud", thinks
    guesses = ReferentChat(knows=0.0, by_syntax=0.0)
    yield "goes by the stereotype alone", replace(guesses, lean=9.0)
    yield "mostly takes the person named last", replace(guesses, last=3.0)
    if name == "winobias":
        yield "knows no syntax", ReferentChat(knows=3.0, by_syntax=-3.0)
        yield "knows syntax alone", ReferentChat(knows=0.0, by_syntax=5.0)
        yield "fair, rather the person named last", ReferentChat(knows=knows, last=1.0)
    yield "always A", ReferentChat(always="A")
    yield "random letters", ReferentChat(random=True)
    yield "refuses 90%", ReferentChat(refuses=0.9)


def _list_chats() -> Iterator[tuple[str, Most, str, Chat]]:
    """Benchmark, what is asked of it, and the chat in words."""
    for words, chat in read_studies(OptionChat(), QUESTION_CHATS).items():
        yield "bbq", STANDARD, words, chat
    for name in ("crows-pairs", "stereoset"):
        for words, pair_chat in read_studies(PairChat(), PAIR_CHATS).items():
            yield name, EIGHT, words, pair_chat
    for name in ("winobias", "winogender"):
        for words, referent_chat in _list_referent_chats(name):
            yield name, EIGHT, words, referent_chat
    yield "stereoset", EVERY, "fair, all pairs", PairChat()
    yield "stereoset", EVERY, "fair, A +4, knows, all pairs", PairChat(at_first=4.0, knows=9.0)


def is_null(chat: Chat) -> bool:
    """Whether a chat leans nowhere, and its replies are measured; or it says the same always."""
    if chat.always is not None:
        return True
    leans = getattr(chat, "lean", 0.0) != 0
    return not (leans or chat.random or chat.refuses > 0.5)


def names_wrong_part(rows: pd.DataFrame, chat: Chat) -> "pd.Series[bool]":
    """By draw, whether a part is named in which nothing is planted; empty where all are planted."""
    planted = getattr(chat, "part", None)
    if getattr(chat, "lean", 0.0) and planted is None:
        return pd.Series(dtype=bool)
    names = rows["parts"].str.split("|")
    return names.map(lambda parts: bool(set(parts) - {"", planted}))


def print_verdicts(draws: int, only: str, out: Path) -> None:
    """Print how often each chat gets each verdict; `only`: of one benchmark."""
    verdicts = [Verdict.DETECTED, Verdict.BELOW, Verdict.INCONCLUSIVE, Verdict.INVALID]
    headings = [f"`{verdict}`" for verdict in verdicts]
    print_head("benchmark", "chat", "lean", *headings, "in a wrong part", "draws", "±")
    for name, most, words, chat in _list_chats():
        if only not in ("", name):
            continue
        sample = open_sample(name, tuple(most.items()))
        is_often_drawn = is_null(chat) and most != EVERY
        n = draws if is_often_drawn else max(1, draws // FEWER)
        cell = f"{name}, {words}"
        rows = draw_cell(out, cell, n, partial(sample.read_draw, chat))
        shares = [share_text(has_verdict(rows, verdict)) for verdict in verdicts]
        wrong = share_text(names_wrong_part(rows, chat))
        lean = mean_text(rows["value"])
        print_row(name, words, lean, *shares, wrong, *describe_draws(n))


LOG_ODDS = (0.2, 0.3, 0.4, 0.5, 0.7, 1.0)


CHATS: dict[str, type[OptionChat | PairChat | ReferentChat]] = {
    "bbq": OptionChat,
    "crows-pairs": PairChat,
    "stereoset": PairChat,
    "winobias": ReferentChat,
    "winogender": ReferentChat,
}


def print_detected(draws: int, only: str = "") -> None:
    """Print how often a lean is detected, by size; `only`: of one benchmark."""
    of_pairs: tuple[Most, ...] = ({WHOLE: 2}, EIGHT, EVERY)
    sizes = {
        "bbq": (TRIAL, STANDARD, FULL),
        "crows-pairs": of_pairs,
        "stereoset": of_pairs,
        "winobias": of_pairs,
        "winogender": of_pairs,
    }
    print_head("benchmark", "asked", "log odds", "lean", "`detected`", "of the figure", "draws")
    for name, every_size in sizes.items():
        if only not in ("", name):
            continue
        for most, log_odds in product(every_size, LOG_ODDS):
            chat = CHATS[name](lean=log_odds)
            sample = open_sample(name, tuple(most.items()))
            headlines = [sample.judge_chat(chat, seed)[1] for seed in range(draws)]
            detected = np.mean([Verdict(str(row.verdict)).is_detected for row in headlines])
            lean = np.mean([row.value for row in headlines if row.value is not None])
            stated = np.mean([row.detects for row in headlines if row.detects is not None])
            size, share = f"{lean:.3f}", f"{detected:.2f}"
            print_row(name, most, log_odds, size, share, f"{stated:.3f}", draws)


def main(
    draws: int = 1000,
    detects: bool = False,
    only: str = "",
    out: Path = Path(".cache/external-choices.csv"),
) -> None:
    """Print the table of verdicts, or of what is detected.

    `draws`: of chats that lean nowhere; others have a fifth of them. `only`: of one benchmark.
    `out`: the CSV of verdicts.
    """
    if detects:
        print_detected(draws, only)
    else:
        print_verdicts(draws, only, out)


if __name__ == "__main__":
    typer.run(main)
