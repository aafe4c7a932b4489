import re
from collections.abc import Callable
from functools import cache
from itertools import chain
from typing import Any

import numpy as np
import pytest
import torch
from transformers import AutoModelForCausalLM
from transformers.convert_slow_tokenizer import bytes_to_unicode

from evenruler.declaration.params_file import ParamsFile
from evenruler.instruments.probes.declare import load
from evenruler.instruments.probes.rows import compile_domain
from evenruler.models.backends.likelihood import (
    NO_TOKEN,
    LikelihoodScorer,
    _of_kinds,
    next_word_tokens,
    stands_alone,
    token_texts,
    word_ends,
    word_tokens,
)
from evenruler.models.questions import LikelihoodRequest
from evenruler.models.sources import locate_model
from tests.conftest import ROOT
from tests.models.conftest import TEXTS
from tests.tiny import KINDS, save_tiny, tiny_tokenizer

NATS = 1e-4
"""What the design allows between shared prefixes and sentence by sentence."""


@pytest.fixture(scope="module")
def mixed() -> list[str]:
    """A sentence of every other shipped template, and what a user might also ask."""
    settings = ParamsFile(ROOT / "params.yaml").settings("occupation-gender")
    sources = ROOT / "data/sources/probes"
    source = load(sources / "occupation-gender.yaml", settings, sources / "shared")
    probes = compile_domain("occupation-gender", source, settings)["probes"]
    rows = [row for row in probes if "-" not in row["set"]]
    # Of the 600 of each template, one that lies 37 further than in the one before.
    shipped = [row["text"] for row in rows[::1237]]
    assert len(shipped) == 9
    return [
        *shipped,
        shipped[0],
        shipped[3].rsplit(" ", 1)[0],
        "",
        "Größe: naïve café — 東京 🎉",
    ]


@pytest.fixture(
    params=[
        pytest.param("smollm2", marks=[pytest.mark.slow, pytest.mark.long]),
        pytest.param("gemma", marks=[pytest.mark.slow, pytest.mark.long]),
    ]
)
def packaged(request):
    return request.getfixturevalue(request.param)


def sequence_of(backend, text: str):
    """The tokens of a request for the likelihood of a text."""
    return backend.encoder.encode_texts([LikelihoodRequest(text)])[0]


def scored(model: Any, texts: list[str]) -> np.ndarray:
    """[n] nats straight from the backend: packs of these very texts, no store."""
    requests = [LikelihoodRequest(text) for text in texts]
    packs = model.backend.loglikelihood(requests, frozenset(range(len(texts))))
    answers = dict(chain.from_iterable(packs))
    return np.array([answers[place][0] for place in range(len(texts))])


def scored_by(scorer: LikelihoodScorer, backend: Any) -> np.ndarray:
    """[n] nats of the texts by a scorer, pack by pack."""
    sequences = [sequence_of(backend, text) for text in TEXTS]
    nats = np.full(len(TEXTS), np.nan)
    for pack in scorer.packs(sequences):
        nats[pack] = scorer.score([sequences[place] for place in pack])
    return nats


class TestPackagedModels:
    def test_equal_the_plain_result_whatever_the_packs(
        self, packaged, mixed, plain_reference, monkeypatch
    ) -> None:
        """Of gemma, too: it is the model with layers of two kinds and a vocabulary of 262,144 that
        is shipped."""
        expected = plain_reference(packaged, mixed)
        tokenizer, scorer = packaged.backend.tokenizer, packaged.backend._scorer
        assert scorer.plain_because is None

        likelihoods = packaged.loglikelihood(mixed)
        assert likelihoods.nats == pytest.approx(expected, abs=NATS)
        tokens = [tokenizer(text, add_special_tokens=False)["input_ids"] for text in mixed]
        assert likelihoods.tokens.tolist() == list(map(len, tokens))
        assert likelihoods.nats[mixed.index(mixed[0], 1)] == likelihoods.nats[0]

        order = np.random.default_rng(1).permutation(len(mixed))
        shuffled = scored(packaged, [mixed[place] for place in order])
        assert shuffled == pytest.approx(expected[order], abs=NATS)

        for max_nodes, last in ((16, 8), (64, len(mixed))):
            monkeypatch.setattr(scorer, "_max_nodes", max_nodes)
            assert scored(
                packaged,
                mixed[-last:],
            ) == pytest.approx(expected[-last:], abs=NATS)


