"""Progress on standard error: a bar on a terminal, a line now and then elsewhere."""

import sys
from typing import Any

from tqdm import tqdm

from evenruler.terminal import printable


def progress(total: int, what: str, unit: str) -> "tqdm[Any]":
    """A bar with rate and time left."""
    interval = 0.5 if sys.stderr.isatty() else 15.0
    return tqdm(
        total=total,
        desc=printable(what),
        unit=unit,
        mininterval=interval,
        maxinterval=interval * 2,
        dynamic_ncols=True,
    )


def note(text: str) -> None:
    """One line to the person who waits, above any bar."""
    tqdm.write(printable(text), file=sys.stderr)
