"""Hosted models behind real servers on loopback: what is an answer, what is none, and what is
believed."""

import math
import re
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from evenruler.errors import UserError
from evenruler.models import Sampling, load
from evenruler.models.backends import server as servers
from evenruler.models.backends.causal import Causal
from evenruler.models.backends.openai import TEXTS, OpenAI, engine_fields
from evenruler.models.backends.server import (
    AT_ONCE,
    KEY,
    URL,
    BudgetExhaustedError,
    request_budget,
)
from evenruler.models.questions import LikelihoodRequest, Prompt, Reply, WordRequest
from evenruler.models.store import RowStore
from tests.loopback_openai import (
    NO_ANSWERS,
    EchoingServer,
    Scorer,
    ScriptedServer,
    chat_choice,
    letters,
    lister_of,
    said_in,
    scorer_of,
)
from tests.models.backends.conftest import Serve
from tests.models.conftest import TEXTS as SENTENCES
from tests.tiny import save_tiny, tiny_params

pytestmark = pytest.mark.enable_socket

BRIEF = Sampling(max_new_tokens=7, temperature=0.5, top_p=0.9)
turns = count()
NUMBERED = [f"prompt {number}" for number in range(24)]
SHOUTED = [text.upper() for text in NUMBERED]


@pytest.fixture(autouse=True)
def _ask_once(monkeypatch):
    """Whatever a server is too busy for is not asked again."""
    monkeypatch.setattr(servers, "ATTEMPTS", 1)


@pytest.fixture
def server(serve: Serve) -> ScriptedServer:
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


def answers_of(operation: Any, questions: list[Any]) -> list[Any]:
    """All answers, in the order of the questions."""
    keeping = Keeping()
    keeping.ask(operation, questions)
    return [keeping.kept[place] for place in range(len(questions))]


def replies(mode: Any, prompts: list[Prompt]) -> list[Reply]:
    return answers_of(OpenAI("big", "big-one", mode).generate, prompts)


def refusal_of(call: Callable[..., Any], *arguments: object) -> str:
    """The line of what is refused, which is one, short, and holds no key."""
    with pytest.raises(UserError) as error:
        call(*arguments)
    assert error.value.where
    assert error.value.remedy
    line = str(error.value)
    assert "\n" not in line
    assert "secret-word" not in line
    assert len(line) < 500
    return line


# Replies


def test_a_chat_asks_what_was_asked(server: ScriptedServer) -> None:
    prompt = Prompt("one", BRIEF, 3, "be brief", chat=True)
    assert replies("chat", [prompt]) == [Reply("ONE", None, "stop")]
    (question,) = server.asked
    assert question.pop("messages") == [
        {"role": "system", "content": "be brief"},
        {"role": "user", "content": "one"},
    ]
    assert question == {
        "model": "big-one",
        "seed": 3,
        "max_completion_tokens": 7,
        "temperature": 0.5,
        "top_p": 0.9,
        "path": "/v1/chat/completions",
        "key": "Bearer secret-word",
    }


@pytest.mark.parametrize(("system", "text"), [("be brief", "be brief\n\n two\n"), (None, " two\n")])
def test_completions_go_on_from_the_text_as_it_is(system, text, server: ScriptedServer) -> None:
    prompt = Prompt(" two\n", BRIEF, 3, system)
    assert replies("completions", [prompt]) == [Reply(text.upper(), None, "length")]
    (question,) = server.asked
    sent = {
        "prompt": text,
        "path": "/v1/completions",
        "max_tokens": 7,
        "temperature": 0.5,
    }
    assert question | sent == question
    assert {"messages", "echo"}.isdisjoint(question)


def test_what_is_no_answer_is_one_line_and_asked_again(server: ScriptedServer) -> None:
    """tests/faults has the kinds of what is no answer to a chat."""
    server.faults = [NO_ANSWERS["wrong key"]] * 3
    model, keeping = OpenAI("big", "big-one", "chat"), Keeping()
    prompts = prompts_of(NUMBERED)
    line = refusal_of(keeping.ask, model.generate, prompts)
    assert line.startswith("big: ")
    assert "Incorrect API key provided: ***" in line
    assert len(keeping.kept) == len(NUMBERED) - 3  # the others came before the line did
    keeping.ask(model.generate, prompts)
    assert keeping.texts == SHOUTED
    assert len(server.asked) == len(NUMBERED) + 3  # nothing answered was asked twice