class TestKindsOfModel:
    @pytest.mark.parametrize("kind", KINDS)
    def test_equals_the_plain_result(self, kind, tiny, plain_reference) -> None:
        model, texts = tiny(kind), [*TEXTS, "", TEXTS[0]]

        likelihoods = model.loglikelihood(texts)

        assert likelihoods.nats == pytest.approx(plain_reference(model, texts), abs=NATS)
        assert likelihoods.tokens.min() == 0
        assert likelihoods.tokens[0] > 7 * 4  # seven windows
        scorer = model.backend._scorer
        assert (scorer.plain_because is None) == (kind != "mamba")
        if kind in ("llama", "gemma2"):  # whose logits are capped
            assert (scorer._head is None) == (kind == "gemma2")

    def test_a_model_that_mistakes_the_mask_falls_back_and_says_by_how_much(
        self, tiny, plain_reference
    ) -> None:
        """A model whose positions do not follow `position_ids` answers wrongly with a tree: found
        by trying it."""
        model = tiny()
        raw = model.backend.model
        forward = raw.base_model.forward
        raw.base_model.forward = lambda *args, position_ids=None, **kwargs: forward(*args, **kwargs)

        scorer = LikelihoodScorer(raw, max_nodes=64, batch=4)

        assert str(scorer.plain_because).endswith("nats off")
        nats = scored_by(scorer, model.backend)
        assert nats == pytest.approx(plain_reference(model, TEXTS), abs=NATS)

    @pytest.mark.parametrize(
        ("off", "wrong", "reason"),
        [
            (9e-4, 1.0, None),
            (2e-3, 1.0, "with a mask of ours the model answers 0.002 nats off"),
            (9e-4, 4e-3, "with a mask of ours the model answers 0.0009 nats off"),
        ],
    )
    def test_it_may_be_a_thousandth_off_and_by_far_less_than_with_a_wrong_mask(
        self, off, wrong, reason, llama
    ) -> None:
        answers = [lambda nats=nats: np.array([nats]) for nats in (0.0, off, wrong)]
        assert llama.backend._scorer._why_off("mask", *answers) == reason

    def test_a_model_that_refuses_the_mask_falls_back(self, tiny) -> None:
        raw = tiny().backend.model
        forward = raw.base_model.forward

        def refuses(*args, attention_mask=None, **kwargs):
            if attention_mask is not None and attention_mask.dim() == 4:
                raise ValueError("expected a mask of two dimensions")
            return forward(*args, attention_mask=attention_mask, **kwargs)

        raw.base_model.forward = refuses

        because = LikelihoodScorer(raw, max_nodes=64, batch=4).plain_because
        assert because == "the model takes no mask of ours (ValueError)"

    @pytest.mark.parametrize("kind", ["gemma3", "mistral"])
    def test_the_texts_reach_beyond_the_window(self, kind, tiny, plain_reference) -> None:
        """Or else the tests above would pass without a window: one that is wider changes the
        answers."""
        near, far = tiny(kind), tiny(kind, sliding_window=64)

        texts = TEXTS[:2]
        differences = np.abs(plain_reference(near, texts) - plain_reference(far, texts))

        assert (differences > 0.1).all()

    def test_an_output_layer_with_a_bias_goes_through_the_whole_model(
        self, tiny, plain_reference
    ) -> None:
        model = tiny()
        head = model.backend.model.lm_head
        head.bias = torch.nn.Parameter(torch.linspace(-3, 3, head.out_features))

        scorer = LikelihoodScorer(model.backend.model, max_nodes=512, batch=4)

        assert scorer._head is None
        nats = scored_by(scorer, model.backend)
        assert nats == pytest.approx(plain_reference(model, TEXTS), abs=NATS)

    def test_capped_logits_are_seen_in_bfloat16(self, tmp_path) -> None:
        folder = save_tiny(tmp_path / "capped", "gemma2", final_logit_softcapping=30.0)
        model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.bfloat16).eval()

        scorer = LikelihoodScorer(model, max_nodes=64, batch=4)

        assert scorer._head is None
        assert scorer.plain_because is None

    def test_a_vocabulary_is_cut_into_chunks_of_any_size(
        self, tiny, plain_reference, monkeypatch
    ) -> None:
        # 267 tokens: 100, 100, 67
        monkeypatch.setattr("evenruler.models.backends.likelihood.VOCABULARY_CHUNK", 100)
        model = tiny()

        nats = model.loglikelihood(TEXTS).nats
        assert nats == pytest.approx(plain_reference(model, TEXTS), abs=NATS)
        # Or else the chunks were wrong, and it has fallen back.
        assert model.backend._scorer.plain_because is None


