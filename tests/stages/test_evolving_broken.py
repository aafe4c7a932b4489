"""Evolution that breaks off, by kill -9 or by a server that is down or hostile: the stage alone, by
real HTTP."""

import json
import os
import shutil
import signal
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.loopback_openai import running
from tests.stages.conftest import Clone
from tests.stages.evolving import (
    ELITES,
    EVOLVED,
    MADE,
    SEEDS,
    Evolving,
    Rewording,
    number_of,
)

ASK = ("evenruler", "evolve", EVOLVED)
STAGE = ("python", "-m", "stages.evolve", EVOLVED)
"""It says again what the server said."""
pytestmark = [pytest.mark.slow, pytest.mark.long]


def checkpoints(clone: Clone) -> dict[str, list[str]]:
    """Whole lines of each run that was kept, by file."""
    folder = Path(clone.env["EVENRULER_CACHE"]) / "evolve"
    return {path.name: path.read_text().split("\n")[:-1] for path in folder.glob("*.jsonl")}


def kept_replies(clone: Clone) -> set[str]:
    """Numbers of the replies in the store."""
    with sqlite3.connect(
        f"file:{clone.env['EVENRULER_CACHE']}/rows.sqlite?mode=ro", uri=True
    ) as connection:
        rows = [answer for (answer,) in connection.execute("SELECT answer FROM kept")]
    texts = filter(None, map(text_of, rows))
    numbers = {text.partition("\u2028")[2] for text in texts}
    return set(filter(str.isdigit, numbers))


def text_of(answer: bytes) -> str | None:
    """Of a stored reply: text, reason, finish; None for other answers, which are bytes of numbers
    or a fingerprint."""
    try:
        return str(json.loads(answer)[0])
    except (ValueError, TypeError, IndexError, KeyError):
        return None


def little(params: dict) -> None:
    """One generation, one reply for each place."""
    params["instruments"][EVOLVED]["evolve"] |= {
        "generations": {"quick": 1, "paper": 1},
        "samples": {"quick": 1, "paper": 1},
        "ablation": {"quick": False, "paper": False},
        "tries": 1,
    }


@pytest.fixture
def other(evolving: Evolving, tmp_path: Path) -> Iterator[Evolving]:
    """A copy of the clone with an empty store and a server of its own."""
    with running(Rewording()) as server:
        yield evolving.copied(tmp_path, server)


def test_killed_after_a_checkpoint_and_run_again(evolving: Evolving, other: Evolving) -> None:
    """The same bytes as the unbroken run of the fixture, which had a store of its own; no reply is
    paid twice."""
    clone, server = other.clone, other.server
    expected = clone.contents(MADE)
    replies = evolving.published("tries")["reply"]
    unbroken = set(replies.str.partition("\u2028")[2])
    shutil.rmtree(clone.folder / MADE)
    go_on, held = threading.Event(), threading.Event()
    since: list[None] = []

    def hold() -> None:
        """A batch after the second generation was kept, nothing comes any more."""
        if any(len(lines) >= 2 for lines in checkpoints(clone).values()):
            since.append(None)
            if len(since) > 8:
                held.set()
                go_on.wait(300)

    server.before = hold
    stage = clone.start(*ASK)
    try:
        assert held.wait(120), "the stage never came so far"
        os.killpg(stage.pid, signal.SIGKILL)
        stage.wait()
    finally:
        go_on.set()
        with suppress(ProcessLookupError):
            os.killpg(stage.pid, signal.SIGKILL)
    server.before = lambda: (
        None
    )  # what was held goes to nobody, and is asked again: it may come as late as it likes
    numbers, lines = kept_replies(clone), checkpoints(clone)
    assert [len(of_run) for of_run in lines.values()] == [2]
    assert 0 < len(numbers) < len(unbroken)
    assert not clone.contents(MADE)

    server.asked.clear()
    clone.run(*ASK)
    again = list(map(number_of, server.asked))
    assert again
    assert numbers.isdisjoint(again)
    assert numbers | set(again) == unbroken
    clone.run(*STAGE)
    assert clone.contents(MADE) == expected
    after = checkpoints(clone)
    assert {name: after[name][:2] for name in lines} == lines


def test_the_stage_needs_neither_server_nor_key(other: Evolving) -> None:
    clone = other.clone
    expected = clone.contents(MADE)
    clone.env.pop("OPENAI_BASE_URL")
    clone.env.pop("OPENAI_API_KEY")
    shutil.rmtree(clone.folder / MADE)
    clone.run(*STAGE)
    assert other.server.asked == []
    assert clone.contents(MADE) == expected


def test_a_server_that_is_down_is_one_line(other: Evolving) -> None:
    clone, before = other.clone, other.clone.contents(MADE)
    other.server.failures = [500] * 1000
    clone.edit("params.yaml", little)
    *notes, line = clone.run(*ASK, status=2).splitlines()
    assert line.startswith("error: reworder: the server does not answer (")
    assert "see OPENAI_BASE_URL and OPENAI_API_KEY" in line
    assert not [note for note in notes if "Traceback" in note]
    assert clone.contents(MADE) == before
    assert len(other.server.asked) == 6 * (len(SEEDS) - ELITES)
    assert [len(lines) for lines in checkpoints(clone).values()] == [1]
