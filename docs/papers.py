"""Write the papers' tables beside ours, from `papers.csv` and what is built: `python docs/papers.py`."""

import csv
import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from evenruler.measurement.figures import figure_in_words
from evenruler.tables import read_frame

ROOT = Path(__file__).parents[1]
CELLS = ROOT / "docs/papers.csv"
"""A line for each cell of a paper.

`paper`, `table`, `what`, `model` and `printed` are the paper's: where it stands, of what and of which model, and the
value as printed. `ours` is the model's name in `params.yaml` (`any-model` for a figure over models); `benchmark`,
`part` and `figure` name the figure as `evidence.json` does. A cell that nothing here answers to leaves them out. A line
without `model` is no cell: it names one more figure, of which all our models are shown.
"""
PAGE = ROOT / "docs/paper-scale.md"
HEAD = ("| | model | paper | ours | control | verdict |", "| --- | --- | --- | --- | --- | --- |")
NOT_RUN = "not run"

Cell = Mapping[str, str]
Key = tuple[str, str, str]
"""Benchmark, part and figure."""


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
        root: Of the repository.
    """
    found: Figures = {}
    for path in sorted(root.glob("benchmarks/*/evidence.json")):
        for part, models in json.loads(path.read_text(encoding="utf-8")).items():
            for model, records in models.items():
                for figure, record in records.items():
                    if "value" in record:
                        found.setdefault((path.parent.name, part, figure), {})[model] = of_evidence(record)
    path = root / "data/diagnosis/saged/tables/disparities.parquet"
    disparities = read_frame(path).query("grouping == 'concept'") if path.exists() else pd.DataFrame()
    for _, row in disparities.iterrows():
        calibrated = ", calibrated" if row["calibration"] == "calibrated" else ""
        part = ", ".join(row[["role", "template", "feature"]])
        key = (f"saged-{row['domain']}", part, f"{row['metric']} of {row['statistic']}{calibrated}")
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
    return Ours(f"{row['value']:.2f}", "" if pd.isna(row["p"]) else f"shuffled labels, p = {row['p']:.2f}")


def table(cells: Sequence[Cell], found: Figures) -> str:
    """A table of a paper, as Markdown: its cells beside ours, and after those of a row our other models.

    Args:
        cells: Lines of `papers.csv`, those of a row (`what`) together.
        found: What is built.
    """
    lines = list(HEAD)
    for what, row in groupby(cells, key=lambda cell: cell["what"]):
        for n, rest in enumerate(_rows(list(row), found)):
            lines.append("".join(f"| {cell} " if cell else "| " for cell in ("" if n else what, *rest)) + "|")
    return "\n".join(lines)


def _rows(cells: Sequence[Cell], found: Figures) -> Iterator[tuple[str, ...]]:
    for cell in (cell for cell in cells if cell["model"]):
        ours = found.get(_key(cell), {}).get(cell["ours"], Ours(NOT_RUN if cell["ours"] else ""))
        name = f" (`{cell['ours']}`)" if cell["ours"] else ""
        yield cell["model"] + name, cell["printed"], *ours
    named = {cell["ours"] for cell in cells}
    for key in dict.fromkeys(_key(cell) for cell in cells):
        for model, ours in sorted(found.get(key, {}).items()):
            if model not in named:
                yield f"`{model}`", "", *ours


def _key(cell: Cell) -> Key:
    return cell["benchmark"], cell["part"], cell["figure"]


def page(text: str, cells: Sequence[Cell], found: Figures) -> str:
    """The page with its tables anew.

    Args:
        text: With a pair of markers for each table, `<!-- PAPER, TABLE -->` and `<!-- / -->`.
        cells: Lines of `papers.csv`, those of a table together.
        found: What is built.

    Raises:
        ValueError: A table has no markers.
    """
    for name, own in groupby(cells, key=lambda cell: f"{cell['paper']}, {cell['table']}"):
        first = f"<!-- {name} -->\n"
        before, marker, rest = text.partition(first)
        _, last, after = rest.partition("<!-- / -->")
        if not (marker and last):
            raise ValueError(f"{PAGE.name} has no markers for {name}")
        text = f"{before}{first}{table(list(own), found)}\n{last}{after}"
    return text


def main() -> str:
    """The page as it has to be."""
    with CELLS.open(encoding="utf-8", newline="") as lines:
        return page(PAGE.read_text(encoding="utf-8"), list(csv.DictReader(lines)), figures(ROOT))


if __name__ == "__main__":
    PAGE.write_text(main(), encoding="utf-8")
