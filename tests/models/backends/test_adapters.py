import logging
import shutil
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from evenruler.models import LABELS, load
from evenruler.models.backends.encoders import (
    Adapter,
    Classifier,
    head_of,
    load_adapted,
    load_with_head,
)
from evenruler.models.loading import silence_libraries
from evenruler.models.questions import EntailmentPair
from evenruler.models.store import RowStore
from evenruler.training.fit import finetune
from tests.training import tiny
from tests.training.tiny import KINDS, PAIRS, WORDS, params, workshop

ADAPTER = Path("data/adapters/tiny")
OWN_ORDER = PAIRS["pairs"]["labels"]
SHORT = {"epochs": 1, "held_out": 100}


def first_and_next(n: int) -> EntailmentPair:
    """The first n words, and the n after them."""
    first, after = WORDS[:n], WORDS[n : 2 * n]
    return " ".join(first), " ".join(after)


SAID: list[EntailmentPair] = [
    ("w5 w6 w7", "w0 w8"),
    ("w0 w8", "w5 w6 w7"),
    ("w5", "w1"),
    *map(first_and_next, range(1, 15)),
]


@pytest.fixture(scope="module")
def adapter_workshop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workshop with an adapter for pairs, for tests that change nothing in it."""
    folder = workshop(tmp_path_factory.mktemp("made"))
    with pytest.MonkeyPatch.context() as patched:
        patched.chdir(folder)
        finetune(
            "tiny",
            params(PAIRS, epochs=6),
            store=RowStore(folder / "cache"),
        )
    return folder


@pytest.fixture
def here(adapter_workshop: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of it to stand in."""
    shutil.copytree(adapter_workshop, tmp_path / "here")
    monkeypatch.chdir(tmp_path / "here")
    return tmp_path / "here"


def plain(pairs: Sequence[EntailmentPair]) -> np.ndarray:
    """[n, 3] logits in the order of `LABELS`, one pair at a time through transformers and peft,
    nothing merged."""
    from peft import PeftModel
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained("encoder")
    with silence_libraries():
        base = AutoModelForSequenceClassification.from_pretrained("encoder", num_labels=3)
        model = PeftModel.from_pretrained(base, ADAPTER).eval()
    inputs = [tokenizer(*pair, return_tensors="pt") for pair in pairs]
    with torch.inference_mode():
        logits = torch.cat([model(**of_pair).logits for of_pair in inputs]).numpy()
    return logits[:, list(map(OWN_ORDER.index, LABELS))]


class TestLogits:
    def test_are_those_of_transformers_and_peft(self, here, store) -> None:
        model = load("tiny", params(PAIRS), store=store)

        logits = model.entailment(SAID)

        expected = plain(SAID)
        assert logits == pytest.approx(expected, abs=1e-5)
        assert (np.ptp(expected, axis=0) > 0.5).all()
        # Premise and hypothesis are not the same to it.
        assert abs(logits[0] - logits[1]).max() > 1e-2
        assert (model.entailment(SAID[::-1]) == logits[::-1]).all()
        assert model.asked == len(SAID)

    @pytest.mark.parametrize("kind", ["roberta", "distilbert"])
    def test_of_a_head_on_every_kind_of_encoder(self, kind, tmp_path, monkeypatch, store) -> None:
        monkeypatch.chdir(workshop(tmp_path, kind))
        declared = params(PAIRS, fit="head", **SHORT)
        finetune("tiny", declared, store=store)
        logits = load("tiny", declared, store=store).entailment(SAID)
        assert logits == pytest.approx(plain(SAID), abs=1e-5)
        assert (np.ptp(logits, axis=0) > 1e-3).all()

    def test_they_are_computed_on_the_device_that_is_asked_for(self, here) -> None:
        classifier = Classifier(
            "tiny", Path("encoder"), "meta", "float32", Adapter(ADAPTER, OWN_ORDER)
        )
        assert classifier.model.device.type == "meta"

    def test_loading_changes_nothing_that_is_drawn_after(self, here) -> None:
        torch.manual_seed(5)
        expected = torch.rand(3)
        torch.manual_seed(5)
        load_adapted("tiny", Path("encoder"), Adapter(ADAPTER, OWN_ORDER), torch.float32)
        assert torch.equal(torch.rand(3), expected)


