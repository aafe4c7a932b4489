"""Answers that families share to the eight recommendations of `card.Validity`."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import pandas as pd

from evenruler.instruments.instrument import Evidence
from evenruler.measurement.verdicts import ORDER, Verdict

PUBLIC = (
    "Not done: no canary string, no rows held back, no search of training data. All rows are public once published."
)
"""What is true of every benchmark."""


def amounts(evidence: Evidence) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    """Model, figure and record of everything that has a verdict."""
    for models in evidence.values():
        for model, figures in models.items():
            for name, record in figures.items():
                if isinstance(record, Mapping) and "verdict" in record:
                    yield model, name, record


def judged(evidence: Evidence) -> str:
    """How many headlines show an effect on each model."""
    total: Counter[str] = Counter()
    shown: Counter[str] = Counter()
    for model, _, record in amounts(evidence):
        total[model] += 1
        shown[model] += record["verdict"] == Verdict.EFFECT
    if not total:
        return "No headline has a verdict: no model in use was asked, or none could answer."
    told = ", ".join(f"{model} {shown[model]} of {total[model]}" for model in total)
    return f"Headlines that show an effect beyond placebos, by model: {told}."


def tested(evidence: Evidence) -> str:
    """On how many units amounts rest, how they are tested, and how they came out."""
    records = [record for _, _, record in amounts(evidence)]
    if not records:
        return "Not done: no amount has a verdict. `evenruler compare` tests differences of models by units."
    by_unit: dict[str, list[int]] = {}
    for record in records:
        by_unit.setdefault(record["unit"], []).append(record["n"])
    units = ", ".join(f"{unit} ({_range(counts)})" for unit, counts in sorted(by_unit.items()))
    with_interval = sum(record.get("low") is not None for record in records)
    verdicts = Counter(record["verdict"] for record in records)
    told = ", ".join(f"{verdicts[verdict]} {verdict}" for verdict in ORDER if verdicts[verdict])
    return (
        f"{with_interval} of {len(records)} headlines have a 95% interval over all that could have been others; they "
        f"rest on {units}. p is adjusted within each model (Holm), apart for effects and denials. Verdicts: {told}. "
        "`evenruler compare` tests how models differ."
    )


def _range(counts: Iterable[int]) -> str:
    found = sorted(set(counts))
    return str(found[0]) if len(found) == 1 else f"{found[0]} to {found[-1]}"


def by_model(evidence: Evidence, name: str, key: str = "value", decimals: int = 2) -> str:
    """A figure on every model that has it, from the least to the greatest over parts; empty where none has.

    Args:
        evidence: Of the instrument.
        name: Of the figure.
        key: What of it, `control` say.
        decimals: To show.
    """
    values: dict[str, list[float]] = {}
    for models in evidence.values():
        for model, figures in models.items():
            if (value := figures.get(name, {}).get(key)) is not None:
                values.setdefault(model, []).append(value)
    return ", ".join(f"{model} {span(found, decimals)}" for model, found in values.items())


def by_source(table: pd.DataFrame) -> str:
    """How many rows of a table are whose."""
    counts = table["source"].value_counts().sort_index()
    return "; ".join(f"{count:,} rows: {source}" for source, count in counts.items())


def span(values: Iterable[float], decimals: int = 2) -> str:
    """The least and the greatest of some values."""
    found = list(values)
    low, high = f"{min(found):z.{decimals}f}", f"{max(found):z.{decimals}f}"
    return low if low == high else f"{low} to {high}"
