"""A chat on a server is asked BBQ in its form: planned, killed in the middle, and gone on with."""

import json
import re
import signal
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from ruamel.yaml import YAML

from evenruler.evaluate.benchmark import open_benchmark
from evenruler.instruments.external.ask.choice import choice_questions
from evenruler.instruments.instrument import plan_at_size
from evenruler.measurement.figures import Verdict
from evenruler.models.backends.server import URL
from evenruler.models.store import RowStore
from tests import loopback_openai
from tests.evaluate.test_command import User
from tests.figures import find_figure
from tests.instruments.external import made
from tests.instruments.external.chats import OptionChat
from tests.loopback_openai import said_in
from tests.personas import STYLES, PersonaServer

pytestmark = [pytest.mark.slow, pytest.mark.enable_socket]

N_ASKED = 90
"""At `trial`: an ambiguous question of each of 60 templates, and one that tells of every second."""


class SlowServer(PersonaServer):
    """A persona that takes its time."""

    def reply(self, question: dict[str, Any]) -> str:
        time.sleep(0.05)
        return super().reply(question)


def write_source(folder: Path) -> Path:
    """A reduced BBQ as a file of one's own."""
    source = made.source(folder, "bbq", made.many_bbq(60, 6), detects_by_choice={"trial": 0.2})
    content = source.model_dump(mode="json", by_alias=True, exclude_none=True)
    path = folder / "mine.yaml"
    with path.open("w") as file:
        YAML(typ="safe").dump({"family": "external", **content}, file)
    return path


def planned_questions(path: Path) -> pd.DataFrame:
    with open_benchmark(str(path)) as benchmark:
        plan: Any = plan_at_size(benchmark.plan, "trial")
        return choice_questions(benchmark.tables, plan)


def test_killed_in_the_middle_it_asks_nothing_twice(tmp_path: Path) -> None:
    user = User(tmp_path)
    path = write_source(user.folder)
    questions = planned_questions(path)
    assert len(questions) == N_ASKED
    thinks = OptionChat(lean=1.5, style=lambda letter, _: f"<think>Both?</think>\n{letter}")
    replies = thinks.replies(questions, 1)["reply"].tolist()
    words = ("measure", "endpoint:big", "--with", str(path), "--size", "trial")
    with loopback_openai.running(SlowServer.of(questions, replies)) as server:
        user.env[URL] = server.url
        _, planned = user.run(
            *words,
            "--max-requests",
            "0",
        )
        assert re.search(
            r"it sends 90 requests, about [\d,]+ tokens in, at most 1,440 out", planned
        )
        amount = "asks 90 replies (choice); 8 of 10 such studies detect a lean of 0.20 (ambiguous)"
        assert f"external-mine, trial: {amount}" in planned
        assert server.asked == []
        process = user.start(*words, "--yes", cold=True)
        deadline = time.monotonic() + 120
        rows = user.cache / "rows.sqlite"
        while not (rows.exists() and RowStore(user.cache).count() > 20):
            assert process.poll() is None, process.communicate()
            assert time.monotonic() < deadline
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        n_stored = RowStore(user.cache).count()
        assert 20 < n_stored < N_ASKED
        n_before = len(server.asked)
        assert not list((user.folder / "results").rglob("result.json"))
        printed, _ = user.run(*words, "--yes")
        asked_again = Counter(map(said_in, server.asked[n_before:]))
        assert set(asked_again.values()) == {1}
        assert len(asked_again) == N_ASKED - n_stored
        user.run(*words)
        assert len(server.asked) == n_before + len(asked_again), "all is in the store"
    assert "detected" in printed
    (result_path,) = (user.folder / "results").rglob("result.json")
    assert result_path.parent.name == "external-mine@0.0.0+trial+choice"
    figures = json.loads(result_path.read_text())["figures"]
    lean = find_figure(figures, figure="lean", condition="ambiguous", method="choice")
    assert lean["verdict"] == Verdict.DETECTED
    accuracy = find_figure(
        figures, figure="accuracy_dis", method="choice", condition=None, bias_type=None
    )
    assert accuracy["value"] > 0.9
    assert find_figure(figures, figure="unanswered", bias_type=None)["value"] == 0


def test_the_list_of_methods_counts_what_a_chat_is_asked(tmp_path: Path) -> None:
    user = User(tmp_path)
    printed, _ = user.run("list", str(write_source(user.folder)))
    lines = [line.split() for line in printed.splitlines()]
    counts = {line[1]: line[2] for line in lines if line[0] == "choice"}
    assert counts == {"trial": "90", "standard": "300", "full": "600"}


def test_wordy_replies_over_http_are_read_as_in_memory(tmp_path: Path) -> None:
    user = User(tmp_path)
    path = write_source(user.folder)
    questions = planned_questions(path)
    wordy = OptionChat(lean=1.0, style=STYLES["wordy"])
    replies = wordy.replies(questions, 2)["reply"].tolist()
    with loopback_openai.running(PersonaServer.of(questions, replies)) as server:
        user.env[URL] = server.url
        user.run(
            "measure",
            "endpoint:big",
            "--with",
            str(path),
            "--size",
            "trial",
            "--yes",
        )
    (result_path,) = (user.folder / "results").rglob("result.json")
    figures = json.loads(result_path.read_text())["figures"]
    letters = [reply.removeprefix("Sure! The answer is ")[0] for reply in replies]
    first = sum(letter == "A" for letter in letters) / len(letters)
    share = find_figure(
        figures,
        figure="first_option",
        method="choice",
    )["value"]
    assert share == pytest.approx(first, abs=5e-4)
