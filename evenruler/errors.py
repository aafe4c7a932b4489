"""The one exception for what a user can mend."""

import difflib
import errno
import sys
from collections.abc import Callable, Iterable


class UserError(Exception):
    """A mistake in what the user wrote or has; printed as one line, exit status 2.

    Args:
        what: What is wrong, with what was found.
        where: File and key, row id or path.
        remedy: What to do about it.
    """

    def __init__(self, what: str, *, where: str = "", remedy: str = "") -> None:
        self.what, self.where, self.remedy = what, where, remedy
        super().__init__(what)

    def __str__(self) -> str:
        where = f"{self.where}: " if self.where else ""
        remedy = f"; {self.remedy}" if self.remedy else ""
        return " ".join(f"{where}{self.what}{remedy}".split())


def nearest(word: str, known: Iterable[str]) -> str:
    """Half a sentence that names the closest of the known words, or lists a few when none is close."""
    names = sorted(known)
    if not names:
        return "there is none"
    close = difflib.get_close_matches(word, names, n=1, cutoff=0.5)
    if close:
        return f"did you mean {close[0]!r}?"
    shown = ", ".join(names[:8]) + (", ..." if len(names) > 8 else "")
    return f"known: {shown}"


def as_program(main: Callable[[], object]) -> None:
    """Run something as a program: what a user can mend is one line on standard error, and status 2."""
    try:
        main()
    except UserError as error:
        line = str(error)
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
        line = f"{error.filename or 'writing'}: no space left on the device; free some and run again"
    else:
        return
    print(f"error: {line}", file=sys.stderr)
    sys.exit(2)
