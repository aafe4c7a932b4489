"""Classes in which models of 2025 and 2026 are published: their kind, how they are loaded, and what
they answer, against transformers itself."""

import json
from dataclasses import dataclass, replace
from itertools import chain, product
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
import transformers

from evenruler.evaluate.resolve_model import resolve_model
from evenruler.models.backends import causal
from evenruler.models.backends.causal import Causal, ModelShape, shape_of
from evenruler.models.classes import (
    CAUSAL,
    IMAGE_TEXT,
    choose_auto_class,
    decoder_of,
    narrowest_window,
    read_size,
)
from evenruler.models.loading import LoadedModel
from evenruler.models.model import Model
from evenruler.models.questions import LikelihoodRequest, Prompt, Sampling
from evenruler.models.store import RowStore
from tests.models.conftest import TEXTS, raw_nats, raw_token_nats, tiny_word_ends
from tests.tiny import PUBLISHED, save_tiny

NATS = 1e-4
N_TOKENS = 267
N_SHARED = 4
PROMPTS = [
    "The man",
    "The man is",
    "The man is here",
    "The man is at the theatre and a",
    *TEXTS[:2],
]
"""Of 5 to 49 tokens, with a common beginning; windows are four tokens, chunks eight."""
WORDS = [" a", " man", "he", " the theatre"]
SHARED = {
    "Gemma3ForConditionalGeneration",
    "Gemma4ForConditionalGeneration",
    "Mistral3ForConditionalGeneration",
    "GptOssForCausalLM",
    "Qwen3MoeForCausalLM",
}
"""Classes that take a tree of prefixes; layers of the others are linear, or chunked (Llama 4)."""


@dataclass(frozen=True)
class Published:
    """A tiny model as a user names its folder, and as transformers loads its class."""

    class_name: str
    folder: Path
    model: Model | None
    plain: Any
    tokenizer: Any


@pytest.fixture(scope="module", params=PUBLISHED)
def published(request: pytest.FixtureRequest, tmp_path_factory) -> Published:
    name = request.param
    root = tmp_path_factory.mktemp(name)
    folder = save_tiny(root / "model", name, chat=True)
    resolved = resolve_model(f"local:{folder}", RowStore(root / "store"))
    plain = getattr(transformers, name).from_pretrained(folder).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    store = RowStore(root / "store")
    return Published(name, folder, resolved.load_model(store, "cpu", None), plain, tokenizer)


def alone(published: Published, prompt: str, length: int) -> str:
    """What transformers itself goes on with, taking the likeliest token each time."""
    tokens = published.tokenizer(prompt, add_special_tokens=False)["input_ids"]
    start = published.tokenizer.convert_tokens_to_ids("<s>")
    ids = torch.tensor([[start, *tokens]])
    with torch.inference_mode():
        output = published.plain.generate(
            ids, attention_mask=torch.ones_like(ids), max_new_tokens=length, do_sample=False
        )
    new_tokens = output[0, ids.shape[1] :]
    return str(published.tokenizer.decode(new_tokens, skip_special_tokens=True))


