"""A hundred thousand questions to a hosted model whose server fails one time in twenty, a budget,
and a kill.

The backend and the store of answers are the real ones, in a process of their own, over HTTP on
loopback to a server in this one. One request in twenty meets a fault, told by a hash of the question and of how
often it came: 500; 429 with Retry-After; a line that is dropped; half a body; an answer that comes
late, but in time; one that comes after the client has given up (which it does after two seconds
here). The server counts, for each question, the answers that it sent in time.

All questions are asked in three runs: one whose budget ends at a third, one that is killed
(SIGKILL) at two thirds, and one that finishes with what is left of 1.06 requests a question. One
more run with a budget of 0 has to find every answer in the store.

What must hold, or the script fails: every question has its own answer, once; no question is
answered twice by the server, but for at most `AT_ONCE` that were on their way when the run was
killed; as many requests reach the server as were counted, and no more than the budget. The figures
stand in docs/tested.md.

It takes a quarter of an hour.
"""

import json
import os
import subprocess
import sys
import tempfile
import threading
import time
import zlib
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from unittest.mock import patch

import typer

from evenruler.models.backends.concurrency import AT_ONCE, VARIABLE

QUESTIONS, BUDGET = 100_000, 1.06
FAULTS, OF = 5, 100
"""So many requests of so many meet a fault."""
KINDS = ("500", "429", "dropped", "half a body", "late", "too late")
SECONDS = 2
"""That the client waits."""
DELAYS = {"late": 0.5, "too late": 3.0}
"""Seconds until an answer comes."""
MODULE = "studies.faults.requests"


