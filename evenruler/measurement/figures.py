"""Figures: a value with interval, n and unit, or the reason why there is none.

A figure has an id in `[a-z0-9_]`. What else it is about, such as a cue, a task or a subscale, are
its dimensions: a column each in tables, null where it does not apply. No name of a figure holds
one.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
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
    dimensions: Mapping[str, str] = field(default_factory=dict)
    """What it is about besides the model, by dimension: `{"cue": "gender-salience"}`."""


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


ENDS, NAMED = ("highest_units", "lowest_units"), 5
"""Columns with the units that have the highest and the lowest values, and how many each names."""

UNDEFINED = "undefined for these values"

WHOLE = "all"
"""Text for figures without dimensions, and for a whole scale among its subscales."""


Row = dict[str, Any]


def as_rows(
    figures: Iterable[Figure], benchmark: object, model: object, **dimensions: object
) -> Iterator[Row]:
    """One row per figure: the columns of `FIGURES` in the schemas of a family.

    `dimensions`: those that all the figures share; None where one does not apply.
    """
    for figure in figures:
        yield {
            "benchmark": benchmark,
            "figure": figure.figure,
            "model": model,
            **dimensions,
            **figure_fields(figure),
            **dict.fromkeys(ENDS),
        }


def figure_fields(figure: Figure) -> Row:
    """The columns of a figure, its dimensions among them."""
    columns = asdict(figure)
    return {**columns.pop("dimensions"), **columns}


def finite_or_none(value: float) -> float | None:
    """The value, or None if it is not finite."""
    return value if math.isfinite(value) else None


NUMBERS = tuple(
    column.name for column in fields(HeadlineFigure) if column.type in (float, float | None)
)
"""Names of the numeric columns of figures."""

TEXTS = ("levels", "reason", "verdict", "why", *ENDS)
"""Names of the text columns of figures, besides the unit."""

NO_DIMENSIONS = frozenset(
    {"benchmark", "figure", "model", *NUMBERS, "n", "unit", *TEXTS}
    | {"rows", "at", "word", "group", "pole", "axis_position"}
)
"""Columns of figures and of the rows behind headlines that are no dimensions."""

OF_LABEL = ("n_fits", "method")
"""Dimensions that readers see in the label of a model (`model_label`)."""


def dimensions_of(row: Mapping[str, Any]) -> dict[str, str]:
    """The dimensions of a row of figures that apply to it, in the order of its columns."""
    dimensions: dict[str, str] = {}
    for name, content in row.items():
        if name not in NO_DIMENSIONS and not pd.isna(content):
            dimensions[name] = str(content)
    return dimensions


def has_dimensions(row: Mapping[str, Any], wanted: Mapping[str, str | None]) -> bool:
    """Whether a row of figures has these dimensions; None stands for one that it must not have."""
    dimensions = dimensions_of(row)
    return all(dimensions.get(name) == word for name, word in wanted.items())


def dimension_columns(table: pd.DataFrame) -> list[str]:
    """The columns of a table of figures, or of the rows behind headlines, that are dimensions."""
    return [name for name in table.columns if name not in NO_DIMENSIONS]


def figure_key(dimensions: Mapping[str, str]) -> str:
    """Dimensions as one text, "cue=gender-salience,task=completion"; `WHOLE` where there is
    none.
    """
    assignments = [f"{name}={word}" for name, word in dimensions.items()]
    return ",".join(assignments) or WHOLE


def figure_name(row: Mapping[str, Any]) -> str:
    """A figure with its dimensions, as users type it:
    "change:cue=gender-salience:task=completion".
    """
    name = str(row["figure"])
    for dimension, word in dimensions_of(row).items():
        name += f":{dimension}={word}"
    return name


def model_label(row: Mapping[str, Any]) -> str:
    """A row's model as readers see it, with the method of asking, or the number of fits that a
    figure is of: "bert (mlm)", "nli-a and 2 other fits"; "" for a figure of no model.
    """
    if pd.isna(row["model"]):
        return ""
    dimensions = dimensions_of(row)
    label = str(row["model"])
    if "n_fits" in dimensions:
        n_others = int(dimensions["n_fits"]) - 1
        label = f"{label} and {n_others} other fit{'s' if n_others > 1 else ''}"
    return f"{label} ({dimensions['method']})" if "method" in dimensions else label


def figure_rows(figures: pd.DataFrame) -> list[Row]:
    """Figures as rows for JSON: null dimensions and fields are left out, but a null value and a
    null model are kept. Nothing is rounded.
    """
    rows: list[Row] = []
    for record in figures.to_dict("records"):
        columns = {str(name): content for name, content in record.items()}
        model = None if pd.isna(columns["model"]) else columns["model"]
        row: Row = {"figure": columns["figure"], "model": model, **dimensions_of(columns)}
        row["value"] = None
        for name in NUMBERS:
            if not pd.isna(columns.get(name)):
                row[name] = float(columns[name])
        row |= {"n": int(columns["n"]), "unit": columns["unit"]}
        for name in TEXTS:
            if not pd.isna(columns.get(name)):
                row[name] = columns[name]
        rows.append(row)
    return rows


def rows_by_benchmark(figures: pd.DataFrame) -> dict[str, list[Row]]:
    """The figures of each benchmark as rows for JSON (`figure_rows`), sorted by figure, dimensions
    and model.
    """
    rows: dict[str, list[Row]] = {}
    for benchmark, benchmark_figures in figures.groupby("benchmark", sort=True):
        rows[str(benchmark)] = sorted(figure_rows(benchmark_figures), key=row_key)
    return rows


def row_key(row: Mapping[str, Any]) -> tuple[str, str, str]:
    """What identifies a row within a benchmark: figure, dimensions and model; figures of no model
    come first.
    """
    return row["figure"], figure_key(dimensions_of(row)), row["model"] or ""


def rows_with_verdict(rows: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The rows of figures that have a verdict."""
    return [row for row in rows if "verdict" in row]


