"""Chats that are asked published benchmarks by choice: scripted ones with a known lean, through the
parser and the judge.

Needs the packages of requirements-models.txt. Prints a Markdown table: how often each verdict is
given. With `--detects`: how often a lean is detected, by size.

Replies are drawn anew in each draw; so is what units and pairs add to the log odds. BBQ is asked
as at `standard` (four ambiguous questions of a template and one that tells), pairs are eight a unit
or all, of sentences with a pronoun, too.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import typer

from evenruler.instruments.external.ask.choice import choice_questions, choice_texts, sample_choices
from evenruler.instruments.external.diagnose.choices import choice_headline, choice_validity
from evenruler.instruments.external.diagnose.lean import differing_words
from evenruler.instruments.external.schemas import AMBIGUOUS, DISAMBIGUATED
from evenruler.measurement.figures import WHOLE, HeadlineFigure, Verdict
from evenruler.measurement.verdicts import judge
from studies.planted.cases import read_studies
from studies.planted.external import build_benchmark
from studies.tables import print_head, print_row
from tests.instruments.external.chats import (
    Chat,
    OptionChat,
    PairChat,
    ReferentChat,
    ask_chat,
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
"""So many times fewer draws of chats whose verdict no draw changes."""


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


def judge_draws(name: str, most: Most, chat: Chat, draws: int) -> Iterator[HeadlineFigure]:
    """Headlines of one chat, its replies drawn anew."""
    tables, plan = build_sample(name, most)
    questions = choice_questions(tables, plan)
    words = differing_words(choice_texts(tables, plan))
    for seed in range(draws):
        scores = ask_chat(tables, plan, chat, seed, questions)
        items, replies = scores["items"], scores["choices"]
        validity = choice_validity(plan, items, replies)
        test = choice_headline(plan, items, replies, words, seed, RANDOMISATIONS)
        yield judge(test, validity)


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


def print_verdicts(draws: int, only: str = "") -> None:
    """Print how often each chat gets each verdict; `only`: of one benchmark."""
    verdicts = [Verdict.DETECTED, Verdict.BELOW, Verdict.INCONCLUSIVE, Verdict.INVALID]
    headings = [f"`{verdict}`" for verdict in verdicts]
    print_head("benchmark", "chat", "lean", *headings, "draws")
    for name, most, words, chat in _list_chats():
        if only not in ("", name):
            continue
        counts: Counter[str] = Counter()
        leans: list[float] = []
        is_certain = chat.always is not None or chat.random or chat.refuses > 0.5
        n = max(1, draws // FEWER) if is_certain else draws
        for headline in judge_draws(name, most, chat, n):
            verdict = Verdict(str(headline.verdict))
            counts["detected"] += verdict.is_detected
            counts["below"] += verdict.is_below
            counts[str(verdict)] += not verdict.asserts
            leans.append(np.nan if headline.value is None else headline.value)
        shares = [f"{counts[str(verdict)] / n:.2f}" for verdict in verdicts]
        print_row(name, words, f"{np.nanmean(leans):.2f}", *shares, n)


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
            headlines = [*judge_draws(name, most, chat, draws)]
            detected = np.mean([Verdict(str(row.verdict)).is_detected for row in headlines])
            lean = np.mean([row.value for row in headlines if row.value is not None])
            stated = np.mean([row.detects for row in headlines if row.detects is not None])
            size, share = f"{lean:.3f}", f"{detected:.2f}"
            print_row(name, most, log_odds, size, share, f"{stated:.3f}", draws)


def main(draws: int = 100, detects: bool = False, only: str = "") -> None:
    """Print the table of verdicts, or of what is detected; `only`: of one benchmark."""
    if detects:
        print_detected(draws, only)
    else:
        print_verdicts(draws, only)


if __name__ == "__main__":
    typer.run(main)