class Counts:
    """What came to the server, and what became of it."""

    def __init__(self) -> None:
        self.came: Counter[str] = Counter()
        self.answered: Counter[str] = Counter()
        self.faults: Counter[str] = Counter()
        self.lock = threading.Lock()

    def draw_fault(self, question: str) -> str:
        """Return what becomes of a question this time; nothing where it is answered."""
        with self.lock:
            self.came[question] += 1
            number = zlib.crc32(f"{question}, time {self.came[question]}".encode())
            if number % OF >= FAULTS:
                return ""
            kind = KINDS[number // OF % len(KINDS)]
            self.faults[kind] += 1
            return kind

    def count_answer(self, question: str) -> None:
        """Count an answer that was sent in time."""
        with self.lock:
            self.answered[question] += 1

    def count_requests(self) -> int:
        """Return how many came."""
        with self.lock:
            return self.came.total()

    def count_times(self) -> Counter[int]:
        """Return how many questions were answered how often."""
        with self.lock:
            return Counter(self.answered.values())


class FaultyHandler(BaseHTTPRequestHandler):
    """Answers one line, question after question."""

    protocol_version = "HTTP/1.1"
    counts = Counts()

    def do_POST(self) -> None:
        """Answer a question, or meet a fault."""
        body = self.rfile.read(int(self.headers["Content-Length"]))
        question = json.loads(body)["messages"][-1]["content"]
        fault = self.counts.draw_fault(question)
        if fault in ("500", "429"):
            self._reply(int(fault), {"error": {"message": "not now"}})
            return
        self.close_connection = fault in ("dropped", "half a body")
        if fault == "dropped":
            return
        time.sleep(DELAYS.get(fault, 0))
        if fault not in ("half a body", "too late"):
            self.counts.count_answer(question)
        message = {"role": "assistant", "content": question.upper()}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        usage = {"prompt_tokens": 7, "completion_tokens": 5}
        part = 0.5 if fault == "half a body" else 1
        with suppress(ConnectionError):  # of a client that gave up
            self._reply(200, {"choices": [choice], "usage": usage}, part)

    def _reply(self, status: int, content: object, part: float = 1) -> None:
        """Send a body, or the first part of it."""
        body = json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        if status == 429:
            self.send_header("Retry-After", "0.2")
        self.end_headers()
        self.wfile.write(body[: int(part * len(body))])

    def log_message(self, *_: object) -> None:
        """Say nothing."""


class FaultyServer(ThreadingHTTPServer):
    """Takes as many lines at once as a client opens."""

    request_queue_size = 256

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of clients that were killed or gave up."""
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)


def ask_all(folder: Path, n: int) -> None:
    """Ask all questions of the server of the environment; what is in the store is not asked."""
    from evenruler.models.backends.server import current_budget
    from evenruler.models.catalogue import load_model
    from evenruler.models.declarations import Catalogue
    from evenruler.models.store import RowStore

    entry = {"kind": "chat", "source": "endpoint:big", "licence": "none", "origin": "loopback"}
    model = load_model(
        "big", Catalogue.model_validate({"models": {"big": entry}}), store=RowStore(folder)
    )
    start = time.monotonic()
    with patch("evenruler.models.backends.server.SECONDS", SECONDS):
        replies = model.generate([f"question {i}" for i in range(n)])
    assert replies == [f"QUESTION {i}" for i in range(n)]
    seconds, used = time.monotonic() - start, current_budget().used
    print(json.dumps({"asked": model.asked, "requests": used.requests, "seconds": seconds}))


@contextmanager
def serving(counts: Counts) -> Iterator[str]:
    """Yield the address of a server that counts."""
    handler = type("Counting", (FaultyHandler,), {"counts": counts})
    server = FaultyServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()


class Asking:
    """Runs against one server and one store."""

    def __init__(self, url: str, folder: Path, n: int, counts: Counts) -> None:
        self.url, self.folder, self.n, self.counts = url, folder, n, counts

    def start(self, most: int) -> "subprocess.Popen[str]":
        # As of a hosted model: a server on loopback is asked more at once otherwise.
        at_once = {VARIABLE: str(AT_ONCE)}
        address = {"OPENAI_BASE_URL": f"{self.url}/v1", "OPENAI_API_KEY": "any"}
        command = [sys.executable, "-m", MODULE, "--ask", str(self.folder)]
        command += ["--questions", str(self.n)]
        return subprocess.Popen(
            command,
            env=os.environ | address | at_once | {"EVENRULER_MAX_REQUESTS": str(most)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, most: int, status: int = 0) -> dict[str, Any]:
        """What a run said of itself, or its last line."""
        process = self.start(most)
        output, errors = process.communicate()
        assert process.returncode == status, errors[-2000:]
        return dict(json.loads(output)) if status == 0 else {"line": errors.splitlines()[-1]}

    def run_killed(self, most: int, answered: int) -> None:
        """A run that is killed once the server has answered so many questions."""
        process = self.start(most)
        while self.counts.count_times()[1] < answered:
            assert process.poll() is None
            time.sleep(0.2)
        process.kill()
        process.communicate()

    def count_kept(self) -> int:
        from evenruler.models.store import RowStore

        return RowStore(self.folder).count()

    def require_nothing_left(self) -> None:
        """One more run finds every answer, and sends nothing."""
        before, after = self.counts.count_requests(), self.run(0)
        assert (after["asked"], after["requests"]) == (0, 0)
        assert self.counts.count_requests() == before
        assert self.count_kept() == self.n


def ask_in_runs(asking: Asking) -> None:
    """Ask in three runs, and once more; print what was kept."""
    n, counts = asking.n, asking.counts
    most, third = int(BUDGET * n), n // 3
    line = asking.run(third, status=2)["line"]
    n_first = asking.count_kept()
    assert counts.count_requests() == third
    assert counts.count_times() == {1: n_first}
    answers = f"{n_first:,} answers kept"
    print(f"a budget of {third:,}: {answers}; {line}", flush=True)
    asking.run_killed(most - third, 2 * n // 3)
    n_second = asking.count_kept()
    n_lost = counts.count_times()[1] - n_second
    assert 0 <= n_lost <= AT_ONCE
    print(
        f"killed: {n_second:,} answers kept, {n_lost} sent by the server and not kept", flush=True
    )
    done = asking.run(most - counts.count_requests())
    times, requests = counts.count_times(), counts.count_requests()
    assert n_second + done["asked"] == n
    assert requests <= most
    assert times[1] + times[2] == n
    assert times[2] <= AT_ONCE
    asking.require_nothing_left()
    rate = done["requests"] / done["seconds"]
    print(f"with a kill: {n:,} questions, {requests:,} requests of {most:,};", end=" ")
    print(f"answered twice: {times[2]}; the last run {rate:.0f} requests/s;", end=" ")
    print(f"faults {dict(counts.faults)}")


def main(questions: int = QUESTIONS, ask: Path | None = None) -> None:
    """Ask so many questions; `--ask` is the process that this starts."""
    from evenruler.errors import run_program

    if ask is not None:
        run_program(lambda: ask_all(ask, questions))
        return
    counts = Counts()
    with tempfile.TemporaryDirectory() as folder, serving(counts) as url:
        ask_in_runs(Asking(url, Path(folder), questions, counts))


if __name__ == "__main__":
    typer.run(main)
