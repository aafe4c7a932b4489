"""Lists of next tokens that grow with what is open, over HTTP."""

import math
from itertools import cycle, islice
from typing import Any

import pytest

from evenruler.models.backends.next_tokens import LENGTHS
from evenruler.models.backends.server import Server
from evenruler.models.backends.word_ends import WordEndReader
from tests.loopback_openai import EchoingServer
from tests.models.backends.conftest import Serve

pytestmark = pytest.mark.enable_socket

PEAKED, FLAT = "peaked", "flat"
FLAT_TOKENS = 6000
TWO_THIRDS = (math.log(2 / 3), math.log(2 / 3))


def lister(text: str) -> dict[str, float]:
    """One token after `PEAKED`; 6,000 after another text, every third of which goes on with a
    letter."""
    if PEAKED in text:
        return {".": 0.0}
    beginnings = islice(cycle("a.."), FLAT_TOKENS)
    tokens = [f"{beginning}{place}" for place, beginning in enumerate(beginnings)]
    return dict.fromkeys(tokens, -math.log(FLAT_TOKENS))


def lengths(server: EchoingServer) -> list[tuple[int, int]]:
    """Texts and length of each list that was asked for."""
    return [(len(question["prompt"]), question["logprobs"]) for question in server.asked]


def reader(start: str = "") -> WordEndReader:
    return WordEndReader(Server("big", "big-one"), start)


def test_longer_lists_are_asked_for_where_too_much_is_open(serve: Serve) -> None:
    server = serve(EchoingServer(lister=lister))
    peaked, flat, again = reader("<s>").read_ends([PEAKED, FLAT, PEAKED])
    assert peaked == again == (0.0, 0.0)
    assert flat == pytest.approx(TWO_THIRDS)
    assert lengths(server) == [(2, LENGTHS[0]), (1, LENGTHS[1])]
    question = server.asked[-1]
    settings: dict[str, Any] = {"max_tokens": 1, "temperature": 1, "prompt": ["<s>flat"]}
    assert question | settings == question


def test_a_limit_is_learnt_once(serve: Serve) -> None:
    """As of vLLM, which allows as many as its vocabulary has."""
    server = serve(EchoingServer(lister=lister, most_listed=FLAT_TOKENS))
    ends = reader()
    (first,) = ends.read_ends([FLAT])
    (second,) = ends.read_ends([f"{FLAT} too"])
    assert first == second == pytest.approx(TWO_THIRDS)
    learnt = [(1, LENGTHS[0]), (1, LENGTHS[1]), (1, FLAT_TOKENS)]
    assert lengths(server) == [*learnt, (1, LENGTHS[0]), (1, FLAT_TOKENS)]


def test_texts_go_out_one_by_one_where_a_server_takes_no_more(serve: Serve) -> None:
    server = serve(EchoingServer(lister=lister, together=False))
    both = reader().read_ends([PEAKED, f"{PEAKED} too"])
    assert both == [(0.0, 0.0), (0.0, 0.0)]
    assert [n_texts for n_texts, _ in lengths(server)] == [2, 1, 1]


def test_a_limit_that_leaves_too_much_open_is_one_line(serve: Serve, error_of: Any) -> None:
    serve(EchoingServer(lister=lister, most_listed=5000))
    line = error_of(reader().read_ends, [FLAT])
    assert line == (
        "big: the server lists at most 5,000 next tokens, which leaves 0.17 of the probability "
        "after 'flat' open; let it list all (vLLM: --max-logprobs -1), or measure replies "
        "(--method sampled)"
    )


def test_a_server_without_lists_is_one_line(serve: Serve, error_of: Any) -> None:
    serve(EchoingServer(faults=[(400, {"error": {"message": "logprobs are switched off"}})]))
    line = error_of(reader().read_ends, [FLAT])
    assert "big: the server does not list next tokens (Error code: 400" in line
    assert "logprobs are switched off" in line
