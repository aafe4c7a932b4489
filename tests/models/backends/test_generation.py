"""Replies of a causal model: what goes into a batch, and what of it is read once."""

from typing import Any

import pytest
import torch

from evenruler.models import Sampling
from evenruler.models.model import Model
from evenruler.models.questions import LikelihoodRequest, Prompt
from tests.tiny import KINDS

BEGINNING = "the man is a man at the theatre and "
ENDS = ("he", "she is a painter", "so on", "so he is", "x")
TEXTS = [
    *("The man", "x", "", "A girl and a boy", "é", "ab", "one", "The", "No!"),
    *(BEGINNING + end for end in ENDS),
    *("the man is a", "the man is", "Who is it who is at the theatre at the end of the night?"),
]
"""Of every length, many longer than a window of four tokens."""


def opened(
    model: Model, ends: int = 0, replies: int = 3, dtype: torch.dtype = torch.float64
) -> Any:
    """The backend of a tiny model, with so many tokens besides its own that end a reply."""
    backend = model.backend
    causal = backend.model.to(dtype)
    if ends:
        causal.generation_config.eos_token_id = [
            backend.tokenizer.eos_token_id,
            *range(20, 20 + 5 * ends, 5),
        ]
    backend._capacity = type(backend._capacity)(
        nodes=20, sequences=3, replies=replies, cache_bytes=2**30
    )
    return backend


def written(backend: Any, asked: list[tuple[str, int]], sampling: Sampling) -> list[str]:
    prompts = [Prompt(text, sampling, seed) for text, seed in asked]
    found = dict(
        row for batch in backend.generate(prompts, frozenset(range(len(prompts)))) for row in batch
    )
    return [found[i].text for i in range(len(prompts))]


def alone(backend: Any, text: str, length: int) -> str:
    """What transformers itself goes on with after one prompt, taking the likeliest token each
    time."""
    ids = torch.tensor([backend._encoded([LikelihoodRequest(text)])[0].tokens])
    with torch.inference_mode():
        output = backend.model.generate(
            ids,
            attention_mask=torch.ones_like(ids),
            max_new_tokens=length,
            do_sample=False,
            pad_token_id=0,
        )
    return str(backend.tokenizer.decode(output[0, ids.shape[1] :], skip_special_tokens=True))


def sizes(backend: Any, monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, ...]]:
    """The shape of what goes through the model, pass by pass."""
    body, found = backend.model.base_model, []
    forward = body.forward

    def counted(input_ids: Any, **inputs: Any) -> Any:
        found.append(tuple(input_ids.shape))
        return forward(input_ids, **inputs)

    monkeypatch.setattr(body, "forward", counted)
    return found


@pytest.mark.parametrize(
    ("kind", "dtype", "config"),
    [
        ("llama", torch.float32, {}),
        *((kind, torch.float64, {}) for kind in KINDS if kind not in ("gemma2", "mamba")),
        *(
            (kind, torch.float32, {}) for kind in ("gemma2", "mamba")
        ),  # whose padding is no number in float64
        *(
            (kind, torch.float64, {"sliding_window": 100}) for kind in ("gemma3", "mistral")
        ),  # which holds all
    ],
    ids=str,
)
def test_the_likeliest_are_those_of_transformers_one_prompt_at_a_time(
    kind, dtype, config, tiny
) -> None:
    backend = opened(tiny(kind, **config), ends=24, dtype=dtype)
    sampling = Sampling(max_new_tokens=14, temperature=0)

    found = written(backend, [(text, 0) for text in TEXTS], sampling)

    assert found == [alone(backend, text, 14) for text in TEXTS]
    assert len(set(found)) > len(TEXTS) / 2


@pytest.mark.parametrize(
    ("kind", "config"), [("llama", {}), ("gemma3", {}), ("gemma3", {"sliding_window": 100})]
)
def test_a_sampled_reply_depends_on_prompt_and_seed_alone(kind, config, tiny) -> None:
    model = tiny(kind, **config)
    sampling = Sampling(max_new_tokens=10, temperature=1.5, top_k=40, top_p=0.95)
    pairs = [(text, seed) for text in TEXTS for seed in (1, 2, 3)]

    def replies(pairs: list[tuple[str, int]], size: int) -> dict[tuple[str, int], str]:
        return dict(
            zip(pairs, written(opened(model, ends=3, replies=size), pairs, sampling), strict=True)
        )

    together = replies(pairs, 3)

    assert replies(pairs[::-2], 7) == {pair: together[pair] for pair in pairs[::-2]}
    for pair in pairs[::11]:
        assert replies([pair], 1) == {pair: together[pair]}
    assert len(set(together.values())) > len(pairs) / 2


def test_the_same_prompt_twice_with_one_seed_gets_one_reply(tiny) -> None:
    replies = written(
        opened(tiny()), [(BEGINNING, seed) for seed in (1, 2, 1, 3)], Sampling(max_new_tokens=6)
    )

    assert replies[0] == replies[2]
    assert len(set(replies)) == 3


@pytest.mark.parametrize(
    ("kind", "config", "shares"),
    [("llama", {}, True), ("mistral", {}, False), ("mamba", {}, False)],
)
def test_a_shared_beginning_is_read_once_where_nothing_depends_on_padding(
    kind, config, shares, tiny, monkeypatch
) -> None:
    """A window of four tokens would count the padding, and a state would hold it."""
    backend = opened(tiny(kind, **config), replies=5)
    beginning = len(backend._encoded([LikelihoodRequest(BEGINNING + "s")])[0].tokens) - 1
    texts = [BEGINNING + end for end in ("so", "she is", "s", "sx", "so on")]
    backend.model.generation_config.eos_token_id = None
    found = sizes(backend, monkeypatch)

    written(backend, [(text, 0) for text in texts], Sampling(max_new_tokens=2))

    width = max(len(backend._encoded([LikelihoodRequest(text)])[0].tokens) for text in texts)
    first = [(1, beginning), (5, width - beginning)] if shares else [(5, width)]
    assert found == [*first, (5, 1)]


def test_no_more_are_continued_together_than_fit_into_memory(tiny) -> None:
    backend = tiny().backend
    # 3 layers, keys and values of 2 heads of 8 numbers, 4 bytes each: 384 bytes for a token.
    prompts = [Prompt("x" * 19, Sampling(10), seed) for seed in range(40)]
    assert len(backend._encoded([LikelihoodRequest(prompts[0].text)])[0].tokens) == 20

    def batches(cache_bytes: int) -> list[int]:
        backend._capacity = type(backend._capacity)(20, 3, replies=8, cache_bytes=cache_bytes)
        return list(map(len, backend.generate.packs(prompts).indices))

    assert batches(2**30) == [8] * 5
    assert batches(384 * 30 * 5) == [5] * 8
    assert batches(384 * 30 * 5 - 1) == [4] * 10
    assert batches(1) == [1] * 40


def test_batches_depend_on_prompts_and_seeds_alone(tiny) -> None:
    backend = opened(tiny())
    asked = [(text, seed) for text in TEXTS for seed in range(5)]

    def batches(asked: list[tuple[str, int]]) -> list[list[tuple[str, int]]]:
        prompts = [Prompt(text, Sampling(8), seed) for text, seed in asked]
        return [[asked[i] for i in batch] for batch in backend.generate.packs(prompts).indices]

    assert batches(asked[::-1]) == batches(asked)
    assert list(map(len, batches(asked))) == [3] * 28 + [1]
