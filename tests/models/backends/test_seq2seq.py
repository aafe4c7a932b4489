"""An encoder-decoder against transformers itself, one question at a time; on a stand-in with random
weights."""

import json
import shutil
import string
from collections.abc import Callable, Iterator
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
BOTH = [(prompt, word) for prompt in PROMPTS for word in WORDS]
ROOMS = {
    "all at once": Capacity(nodes=4096, sequences=1, replies=256),
    "some prompts": Capacity(nodes=60, sequences=1, replies=3),
    "one": Capacity(nodes=1, sequences=1, replies=1),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_tiny_t5(tmp_path_factory.mktemp("t5") / "t5")


@pytest.fixture
def made(folder: Path, tmp_path: Path) -> Callable[..., Model]:
    """Loads the model with a store of its own."""
    number: Iterator[int] = iter(range(100))

    def load_it(where: Path = folder) -> Model:
        store = RowStore(tmp_path / f"store-{next(number)}")
        return load("t5", tiny_params({"t5": where}, kind="seq2seq"), store=store)

    return load_it


@pytest.fixture(params=ROOMS)
def t5(request, made, monkeypatch) -> Model:
    monkeypatch.setitem(seq2seq.CAPACITY, "cpu", ROOMS[request.param])
    return made()


def by_itself(model: Model, prompt: str, word: str) -> tuple[float, float, float, float, int]:
    """One word after one prompt by transformers: as `whole_words`."""
    backend = model.backend
    tokenizer, own = (
        backend.tokenizer,
        backend.tokenizer(word, add_special_tokens=False)["input_ids"],
    )
    with torch.inference_mode():
        logits = backend.model(
            input_ids=torch.tensor([tokenizer(prompt)["input_ids"]]),
            decoder_input_ids=torch.tensor([[tokenizer.pad_token_id, *own]]),
            use_cache=False,
        ).logits[0]
    nats = logits.double().log_softmax(-1).numpy()
    pieces = {token: piece for piece, token in tokenizer.get_vocab().items()}
    goes_on = [i for i, piece in pieces.items() if piece[0] in string.ascii_letters]
    words_follow = [
        i for i, piece in pieces.items() if piece.lstrip("▁")[:1] in set(string.ascii_letters)
    ]
    ends, alone = (np.log(1 - np.exp(nats[-1, those]).sum()) for those in (goes_on, words_follow))
    steps = nats[np.arange(len(own)), own]
    if steps.sum() < np.log(1e-5):
        ends = alone = 0
    return steps.sum(), ends, alone, steps[0], own[0]


def whole_words(model: Model, asked: list[tuple[str, str]]) -> np.ndarray:
    """[n, 5] of each: nats, nats that it ends and that it stands alone, nats of its first token,
    that token."""
    found = model.whole_words([prompt for prompt, _ in asked], [word for _, word in asked])
    return np.stack([found.nats, found.ends, found.alone, found.first_nats, found.first_token], 1)


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

    def test_a_special_token_or_none_ends_a_word(self, made) -> None:
        """The vocabulary is larger than the tokenizer's: 12 entries are no token, and 7 tokens are
        no text."""
        model = made()
        (ends, _), backend = model.backend._endings, model.backend
        assert len(ends) == len(backend.tokenizer) + 12
        assert ends[len(backend.tokenizer) :].all()
        assert ends[backend.tokenizer.all_special_ids].all()
        vocabulary = backend.tokenizer.get_vocab()
        assert [bool(ends[vocabulary[piece]]) for piece in ("▁", "▁men", "men", "e", ".", "-")] == [
            True, True, False, False, True, True,
        ]  # fmt: skip

    def test_words_that_begin_with_one_token_share_its_probability(self, made) -> None:
        rows = whole_words(made(), [("He", word) for word in ("he", "male", "men")])
        assert rows[0, 3:].tolist() == rows[1, 3:].tolist() != rows[2, 3:].tolist()
        assert (rows[:2, 0] < rows[:2, 3]).all()

    def test_a_space_before_a_word_is_refused_for_it_would_be_dropped(self, made) -> None:
        model = made()
        tokenizer = model.backend.tokenizer
        assert tokenizer(" he")["input_ids"] == tokenizer("he")["input_ids"]
        with pytest.raises(ValueError, match="the word ' he' has a space before it"):
            model.whole_words(["x"], [" he"])

    def test_a_word_without_a_token(self, made) -> None:
        with pytest.raises(ValueError, match="the word '' has no token"):
            made().whole_words(["x"], [""])

    def test_numbers_do_not_depend_on_order_nor_on_which_are_wanted(
        self, made, monkeypatch
    ) -> None:
        monkeypatch.setitem(seq2seq.CAPACITY, "cpu", ROOMS["some prompts"])
        model = made()
        whole = whole_words(model, BOTH)
        backwards = whole_words(made(), BOTH[::-1])[::-1]
        assert np.array_equal(whole, backwards)
        requests = [WordRequest(word, prompt) for prompt, word in BOTH]
        packs = list(model.backend.words(requests, frozenset(range(len(BOTH)))))
        (some,) = model.backend.words(requests, frozenset([packs[1][0][0]]))
        assert some == packs[1]
        assert len(packs) > 2

    def test_each_prompt_is_read_once(self, made, monkeypatch) -> None:
        monkeypatch.setitem(seq2seq.CAPACITY, "cpu", ROOMS["some prompts"])
        model, read = made(), []
        encoder = model.backend.model.get_encoder()
        encoder.register_forward_hook(
            lambda module, inputs, output: read.append(len(output.last_hidden_state))
        )
        whole_words(model, BOTH)
        assert sum(read) == len(PROMPTS)
        whole_words(model, BOTH)
        assert sum(read) == len(PROMPTS)  # the rest is kept

    def test_a_pack_is_no_larger_than_its_room(self, made, monkeypatch) -> None:
        monkeypatch.setitem(seq2seq.CAPACITY, "cpu", ROOMS["some prompts"])
        model = made()
        asked = [
            seq2seq.WordTokens((1,) * length, (7, word))
            for length in (9, 9, 20, 20, 40, 70)
            for word in (2, 3)
        ]
        asked = [
            seq2seq.WordTokens((i // 2, *own.prompt[1:]), own.word) for i, own in enumerate(asked)
        ]
        packs = [[len(asked[i].prompt) for i in pack] for pack in model.backend._packs(asked)]
        assert packs == [[9, 9, 9, 9, 20, 20], [20, 20], [40, 40], [70, 70]]


class TestReplies:
    def test_the_likeliest_are_those_of_transformers(self, t5) -> None:
        own = t5.backend
        found = t5.replies(PROMPTS, sampling=Sampling(max_new_tokens=12, temperature=0))
        for prompt, reply in zip(PROMPTS, found, strict=True):
            ids = torch.tensor([own.tokenizer(prompt)["input_ids"]])
            (tokens,) = own.model.generate(ids, do_sample=False, max_new_tokens=12)[:, 1:].tolist()
            assert reply.text == own.tokenizer.decode(tokens, skip_special_tokens=True)
            assert reply.finish == ("stop" if own.tokenizer.eos_token_id in tokens else "length")
        assert len({reply.text for reply in found}) > 1

    def test_a_drawn_one_does_not_depend_on_its_company(self, made, monkeypatch) -> None:
        asked, seeds = PROMPTS * 3, list(range(3 * len(PROMPTS)))
        together = made().replies(asked, sampling=Sampling(max_new_tokens=6), seeds=seeds)
        monkeypatch.setitem(seq2seq.CAPACITY, "cpu", ROOMS["one"])
        apart = made().replies(asked, sampling=Sampling(max_new_tokens=6), seeds=seeds)
        assert together == apart
        assert len({reply.text for reply in together}) > len(PROMPTS)

    def test_a_system_prompt_is_a_paragraph_before(self, made) -> None:
        model, greedy = made(), Sampling(max_new_tokens=5, temperature=0)
        (with_it,) = model.generate(["He"], system="women", sampling=greedy)
        assert with_it == model.generate(["women\n\nHe"], sampling=greedy)[0]


class TestWhatItCannot:
    def test_a_chat(self, made, error_of) -> None:
        said = (
            "'He': a chat is asked of an encoder-decoder, which has no chat template; ask with "
            "chat: false"
        )
        assert error_of(made().whole_words, ["He"], ["he"], chat=True) == said
        assert error_of(made().replies, ["He"], chat=True) == said

    def test_the_likelihood_of_a_text(self, made, error_of) -> None:
        said = error_of(made().loglikelihood, ["x"])
        assert said.endswith("t5 (kind seq2seq) cannot loglikelihood, only generate, words; "
                             "name a model that can loglikelihood")  # fmt: skip

    def test_it_is_not_declared_to_chat(self, folder) -> None:
        with pytest.raises(ValueError, match="`chat` is nothing that kind seq2seq can do"):
            tiny_params({"t5": folder}, kind="seq2seq", chat=True)

    def changed(self, folder: Path, to: Path, file: str, **settings: Any) -> Path:
        shutil.copytree(folder, to)
        config = json.loads((to / file).read_text())
        (to / file).write_text(json.dumps({**config, **settings}))
        return to

    def test_a_decoder_that_begins_with_more_than_its_start_token(
        self, folder, tmp_path, made, error_of
    ) -> None:
        other = self.changed(
            folder, tmp_path / "bart", "generation_config.json", forced_bos_token_id=3
        )
        said = error_of(made(other).generate, ["x"])
        assert said == (
            f"{other}: the decoder of t5 does not begin with its start token alone; take a model "
            "that is built as T5 is"
        )

    def test_a_text_that_is_longer_than_its_context(self, folder, tmp_path, made, error_of) -> None:
        model = made(
            self.changed(folder, tmp_path / "short", "config.json", max_position_embeddings=9)
        )
        model.whole_words(["He"], ["he"])
        assert "the model takes 9; shorten it" in error_of(model.whole_words, [PROMPTS[2]], ["he"])
        assert "or a reply of 10, the model takes 9" in error_of(
            model.replies, ["He"], sampling=Sampling(max_new_tokens=10)
        )

    def test_a_folder_of_a_causal_model(self, llama_folder, made, error_of) -> None:
        assert error_of(made(llama_folder).generate, ["x"]).startswith(
            f"{llama_folder}: t5 does not load ("
        )