def is_headline(row: Mapping[str, Any]) -> bool:
    """Whether a row is that of a headline figure, which has a smallest relevant effect."""
    return not pd.isna(row.get("smallest"))


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


def headline_keys(table: pd.DataFrame) -> list[str]:
    """The `headline_key` of each row of a table of figures, or of rows behind headlines."""
    columns = ["figure", "model", *dimension_columns(table)]
    words = table[columns].astype(object).where(table[columns].notna(), "")
    groups = words.groupby(columns, sort=False).ngroup()
    first_rows = table.loc[~groups.duplicated().to_numpy(), columns]
    keys = [headline_key(dict(row)) for _, row in first_rows.iterrows()]
    return [keys[group] for group in groups]


def headline_key(row: Mapping[str, Any]) -> str:
    """What identifies a figure within a benchmark, as one text: its name, and its model."""
    model = "" if pd.isna(row["model"]) else row["model"]
    return f"{figure_name(row)} {model}"


def with_extreme_units(figures: pd.DataFrame, made_of: pd.DataFrame) -> pd.DataFrame:
    """Add the columns `ENDS` to headlines that have at least 2 `NAMED` units; `made_of`: the rows
    behind them.
    """
    keyed = made_of.assign(key=headline_keys(made_of))
    ends_by_key: dict[Any, tuple[str, str]] = {}
    for key, values in unit_means(keyed, ["key", "unit"]).groupby(level="key"):
        names = (
            values.sort_values(ascending=False, kind="stable")
            .index.get_level_values("unit")
            .astype(str)
        )
        if len(names) >= 2 * NAMED:
            most = ", ".join(names[:NAMED])
            least = ", ".join(names[: -NAMED - 1 : -1])
            ends_by_key[key] = (most, least)
    rows = [ends_by_key.get(key, (None, None)) for key in headline_keys(figures)]
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
