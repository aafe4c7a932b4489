"""The request budget for hosted servers and the count of requests sent; one budget per process, for all servers."""

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, replace
from functools import cache

from evenruler.errors import UserError
from evenruler.models.records import LETTERS_A_TOKEN
from evenruler.terminal import note

MOST = "EVENRULER_MAX_REQUESTS"  # environment variable: most requests that a command or stage may send
KEPT = "what was answered is kept: run again"


class EndedError(UserError):
    """The server must not be asked anything more."""


class UsedUpError(EndedError):
    """The request budget is used up."""


@dataclass(frozen=True)
class Used:
    """Requests sent, and tokens as counted by the servers."""

    requests: int = 0  # including retries
    answers: int = 0
    read: int = 0  # prompt tokens, from the `usage` of answers that have it
    written: int = 0  # reply tokens, likewise

    def __sub__(self, before: "Used") -> "Used":
        return Used(*(getattr(self, own.name) - getattr(before, own.name) for own in fields(self)))

    @property
    def in_words(self) -> str:
        """As one line of text."""
        others = self.requests - self.answers
        without = f" ({others:,} of them without an answer)" if others else ""
        tokens = f"{self.read:,} tokens read, {self.written:,} written" if self.read else "no tokens counted"
        return f"{self.requests:,} requests went out{without}; {tokens} by the server"


@dataclass
class Budget:
    """The limit and the use so far; safe for threads."""

    most: int | None = None  # requests; None: unlimited
    used: Used = Used()
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def take(self) -> None:
        """Count a request before it is sent; UsedUpError if the limit is reached."""
        with self._lock:
            if self.most is not None and self.used.requests >= self.most:
                what, where = f"the budget of {self.most:,} requests is used up", f"--max-requests or {MOST}"
                raise UsedUpError(what, where=where, remedy=f"{KEPT}, or with a larger one, to go on from there")
            self.used = replace(self.used, requests=self.used.requests + 1)

    def answered(self, usage: object) -> None:
        """Count an answered request; `usage`: the field of that name in the answer, if any."""
        counts = [usage.get(key) if isinstance(usage, dict) else 0 for key in ("prompt_tokens", "completion_tokens")]
        read, written = (n if isinstance(n, int) and not isinstance(n, bool) and n > 0 else 0 for n in counts)
        with self._lock:
            used = self.used
            self.used = Used(used.requests, used.answers + 1, used.read + read, used.written + written)

    @contextmanager
    def told(self, name: str, requests: int, letters: int) -> Iterator[None]:
        """Announce the expected number of requests without retries, and report the actual use afterwards."""
        before = self.used
        left = "" if self.most is None else f"; {max(self.most - before.requests, 0):,} may still go out"
        tokens = f"about {round(letters / LETTERS_A_TOKEN, -1):,.0f} tokens of prompts"
        note(f"{name}: {requests:,} requests at most, unless some have to be repeated; {tokens}{left}")
        try:
            yield
        finally:
            note(f"{name}: {(self.used - before).in_words}")


_allowed: Budget | None = None


def current() -> Budget:
    """This process's budget, from `allowing` or else the environment; UserError if that is no number."""
    return _allowed or _of_environment(os.environ.get(MOST, ""))


@contextmanager
def allowing(most: int | None) -> Iterator[None]:
    """Set the budget of servers created within the context; None changes nothing."""
    global _allowed
    if most is not None and most < 0:
        raise UserError(f"{most} requests", where="max_requests", remedy="say 0 or more, or leave it out")
    before = _allowed
    _allowed = before if most is None else Budget(most)
    try:
        yield
    finally:
        _allowed = before


@cache
def _of_environment(said: str) -> Budget:
    if said and not (said.isascii() and said.isdigit()):
        raise UserError(f"{said!r} is no number of requests", where=f"environment: {MOST}", remedy="say 0 or more")
    return Budget(int(said) if said else None)
