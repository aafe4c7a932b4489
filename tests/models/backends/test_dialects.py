"""Servers of several makes: what they call otherwise, do not take, or are too busy for; who
answers; thoughts before answers; and what is kept of all that."""

import json
import signal
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import wait
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

import pytest

from evenruler.models import Model, Sampling, load
from evenruler.models.backends import server as servers
from evenruler.models.backends.server import AT_ONCE, KEY, URL, Server, is_version
from evenruler.models.questions import CUT, Reply
from evenruler.models.store import RowStore
from tests.loopback_openai import ScriptedServer, chat_choice, dripping, running
from tests.tiny import catalogue_of, tiny_declaration

pytestmark = pytest.mark.enable_socket

BRIEF = Sampling(max_new_tokens=7, temperature=0.5, top_p=0.9)
NUMBERED = [f"prompt {i}" for i in range(24)]
LONG = 120
"""Seconds that an event is waited for, which comes at once where the code is right."""


@pytest.fixture
def serve(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[ScriptedServer], ScriptedServer]]:
    with ExitStack() as stack:

        def start(server: ScriptedServer) -> ScriptedServer:
            stack.enter_context(running(server))
            monkeypatch.setenv(URL, server.url)
            monkeypatch.setenv(KEY, "secret-word")
            return server

        yield start


def hosted(store: RowStore, kind: str = "chat", **entry: object) -> Model:
    declaration = tiny_declaration({})
    declaration["models"]["big"] = {
        "kind": kind,
        "source": "endpoint:big-one",
        "licence": "x",
        "origin": "x",
        **entry,
    }
    return load("big", catalogue_of(declaration), store=store)


def of_openai(parameter: str, message: str, code: str = "unsupported_parameter") -> dict[str, Any]:
    return {"message": message, "type": "invalid_request_error", "param": parameter, "code": code}


NO_MOST = of_openai(
    "max_tokens", "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."
)
NO_OTHER = {"message": "max_completion_tokens: Extra inputs are not permitted"}
NO_HEAT = of_openai(
    "temperature", "'temperature' does not support 0.5 with this model.", "unsupported_value"
)
NO_TOP_P = {
    "detail": [
        {
            "type": "extra_forbidden",
            "loc": ["body", "top_p"],
            "msg": "Extra inputs are not permitted",
        }
    ]
}
"""As FastAPI says it, with status 422."""
NO_WORD = {
    "message": "1 validation error: ...",
    "type": "Bad Request",
    "param": "body.seed",
    "code": 400,
}
"""As vLLM says it where a value is none of its own."""
NO_SEED = {"message": "Unrecognized request argument supplied: seed"}


@dataclass
class Held(ScriptedServer):
    """Holds all but the first until they are `released`; `here` is set by more than `most`."""

    most: int = AT_ONCE
    here: Any = field(default_factory=threading.Event)
    released: Any = field(default_factory=threading.Event)

    def answer(self, question: dict[str, Any]) -> tuple[int, Any]:
        answer_of_server = super().answer(question)
        if len(self.asked) > self.most:
            self.here.set()
        if len(self.asked) > 1:
            self.released.wait(LONG)
        return answer_of_server


