"""A model that computes with what is no number: one line, and nothing of it is kept."""

import pytest
import torch

from evenruler.models import Model, Sampling, WordInPlace, load
from tests.models.backends import test_encoders, test_nli
from tests.tiny import save_tiny_masked


@pytest.fixture
def broken(tiny) -> Model:
    """A causal model with one weight that is no number."""
    model = tiny(chat=True)
    model.backend.model.base_model.norm.weight.data[3] = torch.nan
    return model


CALLS = {
    "loglikelihood": lambda model: model.loglikelihood(["The man is"]),
    "words": lambda model: model.whole_words(["The man"], [" is"]),
    "next_words": lambda model: model.next_words(["The man"], ["is", "man"]),
    "drawn": lambda model: model.generate(["The man"], sampling=Sampling(4)),
    "likeliest": lambda model: model.generate(["The man"], sampling=Sampling(4, temperature=0)),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_a_weight_that_is_no_number_keeps_no_answer(call, broken, error_of) -> None:
    line = error_of(call, broken)

    assert "tiny answers with what is no number; take another dtype or model" in line
    assert broken._cache.store.count() == 1  # its fingerprint, from before
    assert broken.asked == 0


def test_what_was_finite_before_is_kept(tiny, error_of) -> None:
    model = tiny()
    before = model.loglikelihood(["The man"]).nats
    model.backend.model.base_model.norm.weight.data[3] = torch.nan

    error_of(model.loglikelihood, ["The man", "The woman"])

    assert model._cache.store.count() == 2  # with its fingerprint
    assert model.loglikelihood(["The man"]).nats.tolist() == before.tolist()


def test_of_an_embedder(shipped_params, store, error_of) -> None:
    model = load("all-minilm-l6-v2", shipped_params, store=store)
    encoder = model.backend._model[0].auto_model.encoder
    encoder.layer[0].output.dense.weight.data[0, 0] = torch.nan

    assert "no number" in error_of(model.embed, ["The man is here."])
    assert store.count() == 0  # its fingerprint is a recorded one


HEADED = {
    "pairs": ("nli", test_nli.save_classifier, "entailment", [("A man.", "Somebody.")]),
    "texts": ("classifier", test_encoders.save_classifier, "classify", ["A man."]),
    "shares": ("classifier", test_encoders.save_classifier, "probabilities", ["A man."]),
    "words": ("masked", save_tiny_masked, "in_place", [WordInPlace("The man ", "is", " here.")]),
}


@pytest.mark.parametrize("name", HEADED)
def test_of_heads_and_masked_models(name, load_saved, tmp_path, store, error_of) -> None:
    kind, save, operation, questions = HEADED[name]
    model = load_saved(
        save(tmp_path / "tiny"),
        store=store,
        kind=kind,
    )
    for weight in model.backend.model.parameters():
        weight.data[..., 0] = torch.nan

    line = error_of(getattr(model, operation), questions)

    assert "tiny answers with what is no number" in line
    assert store.count() == 1  # its fingerprint
