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

It takes a quarter of an hour.
"""

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

import typer

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
            writer.write(
                (
                    HEAD.format(
                        200,
                        len(body),
                        "",
                    )
                    + half
                ).encode()
            )
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
        writer.write(
            (
                HEAD.format(
                    status,
                    len(text),
                    headers,
                )
                + text
            ).encode()
        )


async def be_server() -> None:
    """Listen for ever; the port is printed."""
    server = await asyncio.start_server(Faulty().serve, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


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
    print(
        json.dumps(
            {
                "asked": model.asked,
                "requests": used.requests,
                "seconds": seconds,
            }
        )
    )


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

    def run_killed(self, most: int, answered: int) -> None:
        """A run that is killed once the server has answered so many questions."""
        process = self.start(most)
        while self.read_counts()["times"]["1"] < answered:
            assert process.poll() is None
            time.sleep(0.2)
        process.kill()
        process.communicate()

    def count_kept(self) -> int:
        from evenruler.models.store import RowStore

        return RowStore(self.folder).count()

    def read_counts(self) -> dict[str, Any]:
        with urllib.request.urlopen(f"{self.url}/counts") as answer:
            return dict(json.load(answer))

    def require_nothing_left(self) -> None:
        """One more run finds every answer, and sends nothing."""
        before, after = self.read_counts()["requests"], self.run(0)
        assert (
            after["asked"],
            after["requests"],
            self.read_counts()["requests"],
        ) == (0, 0, before)
        assert self.count_kept() == self.n


def ask_in_runs(url: str, folder: Path, n: int) -> None:
    """Ask in three runs, and once more; print what was kept."""
    from evenruler.models.backends.server import AT_ONCE

    asking, most, third = Asking(url, folder, n), int(BUDGET * n), n // 3
    line = asking.run(third, status=2)["line"]
    n_first = asking.count_kept()
    counts = asking.read_counts()
    assert counts["requests"] == third, counts
    assert counts["times"] == {"1": n_first}, (n_first, counts)
    print(
        f"a budget of {third:,}: {n_first:,} answers kept; {line}",
        flush=True,
    )
    asking.run_killed(most - third, 2 * n // 3)
    n_second, counts = asking.count_kept(), asking.read_counts()
    n_lost = counts["times"]["1"] - n_second
    assert 0 <= n_lost <= AT_ONCE
    print(
        f"killed: {n_second:,} answers kept, {n_lost} sent by the server and not kept", flush=True
    )
    done = asking.run(most - counts["requests"])
    counts = asking.read_counts()
    n_twice = counts["times"].get("2", 0)
    assert n_second + done["asked"] == n
    assert counts["requests"] <= most
    assert counts["times"]["1"] + n_twice == n
    assert n_twice <= AT_ONCE
    asking.require_nothing_left()
    rate = done["requests"] / done["seconds"]
    print(
        f"with a kill: {n:,} questions, {counts['requests']:,} requests of {most:,}; answered ",
        end="",
    )
    print(f"twice: {n_twice}; the last run {rate:.0f} requests/s; faults {counts['faults']}")


def main(questions: int = QUESTIONS, serve: bool = False, ask: Path | None = None) -> None:
    """Ask so many questions; `--serve` and `--ask` are the processes that this starts."""
    from evenruler.errors import run_program

    if serve:
        asyncio.run(be_server())
    elif ask is not None:
        run_program(lambda: ask_all(ask, questions))
    else:
        with tempfile.TemporaryDirectory() as folder, serving() as url:
            ask_in_runs(url, Path(folder), questions)


if __name__ == "__main__":
    typer.run(main)
