"""Terminal output of commands, with progress bars; and processes that end with the one that started
them.

Control characters from outside text are escaped.
"""

import codecs
import ctypes
import io
import json
import os
import re
import shutil
import signal
import sys
from collections.abc import Iterable
from typing import Any, Final

from tqdm import tqdm

NARROWEST: Final = 80
WIDEST: Final = 120
"""Longer lines are hard to read."""


def escape_unprintable(text: str) -> str:
    r"""Escape a text for display on a terminal.

    Control and other unprintable characters are written as in JSON (`\u001b`), so JSON stays valid;
    line breaks stay.
    """
    if text.isprintable():
        return text
    characters = []
    for character in text:
        if character.isprintable() or character == "\n":
            characters.append(character)
        else:
            characters.append(_as_in_json(character))
    return "".join(characters)


STEERS: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
"""Characters that steer a terminal, or turn round the direction of what is written."""


def escape_steering(text: str) -> str:
    r"""Escape what steers or turns round, for a page or a card; other unprintable characters, which
    scripts and emoji need, stay.
    """
    return STEERS.sub(lambda character: _as_in_json(character[0]), text)


def _as_in_json(text: str) -> str:
    """A text as JSON in ASCII writes it, without quotes."""
    return json.dumps(text)[1:-1]


def escape_unencodable() -> None:
    """Have standard output escape characters that its encoding lacks as `escape_unprintable`
    does, where Python would fail after all was computed.
    """
    codecs.register_error("as-in-json", _escape_part)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="as-in-json")


def _escape_part(error: UnicodeError) -> tuple[str, int]:
    """The escapes of characters that an encoding lacks, and where the text goes on."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    lacking = error.object[error.start : error.end]
    return _as_in_json(lacking), error.end


def say(text: str, *, end: str = "\n", err: bool = False) -> None:
    """Print text, escaped by `printable`, and flush."""
    print(escape_unprintable(text), end=end, file=sys.stderr if err else sys.stdout, flush=True)


def say_each(lines: Iterable[str]) -> None:
    """Print lines as they come."""
    for line in lines:
        say(line)


def text_width() -> int:
    """Columns of wrapped text: those of the terminal, but neither fewer than `NARROWEST` nor more
    than `WIDEST`; `NARROWEST` where the output is no terminal.
    """
    return min(max(shutil.get_terminal_size((NARROWEST, 24)).columns, NARROWEST), WIDEST)


def progress_bar(total: int, what: str, unit: str) -> "tqdm[Any]":
    """A progress bar on standard error with rate and time left; outside a terminal, a line at
    intervals.

    The time left is by the mean rate since the beginning: that of the last moments jumps with every
    batch.
    """
    interval = 0.5 if sys.stderr.isatty() else 15.0
    return tqdm(
        total=total,
        desc=escape_unprintable(what),
        unit=unit,
        mininterval=interval,
        maxinterval=interval * 2,
        dynamic_ncols=True,
        unit_scale=unit == "token",
        smoothing=0,
    )


def print_note(text: str) -> None:
    """Print one line on standard error, above any progress bar."""
    tqdm.write(escape_unprintable(text), file=sys.stderr)


def die_with_parent() -> None:
    """Have Linux kill this process as soon as its parent ends; elsewhere do nothing. Called in the
    child.
    """
    if sys.platform != "linux":
        return
    parent = os.getppid()
    ctypes.CDLL(None, use_errno=True).prctl(1, signal.SIGKILL, 0, 0, 0)  # PR_SET_PDEATHSIG
    if os.getppid() != parent:  # the parent ended before the call
        os.kill(os.getpid(), signal.SIGKILL)
