"""A word in its place, with both sides seen."""

import itertools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evenruler.models import WordInPlace, load
from evenruler.models.backends import encoders
from evenruler.models.model import Model
from evenruler.models.store import RowStore
from tests.tiny import LONGEST, save_tiny, save_tiny_masked, tiny_params

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
]


def plain_masked(model: Model, placed: WordInPlace) -> np.ndarray:
    """[tokens] log-probability of each token of the word, a pass each, itself and those right of it
    masked."""
    import torch

    tokenizer, network = model.backend.tokenizer, model.backend.model
    encoded = tokenizer(placed.before + placed.word + placed.after)
    begin, end = len(placed.before), len(placed.before) + len(placed.word)
    positions = list(
        range(encoded.char_to_token(begin), encoded.char_to_token(end))
    )  # letters of several bytes, too
    nats = []
    for n, position in enumerate(positions):
        ids = list(encoded["input_ids"])
        for hidden in positions[n:]:
            ids[hidden] = tokenizer.mask_token_id
        with torch.inference_mode():
            logits = network(input_ids=torch.tensor([ids])).logits[0, position].double()
        nats.append(float(logits.log_softmax(-1)[encoded["input_ids"][position]]))
    return np.array(nats)


@pytest.fixture
def loaded(tmp_path) -> Callable[..., Model]:
    """Loads a tiny masked model; from a store that is empty unless one is given."""
    made = itertools.count()

    def make(folder: Path | None = None, store: RowStore | None = None, **entry: Any) -> Model:
        number = next(made)
        folder = folder or save_tiny_masked(tmp_path / f"masked-{number}")
        params = tiny_params({"tiny": folder}, kind="masked", **entry)
        return load("tiny", params, store=store or RowStore(tmp_path / f"store-{number}"))

    return make


class TestMasked:
    @pytest.mark.parametrize("kind", ["bert", "roberta"])
    def test_is_the_mean_of_a_pass_a_token(self, kind, tmp_path, loaded, monkeypatch) -> None:
        monkeypatch.setitem(encoders.MASKED, "cpu", 2000)  # several texts a batch
        model = loaded(save_tiny_masked(tmp_path / kind, kind))

        found = model.in_place(ASKED)

        by_token = [plain_masked(model, placed) for placed in ASKED]
        assert [len(nats) for nats in by_token[:7]] == [5, 11, 5, 1, 6, 5, 6]
        assert found == pytest.approx([nats.mean() for nats in by_token], abs=NATS)
        assert np.ptp(found) > 0.1
        assert (found.dtype, model.asked) == (np.float64, len(ASKED))

    def test_tokens_right_of_one_are_hidden_from_it(self, loaded) -> None:
        """The order of masking is the measure's own: with the rest of the word in sight it is
        another number."""
        import torch

        model = loaded()
        found = model.in_place([WordInPlace(FELT, "often", " feel this way.")])[0]

        backend = model.backend
        encoded = backend.tokenizer(f"{FELT}often feel this way.")
        seen = []
        for position in sorted({encoded.char_to_token(i) for i in range(len(FELT), len(FELT) + 5)}):
            ids = list(encoded["input_ids"])
            ids[position] = backend.tokenizer.mask_token_id
            with torch.inference_mode():
                logits = backend.model(input_ids=torch.tensor([ids])).logits[0, position].double()
            seen.append(float(logits.log_softmax(-1)[encoded["input_ids"][position]]))
        assert abs(found - np.mean(seen)) > 1e-3

    def test_both_sides_are_read(self, loaded) -> None:
        found = loaded().in_place(
            [
                WordInPlace(FELT, "often", " sing."),
                WordInPlace(FELT, "often", " sink."),
                WordInPlace("We ", "often", " sing."),
            ]
        )
        assert abs(np.diff(found)).min() > 1e-4

    def test_a_token_that_spans_the_border_is_the_words(self, loaded) -> None:
        model = loaded()
        assert model.backend.tokenizer.tokenize("x the")[1:] == ["Ġthe"]
        found = model.in_place([WordInPlace("x ", "the", " y")])[0]
        assert found == pytest.approx(
            plain_masked(model, WordInPlace("x ", "the", " y"))[0], abs=NATS
        )

    def test_in_small_batches_too(self, tmp_path, loaded, monkeypatch) -> None:
        folder = save_tiny_masked(tmp_path / "bert")
        monkeypatch.setitem(encoders.MASKED, "cpu", 5000)
        together = loaded(folder).in_place(ASKED)
        monkeypatch.setitem(encoders.MASKED, "cpu", 1)
        assert loaded(folder).in_place(ASKED) == pytest.approx(together, abs=1e-5)

    def test_no_words_no_numbers(self, loaded) -> None:
        model = loaded()
        assert model.in_place([]).shape == (0,)
        assert model._backend is None

    def test_a_word_without_a_token(self, loaded) -> None:
        with pytest.raises(ValueError, match="no token holds ''"):
            loaded().in_place([WordInPlace("He is", "", "here")])


class TestStore:
    def test_nothing_is_asked_twice(self, tmp_path, store, loaded, monkeypatch) -> None:
        folder = save_tiny_masked(tmp_path / "bert")
        first = loaded(folder, store)
        answers = first.in_place(ASKED)
        assert first.in_place([*ASKED, ASKED[0]]).tolist() == [*answers, answers[0]]
        assert first.asked == len(ASKED)

        again = loaded(folder, store)
        monkeypatch.setattr(again, "_load", lambda: pytest.fail("the model was loaded"))
        assert again.in_place(ASKED[::-1]).tolist() == answers[::-1].tolist()
        assert again.asked == 0

    def test_the_place_is_part_of_the_question(self, loaded) -> None:
        model = loaded()
        found = model.in_place(
            [WordInPlace("often, ", "often", " he"), WordInPlace("", "often", ", often he")]
        )
        assert model.asked == 2
        assert found[0] != found[1]

    def test_what_is_missing_alone_is_put_in(self, tmp_path, store, loaded) -> None:
        folder = save_tiny_masked(tmp_path / "bert")
        loaded(folder, store).in_place(ASKED[:3])
        model = loaded(folder, store)
        expected = [plain_masked(model, placed).mean() for placed in ASKED[:6]]
        assert model.in_place(ASKED[:6]) == pytest.approx(expected, abs=NATS)


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

    def test_a_causal_model_has_no_head_for_masks(self, tmp_path, loaded, error_of) -> None:
        folder = save_tiny(tmp_path / "causal")
        line = error_of(loaded(folder).in_place, ASKED[:1])
        assert line.startswith(f"{folder}: tiny does not load (")

    def test_weights_that_are_no_numbers(self, tmp_path, loaded, error_of) -> None:
        from safetensors.torch import load_file, save_file

        folder = save_tiny_masked(tmp_path / "bert")
        weights = load_file(folder / "model.safetensors")
        weights["cls.predictions.bias"][1] = float("nan")
        save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
        line = error_of(loaded(folder).in_place, [WordInPlace("He\n", "often", "")])
        assert (
            line == "model tiny: tiny answers with what is no number; take another dtype or model"
        )

    def test_weights_that_are_lacking(self, tmp_path, loaded, error_of) -> None:
        from safetensors.torch import load_file, save_file

        folder = save_tiny_masked(tmp_path / "bert")
        weights = load_file(folder / "model.safetensors")
        del weights["cls.predictions.transform.dense.weight"]
        save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
        line = error_of(loaded(folder).in_place, ASKED[:1])
        assert (
            line
            == f"{folder}: tiny lacks 1 tensors, as cls.predictions.transform.dense.weight; see "
            "its `source`"
        )
