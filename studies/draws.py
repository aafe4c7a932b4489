"""Draws of a study that stay in a CSV, so that a run that is stopped goes on where it was.

A row is a draw of a cell, the words for what is planted and asked, with what was read of it. Draws
have seeds by their place, so that a draw is the same whenever it is drawn. Delete the CSV where a
rule or a cell has changed.
"""

import csv
import math
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import pandas as pd

from evenruler.measurement.figures import Verdict
from evenruler.measurement.inputs import ALPHA

ReadDraw = Callable[[int], Mapping[str, object]]
"""From the place of a draw to what is read of it: the same columns in all cells of a CSV."""


def append_row(out: Path, row: Mapping[str, object]) -> None:
    """Append a row to the CSV, which gets its heading with the first."""
    is_new = not out.exists()
    out.parent.mkdir(parents=True, exist_ok=True)
    with out.open("a", newline="") as file:
        writer = csv.DictWriter(file, list(row))
        if is_new:
            writer.writeheader()
        writer.writerow(row)


def read_draws(out: Path, cell: str) -> pd.DataFrame:
    """The draws of a cell that are in the CSV; empty where there is none."""
    if not out.exists():
        return pd.DataFrame()
    rows = pd.read_csv(out, keep_default_na=False, na_values=["nan"])
    of_cell: pd.DataFrame = rows[rows["cell"] == cell].drop_duplicates("draw")
    return of_cell.sort_values("draw").reset_index(drop=True)


def draw_cell(out: Path, cell: str, draws: int, read_draw: ReadDraw) -> pd.DataFrame:
    """So many draws of a cell: those in the CSV, then those that are lacking, each of which is
    added to it; says on stderr how long they took.
    """
    before = read_draws(out, cell)
    began = time.process_time()
    for draw in range(len(before), draws):
        start = time.process_time()
        row = read_draw(draw)
        seconds = f"{time.process_time() - start:.3f}"
        append_row(out, {"cell": cell, "draw": draw, "seconds": seconds, **row})
    n_drawn = max(0, draws - len(before))
    if n_drawn:
        minutes = (time.process_time() - began) / 60
        progress = f"{cell}: {n_drawn} draws, {minutes:.1f} minutes of a core"
        print(progress, file=sys.stderr)
    return read_draws(out, cell).head(draws)


def has_verdict(rows: pd.DataFrame, verdict: Verdict) -> "pd.Series[bool]":
    """By draw, whether its verdict is this word, alone or beside another."""
    stated = [verdict in Verdict(text).words for text in rows["verdict"]]
    return pd.Series(stated, index=rows.index, dtype=bool)


def share_text(hits: "pd.Series[bool]") -> str:
    """A share of draws, three decimals; empty where there is no draw."""
    if hits.empty:
        return ""
    share = float(hits.mean())
    if share in (0, 1):
        return f"{share:.0f}"
    return f"{share:.3f}".removeprefix("0")


def mean_text(numbers: "pd.Series[float]") -> str:
    """A mean over draws, two decimals; empty where no draw has a number."""
    mean = float(numbers.mean())
    return "" if math.isnan(mean) else f"{mean:z.2f}"


def describe_draws(draws: int) -> tuple[str, str]:
    """A number of draws, and half of the 95% interval of a rate of .05 over so many."""
    half = 1.96 * (ALPHA * (1 - ALPHA) / draws) ** 0.5
    return f"{draws:,}", f"{half:.3f}".removeprefix("0")
