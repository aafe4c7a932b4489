"""Probabilities of labels through the row store, for texts that are never cut."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from scipy.special import expit, softmax

from evenruler.models.model import Model
from tests.models.backends.test_encoders import LABELS, plain, save_classifier
from tests.models.conftest import change_json
from tests.training.tiny import LONGEST, WORDS

TEXTS = [
    "w0",
    "w1",
    "w0 w1",
    "w9 nothing w0",
    *(" ".join(WORDS[i:]) for i in range(25)),
]
FITS = " ".join(
    [*WORDS, *WORDS[: LONGEST - 32]]
)  # with its two special tokens as long as the model takes
TOO_LONG = f"{FITS} w0"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_classifier(tmp_path_factory.mktemp("classifier"))


@pytest.fixture
def opened(load_saved) -> Callable[..., Model]:
    return partial(load_saved, kind="classifier")


def must_not_load() -> None:
    raise AssertionError("the model was loaded")


def configured(folder: Path, **keys: object) -> Path:
    change_json(folder / "config.json", **keys)
    return folder


def test_are_those_of_transformers_one_text_at_a_time(folder, opened) -> None:
    probabilities = opened(folder).probabilities(TEXTS)
    assert probabilities == pytest.approx(softmax(plain(folder, TEXTS), axis=1), abs=1e-6)
    assert probabilities.sum(axis=1) == pytest.approx(1)
    assert np.ptp(probabilities, axis=0).min() > 0.02


def test_labels_of_a_multi_label_head_are_independent(tmp_path, opened) -> None:
    folder = configured(
        save_classifier(tmp_path / "multi"), problem_type="multi_label_classification"
    )
    probabilities = opened(folder).probabilities(TEXTS)
    assert probabilities == pytest.approx(expit(plain(folder, TEXTS)), abs=1e-6)
    assert abs(probabilities.sum(axis=1) - 1).max() > 0.1


def test_a_head_of_numbers_is_refused(tmp_path, opened, error_of) -> None:
    folder = configured(save_classifier(tmp_path / "numbers"), problem_type="regression")
    line = error_of(opened(folder).probabilities, ["w0"])
    assert line == (
        "params.yaml: models.tiny: tiny gives no probabilities, its head was trained on "
        "'regression'; name a classifier"
    )


def test_a_text_that_is_too_long_has_none_and_touches_no_other(folder, opened, capfd) -> None:
    model = opened(folder)
    assert np.isfinite(model.classify([TOO_LONG])).all()  # which cuts it
    capfd.readouterr()
    probabilities = model.probabilities(["w1", TOO_LONG, FITS, "w0", TOO_LONG])
    assert np.isnan(probabilities).all(axis=1).tolist() == [
        False,
        True,
        False,
        False,
        True,
    ]
    assert probabilities[[0, 2, 3]] == pytest.approx(
        softmax(plain(folder, ["w1", FITS, "w0"]), axis=1), abs=1e-6
    )
    assert "cut" not in capfd.readouterr().err
    assert np.isnan(model.probabilities([f"{TOO_LONG} w1"])).all()  # none that fits


def test_labels_are_those_of_params_and_ask_for_no_weights(
    folder, opened, error_of, monkeypatch
) -> None:
    for entry, labels in (
        ({}, LABELS),
        ({"labels": [*"abcd"]}, [*"abcd"]),
    ):
        model = opened(folder, **entry)
        monkeypatch.setattr(model, "_load", must_not_load)
        assert model.labels == labels
    line = error_of(opened(folder, labels=["a", "b"]).probabilities, ["w0"])
    assert line == (
        "params.yaml: models.tiny.labels: 2 labels for a head of 4; name every output of the head, "
        "in order"
    )
