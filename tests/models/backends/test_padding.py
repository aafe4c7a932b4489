"""Models that let padding into what they compute: the trial sees it, and batches hold texts of one
length."""

from collections.abc import Callable, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer

from evenruler.models.backends import padding
from evenruler.models.backends.batching import split_by_length
from evenruler.models.backends.causal import Causal
from evenruler.models.backends.padding import LONG, SHARED, SHORT, PaddingTrial
from evenruler.models.loading import LoadedModel
from evenruler.models.questions import LikelihoodRequest, Prompt, Sampling
from tests.models.conftest import TEXTS, ErrorOf, raw_token_nats
from tests.tiny import save_tiny

NATS = 1e-4
PROMPTS = [*TEXTS[:4], "The girl is", "A man is a", "xx", "The man at the theatre is here."]
GREEDY = Sampling(max_new_tokens=8, temperature=0)
POOLED, CHOSEN, COUNTED = (
    "DeepseekV4ForCausalLM",
    "HYV4ForCausalLM",
    "Exaone4_5_ForConditionalGeneration",
)


def likelihoods_of(backend: Causal, texts: Sequence[str]) -> list[float]:
    """Nats straight from the backend."""
    requests = [LikelihoodRequest(text) for text in texts]
    batches = backend.loglikelihood(requests, frozenset(range(len(texts))))
    answers = dict(chain.from_iterable(batches))
    return [answers[place][0] for place in range(len(texts))]


def replies_of(backend: Causal, texts: Sequence[str]) -> list[str]:
    """The likeliest replies, straight from the backend."""
    prompts = [Prompt(text, GREEDY, 0) for text in texts]
    batches = backend.generate(prompts, frozenset(range(len(prompts))))
    replies = dict(chain.from_iterable(batches))
    return [str(replies[place].text) for place in range(len(texts))]


def replies_alone(backend: Causal, texts: Sequence[str]) -> list[str]:
    """What transformers goes on with after each text alone."""
    replies = []
    for text in texts:
        tokens = backend.encoder.encode_texts([LikelihoodRequest(text)])[0].tokens
        ids = torch.tensor([tokens])
        with torch.inference_mode():
            output = backend.model.generate(
                ids, attention_mask=torch.ones_like(ids), max_new_tokens=8, do_sample=False
            )
        new_tokens = output[0, len(tokens) :]
        replies.append(backend.tokenizer.decode(new_tokens, skip_special_tokens=True))
    return replies


def lengths_of(backend: Causal, texts: Sequence[str]) -> list[int]:
    return [
        len(backend.encoder.encode_texts([LikelihoodRequest(text)])[0].tokens) for text in texts
    ]