def test_a_server_that_only_fails_is_soon_left_alone(server: ScriptedServer) -> None:
    server.faults = [NO_ANSWERS["wrong key"]] * 1000
    keeping = Keeping()
    prompts = prompts_of(NUMBERED * 4)
    refusal_of(keeping.ask, OpenAI("big", "m", "chat").generate, prompts)
    assert keeping.kept == {}
    assert AT_ONCE <= len(server.asked) < 3 * AT_ONCE


def test_one_refused_prompt_of_24_is_an_answer_with_a_reason(server: ScriptedServer) -> None:
    server.refuses = "gun"
    prompts = prompts_of([*NUMBERED[:11], "a gun", *NUMBERED[12:]])
    answers = replies("chat", prompts)
    texts = [reply.text for reply in answers]
    assert texts == [*SHOUTED[:11], None, *SHOUTED[12:]]
    assert "we do not like gun" in answers[11].reason
    assert len(server.asked) == 24


def test_where_everything_is_refused_it_is_not_for_the_prompts(server: ScriptedServer) -> None:
    unsupported = {"error": {"message": "Unsupported parameter: max_tokens"}}
    server.faults = [(400, unsupported)] * 100
    keeping = Keeping()
    generate = OpenAI("big", "m", "chat").generate
    line = refusal_of(keeping.ask, generate, prompts_of(NUMBERED))
    assert "does not answer (" in line
    assert "Unsupported parameter: max_tokens" in line
    assert keeping.kept == {}


def test_a_greeting_tells_refused_prompts_from_refused_settings(server: ScriptedServer) -> None:
    server.refuses = "gun"
    model = OpenAI("big", "m", "chat")
    refused = answers_of(model.generate, prompts_of(["gun", "two guns"]))
    assert [reply.text for reply in refused] == [None, None]
    (greeting,) = server.asked[2:]
    assert greeting["messages"][0]["content"] == "Hello."
    answers_of(model.generate, prompts_of(["one gun"]))
    assert len(server.asked) == 4  # the settings are known by now


@pytest.mark.parametrize(
    ("body", "reply"),
    [
        (chat_choice(None, refusal="I will not\nsay."), Reply(None, "I will not say.", "stop")),
        (chat_choice(None, "content_filter"), Reply(None, "content_filter", "content_filter")),
        (chat_choice(""), Reply("", None, "stop")),
        (chat_choice("so \ud83d it is"), Reply("so ? it is", None, "stop")),
    ],
    ids=["refusal", "filter", "without words", "half a character"],
)
def test_what_a_choice_says(body, reply, server) -> None:
    server.faults = [(200, body)]
    assert replies("chat", prompts_of(["one"])) == [reply]


def test_a_text_is_no_chat(server: ScriptedServer) -> None:
    with pytest.raises(ValueError, match="asked by chat"):
        replies("chat", prompts_of(["one"], chat=False))
    assert server.asked == []


@pytest.mark.parametrize(
    ("name", "setting", "words"),
    [
        (KEY, "", "no key for big; set it"),
        (KEY, "secret\nword", "the key for big holds what no key does"),
        (URL, "http://me:pass@host:port/v1", "the address of the server is none"),
    ],
)
def test_what_the_environment_must_hold(
    name: str, setting, words: str, server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, setting)
    line = refusal_of(OpenAI, "big", "m", "chat")
    assert words in line
    assert name in line
    assert "pass@" not in line


def test_the_engine_says_who_answers_and_no_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(KEY, "secret-word")
    monkeypatch.setenv(URL, "https://me:pass@host:8000/v1/?api_key=word#top")
    assert engine_fields("m", "chat", "2026-11") == {
        "backend": "openai",
        "mode": "chat",
        "url": "https://host:8000/v1",
        "model": "m",
        "revision": "2026-11",
    }
    monkeypatch.delenv(URL)
    begun = engine_fields("m", "completions", None, "<s>")
    assert (begun["url"], begun["start"]) == ("https://api.openai.com/v1", "<s>")


# The budget


def test_a_budget_that_is_used_up_keeps_what_was_answered(server: ScriptedServer) -> None:
    keeping, prompts = Keeping(), prompts_of(NUMBERED)
    with request_budget(20):
        line = refusal_of(keeping.ask, OpenAI("big", "m", "chat").generate, prompts)
    assert "the budget of 20 requests is used up; what was answered is kept: run again" in line
    assert len(server.asked) == len(keeping.kept) == 20
    with request_budget(4):
        keeping.ask(OpenAI("big", "m", "chat").generate, prompts)
    assert keeping.texts == SHOUTED
    assert len(server.asked) == 24


