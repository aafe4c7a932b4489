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
from evenruler.instruments.external import declare
from evenruler.instruments.external.ask.choice import choice_questions
from evenruler.instruments.instrument import plan_at_size
from evenruler.measurement.figures import Verdict
from evenruler.models.backends.server import URL
from evenruler.models.store import RowStore
from tests import loopback_openai
from tests.evaluate.test_command import User
from tests.figures import find_figure
from tests.instruments.external import made
from tests.instruments.external.chats import AgreementChat, NamingChat, OptionChat
from tests.instruments.external.made_rankings import (
    ranking_source,
    shuffled_lists,
    table_of_lists,
)
from tests.loopback_openai import said_in
from tests.personas import PersonaServer

pytestmark = [pytest.mark.slow, pytest.mark.enable_socket]

N_ASKED = 90
"""At `trial`: an ambiguous question of each of 60 templates, and one that tells of every second."""


class SlowServer(PersonaServer):
    """A persona that takes its time."""

    def reply(self, question: dict[str, Any]) -> str:
        time.sleep(0.05)
        return super().reply(question)


def write_source(folder: Path, source: declare.Source | None = None) -> Path:
    """A source as a file of one's own, by default a reduced BBQ."""
    if source is None:
        files = made.many_bbq(60, 6)
        source = made.source(folder, "bbq", files, detects_by_choice={"trial": 0.2})
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
        user.run(*words, "--yes")
        asked_again = Counter(map(said_in, server.asked[n_before:]))
        assert set(asked_again.values()) == {1}
        assert len(asked_again) == N_ASKED - n_stored
        user.run(*words)
        assert len(server.asked) == n_before + len(asked_again), "all is in the store"
    (result_path,) = (user.folder / "results").rglob("result.json")
    figures = json.loads(result_path.read_text())["figures"]
    lean = find_figure(figures, figure="lean", condition="ambiguous", method="choice")
    assert lean["verdict"] == Verdict.DETECTED


KEYED = {
    "columns": {"item": "id", "statement": "claim", "key": "side"},
    "contrast": {"first": ["agree"], "second": ["disagree"], "plus": "left", "minus": "right"},
    "units": "statements",
}


@pytest.mark.parametrize(
    ("layout", "headline", "dimensions"),
    [("keyed", "keyed_lean", {}), ("ranking", "log_odds", {"candidates": "blue"})],
)
def test_statements_and_lists_are_measured_on_a_server(
    tmp_path: Path, layout: str, headline: str, dimensions: dict[str, str]
) -> None:
    user = User(tmp_path)
    chat: AgreementChat | NamingChat = NamingChat({"blue": 0.2})
    source = ranking_source(user.folder, table_of_lists(shuffled_lists(150)))
    if layout == "keyed":
        lines = ["id,claim,side"]
        for number in range(20):
            lines.append(f"l{number},Claim {number} holds.,left")
            lines.append(f"r{number},No {number}.,right")
        text = "\n".join([*lines, ""])
        source = made.source(user.folder, "keyed", {"texts": text}, **KEYED)
        chat = AgreementChat(lean=3.0)
    path = write_source(user.folder, source)
    questions = planned_questions(path)
    replies = chat.replies(questions, 1)["reply"].tolist()
    with loopback_openai.running(PersonaServer.of(questions, replies)) as server:
        user.env[URL] = server.url
        user.run("measure", "endpoint:big", "--with", str(path), "--size", "trial", "--yes")
        assert len(set(map(said_in, server.asked))) == len(questions)
    (result_path,) = (user.folder / "results").rglob("result.json")
    figures = json.loads(result_path.read_text())["figures"]
    row = find_figure(figures, figure=headline, method="choice", **dimensions)
    assert row["verdict"] == Verdict.DETECTED, row["why"]


def test_the_list_of_methods_counts_what_a_chat_is_asked(tmp_path: Path) -> None:
    user = User(tmp_path)
    printed, _ = user.run("list", str(write_source(user.folder)))
    counts = re.findall(r"^  causal, chat  choice +(\w+) +(\d+) replies;", printed, re.MULTILINE)
    assert counts == [("trial", "90"), ("standard", "300"), ("full", "600")]
