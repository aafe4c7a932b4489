import itertools
import json
from collections.abc import Sequence
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
from evenruler.models.store import RowStore
from tests.later import Later
from tests.tiny import made_once, tiny_params
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
    with torch.inference_mode():
        return np.stack(
            [
                model(**tokenizer(text, return_tensors="pt", **options)).logits[0].numpy()
                for text in texts
            ]
        )


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return save_classifier(tmp_path_factory.mktemp("classifier"))


@pytest.fixture
def loaded(tmp_path):
    """Loads the classifier of a folder; from a store that is empty unless one is given."""
    store_numbers = itertools.count()

    def make(folder, store=None):
        declared = tiny_params({"tiny": folder}, kind="classifier")
        return load(
            "tiny", declared, store=store or RowStore(tmp_path / f"store-{next(store_numbers)}")
        )

    return make


class TestLogits:
    @pytest.mark.parametrize("kind", ["bert", "roberta", "distilbert"])
    def test_are_those_of_transformers_one_text_at_a_time(self, kind, tmp_path, loaded) -> None:
        folder = save_classifier(tmp_path / kind, kind)

        model = loaded(folder)
        logits = model.classify(TEXTS)

        assert logits == pytest.approx(plain(folder, TEXTS), abs=1e-5)
        assert (logits.shape, logits.dtype) == ((len(TEXTS), 4), np.float64)
        assert (np.ptp(logits, axis=0) > 0.1).all()
        assert model.labels == LABELS

    def test_a_text_that_is_too_long_is_cut_and_that_is_said(self, folder, loaded, capsys) -> None:
        long = " ".join(WORDS * 3)
        as_many_as_fit = " ".join([*WORDS, *WORDS[: LONGEST - 32]])
        logits = loaded(folder).classify([long, "w0", as_many_as_fit])
        assert f"tiny: 1 texts cut to fit into {LONGEST} tokens\n" in capsys.readouterr().err
        expected = plain(folder, [long, "w0"], truncation=True)
        assert logits[:2] == pytest.approx(expected, abs=1e-5)
        assert abs(logits[0] - logits[2]).max() < 1e-5

    def test_a_file_that_lacks_the_head_is_refused(self, tmp_path, loaded, error_of) -> None:
        folder = save_encoder(tmp_path / "headless")
        line = error_of(loaded(folder).classify, ["w0"])
        assert line == f"{folder}: tiny lacks 2 tensors, as classifier.bias; see its `source`"


class TestStore:
    def test_what_is_missing_alone_is_put_in(self, folder, store, loaded) -> None:
        before = loaded(folder, store).classify(TEXTS[:4])
        logits = loaded(folder, store).classify(TEXTS)
        assert (logits[:4] == before).all()
        assert logits == pytest.approx(plain(folder, TEXTS), abs=1e-5)


class TestPacks:
    """Batches of texts that are as many tokens long as they say."""

    def pack_lengths(self, lengths: Sequence[int], capacity: int = 12) -> list[list[int]]:
        tokens = [[0] * n for n in lengths]
        texts = [(f"{place:02}",) for place in range(len(lengths))]
        return pack_by_length(tokens, texts, capacity)

    def packed_texts(self, tokens: list[list[int]], texts: list[tuple[str]]) -> list[list[Any]]:
        packs = []
        for pack in pack_by_length(tokens, texts, 10):
            packs.append([texts[place] for place in pack])
        return packs

    @pytest.mark.parametrize(
        ("lengths", "expected"),
        [
            ([], []),
            ([3, 3, 3, 3, 3], [[0, 1, 2, 3], [4]]),
            ([5, 1, 4, 1], [[1, 3, 2], [0]]),
            ([13, 40], [[0], [1]]),
        ],
    )
    def test_hold_what_fits(self, lengths, expected) -> None:
        assert self.pack_lengths(lengths) == expected

    def test_do_not_depend_on_the_order(self) -> None:
        tokens = [[0] * n for n in (2, 5, 2, 3, 5)]
        texts = [(letter,) for letter in "baacd"]
        packs = self.packed_texts(tokens, texts)
        assert self.packed_texts(tokens[::-1], texts[::-1]) == packs
        assert packs[0][:2] == [("a",), ("b",)]


@pytest.mark.parametrize(
    ("kind", "positions", "limit", "expected"),
    [
        ("bert", 62, 60, 60),
        ("bert", 62, int(1e30), 62),
        ("roberta", 62, int(1e30), 60),
        ("mpnet", 62, int(1e30), 60),
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


def test_vectors_are_those_of_sentence_transformers_and_have_length_one(
    embedder, shipped_params, store
) -> None:
    folder = sources.locate_model(NAME, shipped_params.models[NAME], store)
    reference = sentence_transformers.SentenceTransformer(
        str(folder), device="cpu", local_files_only=True
    )

    vectors = embedder.embed(SENTENCES)

    expected = np.stack([reference.encode(text, normalize_embeddings=True) for text in SENTENCES])
    assert vectors == pytest.approx(expected, abs=1e-6)
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(1.0, abs=1e-6)
    assert (vectors.shape, vectors.dtype) == ((46, 384), np.float32)


def test_a_model_that_does_not_normalise_is_normalised(shipped_params, store, tmp_path) -> None:
    shipped = sources.locate_model(NAME, shipped_params.models[NAME], store)
    for path in shipped.iterdir():
        (tmp_path / path.name).symlink_to(path)
    modules = json.loads((shipped / "modules.json").read_text())
    assert modules[-1]["type"].endswith("Normalize")
    (tmp_path / "modules.json").unlink()
    (tmp_path / "modules.json").write_text(json.dumps(modules[:-1]))
    texts = SENTENCES[:3]
    raw = sentence_transformers.SentenceTransformer(
        str(tmp_path), device="cpu", local_files_only=True
    ).encode(texts)
    length = np.linalg.norm(raw[0])
    assert abs(length - 1) > 0.1

    (batch,) = SentenceEmbedder(NAME, tmp_path, "cpu").embed(texts, frozenset(range(3)))
    vectors = dict(batch)

    assert vectors[0] == pytest.approx(raw[0] / length, abs=1e-6)
