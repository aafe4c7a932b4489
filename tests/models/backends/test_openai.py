"""Hosted models behind real servers on loopback: what is an answer, what is none, and what is
believed."""

import math
import re
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from evenruler.errors import UserError
from evenruler.models import Sampling, load
from evenruler.models.backends.causal import Causal
from evenruler.models.backends.openai import TEXTS, OpenAI, engine_fields
from evenruler.models.backends.server import (
    AT_ONCE,
    KEY,
    URL,
    BudgetExhaustedError,
    request_budget,
)
from evenruler.models.questions import LikelihoodRequest, Prompt, Reply
from evenruler.models.store import RowStore
from tests.loopback_openai import (
    NO_ANSWERS,
    EchoingServer,
    Scorer,
    ScriptedServer,
    chat_choice,
    letters,
    running,
    scorer_of,
)
from tests.models.conftest import TEXTS as SENTENCES
from tests.tiny import save_tiny, tiny_params

pytestmark = pytest.mark.enable_socket

BRIEF = Sampling(max_new_tokens=7, temperature=0.5, top_p=0.9)
turns = count()
NUMBERED = [f"prompt {i}" for i in range(24)]


@pytest.fixture
def serve(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[ScriptedServer], ScriptedServer]]:
    """Makes a server listen where the environment says, and asks it once about what it is too busy
    for."""
    contexts: list[AbstractContextManager[ScriptedServer]] = []

    def start(server: ScriptedServer) -> ScriptedServer:
        contexts.append(running(server))
        contexts[-1].__enter__()
        monkeypatch.setenv(URL, server.url)
        monkeypatch.setenv(KEY, "secret-word")
        monkeypatch.setattr("evenruler.models.backends.server.ATTEMPTS", 1)
        return server

    yield start
    for context in contexts:
        context.__exit__(None, None, None)


@pytest.fixture
def server(serve: Callable[..., ScriptedServer]) -> ScriptedServer:
    return serve(ScriptedServer())


def prompts_of(texts: list[str], *, chat: bool = True, sampling: Sampling = BRIEF) -> list[Prompt]:
    return [Prompt(text, sampling, seed, chat=chat) for seed, text in enumerate(texts)]


class Keeping:
    """As the cache before a backend does it: what is yielded is kept at once, what is kept is not
    asked again."""

    def __init__(self) -> None:
        self.kept: dict[int, Any] = {}

    def ask(
        self, ask: Callable[..., Iterator[list[tuple[Any, ...]]]], questions: list[Any]
    ) -> None:
        missing = frozenset(range(len(questions))) - set(self.kept)
        for batch in ask(questions, missing):
            for i, *answer in batch:
                assert i in missing
                assert i not in self.kept
                self.kept[i] = answer[0] if len(answer) == 1 else tuple(answer)

    @property
    def texts(self) -> list[str | None]:
        return [self.kept[i].text for i in sorted(self.kept)]


def replies(mode: Any, prompts: list[Prompt]) -> list[Reply]:
    keeping = Keeping()
    keeping.ask(OpenAI("big", "big-one", mode).generate, prompts)
    return [keeping.kept[i] for i in range(len(prompts))]


def one_line(error: pytest.ExceptionInfo[UserError]) -> str:
    line = str(error.value)
    assert error.value.where
    assert error.value.remedy
    assert "\n" not in line
    assert len(line) < 500
    assert "secret-word" not in line
    return line


# Replies


def test_a_chat_asks_what_was_asked(server: ScriptedServer) -> None:
    prompts = [Prompt("one", BRIEF, 3, "be brief", chat=True), Prompt("two", BRIEF, 4, chat=True)]
    assert replies("chat", prompts) == [Reply("ONE", None, "stop"), Reply("TWO", None, "stop")]
    first, second = sorted(server.asked, key=lambda question: question["seed"])
    assert first["messages"] == [
        {"role": "system", "content": "be brief"},
        {"role": "user", "content": "one"},
    ]
    assert second["messages"] == [{"role": "user", "content": "two"}]
    sampled = ("model", "max_completion_tokens", "temperature", "top_p")
    assert [first[name] for name in sampled] == ["big-one", 7, 0.5, 0.9]
    assert (first["path"], first["key"]) == ("/v1/chat/completions", "Bearer secret-word")