class TestPublishedClasses:
    def test_a_folder_is_a_causal_model_of_the_class_that_it_names(
        self, published: Published
    ) -> None:
        config = json.loads((published.folder / "config.json").read_text())
        assert config["architectures"] == [published.class_name]
        assert published.model.entry.kind == "causal"
        assert type(published.model.backend.model).__name__ == published.class_name
        scorer = published.model.backend._scorer
        assert (scorer.plain_because is None) == (published.class_name in SHARED)
        assert scorer._head is not None

    def test_a_loaded_model_is_a_causal_one_too(self, published: Published, tmp_path: Path) -> None:
        store = RowStore(tmp_path)
        loaded = resolve_model(published.plain, store, tokenizer=published.tokenizer)
        assert (loaded.entry.kind, loaded.entry.chats) == ("causal", True)

    def test_likelihoods_are_those_of_transformers(self, published: Published) -> None:
        nats = published.model.loglikelihood(TEXTS).nats
        expected = [
            raw_token_nats(published.plain, published.tokenizer, text).sum() for text in TEXTS
        ]
        assert nats == pytest.approx(np.array(expected), abs=NATS)

    def test_words_and_their_ends_are_those_of_transformers(self, published: Published) -> None:
        published.model.backend._scorer._least = -np.inf
        pairs = list(product(PROMPTS[:4], WORDS))

        answers = published.model.whole_words(*map(list, zip(*pairs, strict=True)))

        for place, (prompt, word) in enumerate(pairs):
            n_prompt = len(published.tokenizer(prompt, add_special_tokens=False)["input_ids"])
            nats, tokens = raw_nats(published.plain, published.tokenizer, f"{prompt}{word}.")
            # The stop is one token, which no word holds.
            steps = nats.gather(1, tokens[:, None])[n_prompt:-1]
            assert answers.nats[place] == pytest.approx(steps.sum().item(), abs=NATS)
            # Qwen's tokenizer adds a token that the model lacks.
            endings = [token for token in tiny_word_ends(published.tokenizer) if token < N_TOKENS]
            ends = nats[-1, endings].logsumexp(0)
            assert answers.ends[place] == pytest.approx(ends.item(), abs=NATS)

    def test_replies_to_prompts_of_all_lengths_are_those_of_transformers(
        self, published: Published
    ) -> None:
        sampling = Sampling(max_new_tokens=12, temperature=0)

        replies = published.model.generate(PROMPTS, sampling=sampling, chat=False)

        expected = [alone(published, prompt, 12) for prompt in PROMPTS]
        assert list(map(str, replies)) == expected
        assert len(set(expected)) >= len(PROMPTS) - 1

    def test_replies_with_a_beginning_that_is_read_once(self, published: Published) -> None:
        """Its windows hold all; tiny ones, as above, count padding."""
        if published.class_name not in SHARED:
            prompts = [(2, 3), (2, 4, 5)]
            assert published.model.backend._shared(prompts, 12) == 0
            return
        window = {"sliding_window": 128} if narrowest_window(published.plain.config) else {}
        folder = save_tiny(published.folder.parent / "wide", published.class_name, **window)
        plain = getattr(transformers, published.class_name).from_pretrained(folder).eval()
        wide = Causal("wide", folder, "cpu", "float32")
        prompts = [Prompt(text, Sampling(max_new_tokens=12, temperature=0), 0) for text in PROMPTS]
        tokens, _ = wide.encoder.encode_prompts(prompts, 12)
        assert wide._shared(tokens, 12) == N_SHARED

        batches = wide.generate(prompts, frozenset(range(len(prompts))))

        replies = dict(chain.from_iterable(batches))
        expected = [alone(replace(published, plain=plain), text, 12) for text in PROMPTS]
        assert [replies[place].text for place in range(len(PROMPTS))] == expected


@pytest.mark.parametrize(
    ("model_type", "class_name", "auto_class"),
    [
        ("llama", "LlamaForCausalLM", CAUSAL),
        ("gemma3", "Gemma3ForConditionalGeneration", CAUSAL),  # stands in both mappings
        ("mistral3", "Mistral3ForConditionalGeneration", IMAGE_TEXT),
        ("qwen3_5", "Qwen3_5ForConditionalGeneration", IMAGE_TEXT),
        ("llama4", "Llama4ForConditionalGeneration", IMAGE_TEXT),
        ("llama4", "Llama4ForCausalLM", CAUSAL),
        ("llama4", "SomebodysLlama4", CAUSAL),
        ("mistral3", "SomebodysMistral3", IMAGE_TEXT),
        ("no-such-type", "NoSuchForCausalLM", CAUSAL),
    ],
)
def test_the_class_that_a_configuration_names_comes_first_then_its_type(
    model_type: str, class_name: str, auto_class: str
) -> None:
    config = {"model_type": model_type, "architectures": [class_name]}
    assert choose_auto_class(config) == auto_class


