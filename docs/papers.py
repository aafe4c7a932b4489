"""Write the papers' cells beside ours, from `papers.csv` and what is built: `python docs/papers.py
[profiles/paper]`.

All of them go to `papers-ours.csv`, the headline ones to the tables of `paper-scale.md`.
"""

import csv
import io
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from evenruler.measurement.figures import (
    OF_LABEL,
    dimensions_of,
    figure_in_words,
    figure_key,
    model_label,
)
from evenruler.tables import read_frame

ROOT = Path(__file__).parents[1]
CELLS = ROOT / "docs/papers.csv"
"""A line for each cell of a paper.

`paper`, `table`, `what`, `model` and `printed` are the paper's: where it stands, of what and of
which model, and the value as printed. `ours` is the model's name in `params.yaml` (`all models` for
a figure over models); `benchmark`, `figure` and `dimensions` (as `set=seed,templates=8`) name the
figure as `evidence.json` does. A cell that nothing here answers to leaves them out, and `note` says
why; of another cell it says how ours differs. A line without `model` is no cell: it names one more
figure, of which all our models are shown. `shown` is `yes` for what the page shows.
"""
PAGE = ROOT / "docs/paper-scale.md"
BESIDE = ROOT / "docs/papers-ours.csv"
"""Every cell of `papers.csv` with our figure, and after those of a row (`what`) our other
models."""
CORRECTIONS = ROOT / "docs/corrections.csv"
"""A line for each figure that is built as published and as ours.

`correction` is what differs, `here` what was measured on small models, as the page shows it;
`published` and `ours` are benchmarks, each with its `..._dimensions`, which have `figure` at the
profile `paper`.
"""
HEAD = ("| | paper | ours |", "| --- | --- | --- |")
CORRECTIONS_HEAD = (
    "| what differs | figure | here: as published; ours | at `paper`: as published; ours |",
    "| --- | --- | --- | --- |",
)
COUNTS_HEAD = (
    "| paper | where | cells | with a figure of ours | why the others have none, how ours differs |",
    "| --- | --- | --- | --- | --- |",
)
NOT_RUN, NOT_MEASURED, OVER_MODELS = "not run", "not measured", "all models"

Cell = Mapping[str, str]
Key = tuple[str, str, str]
"""Benchmark, figure and dimensions."""


class Ours(NamedTuple):
    """A figure of ours in words."""

    value: str
    control: str = ""
    verdict: str = ""


Figures = dict[Key, dict[str, Ours]]
"""By key and model."""


def figures(root: Path) -> Figures:
    """All figures of the benchmarks, and the disparities of domains as the paper computes them.

    Args:
        root: The folder of a pipeline.
    """
    found: Figures = {}
    for path in sorted(root.glob("benchmarks/*/evidence.json")):
        for row in json.loads(path.read_text(encoding="utf-8"))["figures"]:
            label = model_label(row)
            dimensions = dimensions_of(row)
            if label:
                dimensions = {name: dimensions[name] for name in dimensions if name not in OF_LABEL}
            key = (path.parent.name, row["figure"], figure_key(dimensions))
            found.setdefault(key, {})[label or OVER_MODELS] = of_evidence(row)
    path = root / "data/diagnosis/saged/tables/disparities.parquet"
    disparities = (
        read_frame(path).query("grouping == 'concept'") if path.exists() else pd.DataFrame()
    )
    for _, row in disparities.iterrows():
        dimensions = row[["role", "template", "feature", "statistic", "calibration"]].to_dict()
        key = (f"saged-{row['domain']}", row["metric"], figure_key(dimensions))
        found.setdefault(key, {})[row["model"]] = of_disparity(row)
    return found


def of_evidence(record: Mapping[str, Any]) -> Ours:
    """A figure of `evidence.json`, with what restricts it beside its verdict."""
    control = f"{record['control']:z.2f}" if "control" in record else ""
    restricted = record.get("reason") if record["value"] is not None else None
    verdict = "; ".join(said for said in (record.get("verdict"), restricted) if said)
    return Ours(figure_in_words(record, 3), control, verdict)


def of_disparity(row: "pd.Series[Any]") -> Ours:
    """A row of `disparities`: the value as the paper computes it, and p of its permutation test."""
    if pd.isna(row["value"]):
        return Ours(f"none ({row['reason']})")
    return Ours(
        f"{row['value']:.2f}", "" if pd.isna(row["p"]) else f"shuffled labels, p = {row['p']:.2f}"
    )


class Row(NamedTuple):
    """A line of `papers-ours.csv`: a cell of a paper, or a model of ours that the paper lacks."""

    paper: str
    table: str
    what: str
    model: str
    printed: str
    ours: str
    figure: str
    control: str
    verdict: str
    note: str = ""


