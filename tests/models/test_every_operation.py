"""What holds of every operation: order and repeats do not matter, nothing is asked twice, and
nothing is answered with nothing."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evenruler.models import WordInPlace, load
from evenruler.models.model import Model
from evenruler.models.store import RowStore
from tests.models.backends import test_encoders, test_nli
from tests.models.conftest import TEXTS
from tests.tiny import save_tiny, save_tiny_masked
from tests.training.tiny import LONGEST, WORDS

WORDS_IN_PLACE = [
    WordInPlace(f"The man is at the {'very ' * n}big theatre. It is ", word, " big.")
    for n, word in enumerate(["rarely", "often", "é", "always", "never", "the"])
]
TOO_LONG = " ".join([*WORDS, *WORDS[: LONGEST - 31]])
QUESTIONS: dict[str, list[Any]] = {
    "loglikelihood": TEXTS,
    "next_words": TEXTS,
    "in_place": WORDS_IN_PLACE,
    "pll": TEXTS,
    "entailment": test_nli.PAIRS,
    "classify": test_encoders.TEXTS,
    "probabilities": [*test_encoders.TEXTS, TOO_LONG],
    "embed": test_encoders.SENTENCES[::6],
}
"""By operation, more than go into one pack."""
KINDS = {
    "loglikelihood": "causal",
    "next_words": "causal",
    "in_place": "masked",
    "pll": "masked",
    "entailment": "nli",
    "classify": "classifier",
    "probabilities": "classifier",
}
SAVERS: dict[str, Callable[[Path], Path]] = {
    "causal": save_tiny,
    "masked": save_tiny_masked,
    "nli": test_nli.save_classifier,
    "classifier": test_encoders.save_classifier,
}
SHAPES = {
    "loglikelihood": (0,),
    "in_place": (0,),
    "pll": (0,),
    "entailment": (0, 3),
    "classify": (0, 4),
    "probabilities": (0, 4),
}


@pytest.fixture
def open_model(load_saved, tmp_path, shipped_params, set_capacity):
    """Opens the model of an operation on a store in a folder, as another process would."""
    set_capacity(nodes=24)

    def opened(operation, where):
        store = RowStore(tmp_path / where)
        if operation == "embed":
            return load(test_encoders.NAME, shipped_params, store=store)
        kind = KINDS[operation]
        return load_saved(
            SAVERS[kind](tmp_path / "model"),
            store=store,
            kind=kind,
        )

    return opened


def ask(model: Model, operation: str, questions: list[Any]) -> np.ndarray:
    lists = [["the", "man", "a"]] if operation == "next_words" else []
    answers = getattr(model, operation)(questions, *lists)
    return np.asarray(getattr(answers, "nats", answers))


@pytest.mark.parametrize("operation", [*KINDS, pytest.param("embed", marks=pytest.mark.slow)])
def test_order_and_repeats_do_not_matter_and_nothing_is_asked_twice(
    operation, open_model, monkeypatch
) -> None:
    questions = QUESTIONS[operation]
    first = open_model(operation, "first")
    answers = ask(first, operation, questions)
    assert first.asked == len(questions)
    order = [*np.random.default_rng(0).permutation(len(questions)), 2, 2]
    shuffled = [questions[place] for place in order]

    fresh, again = open_model(operation, "fresh"), open_model(operation, "first")
    monkeypatch.setattr(again, "_load", lambda: pytest.fail("the model was loaded"))

    for model, n_asked in ((fresh, len(questions)), (again, 0)):
        np.testing.assert_array_equal(ask(model, operation, shuffled), answers[order])
        assert model.asked == n_asked


@pytest.mark.parametrize(("operation", "shape"), SHAPES.items())
def test_nothing_is_answered_with_nothing(operation, shape, open_model, monkeypatch) -> None:
    model = open_model(operation, "empty")
    if operation != "classify":  # whose number of labels is that of its files
        monkeypatch.setattr(model, "_load", lambda: pytest.fail("the model was loaded"))

    answers = ask(model, operation, [])

    assert (answers.shape, answers.dtype, model.asked) == (shape, np.float64, 0)