def test_completions_go_on_from_the_text_as_it_is(server: ScriptedServer) -> None:
    prompts = [Prompt("one", BRIEF, 3, "be brief"), Prompt(" two\n", BRIEF, 4)]
    assert replies("completions", prompts) == [
        Reply("BE BRIEF\n\nONE", None, "length"),
        Reply(" TWO\n", None, "length"),
    ]
    first, second = sorted(server.asked, key=lambda question: question["seed"])
    assert (first["prompt"], second["prompt"]) == ("be brief\n\none", " two\n")
    assert {"messages", "echo"}.isdisjoint(first)
    assert (first["path"], first["max_tokens"], first["temperature"]) == ("/v1/completions", 7, 0.5)


@pytest.mark.parametrize("fault", ["empty object", "wrong key"])
def test_what_is_no_answer_is_one_line_and_asked_again(server: ScriptedServer, fault: str) -> None:
    server.faults = [NO_ANSWERS[fault]] * 3
    model, keeping = OpenAI("big", "big-one", "chat"), Keeping()
    with pytest.raises(UserError) as error:
        keeping.ask(model.generate, prompts_of(NUMBERED))
    assert one_line(error).startswith("big: ")
    assert len(keeping.kept) == len(NUMBERED) - 3  # the others came before the line did
    assert set(keeping.texts) < {text.upper() for text in NUMBERED}
    keeping.ask(model.generate, prompts_of(NUMBERED))
    assert keeping.texts == [text.upper() for text in NUMBERED]
    assert len(server.asked) == len(NUMBERED) + 3  # nothing answered was asked twice


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        (
            "null with length",
            "wrote no answer before its reply was cut off; some models think first: say how long "
            "it may",
        ),
        ("wrong key", "Incorrect API key provided: ***"),
        ("list as content", "is no reply"),
    ],
)
def test_the_line_says_what_was_found(server: ScriptedServer, fault: str, words: str) -> None:
    server.faults = [NO_ANSWERS[fault]]
    with pytest.raises(UserError) as error:
        replies("chat", prompts_of(["one"]))
    assert words in one_line(error)


@pytest.mark.parametrize("fault", ["no choices", "null with stop", "broken"])
def test_completions_know_what_is_no_answer_too(server: ScriptedServer, fault: str) -> None:
    server.faults = [NO_ANSWERS[fault]]
    with pytest.raises(UserError) as error:
        replies("completions", prompts_of(["one"], chat=False))
    one_line(error)


def test_a_server_that_only_fails_is_soon_left_alone(server: ScriptedServer) -> None:
    server.faults = [NO_ANSWERS["wrong key"]] * 1000
    keeping = Keeping()
    prompts = prompts_of([f"prompt {i}" for i in range(100)])
    with pytest.raises(UserError):
        keeping.ask(OpenAI("big", "m", "chat").generate, prompts)
    assert keeping.kept == {}
    assert AT_ONCE <= len(server.asked) < 3 * AT_ONCE


def test_one_refused_prompt_of_24_is_an_answer_with_a_reason(server: ScriptedServer) -> None:
    server.refuses = "gun"
    prompts = [*NUMBERED[:11], "a gun", *NUMBERED[12:]]
    answers = replies("chat", prompts_of(prompts))
    assert [reply.text for reply in answers] == [
        None if "gun" in text else text.upper() for text in prompts
    ]
    assert answers[11].reason is not None
    assert "we do not like gun" in answers[11].reason
    assert len(server.asked) == 24


def test_where_everything_is_refused_it_is_not_for_the_prompts(server: ScriptedServer) -> None:
    server.refuses = ""
    server.faults = [(400, {"error": {"message": "Unsupported parameter: max_tokens"}})] * 100
    keeping = Keeping()
    with pytest.raises(UserError) as error:
        keeping.ask(OpenAI("big", "m", "chat").generate, prompts_of(NUMBERED))
    assert "does not answer (" in one_line(error)
    assert "Unsupported parameter: max_tokens" in one_line(error)
    assert keeping.kept == {}


def test_a_greeting_tells_refused_prompts_from_refused_settings(server: ScriptedServer) -> None:
    server.refuses = "gun"
    model = OpenAI("big", "m", "chat")
    keeping = Keeping()
    keeping.ask(model.generate, prompts_of(["gun", "two guns"]))
    assert keeping.texts == [None, None]
    (greeting,) = server.asked[2:]
    assert greeting["messages"][0]["content"] == "Hello."
    list(model.generate(prompts_of(["one gun"]), frozenset({0})))
    assert len(server.asked) == 4  # the settings are known by now