def beside(cells: Sequence[Cell], found: Figures) -> Iterator[Row]:
    """The cells of a row of a paper (`what`) with our figures, then our other models."""
    for cell in (cell for cell in cells if cell["model"]):
        figure = found.get(_key(cell), {}).get(cell["ours"], Ours(NOT_RUN if cell["ours"] else ""))
        yield Row(*(cell[name] for name in Row._fields[:6]), *figure, cell["note"])
    named = {cell["ours"] for cell in cells}
    for key in dict.fromkeys(_key(cell) for cell in cells):
        for model, figure in sorted(found.get(key, {}).items()):
            if model not in named:
                yield Row(*(cells[0][name] for name in Row._fields[:3]), "", "", model, *figure)


def _key(cell: Cell) -> Key:
    return cell["benchmark"], cell["figure"], cell["dimensions"]


def line(rows: Sequence[Row]) -> str:
    """A line of a table of the page: all that a paper prints of something, and what our models
    give.
    """
    printed = "; ".join(f"{row.model}: {row.printed}" for row in rows if row.printed)
    ours = "; ".join(_describe_row(row) for row in rows if row.figure not in ("", NOT_RUN))
    return f"| {rows[0].what} | {printed} | {ours or NOT_RUN} |"


def _describe_row(row: Row) -> str:
    control = f"control {row.control}" if row.control else ""
    rest = "; ".join(said for said in (control, row.verdict) if said)
    figure, *_ = row.figure.partition(", n =")
    return f"`{row.ours}` {figure}" + (f" ({rest})" if rest else "")


def count_line(cells: Sequence[Cell]) -> str:
    """A line of the table of tables: how many cells a table of a paper has, and how many of them
    name a figure of ours.
    """
    printed = [cell for cell in cells if cell["model"] and cell["printed"]]
    n_named = sum(bool(cell["ours"]) for cell in printed)
    notes = "; ".join(dict.fromkeys(cell["note"] for cell in printed if cell["note"]))
    words = (cells[0]["paper"], cells[0]["table"], str(len(printed)), str(n_named), notes)
    return f"| {' | '.join(words)} |"


def correction_line(correction: Cell, found: Figures) -> str:
    """A line of the table of corrections: what was measured here, and both benchmarks of the
    pipeline, by model.
    """
    sides: list[str] = []
    for side in ("published", "ours"):
        key = (correction[side], correction["figure"], correction[f"{side}_dimensions"])
        by_model = found.get(key, {})
        figures_in_words = [f"`{model}` {by_model[model].value}" for model in sorted(by_model)]
        sides.append(", ".join(figures_in_words))
    at_paper = "; ".join(sides) if all(sides) else NOT_MEASURED
    cells = (correction["correction"], correction["name"], correction["here"] or NOT_MEASURED)
    return f"| {' | '.join(cells)} | {at_paper} |"


def page(text: str, shown: Mapping[str, Sequence[str]]) -> str:
    """The page with new tables.

    Args:
        text: With a pair of markers for each table, `<!-- NAME -->` and `<!-- / -->`.
        shown: The lines of each table, its head included.

    Raises:
        ValueError: A table has no markers.
    """
    for paper, lines in shown.items():
        first = f"<!-- {paper} -->\n"
        before, marker, rest = text.partition(first)
        _, last, after = rest.partition("<!-- / -->")
        if not (marker and last):
            raise ValueError(f"{PAGE.name} has no markers for {paper}")
        text = before + marker + "\n".join([*lines, last]) + after
    return text


def written(folder: Path = ROOT) -> dict[Path, str]:
    """Both files as they have to be, by what is built in the folder of a pipeline."""
    with CELLS.open(encoding="utf-8", newline="") as opened:
        cells = list(csv.DictReader(opened))
    found = figures(folder)
    shown: dict[str, list[str]] = {}
    table = io.StringIO()
    out = csv.writer(table, lineterminator="\n")
    out.writerow(Row._fields)
    for _, group in groupby(cells, key=lambda cell: (cell["paper"], cell["table"], cell["what"])):
        own = list(group)
        rows = list(beside(own, found))
        out.writerows(rows)
        if rows and own[0]["shown"]:
            shown.setdefault(own[0]["paper"], list(HEAD)).append(line(rows))
    with CORRECTIONS.open(encoding="utf-8", newline="") as opened:
        corrections = [correction_line(row, found) for row in csv.DictReader(opened)]
    counts = [
        count_line(list(group))
        for _, group in groupby(cells, key=lambda cell: (cell["paper"], cell["table"]))
    ]
    shown["cells"] = [*COUNTS_HEAD, *counts]
    shown["corrections"] = [*CORRECTIONS_HEAD, *corrections]
    return {BESIDE: table.getvalue(), PAGE: page(PAGE.read_text(encoding="utf-8"), shown)}


if __name__ == "__main__":
    for path, text in written(ROOT / "".join(sys.argv[1:])).items():
        path.write_text(text, encoding="utf-8")
