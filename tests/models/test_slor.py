"""SLOR of a causal model, held against a plain loop over texts with the raw transformers model."""

import numpy as np
import pytest
import torch

from evenruler.models.backends import causal
from evenruler.models.model import Model
from tests.models.conftest import TEXTS, raw_nats


@pytest.fixture(autouse=True)
def _small_batches(set_capacity, monkeypatch) -> None:
    """So few positions go into a batch that the texts fill several, and the longest alone is more
    than one holds."""
    set_capacity(nodes=40)
    monkeypatch.setattr(causal, "POSITIONS", 8)


def next_nats(model: Model, text: str) -> tuple[np.ndarray, np.ndarray]:
    """[tokens, vocabulary] log-probabilities before each token of a text, and the tokens."""
    nats, tokens = raw_nats(model.backend.model, model.backend.tokenizer, text)
    return nats.numpy(), tokens.numpy()


def by_hand(model: Model, texts: list[str]) -> list[float]:
    """SLOR as it is defined, one text at a time."""
    nats_of_texts = [next_nats(model, text) for text in texts]
    positions = np.concatenate([nats for nats, _ in nats_of_texts])
    unigram = np.log(np.exp(positions).mean(axis=0))
    scores = []
    for nats, tokens in nats_of_texts:
        gains = (nats - unigram)[np.arange(len(tokens)), tokens]
        scores.append(float(gains.mean()))
    return scores


@pytest.mark.parametrize("kind", ["llama", "gemma2", "mamba"])
def test_it_is_what_a_plain_loop_gives(kind, tiny) -> None:
    model = tiny(kind)

    scores = model.slor(TEXTS)

    assert scores == pytest.approx(by_hand(model, TEXTS), abs=1e-4)
    assert (scores.shape, scores.dtype) == ((len(TEXTS),), np.float64)
    assert np.ptp(scores) > 0.1


def test_so_it_is_with_a_tokenizer_that_has_no_start_token(tiny) -> None:
    model = tiny("gpt2", bos=False)

    assert model.slor(TEXTS) == pytest.approx(by_hand(model, TEXTS), abs=1e-4)


def test_a_text_that_stands_twice_counts_twice_in_the_marginal(llama) -> None:
    twice, once = (next_nats(llama, text)[0] for text in TEXTS[:2])
    expected = np.exp([*twice, *twice, *once]).mean(axis=0)

    marginal = llama.backend.marginal([TEXTS[0], TEXTS[1], TEXTS[0]])

    assert np.exp(marginal) == pytest.approx(expected, abs=1e-6)


def test_a_model_that_expects_the_same_everywhere_finds_no_text_acceptable(tiny) -> None:
    """Its likelihood is that of the unigrams, so the figure is 0 whatever the words and however
    many."""
    model = tiny()
    with torch.no_grad():
        model.backend.model.model.norm.weight.zero_()  # no state comes through to the logits

    assert model.slor(TEXTS) == pytest.approx(np.zeros(len(TEXTS)), abs=1e-5)


def test_order_repeats_and_another_process_do_not_matter(open_model, monkeypatch) -> None:
    scores = dict(zip(TEXTS, open_model().slor(TEXTS).tolist(), strict=True))
    order = [
        *TEXTS[::-2],
        *TEXTS[-2::-2],
        TEXTS[3],
    ]
    assert set(order) == set(TEXTS)
    expected = [scores[text] for text in order]

    again = open_model("other")

    assert again.slor(order).tolist() == expected  # bit by bit
    assert again.asked == 2 * len(TEXTS)  # likelihoods, and what is made of them
    stored = open_model("other")
    monkeypatch.setattr(
        stored,
        "_load",
        lambda: pytest.fail("the model was loaded"),
    )
    assert stored.slor(order).tolist() == expected
    assert stored.asked == 0


def test_in_other_company_a_text_is_asked_anew_but_its_likelihood_is_not(open_model) -> None:
    model = open_model()
    together = model.slor(TEXTS)
    n_asked = model.asked

    fewer = model.slor(TEXTS[:4])

    assert fewer == pytest.approx(by_hand(model, TEXTS[:4]), abs=1e-4)
    assert np.abs(fewer - together[:4]).min() > 1e-3
    assert model.asked == n_asked + 4


def test_a_text_without_a_token_is_refused(llama) -> None:
    with pytest.raises(ValueError, match="a text has no token"):
        llama.slor(["The man", ""])
    with pytest.raises(ValueError, match="no text has a token"):
        llama.backend.marginal([""])
