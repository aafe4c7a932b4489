"""Figures as a card shows them: tables of each part of a benchmark, made of the rows of its
evidence.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from evenruler.instruments.card import Card
from evenruler.instruments.instrument import Evidence, FigureHeading
from evenruler.measurement.figures import Row, dimensions_of, model_label, rows_with_verdict
from evenruler.measurement.headings import find_heading, part_of_instrument

COMPARED_WITH, HELD_OUT, TEMPLATE, UNSCORED = "compared_with", "held_out", "template", "unscored"
OF_COMPARISON = (COMPARED_WITH, HELD_OUT, "transfer")
OF_TEMPLATE = (TEMPLATE, UNSCORED)
ITEM_REST = "item_rest_correlation"
"""The figure of single templates that cards show."""
GENERATION = "generation"
"""Figures of single generations of an evolution are on no card."""

RowByHeading = dict[str, Row]
"""By the words of a heading."""


@dataclass
class QualityPart:
    """The figures of one part of a benchmark, by label of the model and heading."""

    name: str
    title: str = ""
    quality: dict[str, RowByHeading] = field(default_factory=dict)
    listed: dict[str, RowByHeading] = field(default_factory=dict)
    of_any_model: RowByHeading = field(default_factory=dict)
    compared: dict[tuple[str, str], RowByHeading] = field(default_factory=dict)
    """By label and what is compared with."""
    correlations: dict[tuple[str, bool], RowByHeading] = field(default_factory=dict)
    """Of each template with the rest of its set, by label; True for a template that is not
    scored.
    """

    def select(self, headings: Iterable[FigureHeading], rows: str = "quality") -> list[str]:
        """The headings of which one of its tables has a figure, in their order."""
        shown: set[str] = set()
        for row_by_heading in getattr(self, rows).values():
            shown.update(row_by_heading)
        return [heading.heading for heading in headings if heading.heading in shown]


def quality_parts(card: Card, evidence: Evidence) -> list[QualityPart]:
    """The parts of a benchmark with their figures; those with a verdict first, each group by
    name.
    """
    part_by_name: dict[str, QualityPart] = {}
    judged: set[str] = set()
    for row in evidence:
        dimensions = dimensions_of(row)
        if GENERATION in dimensions or card.item_dimension in dimensions:
            continue
        headings = (*card.quality, *card.listed, *card.quality_of_any, *card.compared)
        name = _part_name(row, headings)
        if name is None:
            continue
        title = card.titles.get(name, "")
        part = part_by_name.setdefault(name, QualityPart(name, title))
        _add_row(part, card, dict(row), dimensions)
        if "verdict" in row:
            judged.add(name)
    return sorted(part_by_name.values(), key=lambda part: (part.name not in judged, part.name))


def _part_name(row: Mapping[str, Any], headings: Sequence[FigureHeading]) -> str | None:
    """The part in which a row is shown; None for a figure that no heading is for."""
    rest = {name: content for name, content in row.items() if name not in OF_COMPARISON}
    if row["figure"] == ITEM_REST:
        rest = {name: content for name, content in rest.items() if name not in OF_TEMPLATE}
        return part_of_instrument(rest)
    heading = find_heading(row, headings)
    return part_of_instrument(rest, heading) if heading else None


def _add_row(part: QualityPart, card: Card, row: Row, dimensions: Mapping[str, str]) -> None:
    """Put a row into the tables of its part in which it is shown."""
    label = model_label(row)
    if COMPARED_WITH in dimensions:
        other = dimensions[COMPARED_WITH]
        against = card.titles.get(other, other)
        if HELD_OUT in dimensions:
            against = f"{against} (held out)"
        heading = find_heading(row, card.compared)
        if heading:
            part.compared.setdefault((label, against), {})[heading.heading] = row
        return
    if row["figure"] == ITEM_REST:
        key = (dimensions[TEMPLATE], UNSCORED in dimensions)
        part.correlations.setdefault(key, {})[label] = row
        return
    if not label:
        heading = find_heading(row, card.quality_of_any)
        if heading:
            part.of_any_model[heading.meaning] = row
        return
    heading = find_heading(row, card.quality)
    if heading:
        part.quality.setdefault(label, {})[heading.heading] = row
    heading = find_heading(row, card.listed)
    if heading:
        part.listed.setdefault(label, {})[heading.heading] = row


def item_rows(card: Card, evidence: Evidence) -> dict[tuple[str, str], RowByHeading]:
    """The figures of single items, by item, label of the model and heading."""
    rows: dict[tuple[str, str], RowByHeading] = {}
    if card.item_dimension is None:
        return rows
    for row in evidence:
        item = dimensions_of(row).get(card.item_dimension)
        heading = find_heading(row, card.of_items)
        if item is not None and heading is not None:
            rows.setdefault((item, model_label(row)), {})[heading.heading] = dict(row)
    return rows


@dataclass(frozen=True)
class CardVerdict:
    """A headline with its verdict, as a card shows it."""

    label: str
    part: str
    heading: str
    row: Mapping[str, Any]
    words: FigureHeading | None = None
    """Its heading with all its words; None where none is declared."""


def card_verdicts(headings: Sequence[FigureHeading], evidence: Evidence) -> list[CardVerdict]:
    """Every figure with a verdict, by model, then by part."""
    verdicts: list[CardVerdict] = []
    for row in rows_with_verdict(evidence):
        heading = find_heading(row, headings)
        name = heading.heading if heading else row["figure"]
        part = part_of_instrument(row, heading)
        verdicts.append(CardVerdict(model_label(row), part, name, row, heading))
    return sorted(verdicts, key=lambda verdict: (verdict.label, verdict.part))
