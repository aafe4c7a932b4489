"""Renders chat templates in a process of its own, whose memory and processor time are limited.

A template is a program of whoever made the model. A line of it such as `{{ 2 ** 10 ** 10 }}` is one
step of C code, which nothing inside Python can end. One process serves all templates of a program.
It is started anew and not forked: a fork would hold on to the memory of weights that are loaded,
and is unsafe beside threads and a GPU. So this module is also its script, and imports little.
"""

import json
import math
import os
import resource
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, datetime, tzinfo
from pathlib import Path
from typing import Any, Final

SECONDS: Final = 5
"""Most seconds of the processor for a template; usual ones take a thousandth."""

MEMORY: Final = 2**30
"""Most bytes of memory for a template, beyond what the process begins with."""

MOST_ADDED: Final = 1_000_000
"""Most characters that a template may write beyond those of its messages."""

PATIENCE: Final = 300
"""Seconds to wait for a text, however busy the machine."""

LONGEST_ERROR: Final = 300
"""Most characters of a template's error."""


@dataclass
class TemplateProcess:
    """The process that renders, started on first use."""

    _process: "subprocess.Popen[str] | None" = None
    _started_by: int = 0
    """The process that has started it: one that was forked from that starts its own."""
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def render_chat(self, order: Mapping[str, object]) -> dict[str, str]:
        """Do an order of `_render_chat`, and return its answer; OverflowError where that takes too
        long.
        """
        with self._lock:
            try:
                return self._send_order(order)
            except BaseException:  # also Ctrl-C: an answer that nobody reads must not be the next's
                self.end_process()
                raise

    def _send_order(self, order: Mapping[str, object]) -> dict[str, str]:
        """Write an order, and read its answer."""
        process = self._running_process()
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps(order, default=str) + "\n")
        process.stdin.flush()
        is_ready, _, _ = select.select([process.stdout], [], [], PATIENCE)
        line = process.stdout.readline() if is_ready else ""
        if not line:
            raise OverflowError(f"it takes more than {order['seconds']} seconds")
        answer: dict[str, str] = json.loads(line)
        return answer

    def _running_process(self) -> "subprocess.Popen[str]":
        """The process, once it is ready for an order."""
        process = self._process
        if process and self._started_by == os.getpid() and process.poll() is None:
            return process
        process = subprocess.Popen(
            [sys.executable, "-P", str(Path(__file__))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            encoding="utf-8",
        )
        self._process, self._started_by = process, os.getpid()
        assert process.stdout is not None
        if not process.stdout.readline():
            raise RuntimeError("the process that renders chat templates does not start")
        return process

    def end_process(self) -> None:
        """End the process, if this one has started it."""
        process, self._process = self._process, None
        if process is None or self._started_by != os.getpid():
            return
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                pipe.close()


def serve_orders() -> None:
    """Render what standard input orders, an order a line, until that ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the one that orders
    os.environ["TRANSFORMERS_VERBOSITY"] = "error"
    from transformers.utils import chat_template_utils as library

    _limit_memory()
    _write_line("ready")
    for line in sys.stdin:
        order = json.loads(line)
        _limit_seconds(order["seconds"])
        _write_line(json.dumps(_render_chat(library, order)))


def _write_line(line: str) -> None:
    """Write a line to the process that orders."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def _render_chat(library: Any, order: dict[str, Any]) -> dict[str, str]:
    """The `text` of a chat by a template; or its `error`, and of what `kind` that is."""
    library.datetime = _clock_at(date.fromisoformat(order["day"]))
    try:
        ((text,), _) = library.render_jinja_template(**order["arguments"])
    except MemoryError:
        return {"kind": "limit", "error": f"it takes more than {MEMORY // 2**20:,} MiB of memory"}
    except Exception as error:  # a template may fail like any program
        from jinja2 import TemplateError

        kind = "template" if isinstance(error, TemplateError) else "other"
        message = str(error) or type(error).__name__
        return {"kind": kind, "error": message[:LONGEST_ERROR]}
    if len(text) > len(str(order["arguments"]["conversations"])) + MOST_ADDED:
        return {"kind": "limit", "error": f"it adds more than {MOST_ADDED:,} characters"}
    return {"text": text}


def _clock_at(day: date) -> type[datetime]:
    """A `datetime` whose present is midnight of a day; transformers has no setting for it."""

    class Clock(datetime):
        @classmethod
        def now(cls, tz: tzinfo | None = None) -> "Clock":
            """Midnight of the day."""
            return cls(day.year, day.month, day.day, tzinfo=tz)

    return Clock


def _limit_memory() -> None:
    """Have this process take no more than `MEMORY` besides what it has, where Linux can limit
    it.
    """
    if sys.platform == "linux":
        n_pages = int(Path("/proc/self/statm").read_text().split()[0])
        _set_limit(resource.RLIMIT_AS, n_pages * resource.getpagesize() + MEMORY)


def _limit_seconds(seconds: int) -> None:
    """Have the system end this process after further seconds of the processor."""
    _set_limit(resource.RLIMIT_CPU, math.ceil(time.process_time()) + seconds)


def _set_limit(kind: int, most: int) -> None:
    """Set a limit of this process, below one that the user may have set."""
    _, hard = resource.getrlimit(kind)
    is_lower = hard == resource.RLIM_INFINITY or most < hard
    resource.setrlimit(kind, (most if is_lower else hard, hard))


if __name__ == "__main__":
    serve_orders()