def test_what_a_filter_holds_back_is_an_answer_with_a_reason(server: ScriptedServer) -> None:
    server.filters = "gun"
    answers = replies("chat", prompts_of(["one", "gun"]))
    assert answers == [Reply("ONE", None, "stop"), Reply(None, "content_filter", "content_filter")]


def test_a_refusal_in_the_model_s_words_is_its_reason(server: ScriptedServer) -> None:
    server.faults = [(200, chat_choice(None, refusal="I will not\nsay."))]
    assert replies("chat", prompts_of(["one"])) == [Reply(None, "I will not say.", "stop")]


def test_a_reply_without_words_that_ends_by_itself_is_empty(server: ScriptedServer) -> None:
    server.content = ""
    assert replies("chat", prompts_of(["one"])) == [Reply("", None, "stop")]


def test_half_a_character_in_a_reply_is_replaced(server: ScriptedServer) -> None:
    server.content = "so \ud83d it is"
    assert replies("chat", prompts_of(["one"]))[0].text == "so ? it is"


def test_a_text_is_no_chat(server: ScriptedServer) -> None:
    with pytest.raises(ValueError, match="asked by chat"):
        replies("chat", prompts_of(["one"], chat=False))
    assert server.asked == []


def test_a_server_knows_no_top_k(server: ScriptedServer) -> None:
    with pytest.raises(ValueError, match="top_k"):
        replies("chat", prompts_of(["one"], sampling=Sampling(top_k=5)))


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        (KEY, "", "no key for big; set it"),
        (KEY, "secret\nword", "the key for big holds what no key does"),
        (KEY, "schlüssel", "the key for big holds what no key does"),
        (URL, "http://me:pass@host:port/v1", "the address of the server is none"),
    ],
)
def test_what_the_environment_must_hold(
    server: ScriptedServer, monkeypatch: pytest.MonkeyPatch, name: str, value: str, words: str
) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(UserError) as error:
        OpenAI("big", "m", "chat")
    assert words in one_line(error)
    assert name in one_line(error)
    assert "pass@" not in one_line(error)


def test_the_engine_says_who_answers_and_no_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(KEY, "secret-word")
    monkeypatch.setenv(URL, "https://me:pass@host:8000/v1/?api_key=word#top")
    parts = {
        "backend": "openai",
        "mode": "chat",
        "url": "https://host:8000/v1",
        "model": "m",
        "revision": "2026-11",
    }
    assert engine_fields("m", "chat", "2026-11") == parts
    monkeypatch.delenv(URL)
    assert engine_fields("m", "completions", None)["url"] == "https://api.openai.com/v1"
    assert engine_fields("m", "completions", None, "<s>")["start"] == "<s>"
    monkeypatch.setenv(URL, "http://[bad")
    with pytest.raises(UserError, match="the address of the server is none"):
        engine_fields("m", "chat", None)


# The budget


def test_a_budget_that_is_used_up_keeps_what_was_answered(server: ScriptedServer) -> None:
    keeping = Keeping()
    with request_budget(20), pytest.raises(BudgetExhaustedError) as error:
        keeping.ask(OpenAI("big", "m", "chat").generate, prompts_of(NUMBERED))
    assert "the budget of 20 requests is used up; what was answered is kept: run again" in one_line(
        error
    )
    assert len(server.asked) == len(keeping.kept) == 20
    with request_budget(4):
        keeping.ask(OpenAI("big", "m", "chat").generate, prompts_of(NUMBERED))
    assert keeping.texts == [text.upper() for text in NUMBERED]
    assert len(server.asked) == 24