def test_repeated_requests_are_of_the_budget_and_counted(
    server: ScriptedServer, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(servers, "ATTEMPTS", 6)
    server.failures, server.usage = [429, 503], {"prompt_tokens": 11, "completion_tokens": 3}
    with request_budget(4):
        replies("chat", prompts_of(["one", "two"]))
    assert len(server.asked) == 4
    assert "4 requests went out (2 of them without an answer); 22 tokens" in capsys.readouterr().err
    server.failures = [429] * 9
    with request_budget(3), pytest.raises(BudgetExhaustedError):
        replies("chat", prompts_of(["one"]))
    assert (
        len(server.asked) == 4 + 3
    )  # a question is not repeated beyond it, though it might be six times


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


LIKELIHOODS = {
    "": (*SENTENCES, ""),
    "The man is at t": ("heatre is",),  # " the" spans the border
    "The man is at": (" the theatre", " a manager", "", "\u00e9"),
    "naïve café — 東京": (" 🎉", "京"),
    "\u00e9": ("e",),
}
REQUESTS = [
    LikelihoodRequest(text, before) for before in LIKELIHOODS for text in LIKELIHOODS[before]
]


def numbered_texts(n: int) -> list[LikelihoodRequest]:
    return [LikelihoodRequest(f"text {number:02}") for number in range(n)]


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
    manner: dict[str, Any], serve: Serve, local: Causal, scorer: Scorer
) -> None:
    serve(EchoingServer(scorer=scorer, **manner))
    theirs = answers_of(hosted().loglikelihood, REQUESTS)
    assert_alike(theirs, answers_of(local.loglikelihood, REQUESTS))
    assert theirs[len(SENTENCES)] == (0.0, 0)


WORDS = {
    "The man is at the theatre. Is it": (" he", "he", " He", " a", " is", " the", ".", "é"),
    "": ("The", "x", " man"),
    "The man is a": (" man", "n", " manager"),
}
WORD_REQUESTS = [WordRequest(word, before) for before in WORDS for word in WORDS[before]]


@pytest.mark.parametrize(
    "manner",
    [{}, {"together": False}, {"zero": "refused", "ends": True}, {"most_listed": 300}],
    ids=str,
)
def test_words_are_those_of_the_model_behind_the_server(
    manner: dict[str, Any], serve: Serve, local: Causal, scorer: Scorer
) -> None:
    """Nats of the word, of its end, of standing alone and of its first token; tokens are known by
    their texts."""
    lister = lister_of(local.model, local.tokenizer)
    serve(EchoingServer(scorer=scorer, lister=lister, **manner))
    ours = answers_of(local.words, WORD_REQUESTS)
    theirs = answers_of(hosted().words, WORD_REQUESTS)
    assert sum(ends < 0 for _, ends, *_ in ours) > 5, "of common words it is asked what follows"
    for place in range(4):
        assert [row[place] for row in theirs] == pytest.approx(
            [row[place] for row in ours], abs=1e-4
        )
    our_tokens, their_tokens = ([row[4] for row in rows] for rows in (ours, theirs))
    n_distinct = len(set(our_tokens))
    assert len(set(their_tokens)) == n_distinct
    assert len(set(zip(our_tokens, their_tokens, strict=True))) == n_distinct


def pieces(text: str) -> list[tuple[str, float]]:
    """Letters in the manner of servers that write the pieces of SentencePiece."""
    scored = letters(text.replace("▁", " "))
    return [(letter.replace(" ", "▁"), nats) for letter, nats in scored]


UNLISTED = (
    "big: the server lists at most 20 next tokens, which leaves 0.9 of the probability after "
    "'A man is a' open; let it list all (vLLM: --max-logprobs -1), or measure replies "
    "(--method sampled)"
)
NO_LIST = (
    "big: the server does not list next tokens (no `top_logprobs`), so where words end is not "
    "known; let it list all (vLLM: --max-logprobs -1), or measure replies (--method sampled)"
)
HIDDEN = (
    "big: the server writes tokens without their blanks, so where words end is hidden; take a "
    "newer one, or replies (sampled)"
)
JOINED = (
    "big: its tokenizer joins 'he' with the end of the prompt; leave this word out, or measure the "
    "model's files"
)


def uniform(text: str) -> dict[str, float]:
    """200 next tokens, one as likely as the other."""
    return {f" {place}": -math.log(200) for place in range(200)}