def test_what_is_under_way_when_somebody_breaks_it_off_is_kept(
    serve: Callable[..., ScriptedServer], store: RowStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After the first one all are asked at once; none is answered before the signal."""
    server: Any = serve(Held())

    def breaks_off(running: Any, **how: Any) -> Any:
        if len(running) == AT_ONCE and not server.released.is_set():
            assert server.here.wait(LONG)
            server.released.set()
            signal.raise_signal(signal.SIGINT)
        return wait(running, **how)

    monkeypatch.setattr(servers, "wait", breaks_off)
    before = signal.signal(
        signal.SIGINT, signal.default_int_handler
    )  # workers of pytest-xdist ignore it
    try:
        with pytest.raises(KeyboardInterrupt):
            hosted(store).generate(NUMBERED)
    finally:
        signal.signal(signal.SIGINT, before)
    assert store.count() == len(server.asked) == 1 + AT_ONCE


# What is asked and kept


def test_asks_what_was_asked_and_keeps_the_replies(
    serve: Callable[..., ScriptedServer], store: RowStore
) -> None:
    serve(ScriptedServer())
    model = hosted(store)
    sampling = Sampling(max_new_tokens=7, temperature=0.5, top_p=0.9)
    replies = model.generate(
        ["one", "two", "one"],
        sampling=sampling,
        seeds=[3, 4, 3],
        system=["be brief", None, "be brief"],
    )
    assert replies == ["ONE", "TWO", "ONE"]
    assert model.asked == 2
    again = hosted(store)
    assert again.generate(["two"], sampling=sampling, seeds=[4]) == ["TWO"]
    assert again.asked == 0
    other = hosted(store, revision="2026-11")
    assert other.generate(["two"], sampling=sampling, seeds=[4]) == ["TWO"]
    assert other.asked == 1


def test_a_start_token_is_part_of_what_was_asked(
    serve: Callable[..., ScriptedServer], store: RowStore
) -> None:
    serve(ScriptedServer())
    bare, begun = hosted(store, "completions"), hosted(store, "completions", start="<s>")
    assert bare.generate(["one"]) == ["ONE"]
    assert begun.generate(["one"]) == ["<S>ONE"]
    assert '"start":"<s>"' in begun.engine
    assert "start" not in bare.engine


def test_the_key_stands_nowhere(serve: Callable[..., ScriptedServer], store: RowStore) -> None:
    serve(ScriptedServer())
    model = hosted(store)
    model.generate(["one"])
    assert "secret-word" not in model.engine
    assert b"secret-word" not in b"".join(
        path.read_bytes() for path in store.root.rglob("*") if path.is_file()
    )


def test_an_address_that_changes_before_anything_is_asked_gives_no_answers(
    serve: Callable[..., ScriptedServer],
    store: RowStore,
    monkeypatch: pytest.MonkeyPatch,
    error_of: Any,
) -> None:
    """What one server says is never kept under the address of another."""
    server, model = serve(ScriptedServer()), hosted(store)
    with running(ScriptedServer()) as other:
        monkeypatch.setenv(URL, other.url)
        message = error_of(model.generate, ["one"])
        assert (
            message
            == "params.yaml: models.big: the server of big changed while it was in use; run again"
        )
        assert hosted(store).generate(["one"]) == ["ONE"]

    assert server.asked == []
    assert len(other.asked) == store.count() == 1


# What it calls otherwise, and what it does not take


def test_a_limit_is_called_as_the_server_has_it_and_asked_once(
    serve: Callable[..., ScriptedServer], store: RowStore
) -> None:
    server = serve(ScriptedServer(takes_no={"max_completion_tokens": NO_OTHER}))
    replies = hosted(store).generate(NUMBERED, sampling=BRIEF)
    assert replies == [text.upper() for text in NUMBERED]
    assert len(server.asked) == len(NUMBERED) + 1
    limits = [question["max_tokens"] for question in server.asked[1:]]
    assert limits == [7] * len(NUMBERED)


def test_completions_are_called_the_other_way_round(
    serve: Callable[..., ScriptedServer], store: RowStore
) -> None:
    server = serve(ScriptedServer(takes_no={"max_tokens": NO_MOST}))
    assert hosted(store, "completions").generate(["one", "two"], sampling=BRIEF) == ["ONE", "TWO"]
    assert [question.get("max_completion_tokens") for question in server.asked] == [None, 7, 7]


@pytest.mark.parametrize(
    ("setting", "error"),
    [("temperature", NO_HEAT), ("seed", NO_SEED), ("seed", NO_WORD), ("top_p", NO_TOP_P)],
)
def test_what_a_server_does_not_take_is_left_out_said_and_recorded(
    serve: Callable[..., ScriptedServer],
    store: RowStore,
    capsys: pytest.CaptureFixture[str],
    setting: str,
    error: dict[str, Any],
) -> None:
    server, model = serve(ScriptedServer(takes_no={setting: error})), hosted(store)
    assert model.generate(NUMBERED, sampling=BRIEF) == [text.upper() for text in NUMBERED]
    assert len(server.asked) == len(NUMBERED) + 1
    assert {setting in question for question in server.asked[1:]} == {False}
    settings = {"temperature": 0.5, "top_p": 0.9, "max_completion_tokens": 7}
    settings.pop(setting, None)
    assert all(settings.items() <= question.items() for question in server.asked)
    note = f"big: the server takes no {setting}, so it goes by its own"
    assert capsys.readouterr().err.count(note) == 1
    assert model.heard == [{"model": "big-one", "own": [setting]}] * len(NUMBERED)
    again = hosted(store)
    assert again.replies(["prompt 3"], sampling=BRIEF)[0].said == {
        "model": "big-one",
        "own": [setting],
    }
    assert (again.asked, len(server.asked)) == (0, len(NUMBERED) + 1)


def test_a_word_of_the_prompt_is_no_setting_and_a_filter_no_dialect(
    serve: Callable[..., ScriptedServer], store: RowStore, error_of: Any
) -> None:
    server = serve(ScriptedServer(refuses="seed"))
    replies = hosted(store).replies(["one", "a seed", "two"], sampling=BRIEF)
    assert [reply.text for reply in replies] == ["ONE", None, "TWO"]
    assert {
        "seed" in question and "max_completion_tokens" in question for question in server.asked
    } == {True}
    model = hosted(store)
    line = error_of(model.generate, ["one", "a seed"], sampling=BRIEF)
    assert line.startswith("'a seed': big gives no reply to a prompt (")
    assert model.asked == 0  # the refusal is kept


def test_refusals_go_several_at_a_time(
    serve: Callable[..., ScriptedServer], store: RowStore
) -> None:
    server: Any = serve(Held(refuses="prompt", most=AT_ONCE // 2 + 1))
    server.released = server.here
    assert {reply.text for reply in hosted(store).replies(NUMBERED)} == {None}
    assert server.here.is_set()
    greetings = [question["messages"][0]["content"] == "Hello." for question in server.asked]
    assert (sum(greetings), len(greetings)) == (1, len(NUMBERED) + 1)
    assert any(greetings[: 2 * AT_ONCE + 1]), (
        "so that settings that nothing goes with are seen soon"
    )


@pytest.mark.parametrize(
    ("entry", "prompts", "takes_no", "named"),
    [
        (
            {"effort": "low"},
            ["one"],
            {"reasoning_effort": of_openai("reasoning_effort", "Unsupported parameter: 'effort'")},
            "Unsupported parameter: 'effort'",
        ),
        ({}, NUMBERED, {"max_completion_tokens": NO_OTHER, "max_tokens": NO_MOST}, ""),
    ],
    ids=["what is said of the model", "either name of the limit"],
)
def test_what_is_never_left_out_ends_it(
    serve: Callable[..., ScriptedServer],
    store: RowStore,
    error_of: Any,
    entry: dict[str, Any],
    prompts: list[str],
    takes_no: dict[str, Any],
    named: str,
) -> None:
    server = serve(ScriptedServer(takes_no=takes_no))
    message = error_of(hosted(store, **entry).generate, prompts)
    assert "big: the server does not answer (" in message
    assert named in message
    assert len(server.asked) <= 2 * (2 * AT_ONCE + 1)  # a refusal each, and of the greeting
    assert store.count() == 0


def test_a_limit_that_is_not_heeded_is_called_otherwise(
    serve: Callable[..., ScriptedServer], store: RowStore
) -> None:
    @dataclass
    class Heedless(ScriptedServer):
        def answer(self, question: dict[str, Any]) -> tuple[int, Any]:
            status, body = super().answer(question)
            return status, body | {"usage": {"completion_tokens": question.get("max_tokens", 900)}}

    server = serve(Heedless())
    assert hosted(store).generate(["one", "two"], sampling=BRIEF) == ["ONE", "TWO"]
    assert [question.get("max_tokens") for question in server.asked] == [None, 7, 7]


def test_seeds_have_31_bits(serve: Callable[..., ScriptedServer], store: RowStore) -> None:
    server = serve(ScriptedServer())
    seeds = [2**31 + 5, 2**32 - 1]
    hosted(store).generate(["one", "two"], seeds=seeds)
    sent = sorted(question["seed"] for question in server.asked)
    assert sent == [5, 2**31 - 1]


def test_the_key_of_an_entry_that_says_nothing_stays(
    serve: Callable[..., ScriptedServer], store: RowStore
) -> None:
    server = serve(ScriptedServer())
    plain = f'{{"backend":"openai","mode":"chat","model":"big-one","revision":null,"url":"{server.url}"}}'
    assert hosted(store).engine == plain == hosted(store, timeout=9, new_tokens=9).engine
    assert (
        hosted(store, thinking="off").engine
        == plain[:-1].replace('"url"', '"thinking":"off","url"') + "}"
    )
    thinking = hosted(store, thinking={"tokens": 9}, effort="low", template={"a": True})
    assert '"effort":"low"' in thinking.engine
    assert '"template":{"a":true},"thinking":{"end":"</think>","tokens":9}' in thinking.engine


# Who answers


@pytest.mark.parametrize(
    ("model", "answering_model", "is_same"),
    [
        ("gpt-5.4", "gpt-5.4-2026-03-01", True),
        ("gpt-5.4", "gpt-5.4-mini-2026-03-01", False),
        ("gpt-3.5-turbo", "gpt-3.5-turbo-0125", True),
        ("claude-x-4", "claude-x-4-20260514", True),
        ("mistral-large-latest", "mistral-large-2411", True),
        ("org/Llama", "llama", True),
        ("org/llama", "other/llama", False),
        ("qwen3", "qwen3:latest", True),
        ("qwen3:8b", "qwen3:4b", False),
        ("gemini-2.5-flash", "gemini-2.5-flash-preview-05-20", True),
    ],
)
def test_a_version_of_a_model_is_the_model(model: str, answering_model: str, is_same: bool) -> None:
    assert is_version(answering_model, model) is is_same


def test_another_model_ends_it_and_what_it_said_is_not_kept(
    serve: Callable[..., ScriptedServer], store: RowStore, error_of: Any
) -> None:
    server = serve(ScriptedServer())
    hosted(store).generate(NUMBERED[:5])
    server.served = "small-one"
    message = error_of(hosted(store).generate, NUMBERED)
    assert "say --answers-as small-one if it renames the model" in message
    server.served = "/models/Big-Two.Q4_1.gguf"
    assert error_of(hosted(store).generate, NUMBERED).endswith(
        "name the one that you mean: endpoint:Big-Two.Q4_1.gguf"
    )
    assert store.count() == 5
    assert len(server.asked) == 7
    server.served = "big-one-2026-03-01"
    model = hosted(store)
    assert model.generate(NUMBERED) == [text.upper() for text in NUMBERED]
    assert len(server.asked) == 7 + 19
    assert {heard["model"] for heard in model.heard[5:]} == {"big-one-2026-03-01"}


def test_a_gateway_may_rename_the_model_where_it_is_told_so(
    serve: Callable[..., ScriptedServer], store: RowStore, error_of: Any
) -> None:
    server = serve(ScriptedServer())
    server.served = "azure/Big-1-2026-03-01"
    renamed = hosted(store, answers_as="big-1")
    assert renamed.generate(NUMBERED[:2]) == ["PROMPT 0", "PROMPT 1"]
    assert {heard["model"] for heard in renamed.heard} == {"azure/Big-1-2026-03-01"}
    plain = hosted(store)  # did not allow it, and has no answer of those
    assert "another model answers" in error_of(plain.generate, NUMBERED[:1])
    assert json.loads(renamed.engine) == {**json.loads(plain.engine), "answers_as": "big-1"}
    server.served = "big-one"
    assert renamed.generate(NUMBERED[2:3]) == ["PROMPT 2"]
    server.served = "small-one"
    assert "another model answers than was asked (small-one, not big-one)" in error_of(
        renamed.generate, NUMBERED
    )


def test_fingerprints_are_kept_with_each_reply(
    serve: Callable[..., ScriptedServer], store: RowStore
) -> None:
    from evenruler.evaluate.session import server_change_warnings

    serve(ScriptedServer(fingerprints=["fp_a", "fp_b"]))
    hosted(store).generate(NUMBERED)
    model = hosted(store)
    model.generate(NUMBERED)
    assert model.asked == 0
    assert server_change_warnings(model.heard) == [
        "the server changed meanwhile: replies bear 2 fingerprints (fp_a, fp_b)"
    ]
    assert (
        server_change_warnings([heard for heard in model.heard if heard["fingerprint"] == "fp_a"])
        == []
    )
    assert server_change_warnings([{"own": ["temperature"]}, {}]) == [
        "the server takes no temperature: it samples by its own"
    ]


# Waiting, and what is paid


def test_a_quota_that_is_used_up_ends_it_at_once_and_keeps_what_came(
    serve: Callable[..., ScriptedServer], store: RowStore, error_of: Any
) -> None:
    @dataclass
    class Poor(ScriptedServer):
        left: int = 10

        def answer(self, question: dict[str, Any]) -> tuple[int, Any]:
            self.left -= 1
            if self.left < 0:
                return 429, {
                    "error": {
                        "message": "You exceeded your current quota",
                        "code": "insufficient_quota",
                    }
                }
            return super().answer(question)

    server = serve(Poor())
    prompts = [f"prompt {number}" for number in range(100)]
    message = error_of(hosted(store).generate, prompts)
    assert message.startswith("big: nothing is left to pay with (Error code: 429")
    assert store.count() == 10
    assert server.left >= -AT_ONCE  # nothing more was sent
    server.left = 90
    assert hosted(store).generate(prompts) == [text.upper() for text in prompts]
    assert len(server.asked) == 100


def test_a_busy_server_is_asked_less_at_a_time_and_more_again(
    serve: Callable[..., ScriptedServer],
) -> None:
    serve(ScriptedServer(failures=[429, 429, 429]))
    client = Server("big", "big-one")
    client.ask("/chat/completions", {"messages": [{"role": "user", "content": "one"}]})
    assert client._room == 1  # three one after another
    for _ in range(4 * AT_ONCE):
        client._fit()
    assert client._room == 2
    client._narrowed = time.monotonic() + 9
    client._fit(time.monotonic())  # went out before it became fewer
    assert client._room == 2


@pytest.mark.parametrize(
    ("headers", "tries", "waited", "pause"),
    [
        ({"retry-after": "240"}, 1, 240.0, 240.0),
        ({"retry-after": "301"}, 1, 0.0, None),
        ({"retry-after-ms": "20"}, 3, 0.0, 0.02),
        ({"retry-after": "-3"}, 1, 0.0, 0.0),
        ({"retry-after": "nan"}, 1, 0.0, None),
        ({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}, 1, 0.0, 0.0),
        ({"retry-after": "soon"}, 3, 0.0, 2.0),
        ({}, 1, 0.0, 0.5),
        ({}, 20, 0.0, 64.0),
        ({}, 20, 250.0, None),
    ],
)
def test_how_long_is_waited(
    monkeypatch: pytest.MonkeyPatch,
    headers: dict[str, str],
    tries: int,
    waited: float,
    pause: float | None,
) -> None:
    monkeypatch.setattr(servers.random, "random", lambda: 0.0)
    assert servers._retry_pause(headers, tries, waited) == pause


def test_a_key_of_one_letter_is_hidden_as_a_word_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(KEY, "x")
    monkeypatch.setenv(URL, "http://127.0.0.1:9/v1")
    assert (
        Server("big", "m").plain("Incorrect API key: x; max_tokens")
        == "Incorrect API key: ***; max_tokens"
    )
    monkeypatch.setenv(KEY, "tokens")
    assert Server("big", "m").plain("max_tokens") == "max_***"


# Thoughts


@dataclass
class Thinker(ScriptedServer):
    """Thinks before it answers, in one of the shapes that servers have."""

    shape: str = "tags"
    closes: Callable[[str], bool] = lambda text: True

    def chat(self, question: dict[str, Any]) -> dict[str, Any]:
        text = question["messages"][-1]["content"]
        thought, answer = f"What is {text}?", text.upper()
        closed = self.closes(text)
        if self.shape in ("reasoning", "reasoning_content"):
            content = answer if closed else None
            return chat_choice(content, "stop" if closed else "length", **{self.shape: thought})
        if self.shape == "hidden":
            return chat_choice(answer if closed else "", "stop" if closed else "length")
        begun = "<think>" if self.shape == "tags" else ""
        ended = f"</think>\n\n{answer}" if closed else ""
        return chat_choice(f"{begun}{thought}{ended}", "stop" if closed else "length")


@pytest.mark.parametrize("shape", ["tags", "reasoning", "reasoning_content", "hidden"])
def test_the_answer_is_what_stands_after_the_thought(
    serve: Callable[..., ScriptedServer], store: RowStore, shape: str
) -> None:
    server = serve(
        Thinker(shape=shape, usage={"completion_tokens_details": {"reasoning_tokens": 5}})
    )
    model = hosted(store, thinking={"tokens": 100}, effort="low", template={"a": True})
    assert model.replies(["one", "two"], sampling=BRIEF) == [
        Reply("ONE", None, "stop"),
        Reply("TWO", None, "stop"),
    ]
    assert [question["chat_template_kwargs"] for question in server.asked] == [{"a": True}] * 2
    assert {question["reasoning_effort"] for question in server.asked} == {"low"}
    assert {question["max_completion_tokens"] for question in server.asked} == {107}
    assert {question["thinking_token_budget"] for question in server.asked} == {100}
    assert model.heard[0]["thought"] == 5


@pytest.mark.parametrize("shape", ["unopened", "reasoning", "hidden"])
def test_a_thought_without_an_end_is_no_answer_and_kept_as_such(
    serve: Callable[..., ScriptedServer], store: RowStore, shape: str
) -> None:
    server = serve(Thinker(shape=shape, closes=lambda text: text != "two"))
    model = hosted(store, thinking={"tokens": 100})
    reason = f"{CUT} (100 tokens to think in): say `--thinking 200`"
    for _ in range(2):
        assert model.replies(["one", "two"], sampling=BRIEF) == [
            Reply("ONE", None, "stop"),
            Reply(None, reason, "length"),
        ]
    assert len(server.asked) == 2


@pytest.mark.parametrize("shape", ["tags", "hidden"])
def test_one_that_thinks_though_nobody_said_so_ends_it_with_what_to_say(
    serve: Callable[..., ScriptedServer], store: RowStore, error_of: Any, shape: str
) -> None:
    server = serve(Thinker(shape=shape, closes=lambda text: False))
    message = error_of(hosted(store).generate, NUMBERED)
    assert (
        "big: the server wrote no answer before its reply was cut off; some models think first"
        in message
    )
    assert (len(server.asked), store.count()) == (1, 0)


@pytest.mark.parametrize("shape", ["tags", "reasoning", "hidden"])
def test_off_is_asked_for_and_one_that_thinks_all_the_same_is_found(
    serve: Callable[..., ScriptedServer], store: RowStore, error_of: Any, shape: str
) -> None:
    server = serve(
        Thinker(shape=shape, usage={"completion_tokens_details": {"reasoning_tokens": 5}})
    )
    message = error_of(hosted(store, thinking="off").generate, ["one"])
    assert message.startswith(
        "big: the server thinks, though thinking is off; say how long it may (--thinking 4096)"
    )
    sent = server.asked[0]["chat_template_kwargs"], server.asked[0]["reasoning_effort"]
    assert sent == ({"enable_thinking": False, "thinking": False}, "none")
    assert store.count() == 0


def test_off_of_one_that_knows_no_such_setting(
    serve: Callable[..., ScriptedServer], store: RowStore
) -> None:
    error = {"message": "Unrecognized request argument supplied: chat_template_kwargs"}
    other = of_openai("reasoning_effort", "Unsupported value: 'none'")
    server = serve(
        ScriptedServer(takes_no={"chat_template_kwargs": error, "reasoning_effort": other})
    )
    model = hosted(store, thinking="off")
    assert model.replies(["one", "two"], sampling=BRIEF) == [
        Reply("ONE", None, "stop"),
        Reply("TWO", None, "stop"),
    ]
    assert len(server.asked) == 2 + 2
    assert model.heard == [{"model": "big-one"}] * 2  # of sampling nothing was left out


def test_a_cut_answer_after_a_thought_is_an_answer(
    serve: Callable[..., ScriptedServer], store: RowStore
) -> None:
    server = serve(ScriptedServer())
    server.faults = [(200, chat_choice("<think>So.</think>The nurse", "length"))]
    assert hosted(store, thinking={"tokens": 9}).replies(["one"]) == [
        Reply("The nurse", None, "length")
    ]


def test_new_tokens_lift_what_an_instrument_allows(
    serve: Callable[..., ScriptedServer], store: RowStore
) -> None:
    server = serve(ScriptedServer())
    model = hosted(store, new_tokens=50)
    model.replies(["one"], sampling=BRIEF)
    model.replies(["one"], sampling=Sampling(80))
    assert [question["max_completion_tokens"] for question in server.asked] == [50, 80]
    plain = hosted(store)
    plain.replies(["one"], sampling=Sampling(50, BRIEF.temperature, BRIEF.top_p))
    assert plain.asked == 0  # it is the same question


def test_an_answer_is_waited_for_as_long_as_it_may_think(
    serve: Callable[..., ScriptedServer], store: RowStore
) -> None:
    serve(ScriptedServer())
    plain, thinks = (
        hosted(store, **entry).backend._server._client.timeout
        for entry in ({}, {"thinking": {"tokens": 4000}})
    )
    assert thinks > plain


@pytest.mark.parametrize(("within", "answers"), [(249, False), (251, True)])
def test_a_server_that_drips_has_the_seconds_of_the_entry(
    store: RowStore, monkeypatch: pytest.MonkeyPatch, error_of: Any, within: int, answers: bool
) -> None:
    """Each part comes soon; the whole takes 250 seconds by the client's clock."""
    body = json.dumps(chat_choice("SO.")).encode()
    monkeypatch.setattr(servers, "ATTEMPTS", 1)
    monkeypatch.setenv(KEY, "secret-word")
    starts = range(0, len(body), len(body) // 5 + 1)
    parts = [body[start : start + starts.step] for start in starts]
    with dripping(parts, 50) as url:
        monkeypatch.setenv(URL, url)
        model = hosted(store, timeout=within)
        if answers:
            assert model.generate(["one"]) == ["SO."]
        else:
            assert "big: the server does not answer (Request timed out.)" in error_of(
                model.generate, ["one"]
            )
    assert store.count() == answers


def test_a_pause_ends_with_the_run_and_the_next_one_waits_again(
    serve: Callable[..., ScriptedServer],
) -> None:
    server = serve(ScriptedServer(failures=[503]))
    client = Server("big", "big-one")
    question = {"messages": [{"role": "user", "content": "one"}]}

    def task() -> Any:
        return servers.BatchOutcome([client.ask("/chat/completions", question).choices])

    assert len(list(client.at_once([task, task]))) == 2
    server.failures = [503]
    assert client.ask(
        "/chat/completions", question
    ).choices  # not in a run any more, and still patient
    assert len(server.asked) == 5


def test_what_a_server_says_of_itself_is_short_and_holds_no_key(
    serve: Callable[..., ScriptedServer], store: RowStore
) -> None:
    serve(ScriptedServer(fingerprints=["secret-word" + "\x1b" * 900]))
    model = hosted(store)
    model.generate(["one"])
    assert model.heard == [{"model": "big-one", "fingerprint": "***"}]


def test_completions_that_end_before_a_letter_are_no_reply(
    serve: Callable[..., ScriptedServer], store: RowStore, error_of: Any
) -> None:
    server = serve(ScriptedServer())
    server.faults = [(200, {"choices": [{"text": "", "finish_reason": "length"}]})]
    assert "is no reply" in error_of(hosted(store, "completions").generate, ["one"])
    server.faults = [(200, {"choices": [{"text": "", "finish_reason": "stop"}]})]
    assert hosted(store, "completions").generate(["one"]) == [""]
    assert hosted(store, "completions").generate(["<think>a</think>b"]) == [
        "<THINK>A</THINK>B"
    ]  # as it is
