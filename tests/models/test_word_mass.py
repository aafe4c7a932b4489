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
    core = Tokenizer(
        models.BPE(vocab={w: i for i, w in enumerate(words)}, merges=[("h", "e"), ("Ġ", "he")])
    )
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
    found = {(): 1.0}
    for _ in range(LENGTH):
        found = {
            (*t, n): p * probabilities[t[-1] if t else 2, n]
            for t, p in found.items()
            for n in range(10)
        }
    return found


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
    found = markov.whole_words(["."] * len(WRITTEN), WRITTEN)
    return dict(zip(WRITTEN, np.exp(found.nats + found.ends), strict=True))


def happens(tokenizer, word: str, texts: Iterable[tuple[int, ...]]) -> list[bool]:
    """Whether texts go on with a word and then no letter."""
    own = tuple(tokenizer(word, add_special_tokens=False)["input_ids"])
    assert len(own) < LENGTH
    letters = set(tokenizer.convert_tokens_to_ids(["h", "e", "r", "s", "he"]))
    return [tokens[: len(own)] == own and tokens[len(own)] not in letters for tokens in texts]


class TestEverythingThatCanBeWritten:
    """A llama whose next token depends on the last alone, with probabilities that are set: all
    texts are counted."""

    def test_the_mass_of_a_word_is_the_share_of_texts_that_go_on_with_it(
        self, mass, written, tokenizer
    ) -> None:
        assert sum(written.values()) == pytest.approx(1)

        for word in WRITTEN:
            expected = np.array(list(written.values()))[happens(tokenizer, word, written)].sum()
            if word in RARE:  # taken for whole
                assert expected < mass[word] < 1e-5
            else:
                assert mass[word] == pytest.approx(expected, rel=1e-5), word

    def test_no_text_goes_on_with_two_words_of_letters(self, written, tokenizer) -> None:
        words = [word for word in WRITTEN if word.strip().isalpha()]

        counts = np.sum([happens(tokenizer, word, written) for word in words], axis=0)

        assert set(counts) == {0, 1}

    def test_her_does_not_collect_hers_nor_here(self, markov, probabilities) -> None:
        """By hand: " her" is Ġhe and r; what may follow it is any of <s> </s> . and those with a
        space."""
        p, stop, her, r, ends = probabilities, 2, 9, 6, [0, 1, 2, 3, 9]

        found = markov.whole_words(["."], [" her"])

        assert found.nats[0] == pytest.approx(np.log(p[stop, her] * p[her, r]), abs=1e-5)
        assert found.ends[0] == pytest.approx(np.log(p[r, ends].sum()), abs=1e-5)
        assert (found.first_nats[0], found.first_token[0]) == (
            pytest.approx(np.log(p[stop, her]), abs=1e-5),
            her,
        )

    def test_words_that_begin_alike_share_less_than_the_mass_of_their_first_token(
        self, markov, mass
    ) -> None:
        """First-token mass counts he for her, hers and here as well; whole words do not."""
        found = markov.whole_words(["."] * 2, ["he", "hers"])

        assert found.first_token[0] == found.first_token[1] == 8
        assert mass["he"] + mass["her"] + mass["hers"] + mass["here"] < np.exp(found.first_nats[0])
        assert found.first_nats[0] == found.first_nats[1] == found.nats[0]
