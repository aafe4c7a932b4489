"""More requests together while that is faster, fewer when a server is busy."""

from types import SimpleNamespace
from typing import Any

import pytest

from evenruler.models.backends import concurrency
from evenruler.models.backends.concurrency import (
    AT_ONCE,
    PRIVATE_AT_ONCE,
    Concurrency,
    most_at_once,
)


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
