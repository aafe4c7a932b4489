"""The mass of whole words against all that a small model can write."""

from collections.abc import Iterable

import numpy as np
import pytest
import torch

from evenruler.models import load
from evenruler.models.store import RowStore
from tests.tiny import tiny_params

WRITTEN = (
    "he",
    "her",
    "hers",
    "here",
    "she",
    " he",
    " her",
    " hers",
    " here",
    " she",
    ".",
    " ",
    "h",
)
RARE = {" she"}
LENGTH = 4


@pytest.fixture(scope="module")
def tokenizer():
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    words = ["<s>", "</s>", ".", "Ġ", "h", "e", "r", "s", "he", "Ġhe"]
    vocabulary = {word: i for i, word in enumerate(words)}
    core = Tokenizer(models.BPE(vocab=vocabulary, merges=[("h", "e"), ("Ġ", "he")]))
    core.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    core.decoder = decoders.ByteLevel()
    return PreTrainedTokenizerFast(tokenizer_object=core, bos_token="<s>", eos_token="</s>")


@pytest.fixture(scope="module")
def probabilities() -> np.ndarray:
    """[token, next token]"""
    return np.random.default_rng(0).dirichlet(np.ones(10), size=10)


@pytest.fixture(scope="module")
def written(probabilities) -> dict[tuple[int, ...], float]:
    """The probability of every way to go on for four tokens after a full stop."""
    probability_by_tokens = {(): 1.0}
    for _ in range(LENGTH):
        longer = {}
        for tokens, probability in probability_by_tokens.items():
            last = tokens[-1] if tokens else 2
            for token, share in enumerate(probabilities[last]):
                longer[*tokens, token] = probability * share
        probability_by_tokens = longer
    return probability_by_tokens


@pytest.fixture
def markov(tokenizer, probabilities, tmp_path):
    """Attention and feed-forward write nothing, so the output layer reads the last token's
    embedding."""
    from transformers import AutoModelForCausalLM, LlamaConfig

    size = len(tokenizer)
    config = LlamaConfig(
        vocab_size=size,
        hidden_size=size,
        intermediate_size=8,
        num_hidden_layers=1,
        num_attention_heads=1,
    )
    model = AutoModelForCausalLM.from_config(config)
    layer = model.model.layers[0]
    with torch.no_grad():
        layer.self_attn.o_proj.weight.zero_()
        layer.mlp.down_proj.weight.zero_()
        model.model.embed_tokens.weight.copy_(
            torch.eye(size) * 1000
        )  # so that the norm's epsilon is nothing
        model.model.norm.weight.fill_(size**-0.5)
        model.lm_head.weight.copy_(torch.from_numpy(np.log(probabilities)).T)
    model.save_pretrained(tmp_path / "markov")
    tokenizer.save_pretrained(tmp_path / "markov")
    return load(
        "markov", tiny_params({"markov": tmp_path / "markov"}), store=RowStore(tmp_path / "store")
    )


@pytest.fixture(params=["shared", "plain"])
def mass(request, markov) -> dict[str, float]:
    """Of each word after a full stop."""
    markov.backend._scorer.plain_because = "told so" if request.param == "plain" else None
    answers = markov.whole_words(["."] * len(WRITTEN), WRITTEN)
    return dict(zip(WRITTEN, np.exp(answers.nats + answers.ends), strict=True))


def happens(tokenizer, word: str, texts: Iterable[tuple[int, ...]]) -> list[bool]:
    """Whether texts go on with a word and then no letter."""
    word_ids = tuple(tokenizer(word, add_special_tokens=False)["input_ids"])
    n = len(word_ids)
    assert n < LENGTH
    letters = set(tokenizer.convert_tokens_to_ids(["h", "e", "r", "s", "he"]))
    return [tokens[:n] == word_ids and tokens[n] not in letters for tokens in texts]


class TestEverythingThatCanBeWritten:
    """A llama whose next token depends on the last alone, with probabilities that are set: all
    texts are counted."""

    def test_the_mass_of_a_word_is_the_share_of_texts_that_go_on_with_it(
        self, mass, written, tokenizer
    ) -> None:
        shares = np.array(list(written.values()))
        assert shares.sum() == pytest.approx(1)

        for word in WRITTEN:
            expected = shares[happens(tokenizer, word, written)].sum()
            if word in RARE:  # taken for whole
                assert expected < mass[word] < 1e-5
            else:
                assert mass[word] == pytest.approx(expected, rel=1e-5), word
