"""Replies of a causal model: what goes into a batch, and what of it is read once."""

from dataclasses import replace
from itertools import chain, product
from typing import Any

import pytest
import torch

from evenruler.models import Sampling
from evenruler.models.model import Model
from evenruler.models.questions import LikelihoodRequest, Prompt

BEGINNING = "the man is a man at the theatre and "
ENDS = ("he", "she is a painter", "so on", "so he is", "x")
TEXTS = [
    *("The man", "x", "", "A girl and a boy", "é", "ab", "one", "The", "No!"),
    *(BEGINNING + end for end in ENDS),
    *("the man is a", "the man is", "Who is it who is at the theatre at the end of the night?"),
]
"""Of every length, many longer than a window of four tokens."""
Question = tuple[str, int]
"""A text and a seed."""


def opened(
    model: Model, ends: int = 0, replies: int = 3, dtype: torch.dtype = torch.float64
) -> Any:
    """The backend of a tiny model, with so many tokens besides its own that end a reply."""
    backend = model.backend
    causal = backend.model.to(dtype)
    if ends:
        end_tokens = range(20, 20 + 5 * ends, 5)
        causal.generation_config.eos_token_id = [backend.tokenizer.eos_token_id, *end_tokens]
    backend._capacity = replace(
        backend._capacity, nodes=20, sequences=3, replies=replies, cache_bytes=2**30
    )
    return backend


def n_tokens(backend: Any, text: str) -> int:
    return len(backend.encoder.encode_texts([LikelihoodRequest(text)])[0].tokens)


def written(backend: Any, questions: list[Question], sampling: Sampling) -> list[str]:
    prompts = [Prompt(text, sampling, seed) for text, seed in questions]
    batches = backend.generate(prompts, frozenset(range(len(prompts))))
    reply_by_index = dict(chain.from_iterable(batches))
    return [reply_by_index[index].text for index in range(len(prompts))]


def alone(backend: Any, text: str, length: int) -> str:
    """What transformers itself goes on with after one prompt, taking the likeliest token each
    time."""
    (sequence,) = backend.encoder.encode_texts([LikelihoodRequest(text)])
    ids = torch.tensor([sequence.tokens])
    with torch.inference_mode():
        output = backend.model.generate(
            ids,
            attention_mask=torch.ones_like(ids),
            max_new_tokens=length,
            do_sample=False,
            pad_token_id=0,
        )
    continuation = output[0, ids.shape[1] :]
    return str(backend.tokenizer.decode(continuation, skip_special_tokens=True))


@pytest.mark.parametrize(
    ("kind", "dtype", "config"),
    [
        *((kind, torch.float64, {}) for kind in ("llama", "gpt2", "gemma3")),
        ("mamba", torch.float32, {}),  # whose padding is no number in float64
        ("gemma3", torch.float64, {"sliding_window": 100}),  # which holds all
    ],
    ids=str,
)
def test_the_likeliest_are_those_of_transformers_one_prompt_at_a_time(
    kind, dtype, config, tiny
) -> None:
    backend = opened(
        tiny(kind, **config),
        ends=24,
        dtype=dtype,
    )
    sampling = Sampling(max_new_tokens=14, temperature=0)

    replies = written(backend, [(text, 0) for text in TEXTS], sampling)

    assert replies == [alone(backend, text, 14) for text in TEXTS]
    assert len(set(replies)) > len(TEXTS) / 2


@pytest.mark.parametrize("kind", ["llama", "gemma3"])
def test_a_sampled_reply_depends_on_prompt_and_seed_alone(kind, tiny) -> None:
    model = tiny(kind)
    sampling = Sampling(max_new_tokens=10, temperature=1.5, top_k=40, top_p=0.95)
    pairs = list(product(TEXTS, (1, 2)))
    together = written(opened(model, ends=3), pairs, sampling)

    half = written(opened(model, ends=3, replies=7), pairs[::-2], sampling)

    assert half == together[::-2]
    for place in range(0, len(pairs), 11):
        alone = written(
            opened(model, ends=3, replies=1),
            pairs[place : place + 1],
            sampling,
        )
        assert alone == together[place : place + 1]
    assert len(set(together)) > len(pairs) / 2


@pytest.mark.parametrize(
    ("cache_bytes", "sizes"),
    [
        (2**30, [8] * 5),
        (384 * 30 * 5, [5] * 8),
        (384 * 30 * 5 - 1, [4] * 10),
    ],
)
def test_no_more_are_continued_together_than_fit_into_memory(cache_bytes, sizes, llama) -> None:
    backend = llama.backend
    # 3 layers, keys and values of 2 heads of 8 numbers, 4 bytes each: 384 bytes for a token.
    prompts = [Prompt("x" * 19, Sampling(10), seed) for seed in range(40)]
    assert n_tokens(backend, prompts[0].text) == 20
    backend._capacity = replace(backend._capacity, replies=8, cache_bytes=cache_bytes)
    assert list(map(len, backend.generate.packs(prompts).indices)) == sizes
