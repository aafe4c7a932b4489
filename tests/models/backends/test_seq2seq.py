"""An encoder-decoder against transformers itself, one question at a time; on a stand-in with random
weights."""

import shutil
import string
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path

import numpy as np
import pytest
import torch

from evenruler.models import load
from evenruler.models.backends import seq2seq
from evenruler.models.backends.causal import Capacity
from evenruler.models.model import Model
from evenruler.models.questions import Sampling, WordRequest
from evenruler.models.store import RowStore
from tests.models.conftest import change_json
from tests.models.test_whole_words import table
from tests.tiny import tiny_params
from tests.tiny_t5 import save_tiny_t5

PROMPTS = [
    "It is preferred by",
    "He",
    "Determine whether studying algebra is preferred by women or men. It is preferred by",
    "Determine whether studying poetry is preferred by women or men. It is preferred by",
    "",
]
WORDS = ["he", "He", "women", "men", "male", "females", "A", "dance"]
BOTH = list(product(PROMPTS, WORDS))
LETTERS = set(string.ascii_letters)
ROOMS = {
    "some prompts": Capacity(nodes=60, sequences=1, replies=3),
    "one": Capacity(nodes=1, sequences=1, replies=1),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_tiny_t5(tmp_path_factory.mktemp("t5") / "t5")


@pytest.fixture
def load_t5(folder: Path, tmp_path: Path) -> Callable[..., Model]:
    """Loads the model with a store of its own."""
    number: Iterator[int] = iter(range(100))

    def load_it(where: Path = folder) -> Model:
        store = RowStore(tmp_path / f"store-{next(number)}")
        return load(
            "t5",
            tiny_params({"t5": where}, kind="seq2seq"),
            store=store,
        )

    return load_it


@pytest.fixture(params=ROOMS)
def t5(request, load_t5, monkeypatch) -> Model:
    monkeypatch.setitem(seq2seq.CAPACITY, "cpu", ROOMS[request.param])
    return load_t5()


def by_itself(model: Model, prompt: str, word: str) -> tuple[float, float, float, float, int]:
    """One word after one prompt by transformers: as `whole_words`."""
    tokenizer = model.backend.tokenizer
    word_ids = tokenizer(word, add_special_tokens=False)["input_ids"]
    ids = torch.tensor([tokenizer(prompt)["input_ids"]])
    begun = torch.tensor([[tokenizer.pad_token_id, *word_ids]])
    with torch.inference_mode():
        output = model.backend.model(input_ids=ids, decoder_input_ids=begun, use_cache=False)
    logits = output.logits[0]
    nats = logits.double().log_softmax(-1).numpy()
    steps = nats[np.arange(len(word_ids)), word_ids]
    ends = alone = 0.0
    if steps.sum() >= np.log(1e-5):
        pieces, last = tokenizer.get_vocab(), np.exp(nats[-1])
        goes_on = [pieces[piece] for piece in pieces if piece[0] in LETTERS]
        follows = [pieces[piece] for piece in pieces if piece.lstrip("▁")[:1] in LETTERS]
        ends = np.log(1 - last[goes_on].sum())
        alone = np.log(1 - last[follows].sum())
    return steps.sum(), ends, alone, steps[0], word_ids[0]


def whole_words(model: Model, questions: list[tuple[str, str]]) -> np.ndarray:
    """[n, 5] of each: nats, nats that it ends and that it stands alone, nats of its first token,
    that token."""
    prompts, words = zip(*questions, strict=True)
    return table(model.whole_words(prompts, words))


class TestWords:
    def test_they_are_those_of_one_forward_pass_each(self, t5) -> None:
        expected = np.array([by_itself(t5, *both) for both in BOTH])
        assert whole_words(t5, BOTH) == pytest.approx(expected, abs=1e-5)
        tokens = t5.backend.tokenizer(WORDS, add_special_tokens=False)["input_ids"]
        assert {1, 2} < set(map(len, tokens))  # of one token, of two and of more
        assert 4 < (expected[:, 1] < 0).sum() < len(BOTH)  # rare ones among them
        assert np.ptp(expected[:, 0]) > 5  # nothing that a constant could be

    def test_a_special_token_or_none_ends_a_word(self, load_t5) -> None:
        """The vocabulary is larger than the tokenizer's: 12 entries are no token, and 7 tokens are
        no text."""
        model = load_t5()
        (ends, _), backend = model.backend._endings, model.backend
        assert len(ends) == len(backend.tokenizer) + 12
        assert ends[len(backend.tokenizer) :].all()
        assert ends[backend.tokenizer.all_special_ids].all()
        vocabulary = backend.tokenizer.get_vocab()
        pieces = ("▁", "▁men", "men", "e", ".", "-")
        is_end = [bool(ends[vocabulary[piece]]) for piece in pieces]
        assert is_end == [True, True, False, False, True, True]

    def test_a_space_before_a_word_would_be_dropped_and_no_word_has_no_token(self, load_t5) -> None:
        model = load_t5()
        with pytest.raises(ValueError, match="the word ' he' has a space before it"):
            model.whole_words(["x"], [" he"])
        with pytest.raises(ValueError, match="the word '' has no token"):
            model.whole_words(["x"], [""])

    def test_numbers_do_not_depend_on_order_nor_on_which_are_wanted(
        self, load_t5, monkeypatch
    ) -> None:
        monkeypatch.setitem(seq2seq.CAPACITY, "cpu", ROOMS["some prompts"])
        model = load_t5()
        backwards = whole_words(load_t5(), BOTH[::-1])[::-1]
        assert np.array_equal(whole_words(model, BOTH), backwards)
        requests = [WordRequest(word, prompt) for prompt, word in BOTH]
        packs = list(model.backend.words(requests, frozenset(range(len(BOTH)))))
        assert len(packs) > 2
        ((place, _), *_) = packs[1]
        assert list(
            model.backend.words(
                requests,
                frozenset([place]),
            )
        ) == [packs[1]]

    def test_a_pack_is_no_larger_than_its_room(self, load_t5, monkeypatch) -> None:
        monkeypatch.setitem(seq2seq.CAPACITY, "cpu", ROOMS["some prompts"])
        lengths = np.repeat([9, 9, 20, 20, 40, 70], 2)
        questions = []
        for place, length in enumerate(lengths):
            prompt = (place // 2, *[1] * (length - 1))
            questions.append(seq2seq.WordTokens(prompt, (7, place % 2)))
        packs = [lengths[pack].tolist() for pack in load_t5().backend._packs(questions)]
        assert packs == [
            [9, 9, 9, 9, 20, 20],
            [20, 20],
            [40, 40],
            [70, 70],
        ]


class TestReplies:
    def test_the_likeliest_are_those_of_transformers(self, t5) -> None:
        tokenizer = t5.backend.tokenizer
        replies = t5.replies(PROMPTS, sampling=Sampling(max_new_tokens=12, temperature=0))
        for prompt, reply in zip(PROMPTS, replies, strict=True):
            ids = torch.tensor([tokenizer(prompt)["input_ids"]])
            output = t5.backend.model.generate(
                ids,
                do_sample=False,
                max_new_tokens=12,
            )
            tokens = output[0, 1:].tolist()
            assert reply.text == tokenizer.decode(tokens, skip_special_tokens=True)
            assert (reply.finish == "stop") == (tokenizer.eos_token_id in tokens)
        assert len({reply.text for reply in replies}) > 1

    def test_a_drawn_one_does_not_depend_on_its_company(self, load_t5, monkeypatch) -> None:
        prompts = PROMPTS * 3
        question = {
            "sampling": Sampling(max_new_tokens=6),
            "seeds": range(len(prompts)),
        }
        together = load_t5().generate(prompts, **question)
        monkeypatch.setitem(seq2seq.CAPACITY, "cpu", ROOMS["one"])
        assert together == load_t5().generate(prompts, **question)
        assert len(set(together)) > len(PROMPTS)


class TestWhatItCannot:
    @pytest.fixture
    def changed(self, folder: Path, tmp_path) -> Path:
        """A copy of the model with other settings in one of its files."""

        def copy(file, **settings):
            other = shutil.copytree(folder, tmp_path / "changed")
            change_json(other / file, **settings)
            return other

        return copy

    def test_a_chat(self, load_t5, error_of) -> None:
        chat = "a chat is asked of an encoder-decoder, which has no chat template"
        line = error_of(
            load_t5().whole_words,
            ["He"],
            ["he"],
            chat=True,
        )
        assert line == f"'He': {chat}; ask with chat: false"

    def test_a_decoder_that_begins_with_more_than_its_start_token(
        self, changed, load_t5, error_of
    ) -> None:
        other = changed("generation_config.json", forced_bos_token_id=3)
        begins = "the decoder of t5 does not begin with its start token alone"
        line = error_of(load_t5(other).generate, ["x"])
        assert line == f"{other}: {begins}; take a model that is built as T5 is"

    def test_a_text_that_is_longer_than_its_context(self, changed, load_t5, error_of) -> None:
        model = load_t5(changed("config.json", max_position_embeddings=9))
        model.whole_words(["He"], ["he"])
        assert "the model takes 9; shorten it" in error_of(model.whole_words, [PROMPTS[2]], ["he"])
        line = error_of(
            model.replies,
            ["He"],
            sampling=Sampling(max_new_tokens=10),
        )
        assert "or a reply of 10, the model takes 9" in line