class TestCatalogue:
    def test_answers_of_another_adapter_are_others(self, here, store) -> None:
        old = load("tiny", params(PAIRS), store=store)
        before = old.entailment(SAID)
        finetune(
            "tiny",
            params(PAIRS, seed=1, **SHORT),
            store=store,
        )
        new = load("tiny", params(PAIRS), store=store)
        assert abs(new.entailment(SAID) - before).max() > 1e-2
        assert new.asked == len(SAID)
        assert new.entailment(SAID) == pytest.approx(plain(SAID), abs=1e-5)


class TestWhatIsRefused:
    @pytest.fixture
    def refused_line(self, here, store, error_of) -> Callable[[], str]:
        """The line that answers a question."""
        return lambda: error_of(lambda: load("tiny", params(PAIRS), store=store).entailment(SAID))

    def test_an_encoder_without_adapter(self, refused_line) -> None:
        shutil.rmtree(ADAPTER)
        assert (
            refused_line()
            == "data/adapters/tiny: tiny has no adapter yet; run `evenruler finetune tiny`"
        )

    def test_other_weights(self, refused_line) -> None:
        tiny.save_encoder(Path("encoder"), seed=1)
        refused = (
            "data/adapters/tiny: fitted on other weights than `source` has; run `evenruler "
            "finetune tiny`"
        )
        assert refused_line() == refused

    @pytest.mark.parametrize(
        "tensor",
        ["classifier.weight", "bert.encoder.layer.1.output.dense.lora_B.weight"],
    )
    def test_an_adapter_that_lacks_a_tensor(self, tensor, refused_line) -> None:
        path = ADAPTER / "adapter_model.safetensors"
        tensors = load_file(path)
        del tensors[f"base_model.model.{tensor}"]
        save_file(tensors, path)
        line = refused_line()
        assert line.startswith(f"{ADAPTER}: tiny ")
        assert f"base_model.model.{tensor}" in line
        assert line.endswith("; run `evenruler finetune tiny --again`")

    @pytest.mark.parametrize("content", [None, b"nothing"])
    def test_weights_that_cannot_be_read(self, content, refused_line) -> None:
        path = ADAPTER / "adapter_model.safetensors"
        if content is None:
            path.unlink()
            assert refused_line() == f"{ADAPTER}: no weights of tiny; run `evenruler finetune tiny`"
        else:
            path.write_bytes(content)
            line = refused_line()
            assert line.startswith(f"{ADAPTER}: tiny does not load (")
            assert line.endswith("; run `evenruler finetune tiny --again`")


@pytest.mark.parametrize(
    ("kind", "head"),
    [
        ("bert", ["pooler", "classifier"]),
        ("roberta", ["classifier"]),
        ("distilbert", ["pre_classifier", "classifier"]),
    ],
)
def test_what_is_made_up_is_the_head(kind, head, tmp_path) -> None:
    assert kind in KINDS
    folder = tiny.save_encoder(tmp_path / kind, kind)
    model, made_up = load_with_head("tiny", folder, [*"abcd"], torch.float32)
    assert head_of(model) == head
    assert {key.split(".")[0] for key in made_up} == {*head} - {"pooler"}
    assert model.config.id2label == dict(enumerate("abcd"))
    assert model.config.label2id == {"a": 0, "b": 1, "c": 2, "d": 3}


class TestQuiet:
    def test_what_was_said_before_is_said_after(self) -> None:
        from transformers.utils import logging as library

        def state() -> tuple[Any, ...]:
            return library.get_verbosity(), library.is_progress_bar_enabled(), warnings.filters[:]

        before = state()
        with silence_libraries():
            assert state()[:2] == (logging.ERROR, False)
            warnings.warn("unheard", FutureWarning, stacklevel=1)
        assert state() == before
        library.disable_progress_bar()
        try:
            with silence_libraries():
                pass
            assert not library.is_progress_bar_enabled()
        finally:
            library.enable_progress_bar()
