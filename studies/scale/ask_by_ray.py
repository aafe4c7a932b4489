"""Everything that a declaration asks, by Ray, compared with what one process answered, byte by
byte.

BUILT is a repository in which `evenruler repro` built all from nothing. What is evolved
there, and what its families ask, is asked anew in the folder NEW with an empty store, by the stages
`evolve` and `ask` in their order, on a cluster of nodes on this machine with one CPU each
(`--nodes`). The order counts: a sentence that several calls ask is answered in the packs of the
first. `--local THREADS` asks in one process instead, which says what differs without Ray; `--only
ENTRY` takes one entry of `evolve` or `ask` in active.yaml. It prints two Markdown tables: entries,
and columns that differ.
"""

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import pandas as pd
import typer

from evenruler.declaration.params_file import load_active
from evenruler.models import engines
from evenruler.models.store import RowStore
from stages.evolve import EVOLVED
from stages.files import ANSWERS
from studies.ray_nodes import ENVIRONMENT, start_cluster
from studies.tables import print_head, print_row

COPIED = (
    *("active.yaml", "params.yaml"),
    *("data/adapters", "data/built", "data/scraped", "data/sources", ".cache/models"),
)

Difference = tuple[str, str, int, int, float]
"""File, column, values that differ, all values, the largest difference of numbers."""

Stage = tuple[str, list[str], Path]
"""Name, words of its command, folder that it writes."""


def copy_inputs(built: Path, new: Path) -> None:
    """What the stage reads, and the models as they were converted; no answers."""
    for name in COPIED:
        source = built / name
        (new / name).parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, new / name, dirs_exist_ok=True)
        else:
            shutil.copy(source, new / name)


def list_stages(new: Path) -> Iterator[Stage]:
    """All that ask models, in the order of the pipeline."""
    active = load_active(new / "active.yaml")
    for name in active.evolve:
        yield f"evolve {name}", ["stages.evolve", name], EVOLVED / name
    for name, entry in active.ask.items():
        yield name, ["stages.ask", entry.family, entry.model], ANSWERS / entry.family / entry.model


def time_stage(new: Path, words: list[str], environment: dict[str, str]) -> tuple[float, str]:
    """Seconds, and what the stage says last."""
    began = time.perf_counter()
    command = [sys.executable, "-m", *words]
    done = subprocess.run(
        command, cwd=new, env=environment, stdout=subprocess.PIPE, text=True, check=True
    )
    return time.perf_counter() - began, done.stdout.strip().split("\n")[-1]


def find_gap(first: object, second: object) -> float:
    """Of two numbers or lists of numbers."""
    return float(np.nan_to_num(np.abs(np.subtract(first, second))).max())


def compare_tables(ours: Path, theirs: Path) -> Iterator[tuple[str, int, int, float]]:
    """Columns of two tables that differ: name, values that do, all values, the largest difference
    of numbers."""
    first, second = pd.read_parquet(ours), pd.read_parquet(theirs)
    n = len(first)
    if n != len(second) or list(first) != list(second):
        yield "(rows or columns)", n, len(second), np.nan
        return
    for name in first:
        if n and np.asarray(first[name].iloc[0]).dtype.kind == "f":
            gaps = np.array([*map(find_gap, first[name], second[name])])
            differs = gaps > 0
        else:
            gaps = np.array([np.nan])
            differs = (first[name].astype(str) != second[name].astype(str)).to_numpy()
        if differs.any():
            yield str(name), int(differs.sum()), n, float(gaps.max())


def compare_folders(ours: Path, theirs: Path) -> tuple[int, int, list[Difference]]:
    """Of one entry: files, those that are equal, and columns of the others."""
    files = sorted(path.name for path in theirs.iterdir())
    assert files == sorted(path.name for path in ours.iterdir())
    n_equal, columns = 0, []
    for name in files:
        if (ours / name).read_bytes() == (theirs / name).read_bytes():
            n_equal += 1
        elif name.endswith(".parquet"):
            differing = compare_tables(ours / name, theirs / name)
            columns += [(name, *column) for column in differing]
    return len(files), n_equal, columns


def main(
    built: Path, new: Path, nodes: int = 2, local: int = 0, only: list[str] | None = None
) -> None:
    """Ask in NEW all that was asked in BUILT: on so many nodes, or by so many threads of one
    process; print the tables."""
    os.environ.update(ENVIRONMENT)
    built, new = built.absolute(), new.absolute()
    copy_inputs(built, new)
    store = RowStore(new / ".cache")
    assert store.count() == 0, "the store of NEW has answers"
    environment = {**os.environ, "EVENRULER_CACHE": str(new / ".cache")}
    del environment["OMP_NUM_THREADS"]  # of workers alone
    columns = []
    print_head("asked", "files", "equal", "s", "said")
    with ExitStack() as ended:
        if local:
            environment |= {engines.ENGINE: engines.LOCAL, "OMP_NUM_THREADS": str(local)}
        else:
            cluster = ended.enter_context(start_cluster(nodes))
            environment[engines.ENGINE] = f"ray={cluster.address}"
        for name, words, folder in list_stages(new):
            if only and name not in only:
                continue
            seconds, last_line = time_stage(new, words, environment)
            n, n_equal, differing = compare_folders(new / folder, built / folder)
            columns += [(name, *column) for column in differing]
            print_row(name, n, n_equal, f"{seconds:.0f}", last_line)
    print(f"\n{store.count():,} answers in the store\n")
    if columns:
        print_head("asked", "file", "column", "differ", "of", "largest difference")
    for *names, n_differing, n, most in columns:
        counts = f"{n_differing:,}", f"{n:,}"
        print_row(*names, *counts, f"{most:.2g}")


if __name__ == "__main__":
    typer.run(main)
