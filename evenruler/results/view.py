"""Results side by side with their differences, as Markdown, JSON and an HTML page."""

import json
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any, Final

import pandas as pd

from evenruler.instruments import agreement
from evenruler.measurement.figures import (
    OF_LABEL,
    Verdict,
    figure_name,
    model_label,
)
from evenruler.measurement.headings import find_heading
from evenruler.measurement.nonresponse import unmeasured_models
from evenruler.publish.manifest import markdown_cell, markdown_table
from evenruler.report.page import Cell, Section, Table, render_page
from evenruler.report.sentences import amount_text, headline_name
from evenruler.report.views import FigureCell, InstrumentView, make_figure_cell
from evenruler.results.comparison import (
    compared_figure,
    comparison_name,
    group_comparable_results,
    label_suffixes,
    result_agreement,
)
from evenruler.results.record import Heading, as_frame
from evenruler.results.store import StoredResult
from evenruler.tables import group_by_key
from evenruler.tables.frames import for_spreadsheets

ABSENT: Final = "-"
"""Cell text where a result lacks what another has."""

NO_VERDICT: Final = (
    "No figure of these results has a verdict: nothing is said of a model by itself."
)

HEAD: Final = ("figure", "A", "B", "A - B [95%]", "p", "verdict")

ANSWERED: Final = ("benchmark", "pair", "answer")

ONE_LEAD = "What benchmarks of Even Ruler say of a model."

LEAD = (
    "What benchmarks of Even Ruler say of models. Models are compared over what both were asked: "
    "what each two differ "
    "in stands with the details of each benchmark."
)

DIFFERENCES = (
    "Headlines over what both models were asked, so A - B may not be the difference of the two "
    "beside it. The verdict is on A - B, by the rules of a headline; what is invalid or only "
    "described is compared with nothing."
)


def _figure_text(record: dict[str, Any]) -> str:
    """Value with interval, percentile and verdict; or why there is no value."""
    value, verdict = record["value"], record["verdict"]
    if value is None:
        return f"none ({record.get('reason', 'no reason given')}); {verdict}"
    low, high, percentile = (record.get(key) for key in ("low", "high", "percentile"))
    compared = "" if percentile is None else f"; more than {percentile:.0f}% of its reference set"
    return f"{_with_ends(value, low, high)}{compared}; {verdict}"


def _with_ends(value: float, low: float | None, high: float | None) -> str:
    """A number with its interval, if it has one."""
    if low is None or high is None:
        return f"{value:z.3f}"
    ends = f"[{low:z.3f}, {high:z.3f}]"
    return f"{value:z.3f} {ends}"


def as_markdown(results: Sequence[StoredResult], comparisons: pd.DataFrame) -> str:
    """Markdown: per benchmark the figures with a verdict of every result, then the differences of
    each pair.
    """
    parts: list[str] = []
    for group in group_comparable_results(results):
        parts += _benchmark_paragraphs(group, _group_comparisons(group, comparisons))
    rows = agreement.mtmm_rows(result_agreement(results))
    if rows:
        parts += [
            "# Agreement across benchmarks",
            agreement.TEXT,
            markdown_table(agreement.HEAD, rows),
        ]
    return "\n\n".join(parts) + "\n"


def _group_comparisons(group: Sequence[StoredResult], comparisons: pd.DataFrame) -> pd.DataFrame:
    """The comparisons of the benchmark that a group of results measured."""
    return comparisons[comparisons["benchmark"] == group[0].result.benchmark.name]


