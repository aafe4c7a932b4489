"""Servers of several makes: what they call otherwise, do not take, or are too busy for; who
answers; thoughts before answers; and what is kept of all that."""

import json
import signal
import threading
from collections.abc import Callable
from concurrent.futures import wait
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from evenruler.models import Model, Sampling, load
from evenruler.models.backends import server as servers
from evenruler.models.backends.concurrency import AT_ONCE
from evenruler.models.backends.server import KEY, URL, Server, is_version
from evenruler.models.questions import CUT, Reply
from evenruler.models.store import RowStore
from tests.loopback_openai import ScriptedServer, chat_choice, dripping
from tests.models.backends.conftest import Serve
from tests.tiny import catalogue_of, tiny_declaration

pytestmark = pytest.mark.enable_socket

BRIEF = Sampling(max_new_tokens=7, temperature=0.5, top_p=0.9)
NUMBERED = [f"prompt {number}" for number in range(24)]
SHOUTED = [text.upper() for text in NUMBERED]
QUESTION = {"messages": [{"role": "user", "content": "one"}]}
BOTH = [Reply("ONE", None, "stop"), Reply("TWO", None, "stop")]
FIVE_THOUGHT = {"completion_tokens_details": {"reasoning_tokens": 5}}
LONG = 120
"""Seconds that an event is waited for, which comes at once where the code is right."""


def hosted(store: RowStore, kind: str = "chat", **entry: object) -> Model:
    declaration = tiny_declaration({})
    terms = {"licence": "x", "origin": "x"}
    declaration["models"]["big"] = {
        "kind": kind,
        "source": "endpoint:big-one",
        **terms,
        **entry,
    }
    return load("big", catalogue_of(declaration), store=store)


def of_openai(parameter: str, message: str, code: str = "unsupported_parameter") -> dict[str, Any]:
    return {
        "message": message,
        "type": "invalid_request_error",
        "param": parameter,
        "code": code,
    }


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