class TestTokens:
    def test_the_start_token_is_not_counted(self, llama) -> None:
        # Bytes but for the merges: " the" is one token; é is two bytes, 🎉 four.
        tokens = llama.loglikelihood(["x", "xyz", " the", "é", "🎉", ""]).tokens
        assert tokens.tolist() == [1, 3, 1, 2, 4, 0]

    def test_a_tokenizer_without_a_start_token_gets_its_end_token(
        self, tiny, plain_reference
    ) -> None:
        model = tiny(bos=False)
        assert model.backend.tokenizer.bos_token_id is None
        nats = model.loglikelihood(TEXTS).nats
        assert nats == pytest.approx(plain_reference(model, TEXTS), abs=NATS)

    def test_a_text_that_spells_a_special_token_gets_no_second_start(
        self, llama, plain_reference
    ) -> None:
        texts = ["<s>x", "a</s>"]

        likelihoods = llama.loglikelihood(texts)

        assert likelihoods.nats == pytest.approx(plain_reference(llama, texts), abs=NATS)
        assert likelihoods.tokens.tolist() == [2, 2]


class TestKindsOfToken:
    def drawn(self) -> tuple[torch.Tensor, torch.Tensor]:
        """[16, 9152] logits, and two kinds of which the second is rare."""
        random = torch.Generator().manual_seed(0)
        logits = 1.2 * torch.randn((16, 9152), generator=random)
        shares = torch.tensor([[0.6], [0.001]])
        return logits, torch.rand((2, 9152), generator=random) < shares

    @pytest.mark.parametrize("width", [1000, 8192, 9152])
    def test_they_are_those_of_float64_whatever_the_slices(self, width) -> None:
        logits, kinds = self.drawn()
        exact = logits.double().softmax(-1)
        expected = (exact @ kinds.double().T).log()

        kind_nats = _of_kinds(iter(logits.split(width, 1)), kinds)
        assert torch.allclose(kind_nats, expected, rtol=0, atol=1e-6)


@pytest.fixture(scope="module")
def vocabulary_of(shipped_params, packaged_store) -> Callable[[str], tuple[Any, dict[int, str]]]:
    """The tokenizer of a shipped model, and what its tokens say."""
    from transformers import AutoTokenizer

    @cache
    def tokenizer_of(name: str) -> tuple[Any, dict[int, str]]:
        tokenizer = AutoTokenizer.from_pretrained(
            locate_model(name, shipped_params.models[name], packaged_store)
        )
        return tokenizer, token_texts(tokenizer)

    return tokenizer_of


class TestWordTokens:
    def test_a_word_alone_gets_no_space_from_a_tokenizer_that_puts_one_before_every_text(
        self,
    ) -> None:
        """As those of Llama 2: "x he" after "x " is one token of both, so the word is cut alone."""
        from tokenizers import Tokenizer, decoders, models, pre_tokenizers
        from transformers import PreTrainedTokenizerFast

        words = ["</s>", "▁", "x", "h", "e", "\n", "he", "▁he", "▁x"]
        merges = [
            ("h", "e"),
            ("▁", "he"),
            ("▁", "x"),
        ]
        vocabulary = {word: i for i, word in enumerate(words)}
        core = Tokenizer(models.BPE(vocab=vocabulary, merges=merges))
        core.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first", split=False)
        core.decoder = decoders.Metaspace(prepend_scheme="first")
        tokenizer = PreTrainedTokenizerFast(tokenizer_object=core, eos_token="</s>")
        assert tokenizer.tokenize("he") == ["▁he"]

        prompts, words = ["x ", "x", "x"], ["he", "he", " he"]
        (after_space, whole, spaced) = word_tokens(tokenizer, prompts, words)

        written = [
            [tokenizer.convert_ids_to_tokens(tokens) for tokens in both]
            for both in (after_space, whole, spaced)
        ]
        assert written == [[["▁x", "▁"], ["he"]], [["▁x"], ["he"]], [["▁x"], ["▁he"]]]


class TestNextWordTokens:
    def test_a_word_is_one_token_after_those_of_the_prompt(self) -> None:
        tokenizer = tiny_tokenizer()

        tokens = next_word_tokens(tokenizer, ["The man", "", "x "], ["the", "man", "a"])

        the, a = tokenizer.convert_tokens_to_ids(["Ġthe", "Ġa"])
        assert tokens.tolist() == [[the, NO_TOKEN, a]] * 3

    def test_a_tokenizer_that_joins_words_reads_the_whole_prompt(self) -> None:
        """Its tokens run over spaces: "b a" is one, and " a n" at the beginning of a text."""
        from tokenizers import Tokenizer, models
        from transformers import PreTrainedTokenizerFast

        merges = [(" ", "a"), ("b", " a"), (" ", "n"), (" a", " n")]
        names = ["a", "b", "n", " ", *map("".join, merges)]
        vocabulary = {name: number for number, name in enumerate(names)}
        core = Tokenizer(models.BPE(vocab=vocabulary, merges=merges))
        tokenizer = PreTrainedTokenizerFast(tokenizer_object=core)
        assert tokenizer.tokenize("b a n") == ["b a", " n"]
        assert tokenizer.tokenize(" a n") == [" a n"]

        tokens = next_word_tokens(tokenizer, ["b a", " a"], ["n"])

        assert tokens.tolist() == [[vocabulary[" n"]], [NO_TOKEN]]


