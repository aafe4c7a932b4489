"""A hundred thousand questions to a hosted model whose server fails one time in twenty, a budget,
and a kill.

The backend and the store of answers are the real ones, over HTTP on loopback to a server in a
process of its own. One request in twenty meets a fault, told by a hash of the question and of how
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

Run by hand: `python -m studies.faults.requests`. It takes a quarter of an hour.
"""

import argparse
import asyncio
import json
import os
import re
import subprocess
import sys
import tempfile
import time
import urllib.request
import zlib
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

QUESTIONS, BUDGET = 100_000, 1.06
FAULTS, OF = 5, 100
"""So many requests of so many meet a fault."""
KINDS = ("500", "429", "dropped", "half a body", "late", "too late")
LATE, SECONDS, TOO_LATE = 0.5, 2, 3
"""Of an answer; that the client waits; of an answer that it gave up."""
HEAD = "HTTP/1.1 {} X\r\nContent-Type: application/json\r\nContent-Length: {}\r\n{}\r\n"
MODULE = "studies.faults.requests"


class Faulty:
    """The server, and what it counts."""

    def __init__(self) -> None:
        self.came: Counter[str] = Counter()
        self.answered: Counter[str] = Counter()
        self.faults: Counter[str] = Counter()

    def fault(self, question: str) -> str | None:
        """What becomes of a question this time."""
        self.came[question] += 1
        number = zlib.crc32(f"{question}, time {self.came[question]}".encode())
        if number % OF >= FAULTS:
            return None
        kind = KINDS[number // OF % len(KINDS)]
        self.faults[kind] += 1
        return kind

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One line, question after question."""
        try:
            while request := await reader.readuntil(b"\r\n\r\n"):
                length = re.search(rb"(?i)content-length: (\d+)", request)
                body = await reader.readexactly(int(length[1])) if length else b""
                if not await self._answer(body, writer):
                    break
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    async def _answer(self, body: bytes, writer: asyncio.StreamWriter) -> bool:
        """Whether the line stays open."""
        if not body:
            self._send(writer, 200, self.counts())
            return True
        question = json.loads(body)["messages"][-1]["content"]
        fault = self.fault(question)
        if fault in ("500", "429"):
            self._send(
                writer,
                int(fault),
                {"error": {"message": "not now"}},
                "Retry-After: 0.2\r\n" * (fault == "429"),
            )
            return True
        if fault == "dropped":
            return False
        message = {"role": "assistant", "content": question.upper()}
        answer = {
            "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 7, "completion_tokens": 5},
        }
        if fault == "half a body":
            body = json.dumps(answer)
            half = body[: len(body) // 2]
            writer.write((HEAD.format(200, len(body), "") + half).encode())
            await writer.drain()
            return False
        if fault in ("late", "too late"):
            await asyncio.sleep(LATE if fault == "late" else TOO_LATE)
        if fault != "too late":
            self.answered[question] += 1
        self._send(writer, 200, answer)
        await writer.drain()
        return True

    def counts(self) -> dict[str, Any]:
        """Of all that came."""
        times = Counter(self.answered.values())
        return {"requests": self.came.total(), "times": times, "faults": self.faults}

    @staticmethod
    def _send(writer: asyncio.StreamWriter, status: int, body: object, headers: str = "") -> None:
        text = json.dumps(body)
        writer.write((HEAD.format(status, len(text), headers) + text).encode())


async def be_server() -> None:
    """Listen for ever; the port is printed."""
    server = await asyncio.start_server(Faulty().serve, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


def ask(folder: Path, n: int) -> None:
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
def serving() -> Iterator[str]:
    """The address of a server in a process of its own."""
    with subprocess.Popen(
        [sys.executable, "-m", MODULE, "--serve"], stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None
            yield f"http://127.0.0.1:{int(process.stdout.readline())}"
        finally:
            process.kill()


class Asking:
    """Runs against one server and one store."""

    def __init__(self, url: str, folder: Path, n: int) -> None:
        self.url, self.folder, self.n = url, folder, n

    def start(self, most: int) -> "subprocess.Popen[str]":
        env = {**os.environ, "OPENAI_BASE_URL": f"{self.url}/v1", "OPENAI_API_KEY": "any"}
        command = [sys.executable, "-m", MODULE, "--ask", str(self.folder)]
        command += ["--questions", str(self.n)]
        piped = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        return subprocess.Popen(command, env={**env, "EVENRULER_MAX_REQUESTS": str(most)}, **piped)  # type: ignore[call-overload, no-any-return]

    def run(self, most: int, status: int = 0) -> dict[str, Any]:
        """What a run said of itself, or its last line."""
        process = self.start(most)
        output, errors = process.communicate()
        assert process.returncode == status, errors[-2000:]
        return dict(json.loads(output)) if status == 0 else {"line": errors.splitlines()[-1]}

    def killed(self, most: int, answered: int) -> None:
        """A run that is killed once the server has answered so many questions."""
        process = self.start(most)
        while self.counts()["times"]["1"] < answered:
            assert process.poll() is None
            time.sleep(0.2)
        process.kill()
        process.communicate()

    def n_kept(self) -> int:
        from evenruler.models.store import RowStore

        return RowStore(self.folder).count()

    def counts(self) -> dict[str, Any]:
        with urllib.request.urlopen(f"{self.url}/counts") as answer:
            return dict(json.load(answer))

    def nothing_is_left(self) -> None:
        """One more run finds every answer, and sends nothing."""
        before, after = self.counts()["requests"], self.run(0)
        assert (after["asked"], after["requests"], self.counts()["requests"]) == (0, 0, before)
        assert self.n_kept() == self.n


def with_a_budget_and_a_kill(url: str, folder: Path, n: int) -> None:
    from evenruler.models.backends.server import AT_ONCE

    asking, most = Asking(url, folder, n), int(BUDGET * n)
    third = n // 3
    line = asking.run(third, status=2)["line"]
    first = asking.n_kept()
    counts = asking.counts()
    assert counts["requests"] == third, counts
    assert counts["times"] == {"1": first}, (first, counts)
    print(f"a budget of {third:,}: {first:,} answers kept; {line}", flush=True)
    asking.killed(most - third, 2 * n // 3)
    second, counts = asking.n_kept(), asking.counts()
    lost = counts["times"]["1"] - second
    assert 0 <= lost <= AT_ONCE
    print(f"killed: {second:,} answers kept, {lost} sent by the server and not kept", flush=True)
    done = asking.run(most - counts["requests"])
    counts = asking.counts()
    once, twice = (counts["times"].get(times, 0) for times in ("1", "2"))
    assert second + done["asked"] == n
    assert counts["requests"] <= most
    assert once + twice == n
    assert twice <= AT_ONCE
    asking.nothing_is_left()
    rate = done["requests"] / done["seconds"]
    print(
        f"with a kill: {n:,} questions, {counts['requests']:,} requests of {most:,}; answered "
        f"twice: {twice}; the last run {rate:.0f} requests/s; faults {counts['faults']}",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--questions", type=int, default=QUESTIONS)
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--ask", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.serve:
        asyncio.run(be_server())
    if arguments.ask:
        from evenruler.errors import run_program

        run_program(lambda: ask(arguments.ask, arguments.questions))
        return
    with tempfile.TemporaryDirectory() as folder, serving() as url:
        with_a_budget_and_a_kill(url, Path(folder), arguments.questions)


if __name__ == "__main__":
    main()
