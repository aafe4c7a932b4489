"""A word in its place, with both sides seen."""

import json
from collections.abc import Callable

import numpy as np
import pytest
import torch

from evenruler.models import WordInPlace
from evenruler.models.backends import encoders
from evenruler.models.model import Model
from tests.tiny import LONGEST, save_tiny_masked

NATS = 1e-4

FELT = "I have felt tense. I "
WORDS = ["never", "very rarely", "often", "the", "always"]
ASKED = [
    *(WordInPlace(FELT, word, " feel this way.") for word in WORDS),
    WordInPlace("", "Often", " the man is here."),
    WordInPlace("He is here. ", "Always", " so."),
    WordInPlace("naïve — ", "é often", " 東京 🎉"),
    WordInPlace("It is (", "often", ")."),
    *(
        WordInPlace(f"The man is at the {'very ' * i}big theatre. It is ", "rarely", " big.")
        for i in range(12)
    ),
    *(WordInPlace("often, ", "often", " he"), WordInPlace("", "often", ", often he")),  # two places
]


def plain_masked(model: Model, placed: WordInPlace) -> np.ndarray:
    """[tokens] log-probability of each token of the word, a pass each, itself and those right of it
    masked."""
    tokenizer, network = model.backend.tokenizer, model.backend.model
    encoded = tokenizer(placed.before + placed.word + placed.after)
    begin = encoded.char_to_token(len(placed.before))
    end = encoded.char_to_token(len(placed.before + placed.word))
    ids = torch.tensor(encoded["input_ids"])
    nats = []
    for place in range(begin, end):  # letters of several bytes, too
        masked = ids.clone()
        masked[place:end] = tokenizer.mask_token_id
        with torch.inference_mode():
            logits = network(input_ids=masked[None]).logits[0, place].double()
        nats.append(float(logits.log_softmax(-1)[ids[place]]))
    return np.array(nats)


@pytest.fixture
def loaded(load_saved, tmp_path) -> Callable[..., Model]:
    """Loads a tiny masked model, of this folder or another one."""

    def load_masked(folder=None):
        return load_saved(folder or save_tiny_masked(tmp_path / "masked"), kind="masked")

    return load_masked


class TestMasked:
    @pytest.mark.parametrize("kind", ["bert", "roberta"])
    def test_is_the_mean_of_a_pass_a_token(self, kind, tmp_path, loaded, monkeypatch) -> None:
        monkeypatch.setitem(encoders.MASKED, "cpu", 2000)  # several texts a batch
        model = loaded(save_tiny_masked(tmp_path / kind, kind))

        mean_nats = model.in_place(ASKED)

        by_token = [plain_masked(model, placed) for placed in ASKED]
        assert [len(nats) for nats in by_token[:7]] == [
            5,
            11,
            5,
            1,
            6,
            5,
            6,
        ]
        assert mean_nats == pytest.approx([nats.mean() for nats in by_token], abs=NATS)
        assert np.ptp(mean_nats) > 0.1
        assert (mean_nats.dtype, model.asked) == (np.float64, len(ASKED))

    def test_a_token_that_spans_the_border_is_the_words(self, loaded) -> None:
        model = loaded()
        assert model.backend.tokenizer.tokenize("x the")[1:] == ["Ġthe"]
        mean_nats = model.in_place([WordInPlace("x ", "the", " y")])[0]
        assert mean_nats == pytest.approx(
            plain_masked(model, WordInPlace("x ", "the", " y"))[0], abs=NATS
        )

    def test_a_word_without_a_token(self, loaded) -> None:
        with pytest.raises(ValueError, match="no token holds ''"):
            loaded().in_place([WordInPlace("He is", "", "here")])


class TestWhatIsRefused:
    def test_a_text_that_the_model_cannot_hold(self, loaded, error_of) -> None:
        before = "x" * (LONGEST - 7)  # with five letters and two tokens around it just fits
        model = loaded()
        assert np.isfinite(model.in_place([WordInPlace(before, "often", "")])).all()

        line = error_of(model.in_place, [WordInPlace("x" + before, "often", "")])
        assert line == f"{'x' * 40!r}: a text of 201 tokens, tiny takes 200; shorten it"

    @pytest.mark.parametrize(
        ("change", "lacking"),
        [
            ({"mask_token": None}, "no mask token"),
            ({"tokenizer_class": "ByT5Tokenizer"}, "no places of its tokens in the text"),
        ],
    )
    def test_a_tokenizer_without_a_mask_or_without_places(
        self, change, lacking, tmp_path, loaded, error_of
    ) -> None:
        folder = save_tiny_masked(tmp_path / "bert")
        path = folder / "tokenizer_config.json"
        path.write_text(json.dumps(json.loads(path.read_text()) | change))
        line = error_of(loaded(folder).in_place, ASKED[:1])
        assert line == f"{folder}: the tokenizer of tiny has {lacking}; see its `source`"
