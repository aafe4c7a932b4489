import itertools
import json
from collections.abc import Callable, Sequence
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
from evenruler.models.store import RowStore
from evenruler.training.fit import finetune
from tests.later import Later
from tests.tiny import made_once, tiny_params
from tests.training.tiny import LONGEST, MOODS, WORDS, params, save_encoder, workshop

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
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_classifier(tmp_path_factory.mktemp("classifier"))


@pytest.fixture
def loaded(tmp_path: Path) -> Callable[..., Model]:
    """Loads the classifier of a folder; from a store that is empty unless one is given."""
    made = itertools.count()

    def make(folder: Path, store: RowStore | None = None) -> Model:
        declared = tiny_params({"tiny": folder}, kind="classifier")
        return load("tiny", declared, store=store or RowStore(tmp_path / f"store-{next(made)}"))

    return make


class TestLogits:
    @pytest.mark.parametrize("kind", ["bert", "roberta", "mpnet", "distilbert"])
    def test_are_those_of_transformers_one_text_at_a_time(self, kind, tmp_path, loaded) -> None:
        folder = save_classifier(tmp_path / kind, kind)

        model = loaded(folder)
        found = model.classify(TEXTS)

        assert type(model) is Model
        assert found == pytest.approx(plain(folder, TEXTS), abs=1e-5)
        assert (found.shape, found.dtype) == ((len(TEXTS), 4), np.float64)
        assert (np.ptp(found, axis=0) > 0.1).all()
        assert model.labels == LABELS

    def test_of_no_texts(self, folder, loaded) -> None:
        model = loaded(folder)
        assert model.classify([]).shape == (0, 4)
        assert model.asked == 0

    def test_a_text_that_is_too_long_is_cut_and_that_is_said(self, folder, loaded, capsys) -> None:
        long = " ".join(WORDS * 3)
        found = loaded(folder).classify([long, "w0", " ".join([*WORDS, *WORDS[: LONGEST - 32]])])
        assert f"tiny: 1 texts cut to fit into {LONGEST} tokens\n" in capsys.readouterr().err
        assert found[:2] == pytest.approx(plain(folder, [long, "w0"], truncation=True), abs=1e-5)
        assert abs(found[0] - found[2]).max() < 1e-5  # as many words as fit

    def test_one_of_a_class_that_computes_no_number_is_refused(
        self, tmp_path, loaded, error_of
    ) -> None:
        from safetensors.torch import load_file, save_file

        folder = save_classifier(tmp_path / "broken")
        weights = load_file(folder / "model.safetensors")
        weights["bert.embeddings.word_embeddings.weight"][4] = float("nan")  # w0
        save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
        model = loaded(folder)
        assert np.isfinite(model.classify(["w1", "w2"])).all()
        line = error_of(model.classify, ["w1 w2", "w3 w0", "w1"])
        assert line == "'w3 w0': tiny answers with what is no number; take another dtype or model"

    def test_a_file_that_lacks_the_head_is_refused(self, tmp_path, loaded, error_of) -> None:
        folder = save_encoder(tmp_path / "headless")
        line = error_of(loaded(folder).classify, ["w0"])
        assert line == f"{folder}: tiny lacks 2 tensors, as classifier.bias; see its `source`"

    def test_loading_says_nothing(self, folder, loaded, capfd) -> None:
        assert loaded(folder).labels == LABELS
        assert capfd.readouterr() == ("", "")


class TestStore:
    def test_nothing_is_asked_twice(self, folder, store, loaded, monkeypatch) -> None:
        first = loaded(folder, store)
        found = first.classify([*TEXTS, "w0", "w0"])
        assert first.asked == len(TEXTS)
        assert (found[-1] == found[0]).all()

        again = loaded(folder, store)
        monkeypatch.setattr(again, "_load", lambda: pytest.fail("the model was loaded"))
        assert (again.classify(TEXTS[::-1]) == found[: len(TEXTS)][::-1]).all()
        assert again.asked == 0

    def test_what_is_missing_alone_is_put_in(self, folder, store, loaded) -> None:
        before = loaded(folder, store).classify(TEXTS[:4])
        found = loaded(folder, store).classify(TEXTS)
        assert (found[:4] == before).all()
        assert found == pytest.approx(plain(folder, TEXTS), abs=1e-5)

    def test_an_encoder_with_a_head_of_ours_answers_through_it(
        self, tmp_path, monkeypatch, store
    ) -> None:
        monkeypatch.chdir(workshop(tmp_path))
        finetune("tiny", params(MOODS), store=store)

        model = load("tiny", params(MOODS), store=store)
        found = model.classify(["w5 w0 w6", "w5 w1 w6", "w1", "w0"])

        assert type(model) is Model
        assert [["sad", "glad"][i] for i in found.argmax(axis=1)] == ["sad", "glad", "glad", "sad"]
        assert (model.labels, found.shape, model.asked) == (["sad", "glad"], (4, 2), 4)
        again = load("tiny", params(MOODS), store=store)
        monkeypatch.setattr(again, "_load", lambda: pytest.fail("the model was loaded"))
        assert (again.classify(["w0", "w5 w0 w6"]) == found[[3, 0]]).all()
        assert again.asked == 0


