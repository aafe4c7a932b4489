"""Figures of quality: a value with interval, n, unit, and the reason where there is none."""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

import numpy as np
import pandas as pd

from evenruler.measurement.checks import Floats, constant_columns
from evenruler.measurement.resampling import Scale, jackknife
from evenruler.measurement.validity import FEWEST_PAIRS, Correlation


@dataclass(frozen=True)
class Figure:
    """One figure; None where it could not be computed, and then the reason. It describes, and has no verdict."""

    figure: str
    value: float | None
    n: int
    unit: str
    """What n counts."""
    low: float | None = None
    high: float | None = None
    p: float | None = None
    reason: str | None = None
    control: float | None = None
    """What it would be if nothing were there."""
    verdict: str | None = None
    """Of one that describes: that the instrument is invalid on the model, or None."""
    why: str | None = None
    """The reason of the verdict, a sentence."""


@dataclass(frozen=True, kw_only=True)
class Confirmed(Figure):
    """A headline figure with null (`p`), placebo and verdict. `evenruler.measurement.verdicts.judge` alone makes it."""

    placebo: float | None
    """What the same manipulation does without the construct; None where the design has none."""
    specific: float | None
    """The part of the figure that placebos lack."""
    specific_low: float | None
    specific_high: float | None
    smallest: float
    """Effect worth naming, in the unit of the figure."""
    detectable: float | None
    """The smallest specific effect that the design finds in 80 of 100 cases."""
    p_effect: float | None
    """That there is a specific effect, corrected for several figures."""
    p_denial: float | None
    """That there is none of a size worth naming, or none beyond placebos, corrected."""
    levels: str
    """How many of each random facet: "43 attributes, 8 templates"."""


UNDEFINED = "undefined for these values"


def jackknifed(
    figure: str, statistic: Callable[[Floats], float], x: Floats, scale: Scale, level: float, unit: str
) -> Figure:
    """A statistic of x, [units, ...], with its jackknife interval over units, where it has one."""
    found = jackknife(statistic, x, scale=scale, level=level)
    value = finite(found.value)
    if value is None:
        return Figure(figure, None, len(x), unit, reason=UNDEFINED)
    return Figure(figure, value, len(x), unit, finite(found.low), finite(found.high))


def correlated(
    figure: str, correlate: Callable[..., Correlation], x: Floats, y: Floats, level: float, unit: str
) -> Figure:
    """A correlation of n pairs as a figure; null below `FEWEST_PAIRS`, or where all values are equal."""
    n = len(x)
    if n < FEWEST_PAIRS:
        return Figure(figure, None, n, unit, reason=f"fewer than {FEWEST_PAIRS} {unit} to correlate")
    if constant_columns(np.column_stack([x, y])).any():
        return Figure(figure, None, n, unit, reason="all values are equal")
    result = correlate(x, y, level)
    return Figure(figure, result.value, n, unit, finite(result.low), finite(result.high), result.p)


Row = dict[str, Any]


def as_rows(figures: Iterable[Figure], benchmark: object, model: object, *part: object) -> Iterator[Row]:
    """A row a figure, by `tables.schemas.figures_of`; `part`: in as many words as it has."""
    for figure in figures:
        yield {"benchmark": benchmark, "part": ", ".join(map(str, part)), "model": model, **asdict(figure)}


def finite(value: float) -> float | None:
    """The value, or None for what is no number."""
    return value if math.isfinite(value) else None


NUMBERS = tuple(field.name for field in fields(Confirmed) if field.type in (float, float | None))
"""Of figures, by their column."""


def records(figures: pd.DataFrame) -> list[dict[str, object]]:
    """Figures as plain records for JSON; a null value stays, with its reason. Nothing is rounded."""
    found = []
    for record in figures.to_dict("records"):
        plain: dict[str, object] = {"figure": record["figure"], "value": None}
        plain |= {key: float(record[key]) for key in NUMBERS if not pd.isna(record.get(key))}
        plain |= {"n": int(record["n"]), "unit": record["unit"]}
        plain |= {key: record[key] for key in ("levels", "reason", "verdict", "why") if not pd.isna(record.get(key))}
        found.append(plain)
    return found


OF_ANY_MODEL = "any-model"
"""Where figures stand that do not depend on a model."""


def as_metrics(figures: pd.DataFrame, part: str) -> dict[str, Any]:
    """Figures as nested records, by benchmark, part, model (null: any) and figure, for `metrics.json` and evidence.

    `part`: the column that says which part of a benchmark a figure is of: a set of templates, a subscale.
    """
    metrics: dict[str, Any] = {}
    figures = figures.assign(model=figures["model"].fillna(OF_ANY_MODEL))
    for (benchmark, of_part, model), rows in figures.groupby(["benchmark", part, "model"], sort=True):
        of_model = {str(record.pop("figure")): record for record in records(rows)}
        metrics.setdefault(str(benchmark), {}).setdefault(str(of_part), {})[str(model)] = of_model
    return metrics


def figure_in_words(record: "Mapping[str, Any] | pd.Series[Any] | None", decimals: int = 2) -> str:
    """A figure (a `record`) with its interval and n, or its `reason` where it is null; empty for none at all."""
    if record is None:
        return ""
    if pd.isna(record["value"]):
        return f"none ({record['reason']})"
    low, high = record.get("low"), record.get("high")
    interval = "" if pd.isna(low) else f" [{low:z.{decimals}f}, {high:z.{decimals}f}]"
    return f"{record['value']:z.{decimals}f}{interval}, n = {record['n']}"
