"""What the page shows of a headline: its lines, drawn as an interval on an axis, and what it would
take to decide it.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from evenruler.measurement.figures import ORDER, WHOLE, Verdict
from evenruler.report.sentences import (
    SummaryLine,
    bound_text,
    carriers_text,
    headline_lines,
    in_unit,
)
from evenruler.report.views import FigureCell, InstrumentView

if TYPE_CHECKING:
    from evenruler.report.sentences import Worded

MARGIN: Final = 3.0
"""Percent of the width left free outside the outermost ticks."""

TICKS: Final = 5
"""Steps of an axis, at most one more."""

Ends: TypeAlias = tuple[float, float]
"""The first and the last tick of an axis."""

SCATTER: Final = "sentences scatter"
"""In the reason of a headline that no larger sample would decide."""

NO_P: Final = 1.0
"""The p by which a headline without one is sorted."""


def axis_over(numbers: Sequence[float]) -> Ends:
    """An axis that holds all numbers and 0, of at most `TICKS` + 1 steps of 1, 2 or 5 times a power
    of ten.
    """
    low = min([0.0, *numbers])
    high = max([0.0, *numbers])
    rough = (high - low) / TICKS or 0.2
    power = 10.0 ** math.floor(math.log10(rough))
    steps = [power * m for m in (1, 2, 5, 10)]
    step = next(step for step in steps if step >= rough * (1 - 1e-9))
    first = math.floor(low / step + 1e-9)
    last = max(math.ceil(high / step - 1e-9), first + 1)
    return round(first * step, 12), round(last * step, 12)


@dataclass(frozen=True)
class Track:
    """A value with its interval on an axis."""

    axis: Ends
    value: float
    low: float | None
    high: float | None
    center: float
    """Where nothing would be there."""
    labels: tuple[str, str, str]
    """What stands at the start of the axis, at its center, and at its end."""
    band: Ends | None = None
    """What is smaller than the bound."""

    def percent_of_width(self, number: float) -> float:
        """The position of a number, in percent of the width."""
        first, last = self.axis
        share = (number - first) / (last - first)
        return round(MARGIN + (100 - 2 * MARGIN) * share, 2)


@dataclass(frozen=True)
class Finding:
    """A headline on one model."""

    title: str
    """What was asked, or what people say."""
    model: str
    verdict: Verdict
    lines: Sequence[SummaryLine]
    """The first has the words of the verdict as its label."""
    p: float = NO_P
    track: Track | None = None
    ranks: Track | None = None
    """The percentile among alternatives, from 0 to 100."""
    more: Sequence[str] = ()
    """Sentences that stay folded."""
    needs: str = ""
    """What it would take to decide it."""
    link: str = ""
    """The id of its row in the table of all figures."""

    @property
    def is_decided(self) -> bool:
        """Whether its verdict asserts something."""
        return self.verdict.asserts


def draw_track(
    numbers: Mapping[str, Any], bound: float | None = None, words: "Worded | None" = None
) -> Track | None:
    """A value with its interval, and the band of the bound; None without a value.

    `numbers`: `value`, `low` and `high`; `words`: the heading, in whose unit the ends are labelled.
    """
    value, low, high = (numbers.get(name) for name in ("value", "low", "high"))
    if value is None:
        return None
    band = None if bound is None else (-bound, bound)
    ends = [number for number in (value, low, high, *(band or ())) if number is not None]
    axis = axis_over(ends)
    first, center, last = (_tick_label(number, words) for number in (axis[0], 0.0, axis[1]))
    return Track(axis, value, low, high, 0.0, (first, center, last), band)


def _tick_label(number: float, words: "Worded | None") -> str:
    """A number on the axis, without the words of its unit, which the line beside it has."""
    number_in_unit, _, _ = in_unit(number, words, without_zeros=True).partition(" ")
    return number_in_unit


def _draw_ranks(record: Mapping[str, Any]) -> Track | None:
    """The percentile among alternatives; None where there is none."""
    percentile = record.get("percentile")
    if percentile is None:
        return None
    low, high = record.get("percentile_low"), record.get("percentile_high")
    return Track((0.0, 100.0), percentile, low, high, 50.0, ("0%", "", "100%"))


def find_headlines(instruments: Sequence[InstrumentView]) -> list[Finding]:
    """All headlines on models, the most certain first."""
    findings: list[Finding] = []
    for instrument in instruments:
        for index, figure_cell in enumerate(instrument.figures):
            if figure_cell.is_headline and figure_cell.model:
                findings.append(make_finding(instrument, figure_cell, index))
    return sort_findings(findings)


def sort_findings(findings: Sequence[Finding]) -> list[Finding]:
    """Findings by verdict in the order of `ORDER`; of these first what stands beside alternatives,
    then by p. Equal ones stay in their order.
    """

    def sort_key(finding: Finding) -> tuple[int, bool, float]:
        return ORDER.index(finding.verdict), finding.ranks is None, finding.p

    return sorted(findings, key=sort_key)


def make_finding(instrument: InstrumentView, figure_cell: FigureCell, index: int) -> Finding:
    """A headline of an instrument; `index`: its place among the instrument's figures."""
    record, words = figure_cell.record, figure_cell.word
    verdict = Verdict(figure_cell.verdict)
    part = "" if figure_cell.part == WHOLE else f": {figure_cell.part}"
    track, ranks = None, None
    if verdict != Verdict.INVALID:  # its numbers say nothing
        track = draw_track(record, record["bound"], words)
        ranks = _draw_ranks(record)
    lines = headline_lines(record, words, instrument.planted_records)
    title = f"{instrument.title}{part}"
    p = record.get("p", NO_P)
    more, needs = _sentences_beside(record, words), needed_text(record, words)
    return Finding(
        *(title, figure_cell.model, verdict, lines),
        p=p,
        track=track,
        ranks=ranks,
        more=more,
        needs=needs,
        link=f"{instrument.name}--{index}",
    )


def _sentences_beside(record: Mapping[str, Any], words: "Worded | None") -> list[str]:
    """Who carries a headline, and what it does not show."""
    sentences = [carriers_text(record, words)]
    if words is not None and Verdict(record["verdict"]).asserts:
        sentences.append(words.not_shown)
    return [sentence for sentence in sentences if sentence]


def needed_text(record: Mapping[str, Any], words: "Worded | None") -> str:
    """What it would take to decide an inconclusive headline: more units, by the square root law of
    standard errors, and a positive control; empty where the verdict's reason already says it.
    """
    why = str(record.get("why") or "")
    if record["verdict"] == Verdict.INVALID:
        if "positive control" in why:
            return "A model on which the positive control is detected."
        return "A model that passes the check."
    if record["verdict"] != Verdict.INCONCLUSIVE:
        return ""
    if SCATTER in why:
        return "A task or a model in which other sentences move the answer less."
    needs: list[str] = []
    bound, detects = record["bound"], record.get("detects")
    if record.get("p") is not None and detects is not None and detects > bound:
        times = math.ceil((detects / bound) ** 2)
        sample = f"{record['n']} {record['unit']}"
        aim = f"to detect {bound_text(bound, words)} in 8 of 10 studies"
        needs.append(f"about {times} times the {sample}, {aim}")
    if not record.get("positive_control"):
        needs.append("a positive control, without which nothing is below a bound")
    elif not needs:
        needs.append("a narrower interval: more units")
    text = "; ".join(needs)
    return f"{text[0].upper()}{text[1:]}."