def test_repeated_requests_are_of_the_budget_and_counted(
    server: ScriptedServer, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("evenruler.models.backends.server.ATTEMPTS", 6)
    server.failures, server.usage = [429, 503], {"prompt_tokens": 11, "completion_tokens": 3}
    with request_budget(4):
        replies("chat", prompts_of(["one", "two"]))
    assert len(server.asked) == 4
    assert capsys.readouterr().err.splitlines() == [
        "big: 2 requests at most, unless some have to be repeated; about 0 tokens of prompts; 4 "
        "may still go out",
        "big: 4 requests went out (2 of them without an answer); 22 tokens read, 6 written by the "
        "server",
    ]
    server.failures = [429] * 9
    with request_budget(3), pytest.raises(BudgetExhaustedError):
        replies("chat", prompts_of(["one"]))
    assert (
        len(server.asked) == 4 + 3
    )  # a question is not repeated beyond it, though it might be six times


def test_the_line_is_of_the_budget_whatever_else_was_wrong(server: ScriptedServer) -> None:
    server.faults = [NO_ANSWERS["html"]]
    keeping = Keeping()
    with request_budget(20), pytest.raises(BudgetExhaustedError):
        keeping.ask(OpenAI("big", "m", "chat").generate, prompts_of(NUMBERED))
    assert len(keeping.kept) == 19


def test_a_batch_that_the_budget_ends_in_keeps_its_answers(
    serve: Callable[..., EchoingServer],
) -> None:
    serve(EchoingServer(scorer=letters, together=False))
    model, keeping = hosted(), Keeping()
    model.trial()
    requests = [LikelihoodRequest(f"text {i:02}") for i in range(TEXTS)]
    with request_budget(11):
        limited = hosted()
    limited._manner = model._manner
    with pytest.raises(BudgetExhaustedError):
        keeping.ask(limited.loglikelihood, requests)
    assert sorted(keeping.kept) == list(
        range(10)
    )  # the first request was of all of them, and refused


# Likelihoods


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory) -> Causal:
    """The tiny model, loaded here, and behind the server."""
    folder: Path = save_tiny(tmp_path_factory.mktemp("hosted"), max_position_embeddings=2048)
    store = RowStore(tmp_path_factory.mktemp("store"))
    return load("tiny", tiny_params({"tiny": folder}), store=store).backend


@pytest.fixture(scope="module")
def scorer(local: Causal) -> Scorer:
    return scorer_of(local.model, local.tokenizer)


REQUESTS = [
    *(LikelihoodRequest(text) for text in SENTENCES),
    LikelihoodRequest("heatre is", "The man is at t"),  # " the" spans the border
    *(
        LikelihoodRequest(option, "The man is at")
        for option in (" the theatre", " a manager", "", "\u00e9")
    ),
    *(LikelihoodRequest(option, "naïve café — 東京") for option in (" 🎉", "京")),
    LikelihoodRequest("e", "\u00e9"),
    LikelihoodRequest(""),
]


def nats(model: OpenAI, requests: list[LikelihoodRequest]) -> list[tuple[float, int]]:
    keeping = Keeping()
    keeping.ask(model.loglikelihood, requests)
    return [keeping.kept[i] for i in range(len(requests))]


def expected(local: Causal, requests: list[LikelihoodRequest]) -> list[tuple[float, int]]:
    keeping = Keeping()
    keeping.ask(local.loglikelihood, requests)
    return [keeping.kept[i] for i in range(len(requests))]


def assert_alike(theirs: list[tuple[float, int]], ours: list[tuple[float, int]]) -> None:
    """The same numbers of tokens, and the same nats but for rounding."""
    their_nats, their_tokens = zip(*theirs, strict=True)
    our_nats, our_tokens = zip(*ours, strict=True)
    assert their_tokens == our_tokens
    assert their_nats == pytest.approx(our_nats, abs=1e-4)


def hosted() -> OpenAI:
    return OpenAI("big", "big-one", "completions")


@pytest.mark.parametrize(
    "manner",
    [
        {},
        {"start": None},
        {"zero": "ignored"},
        {"zero": "refused", "ends": True},
        {"zero": "refused", "ends": True, "listed": False},
        {"together": False},
    ],
    ids=str,
)
def test_likelihoods_are_those_of_the_model_behind_the_server(
    serve: Callable[..., EchoingServer], local: Causal, scorer: Scorer, manner: dict[str, Any]
) -> None:
    serve(EchoingServer(scorer=scorer, **manner))
    theirs = nats(hosted(), REQUESTS)
    assert_alike(theirs, expected(local, REQUESTS))
    assert theirs[-1] == (0.0, 0)


