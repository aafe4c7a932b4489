"""Figures: a value with interval, n and unit, or the reason why there is none."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from enum import StrEnum
from typing import Any, Literal

import pandas as pd

UNTOLD = "Validity on this model is unknown"
"""First words of the reason for a headline in doubt: neither it nor a difference of two is
asserted."""

Mark = Literal["found", "told", "open", "unfit"]
"""How a cell is drawn, which says how sure it is and never whether it is good: something was found;
nothing was, or nothing specific; too little data; the instrument is invalid. Red is left to what
failed to run."""


class Verdict(StrEnum):
    """The verdict on a headline figure."""

    INVALID = "invalid on this model"
    """The instrument fails a validity check of its own: the value is printed, but is no finding."""
    INCONCLUSIVE = "inconclusive"
    """Too few units, wordings or placebos; or neither an effect nor its absence is shown."""
    NO_EFFECT = "no effect"
    """The part beyond placebos is smaller than the smallest relevant effect."""
    NOT_SPECIFIC = "not specific"
    """Placebos, which lack the construct, have at least half of the effect."""
    EFFECT = "effect"

    @property
    def mark(self) -> Mark:
        """How it is drawn."""
        return _MARKS[self]


_MARKS: Mapping[Verdict, Mark] = {
    Verdict.EFFECT: "found",
    Verdict.NOT_SPECIFIC: "told",
    Verdict.NO_EFFECT: "told",
    Verdict.INCONCLUSIVE: "open",
    Verdict.INVALID: "unfit",
}

ORDER = tuple(_MARKS)
"""Order in which sentences list verdicts."""

ASSERTED = (Verdict.EFFECT, Verdict.NOT_SPECIFIC)
"""Verdicts that assert that something was found, and so have a direction."""


@dataclass(frozen=True)
class Figure:
    """A descriptive figure, without a verdict of its own. `value` is None where not computable;
    `reason` says why.
    """

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
    """The value expected without an effect."""
    verdict: str | None = None
    """For descriptive figures: None, or that the instrument is invalid on the model."""
    why: str | None = None
    """The reason for the verdict, a sentence."""


@dataclass(frozen=True, kw_only=True)
class HeadlineFigure(Figure):
    """A headline figure with null (`p`), placebo and verdict; built only by
    `evenruler.measurement.verdicts.judge`.
    """

    placebo: float | None
    """The effect of the same manipulation without the construct; None where the design has no
    placebo."""
    specific: float | None
    """The figure minus what placebos do."""
    specific_low: float | None
    specific_high: float | None
    smallest: float
    """Smallest relevant effect, in the unit of the figure."""
    detectable: float | None
    """Minimum detectable specific effect, at 80 % power."""
    p_effect: float | None
    """Holm-adjusted p of the claim that there is a specific effect."""
    p_denial: float | None
    """Holm-adjusted p of the claim that there is no relevant one, or none beyond placebos."""
    levels: str
    """Number of levels of each random facet: "43 attributes, 8 templates"."""


ENDS, NAMED = ("most", "least"), 5
"""Columns with the units that have the highest and the lowest values, and how many each names."""

UNDEFINED = "undefined for these values"


Row = dict[str, Any]


def as_rows(
    figures: Iterable[Figure], benchmark: object, model: object, *part: object
) -> Iterator[Row]:
    """One row per figure, in the schema of `tables.schemas.FIGURES`; the values of `part` are
    joined by commas.
    """
    for figure in figures:
        yield {
            "benchmark": benchmark,
            "part": ", ".join(map(str, part)),
            "model": model,
            **asdict(figure),
            **dict.fromkeys(ENDS),
        }


def finite_or_none(value: float) -> float | None:
    """The value, or None if it is not finite."""
    return value if math.isfinite(value) else None


NUMBERS = tuple(
    field.name for field in fields(HeadlineFigure) if field.type in (float, float | None)
)
"""Names of the numeric columns of figures."""


def figures_to_dicts(figures: pd.DataFrame) -> list[dict[str, object]]:
    """Figures as plain records for JSON. Null values are kept, with their reason; nothing is
    rounded.
    """
    plain_records = []
    for record in figures.to_dict("records"):
        plain: dict[str, object] = {"figure": record["figure"], "value": None}
        for key in NUMBERS:
            if not pd.isna(record.get(key)):
                plain[key] = float(record[key])
        plain |= {"n": int(record["n"]), "unit": record["unit"]}
        for key in ("levels", "reason", "verdict", "why", *ENDS):
            if not pd.isna(record.get(key)):
                plain[key] = record[key]
        plain_records.append(plain)
    return plain_records


OF_ANY_MODEL = "any-model"
"""Key for figures that do not depend on a model."""


def as_metrics(figures: pd.DataFrame, part: str) -> dict[str, Any]:
    """Figures as records nested by benchmark, part, model (null: any) and figure, for
    `metrics.json` and evidence.

    `part`: the column that names the part of a benchmark, such as a template set or a subscale.
    """
    metrics: dict[str, Any] = {}
    figures = figures.assign(model=figures["model"].fillna(OF_ANY_MODEL))
    for (benchmark, of_part, model), rows in figures.groupby(
        ["benchmark", part, "model"], sort=True
    ):
        of_model = {str(record.pop("figure")): record for record in figures_to_dicts(rows)}
        of_benchmark = metrics.setdefault(str(benchmark), {})
        of_benchmark.setdefault(str(of_part), {})[str(model)] = of_model
    return metrics


def unit_means(made_of: pd.DataFrame, unit_columns: Sequence[str]) -> "pd.Series[float]":
    """The mean of each unit without placebos: of the first pole, minus the other where there is
    one.

    `made_of`: in the schema `tables.schemas.HEADLINES`; `unit_columns`: those that identify a unit.
    """
    poles = (
        made_of[made_of["pole"] != 0]
        .groupby([*unit_columns, "pole"])["value"]
        .mean()
        .unstack("pole")
    )
    differences = poles.get(1, 0.0) - poles.get(-1, 0.0)
    return pd.Series(differences, index=poles.index, dtype="float64")


def with_extreme_units(figures: pd.DataFrame, made_of: pd.DataFrame) -> pd.DataFrame:
    """Add the columns `ENDS` to headlines that have at least 2 `NAMED` units; `made_of`: the rows
    behind them.
    """
    key_columns = ["part", "model", "figure"]
    groups = (
        unit_means(made_of, [*key_columns, "unit"]).groupby(level=key_columns)
        if len(made_of)
        else ()
    )
    ends_by_key: dict[Any, tuple[str, str]] = {}
    for key, values in groups:
        names = (
            values.sort_values(ascending=False, kind="stable")
            .index.get_level_values("unit")
            .astype(str)
        )
        if len(names) >= 2 * NAMED:
            most = ", ".join(names[:NAMED])
            least = ", ".join(names[: -NAMED - 1 : -1])
            ends_by_key[key] = (most, least)
    rows = [
        ends_by_key.get(key, (None, None))
        for key in figures[key_columns].itertuples(index=False, name=None)
    ]
    end_columns = pd.DataFrame(rows, columns=list(ENDS), index=figures.index, dtype=object)
    return figures.assign(**end_columns)


def figure_in_words(record: "Mapping[str, Any] | pd.Series[Any] | None", decimals: int = 2) -> str:
    """A figure's value with its interval and n as text, its `reason` where null, or empty without a
    record.
    """
    if record is None:
        return ""
    if pd.isna(record["value"]):
        return f"none ({record['reason']})"
    low, high = record.get("low"), record.get("high")
    style = f"z.{decimals}f"
    interval = ""
    if not pd.isna(low):
        interval = f" [{low:{style}}, {high:{style}}]"
    return f"{record['value']:{style}}{interval}, n = {record['n']}"
