"""Two benchmarks of a million rows compared: ours against an outer merge in pandas, in one run.

Prints a Markdown table: seconds, and the counts found. Of the rows 1% were added, 1% removed, and
1% say something else. Making the folders and each contender run in processes of their own;
importing libraries is not timed.
"""

import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import typer

from studies.speed.apart import run_apart
from studies.tables import print_head, print_row

CONFIG = "probes"
TEMPLATES = [
    "The {0} who works at the office across the street is a {1}.",
    "My {1} has always wanted to become a {0}, and now is one.",
    "Everyone in town knows that the new {0} is a {1} from here.",
    "It came as no surprise to us that the {0} was a {1} again.",
    "A {1} answered when I called and asked to see the {0}.",
]
SAME: dict[str, Any] = {
    "variant": "agree",
    "framing": "bare",
    "source": "Kapur and Kumar 2026, table 3",
    "licence": "cc-by-4.0",
    "set": "seed",
    "keying": 1,
    "control": False,
}
"""Columns that say the same in every row."""
TARGETS = ["man", "woman", "boy", "girl", "father", "mother", "uncle", "aunt", "brother", "sister"]


Counts = dict[str, int]
"""Of rows, by what became of them."""


def draw_kinds(n: int) -> tuple[list[str], Counts]:
    """Return what becomes of each row, and how often."""
    counts = dict.fromkeys(("added", "removed", "changed"), n // 100)
    every = {**counts, "same": n - 2 * (n // 100)}
    kinds = np.repeat(list(every), list(every.values()))
    return np.random.default_rng(0).permutation(kinds).tolist(), counts


def make_row(number: int) -> dict[str, Any]:
    """Return a row of a table of probes."""
    from evenruler.tables import row_id

    template, target, attribute = number % 5, number // 5 % 10, number // 50
    identity = {
        "template": f"t{template}",
        "attribute": f"worker-{attribute}",
        "target": TARGETS[target],
    }
    group, pole = (("men", 1), ("women", -1))[target % 2]
    text = TEMPLATES[template].format(f"worker {attribute}", TARGETS[target])
    row = {**SAME, **identity, "id": row_id(**identity), "group": group, "pole": pole}
    return row | make_text(text)


def make_text(text: str) -> dict[str, Any]:
    """Return the columns of a text."""
    from evenruler.tables import content_sha256

    return {"text": text, "content_sha256": content_sha256(text, 1)}


def make_folders(folder: Path, n: int) -> Counts:
    """Write two folders `old` and `new`, and return the true counts."""
    import pyarrow as pa

    from evenruler.instruments.probes.schemas import PROBES
    from tests.publish.test_difference import write

    kinds, counts = draw_kinds(n)
    old, new = [], []
    for number, kind in enumerate(kinds):
        row = make_row(number)
        if kind != "added":
            old.append(row)
        if kind == "changed":
            row = row | make_text(row["text"].replace("worker", "expert"))
        if kind != "removed":
            new.append(row)
    for name, rows in (("old", old), ("new", new)):
        write(folder / name, {CONFIG: pa.Table.from_pylist(rows, schema=PROBES)})
    return counts


def compare_ours(old: Path, new: Path) -> tuple[Counts, float]:
    """Compare as `evenruler diff` does."""
    import pandas  # noqa: F401  both import the same

    from evenruler.publish.difference import compare

    start = time.perf_counter()
    (difference,) = compare(old, new).configs
    seconds = time.perf_counter() - start
    return {name: getattr(difference, name) for name in ("added", "removed", "changed")}, seconds


def merge_outer(old: Path, new: Path) -> tuple[Counts, float]:
    """Compare by a merge of pandas."""
    import pandas as pd

    import evenruler.publish.difference  # noqa: F401  both import the same
    from evenruler.publish.manifest import data_file

    start = time.perf_counter()
    before, after = (pd.read_parquet(folder / data_file(CONFIG)) for folder in (old, new))
    merged = before.merge(after, on="id", how="outer", suffixes=("", "_new"), indicator=True)
    both = merged[merged["_merge"] == "both"]
    is_changed = np.zeros(len(both), dtype=bool)
    for column in before.columns.drop("id"):
        is_changed |= (both[column] != both[f"{column}_new"]).to_numpy(dtype=bool)
    counts = merged["_merge"].value_counts()
    seconds = time.perf_counter() - start
    added, removed = int(counts["right_only"]), int(counts["left_only"])
    changed = int(is_changed.sum())
    return {"added": added, "removed": removed, "changed": changed}, seconds


CONTENDERS = {"ours": compare_ours, "pandas": merge_outer}


def main(rows: int = 1_000_000) -> None:
    """Print the table, of so many rows."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        true = run_apart(make_folders, folder, rows).returned
        print(f"{rows:,} rows each; true: {true}\n")
        print_head("", "seconds", "found")
        for contender, compare in CONTENDERS.items():
            counts, seconds = run_apart(compare, folder / "old", folder / "new").returned
            wrong = "" if counts == true else " WRONG"
            print_row(contender, f"{seconds:.1f}", f"{counts}{wrong}")


if __name__ == "__main__":
    typer.run(main)