class Unopened(EchoingServer):
    """Puts no start token before a text, and knows the token of letters when it is written there,
    as vLLM does."""

    def echoed(self, text: str) -> tuple[list[str], list[float | None]]:
        _, start, rest = text.rpartition("<|im_start|>")
        scored = self.scorer(rest)
        if start:
            scored = [(start, 0.0), *scored]
        tokens = [token for token, _ in scored]
        return tokens, [None, *(nats for _, nats in scored[1:])]

    def write(self, question: dict[str, Any]) -> tuple[int, Any]:
        return super().write(
            {**question, "prompt": question["prompt"].removeprefix("<|im_start|>")}
        )


def test_a_start_token_that_is_written_out(
    serve: Callable[..., EchoingServer], local: Causal, scorer: Scorer
) -> None:
    server = serve(Unopened(scorer=scorer))
    model = OpenAI("big", "big-one", "completions", "<|im_start|>")
    assert_alike(nats(model, REQUESTS), expected(local, REQUESTS))
    for question in server.asked:
        prompt = question["prompt"]
        texts = [prompt] if isinstance(prompt, str) else prompt
        assert all(text.startswith("<|im_start|>") for text in texts)
    list(model.generate(prompts_of(["one"], chat=False), frozenset({0})))
    assert server.asked[-1]["prompt"] == "<|im_start|>one"


@pytest.mark.parametrize(
    ("server", "start", "read"),
    [
        (
            EchoingServer(scorer=letters, start=None),
            "<|im_start|>",
            "('<', '|')",
        ),  # letters, to this one
        (
            EchoingServer(scorer=lambda text: [("<s>", -1.0), *letters(text[3:])]),
            "<s>",
            "('<s>', '<s>')",
        ),
    ],
    ids=["letters", "twice"],
)
def test_a_start_token_that_is_none_or_stands_there_anyway(
    serve: Callable[..., EchoingServer], server: EchoingServer, start: str, read: str
) -> None:
    serve(server)
    with pytest.raises(UserError) as error:
        nats(OpenAI("big", "m", "completions", start), [LikelihoodRequest("one")])
    line = one_line(error)
    assert (
        f"big: the server does not read '{start}' as one start token ({read}); fix `start`" in line
    )


def test_an_end_token_without_a_name_may_be_part_of_a_character(
    serve: Callable[..., EchoingServer],
) -> None:
    def nameless(text: str) -> list[tuple[str, float]]:
        return [(token if token.isascii() else "", value) for token, value in letters(text)]

    serve(EchoingServer(scorer=nameless, zero="refused", ends=True, listed=False))
    keeping = Keeping()
    with pytest.raises(UserError) as error:
        keeping.ask(
            hosted().loglikelihood, [LikelihoodRequest("one"), LikelihoodRequest("caf\u00e9")]
        )
    assert "what the last token of 'caf\u00e9' is cannot be told" in one_line(error)
    assert sorted(keeping.kept) == [0]


def test_likelihoods_of_many_are_asked_together(serve: Callable[..., EchoingServer]) -> None:
    server = serve(EchoingServer(scorer=letters))
    requests = [LikelihoodRequest(f" option {i}", f"Prompt {i // 10}:") for i in range(40)]
    model = hosted()
    model.trial()
    server.asked.clear()
    answers = nats(model, requests)
    for (value, tokens), request in zip(answers, requests, strict=True):
        scored = letters(request.prompt + request.text)[len(request.prompt) :]
        assert value == pytest.approx(math.fsum(value for _, value in scored))
        assert tokens == len(request.text)
    assert len(server.asked) == 3
    settings = {
        "path": "/v1/completions",
        "echo": True,
        "max_tokens": 0,
        "logprobs": 1,
        "temperature": 1,
    }
    for question in server.asked:
        assert len(question["prompt"]) <= TEXTS
        assert question | settings == question


def test_the_trial_is_made_once(serve: Callable[..., EchoingServer]) -> None:
    server = serve(EchoingServer(scorer=letters))
    model = hosted()
    list(model.loglikelihood([LikelihoodRequest("")], frozenset({0})))
    assert server.asked == []  # nothing to ask
    nats(model, [LikelihoodRequest("one")])
    tried = len(server.asked)
    nats(model, [LikelihoodRequest("two")])
    assert len(server.asked) == tried + 1
    first = server.asked[1]["prompt"][0]
    written, back = server.asked[tried - 3 : tried - 1]
    assert (written["prompt"], written["max_tokens"], "echo" in written) == (first, 8, False)
    assert back["prompt"] == [f"{first} quite"]


