"""How many requests may go out, and what is said of them."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import pytest

from evenruler.errors import UserError
from evenruler.models.backends.server import (
    MAX_REQUESTS,
    Budget,
    BudgetExhaustedError,
    RequestUsage,
    current_budget,
    request_budget,
)


def test_so_many_requests_go_out_and_no_more_whoever_asks() -> None:
    budget = Budget(200)

    def take(_: int) -> bool:
        with suppress(BudgetExhaustedError):
            budget.take()
            return 1
        return 0

    with ThreadPoolExecutor(16) as pool:
        assert sum(pool.map(take, range(1000))) == 200
    assert budget.used.requests == 200


@pytest.mark.parametrize(
    ("usage", "read", "written"),
    [
        ({"prompt_tokens": 7, "completion_tokens": 2, "total_tokens": 9}, 7, 2),
        ({"prompt_tokens": "7", "completion_tokens": True}, 0, 0),
        (None, 0, 0),
    ],
    ids=str,
)
def test_tokens_are_those_that_a_server_counts(usage: object, read: int, written: int) -> None:
    budget = Budget()
    budget.answered(usage)
    assert budget.used == RequestUsage(0, 1, read, written)


def test_plan_and_use_are_said_also_when_something_is_wrong(
    capsys: pytest.CaptureFixture[str],
) -> None:
    budget = Budget(10)
    budget.take()

    with suppress(RuntimeError), budget.announce_requests("big", 1200, 4804):
        budget.take()
        budget.answered({"prompt_tokens": 5, "completion_tokens": 6})
        raise RuntimeError

    planned, used = capsys.readouterr().err.splitlines()
    assert planned.startswith("big: 1,200 requests at most, ")
    assert planned.endswith("; about 1,200 tokens of prompts; 9 may still go out")
    assert used == "big: 1 requests went out; 5 tokens read, 6 written by the server"


def test_one_budget_a_process_by_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(MAX_REQUESTS, "71")
    assert current_budget().most == 71
    assert current_budget() is current_budget()
    monkeypatch.delenv(MAX_REQUESTS)
    assert current_budget().most is None


def test_a_command_has_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(MAX_REQUESTS, "71")
    with request_budget(3):
        budget = current_budget()
        assert (budget.most, budget.used) == (3, RequestUsage())
        with request_budget(None):
            assert current_budget() is budget
    assert current_budget().most == 71
    with request_budget(3):
        assert current_budget() is not budget


@pytest.mark.parametrize("limit", ["many", "-1", "²"])
def test_what_is_no_number_is_one_line(monkeypatch: pytest.MonkeyPatch, limit: str) -> None:
    monkeypatch.setenv(MAX_REQUESTS, limit)
    with pytest.raises(UserError) as error:
        current_budget()
    assert str(error.value) == (
        f"environment: EVENRULER_MAX_REQUESTS: {limit!r} is no number of requests; say 0 or more"
    )


def test_less_than_none_is_one_line() -> None:
    with pytest.raises(UserError, match="-1 requests"), request_budget(-1):
        pass
