"""Pseudo-log-likelihoods of whole texts, against a loop over masks by plain transformers."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from evenruler.models.backends import encoders
from evenruler.models.backends.pseudo_likelihood import (
    masked_tokens,
    pack_masked_texts,
    words_to_score,
)
from evenruler.models.model import Model
from tests.tiny_masked import save_tiny_bert, save_tiny_roberta

NATS = 1e-5

TEXTS = [
    "The nurse told the doctor that she was late.",
    "The nurses told the doctor that he was late.",
    "Unkindness!",
    "the",
    "kindly, the man is kind",
    "The souvenirs -- all of them -- were late, weren't they?",
    *(f"The man {'was kind and ' * n}is unkind." for n in range(12)),
]
SAVERS = {"bert": save_tiny_bert, "roberta": save_tiny_roberta}


@pytest.fixture(params=sorted(SAVERS))
def loaded(request: pytest.FixtureRequest, tmp_path: Path, load_saved: Any) -> Model:
    """A tiny model in the class of a published one."""
    model: Model = load_saved(SAVERS[request.param](tmp_path / "model"), kind="masked")
    return model


def begins_word(tokens: list[str], place: int, *, in_bytes: bool) -> bool:
    """Whether a token begins a word, by what its vocabulary writes: BERT's pieces within words have
    ##; RoBERTa's (`in_bytes`) first ones have a space, signs and "'t" are words of their own."""
    token, before = tokens[place], tokens[place - 1]
    if not in_bytes:
        return not token.startswith("##")
    if place == 0 or token.startswith("Ġ") or before == "Ċ":  # which is a line break
        return True
    is_of_same_kind = token.isalpha() == before.lstrip("Ġ").isalpha()
    return before not in ("'", "Ġ") and not is_of_same_kind


def loop_over_masks(model: Model, text: str, prompt: str = "", *, in_words: bool = True) -> float:
    """Sum over the tokens of a text of the log-probability of each, one pass a token, itself and
    those right of it in its word masked (`in_words` is false: itself alone)."""
    tokenizer, network = model.backend.tokenizer, model.backend.model
    ids = torch.tensor(tokenizer(prompt + text)["input_ids"])
    tokens = tokenizer.convert_ids_to_tokens(ids)[1:-1]
    n_before = len(tokenizer(prompt, add_special_tokens=False)["input_ids"])
    in_bytes, nats = "Ġ" in tokenizer.get_vocab(), 0.0
    for place in range(n_before, len(tokens)):
        end = place + 1
        while in_words and end < len(tokens) and not begins_word(tokens, end, in_bytes=in_bytes):
            end += 1
        masked = ids.clone()
        masked[place + 1 : end + 1] = tokenizer.mask_token_id
        with torch.inference_mode():
            logits = network(input_ids=masked[None]).logits[0, place + 1].double()
        nats += float(logits.log_softmax(-1)[ids[place + 1]])
    return nats


class TestPll:
    def test_is_a_loop_over_masks(self, loaded: Model, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(encoders.MASKED, "cpu", 2000)  # several texts a pack
        likelihoods = loaded.pll(TEXTS)
        expected = [loop_over_masks(loaded, text) for text in TEXTS]
        assert likelihoods.nats == pytest.approx(expected, abs=NATS)
        tokenizer = loaded.backend.tokenizer
        lengths = [len(tokenizer(text, add_special_tokens=False)["input_ids"]) for text in TEXTS]
        assert likelihoods.tokens.tolist() == lengths
        assert (likelihoods.nats.dtype, loaded.asked) == (np.float64, len(TEXTS))

    def test_a_long_word_is_not_given_away_by_its_end(self, loaded: Model) -> None:
        """Masking one token alone is another number, where a word has several."""
        text = TEXTS[2]
        alone = loop_over_masks(loaded, text, in_words=False)
        assert abs(loaded.pll([text]).nats[0] - alone) > 0.01
        short = loop_over_masks(loaded, "a?", in_words=False)  # two words of one token
        assert loaded.pll(["a?"]).nats[0] == pytest.approx(short, abs=NATS)

    def test_a_prompt_is_read_and_not_scored(self, loaded: Model) -> None:
        prompt, text = "The doctor was late.", "She is kind."
        likelihoods = loaded.pll([text, text], [prompt, ""])
        expected = [loop_over_masks(loaded, f" {text}", prompt), loop_over_masks(loaded, text)]
        assert likelihoods.nats == pytest.approx(expected, abs=NATS)
        assert abs(expected[0] - expected[1]) > 0.1
        parted = loaded.pll([text], [prompt], between="\n").nats[0]
        assert parted == pytest.approx(loop_over_masks(loaded, f"\n{text}", prompt), abs=NATS)

    def test_packs_and_parts_of_a_text_change_nothing(
        self, loaded: Model, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setitem(encoders.MASKED, "cpu", 40)  # less than one text needs
        expected = [loop_over_masks(loaded, text) for text in TEXTS[:4]]
        assert loaded.pll(TEXTS[:4]).nats == pytest.approx(expected, abs=NATS)


def test_a_word_that_wordpiece_does_not_know_leaves_its_text_out(
    tmp_path: Path, load_saved: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    model = load_saved(save_tiny_bert(tmp_path / "bert"), kind="masked")
    likelihoods = model.pll(["The naïve 東京 nurse", "the nurse"])
    assert np.isnan(likelihoods.nats).tolist() == [True, False]
    assert likelihoods.tokens.tolist() == [0, 2]
    assert (
        "unknown to its tokenizer: '東京'; texts with them are left out" in capsys.readouterr().err
    )
    assert likelihoods.nats[1] == pytest.approx(loop_over_masks(model, "the nurse"), abs=NATS)


def test_masks_of_words_by_hand() -> None:
    # [CLS] he | un ##kind ##ness . [SEP], of which "he" is the prompt.
    word_ids = [None, 0, 1, 1, 1, 2, None]
    begins = [0, 0, 3, 5, 9, 13, 0]
    ends = [0, 2, 5, 9, 13, 14, 0]
    words = words_to_score(word_ids, list(zip(begins, ends, strict=True)), 2)
    assert words == [[2, 3, 4], [5]]
    masked_by_token = {row.token: list(row.masked) for row in masked_tokens(7, words)}
    assert masked_by_token == {2: [2, 3, 4], 3: [3, 4], 4: [4], 5: [5]}
    # A token across the border is scored, and one without letters behind it, too.
    across = [(0, 3), (3, 4), (4, 4)]
    assert words_to_score([0, 0, 1], across, 2) == [[0, 1], [2]]


def test_packs_hold_texts_of_one_length_and_no_more_than_fits() -> None:
    lengths = [4, 9, 4, 4, 30]
    n_rows = [2, 7, 2, 2, 28]
    packs = pack_masked_texts(lengths, n_rows, list("bdace"), 16)
    assert packs == [[2, 0], [3], [1], [4]]
