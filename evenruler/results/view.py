"""Results side by side with their differences, as Markdown, JSON and an HTML page."""

import json
from collections.abc import Iterator, Sequence
from typing import Any, Final

import pandas as pd

from evenruler.instruments import convergent
from evenruler.measurement.answered import unmeasured_models
from evenruler.measurement.figures import Verdict
from evenruler.measurement.sentences import summarise_headlines
from evenruler.publish.manifest import markdown_cell, markdown_table
from evenruler.report.grid import FigureCell, InstrumentView
from evenruler.report.page import Cell, Section, Table, render_page
from evenruler.results.comparison import (
    DIFFER,
    MORE,
    SAME,
    group_comparable_results,
    label_suffixes,
    result_agreement,
)
from evenruler.results.record import Heading, figures_of
from evenruler.results.store import StoredResult
from evenruler.tables import group_by_key

ABSENT: Final = "-"
"""Cell text where a result lacks what another has."""

NO_VERDICT: Final = (
    "No figure of these results has a verdict: nothing is said of a model by itself."
)

HEAD: Final = ("part", "figure", "A", "B", "A - B", "beyond placebos", "p", "verdict")

ANSWERED: Final = ("benchmark", "pair", "answer")

ONE_LEAD = "What benchmarks of Even Ruler say of a model."

LEAD = (
    "What benchmarks of Even Ruler say of models. Models are compared over what both were asked: "
    "what each two differ "
    "in stands behind the grid."
)

DIFFERENCES = (
    "Headlines over what both models were asked; gains of probes at equal sharpness, so A - B is "
    "not the difference of "
    "the two beside it. The verdict is on what they differ in beyond placebos; what has none is "
    "not compared."
)


def _figure_text(record: dict[str, Any]) -> str:
    """Value with interval, placebo and verdict; or why there is no value."""
    if record["value"] is None:
        return f"none ({record.get('reason', 'no reason given')}); {record['verdict']}"
    low, high, placebo = (record.get(key) for key in ("low", "high", "placebo"))
    ends = "" if low is None or high is None else f" [{low:z.3f}, {high:z.3f}]"
    placebo_text = "" if placebo is None else f"; placebo {placebo:z.3f}"
    return f"{record['value']:z.3f}{ends}{placebo_text}; {record['verdict']}"


def as_markdown(results: Sequence[StoredResult], comparisons: pd.DataFrame) -> str:
    """Markdown: per benchmark the confirmatory figures of every result, then the differences of
    each pair.
    """
    parts: list[str] = []
    for group in group_comparable_results(results):
        parts += _of_benchmark(group, _group_comparisons(group, comparisons))
    if rows := convergent.mtmm_rows(result_agreement(results)):
        parts += [
            "# Agreement across benchmarks",
            convergent.TEXT,
            markdown_table(convergent.HEAD, rows),
        ]
    return "\n\n".join(parts) + "\n"


def _group_comparisons(group: Sequence[StoredResult], comparisons: pd.DataFrame) -> pd.DataFrame:
    return comparisons[comparisons["benchmark"] == group[0].result.benchmark.name]


def _of_benchmark(group: Sequence[StoredResult], comparisons: pd.DataFrame) -> Iterator[str]:
    yield f"# {markdown_cell(name_with_versions(group))}"
    if lacking := unmeasured_of(group):
        yield "\n".join(f"- {markdown_cell(line)}" for line in lacking)
    if not comparisons.empty:
        yield "## Answer"
        yield "\n".join(
            f"- {markdown_cell(f'{pair}: {line}')}"
            for pair, line in difference_lines(group, comparisons)
        )
    shown: dict[tuple[str, str], dict[str, str]] = {}
    for stored_result, suffix in zip(group, label_suffixes(group), strict=True):
        for part, label, figure, record in figures_of(stored_result.result):
            if "verdict" in record:
                shown.setdefault((part, figure), {})[f"{label}{suffix}"] = _figure_text(record)
    if shown:
        models = list(
            dict.fromkeys(
                model for _, text_by_model in sorted(shown.items()) for model in text_by_model
            )
        )
        rows = [
            [*key, *(text_by_model.get(model, ABSENT) for model in models)]
            for key, text_by_model in sorted(shown.items())
        ]
        yield "## Figures, placebos, verdicts"
        yield markdown_table(["part", "figure", *models], rows)
    else:
        yield NO_VERDICT
    if warned := warnings_of(group):
        yield "\n".join(f"- {markdown_cell(line)}" for line in warned)
    yield "## Differences"
    yield DIFFERENCES
    yield markdown_table(HEAD, [difference_row(row) for row in rows_of(comparisons)])
    if notes := sorted({f"- {row['note']}" for row in rows_of(comparisons) if row["note"]}):
        yield "\n".join(notes)


