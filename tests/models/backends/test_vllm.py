"""What vLLM's client reads, by token ids over HTTP, is what the same model says when it is here."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from evenruler.models.backends.causal import Causal
from evenruler.models.backends.server import KEY, URL, Server, request_budget
from evenruler.models.backends.vllm import VllmClient, _cut_to_budget, read_model_texts
from evenruler.models.declarations import ModelEntry
from evenruler.models.questions import (
    LikelihoodRequest,
    NextWordsRequest,
    Prompt,
    Sampling,
    WordRequest,
)
from tests.loopback_openai import running, scorer_of
from tests.loopback_vllm import TokenServer
from tests.models.conftest import TEXTS
from tests.tiny import save_tiny, tiny_params

pytestmark = pytest.mark.enable_socket

CLOSE = 1e-4
LIKELIEST = Sampling(max_new_tokens=12, temperature=0)


@dataclass(frozen=True)
class Both:
    """A tiny model here, and behind a server that it computes for, too."""

    here: Causal
    server: TokenServer
    folder: Path

    def client(self, entry: ModelEntry, tolerance: float = 1e-3) -> VllmClient:
        texts = read_model_texts("tiny", self.folder, entry)
        server = Server("tiny", "tiny", started_here=True)
        return VllmClient(server, texts, lambda: None, tolerance)


@pytest.fixture
def both(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Both]:
    folder = save_tiny(tmp_path / "tiny", chat=True)
    here = Causal("tiny", folder, "cpu", "float32")
    network = here.model.double()

    def next_nats(tokens: Sequence[int]) -> list[float]:
        with torch.inference_mode():
            ids = torch.tensor([list(tokens)])
            logits = network(ids).logits[0, -1]
        nats: list[float] = logits.log_softmax(-1).tolist()
        return nats

    server = TokenServer(scorer=scorer_of(network, here.tokenizer), next_nats=next_nats)
    with ExitStack() as stack:
        stack.enter_context(running(server))
        monkeypatch.setenv(URL, server.url)
        monkeypatch.setenv(KEY, "secret-word")
        yield Both(here, server, folder)


def entry_of(folder: Path, **settings: Any) -> ModelEntry:
    return tiny_params({"tiny": folder}, chat=True, **settings).entry("tiny")


def written_after(both: Both, prompt: Prompt) -> list[int]:
    """The likeliest tokens after a prompt."""
    ((tokens,), _) = both.here.encoder.encode_prompts([prompt], 12)
    question = {"ignore_eos": True, "max_tokens": 12, "stop_token_ids": []}
    return both.server.write_tokens(question, list(tokens))


def answers_of(operation: Callable[..., Any], questions: Sequence[Any]) -> list[Any]:
    batches = operation(questions, frozenset(range(len(questions))))
    answer_by_index = dict(chain.from_iterable(batches))
    return [answer_by_index[index] for index in range(len(questions))]


def test_texts(both: Both) -> None:
    requests = [LikelihoodRequest(text) for text in [*TEXTS, ""]]
    requests += [LikelihoodRequest(" a nurse.", prompt) for prompt in TEXTS[:3]]
    requests.append(LikelihoodRequest("The man", other_start=True))
    served = np.array(answers_of(both.client(entry_of(both.folder)).loglikelihood, requests))
    here = np.array(answers_of(both.here.loglikelihood, requests))
    assert (served[:, 1] == here[:, 1]).all()
    assert served[:, 0] == pytest.approx(here[:, 0], abs=CLOSE)
    assert len(set(here[:, 0])) == len(requests)


def test_next_words(both: Both) -> None:
    words = ("nurse", "man", "an extraordinary person", "the")
    requests = [NextWordsRequest(prompt, words) for prompt in TEXTS[:4]]
    served = np.array(answers_of(both.client(entry_of(both.folder)).next_words, requests))
    here = np.array(answers_of(both.here.next_words, requests))
    assert served == pytest.approx(here, abs=CLOSE, nan_ok=True)
    assert np.isnan(here[:, 2]).all()
    assert np.isfinite(here).any()


@pytest.mark.parametrize("chat", [False, True])
def test_words(both: Both, chat: bool) -> None:
    words = [" he", " she", " they", "n", " nurse"]
    requests = [WordRequest(word, prompt, chat=chat) for prompt in TEXTS[:3] for word in words]
    served = np.array(answers_of(both.client(entry_of(both.folder)).words, requests))
    here = np.array(answers_of(both.here.words, requests))
    assert served == pytest.approx(here, abs=CLOSE)
    assert (here[:, 1] < 0).any()


@pytest.mark.parametrize("chat", [False, True])
def test_replies_are_of_the_same_tokens(both: Both, chat: bool) -> None:
    prompts = [Prompt(text, LIKELIEST, 2**64 - 1, chat=chat) for text in TEXTS]
    prompts.append(replace(prompts[0], system="Be brief."))
    served = answers_of(both.client(entry_of(both.folder)).generate, prompts)
    assert served == answers_of(both.here.generate, prompts)
    assert len({reply.text for reply in served}) > 3
    question = both.server.by_tokens[0]
    tokens, _ = both.here.encoder.encode_prompts(prompts, 12)
    sent = {tuple(sent_question["prompt"][0]) for sent_question in both.server.by_tokens}
    assert sent == set(tokens)
    assert question["seed"] == 2**63 - 1
    assert (question["top_k"], question["top_p"], question["temperature"]) == (0, 1.0, 0.0)


def test_a_reply_ends_where_it_ends_here(both: Both) -> None:
    """At any token that the model's own settings name, the first of which is left out of the
    text."""
    prompts = [Prompt(text, LIKELIEST, 0) for text in TEXTS]
    end = written_after(both, prompts[0])[3]
    ends = [end, both.here.tokenizer.eos_token_id]
    both.here.model.generation_config.eos_token_id = ends
    (both.folder / "generation_config.json").write_text(f'{{"eos_token_id": {ends}}}')
    served = answers_of(both.client(entry_of(both.folder)).generate, prompts)
    assert served == answers_of(both.here.generate, prompts)
    assert served[0].finish == "stop"
    assert both.server.by_tokens[-1]["stop_token_ids"] == sorted(ends)


@pytest.mark.parametrize("tokens", [2, 5])
def test_thoughts_are_cut_as_here(both: Both, tokens: int) -> None:
    """The end of a thought is a piece of what the model writes, some tokens in."""
    written = written_after(both, Prompt(TEXTS[0], LIKELIEST, 0, chat=True))
    mark = str(both.here.tokenizer.decode(written[4:5])).strip()
    entry = entry_of(both.folder, thinking={"end": mark, "tokens": tokens})
    here = Causal("tiny", both.folder, "cpu", "float32", entry)
    prompts = [Prompt(text, replace(LIKELIEST, max_new_tokens=4), 0, chat=True) for text in TEXTS]
    served = answers_of(both.client(entry).generate, prompts)
    assert served == answers_of(here.generate, prompts)
    assert (served[0].text is None) == (tokens < 5)


@dataclass(frozen=True)
class EndsAtSeven:
    """A double of what parses thoughts: 7 ends one, of three tokens at most, and two follow."""

    def ends(self, tokens: Sequence[int], n: int) -> bool:
        return tokens[n - 1] == 7

    def is_over(self, n: int, place: int) -> bool:
        return n >= (place + 2 if place else 3)


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ([1, 2, 3, 4, 5], [1, 2, 3]),
        ([1, 7, 3, 4, 5], [1, 7, 3, 4]),
        ([1, 7, 7, 4, 5, 6], [1, 7, 7, 4, 5]),
        ([1, 7], [1, 7]),
    ],
)
def test_a_reply_is_cut_to_its_budget(written: list[int], expected: list[int]) -> None:
    parser: Any = EndsAtSeven()
    assert _cut_to_budget(written, parser) == expected


def test_likelihoods_that_depend_on_the_order_are_refused(
    both: Both, error_of: Callable[..., str]
) -> None:
    """By more than the dtype explains."""
    both.server.shift = lambda texts, i: 0.05 * (len(texts) == 1)
    requests = [WordRequest(" he", TEXTS[0])]
    strict = both.client(entry_of(both.folder))
    line = error_of(answers_of, strict.words, requests)
    assert line.startswith("tiny: the server's log-probabilities depend on the order")
    lax = both.client(entry_of(both.folder), tolerance=0.5)
    assert len(answers_of(lax.words, requests)) == 1


def test_requests_are_in_no_budget(both: Both) -> None:
    with request_budget(0):
        client = both.client(entry_of(both.folder))
        assert len(answers_of(client.generate, [Prompt("The man", LIKELIEST, 0)])) == 1


@pytest.mark.parametrize(
    ("reply", "operation", "what"),
    [
        ({"token_ids": None}, "generate", "vLLM does not say which tokens it wrote"),
        ({"prompt_logprobs": None}, "loglikelihood", "vLLM gives other log-probabilities"),
        ({"prompt_logprobs": [None, {"1": {}}]}, "loglikelihood", "vLLM gives other"),
    ],
)
def test_a_version_that_answers_otherwise_is_refused(
    both: Both,
    monkeypatch: pytest.MonkeyPatch,
    error_of: Callable[..., str],
    reply: dict[str, Any],
    operation: str,
    what: str,
) -> None:
    monkeypatch.setattr(both.server, "complete_tokens", lambda question, tokens: reply)
    questions: dict[str, Any] = {
        "generate": Prompt("The man", LIKELIEST, 0),
        "loglikelihood": LikelihoodRequest("The man is"),
    }
    client = both.client(entry_of(both.folder))
    line = error_of(answers_of, getattr(client, operation), [questions[operation]])
    assert line.startswith(f"tiny: {what}")


def test_a_question_that_vllm_refuses_is_one_line(
    both: Both, monkeypatch: pytest.MonkeyPatch, error_of: Callable[..., str]
) -> None:
    refusal = (400, {"error": {"message": "longer than 16 tokens"}})
    monkeypatch.setattr(both.server, "answer", lambda question: refusal)
    client = both.client(entry_of(both.folder))
    line = error_of(answers_of, client.generate, [Prompt("The man", LIKELIEST, 0)])
    assert line.startswith("tiny: vLLM does not take 'The man' (")
    assert line.endswith("longer than 16 tokens); shorten it, or allow fewer new tokens")
