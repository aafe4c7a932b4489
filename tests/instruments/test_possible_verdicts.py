"""Where a verdict can come, by what a plan says its studies detect."""

from typing import Any

import pytest

from evenruler.instruments.possible_verdicts import (
    smallest_verdict_sizes,
    typical_model,
    verdicts_in_words,
)
from evenruler.instruments.registry import family_module

KNOWN = {"trial": {"detects": None}, "standard": {"detects": "0.9 points"}}
WITH_CHATS = {"trial": {"detects": "", "choice": "5 points"}, "full": {"detects": ""}}


@pytest.mark.parametrize(
    ("family", "sizes", "words"),
    [
        ("questionnaires", KNOWN, "causal, masked, nli at standard"),
        ("probes", KNOWN, "causal at standard"),
        ("external", WITH_CHATS, "causal, masked not known; chat at trial"),
        ("external", {"full": {"detects": ""}}, "not known"),
        ("framing", {"full": {"detects": None, "sampled": "9 points"}}, "chat at full"),
        ("saged", {"full": {"detects": None}}, "no"),
    ],
)
def test_a_verdict_by_kind_of_model(family: str, sizes: dict[str, Any], words: str) -> None:
    methods = family_module(family, "ask").METHODS
    assert verdicts_in_words(smallest_verdict_sizes({"sizes": sizes}, methods)) == words


def test_options_of_a_questionnaire_in_a_chat_give_none() -> None:
    methods = family_module("questionnaires", "ask").METHODS
    assert smallest_verdict_sizes({"sizes": KNOWN}, methods)["chat"] is None


def test_a_typical_model_can_do_what_its_kind_can() -> None:
    chat = typical_model("chat")
    assert chat.chats
    assert chat.can("generate")
    assert not chat.can("loglikelihood")
    assert typical_model("masked").can("pll")