def difference_lines(
    group: Sequence[StoredResult], comparisons: pd.DataFrame
) -> Iterator[tuple[str, str]]:
    """What every two results differ in: the pair and a line of `answer`."""
    headings = {
        heading.figure: heading
        for stored_result in group
        for heading in stored_result.result.headings
    }
    for (first, second), rows in group_by_key(
        ((row["first"], row["second"]), row) for row in rows_of(comparisons)
    ).items():
        figures: dict[str, dict[str, Any]] = {}
        for row in rows:
            record = row | {"value": row["difference"], "p_effect": row["p"], "why": row["reason"]}
            if row["specific"] is not None:
                record["placebo"] = row["difference"] - row["specific"]
            record = {
                name: value
                for name, value in record.items()
                if value is not None or name == "value"
            }
            figures.setdefault(row["part"], {})[row["figure"]] = record | {
                "verdict": _difference_verdict(row["verdict"])
            }
        says = [f"larger for {first} than for {second}", f"larger for {second} than for {first}"]
        unsigned = {row["figure"] for row in rows if row["verdict"] == DIFFER}
        plain = {"size": "", "ends": None, "not_shown": ""}
        words = {
            name: heading.model_copy(update={"says": None if name in unsigned else says, **plain})
            for name, heading in headings.items()
        }
        yield from (
            (f"{first} minus {second}", line) for line in summarise_headlines(figures, words)
        )


def unmeasured_of(group: Sequence[StoredResult]) -> list[str]:
    """The models on which nothing was measured, and why; a line each."""
    lines = []
    for stored_result, suffix in zip(group, label_suffixes(group), strict=True):
        reason_by_label = unmeasured_models(
            (label, record) for _, label, _, record in figures_of(stored_result.result)
        )
        lines += [f"{label}{suffix}: {reason}" for label, reason in reason_by_label.items()]
    return lines


def warnings_of(group: Sequence[StoredResult]) -> list[str]:
    """The warnings of each result, a line each."""
    called = (
        (stored_result.result, f"{stored_result.result.model.name}{suffix}")
        for stored_result, suffix in zip(group, label_suffixes(group), strict=True)
    )
    return [f"{name}: {line}" for result, name in called for line in result.warnings]


def name_with_versions(group: Sequence[StoredResult]) -> str:
    """Name and versions of the results' benchmark, with suffixes such as `+trial` and
    `+limit-N`.
    """
    versions = sorted({stored_result.result.folder.rpartition("@")[2] for stored_result in group})
    return f"{group[0].result.benchmark.name} {', '.join(versions)}"


def difference_row(row: dict[str, Any]) -> list[str]:
    """A comparison as text, one for each column of `HEAD`."""
    beyond = [row[key] for key in ("specific", "specific_low", "specific_high")]
    interval = ABSENT if None in beyond else "{:z.3f} [{:z.3f}, {:z.3f}]".format(*beyond)
    values = [(row[side], row[f"{side}_value"]) for side in ("first", "second")]
    return [
        row["part"],
        row["figure"],
        *(name if value is None else f"{name}: {value:z.3f}" for name, value in values),
        ABSENT if row["difference"] is None else f"{row['difference']:z.3f}",
        interval,
        ABSENT if row["p"] is None else f"{row['p']:.2g}",
        ". ".join(text for text in (row["verdict"], row["reason"]) if text),
    ]


