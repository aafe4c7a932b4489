"""SLOR of a causal model, held against a plain loop over texts with the raw transformers model."""

from collections.abc import Callable
from math import log

import numpy as np
import pytest
import torch

from evenruler.models import load
from evenruler.models.backends import causal
from evenruler.models.backends.causal import CAPACITY, Capacity
from evenruler.models.engines import environment
from evenruler.models.model import Model
from evenruler.models.store import RowStore
from tests.models.conftest import TEXTS
from tests.tiny import tiny_params


@pytest.fixture(autouse=True)
def _small_batches(monkeypatch) -> None:
    """So few positions go into a batch that the texts fill several, and the longest alone is more
    than one holds."""
    monkeypatch.setitem(CAPACITY, "cpu", Capacity(nodes=40, sequences=4, replies=4))
    monkeypatch.setattr(causal, "POSITIONS", 8)
    monkeypatch.setattr(environment, "choose_device", lambda wanted: "cpu")


@pytest.fixture
def open_model(llama_folder, tmp_path) -> Callable[..., Model]:
    """Opens the same model on a store in a folder, as another process would."""

    def opened(where: str = "store") -> Model:
        return load("tiny", tiny_params({"tiny": llama_folder}), store=RowStore(tmp_path / where))

    return opened


def next_tokens(model: Model, text: str) -> tuple[np.ndarray, list[int]]:
    """[tokens, vocabulary] log-probabilities before each token of a text, and the tokens."""
    raw, tokenizer = model.backend.model, model.backend.tokenizer
    start = tokenizer.bos_token_id if tokenizer.bos_token_id is not None else tokenizer.eos_token_id
    tokens = tokenizer(text, add_special_tokens=False)["input_ids"]
    ids = torch.tensor([[start, *tokens]])
    with torch.inference_mode():
        logits = raw(input_ids=ids, attention_mask=torch.ones_like(ids), use_cache=False).logits[
            0, :-1
        ]
    return logits.double().log_softmax(-1).numpy(), tokens


def by_hand(model: Model, texts: list[str]) -> list[float]:
    """SLOR as it is defined, one text and one token at a time."""
    found = {text: next_tokens(model, text) for text in texts}
    positions = np.concatenate([log_p for log_p, _ in found.values()])
    unigram = np.exp(positions).mean(axis=0)
    values = []
    for text in texts:
        log_p, tokens = found[text]
        gains = [log_p[place, token] - log(unigram[token]) for place, token in enumerate(tokens)]
        values.append(sum(gains) / len(gains))
    return values


def must_not_load() -> None:
    raise AssertionError("the model was loaded")


@pytest.mark.parametrize("kind", ["llama", "gemma2", "gpt2", "mamba"])
def test_it_is_what_a_plain_loop_gives(kind, tiny) -> None:
    model = tiny(kind)

    found = model.slor(TEXTS)

    assert found == pytest.approx(by_hand(model, TEXTS), abs=1e-4)
    assert (found.shape, found.dtype) == ((len(TEXTS),), np.float64)
    assert np.ptp(found) > 0.1


def test_so_it_is_with_a_tokenizer_that_has_no_start_token(tiny) -> None:
    model = tiny("gpt2", bos=False)

    assert model.slor(TEXTS) == pytest.approx(by_hand(model, TEXTS), abs=1e-4)


def test_the_marginal_is_a_distribution_the_mean_over_all_positions(llama) -> None:
    positions = np.concatenate([next_tokens(llama, text)[0] for text in TEXTS])

    found = llama.backend.marginal(TEXTS)

    assert found == pytest.approx(np.log(np.exp(positions).mean(axis=0)), abs=1e-4)
    assert np.exp(found).sum() == pytest.approx(1.0, abs=1e-9)


def test_a_text_that_stands_twice_counts_twice_in_the_marginal(llama) -> None:
    one, other = (np.exp(next_tokens(llama, text)[0]) for text in TEXTS[:2])
    expected = (2 * one.sum(axis=0) + other.sum(axis=0)) / (2 * len(one) + len(other))

    found = llama.backend.marginal([TEXTS[0], TEXTS[1], TEXTS[0]])

    assert np.exp(found) == pytest.approx(expected, abs=1e-6)


def test_a_model_that_expects_the_same_everywhere_finds_no_text_acceptable(tiny) -> None:
    """Its likelihood is that of the unigrams, so the figure is 0 whatever the words and however
    many."""
    model = tiny()
    with torch.no_grad():
        model.backend.model.model.norm.weight.zero_()  # no state comes through to the logits

    assert model.slor(TEXTS) == pytest.approx(np.zeros(len(TEXTS)), abs=1e-5)


def test_order_and_repeats_do_not_matter(open_model) -> None:
    values = dict(zip(TEXTS, open_model().slor(TEXTS).tolist(), strict=True))
    order = [*TEXTS[::-2], *TEXTS[-2::-2], TEXTS[3]]
    assert set(order) == set(TEXTS)

    again = open_model("other")

    assert again.slor(order).tolist() == [values[text] for text in order]  # bit by bit
    assert again.asked == 2 * len(TEXTS)  # likelihoods, and what is made of them


def test_a_second_call_asks_nothing_and_loads_nothing(open_model, monkeypatch) -> None:
    first = open_model().slor(TEXTS)
    again = open_model()
    monkeypatch.setattr(again, "_load", must_not_load)

    assert again.slor(TEXTS[::-1]).tolist() == first.tolist()[::-1]
    assert again.asked == 0


def test_in_other_company_a_text_is_asked_anew_but_its_likelihood_is_not(open_model) -> None:
    model = open_model()
    together = model.slor(TEXTS)
    asked = model.asked

    fewer = model.slor(TEXTS[:4])

    assert fewer == pytest.approx(by_hand(model, TEXTS[:4]), abs=1e-4)
    assert np.abs(fewer - together[:4]).min() > 1e-3
    assert model.asked == asked + 4


def test_of_nothing_there_is_nothing(open_model, monkeypatch) -> None:
    model = open_model()
    monkeypatch.setattr(model, "_load", must_not_load)

    found = model.slor([])

    assert (found.dtype, found.size) == (np.float64, 0)


def test_a_text_without_a_token_is_refused(llama) -> None:
    with pytest.raises(ValueError, match="a text has no token"):
        llama.slor(["The man", ""])
    with pytest.raises(ValueError, match="no text has a token"):
        llama.backend.marginal([""])


def test_a_packaged_model_finds_a_sentence_better_than_its_words_in_disorder(smollm2) -> None:
    good, bad = "I often feel calm when I am at home.", "Home am calm often I at feel I when."
    other = ["They are never on time.", "He was tired after a long day at work."]

    found = smollm2.slor([good, bad, *other])

    assert found[0] > found[1] + 1