def _benchmark_paragraphs(
    group: Sequence[StoredResult], comparisons: pd.DataFrame
) -> Iterator[str]:
    """Paragraphs of Markdown on one benchmark: heading, answer, figures by model, warnings and
    differences.
    """
    yield f"# {markdown_cell(name_with_versions(group))}"
    lacking = unmeasured_of(group)
    if lacking:
        yield "\n".join(f"- {markdown_cell(line)}" for line in lacking)
    if not comparisons.empty:
        yield "## Answer"
        yield "\n".join(
            f"- {markdown_cell(f'{pair}: {line}')}"
            for pair, line in difference_lines(group, comparisons)
        )
    text_by_model: dict[str, dict[str, str]] = {}
    for stored_result, suffix in zip(group, label_suffixes(group), strict=True):
        for row in stored_result.result.figures:
            if "verdict" in row:
                texts = text_by_model.setdefault(_name_without_method(row), {})
                texts[f"{model_label(row)}{suffix}"] = _figure_text(row)
    if text_by_model:
        sorted_figures = sorted(text_by_model.items())
        models = list(dict.fromkeys(chain.from_iterable(texts for _, texts in sorted_figures)))
        rows: list[list[str]] = []
        for name, texts in sorted_figures:
            rows.append([name, *(texts.get(model, ABSENT) for model in models)])
        yield "## Figures and verdicts"
        yield markdown_table(["figure", *models], rows)
    else:
        yield NO_VERDICT
    warnings = warnings_of(group)
    if warnings:
        yield "\n".join(f"- {markdown_cell(line)}" for line in warnings)
    yield "## Differences"
    yield DIFFERENCES
    comparison_rows = rows_of(comparisons)
    rows_by_comparison = [[difference_row(row), *scale_rows(row)] for row in comparison_rows]
    yield markdown_table(HEAD, [*chain.from_iterable(rows_by_comparison)])
    notes = sorted({f"- {row['note']}" for row in comparison_rows if row["note"]})
    if notes:
        yield "\n".join(notes)


def _name_without_method(row: dict[str, Any]) -> str:
    """The name of a figure; the label of its model says by which method it was asked."""
    return figure_name({name: row[name] for name in row if name not in OF_LABEL})


def difference_lines(
    group: Sequence[StoredResult], comparisons: pd.DataFrame
) -> Iterator[tuple[str, str]]:
    """What every two results differ in: the pair, and a line a headline."""
    headings = headings_of(group)
    for row in rows_of(comparisons):
        figure = compared_figure(row)
        words = find_heading(figure, headings)
        line = f"{row['says']}; {headline_name(figure, words)}"
        if row["difference"] is not None:
            numbers = {"value": row["difference"], "low": row["low"], "high": row["high"]}
            line += f": {amount_text(numbers, words)}"
        if row["p"] is not None:
            line += f", p {row['p']:.2g}"
        pair = f"{row['first']} minus {row['second']}"
        yield pair, f"{line}."


def headings_of(group: Sequence[StoredResult]) -> list[Heading]:
    """The headings of all results, each once; where two differ, those of the last result."""
    headings: dict[tuple[str, str], Heading] = {}
    for stored_result in group:
        for heading in stored_result.result.headings:
            headings[heading.figure, heading.heading] = heading
    return list(headings.values())


def unmeasured_of(group: Sequence[StoredResult]) -> list[str]:
    """The models on which nothing was measured, and why; a line each."""
    lines: list[str] = []
    for stored_result, suffix in zip(group, label_suffixes(group), strict=True):
        rows_by_label = group_by_key(
            (model_label(row), row) for row in stored_result.result.figures
        )
        for label, reason in unmeasured_models(rows_by_label).items():
            lines.append(f"{label}{suffix}: {reason}")
    return lines


def warnings_of(group: Sequence[StoredResult]) -> list[str]:
    """The warnings of each result, a line each."""
    warnings: list[str] = []
    for stored_result, suffix in zip(group, label_suffixes(group), strict=True):
        result = stored_result.result
        warnings += [f"{result.model.name}{suffix}: {line}" for line in result.warnings]
    return warnings


def name_with_versions(group: Sequence[StoredResult]) -> str:
    """Name and versions of the results' benchmark, with suffixes such as `+trial` and
    `+limit-N`.
    """
    versions = sorted({stored_result.result.folder.rpartition("@")[2] for stored_result in group})
    return f"{group[0].result.benchmark.name} {', '.join(versions)}"


def difference_row(row: dict[str, Any]) -> list[str]:
    """A comparison as text, one for each column of `HEAD`."""
    values: list[str] = []
    for side in ("first", "second"):
        name, value = row[side], row[f"{side}_value"]
        values.append(name if value is None else f"{name}: {value:z.3f}")
    difference = ABSENT
    if row["difference"] is not None:
        difference = _with_ends(row["difference"], row["low"], row["high"])
    p = ABSENT if row["p"] is None else f"{row['p']:.2g}"
    verdict = ". ".join(text for text in (row["says"], row["reason"]) if text)
    return [comparison_name(row), *values, difference, p, verdict]