class TestWordEnds:
    def test_a_vocabulary_larger_or_smaller_than_the_tokenizers(self) -> None:
        texts = token_texts(tiny_tokenizer())
        whole = word_ends(texts, len(texts)).tolist()

        assert word_ends(
            texts,
            len(texts) + 2,
        ).tolist() == [*whole, True, True]
        assert word_ends(texts, 100).tolist() == whole[:100]


BYTES = {character: value for value, character in bytes_to_unicode().items()}

GOING_ON = (" man", "man", " é", "é", "3", " 3", " 20")
ALONE = (".", ":", ")", "\n", "\n\n", " (", "'", "'s", " -", " ", "  ")
HAND_CASES = dict.fromkeys(GOING_ON, False) | dict.fromkeys(ALONE, True)
"""Whether a token of this text leaves what it comes after alone. Not every tokenizer has all."""


class TestStandsAlone:
    def test_hand_cases(self) -> None:
        """Of each kind, whatever a tokenizer has: blanks go with what stands after them, a line
        break with nothing."""
        goes_on = ["man", " man", "2", " 3", "\tman", "  man", "é", " é"]
        goes_on += ["\ufffd", " \ufffd", "٣", "\u00a0man", "3."]
        alone = [".", ":", ")", " (", "'s", "-", "_", " _x", "...", " ", "\t", "", ' "man']
        alone += ["\n", "\nFoo", " \nFoo", "\r\nFoo", "\u2028Foo"]

        texts = goes_on + alone
        is_alone = stands_alone(dict(enumerate(texts)), len(texts) + 2)

        assert is_alone.tolist() == [False] * len(goes_on) + [True] * (len(alone) + 2)

    def test_a_special_token_leaves_a_word_alone_whatever_it_is_called(self) -> None:
        tokenizer = tiny_tokenizer()
        tokenizer.add_special_tokens({"additional_special_tokens": ["user", " user"]})
        tokenizer.add_tokens([" person", " 3"])
        texts = token_texts(tokenizer)
        names = ["user", " user", " person", " 3"]

        is_alone = stands_alone(texts, len(tokenizer) + 1)

        assert is_alone[tokenizer.convert_tokens_to_ids(names)].tolist() == [
            True,
            True,
            False,
            False,
        ]
        assert is_alone[-1]
        assert stands_alone(texts, 100).tolist() == is_alone[:100].tolist()
        assert word_ends(texts, len(tokenizer))[tokenizer.convert_tokens_to_ids("user")]

    @pytest.mark.slow
    @pytest.mark.long
    @pytest.mark.parametrize("name", ["smollm2-135m-instruct", "gemma-3-270m"])
    def test_every_token_of_the_packaged_models_by_its_name(self, name, vocabulary_of) -> None:
        tokenizer, of_tokens = vocabulary_of(name)
        vocabulary = tokenizer.get_vocab()
        spelled = by_bytes if name.startswith("smollm2") else by_pieces
        texts = {number: spelled(token) for token, number in vocabulary.items()}
        texts |= dict.fromkeys(tokenizer.all_special_ids, "")
        begins_word = re.compile("[^\\S\n\r\v\f\x85\u2028\u2029]*([^\\W_]|\ufffd)")

        is_alone = stands_alone(of_tokens, len(tokenizer))
        ends = word_ends(of_tokens, len(tokenizer))

        for number, text in texts.items():
            assert is_alone[number] == (begins_word.match(text) is None)
            assert ends[number] == (not is_letter(text[:1]))
        assert ends[is_alone].all()
        by_text = {text: number for number, text in texts.items()}
        there = [text for text in HAND_CASES if text in by_text]
        assert len(there) >= 10
        for text in there:
            assert is_alone[by_text[text]] == HAND_CASES[text]


def is_letter(character: str) -> bool:
    """Whether it is a letter, or may be part of one."""
    return character.isalpha() or character == "\ufffd"


def by_bytes(token: str) -> str:
    """What a token of byte-level BPE says."""
    return bytes(BYTES[character] for character in token).decode(errors="replace")


def by_pieces(token: str) -> str:
    """What a token of SentencePiece with bytes says."""
    if re.fullmatch("<0x[0-9A-F]{2}>", token):
        return bytes([int(token[3:5], 16)]).decode(errors="replace")
    return token.replace("▁", " ")
