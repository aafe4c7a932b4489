"""Choices, and sentences of their own: scripted chats with a known bias, through the parser and the
judge."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import cache, partial
from typing import Any

import pandas as pd

from evenruler.evaluate.benchmark import open_benchmark
from evenruler.instruments.instrument import Plan, Size, Tables, plan_at_size
from evenruler.instruments.methods import choice, writing
from evenruler.instruments.probes.ask import by_group, writing_prompts
from evenruler.instruments.probes.diagnose.gain import (
    SHARE_GAIN,
    UNANSWERED,
    WRITTEN_GAIN,
    choice_figures,
)
from evenruler.measurement.figures import Verdict
from tests.performance.planted import Case, Family, Kind, Row
from tests.personas import STYLES, Chooser, Writer, asked

NAME = "probes-occupation-gender"

COLUMNS: list[tuple[str, Kind]] = [
    ("covers", "covers"),
    ("false effect", "false"),
    ("false unanswered", "false"),
    ("right verdict", "power"),
    ("unanswered told", "power"),
]


@cache
def published(size: Size) -> tuple[Tables, Plan, pd.DataFrame]:
    """Tables, plan and questions of the benchmark."""
    with open_benchmark(NAME) as benchmark:
        plan = plan_at_size(benchmark.plan, size)
        return benchmark.tables, plan, asked(benchmark.tables, plan)


def figures_of(scores: Tables, tables: Tables, plan: Plan) -> pd.DataFrame:
    """The figures of scores, by name."""
    diagnosis = choice_figures(NAME, tables, plan, scores, "scripted", 0.95)
    return diagnosis["figures"].set_index("figure")


def found(chooser: Chooser, size: Size, seed: int) -> pd.DataFrame:
    """The figures of a chooser, by name."""
    tables, plan, rows = published(size)
    questions = rows.drop_duplicates(["id", "framing"])
    scores = {choice.TABLE: choice.parse_choices(chooser.replies(rows, seed), questions)}
    return figures_of(scores, tables, plan)


def read_of(writer: Writer, size: Size, seed: int) -> Tables:
    """What a writer wrote, as it is read."""
    tables, plan, _ = published(size)
    rows = writing_prompts(tables, plan)
    answers = rows[["id", "framing"]].assign(reply=writer.replies(rows, seed), reason=None)
    return {choice.SENTENCES: writing.parse_sentences(answers, rows, by_group(plan, "pronouns"))}


def wrote(writer: Writer, size: Size, seed: int) -> pd.DataFrame:
    """The figures of a writer, by name."""
    tables, plan, _ = published(size)
    return figures_of(read_of(writer, size, seed), tables, plan)


def _judge_chat(
    chat: Chooser | Writer, size: Size, right: Verdict | None, silent: Verdict | None, seed: int
) -> Row:
    truth = 100 * chat.rise
    if isinstance(chat, Chooser):
        figures = found(chat, size, seed)
        gain, has_truth = figures.loc[SHARE_GAIN], not chat.of_words
    else:
        figures = wrote(chat, size, seed)
        gain, has_truth = figures.loc[WRITTEN_GAIN], True
        truth *= chat.named
    verdict, verdict_of_silence = gain["verdict"], figures.loc[UNANSWERED, "verdict"]
    covers = None
    if has_truth and right != Verdict.INVALID:
        covers = bool(gain["low"] <= truth <= gain["high"])
    return (
        covers,
        None if right == Verdict.EFFECT else verdict == Verdict.EFFECT,
        None if silent == Verdict.EFFECT else verdict_of_silence == Verdict.EFFECT,
        None if right is None else verdict == right,
        None if silent is None else verdict_of_silence == silent,
    )


def _case(
    name: str,
    chat: Chooser | Writer,
    right: Verdict | None = None,
    silent: Verdict | None = None,
    size: Size = "standard",
) -> Case:
    kind = "choices" if isinstance(chat, Chooser) else "sentences"
    return Case(f"{kind}, {name}", partial(_judge_chat, chat, size, right, silent), 0.2)


def low_half(row: dict[str, Any]) -> float:
    """Refuses two of five questions about attributes at the low end."""
    return 0.4 if row["axis_position"] < 40 else 0.0


def _cases() -> Iterable[Case]:
    knows, invalid, effect = Chooser(), Verdict.INVALID, Verdict.EFFECT
    yield _case("random letters", replace(knows, knows=0.0), invalid, invalid)
    yield _case("always A", Chooser(last=-50.0), invalid, invalid)
    yield _case("refuses all", replace(knows, refuses=lambda row: 1.0), invalid, invalid)
    yield _case("no bias", knows, silent=Verdict.NO_EFFECT)
    yield _case("no bias, last option +1", replace(knows, last=1.0), silent=Verdict.NO_EFFECT)
    yield _case("any words do it (SD .1)", replace(knows, of_words=0.1))
    yield _case("any words do it (SD .3)", replace(knows, of_words=0.3))
    yield _case("no bias, refuses one end", replace(knows, refuses=low_half), silent=effect)
    for rise in (0.2, 0.25, 0.3, 0.5):
        yield _case(f"rise {rise}", replace(knows, rise=rise), effect, Verdict.NO_EFFECT)
    yield _case("rise .5, any words do .1", replace(knows, rise=0.5, of_words=0.1), effect)
    biased = replace(knows, rise=0.5)
    yield _case("rise .5, last option +1", replace(biased, last=1.0), effect, Verdict.NO_EFFECT)
    yield _case("rise .5, refuses one end", replace(biased, refuses=low_half), effect, effect)
    styles: dict[str, Callable[[str, str], str]] = {
        name: STYLES[name] for name in ("marked", "text", "wordy")
    }
    for name, style in styles.items():
        yield Case(
            f"choices, rise .5, {name}",
            partial(_judge_chat, replace(biased, style=style), "standard", effect, None),
            0.02,
        )
    yield _case("paper, rise .2", replace(knows, rise=0.2), effect, size="full")
    writes = Writer()
    yield _case(
        "always he", Writer(knows=0.5, share=0.99, of_prompts=0, of_attributes=0), invalid, invalid
    )
    yield _case("refuses all", Writer(refuses=lambda row: 1.0), invalid, invalid)
    yield _case("nobody is named", Writer(named=0.0), invalid, invalid)
    yield _case("no bias", writes, silent=Verdict.NO_EFFECT)
    yield _case("no bias, refuses one end", replace(writes, refuses=low_half), silent=effect)
    for rise in (0.35, 0.4, 0.45, 0.5):
        yield _case(f"rise {rise}", replace(writes, rise=rise), effect, Verdict.NO_EFFECT)
        yield _case(
            f"paper, rise {rise}", replace(writes, rise=rise), effect, Verdict.NO_EFFECT, "paper"
        )


CHOICES = Family("choices", COLUMNS, _cases)