class TestClassesThatSeePadding:
    @pytest.mark.parametrize("class_name", [POOLED, CHOSEN, COUNTED])
    def test_replies_are_those_to_each_prompt_alone(
        self, class_name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        backend = Causal("tiny", save_tiny(tmp_path / "tiny", class_name), "cpu", "float32")
        expected = replies_alone(backend, PROMPTS)

        assert replies_of(backend, PROMPTS) == expected

        # And with padding some are others: the trial is no mere caution.
        monkeypatch.setattr(backend._padding, "replies_equal", False)
        monkeypatch.setattr(backend._padding, "prefix_shared", True)
        assert replies_of(backend, PROMPTS) != expected

    @pytest.mark.parametrize("class_name", [POOLED, CHOSEN])
    def test_the_trial_sees_it_in_replies_where_no_kind_of_layer_says_it(
        self, class_name: str, tmp_path: Path, monkeypatch, capsys
    ) -> None:
        monkeypatch.setattr(padding, "PLACED_KINDS", set())

        backend = Causal("tiny", save_tiny(tmp_path / "tiny", class_name), "cpu", "float32")

        assert backend._padding.replies_equal
        assert replies_of(backend, PROMPTS) == replies_alone(backend, PROMPTS)
        line = "tiny: only prompts of equal length in a batch: with padding the model answers "
        assert capsys.readouterr().err.count(line) == 1

    def test_a_kind_of_layer_says_it_where_texts_are_too_short_to_see_it(
        self, tmp_path: Path, capsys
    ) -> None:
        """An index that chooses more keys than the trial has."""
        folder = save_tiny(tmp_path / "tiny", CHOSEN, index_topk=64)

        backend = Causal("tiny", folder, "cpu", "float32")

        line = "only texts of equal length in a batch: layers of kind indexed_attention may see"
        assert line in capsys.readouterr().err
        requests = [LikelihoodRequest(text) for text in [*TEXTS, "y", "z"]]
        lengths = lengths_of(backend, [request.text for request in requests])
        packs = backend.loglikelihood.packs(requests).indices
        assert sorted(chain.from_iterable(packs)) == list(range(len(requests)))
        assert all(len({lengths[place] for place in pack}) == 1 for pack in packs)
        assert max(map(len, packs)) == 3
        assert backend._padding.replies_equal

    def test_positions_that_count_padding_leave_the_beginning_to_each_prompt(
        self, tmp_path: Path, capsys
    ) -> None:
        """Padding before a prompt moves all of its positions, and changes nothing."""
        backend = Causal("tiny", save_tiny(tmp_path / "tiny", COUNTED), "cpu", "float32")
        assert not backend._padding.replies_equal

        assert not backend._padding.prefix_shared

        line = "tiny: the beginning of prompts is read for each: with padding the model answers "
        assert line in capsys.readouterr().err
        prompts = [Prompt(text, GREEDY, 0) for text in PROMPTS]
        (pack,) = backend.generate.packs(prompts).indices
        assert len(pack) == len(PROMPTS)


@pytest.fixture
def make_double(tmp_path: Path) -> Callable[..., Any]:
    """Makes a double: a tiny model whose `forward` a function wraps."""
    folder = save_tiny(tmp_path / "double")

    def wrap(change: Callable[..., Any]) -> Any:
        model = AutoModelForCausalLM.from_pretrained(folder).eval()
        forward = model.forward
        model.forward = lambda *args, **inputs: change(forward, *args, **inputs)
        return LoadedModel(AutoTokenizer.from_pretrained(folder), model)

    return wrap


def call_forward(forward: Any, *args: Any, **inputs: Any) -> Any:
    """The model as it is."""
    return forward(*args, **inputs)


def double_that_ignores_the_mask(
    forward: Any, *args: Any, attention_mask=None, **inputs: Any
) -> Any:
    """It sees padding as if it were a text; masks of four dimensions it takes."""
    if attention_mask is not None and attention_mask.dim() == 2:
        attention_mask = torch.ones_like(attention_mask)
    return forward(*args, attention_mask=attention_mask, **inputs)


def double_that_counts_padding(forward: Any, *args: Any, attention_mask=None, **inputs: Any) -> Any:
    """Each token of padding makes the first token of the vocabulary likelier in its row."""
    output = forward(*args, attention_mask=attention_mask, **inputs)
    if attention_mask is not None and attention_mask.dim() == 2:
        output.logits[..., 0] += (attention_mask == 0).sum(1, keepdim=True)
    return output


class TestDoubles:
    def test_one_that_ignores_the_mask_gets_prompts_of_equal_length(
        self, make_double, capsys
    ) -> None:
        backend = Causal("double", make_double(double_that_ignores_the_mask), "cpu", "float32")

        replies = replies_of(backend, PROMPTS)

        assert replies == replies_alone(backend, PROMPTS)
        assert "only prompts of equal length in a batch: with padding" in capsys.readouterr().err
        prompts = [Prompt(text, GREEDY, 0) for text in PROMPTS]
        lengths = lengths_of(backend, PROMPTS)
        packs = backend.generate.packs(prompts).indices
        assert [[lengths[place] for place in pack] for pack in packs] == [
            [length] * lengths.count(length) for length in sorted(set(lengths))
        ]

    def test_one_that_counts_padding_gets_texts_of_equal_length(self, make_double, capsys) -> None:
        backend = Causal("double", make_double(double_that_counts_padding), "cpu", "float32")
        backend._scorer.plain_because = "so the test wants it"
        texts = [*TEXTS, "y", "z", "the man"]

        nats = likelihoods_of(backend, texts)
        unigrams = backend.marginal(texts)

        expected = [raw_token_nats(backend.model, backend.tokenizer, text) for text in texts]
        assert nats == pytest.approx([steps.sum() for steps in expected], abs=NATS)
        line = "double: only texts of equal length in a batch: with padding the model answers 7 off"
        assert line in capsys.readouterr().err
        plain = Causal("plain", make_double(call_forward), "cpu", "float32")
        assert unigrams == pytest.approx(plain.marginal(texts), abs=NATS)

    def test_one_that_takes_no_padding_gets_prompts_of_equal_length(self, make_double) -> None:
        def refuse_padding(forward: Any, *args: Any, attention_mask=None, **inputs: Any) -> Any:
            if attention_mask is not None and not attention_mask[:, 0].all():
                raise ValueError("this double takes no padding on the left")
            return forward(*args, attention_mask=attention_mask, **inputs)

        backend = Causal("double", make_double(refuse_padding), "cpu", "float32")

        assert backend._padding.replies_equal
        assert replies_of(backend, PROMPTS) == replies_alone(backend, PROMPTS)

    def test_one_that_writes_no_reply_is_one_line(self, make_double, error_of: ErrorOf) -> None:
        def refuse_caches(forward: Any, *args: Any, use_cache=None, **inputs: Any) -> Any:
            if use_cache:
                raise ValueError("this double has no cache")
            return forward(*args, use_cache=use_cache, **inputs)

        backend = Causal("double", make_double(refuse_caches), "cpu", "float32")

        line = error_of(replies_of, backend, PROMPTS)
        assert line.startswith(
            "double: it writes no reply with this version of transformers (this "
        )

    def test_one_that_reads_no_text_alone_is_one_line(self, make_double, error_of: ErrorOf) -> None:
        def refuse_texts(forward: Any, *args: Any, **inputs: Any) -> Any:
            raise ValueError("this double wants an image")

        line = error_of(Causal, "double", make_double(refuse_texts), "cpu", "float32")
        assert "double does not load (this double wants an image)" in line


class TestWordsThatFollow:
    def test_a_model_that_they_change_is_no_causal_one(self, tmp_path: Path, error_of) -> None:
        """BERT as a causal model, with attention to both sides."""
        settings = {"hidden_size": 32, "num_attention_heads": 4, "intermediate_size": 48}
        config = AutoConfig.for_model(
            "bert", vocab_size=267, num_hidden_layers=2, initializer_range=0.5, **settings
        )
        tokenizer = AutoTokenizer.from_pretrained(save_tiny(tmp_path / "tiny"))
        model = AutoModelForCausalLM.from_config(config).eval()

        line = error_of(Causal, "bert", LoadedModel(tokenizer, model), "cpu", "float32")

        assert "bert does not read from left to right" in line
        config.is_decoder = True
        decoder = AutoModelForCausalLM.from_config(config).eval()
        assert not PaddingTrial("bert", decoder).is_ahead


class TestLimits:
    @pytest.mark.parametrize(
        ("dtype", "off", "excess"),
        [
            (torch.float32, 0.009, 0.0),
            (torch.float32, 0.011, 0.011),
            (torch.float64, 0.011, 0.011),
            (torch.bfloat16, 0.45, 0.0),
            (torch.bfloat16, 1.5, 0.0),
            (torch.bfloat16, 2.5, 2.5),
        ],
    )
    def test_rounding_is_no_padding(self, dtype, off: float, excess: float, make_double) -> None:
        """In 16 bits a tenth of what other words change: 20 here."""
        loaded = make_double(call_forward)
        trial = PaddingTrial("tiny", loaded.model)
        trial._logit_spread = 20.0
        loaded.model.to(dtype)
        expected = torch.zeros(3)

        assert trial._measure_excess(expected, expected + off) == pytest.approx(excess)

    def test_no_number_beside_a_number_is_far(self, make_double) -> None:
        loaded = make_double(call_forward)
        trial = PaddingTrial("tiny", loaded.model)
        numbers, none = torch.zeros(2), torch.tensor([0.0, torch.nan])

        assert trial._measure_excess(numbers, none) != 0
        assert trial._measure_excess(none, numbers) == 0

    def test_the_texts_share_their_beginning_alone(self) -> None:
        assert SHORT[:SHARED] == LONG[:SHARED]
        assert set(SHORT[SHARED:]).isdisjoint(LONG)
        assert (len(LONG) - len(SHORT)) % 4


def test_packs_of_one_length() -> None:
    sequences = ["a", "bc", "d", "e", "fg", "hij"]
    order = [0, 2, 3, 1, 4, 5]
    packs = split_by_length(order, 2, sequences)
    assert packs == [[0, 2], [3], [1, 4], [5]]