NO_EFFORT = of_openai("reasoning_effort", "Unsupported parameter: 'effort'")


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
    serve: Serve, store: RowStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After the first one all are asked at once; none is answered before the signal."""
    server = serve(Held())

    def breaks_off(running: Any, **how: Any) -> Any:
        if len(running) == AT_ONCE and not server.released.is_set():
            assert server.here.wait(LONG)
            server.released.set()
            signal.raise_signal(signal.SIGINT)
        return wait(running, **how)

    monkeypatch.setattr(servers, "wait", breaks_off)
    # Workers of pytest-xdist ignore it.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            hosted(store).generate(NUMBERED)
    finally:
        signal.signal(signal.SIGINT, before)
    assert store.count() == len(server.asked) == 1 + AT_ONCE


# What is asked and kept


def test_the_key_stands_nowhere(serve: Serve, store: RowStore) -> None:
    serve(ScriptedServer())
    model = hosted(store)
    model.generate(["one"])
    files = [path for path in store.root.rglob("*") if path.is_file()]
    stored = b"".join(path.read_bytes() for path in files)
    assert b"secret-word" not in stored + model.engine.encode()


def test_an_address_that_changes_before_anything_is_asked_gives_no_answers(
    serve: Serve,
    store: RowStore,
    monkeypatch: pytest.MonkeyPatch,
    error_of: Any,
) -> None:
    """What one server says is never kept under the address of another."""
    server, model = serve(ScriptedServer()), hosted(store)
    other = serve(ScriptedServer())
    message = error_of(model.generate, ["one"])
    changed = "the server of big changed while it was in use; run again"
    assert message == f"params.yaml: models.big: {changed}"
    assert hosted(store).generate(["one"]) == ["ONE"]
    assert server.asked == []
    assert len(other.asked) == store.count() == 1


# What it calls otherwise, and what it does not take


@pytest.mark.parametrize(
    ("kind", "refused", "error", "taken"),
    [
        ("chat", "max_completion_tokens", NO_OTHER, "max_tokens"),
        ("completions", "max_tokens", NO_MOST, "max_completion_tokens"),
    ],
)
def test_a_limit_is_called_as_the_server_has_it_and_asked_once(
    kind, refused, error, taken, serve: Serve, store: RowStore
) -> None:
    server = serve(ScriptedServer(takes_no={refused: error}))
    assert hosted(store, kind).generate(NUMBERED, sampling=BRIEF) == SHOUTED
    limits = [question.get(taken) for question in server.asked]
    assert limits == [None, *[7] * len(NUMBERED)]


@pytest.mark.parametrize(
    ("setting", "error"),
    [("temperature", NO_HEAT), ("seed", NO_SEED), ("seed", NO_WORD), ("top_p", NO_TOP_P)],
)
def test_what_a_server_does_not_take_is_left_out_said_and_recorded(
    setting: str,
    error: dict[str, Any],
    serve: Serve,
    store: RowStore,
    capsys: pytest.CaptureFixture[str],
) -> None:
    server, model = serve(ScriptedServer(takes_no={setting: error})), hosted(store)
    assert model.generate(NUMBERED, sampling=BRIEF) == SHOUTED
    n_sent = len(NUMBERED) + 1
    assert len(server.asked) == n_sent
    settings = {"temperature": 0.5, "top_p": 0.9, "max_completion_tokens": 7}
    settings.pop(setting, None)
    for question in server.asked[1:]:
        assert question | settings == question
        assert setting not in question
    note = f"big: the server takes no {setting}, so it goes by its own"
    assert capsys.readouterr().err.count(note) == 1
    heard = {"model": "big-one", "own": [setting]}
    assert model.heard == [heard] * len(NUMBERED)
    again = hosted(store)
    assert again.replies(["prompt 3"], sampling=BRIEF)[0].server_report == heard
    assert (again.asked, len(server.asked)) == (0, n_sent)


def test_a_word_of_the_prompt_is_no_setting_and_a_filter_no_dialect(
    serve: Serve, store: RowStore, error_of: Any
) -> None:
    server = serve(ScriptedServer(refuses="seed"))
    replies = hosted(store).replies(["one", "a seed", "two"], sampling=BRIEF)
    assert [reply.text for reply in replies] == ["ONE", None, "TWO"]
    assert all({"seed", "max_completion_tokens"} <= question.keys() for question in server.asked)
    model = hosted(store)
    line = error_of(model.generate, ["one", "a seed"], sampling=BRIEF)
    assert "big gives no reply to a prompt (" in line
    assert model.asked == 0  # the refusal is kept


@pytest.mark.parametrize(
    ("entry", "takes_no", "named"),
    [
        ({"effort": "low"}, {"reasoning_effort": NO_EFFORT}, "Unsupported parameter: 'effort'"),
        ({}, {"max_completion_tokens": NO_OTHER, "max_tokens": NO_MOST}, ""),
    ],
    ids=["what is said of the model", "either name of the limit"],
)
def test_what_is_never_left_out_ends_it(
    entry: dict[str, Any],
    takes_no: dict[str, Any],
    named: str,
    serve: Serve,
    store: RowStore,
    error_of: Any,
) -> None:
    server = serve(ScriptedServer(takes_no=takes_no))
    message = error_of(hosted(store, **entry).generate, NUMBERED)
    assert "big: the server does not answer (" in message
    assert named in message
    assert len(server.asked) <= 2 * (2 * AT_ONCE + 1)  # a refusal each, and of the greeting
    assert store.count() == 0


@dataclass
class Heedless(ScriptedServer):
    """Heeds only the older name of the limit."""

    def answer(self, question: dict[str, Any]) -> tuple[int, Any]:
        status, body = super().answer(question)
        written = question.get("max_tokens", 900)
        return status, body | {"usage": {"completion_tokens": written}}


def test_a_limit_that_is_not_heeded_is_called_otherwise(serve: Serve, store: RowStore) -> None:
    server = serve(Heedless())
    assert hosted(store).generate(["one", "two"], sampling=BRIEF) == ["ONE", "TWO"]
    assert [question.get("max_tokens") for question in server.asked] == [None, 7, 7]


def test_seeds_have_31_bits(serve: Serve, store: RowStore) -> None:
    server = serve(ScriptedServer())
    hosted(store).generate(
        ["one", "two"],
        seeds=[2**31 + 5, 2**32 - 1],
    )
    assert {question["seed"] for question in server.asked} == {5, 2**31 - 1}


def test_the_key_of_an_entry_that_says_nothing_stays(serve: Serve, store: RowStore) -> None:
    server = serve(ScriptedServer())
    begin = '{"backend":"openai",'
    end = f'"mode":"chat","model":"big-one","revision":null,"url":"{server.url}"}}'
    plain = begin + end
    assert hosted(store).engine == plain == hosted(store, timeout=9, new_tokens=9).engine
    off, begun = hosted(store, thinking="off"), hosted(store, "completions", start="<s>")
    assert off.engine == plain.replace('"url"', '"thinking":"off","url"')
    assert '"start":"<s>"' in begun.engine
    thinking = hosted(store, thinking={"tokens": 9}, effort="low")
    assert thinking.engine.startswith(f'{begin}"effort":"low",')
    assert '"thinking":{"end":"</think>","tokens":9}' in thinking.engine


# Who answers


@pytest.mark.parametrize(
    ("model", "answering_model", "is_same"),
    [
        ("gpt-5.4", "gpt-5.4-2026-03-01", True),
        ("gpt-5.4", "gpt-5.4-mini-2026-03-01", False),
        ("mistral-large-latest", "mistral-large-2411", True),
        ("org/Llama", "llama", True),
        ("org/llama", "other/llama", False),
        ("qwen3:8b", "qwen3:4b", False),
        ("gemini-2.5-flash", "gemini-2.5-flash-preview-05-20", True),
    ],
)
def test_a_version_of_a_model_is_the_model(model: str, answering_model: str, is_same: bool) -> None:
    assert is_version(answering_model, model) is is_same


def test_another_model_ends_it_and_what_it_said_is_not_kept(
    serve: Serve, store: RowStore, error_of: Any
) -> None:
    server = serve(ScriptedServer())
    hosted(store).generate(NUMBERED[:5])
    for served, remedy in (
        ("small-one", "say --answers-as small-one if it renames the model"),
        ("/models/Big-Two.Q4_1.gguf", "name the one that you mean: endpoint:Big-Two.Q4_1.gguf"),
    ):
        server.served = served
        assert remedy in error_of(hosted(store).generate, NUMBERED)
    assert store.count() == 5
    assert len(server.asked) == 7
    server.served = "big-one-2026-03-01"
    model = hosted(store)
    assert model.generate(NUMBERED) == SHOUTED
    assert len(server.asked) == 7 + 19
    assert {heard["model"] for heard in model.heard[5:]} == {"big-one-2026-03-01"}


def test_a_gateway_may_rename_the_model_where_it_is_told_so(
    serve: Serve, store: RowStore, error_of: Any
) -> None:
    server = serve(ScriptedServer(served="azure/Big-1-2026-03-01"))
    renamed, plain = hosted(store, answers_as="big-1"), hosted(store)
    assert renamed.generate(NUMBERED[:2]) == SHOUTED[:2]
    assert {heard["model"] for heard in renamed.heard} == {"azure/Big-1-2026-03-01"}
    # The other did not allow it, and has no answer of those.
    assert "another model answers" in error_of(plain.generate, NUMBERED[:1])
    assert json.loads(renamed.engine) == {**json.loads(plain.engine), "answers_as": "big-1"}
    server.served = "big-one"
    assert renamed.generate(NUMBERED[2:3]) == SHOUTED[2:3]
    server.served = "small-one"
    assert "another model answers" in error_of(renamed.generate, NUMBERED)


def test_fingerprints_are_kept_with_each_reply(serve: Serve, store: RowStore) -> None:
    from evenruler.evaluate.session import server_change_warnings

    serve(ScriptedServer(fingerprints=["fp_a", "fp_b"]))
    for n_asked in (len(NUMBERED), 0):
        model = hosted(store)
        model.generate(NUMBERED)
        assert model.asked == n_asked
        assert server_change_warnings(model.heard) == [
            "the server changed meanwhile: replies bear 2 fingerprints (fp_a, fp_b)"
        ]
    assert server_change_warnings([model.heard[0], model.heard[0]]) == []


# Waiting, and what is paid


@dataclass
class Poor(ScriptedServer):
    """Answers while something is left to pay with."""

    left: int = 10

    def answer(self, question: dict[str, Any]) -> tuple[int, Any]:
        self.left -= 1
        if self.left < 0:
            error = {"message": "You exceeded your quota", "code": "insufficient_quota"}
            return 429, {"error": error}
        return super().answer(question)


def test_a_quota_that_is_used_up_ends_it_at_once_and_keeps_what_came(
    serve: Serve, store: RowStore, error_of: Any
) -> None:
    server = serve(Poor())
    prompts = [f"prompt {number}" for number in range(100)]
    message = error_of(hosted(store).generate, prompts)
    assert message.startswith("big: nothing is left to pay with (Error code: 429")
    assert store.count() == 10
    assert server.left >= -2 * AT_ONCE  # nothing more was sent
    server.left = 90
    hosted(store).generate(prompts)
    assert len(server.asked) == store.count() == 100


def test_a_busy_server_is_asked_less_at_a_time(serve: Serve) -> None:
    serve(ScriptedServer(failures=[429, 429, 429]))
    client = Server("big", "big-one")
    client.ask("/chat/completions", QUESTION)
    assert client._concurrency.room == 1  # three one after another


@pytest.mark.parametrize(
    ("headers", "tries", "waited", "pause"),
    [
        ({"retry-after": "240"}, 1, 240.0, 240.0),
        ({"retry-after": "301"}, 1, 0.0, None),
        ({"retry-after-ms": "20"}, 3, 0.0, 0.02),
        ({"retry-after": "nan"}, 1, 0.0, None),
        ({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}, 1, 0.0, 0.0),
        ({"retry-after": "soon"}, 3, 0.0, 2.0),
        ({}, 1, 0.0, 0.5),
        ({}, 20, 0.0, 64.0),
        ({}, 20, 250.0, None),
    ],
)
def test_how_long_is_waited(
    headers: dict[str, str],
    tries: int,
    waited: float,
    pause: float | None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(servers.random, "random", lambda: 0.0)
    assert servers._retry_pause(headers, tries, waited) == pause


@pytest.mark.parametrize(
    ("key", "shown"), [("x", "API key: ***; max_tokens"), ("tokens", "API key: x; max_***")]
)
def test_a_key_of_one_letter_is_hidden_as_a_word_alone(
    key, shown, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(KEY, key)
    monkeypatch.setenv(URL, "http://127.0.0.1:9/v1")
    assert Server("big", "m").plain("API key: x; max_tokens") == shown


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
            return chat_choice(
                content,
                "stop" if closed else "length",
                **{self.shape: thought},
            )
        if self.shape == "hidden":
            return chat_choice(answer if closed else "", "stop" if closed else "length")
        begun = "<think>" if self.shape == "tags" else ""
        ended = f"</think>\n\n{answer}" if closed else ""
        return chat_choice(f"{begun}{thought}{ended}", "stop" if closed else "length")


@pytest.mark.parametrize("shape", ["tags", "reasoning", "reasoning_content", "hidden"])
def test_the_answer_is_what_stands_after_the_thought(
    shape: str, serve: Serve, store: RowStore
) -> None:
    server = serve(Thinker(shape=shape, usage=FIVE_THOUGHT))
    model = hosted(
        store,
        thinking={"tokens": 100},
        effort="low",
        template={"a": True},
    )
    assert model.replies(["one", "two"], sampling=BRIEF) == BOTH
    sent = {
        "chat_template_kwargs": {"a": True},
        "reasoning_effort": "low",
        "max_completion_tokens": 107,
        "thinking_token_budget": 100,
    }
    assert [question | sent for question in server.asked] == server.asked
    assert model.heard[0]["thought"] == 5


@pytest.mark.parametrize("shape", ["unopened", "reasoning", "hidden"])
def test_a_thought_without_an_end_is_no_answer_and_kept_as_such(
    shape: str, serve: Serve, store: RowStore
) -> None:
    server = serve(Thinker(shape=shape, closes=lambda text: text != "two"))
    model = hosted(store, thinking={"tokens": 100})
    reason = f"{CUT} (100 tokens to think in): say `--thinking 200`"
    for _ in range(2):
        replies = model.replies(["one", "two"], sampling=BRIEF)
        assert replies == [BOTH[0], Reply(None, reason, "length")]
    assert len(server.asked) == 2


@pytest.mark.parametrize("shape", ["tags", "hidden"])
def test_one_that_thinks_though_nobody_said_so_ends_it_with_what_to_say(
    shape: str, serve: Serve, store: RowStore, error_of: Any
) -> None:
    server = serve(Thinker(shape=shape, closes=lambda text: False))
    message = error_of(hosted(store).generate, NUMBERED)
    assert "wrote no answer before its reply was cut off; some models think first" in message
    assert (len(server.asked), store.count()) == (1, 0)


@pytest.mark.parametrize("shape", ["tags", "reasoning", "hidden"])
def test_off_is_asked_for_and_one_that_thinks_all_the_same_is_found(
    shape: str, serve: Serve, store: RowStore, error_of: Any
) -> None:
    server = serve(Thinker(shape=shape, usage=FIVE_THOUGHT))
    message = error_of(hosted(store, thinking="off").generate, ["one"])
    assert "the server thinks, though thinking is off" in message
    (question,) = server.asked
    assert question["chat_template_kwargs"] == {"enable_thinking": False, "thinking": False}
    assert question["reasoning_effort"] == "none"
    assert store.count() == 0


def test_off_of_one_that_knows_no_such_setting(serve: Serve, store: RowStore) -> None:
    unknown = {"message": "Unrecognized request argument supplied: chat_template_kwargs"}
    none = of_openai("reasoning_effort", "Unsupported value: 'none'")
    takes_no = {"chat_template_kwargs": unknown, "reasoning_effort": none}
    server = serve(ScriptedServer(takes_no=takes_no))
    model = hosted(store, thinking="off")
    assert model.replies(["one", "two"], sampling=BRIEF) == BOTH
    assert len(server.asked) == 2 + 2
    assert model.heard == [{"model": "big-one"}] * 2  # of sampling nothing was left out


def test_new_tokens_lift_what_an_instrument_allows(serve: Serve, store: RowStore) -> None:
    server = serve(ScriptedServer())
    model = hosted(store, new_tokens=50)
    for most in (7, 80):
        model.replies(["one"], sampling=replace(BRIEF, max_new_tokens=most))
    assert [question["max_completion_tokens"] for question in server.asked] == [50, 80]
    plain = hosted(store)
    plain.replies(["one"], sampling=replace(BRIEF, max_new_tokens=50))
    assert plain.asked == 0  # it is the same question


@pytest.mark.parametrize(("within", "answers"), [(249, False), (251, True)])
def test_a_server_that_drips_has_the_seconds_of_the_entry(
    within: int, answers: bool, store: RowStore, monkeypatch: pytest.MonkeyPatch, error_of: Any
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
            line = error_of(model.generate, ["one"])
            assert "big: the server does not answer (Request timed out.)" in line
    assert store.count() == answers


def test_what_a_server_says_of_itself_is_short_and_holds_no_key(
    serve: Serve, store: RowStore
) -> None:
    serve(ScriptedServer(fingerprints=["secret-word" + "\x1b" * 900]))
    model = hosted(store)
    model.generate(["one"])
    assert model.heard == [{"model": "big-one", "fingerprint": "***"}]


def test_completions_that_end_before_a_letter_are_no_reply(
    serve: Serve, store: RowStore, error_of: Any
) -> None:
    bodies = [{"choices": [{"text": "", "finish_reason": why}]} for why in ("length", "stop")]
    serve(ScriptedServer(faults=[(200, body) for body in bodies]))
    model = hosted(store, "completions")
    assert "is no reply" in error_of(model.generate, ["one"])
    assert model.generate(["one"]) == [""]