@pytest.mark.parametrize(
    ("server", "line"),
    [
        (EchoingServer(scorer=letters, lister=uniform, most_listed=20), UNLISTED),
        (EchoingServer(scorer=letters), NO_LIST),
        (EchoingServer(scorer=pieces), HIDDEN),
    ],
    ids=["unlisted", "no list", "hidden"],
)
def test_what_a_server_lacks_for_words_is_one_line(
    server: EchoingServer, line: str, serve: Serve
) -> None:
    serve(server)
    assert refusal_of(answers_of, hosted().words, [WordRequest("a", "A man is ")]) == line


def test_a_word_that_is_joined_with_its_prompt_is_one_line(serve: Serve, scorer: Scorer) -> None:
    """Text alone cannot ask a server for "he" after the token " t"."""
    serve(EchoingServer(scorer=scorer))
    assert refusal_of(answers_of, hosted().words, [WordRequest("he", "The man is at t")]) == JOINED


def test_a_word_without_a_token_is_an_error(serve: Serve) -> None:
    serve(EchoingServer(scorer=letters))
    with pytest.raises(ValueError, match="the word '' has no token"):
        answers_of(hosted().words, [WordRequest("", "A man")])


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


def test_a_start_token_that_is_written_out(serve: Serve, local: Causal, scorer: Scorer) -> None:
    server = serve(Unopened(scorer=scorer))
    model = OpenAI("big", "big-one", "completions", "<|im_start|>")
    theirs = answers_of(model.loglikelihood, REQUESTS)
    assert_alike(theirs, answers_of(local.loglikelihood, REQUESTS))
    answers_of(model.generate, prompts_of(["one"], chat=False))
    texts = list(map(said_in, server.asked))
    assert all(text.startswith("<|im_start|>") for text in texts)
    assert texts[-1] == "<|im_start|>one"


@pytest.mark.parametrize(
    ("server", "start", "read"),
    [
        (EchoingServer(scorer=letters, start=None), "<|im_start|>", "('<', '|')"),
        (
            EchoingServer(scorer=lambda text: [("<s>", -1.0), *letters(text[3:])]),
            "<s>",
            "('<s>', '<s>')",
        ),
    ],
    ids=["letters", "twice"],
)
def test_a_start_token_that_is_none_or_stands_there_anyway(
    server: EchoingServer, start: str, read: str, serve: Serve
) -> None:
    serve(server)
    line = refusal_of(OpenAI("big", "m", "completions", start).trial)
    unread = f"big: the server does not read '{start}' as one start token ({read}); fix `start`"
    assert unread in line


def test_likelihoods_of_many_are_asked_together(serve: Serve) -> None:
    server = serve(EchoingServer(scorer=letters))
    requests = numbered_texts(40)
    model = hosted()
    model.trial()
    server.asked.clear()
    answers_of(model.loglikelihood, requests)
    assert len(server.asked) == 3
    settings = {"echo": True, "max_tokens": 0, "logprobs": 1, "temperature": 1}
    for question in server.asked:
        assert len(question["prompt"]) <= TEXTS
        assert question | settings == question


def test_the_trial_is_made_once_and_two_do_not_begin_alike(serve) -> None:
    server = serve(EchoingServer(scorer=letters))
    model = hosted()
    answers_of(model.loglikelihood, [LikelihoodRequest("")])
    assert server.asked == []  # nothing to ask
    answers_of(model.loglikelihood, [LikelihoodRequest("one")])
    n_tried = len(server.asked)
    answers_of(model.loglikelihood, [LikelihoodRequest("two")])
    assert len(server.asked) == n_tried + 1
    hosted().trial()
    texts = "\n".join(map(said_in, server.asked))
    assert len(set(re.findall(r"^Case .{9}", texts, re.MULTILINE))) == 2


@pytest.mark.parametrize("caching", ["stale", "zero"])
def test_a_server_whose_prefix_caching_lies_is_refused(
    caching: str, serve: Serve, scorer: Scorer
) -> None:
    serve(EchoingServer(scorer=scorer, caching=caching))
    keeping = Keeping()
    line = refusal_of(keeping.ask, hosted().loglikelihood, REQUESTS[:3])
    assert "big: the server's log-probabilities depend on the order of the requests (" in line
    assert keeping.kept == {}


