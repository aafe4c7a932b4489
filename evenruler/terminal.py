"""The one door through which commands speak, with bars of progress: nothing that others wrote steers a terminal."""

import json
import sys
from collections.abc import Iterable
from typing import Any

from tqdm import tqdm


def printable(text: str) -> str:
    r"""A text as a terminal may show it.

    What would steer a terminal, or cannot be seen on it, is written as in JSON (`\u001b`), so that JSON stays what it
    was; line breaks stay.
    """
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() or each == "\n" else json.dumps(each)[1:-1] for each in text)


def say(text: str, *, end: str = "\n", err: bool = False) -> None:
    """Print a line or several, `printable`, at once."""
    print(printable(text), end=end, file=sys.stderr if err else sys.stdout, flush=True)


def say_each(lines: Iterable[str]) -> None:
    """Say lines as they come."""
    for line in lines:
        say(line)


def progress(total: int, what: str, unit: str) -> "tqdm[Any]":
    """A bar with rate and time left on standard error: on a terminal, a line now and then elsewhere."""
    interval = 0.5 if sys.stderr.isatty() else 15.0
    return tqdm(
        total=total, desc=printable(what), unit=unit, mininterval=interval, maxinterval=interval * 2, dynamic_ncols=True
    )


def note(text: str) -> None:
    """One line to the person who waits, above any bar."""
    tqdm.write(printable(text), file=sys.stderr)