class TestCatalogue:
    def test_another_kind_is_no_classifier(self, folder, store, error_of) -> None:
        declared = tiny_params({"tiny": folder}, kind="nli")
        line = error_of(load("tiny", declared, store=store).classify, ["w0"])
        assert line.startswith(
            "params.yaml: models.tiny: tiny (kind nli) cannot classify, only entail; "
        )

    def test_a_classifier_entails_nothing(self, folder) -> None:
        assert not tiny_params({"tiny": folder}, kind="classifier").entails("tiny")


class TestPacks:
    """Batches of texts that are as many tokens long as they say."""

    def of(self, lengths: Sequence[int], capacity: int = 12) -> list[list[int]]:
        return pack_by_length(
            [[0] * n for n in lengths], [(f"{i:02}",) for i in range(len(lengths))], capacity
        )

    @pytest.mark.parametrize(
        ("lengths", "expected"),
        [
            ([], []),
            ([3, 3, 3, 3], [[0, 1, 2, 3]]),
            ([3, 3, 3, 3, 3], [[0, 1, 2, 3], [4]]),
            ([5, 1, 4, 1], [[1, 3, 2], [0]]),
            ([13, 40], [[0], [1]]),
            ([6, 6, 12, 1], [[3, 0], [1], [2]]),
        ],
    )
    def test_hold_what_fits(self, lengths, expected) -> None:
        assert self.of(lengths) == expected

    def test_do_not_depend_on_the_order(self) -> None:
        tokens, texts = [[0] * n for n in (2, 5, 2, 3, 5)], [("b",), ("a",), ("a",), ("c",), ("d",)]
        batches = [[texts[i] for i in batch] for batch in pack_by_length(tokens, texts, 10)]
        turned = pack_by_length(tokens[::-1], texts[::-1], 10)
        assert [[texts[::-1][i] for i in batch] for batch in turned] == batches
        assert batches[0][:2] == [("a",), ("b",)]


@pytest.mark.parametrize(
    ("kind", "positions", "limit", "expected"),
    [
        ("bert", 62, 60, 60),
        ("bert", 62, int(1e30), 62),
        ("roberta", 62, int(1e30), 60),
        ("mpnet", 62, int(1e30), 60),
        ("distilbert", 62, int(1e30), 62),
        ("roberta", 62, 50, 50),
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

    found = embedder.embed(SENTENCES)

    expected = np.stack([reference.encode(text, normalize_embeddings=True) for text in SENTENCES])
    assert found == pytest.approx(expected, abs=1e-6)
    assert np.linalg.norm(found, axis=1) == pytest.approx(1.0, abs=1e-6)
    assert (found.shape, found.dtype) == ((46, 384), np.float32)


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
    assert abs(np.linalg.norm(raw[0]) - 1) > 0.1

    (batch,) = SentenceEmbedder(NAME, tmp_path, "cpu").embed(texts, frozenset(range(3)))
    vectors = dict(batch)

    assert vectors[0] == pytest.approx(raw[0] / np.linalg.norm(raw[0]), abs=1e-6)


def test_order_and_repeats_do_not_matter_and_nothing_is_asked_twice(
    embedder, shipped_params, tmp_path, monkeypatch
) -> None:
    vectors = dict(zip(SENTENCES, embedder.embed(SENTENCES), strict=True))
    assert embedder.asked == len(SENTENCES)
    order = [*np.random.default_rng(0).permutation(SENTENCES).tolist(), SENTENCES[2]]

    fresh = load(NAME, shipped_params, store=RowStore(tmp_path / "fresh"))
    assert all(
        (vectors[text] == vector).all()
        for text, vector in zip(order, fresh.embed(order), strict=True)
    )

    stored = load(NAME, shipped_params, store=RowStore(embedder._cache.store.root))
    monkeypatch.setattr(stored, "_load", lambda: pytest.fail("the model was loaded"))
    assert all(
        (vectors[text] == vector).all()
        for text, vector in zip(order, stored.embed(order), strict=True)
    )
    assert stored.asked == 0


def test_what_means_nearly_the_same_lies_near(embedder) -> None:
    engineer, builder, cake = embedder.embed(
        ["She works as an engineer.", "She is employed as an engineer.", "The cake was too sweet."]
    )

    assert engineer @ builder > 0.8
    assert engineer @ cake < 0.3