def test_two_trials_do_not_begin_alike(serve: Callable[..., EchoingServer]) -> None:
    server = serve(EchoingServer(scorer=letters))
    hosted().trial()
    hosted().trial()
    beginnings = set()
    for question in server.asked:
        if question.get("echo"):
            texts = question["prompt"]
            beginnings |= {text[:14] for text in texts if text.startswith("Case ")}
    assert len(beginnings) == 2


@pytest.mark.parametrize("caching", ["stale", "zero"])
def test_a_server_whose_prefix_caching_lies_is_refused(
    serve: Callable[..., EchoingServer], scorer: Scorer, caching: str
) -> None:
    serve(EchoingServer(scorer=scorer, caching=caching))
    keeping = Keeping()
    with pytest.raises(UserError) as error:
        keeping.ask(hosted().loglikelihood, REQUESTS[:3])
    line = one_line(error)
    assert re.match(
        r"big: the server's log-probabilities depend on the order of the requests \(\d+\.\d{3} "
        r"nats apart",
        line,
    )
    assert "switch its prefix caching off (vLLM: --no-enable-prefix-caching)" in line
    assert keeping.kept == {}


@pytest.mark.parametrize(
    "manner",
    [{"gives": gives} for gives in ("none", "new", "no echo")],
)
def test_a_server_that_tells_no_likelihoods_of_prompts_is_refused(
    serve: Callable[..., EchoingServer], manner: dict[str, str]
) -> None:
    serve(EchoingServer(scorer=letters, **manner))
    with pytest.raises(UserError) as error:
        nats(hosted(), [LikelihoodRequest("one")])
    line = one_line(error)
    assert line.startswith("big: the server gives no log-probabilities of a prompt")
    assert ("Only no echo is supported" in line) == (manner["gives"] == "no echo")


@pytest.mark.parametrize(
    ("shift", "how"),
    [
        (lambda texts, i: -0.02 * next(turns), "asked twice"),
        (lambda texts, i: -0.02 * (i == 0), "asked in reverse order"),
        (lambda texts, i: -0.02 * (len(texts) == 1), "asked one by one"),
        (lambda texts, i: -0.02 * len(texts[i]), "in texts that begin alike"),
    ],
    ids=["twice", "reverse", "one", "alike"],
)
def test_every_way_in_which_likelihoods_depend_on_the_order_is_seen(
    serve: Callable[..., EchoingServer], shift: Callable[[list[str], int], float], how: str
) -> None:
    server = serve(EchoingServer(scorer=letters, shift=shift))
    with pytest.raises(UserError) as error:
        hosted().trial()
    assert re.search(
        rf"depend on the order of the requests \(\d+\.\d\d\d nats apart {how}\)", one_line(error)
    )
    server.shift = lambda texts, i: shift(texts, i) / 1e5  # rounding
    hosted().trial()


class LlamaCppPython(EchoingServer):
    """As the server of llama-cpp-python answers with a GGUF file that adds no start token."""

    def complete(self, question: dict[str, Any]) -> tuple[int, Any]:
        if isinstance(question["prompt"], list):
            if len(question["prompt"]) > 1:
                return 500, {"error": {"message": "list index out of range"}}
            question["prompt"] = question["prompt"][0]
        return super().complete(
            {**question, "max_tokens": question["max_tokens"] or 50}
        )  # 0: no limit


@pytest.mark.parametrize(
    ("server", "words"),
    [
        (LlamaCppPython, "the server does not answer (Error code: 500"),
        (EchoingServer, "the server's log-probabilities stand beside other tokens ("),
    ],
    ids=["whole", "but for several texts"],
)
def test_log_probabilities_a_place_off_are_refused(
    serve: Callable[..., EchoingServer], server: type[EchoingServer], words: str
) -> None:
    """They hang on nothing else that is asked, and so only what the server writes tells."""
    serve(server(scorer=letters, start=None, first=False, beside=False))
    keeping = Keeping()
    with pytest.raises(UserError) as error:
        keeping.ask(hosted().loglikelihood, [LikelihoodRequest("b", "a")])
    assert one_line(error).startswith(f"big: {words}")
    assert keeping.kept == {}


