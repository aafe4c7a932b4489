"""The one door through which commands speak: nothing that others wrote steers a terminal."""

import json
import sys


def printable(text: str) -> str:
    r"""A text as a terminal may show it.

    What would steer a terminal, or cannot be seen on it, is written as in JSON (`\u001b`), so that JSON stays what it
    was; line breaks stay.
    """
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() or each == "\n" else json.dumps(each)[1:-1] for each in text)


def say(text: str, *, end: str = "\n", err: bool = False) -> None:
    """Print a text, `printable`, at once.

    Args:
        text: A line, or several.
        end: What comes after it.
        err: To standard error.
    """
    print(printable(text), end=end, file=sys.stderr if err else sys.stdout, flush=True)
