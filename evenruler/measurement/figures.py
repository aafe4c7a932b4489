"""Figures: a value with interval, n and unit, or the reason why there is none.

A figure has an id in `[a-z0-9_]`. What else it is about, such as a cue, a task or a subscale, are
its dimensions: a column each in tables, null where it does not apply. No name of a figure holds
one.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from enum import StrEnum
from typing import Any

import pandas as pd

UNKNOWN = "No verdict"
"""First words of the reason for a headline in doubt, which is only described."""


class Verdict(StrEnum):
    """The verdict on a headline figure: a word, or two that both hold."""

    DETECTED = "detected"
    """If nothing were there, at most 1 in 20 studies would give a result like this."""
    DETECTED_BELOW = "detected, below"
    """Something is there, and it is smaller than the bound."""
    BELOW = "below"
    """This study finds effects as large as the bound, and the real one is smaller."""
    INCONCLUSIVE = "inconclusive"
    """Neither detected nor below the bound."""
    DESCRIPTIVE = "descriptive"
    """A number without a test."""
    INVALID = "invalid"
    """The instrument fails a check of its own on this model: its numbers say nothing about the
    model."""

    @property
    def words(self) -> list[str]:
        """The claims that it makes, a word each."""
        return self.split(", ")

    @property
    def mark(self) -> str:
        """How a cell is drawn: by its first word, which says how sure it is and never whether it is
        good.
        """
        return self.words[0]

    @property
    def is_detected(self) -> bool:
        """Whether it asserts that something is there, and so has a direction."""
        return "detected" in self.words

    @property
    def is_below(self) -> bool:
        """Whether it asserts that the effect is smaller than the bound."""
        return "below" in self.words

    @property
    def asserts(self) -> bool:
        """Whether it asserts anything about the model."""
        return self.is_detected or self.is_below


ORDER = tuple(Verdict)
"""Order in which sentences and tables list verdicts."""


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
    """None, or that the instrument is invalid on the model; headlines have any `Verdict`."""
    why: str | None = None
    """The reason for the verdict, a sentence."""
    dimensions: Mapping[str, str] = field(default_factory=dict)
    """What it is about besides the model, by dimension: `{"cue": "gender-salience"}`."""


@dataclass(frozen=True, kw_only=True)
class HeadlineFigure(Figure):
    """A headline figure with its test, what it is compared with, and its verdict; built only by
    `evenruler.measurement.verdicts.judge`.
    """

    null: str | None
    """The randomisation that `p` comes from, in words; None where there is none."""
    facets: str
    """Number of levels of each facet: "43 attributes, 16 sentences, 7 items (fixed)"."""
    bound: float
    """X of `below X`, in the unit of the figure."""
    detects: float | None
    """The effect that is detected in 8 of 10 such studies."""
    reference_set: str | None
    """What alternatives are drawn from; None where there is no comparison."""
    alternatives: float | None
    """How many alternatives the figure is compared with."""
    percentile: float | None
    """Share of alternatives nearer to 0, in percent."""
    percentile_low: float | None
    percentile_high: float | None
    same_test: float | None
    """Share of alternatives that the same test detects, from 0 to 1."""
    positive_control: str | None
    """What the positive control asks; None where none was asked."""
    positive_value: float | None
    """The figure of the positive control, in the unit of the figure; the right answer is
    positive."""
    positive_low: float | None
    positive_high: float | None
    positive_p: float | None
    note: str | None = None
    """A sentence added to any verdict, for example who stands out; `why` ends with it."""
    in_parts: str | None = None
    """What is detected and what is below in the whole and in its parts, in sentences; None where it
    has none."""


@dataclass(frozen=True, kw_only=True)
class PartFigure(Figure):
    """The figure of one part of a headline, whose word is no verdict: it stands in `note`."""

    note: str
    """"detected", "below 0.2", both, "inconclusive" or "not judged"; `reason` then says why."""
    null: str | None
    """The randomisation that `p` comes from, in words."""


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
    """The columns of a figure, its dimensions among them; a number that is not finite, as an end
    that no sign of few units shuts out, is None.
    """
    columns = asdict(figure)
    for name in NUMBERS:
        if columns.get(name) is not None:
            columns[name] = finite_or_none(columns[name])
    return {**columns.pop("dimensions"), **columns}


def finite_or_none(value: float) -> float | None:
    """The value, or None if it is not finite."""
    return value if math.isfinite(value) else None


NUMBERS = tuple(
    column.name for column in fields(HeadlineFigure) if column.type in (float, float | None)
)
"""Names of the numeric columns of figures."""

TEXTS = (
    "facets",
    "null",
    "reference_set",
    "positive_control",
    "note",
    "in_parts",
    "reason",
    "verdict",
    "why",
    *ENDS,
)
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


def with_labels(rows: Iterable[Mapping[str, Any]], labels: Mapping[str, str]) -> list[Row]:
    """Figures for readers: labels of models in place of their names."""
    return [{**row, "model": labels.get(row["model"], row["model"])} for row in rows]


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
    """Whether a row is that of a headline figure, which has a bound."""
    return not pd.isna(row.get("bound"))


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
