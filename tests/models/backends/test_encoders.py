import json
import shutil
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from evenruler.models import load, sources
from evenruler.models.backends.encoders import (
    SentenceEmbedder,
    load_with_head,
    max_input_tokens,
    pack_by_length,
)
from evenruler.models.model import Model
from tests.later import Later
from tests.tiny import made_once
from tests.training.tiny import LONGEST, WORDS, save_encoder

LABELS = ["calm", "sad", "glad", "cross"]
TEXTS = [
    "w0",
    "w1",
    "w0 w1",
    "w1 w0",
    "w9 nothing w0",
    "",
    *(" ".join(WORDS[i:]) for i in range(25)),
]


@made_once
def save_classifier(
    folder: Path, kind: str = "bert", labels: Sequence[str] = LABELS, **config: Any
) -> Path:
    """Save a tiny encoder with a random head."""
    save_encoder(folder, kind, **config)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model, _ = load_with_head("tiny", folder, labels, torch.float32)
    model.classifier.apply(
        lambda module: [parameter.data.mul_(10) for parameter in module.parameters(recurse=False)]
    )
    model.save_pretrained(folder)
    return folder


def plain(folder: Path, texts: Sequence[str], **options: Any) -> np.ndarray:
    """[n, k] logits, one text at a time through transformers."""
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForSequenceClassification.from_pretrained(folder, dtype=torch.float32).eval()
    inputs = [tokenizer(text, return_tensors="pt", **options) for text in texts]
    with torch.inference_mode():
        return torch.cat([model(**of_text).logits for of_text in inputs]).numpy()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_classifier(tmp_path_factory.mktemp("classifier"))


@pytest.fixture
def loaded(load_saved) -> Callable[..., Model]:
    return partial(load_saved, kind="classifier")


class TestLogits:
    @pytest.mark.parametrize("kind", ["bert", "roberta", "distilbert"])
    def test_are_those_of_transformers_one_text_at_a_time(self, kind, tmp_path, loaded) -> None:
        folder = save_classifier(tmp_path / kind, kind)

        model = loaded(folder)
        logits = model.classify(TEXTS)

        assert logits == pytest.approx(plain(folder, TEXTS), abs=1e-5)
        assert (np.ptp(logits, axis=0) > 0.1).all()
        assert model.labels == LABELS

    def test_a_text_that_is_too_long_is_cut_and_that_is_said(self, folder, loaded, capsys) -> None:
        texts = [
            " ".join(WORDS * 3),
            "w0",
            " ".join([*WORDS, *WORDS[: LONGEST - 32]]),
        ]
        logits = loaded(folder).classify(texts)
        assert f"tiny: 1 texts cut to fit into {LONGEST} tokens\n" in capsys.readouterr().err
        assert logits == pytest.approx(plain(folder, texts, truncation=True), abs=1e-5)
        assert abs(logits[0] - logits[2]).max() < 1e-5


class TestPacks:
    """Batches of texts that are as many tokens long as they say."""

    @pytest.mark.parametrize(
        ("lengths", "expected"),
        [
            ([], []),
            ([5, 1, 4, 1], [[1, 3, 2], [0]]),
            ([13, 40], [[0], [1]]),
        ],
    )
    def test_hold_what_fits(self, lengths, expected) -> None:
        tokens = [[0] * n for n in lengths]
        texts = [(str(place),) for place in range(len(lengths))]
        assert pack_by_length(tokens, texts, 12) == expected


@pytest.mark.parametrize(
    ("kind", "positions", "limit", "expected"),
    [
        ("bert", 62, 60, 60),
        ("bert", 62, int(1e30), 62),
        ("roberta", 62, int(1e30), 60),
    ],
)
def test_the_longest_text(kind, positions, limit, expected) -> None:
    from transformers import AutoConfig

    class Tokenizer:
        model_max_length = limit

    config = AutoConfig.for_model(kind, max_position_embeddings=positions, pad_token_id=1)
    assert max_input_tokens(Tokenizer(), config) == expected


sentence_transformers = Later("sentence_transformers")

NAME = "all-minilm-l6-v2"
SENTENCES = [
    "A typical someone is a someone.",
    "In this story, the main character is a someone who is also a someone.",
    "I would be surprised if the someone was not a someone.",
    "x",
    "naïve café — 東京 🎉",
    "",
    *(
        f"The someone has dreamed {'very ' * i}long of becoming a someone." for i in range(40)
    ),  # two batches
]


@pytest.fixture
def embedder(shipped_params, store):
    return load(NAME, shipped_params, store=store)


def plain_vectors(folder: Path, texts: list[str]) -> np.ndarray:
    """[n, 384] by sentence-transformers, one text at a time."""
    reference = sentence_transformers.SentenceTransformer(
        str(folder), device="cpu", local_files_only=True
    )
    return np.stack([reference.encode(text) for text in texts])


@pytest.mark.slow
def test_vectors_are_those_of_sentence_transformers_and_have_length_one(
    embedder, shipped_params, store
) -> None:
    folder = sources.locate_model(NAME, shipped_params.models[NAME], store)

    vectors = embedder.embed(SENTENCES)

    assert vectors == pytest.approx(plain_vectors(folder, SENTENCES), abs=1e-6)
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(1.0, abs=1e-6)
    assert (vectors.shape, vectors.dtype) == ((len(SENTENCES), 384), np.float32)


def test_a_model_that_does_not_normalise_is_normalised(shipped_params, store, tmp_path) -> None:
    shipped = sources.locate_model(NAME, shipped_params.models[NAME], store)
    folder = shutil.copytree(shipped, tmp_path / "model")
    modules = json.loads((folder / "modules.json").read_text())
    assert modules.pop()["type"].endswith("Normalize")
    (folder / "modules.json").write_text(json.dumps(modules))
    raw = plain_vectors(folder, SENTENCES[:1])[0]
    length = np.linalg.norm(raw)
    assert abs(length - 1) > 0.1

    ((answer,),) = SentenceEmbedder(NAME, folder, "cpu", "float32").embed(
        SENTENCES[:1],
        frozenset([0]),
    )

    assert answer[1] == pytest.approx(raw / length, abs=1e-6)


def test_an_embedder_computes_in_the_dtype_of_its_key_whatever_it_is_stored_in(
    shipped_params, store, tmp_path
) -> None:
    shipped = sources.locate_model(NAME, shipped_params.models[NAME], store)
    folder = shutil.copytree(shipped, tmp_path / "model")
    sentence_transformers.SentenceTransformer(
        str(folder), device="cpu", local_files_only=True
    ).bfloat16().save(str(folder))
    for dtype in ("float32", "bfloat16"):
        embedder = SentenceEmbedder(NAME, folder, "cpu", dtype)
        assert {weight.dtype for weight in embedder._model.parameters()} == {getattr(torch, dtype)}
