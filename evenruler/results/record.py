"""The result of one benchmark on one model: a JSON file, with tables of scores next to it.

    RESULTS/{model}/{benchmark}@{version}/result.json     figures with controls and verdicts, and
    what was measured
                                          headlines.parquet the rows behind headlines, used to
                                          compare results {table}.parquet scores by row, in the
                                          tables of the benchmark's family answers-{table}.parquet
                                          the model's answers, unrounded

Results of another size than `standard`, method or limit have a suffix after the version, as
`+trial` or `+limit-N`.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from html import escape
from typing import TYPE_CHECKING, Any, Final, Literal

import pandas as pd
from pydantic import Field, PrivateAttr, model_validator

from evenruler.errors import UserError
from evenruler.measurement.figures import (
    TEXTS,
    dimension_columns,
    dimensions_of,
    figure_in_words,
    figure_name,
    is_headline,
    model_label,
    unit_means,
)
from evenruler.measurement.headings import find_heading, part_of_instrument
from evenruler.strict import Slug, StrictModel, Text
from evenruler.tables.schemas import NUMBERS as OF_FIGURES
from evenruler.terminal import escape_steering
from evenruler.versions import Version

if TYPE_CHECKING:
    import altair as alt

FORMAT: Final = 3
"""Format number of `result.json`; changes when the meaning of a field does."""

RESULT, HEADLINES_FILE, ANSWERS = "result.json", "headlines.parquet", "answers-"


class MeasuredBenchmark(StrictModel):
    """The benchmark, with hashes of its content."""

    name: Slug
    version: Version
    title: Text
    family: Slug
    origin: Text
    """`shipped`, `folder`, `file`, `hub:USER/REPO@TAG`, or `git:` and a revision."""
    content_sha256: Text
    """Its identity: a hash of all rows and the plan when measured
    (`publish.manifest.identity_of`)."""
    plan_sha256: Text
    """Hash of `plan.json`, as in `manifest.json`."""


class Behaviour(StrictModel):
    """What the model computed on two fixed texts (`evenruler.models.fingerprint`), to recognise it
    by.
    """

    numbers: str | None
    """Its numbers, with spaces between them; null with a reason."""
    reason: str | None = None


class MeasuredModel(StrictModel):
    """The model, with hashes of the files that determine its answers."""

    name: Slug
    """Its name in figures and folders."""
    label: Text | None = None
    """Its name for readers, where that is not a slug; null otherwise, and in older results."""
    source: str | list[str]
    """As in the catalogue: `hub:org/name`, `package:module/file`, `local:folder`, `endpoint:name`,
    `untrained:NAME`; for an adapter two, its own and its base's; `loaded:CLASS` and `function:NAME`
    for Python objects."""
    revision: str | None
    """The commit of a Hub repository."""
    kind: Text
    chat: bool
    """Whether it is asked by chat."""
    licence: Text
    start: dict[str, str] | None = None
    """What stands before plain texts: its `token`, and the `source` of that, in words
    (`evenruler.models.starts`); null for kinds without, where it is not known, and in older
    results."""
    engine: dict[str, Any]
    """Everything besides the prompt that an answer depends on: sha256 of weights, configuration,
    tokenizer and template; device class, dtype, library versions; for a server its address and
    mode."""
    heard: dict[str, list[str]] = Field(default_factory=dict)
    """What a server called itself in its replies: each `model` and `fingerprint`."""
    meta: dict[str, Any] | None = None
    """The fields of `instruments.instrument.ModelMeta`, on which requests and figures depend; null
    in older results."""
    fingerprint: Behaviour | None = None
    """Its fingerprint; null in older results, and for models on servers, functions and recorded
    answers."""


class MeasurementSettings(StrictModel):
    """Settings of the measurement."""

    prefixes: bool
    """Whether rows were also asked after prefixes; if not, sensitivity to wording is unknown."""
    size: Literal["trial", "standard", "full"] = "standard"
    """How much of the benchmark was asked."""
    method: str | None = None
    """The one method that was asked by, where a family has several; null: all methods that the
    model supports."""
    limit: int | None
    """The most units asked about, evenly spread; null: all that the plan asks for."""
    level: float
    """Coverage of intervals."""
    resamples: int
    seed: int

    @model_validator(mode="before")
    @classmethod
    def _of_before_sizes(cls, settings: object) -> object:
        """Migrate results from before sizes, which have `quick` instead: true is `trial`, false
        `standard`.
        """
        if not isinstance(settings, dict) or "quick" not in settings:
            return settings
        size = "trial" if settings["quick"] else "standard"
        return {"size": size, **{key: value for key, value in settings.items() if key != "quick"}}


class Heading(StrictModel):
    """How a figure is shown: its name and meaning in words."""

    figure: Text
    heading: Text
    meaning: Text
    dimensions: dict[str, str | None] = Field(default_factory=dict)
    """Dimensions that are part of the heading; null for one that rows under it do not have."""
    figure_type: Literal["headline", "descriptive", "validity"]
    """A headline has a verdict; an amount describes the model; validity says how well the
    instrument measures."""
    says: list[str] | None = None
    """Clauses that say what values above 0, and values below 0, claim of a model, the amount in
    place of `{amount}`."""
    size: str = ""
    """How the value is written (`instruments.instrument.FigureHeading`)."""
    measured_in: str = ""
    """The unit of the value."""
    alternatives: str = ""
    """What the value is compared with, in the plural."""
    ends: list[str] | None = None
    """Adjectives for units with the highest and with the lowest values, for "most ..."."""
    not_shown: str = ""
    """What even a detected effect does not show."""


@dataclass
class ResultTables:
    """Tables stored next to a result; they do not count when results are compared for equality."""

    headlines: pd.DataFrame | None = field(default=None, compare=False)
    tables: Mapping[str, pd.DataFrame] = field(default_factory=dict, compare=False)


class Result(StrictModel):
    """The content of `result.json`; just after measuring also with its tables."""

    format: Literal[3] = FORMAT
    evenruler: Text
    """The version of evenruler that measured."""
    benchmark: MeasuredBenchmark
    model: MeasuredModel
    settings: MeasurementSettings
    headings: list[Heading]
    figures: list[dict[str, Any]]
    """A row each, as in `evidence.json`: `figure`, `model`, its dimensions, `value`, `low`, `high`,
    `n`, `unit`, `reason`, `control`, `p`, and for headlines the fields of
    `measurement.figures.HeadlineFigure`; rounded to three decimals."""
    planted: list[dict[str, Any]] = Field(default_factory=list)
    """What its headlines detect of planted associations (`report.planted.planted_as_json`); empty
    where nothing was planted, and in older results."""
    summary: list[str] = Field(default_factory=list)
    """The headlines in lines, from `report.sentences.summarise_headlines`."""
    left_out: list[str]
    """What the model could not be asked, with the reason; a sentence each."""
    warnings: list[str]
    """Reasons for doubt about the benchmark on this model; a sentence each."""
    asked: dict[str, int] = Field(default_factory=dict)
    """Number of answers by table."""
    tools: dict[str, dict[str, Any]] = Field(default_factory=dict)
    """The engine of each tool that answered, such as an embedder or a classifier, by name."""
    tables_sha256: dict[str, str] = Field(default_factory=dict)
    """Checksums of the tables next to `result.json`, by file name, once it is written; empty in
    older results."""
    _result_tables: ResultTables = PrivateAttr(default_factory=ResultTables)

    def with_tables(self, headlines: pd.DataFrame, tables: Mapping[str, pd.DataFrame]) -> "Result":
        """A copy with its tables attached, which are not part of its JSON."""
        result_copy = self.model_copy()
        result_copy._result_tables = ResultTables(headlines, tables)
        return result_copy

    @property
    def headlines(self) -> pd.DataFrame:
        """The rows behind its headlines, as `HEADLINES`; UserError where the result was read
        without its tables.
        """
        if self._result_tables.headlines is None:
            remedy = "read headlines.parquet beside result.json, or measure"
            raise UserError("its tables are not here", where=self.folder, remedy=remedy)
        return self._result_tables.headlines

    @property
    def tables(self) -> Mapping[str, pd.DataFrame]:
        """Scores by row and tables of the family's diagnosis, by name; empty for results read from
        a file.
        """
        return self._result_tables.tables

    @property
    def verdicts(self) -> dict[str, str]:
        """Verdicts of headlines, by figure with dimensions: "gain:set=seed"."""
        return {figure_name(row): row["verdict"] for row in self.figures if "verdict" in row}

    def frame(self) -> pd.DataFrame:
        """All figures, one row each, with the columns of `load_results`."""
        return as_frame([self])

    def units(self) -> pd.DataFrame:
        """The value of each unit behind a headline: figure, its dimensions, unit, value, and
        `axis_position` (place on an axis).

        Values are means over wordings and words (first group minus second where there are two), in
        the unit of the scores; sorted with the highest first. UserError where the result was read
        without its tables.
        """
        rows = self.headlines.drop(columns="model")
        dimensions = [name for name in dimension_columns(rows) if rows[name].notna().any()]
        key_columns = ["figure", *dimensions]
        rows[key_columns] = rows[key_columns].fillna("")  # a null would leave its row out
        unit_values = unit_means(rows, [*key_columns, "unit"]).rename("value").reset_index()
        position_by_unit = rows.groupby("unit")["axis_position"].first()
        unit_values["axis_position"] = unit_values["unit"].map(position_by_unit)
        ascending = [True] * len(key_columns)
        unit_values = unit_values.sort_values(
            [*key_columns, "value"],
            ascending=[*ascending, False],
            kind="stable",
            ignore_index=True,
        )
        unit_values[key_columns] = unit_values[key_columns].replace("", None)
        return unit_values

    def replies(self) -> pd.DataFrame:
        """The replies, one row each with its prompt; null where refused, with the `reason`.

        Empty where no replies were generated, or the result was read from a file.
        """
        return self.tables.get("replies", pd.DataFrame(columns=["prompt", "reply", "reason"]))

    def to_json(self) -> str:
        """One line of JSON, as printed by `evenruler measure --format json`."""
        content = self.model_dump(mode="json")
        return escape_steering(json.dumps(content, ensure_ascii=False, allow_nan=False))

    def plot(self) -> "alt.VConcatChart":
        """Plot headlines with intervals and bounds, one panel per figure.

        Points are values, dashes are bounds on either side of 0. UserError where there is no
        headline with a value, or altair is not installed.
        """
        try:
            import altair as alt
        except ModuleNotFoundError:
            remedy = "run `pip install 'evenruler[build]'`"
            raise UserError(
                "a plot needs the package altair", where="plot", remedy=remedy
            ) from None
        from evenruler.report.page import ONE_HUE, QUIET  # which few need

        keys = ("value", "low", "high", "bound")
        drawn: dict[str, list[dict[str, Any]]] = {}
        for row in self.figures:
            value = row["value"]
            if not is_headline(row) or value is None:
                continue
            heading = find_heading(row, self.headings)
            numbers = pd.Series({key: row.get(key) for key in keys}, dtype=float)
            part = part_of_instrument(row, heading)
            label = model_label(row).removeprefix(self.model.name).strip()
            where = ", ".join(filter(None, (part, label)))
            point: dict[str, Any] = {
                "where": f"{where}: {row['verdict']}",
                **numbers,
                "less": -numbers["bound"],
            }
            title = heading.heading if heading else row["figure"]
            drawn.setdefault(title, []).append(point)
        if not drawn:
            raise UserError(
                "no headline has a value and a verdict",
                where=self.folder,
                remedy="take another size",
            )
        panels = []
        for title, rows in drawn.items():
            values = alt.X("low:Q", title=title)
            base = alt.Chart(pd.DataFrame(rows), width=420)
            base = base.encode(y=alt.Y("where:N", title=None, axis=alt.Axis(labelLimit=500)))
            dashed = base.mark_tick(color=QUIET, size=24, thickness=1, strokeDash=[2, 2])
            bounds = dashed.encode(x="less:Q") + dashed.encode(x="bound:Q")
            zero_line = base.mark_rule(color=QUIET).encode(x=alt.datum(0))
            intervals = base.mark_rule(color=ONE_HUE).encode(x=values, x2="high:Q")
            points = base.mark_point(color=ONE_HUE, filled=True, opacity=1).encode(x="value:Q")
            panels.append(bounds + zero_line + intervals + points)
        return alt.vconcat(*panels, title=self.folder)

    def _repr_html_(self) -> str:
        """The notebook display: the answer, and what has a verdict as a table."""
        rows: list[list[Any]] = []
        for row in self.figures:
            if "verdict" in row:
                judged = [row.get("percentile", ""), row["verdict"], row.get("why", "")]
                rows.append([figure_name(row), figure_in_words(row), *judged])
        columns = ["figure", "value", "percentile", "verdict", "why"]
        table = pd.DataFrame(rows, columns=columns)
        sentences = [*self.summary, *(f"warning: {line}" for line in self.warnings)]
        lines = "".join(f"<li>{escape(line)}</li>" for line in sentences)
        table_html = table.to_html(index=False) if rows else ""
        return f"<p><b>{escape(self.folder)}</b></p><ul>{lines}</ul>{table_html}"

    @property
    def folder(self) -> str:
        """Its folder, relative to the folder of results."""
        less = "" if self.settings.size == "standard" else f"+{self.settings.size}"
        less += "" if self.settings.method is None else f"+{self.settings.method}"
        less += "" if self.settings.limit is None else f"+limit-{self.settings.limit}"
        benchmark = f"{self.benchmark.name}@{self.benchmark.version}"
        return f"{self.model.name}/{benchmark}{less}"


NUMERIC: Final = {*OF_FIGURES, "n"}
_FIRST_NUMBERS: Final = dict.fromkeys(("value", "low", "high"), "float64")
_COUNTED: Final = {"n": "Int64", "unit": "string"}
_TEXTS: Final = dict.fromkeys(TEXTS, "string")
_SETTINGS: Final = {"prefixes": "bool", "size": "string", "method": "string", "limit": "Int64"}
_NUMBERS: Final = dict.fromkeys(OF_FIGURES, "float64")

BEFORE_DIMENSIONS: Final = dict.fromkeys(
    ("benchmark", "version", "model", "revision", "figure", "figure_type"), "string"
)
AFTER_DIMENSIONS: Final = {**_FIRST_NUMBERS, **_COUNTED, **_NUMBERS, **_TEXTS, **_SETTINGS}
"""Columns of `load_results` before and after the dimensions of its figures, with their types."""


def as_frame(results: Iterable[Result]) -> pd.DataFrame:
    """All figures of results, in the format of `load_results`."""
    rows: list[dict[str, Any]] = []
    dimensions: dict[str, str] = {}
    for result in results:
        benchmark, model = result.benchmark, result.model
        settings = result.settings.model_dump(include={"prefixes", "size", "method", "limit"})
        result_columns: dict[str, Any] = {
            "benchmark": benchmark.name,
            "version": benchmark.version,
            "model": model.name,
            "revision": model.revision,
            **settings,
        }
        for row in result.figures:
            heading = find_heading(row, result.headings)
            figure_type = heading.figure_type if heading else None
            dimensions |= dict.fromkeys(dimensions_of(row), "string")
            # A figure's own method says more than that of all its result.
            method = row.get("method", settings["method"])
            rows.append({**row, **result_columns, "method": method, "figure_type": figure_type})
    columns = {**BEFORE_DIMENSIONS, **dimensions, **AFTER_DIMENSIONS}
    return pd.DataFrame(rows, columns=list(columns)).astype(columns)
