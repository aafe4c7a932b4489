"""An encoder-decoder against transformers itself, one question at a time; on a stand-in with random
weights."""

import json
import shutil
import string
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from evenruler.models import load
from evenruler.models.backends import seq2seq
from evenruler.models.backends.causal import Capacity
from evenruler.models.model import Model
from evenruler.models.questions import Sampling, WordRequest
from evenruler.models.store import RowStore
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
ROOMS = {
    "some prompts": Capacity(nodes=60, sequences=1, replies=3),
    "one": Capacity(nodes=1, sequences=1, replies=1),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return save_tiny_t5(tmp_path_factory.mktemp("t5") / "t5")


@pytest.fixture
def load_t5(folder, tmp_path):
    """Loads the model with a store of its own."""
    number: Iterator[int] = iter(range(100))

    def load_it(where=folder):
        store = RowStore(tmp_path / f"store-{next(number)}")
        return load("t5", tiny_params({"t5": where}, kind="seq2seq"), store=store)

    return load_it


@pytest.fixture(params=ROOMS)
def t5(request, load_t5, monkeypatch):
    monkeypatch.setitem(seq2seq.CAPACITY, "cpu", ROOMS[request.param])
    return load_t5()


def by_itself(model: Model, prompt: str, word: str) -> tuple[float, float, float, float, int]:
    """One word after one prompt by transformers: as `whole_words`."""
    backend = model.backend
    tokenizer = backend.tokenizer
    word_ids = tokenizer(word, add_special_tokens=False)["input_ids"]
    decoder_ids = torch.tensor([[tokenizer.pad_token_id, *word_ids]])
    with torch.inference_mode():
        logits = backend.model(
            input_ids=torch.tensor([tokenizer(prompt)["input_ids"]]),
            decoder_input_ids=decoder_ids,
            use_cache=False,
        ).logits[0]
    nats = logits.double().log_softmax(-1).numpy()
    letters = set(string.ascii_letters)
    vocabulary = tokenizer.get_vocab().items()
    goes_on = [token for piece, token in vocabulary if piece[0] in letters]
    words_follow = [token for piece, token in vocabulary if piece.lstrip("▁")[:1] in letters]
    ends = np.log(1 - np.exp(nats[-1, goes_on]).sum())
    alone = np.log(1 - np.exp(nats[-1, words_follow]).sum())
    steps = nats[np.arange(len(word_ids)), word_ids]
    if steps.sum() < np.log(1e-5):
        ends = alone = 0
    return steps.sum(), ends, alone, steps[0], word_ids[0]


def whole_words(model: Model, questions: list[tuple[str, str]]) -> np.ndarray:
    """[n, 5] of each: nats, nats that it ends and that it stands alone, nats of its first token,
    that token."""
    prompts = [prompt for prompt, _ in questions]
    answers = model.whole_words(prompts, [word for _, word in questions])
    return np.stack(
        [answers.nats, answers.ends, answers.alone, answers.first_nats, answers.first_token], 1
    )


class TestWords:
    def test_they_are_those_of_one_forward_pass_each(self, t5) -> None:
        expected = [by_itself(t5, *both) for both in BOTH]
        assert whole_words(t5, BOTH) == pytest.approx(np.array(expected), abs=1e-5)
        lengths = {
            len(t5.backend.tokenizer(word, add_special_tokens=False)["input_ids"]) for word in WORDS
        }
        assert {1, 2} < lengths  # of one token, of two and of more
        assert 4 < sum(row[1] < 0 for row in expected) < len(BOTH)  # rare ones among them
        assert np.ptp([row[0] for row in expected]) > 5  # nothing that a constant could be

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
        whole = whole_words(model, BOTH)
        backwards = whole_words(load_t5(), BOTH[::-1])[::-1]
        assert np.array_equal(whole, backwards)
        requests = [WordRequest(word, prompt) for prompt, word in BOTH]
        packs = list(model.backend.words(requests, frozenset(range(len(BOTH)))))
        index = packs[1][0][0]
        (some,) = model.backend.words(requests, frozenset([index]))
        assert some == packs[1]
        assert len(packs) > 2

    def test_a_pack_is_no_larger_than_its_room(self, load_t5, monkeypatch) -> None:
        monkeypatch.setitem(seq2seq.CAPACITY, "cpu", ROOMS["some prompts"])
        model = load_t5()
        questions: list[seq2seq.WordTokens] = []
        for place, length in enumerate((9, 9, 20, 20, 40, 70)):
            prompt = (place, *(1,) * (length - 1))
            questions += [seq2seq.WordTokens(prompt, (7, word)) for word in (2, 3)]
        lengths = [len(question.prompt) for question in questions]
        packs = [np.take(lengths, pack).tolist() for pack in model.backend._packs(questions)]
        assert packs == [[9, 9, 9, 9, 20, 20], [20, 20], [40, 40], [70, 70]]


class TestReplies:
    def test_the_likeliest_are_those_of_transformers(self, t5) -> None:
        backend = t5.backend
        replies = t5.replies(PROMPTS, sampling=Sampling(max_new_tokens=12, temperature=0))
        for prompt, reply in zip(PROMPTS, replies, strict=True):
            ids = torch.tensor([backend.tokenizer(prompt)["input_ids"]])
            output = backend.model.generate(ids, do_sample=False, max_new_tokens=12)
            tokens = output[0, 1:].tolist()
            assert reply.text == backend.tokenizer.decode(tokens, skip_special_tokens=True)
            assert reply.finish == (
                "stop" if backend.tokenizer.eos_token_id in tokens else "length"
            )
        assert len({reply.text for reply in replies}) > 1

    def test_a_drawn_one_does_not_depend_on_its_company(self, load_t5, monkeypatch) -> None:
        prompts = PROMPTS * 3
        seeds = list(range(len(prompts)))
        together = load_t5().replies(prompts, sampling=Sampling(max_new_tokens=6), seeds=seeds)
        monkeypatch.setitem(seq2seq.CAPACITY, "cpu", ROOMS["one"])
        apart = load_t5().replies(prompts, sampling=Sampling(max_new_tokens=6), seeds=seeds)
        assert together == apart
        assert len({reply.text for reply in together}) > len(PROMPTS)

    def test_a_system_prompt_is_a_paragraph_before(self, load_t5) -> None:
        model, greedy = load_t5(), Sampling(max_new_tokens=5, temperature=0)
        (with_it,) = model.generate(["He"], system="women", sampling=greedy)
        assert with_it == model.generate(["women\n\nHe"], sampling=greedy)[0]


class TestWhatItCannot:
    def test_a_chat(self, load_t5, error_of) -> None:
        message = (
            "'He': a chat is asked of an encoder-decoder, which has no chat template; ask with "
            "chat: false"
        )
        assert error_of(load_t5().whole_words, ["He"], ["he"], chat=True) == message

    def test_it_is_not_declared_to_chat(self, folder) -> None:
        with pytest.raises(ValueError, match="`chat` is nothing that kind seq2seq can do"):
            tiny_params({"t5": folder}, kind="seq2seq", chat=True)

    def changed(self, folder: Path, to: Path, file: str, **settings: Any) -> Path:
        shutil.copytree(folder, to)
        config = json.loads((to / file).read_text())
        (to / file).write_text(json.dumps({**config, **settings}))
        return to

    def test_a_decoder_that_begins_with_more_than_its_start_token(
        self, folder, tmp_path, load_t5, error_of
    ) -> None:
        other = self.changed(
            folder, tmp_path / "bart", "generation_config.json", forced_bos_token_id=3
        )
        message = error_of(load_t5(other).generate, ["x"])
        assert message == (
            f"{other}: the decoder of t5 does not begin with its start token alone; take a model "
            "that is built as T5 is"
        )

    def test_a_text_that_is_longer_than_its_context(
        self, folder, tmp_path, load_t5, error_of
    ) -> None:
        model = load_t5(
            self.changed(folder, tmp_path / "short", "config.json", max_position_embeddings=9)
        )
        model.whole_words(["He"], ["he"])
        assert "the model takes 9; shorten it" in error_of(model.whole_words, [PROMPTS[2]], ["he"])
        assert "or a reply of 10, the model takes 9" in error_of(
            model.replies, ["He"], sampling=Sampling(max_new_tokens=10)
        )

    def test_a_folder_of_a_causal_model(self, llama_folder, load_t5, error_of) -> None:
        assert error_of(load_t5(llama_folder).generate, ["x"]).startswith(
            f"{llama_folder}: t5 does not load ("
        )