def rows_of(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Rows as dicts, with None for every null."""
    plain = frame.astype(object).where(frame.notna(), None)
    return [{str(name): value for name, value in row.items()} for row in plain.to_dict("records")]


def as_json(figures: pd.DataFrame, comparisons: pd.DataFrame) -> str:
    """JSON of `figures`, as from `load_results`, and `comparisons`, as from `compare`."""
    content = {"figures": rows_of(figures), "comparisons": rows_of(comparisons)}
    return json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def render(results: Sequence[StoredResult], comparisons: pd.DataFrame | None = None) -> str:
    """One self-contained HTML page; without `comparisons`, each result by itself."""
    if comparisons is None:
        groups, heading, lead = (
            [[stored_result] for stored_result in results],
            "Even Ruler: results",
            ONE_LEAD,
        )
    else:
        groups, heading, lead = (
            group_comparable_results(results),
            "Even Ruler: results side by side",
            LEAD,
        )
    instruments = []
    for group in groups:
        benchmark = group[0].result.benchmark
        headings, figures = dict[str, Heading](), list[FigureCell]()
        for stored_result, suffix in zip(group, label_suffixes(group), strict=True):
            headings |= {
                heading.figure: heading for heading in reversed(stored_result.result.headings)
            }
            figure_rows = figures_of(stored_result.result)
            figures += [
                FigureCell(part, f"{label}{suffix}", figure, record)
                for part, label, figure, record in figure_rows
            ]
        note = (
            ""
            if any("verdict" in figure_cell.record for figure_cell in figures)
            else f" {NO_VERDICT}"
        )
        instruments.append(
            InstrumentView(
                name=benchmark.name,
                family=benchmark.family,
                title=benchmark.title,
                sentence=f"{name_with_versions(group)}.{note}",
                columns=list(reversed(headings.values())),
                figures=figures,
                warnings=warnings_of(group),
                sections=_difference_sections(comparisons, group),
                decimals=3,  # results are stored with three decimals
            )
        )
    models = dict.fromkeys(
        stored_result.result.model.name for group in groups for stored_result in group
    )
    rows = convergent.mtmm_rows(result_agreement(results))
    agreement = Section(
        convergent.TITLE, convergent.TEXT, [Table(convergent.HEAD, rows)], first=True
    )
    shared = {"agreement": [agreement]} if rows else {}
    lines: list[list[str]] = []
    if comparisons is not None:
        lines = [
            [name_with_versions(group), *line]
            for group in groups
            for line in difference_lines(group, _group_comparisons(group, comparisons))
        ]
    if lines:
        shared = {
            "": [Section("What they differ in", "", [Table(ANSWERED, lines)], first=True)],
            **shared,
        }
    return render_page(heading, lead, instruments, models=list(models), shared=shared)


def _difference_sections(
    comparisons: pd.DataFrame | None, group: Sequence[StoredResult]
) -> list[Section]:
    if comparisons is None:
        return []
    rows, table_rows = rows_of(_group_comparisons(group, comparisons)), list[list[str | Cell]]()
    for row in rows:
        *cells, verdict = difference_row(row)
        table_rows.append([*cells, Cell(verdict, _difference_verdict(row["verdict"]).mark)])
    notes = sorted({row["note"] for row in rows if row["note"]})
    return [
        Section(
            "Differences",
            " ".join([DIFFERENCES, *(f"{note}." for note in notes)]),
            [Table(HEAD, table_rows)],
        )
    ]


def _difference_verdict(verdict_text: str) -> Verdict:
    """The verdict on a difference without the names of models."""
    if verdict_text == DIFFER or f": {MORE} than " in verdict_text:
        return Verdict.EFFECT
    if verdict_text.startswith(SAME):
        return Verdict.NO_EFFECT
    return Verdict.INVALID if verdict_text.startswith(Verdict.INVALID) else Verdict.INCONCLUSIVE