def scale_rows(row: dict[str, Any]) -> list[list[str]]:
    """A comparison on other scales than its headline's, as text by `HEAD`; empty where it has
    none.
    """
    name = comparison_name(row)
    rows: list[list[str]] = []
    for scale, words in (("nats", "in nats"), ("d_sd", "in nats by the SD within units, d/SD")):
        if row[scale] is not None:
            ends = (row[f"{scale}_low"], row[f"{scale}_high"])
            difference = _with_ends(row[scale], *ends)
            rows.append([f"{name}, {words}", ABSENT, ABSENT, difference, ABSENT, ABSENT])
    return rows


def rows_of(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Rows as dicts, with None for every null."""
    plain = frame.astype(object).where(frame.notna(), None)
    rows: list[dict[str, Any]] = []
    for row in plain.to_dict("records"):
        rows.append({str(name): value for name, value in row.items()})
    return rows


def as_json(figures: pd.DataFrame, comparisons: pd.DataFrame) -> str:
    """JSON of `figures`, as from `load_results`, and `comparisons`, as from `compare`."""
    content = {"figures": rows_of(figures), "comparisons": rows_of(comparisons)}
    return json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def as_csv(results: Sequence[StoredResult]) -> str:
    """All figures as one table, as from `load_results`: a line of names, a line each, and nothing
    where there is no number or word.
    """
    figures = as_frame(stored_result.result for stored_result in results)
    return str(for_spreadsheets(figures).to_csv(index=False, lineterminator="\n"))


def render(results: Sequence[StoredResult], comparisons: pd.DataFrame | None = None) -> str:
    """One self-contained HTML page; without `comparisons`, each result by itself."""
    if comparisons is None:
        groups = [[stored_result] for stored_result in results]
        heading, lead = "Even Ruler: results", ONE_LEAD
    else:
        groups = group_comparable_results(results)
        heading, lead = "Even Ruler: results side by side", LEAD
    instruments = []
    for group in groups:
        benchmark = group[0].result.benchmark
        columns = headings_of(group)
        figures: list[FigureCell] = []
        for stored_result, suffix in zip(group, label_suffixes(group), strict=True):
            rows = stored_result.result.figures
            figures += [make_figure_cell(row, columns, suffix) for row in rows]
        note = ""
        if not any("verdict" in figure_cell.record for figure_cell in figures):
            note = f" {NO_VERDICT}"
        sentence = f"{name_with_versions(group)}.{note}"
        instruments.append(
            InstrumentView(
                name=benchmark.name,
                family=benchmark.family,
                title=benchmark.title,
                sentence=sentence,
                columns=columns,
                figures=figures,
                warnings=warnings_of(group),
                sections=_difference_sections(comparisons, group),
            )
        )
    mtmm_rows = agreement.mtmm_rows(result_agreement(results))
    agreement_section = Section(
        agreement.TITLE, agreement.TEXT, [Table(agreement.HEAD, mtmm_rows)], first=True
    )
    shared = {"agreement": [agreement_section]} if mtmm_rows else {}
    lines: list[list[str]] = []
    if comparisons is not None:
        for group in groups:
            name = name_with_versions(group)
            group_comparisons = _group_comparisons(group, comparisons)
            lines += [[name, *line] for line in difference_lines(group, group_comparisons)]
    if lines:
        shared = {
            "": [Section("What they differ in", "", [Table(ANSWERED, lines)], first=True)],
            **shared,
        }
    return render_page(heading, lead, instruments, shared=shared)


def _difference_sections(
    comparisons: pd.DataFrame | None, group: Sequence[StoredResult]
) -> list[Section]:
    """A section with the table of differences between the results of a group; none where
    `comparisons` is None.
    """
    if comparisons is None:
        return []
    rows = rows_of(_group_comparisons(group, comparisons))
    table_rows: list[list[str | Cell]] = []
    for row in rows:
        *cells, verdict = difference_row(row)
        mark = Verdict(row["verdict"]).mark
        table_rows.append([*cells, Cell(verdict, mark)])
        table_rows += [[*cells_of_scale] for cells_of_scale in scale_rows(row)]
    notes = sorted({row["note"] for row in rows if row["note"]})
    lead = " ".join([DIFFERENCES, *(f"{note}." for note in notes)])
    return [Section("Differences", lead, [Table(HEAD, table_rows)])]