@pytest.mark.parametrize("gives", ["none", "new", "no echo"])
def test_a_server_that_tells_no_likelihoods_of_prompts_is_refused(gives, serve: Serve) -> None:
    serve(EchoingServer(scorer=letters, gives=gives))
    line = refusal_of(hosted().trial)
    assert line.startswith("big: the server gives no log-probabilities of a prompt")
    assert ("Only no echo is supported" in line) is (gives == "no echo")


@pytest.mark.parametrize("table", [None, {"tokens": ["zz"], "token_logprobs": [-1.0]}])
def test_what_is_written_must_be_comparable(table, serve: Serve, monkeypatch) -> None:
    server = serve(EchoingServer(scorer=letters))
    body = {"choices": [{"index": 0, "text": "zz", "logprobs": table}]}
    monkeypatch.setattr(server, "write", lambda question: (200, body))
    assert "cannot be compared" in refusal_of(hosted().trial)


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
    shift: Callable[[list[str], int], float], how: str, serve: Serve
) -> None:
    server = serve(EchoingServer(scorer=letters, shift=shift))
    line = refusal_of(hosted().trial)
    assert re.search(rf"the order of the requests \(\d+\.\d\d\d nats apart {how}\)", line)
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
    server: type[EchoingServer], words: str, serve: Serve
) -> None:
    """They hang on nothing else that is asked, and so only what the server writes tells."""
    serve(server(scorer=letters, start=None, first=False, aligned=False))
    keeping = Keeping()
    line = refusal_of(keeping.ask, hosted().loglikelihood, [LikelihoodRequest("b", "a")])
    assert line.startswith(f"big: {words}")
    assert keeping.kept == {}


def test_without_the_first_token_only_texts_after_prompts_are_scored(
    serve: Serve,
) -> None:
    """One without a prompt is refused before anything is sent: with a start token all go another
    way."""
    server = serve(EchoingServer(scorer=letters, start=None, first=False))
    keeping, model = Keeping(), hosted()
    model.trial()
    n_tried = len(server.asked)
    after_prompt = LikelihoodRequest("b", "a")
    requests = [
        LikelihoodRequest("one"),
        after_prompt,
        LikelihoodRequest(""),
    ]
    line = refusal_of(keeping.ask, model.loglikelihood, requests)
    assert "gives the first token of a text no log-probability, so 'one' cannot be scored" in line
    assert (keeping.kept, len(server.asked)) == ({2: (0.0, 0)}, n_tried)
    (answer,) = answers_of(model.loglikelihood, [after_prompt])
    assert answer == (pytest.approx(letters("ab")[1][1]), 1)


@pytest.mark.parametrize(
    "nats",
    [float("nan"), -9999.0, 0.5, None, True, "-1"],
    ids=str,
)
def test_what_is_no_log_probability_is_one_line_and_no_answer(nats, serve: Serve) -> None:
    server = serve(EchoingServer(scorer=letters))
    model, keeping = hosted(), Keeping()
    model.trial()
    server.spoils = {"gun": nats}
    requests = [*map(LikelihoodRequest, ("one", "gun", "two"))]
    refusal_of(keeping.ask, model.loglikelihood, requests)
    assert sorted(keeping.kept) == [0, 2]
    server.spoils = {}
    keeping.ask(model.loglikelihood, requests)
    nats_of_gun = math.fsum(step for _, step in letters("gun"))
    assert keeping.kept[1] == (pytest.approx(nats_of_gun), 3)


def test_a_text_that_the_server_does_not_take_keeps_no_other_from_it(
    serve: Serve,
) -> None:
    serve(EchoingServer(scorer=letters, refuses="text 11"))
    keeping = Keeping()
    line = refusal_of(keeping.ask, hosted().loglikelihood, numbered_texts(24))
    assert "big: the server does not score 'text 11' (" in line
    assert sorted(keeping.kept) == [*range(11), *range(12, 24)]


@pytest.mark.parametrize("fault", ["html", "broken"])
def test_a_fault_between_likelihoods_loses_none(fault: str, serve: Serve) -> None:
    server = serve(EchoingServer(scorer=letters))
    requests = numbered_texts(5 * TEXTS)
    model, keeping = hosted(), Keeping()
    model.trial()
    server.faults = [NO_ANSWERS[fault]]
    server.asked.clear()
    refusal_of(keeping.ask, model.loglikelihood, requests)
    assert len(keeping.kept) == 4 * TEXTS
    keeping.ask(model.loglikelihood, requests)
    assert (len(keeping.kept), len(server.asked)) == (5 * TEXTS, 6)
