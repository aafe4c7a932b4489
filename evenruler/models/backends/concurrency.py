"""How many requests go to a server together: more while that makes it faster, fewer when it is
busy.
"""

import ipaddress
import os
import threading
import time
from functools import cache
from typing import Final

from evenruler.errors import UserError

AT_ONCE: Final = 8
"""Requests that go out together at first, and at most to a server of others, whose limits are for
many. After this many consecutive faults nothing more is asked."""

PRIVATE_AT_ONCE: Final = 256
"""At most to a server at a private address, which is the user's: vLLM fills a GPU by hundreds."""

VARIABLE: Final = "EVENRULER_AT_ONCE"
"""Environment variable: requests that go out together at most, in place of both."""

FASTER: Final = 1.1
"""Answers a second, relative to the best rate so far, above which more requests go out together."""

ROUNDS: Final = 2
"""Rounds in a row that were not faster, after which nothing more is tried."""


class Concurrency:
    """The number of requests that may be under way; safe for threads.

    It doubles after each round of as many answers whose rate is `FASTER` than that of any before,
    and halves once for each group of requests that the server turns away, to come back by one at a
    time.
    """

    def __init__(self, most: int) -> None:
        """`most`: requests at most."""
        self.most, self.room = most, min(AT_ONCE, most)
        self._best_rate, self._best_room, self._slower_rounds = 0.0, self.room, 0
        self._n_answers, self._round_began = 0, time.monotonic()
        self._narrowed: float | None = None
        """When the number fell last; None as long as the server was never busy."""
        self._lock = threading.Lock()

    @property
    def in_words(self) -> str:
        """What the number has come to, as one line; empty as long as more are being tried."""
        if self._narrowed is not None:
            return f"{self.room:,} requests at a time by the end, since the server was busy (429)"
        if self._slower_rounds < ROUNDS or self.most <= AT_ONCE:
            return ""
        rate = f"{self._best_rate:,.3g} answers a second"
        why = "more are not allowed" if self.room == self.most else "more were not faster"
        return f"{self.room:,} requests at a time give {rate}; {why}"

    def note_answer(self) -> None:
        """Take an answer into account."""
        with self._lock:
            self._n_answers += 1
            if self._narrowed is None and self._n_answers >= max(self.room, AT_ONCE):
                self._end_round()
            elif self._narrowed is not None and self._n_answers >= 4 * AT_ONCE:
                self.room = min(self.most, self.room + 1)
                self._begin_round()

    def note_busy(self, since: float) -> None:
        """Take into account that a request, sent at a time of `time.monotonic`, was turned away.

        Requests that went out before the number fell say nothing new.
        """
        with self._lock:
            if self._narrowed is None or since >= self._narrowed:
                self.room = max(1, self.room // 2)
                self._narrowed = time.monotonic()
                self._begin_round()

    def _end_round(self) -> None:
        """Try more at once, until some rounds were no faster: then go back to what was best."""
        elapsed = time.monotonic() - self._round_began
        rate = self._n_answers / max(elapsed, 1e-9)
        if self._slower_rounds >= ROUNDS:
            return
        if rate > FASTER * self._best_rate:
            self._best_rate, self._best_room, self._slower_rounds = rate, self.room, 0
        else:
            self._slower_rounds += 1
        is_settled = self._slower_rounds >= ROUNDS
        self.room = self._best_room if is_settled else min(self.most, 2 * self.room)
        self._begin_round()

    def _begin_round(self) -> None:
        """Reset the number of answers and the time from which the next rate is measured."""
        self._n_answers, self._round_began = 0, time.monotonic()


def set_most_at_once(most: int | None) -> None:
    """Set how many requests go out together at most, for this process and its children; None
    changes nothing.
    """
    if most is not None:
        os.environ[VARIABLE] = str(most)


def most_at_once(host: str | None) -> int:
    """Requests that may go to a host together, by its address or the environment; UserError where
    that is no number.
    """
    setting = os.environ.get(VARIABLE, "")
    if not setting:
        return PRIVATE_AT_ONCE if _is_private(host or "") else AT_ONCE
    if not (setting.isascii() and setting.isdigit() and int(setting)):
        what = f"{setting!r} is no number of requests"
        raise UserError(what, where=f"environment: {VARIABLE}", remedy="say 1 or more")
    return int(setting)


@cache
def _is_private(host: str) -> bool:
    """Whether a host is this machine, or one of the user's network."""
    if host == "localhost" or host.endswith((".local", ".internal")):
        return True
    try:
        return ipaddress.ip_address(host).is_private
    except ValueError:
        return False
