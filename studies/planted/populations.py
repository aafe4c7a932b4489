"""What populations of a family are judged by: a row of outcomes a draw, and what becomes of them in
a table."""

import zlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy import stats

from studies.tables import print_head, print_row

Random = np.random.Generator

Kind = Literal["covers", "false", "power"]

LEAST, MOST = 0.92, 0.98
"""Of intervals of nominally .95, the share that may hold the truth."""

ALPHA = 0.05

SEEDS = 1_000_000
"""Of a case; its first is a multiple."""

Row = tuple[float | None, ...]
"""What one draw says under each column, 1 where it holds or the share of headlines of which it
does; None where that says nothing of this case."""


@dataclass(frozen=True)
class Case:
    """A population, and what one draw of it comes to."""

    name: str
    draw: Callable[[int], Row]
    """From a seed."""
    share: float = 1.0
    """Of the draws: what takes long is drawn less often."""


@dataclass(frozen=True)
class Family:
    """A table."""

    name: str
    columns: Sequence[tuple[str, Kind]]
    cases: Callable[[], Iterable[Case]]

    def print_head(self) -> None:
        """Print the head of the table."""
        print_head("planted", *(heading for heading, _ in self.columns), "draws")

    def print_case(self, case: Case, draws: int) -> None:
        """Print a case in shares of draws."""
        n = max(1, round(draws * case.share))
        first = SEEDS * zlib.crc32(case.name.encode())  # so that rows err each by itself
        rows = [case.draw(seed) for seed in range(first, first + n)]
        outcomes = zip(*rows, strict=True)
        kinds = [kind for _, kind in self.columns]
        print_row(case.name, *map(describe_share, outcomes, kinds), n)


def describe_share(outcomes: Row, kind: Kind) -> str:
    """Return the share of draws in which something holds, and whether it FAILS."""
    stated = [outcome for outcome in outcomes if outcome is not None]
    if not stated:
        return ""
    share = sum(stated) / len(stated)
    cell, fails = f"{share:.3f}", False
    if kind == "covers":
        fails = not LEAST <= share <= MOST
    elif kind == "false":
        test = stats.binomtest(int(sum(stated)), len(stated))
        low = float(test.proportion_ci(method="wilson").low)
        cell, fails = f"{share:.3f} ({low:.3f})", low > ALPHA
    return f"**{cell} FAILS**" if fails else cell
