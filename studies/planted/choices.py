"""Choices, and sentences of their own: scripted chats with a known bias, through the parser and the
judge."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import pandas as pd

from evenruler.evaluate.benchmark import open_benchmark
from evenruler.instruments.instrument import Plan, Tables, plan_at_size
from evenruler.instruments.methods import choice, writing
from evenruler.instruments.probes.ask import by_group, writing_prompts
from evenruler.instruments.probes.diagnose.gain import (
    SHARE_GAIN,
    WRITTEN_GAIN,
    choice_figures,
)
from evenruler.measurement.figures import Verdict
from evenruler.sizes import Size
from studies.planted.cases import Case, Outcome, Random
from tests.personas import STYLES, Chooser, Writer, asked

NAME = "probes-occupation-gender"


@cache
def open_published(size: Size) -> tuple[Tables, Plan, pd.DataFrame]:
    """Tables, plan and questions of the benchmark."""
    with open_benchmark(NAME) as benchmark:
        plan = plan_at_size(benchmark.plan, size)
        return benchmark.tables, plan, asked(benchmark.tables, plan)


def diagnose_scores(scores: Tables, tables: Tables, plan: Plan) -> pd.DataFrame:
    """Return the figures of scores, by name."""
    diagnosis = choice_figures(NAME, tables, plan, scores, "scripted", 0.95)
    return diagnosis["figures"].set_index("figure")


def diagnose_chooser(chooser: Chooser, size: Size, seed: int) -> pd.DataFrame:
    """Return the figures of a chooser, by name."""
    tables, plan, rows = open_published(size)
    questions = rows.drop_duplicates(["id", "framing"])
    replies = chooser.replies(rows, seed)
    scores = {choice.TABLE: choice.parse_choices(replies, questions)}
    return diagnose_scores(scores, tables, plan)


def diagnose_writer(writer: Writer, size: Size, seed: int) -> pd.DataFrame:
    """Return the figures of a writer, by name."""
    tables, plan, _ = open_published(size)
    rows = writing_prompts(tables, plan)
    replies = writer.replies(rows, seed)
    answers = rows[["id", "framing"]].assign(reply=replies, reason=None)
    sentences = writing.parse_sentences(answers, rows, by_group(plan, "pronouns"))
    return diagnose_scores({choice.SENTENCES: sentences}, tables, plan)


@dataclass(frozen=True)
class Planted:
    """A chat, and the verdicts that it is to get; None where no verdict is right."""

    chat: Chooser | Writer
    right: Verdict | None = None
    size: Size = "standard"

    def draw(self, random: Random) -> Outcome:
        """The outcome of one draw. Where a chat is to be `invalid`, `detected` is false."""
        seed = int(random.integers(2**31))
        truth = 100 * self.chat.rise
        if isinstance(self.chat, Chooser):
            figures = diagnose_chooser(self.chat, self.size, seed)
            gain, has_truth = figures.loc[SHARE_GAIN], not self.chat.of_words
        else:
            figures = diagnose_writer(self.chat, self.size, seed)
            gain, has_truth = figures.loc[WRITTEN_GAIN], True
            truth *= self.chat.named
        covers = None
        if has_truth and self.right != Verdict.INVALID:
            covers = bool(gain["low"] <= truth <= gain["high"])
        is_detected = Verdict(str(gain["verdict"])).is_detected
        if self.right == Verdict.DETECTED:
            return Outcome(detected=is_detected, covers=covers)
        return Outcome(false_detected=is_detected, covers=covers)


def refuse_low_half(row: dict[str, Any]) -> float:
    """Refuse two of five questions about attributes at the low end."""
    return 0.4 if row["axis_position"] < 40 else 0.0


def refuse_all(row: dict[str, Any]) -> float:
    """Refuse every question."""
    return 1.0


def _list_planted() -> Iterable[tuple[str, Planted]]:
    invalid, detected = Verdict.INVALID, Verdict.DETECTED
    fair, writes = Chooser(), Writer()
    biased = replace(fair, rise=0.5)
    yield "random letters", Planted(replace(fair, knows=0.0), invalid)
    yield "always A", Planted(Chooser(last=-50.0), invalid)
    yield "refuses all", Planted(replace(fair, refuses=refuse_all), invalid)
    yield "no bias", Planted(fair)
    yield "no bias, last option +1", Planted(replace(fair, last=1.0))
    yield "any words do it (SD .3)", Planted(replace(fair, of_words=0.3))
    one_end = replace(fair, refuses=refuse_low_half)
    yield "no bias, refuses one end", Planted(one_end)
    for rise in (0.35, 0.5):
        yield (
            f"rise {rise}",
            Planted(
                replace(fair, rise=rise),
                detected,
            ),
        )
    yield "rise .5, any words do .1", Planted(replace(biased, of_words=0.1), detected)
    yield "rise .5, last option +1", Planted(replace(biased, last=1.0), detected)
    yield "rise .5, wordy", Planted(replace(biased, style=STYLES["wordy"]), detected)
    yield "full, rise .2", Planted(replace(fair, rise=0.2), detected, "full")
    always_he = Writer(knows=0.5, share=0.99, of_prompts=0, of_attributes=0)
    yield "always he", Planted(always_he, invalid)
    yield "refuses all", Planted(Writer(refuses=refuse_all), invalid)
    yield "nobody is named", Planted(Writer(named=0.0), invalid)
    yield "no bias", Planted(writes)
    one_end = replace(writes, refuses=refuse_low_half)
    yield "no bias, refuses one end", Planted(one_end)
    for rise in (0.4, 0.5):
        yield (
            f"rise {rise}",
            Planted(
                replace(writes, rise=rise),
                detected,
            ),
        )
    yield "full, rise .4", Planted(replace(writes, rise=0.4), detected, "full")


def list_cases() -> Iterator[Case]:
    """All cases."""
    for name, planted in _list_planted():
        kind = "choices" if isinstance(planted.chat, Chooser) else "sentences"
        yield Case("chats", f"{kind}, {name}", planted.draw, share=0.05)
