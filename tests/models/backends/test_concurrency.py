"""More requests together while that is faster, fewer when a server is busy."""

import os
import re
from collections.abc import Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from evenruler.models.backends import concurrency
from evenruler.models.backends.concurrency import (
    AT_ONCE,
    PRIVATE_AT_ONCE,
    VARIABLE,
    Concurrency,
    most_at_once,
    set_most_at_once,
)
from evenruler.models.backends.openai import OpenAI
from evenruler.models.questions import Prompt, Sampling
from tests.loopback_openai import ServerWithCapacity
from tests.models.backends.conftest import Serve


class ServerWithSlots:
    """A clock, by which a server answers so many requests together in a second."""

    def __init__(self, slots: int, monkeypatch: pytest.MonkeyPatch) -> None:
        self.slots, self.now = slots, 0.0
        clock = SimpleNamespace(monotonic=lambda: self.now)
        monkeypatch.setattr(concurrency, "time", clock)

    def answer(self, requests: Concurrency, n: int) -> None:
        """Answer so many requests, as fast as slots and room allow."""
        for _ in range(n):
            self.now += 1 / min(self.slots, requests.room)
            requests.note_answer()


@pytest.mark.parametrize(
    ("slots", "room"),
    [
        (1, 8),
        (8, 8),
        (60, 64),
        (1000, 256),
    ],
)
def test_as_many_go_out_as_make_it_faster(
    slots: int, room: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By doubling, until two rounds in a row are not faster; then back to the fastest."""
    server = ServerWithSlots(slots, monkeypatch)
    requests = Concurrency(PRIVATE_AT_ONCE)
    assert requests.room == AT_ONCE
    server.answer(requests, 5000)
    assert requests.room == room


@pytest.mark.parametrize(
    ("slots", "most", "line"),
    [
        (60, 256, "64 requests at a time give 60 answers a second; more were not faster"),
        (1000, 256, "256 requests at a time give 256 answers a second; more are not allowed"),
        (1000, 8, ""),
    ],
)
def test_what_the_number_has_come_to_is_a_line(
    slots: int, most: int, line: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = ServerWithSlots(slots, monkeypatch)
    requests = Concurrency(most)
    server.answer(requests, 24)
    assert requests.in_words == ""
    server.answer(requests, 5000)
    assert requests.in_words == line


def test_a_server_of_others_never_gets_more(monkeypatch: pytest.MonkeyPatch) -> None:
    server = ServerWithSlots(1000, monkeypatch)
    requests = Concurrency(AT_ONCE)
    server.answer(requests, 5000)
    assert requests.room == AT_ONCE


def test_a_busy_server_gets_half_once_a_group_and_more_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    server = ServerWithSlots(1000, monkeypatch)
    requests = Concurrency(PRIVATE_AT_ONCE)
    server.now = 10.0
    requests.note_busy(9.0)
    requests.note_busy(9.5)  # went out before the number fell
    assert requests.room == AT_ONCE // 2
    server.answer(requests, 4 * AT_ONCE - 1)
    assert requests.room == AT_ONCE // 2
    server.answer(requests, 1)
    assert requests.room == AT_ONCE // 2 + 1
    assert requests.in_words == ("5 requests at a time by the end, since the server was busy (429)")
    for _ in range(9):
        server.now += 1.0
        requests.note_busy(server.now)
    assert requests.room == 1


@pytest.mark.parametrize(
    ("host", "setting", "most"),
    [
        ("api.openai.com", "", AT_ONCE),
        ("127.0.0.1", "", PRIVATE_AT_ONCE),
        ("::1", "", PRIVATE_AT_ONCE),
        ("api.openai.com", "32", 32),
        ("localhost", "2", 2),
    ],
)
def test_how_many_by_the_address(
    host: str, setting: str, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EVENRULER_AT_ONCE", setting)
    assert most_at_once(host) == most


@pytest.mark.parametrize("setting", ["0", "many", "-1", "٣"])
def test_a_setting_that_is_no_number_is_one_line(
    setting: str, monkeypatch: pytest.MonkeyPatch, error_of: Any
) -> None:
    monkeypatch.setenv("EVENRULER_AT_ONCE", setting)
    line = error_of(most_at_once, "localhost")
    assert line == (
        f"environment: EVENRULER_AT_ONCE: {setting!r} is no number of requests; say 1 or more"
    )


def test_the_option_is_the_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "4")
    set_most_at_once(None)
    assert most_at_once("localhost") == 4
    set_most_at_once(96)
    assert os.environ[VARIABLE] == "96"
    assert most_at_once("api.openai.com") == 96


def answer_all(n: int) -> None:
    """Ask a chat so many prompts, all at once."""
    first = Prompt("prompt", Sampling(4), seed=0, chat=True)
    prompts = [replace(first, seed=seed) for seed in range(n)]
    backend = OpenAI("big", "big-one", "chat")
    answered: set[int] = set()
    for batch in backend.generate(prompts, frozenset(range(n))):
        answered.update(place for place, _ in batch)
    assert answered == set(range(n))


def printed_rooms(printed: str) -> Sequence[int]:
    """The numbers of requests at a time that were printed."""
    return [int(room) for room in re.findall(r"big: (\d+) requests at a time", printed)]


@pytest.mark.enable_socket
def test_over_http_it_settles_near_what_a_server_can(
    serve: Serve, capsys: pytest.CaptureFixture[str]
) -> None:
    """Rates of rounds that overlap are a little off, hence within a factor of two."""
    serve(ServerWithCapacity(capacity=8, seconds=0.4))
    answer_all(140)
    (room,) = printed_rooms(capsys.readouterr().err)
    assert 8 <= room <= 16


@pytest.mark.enable_socket
def test_over_http_a_busy_server_is_asked_less(
    serve: Serve, capsys: pytest.CaptureFixture[str]
) -> None:
    serve(ServerWithCapacity(capacity=64, seconds=0.05, busy_above=12))
    answer_all(150)
    (room,) = printed_rooms(capsys.readouterr().err)
    assert room <= 13