@pytest.mark.parametrize("written", ["", "otherwise"])
def test_what_is_written_must_be_comparable(
    serve: Callable[..., EchoingServer], written: str
) -> None:
    class Writing(EchoingServer):
        def write(self, question: dict[str, Any]) -> tuple[int, Any]:
            table = {"tokens": ["zz"], "token_logprobs": [-1.0]} if written else None
            return 200, {"choices": [{"index": 0, "text": written and "zz", "logprobs": table}]}

    serve(Writing(scorer=letters))
    with pytest.raises(UserError) as error:
        hosted().trial()
    assert "cannot be compared with its log-probabilities of a prompt; run again" in one_line(error)


def test_without_the_first_token_only_texts_after_prompts_are_scored(
    serve: Callable[..., EchoingServer],
) -> None:
    """One without a prompt is refused before anything is sent: with a start token all go another
    way."""
    server = serve(EchoingServer(scorer=letters, start=None, first=False))
    keeping, model = Keeping(), hosted()
    model.trial()
    tried = len(server.asked)
    with pytest.raises(UserError) as error:
        keeping.ask(
            model.loglikelihood,
            [LikelihoodRequest("one"), LikelihoodRequest("b", "a"), LikelihoodRequest("")],
        )
    assert (
        "gives the first token of a text no log-probability, so 'one' cannot be scored whole"
        in one_line(error)
    )
    assert (keeping.kept, len(server.asked)) == ({2: (0.0, 0)}, tried)
    keeping.ask(model.loglikelihood, [LikelihoodRequest("b", "a")])
    assert keeping.kept[0] == (pytest.approx(letters("ab")[1][1]), 1)


@pytest.mark.parametrize("value", [float("nan"), -9999.0, 0.5, None, True, "-1"], ids=str)
def test_what_is_no_log_probability_is_one_line_and_no_answer(
    serve: Callable[..., EchoingServer], value: Any
) -> None:
    server = serve(EchoingServer(scorer=letters))
    model, keeping = hosted(), Keeping()
    model.trial()
    server.spoils = {"gun": value}
    requests = [
        LikelihoodRequest("one"),
        LikelihoodRequest("gun"),
        LikelihoodRequest(" two", "one"),
    ]
    with pytest.raises(UserError) as error:
        keeping.ask(model.loglikelihood, requests)
    one_line(error)
    assert sorted(keeping.kept) == [0, 2]
    server.spoils = {}
    keeping.ask(model.loglikelihood, requests)
    nats_of_gun = math.fsum(nats for _, nats in letters("gun"))
    assert keeping.kept[1] == (pytest.approx(nats_of_gun), 3)


def test_a_text_that_the_server_does_not_take_keeps_no_other_from_it(
    serve: Callable[..., EchoingServer],
) -> None:
    server = serve(EchoingServer(scorer=letters, refuses="gun"))
    keeping = Keeping()
    requests = [LikelihoodRequest(f"text {i}") for i in range(24)]
    requests[11] = LikelihoodRequest("gun 11")
    with pytest.raises(UserError) as error:
        keeping.ask(hosted().loglikelihood, requests)
    assert "big: the server does not score 'gun 11' (" in one_line(error)
    assert sorted(keeping.kept) == [i for i in range(24) if i != 11]
    assert server.refuses


@pytest.mark.parametrize("fault", ["html", "broken"])
def test_a_fault_between_likelihoods_loses_none(
    serve: Callable[..., EchoingServer], fault: str
) -> None:
    server = serve(EchoingServer(scorer=letters))
    requests = [LikelihoodRequest(f"text {i}") for i in range(5 * TEXTS)]
    model, keeping = hosted(), Keeping()
    model.trial()
    server.faults = [NO_ANSWERS[fault]]
    server.asked.clear()
    with pytest.raises(UserError) as error:
        keeping.ask(model.loglikelihood, requests)
    one_line(error)
    assert len(keeping.kept) == 4 * TEXTS
    keeping.ask(model.loglikelihood, requests)
    assert len(keeping.kept) == 5 * TEXTS
    assert len(server.asked) == 6


def test_a_chat_tells_no_likelihoods(server: ScriptedServer) -> None:
    model = OpenAI("big", "m", "chat")
    with pytest.raises(ValueError, match="asked by chat"):
        list(model.loglikelihood([LikelihoodRequest("one")], frozenset({0})))