def test_llama_4_is_loaded_whole(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As a causal model alone its tensors for images would not be used, and be a warning."""
    folder = save_tiny(tmp_path / "tiny", "Llama4ForConditionalGeneration")

    model = Causal("tiny", folder, "cpu", "float32").model

    assert "not used" not in capsys.readouterr().err
    assert type(decoder_of(model)).__name__ == "Llama4TextModel"


class TestSizes:
    def test_of_layers_that_differ_by_hand(self) -> None:
        """Four layers: two with 4 heads of 8 numbers and 3 of keys, two with heads of 16 and 1 of
        keys; so keys take 24 numbers at most, which two heads of 16 hold."""
        config = transformers.AutoConfig.for_model(
            "gemma4_text",
            vocab_size=300,
            hidden_size=32,
            intermediate_size=48,
            num_hidden_layers=4,
            num_attention_heads=12,
            num_key_value_heads=3,
            head_dim=8,
            global_head_dim=16,
            num_global_key_value_heads=1,
            attention_k_eq_v=True,
            layer_types=["sliding_attention", "full_attention"] * 2,
            sliding_window=7,
        )
        weights = torch.zeros(1, dtype=torch.bfloat16)
        model: Any = SimpleNamespace(config=config, parameters=lambda: iter([weights]))

        assert shape_of(model) == ModelShape(
            layers=4,
            hidden=32,
            inner=48,
            heads=12,
            key_heads=2,
            head_width=16,
            vocabulary=300,
            number_bytes=2,
        )
        assert narrowest_window(config) == 7

    def test_of_a_configuration_with_a_size_a_layer(self) -> None:
        config = SimpleNamespace(intermediate_size=[32, 64, 48], head_dim=None)
        assert read_size(config, "intermediate_size") == 64
        assert read_size(config, "head_dim") == read_size(config, "hidden_size") == 0

    @pytest.mark.parametrize("class_name", PUBLISHED)
    def test_a_gpu_holds_every_class(self, class_name: str, tmp_path: Path, monkeypatch) -> None:
        memory = 2**30
        monkeypatch.setattr(torch.cuda, "mem_get_info", lambda: (memory, memory))
        model = Causal("tiny", save_tiny(tmp_path / "tiny", class_name), "cpu", "float32").model
        tensors = chain(model.parameters(), model.buffers())
        weights = sum(tensor.nbytes for tensor in tensors)

        capacity = causal.capacity_on("cuda", model)

        best = causal.CAPACITY["cuda"]
        assert capacity == causal.fit_capacity(best, memory - weights, shape_of(model))
        assert capacity.cache_bytes < best.cache_bytes


class RaisingDecoder(torch.nn.Module):
    """A double of a decoder that takes no tokens by itself."""

    def forward(self, **inputs: object) -> None:
        raise NotImplementedError("a decoder that must be called by its model")


def test_a_decoder_that_raises_leaves_all_to_the_whole_model(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = save_tiny(tmp_path / "tiny")
    plain = transformers.AutoModelForCausalLM.from_pretrained(folder).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    double = transformers.AutoModelForCausalLM.from_pretrained(folder).eval()
    double.get_decoder = RaisingDecoder
    backend = Causal("double", LoadedModel(tokenizer, double), "cpu", "float32")
    assert backend._scorer._head is None

    requests = [LikelihoodRequest(text) for text in TEXTS]
    answers = dict(chain.from_iterable(backend.loglikelihood(requests, frozenset(range(9)))))
    prompts = [Prompt(text, Sampling(max_new_tokens=6, temperature=0), 0) for text in PROMPTS]
    replies = dict(chain.from_iterable(backend.generate(prompts, frozenset(range(6)))))

    expected = [raw_token_nats(plain, tokenizer, text).sum() for text in TEXTS]
    nats = [answers[place][0] for place in range(len(TEXTS))]
    assert nats == pytest.approx(expected, abs=NATS)
    reference = Published("", folder, None, plain, tokenizer)
    assert [replies[place].text for place in range(6)] == [
        alone(reference, text, 6) for text in PROMPTS
    ]
    assert "the beginning of prompts is read for each" in capsys.readouterr().err
