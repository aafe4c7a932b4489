import json

import numpy as np
import pytest

from evenruler.models import load, sources
from evenruler.models.backends.embedder import SentenceEmbedder
from evenruler.models.store import RowStore
from tests.later import Later

sentence_transformers = Later("sentence_transformers")

NAME = "all-minilm-l6-v2"
TEXTS = [
    "A typical someone is a someone.",
    "In this story, the main character is a someone who is also a someone.",
    "I would be surprised if the someone was not a someone.",
    "x",
    "naïve café — 東京 🎉",
    "",
    *(f"The someone has dreamed {'very ' * i}long of becoming a someone." for i in range(40)),  # two batches
]


@pytest.fixture
def embedder(shipped_params, store):
    return load(NAME, shipped_params, store=store)


def test_vectors_are_those_of_sentence_transformers_and_have_length_one(embedder, shipped_params, store) -> None:
    folder = sources.locate(NAME, shipped_params.models[NAME], store)
    reference = sentence_transformers.SentenceTransformer(str(folder), device="cpu", local_files_only=True)

    found = embedder.embed(TEXTS)

    expected = np.stack([reference.encode(text, normalize_embeddings=True) for text in TEXTS])
    assert found == pytest.approx(expected, abs=1e-6)
    assert np.linalg.norm(found, axis=1) == pytest.approx(1.0, abs=1e-6)
    assert (found.shape, found.dtype) == ((46, 384), np.float32)


def test_a_model_that_does_not_normalise_is_normalised(shipped_params, store, tmp_path) -> None:
    shipped = sources.locate(NAME, shipped_params.models[NAME], store)
    for path in shipped.iterdir():
        (tmp_path / path.name).symlink_to(path)
    modules = json.loads((shipped / "modules.json").read_text())
    assert modules[-1]["type"].endswith("Normalize")
    (tmp_path / "modules.json").unlink()
    (tmp_path / "modules.json").write_text(json.dumps(modules[:-1]))
    texts = TEXTS[:3]
    raw = sentence_transformers.SentenceTransformer(str(tmp_path), device="cpu", local_files_only=True).encode(texts)
    assert abs(np.linalg.norm(raw[0]) - 1) > 0.1

    (batch,) = SentenceEmbedder(NAME, tmp_path, "cpu").embed(texts, frozenset(range(3)))
    vectors = dict(batch)

    assert vectors[0] == pytest.approx(raw[0] / np.linalg.norm(raw[0]), abs=1e-6)


def test_order_and_repeats_do_not_matter_and_nothing_is_asked_twice(
    embedder, shipped_params, tmp_path, monkeypatch
) -> None:
    vectors = dict(zip(TEXTS, embedder.embed(TEXTS), strict=True))
    assert embedder.asked == len(TEXTS)
    order = [*np.random.default_rng(0).permutation(TEXTS).tolist(), TEXTS[2]]

    fresh = load(NAME, shipped_params, store=RowStore(tmp_path / "fresh"))
    assert all((vectors[text] == vector).all() for text, vector in zip(order, fresh.embed(order), strict=True))

    stored = load(NAME, shipped_params, store=RowStore(embedder._cache.store.root))
    monkeypatch.setattr(stored, "_load", lambda: pytest.fail("the model was loaded"))
    assert all((vectors[text] == vector).all() for text, vector in zip(order, stored.embed(order), strict=True))
    assert stored.asked == 0


def test_what_means_nearly_the_same_lies_near(embedder) -> None:
    engineer, builder, cake = embedder.embed(
        ["She works as an engineer.", "She is employed as an engineer.", "The cake was too sweet."]
    )

    assert engineer @ builder > 0.8
    assert engineer @ cake < 0.3
