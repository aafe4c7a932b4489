"""A result as a terminal shows it: amounts with interval, control and verdict, then how well the instrument fits."""

from collections.abc import Iterator, Mapping, Sequence
from textwrap import wrap
from typing import Any

from evenruler.measurement.answered import unmeasured
from evenruler.results.record import Heading, Result
from evenruler.text.numbers import figure_in_words

WIDTH = 110
"""Characters of a line of figures of fitness."""

UNKNOWN_WITHOUT_PREFIXES = "Nothing was asked after prefixes: how far these figures hang on wordings is not known"


def lines_of(result: Result) -> Iterator[str]:
    """A result in lines.

    Args:
        result: Of one benchmark on one model.
    """
    benchmark, model = result.benchmark, result.model
    yield f"{benchmark.name} {benchmark.version} ({benchmark.title}) on {model.name}"
    labels = dict.fromkeys(label for models in result.figures.values() for label in models)
    nothing = {label: said for label in labels if (said := unmeasured(_of_label(result, label)))}
    for label, said in nothing.items():
        yield from wrap(f"  {label}: {said}", WIDTH, subsequent_indent="    ", break_on_hyphens=False)
    amounts = [heading for heading in result.headings if heading.role == "amount"]
    fitness = [heading for heading in result.headings if heading.role == "fitness"]
    for part, models in result.figures.items():
        for label, figures in models.items():
            yield f"  {part}{'' if label == model.name else f', {label}'}"
            yield from _amounts(amounts, figures, nothing.get(label, ""))
            if told := _fitness(fitness, figures):
                yield from wrap(
                    f"    the instrument here: {told}", WIDTH, subsequent_indent="      ", break_on_hyphens=False
                )
    yield from _explained(amounts, result)
    yield from (f"  warning: {line}" for line in result.warnings)
    yield from (f"  left out: {line}" for line in result.left_out)
    if not result.settings.prefixes:
        yield f"  {UNKNOWN_WITHOUT_PREFIXES}{' (leave --quick out)' if result.settings.quick else ''}."
    if result.settings.limit is not None:
        yield f"  At most {result.settings.limit} units were asked about (--limit): figures are of these."


def _of_label(result: Result, label: str) -> Iterator[Mapping[str, Any]]:
    return (record for models in result.figures.values() for record in models.get(label, {}).values())


def _amounts(headings: Sequence[Heading], figures: Mapping[str, Mapping[str, Any]], before: str) -> Iterator[str]:
    """Amounts with their verdicts, and the reason of each that was not told before."""
    shown = [heading for heading in headings if heading.figure in figures]
    width = max((len(heading.heading) for heading in shown), default=0)
    told = ""
    for heading in shown:
        record = figures[heading.figure]
        unit = "" if record["value"] is None else f" {record['unit']}"
        line = f"    {heading.heading:<{width}}  {figure_in_words(record)}{unit}"
        yield line + _control(record) + (f": {record['verdict']}" if "verdict" in record else "")
        if record.get("why", told) != told and record["why"] not in before:
            told = record["why"]
            yield f"    {'':<{width}}  {told}"
    if shown and not any("verdict" in figures[heading.figure] for heading in shown):
        yield "    No figure here has a verdict, so nothing is said of them."


def _explained(headings: Sequence[Heading], result: Result) -> Iterator[str]:
    """What the figures are that verdicts are of; of a benchmark without verdicts, what all amounts are."""
    own = [figures for models in result.figures.values() for figures in models.values()]
    shown = [heading for heading in headings if any(heading.figure in figures for figures in own)]
    judged = [heading for heading in shown if any("verdict" in figures.get(heading.figure, {}) for figures in own)]
    for heading in judged or shown:
        yield from wrap(f"  {heading.heading}: {heading.meaning}", WIDTH, subsequent_indent="    ")


def _control(record: Mapping[str, Any]) -> str:
    return f", control {record['control']:z.2f}" if "control" in record else ""


def _fitness(headings: Sequence[Heading], figures: Mapping[str, Mapping[str, Any]]) -> str:
    shown = [heading for heading in headings if heading.figure in figures]
    return "; ".join(
        f"{heading.heading} {_short(figures[heading.figure])}"
        for heading in shown
        if figures[heading.figure]["value"] is not None
    )


def _short(record: Mapping[str, Any]) -> str:
    interval = f" [{record['low']:z.2f}, {record['high']:z.2f}]" if "low" in record else ""
    return f"{record['value']:z.2f}{interval}" + (f" (control {record['control']:z.2f})" if "control" in record else "")
