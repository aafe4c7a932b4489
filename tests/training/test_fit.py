import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from filelock import FileLock
from safetensors.torch import load_file, save_file

from evenruler.models import LABELS, load
from evenruler.models.backends.encoders import load_with_head
from evenruler.models.loading import AdapterRecord, read_adapter
from evenruler.models.store import RowStore
from evenruler.training import fit
from evenruler.training.fit import finetune
from tests.training import tiny
from tests.training.tiny import MOODS, PAIRS, declaration, params, workshop

ADAPTER = Path("data/adapters/tiny")
FILES = {"adapter_config.json", "adapter_model.safetensors", "training.json", "README.md"}

SHORT = {"epochs": 1, "held_out": 120}
"""A recipe whose figures do not matter."""


class Killed(BaseException):
    """What ends a process, where it is enough to end the call."""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A workshop to stand in."""
    monkeypatch.chdir(workshop(tmp_path))
    return tmp_path


def contents(folder: Path = ADAPTER) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def accuracy(found: np.ndarray, rows: list[dict[str, Any]], labels: list[str]) -> float:
    """Share of rows of which logits in that order of labels say what is right."""
    right = [
        row["label"] if isinstance(row["label"], int) else labels.index(row["label"])
        for row in rows
    ]
    return float((found.argmax(axis=1) == np.array(right)).mean())


def texts_of(rows: list[dict[str, Any]]) -> list[str]:
    return [row["text"] for row in rows]


def pairs_of(rows: list[dict[str, Any]]) -> list[tuple[str, str]]:
    return [(row["premise"], row["hypothesis"]) for row in rows]


FRESH = tiny.moods(60, seed=7)
FRESH_PAIRS = tiny.pairs(60, seed=7)


@pytest.fixture(scope="module")
def fitted(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, AdapterRecord]:
    """A workshop with an adapter for moods and its record, for tests that change nothing in it."""
    folder = workshop(tmp_path_factory.mktemp("fitted"))
    with pytest.MonkeyPatch.context() as patched:
        patched.chdir(folder)
        record = finetune("tiny", params(MOODS), store=RowStore(folder / "cache"))
    return folder, record


class TestWhatIsLearned:
    @pytest.mark.parametrize(
        "kind",
        [
            "mpnet",
            *(pytest.param(kind, marks=pytest.mark.slow) for kind in ("roberta", "distilbert")),
        ],
    )
    def test_by_every_kind_of_encoder(self, kind, tmp_path, monkeypatch, store) -> None:
        monkeypatch.chdir(workshop(tmp_path, kind))

        record = finetune("tiny", params(MOODS), store=store)

        found = load("tiny", params(MOODS), store=store).classify(texts_of(FRESH))
        assert accuracy(found, FRESH, ["sad", "glad"]) > 0.95
        assert record.accuracy > 0.95

    def test_by_an_adapter(self, fitted, monkeypatch, store) -> None:
        folder, record = fitted
        monkeypatch.chdir(folder)
        found = load("tiny", params(MOODS), store=store).classify(texts_of(FRESH))
        assert accuracy(found, FRESH, ["sad", "glad"]) > 0.95
        assert (record.n_held_out, record.labels, record.below_bar) == (40, ["sad", "glad"], False)
        assert record.accuracy > 0.95

    def test_the_other_way_round_where_labels_are(self, here, store) -> None:
        turned = {"moods": {**MOODS["moods"], "labels": ["glad", "sad"]}}
        finetune("tiny", params(turned), store=store)
        model = load("tiny", params(turned), store=store)
        assert model.labels == ["glad", "sad"]
        # w0 is 0, the first label, whatever it is called.
        assert accuracy(model.classify(texts_of(FRESH)), FRESH, ["glad", "sad"]) > 0.95

    def test_entailment_from_data_that_order_labels_each_in_their_way(self, here, store) -> None:
        rows = tiny.pairs(200, seed=1)
        numbered = ["neutral", "contradiction", "entailment"]
        tiny.write(
            here / "numbers.jsonl", [{**row, "label": numbered.index(row["label"])} for row in rows]
        )
        declared = params({**PAIRS, "numbers": {"labels": numbered}}, data=["numbers"], epochs=6)

        record = finetune("tiny", declared, store=store)

        assert (
            record.labels == PAIRS["pairs"]["labels"] == ["contradiction", "entailment", "neutral"]
        )
        found = load("tiny", declared, store=store).entailment(pairs_of(FRESH_PAIRS))
        assert accuracy(found, FRESH_PAIRS, list(LABELS)) > 0.95
        assert record.accuracy > 0.95
        assert record.content["held_out"]["by_label"].keys() == set(LABELS)
        assert (record.content["held_out"]["data"], list(record.content["data"])) == (
            "pairs",
            ["numbers", "pairs"],
        )
        assert len(record.content["sense_checks"]) == 21

    def test_the_figure_is_that_of_the_rows_held_out(self, fitted, monkeypatch, store) -> None:
        folder, record = fitted
        monkeypatch.chdir(folder)
        declared = params(MOODS)
        rows, _ = fit.read_data("moods", declared.training["moods"])
        recipe = declared.models["tiny"].finetune
        assert recipe is not None
        _, held_out = fit.split_data({"moods": rows}, recipe)
        logits = load("tiny", declared, store=store).classify([row.texts[0] for row in held_out])
        said = [["sad", "glad"][i] for i in logits.argmax(axis=1)]
        right = np.array([a == row.label for a, row in zip(said, held_out, strict=True)])
        assert record.accuracy == pytest.approx(right.mean(), abs=5e-5)
        assert record.content["held_out"]["by_label"] == {
            label: pytest.approx(right[[row.label == label for row in held_out]].mean(), abs=5e-5)
            for label in ("glad", "sad")
        }


class TestWhatIsWritten:
    def test_the_files_of_an_adapter(self, fitted) -> None:
        folder, _ = fitted
        assert set(contents(folder / ADAPTER)) == FILES
        assert not list((folder / "data/adapters").glob(".*"))
        assert not list((folder / "cache/finetune").iterdir())

    def test_weights_are_small_and_in_half_precision(self, fitted) -> None:
        tensors = load_file(fitted[0] / ADAPTER / "adapter_model.safetensors")
        assert {tensor.dtype for tensor in tensors.values()} == {torch.float16}
        kinds = {re.sub(r".*\.(lora_[AB]|pooler|classifier)\..*", r"\1", name) for name in tensors}
        assert kinds == {"lora_A", "lora_B", "pooler", "classifier"}
        # Six linear maps in each of two layers, of rank 4.
        assert sum("lora_A" in name for name in tensors) == 12
        assert {tensor.shape[0] for name, tensor in tensors.items() if "lora_A" in name} == {4}

    @pytest.mark.parametrize("fit", ["adapter", "whole"])
    def test_no_path_of_this_machine(self, fit, here, store) -> None:
        finetune("tiny", params(MOODS, str(here / "encoder"), fit=fit, **SHORT), store=store)
        for name, content in contents().items():
            assert str(here).encode() not in content, name
            assert str(Path.home()).encode() not in content, name
        if fit == "adapter":
            assert (
                json.loads((ADAPTER / "adapter_config.json").read_text())["base_model_name_or_path"]
                == "encoder"
            )
        assert json.loads((ADAPTER / "training.json").read_text())["source"] == "local:encoder"

    def test_the_record(self, fitted) -> None:
        folder, record = fitted
        content = json.loads((folder / ADAPTER / "training.json").read_text())
        assert record == read_adapter("tiny", folder / "data/adapters")
        assert record.content == content
        assert (content["labels"], content["source"]) == (["sad", "glad"], "local:encoder")
        assert content["base"] == RowStore(folder / "cache").file_sha256(
            folder / "encoder/model.safetensors"
        )
        assert content["recipe"] == {
            "data": ["moods"],
            "validation": "moods",
            "held_out": 40,
            "half": None,
            "fit": "adapter",
            "rank": 4,
            "epochs": 3,
            "learning_rate": 0.01,
            "batch": 8,
            "seed": 0,
            "bar": 0.7,
        }
        assert (content["data"]["moods"]["rows"], content["rows_fitted_on"]) == (160, 120)
        assert content["precision"] == fit.precision() in ("bfloat16", "float32")
        assert [epoch["epoch"] for epoch in content["history"]] == [1, 2, 3]
        losses = [epoch["loss"] for epoch in content["history"]]
        assert losses[0] > losses[1] > losses[2]
        assert content["history"][-1]["accuracy"] > 0.95
        assert "sense_checks" not in content

    def test_every_file_is_part_of_the_engine(self, fitted, monkeypatch, store) -> None:
        folder, _ = fitted
        monkeypatch.chdir(folder)
        engine = json.loads(load("tiny", params(MOODS), store=store).engine)
        assert re.fullmatch("[0-9a-f]{64}", engine["adapter"])


class TestWhatIsFitted:
    def test_the_head_alone(self, here, store) -> None:
        finetune("tiny", params(MOODS, fit="head", **SHORT), store=store)

        model = load(
            "tiny", params(MOODS, fit="head", **SHORT), store=store
        ).backend.model.state_dict()
        base = load_file("encoder/model.safetensors")
        assert set(model) - {f"bert.{name}" for name in base} == {
            "classifier.weight",
            "classifier.bias",
        }
        changed = {
            name for name, tensor in base.items() if not torch.equal(tensor, model[f"bert.{name}"])
        }
        assert changed == {"pooler.dense.weight", "pooler.dense.bias"}
        assert set(contents()) == FILES
        saved = load_file(ADAPTER / "adapter_model.safetensors")
        assert {name.removeprefix("base_model.model.") for name in saved} == {
            "bert.pooler.dense.weight",
            "bert.pooler.dense.bias",
            "classifier.weight",
            "classifier.bias",
        }

    def test_an_adapter_changes_linear_maps_of_every_layer_and_nothing_else_of_the_encoder(
        self, fitted, monkeypatch, store
    ) -> None:
        folder, _ = fitted
        monkeypatch.chdir(folder)
        model = load("tiny", params(MOODS), store=store).backend.model.state_dict()
        base = load_file("encoder/model.safetensors")
        changed = {
            name for name, tensor in base.items() if not torch.equal(tensor, model[f"bert.{name}"])
        }
        linear = {
            n
            for n in base
            if n.startswith("encoder.") and n.endswith(".weight") and "LayerNorm" not in n
        }
        assert len(linear) == 12
        assert changed == linear | {"pooler.dense.weight", "pooler.dense.bias"}

    def test_the_whole(self, here, store) -> None:
        declared = params(MOODS, fit="whole", epochs=2)

        record = finetune("tiny", declared, store=store)

        found = load("tiny", declared, store=store)
        assert accuracy(found.classify(texts_of(FRESH)), FRESH, ["sad", "glad"]) > 0.95
        assert record.accuracy > 0.95
        assert found.labels == ["sad", "glad"]
        base, whole = (
            load_file("encoder/model.safetensors"),
            load_file(ADAPTER / "model.safetensors"),
        )
        # The key's bias is taken off by the softmax, so that nothing pulls it anywhere.
        same = {name for name, tensor in base.items() if torch.equal(tensor, whole[f"bert.{name}"])}
        assert all(".key.bias" in name for name in same)
        assert {"config.json", "tokenizer.json", "training.json", "README.md"} < set(contents())

    def test_the_whole_of_which_only_the_record_is_in_git(self, here, store, error_of) -> None:
        declared = params(MOODS, fit="whole", **SHORT)
        finetune("tiny", declared, store=store)
        weights = (ADAPTER / "model.safetensors").read_bytes()
        (ADAPTER / "model.safetensors").unlink()

        line = error_of(load("tiny", declared, store=store).classify, ["w0"])
        assert line == f"{ADAPTER}: no weights of tiny; run `evenruler finetune tiny`"
        finetune("tiny", declared, store=store)
        assert (ADAPTER / "model.safetensors").read_bytes() == weights

    def test_one_half(self, here, store) -> None:
        found = [
            finetune("tiny", params(MOODS, half=half, **SHORT), store=store).content[
                "rows_fitted_on"
            ]
            for half in (1, 2)
        ]
        assert sum(found) == 40
        assert min(found) > 10

    def test_an_encoder_in_half_precision_is_fitted_in_full(
        self, tmp_path, monkeypatch, store
    ) -> None:
        monkeypatch.chdir(workshop(tmp_path, dtype="float16"))
        assert load_file("encoder/model.safetensors")["pooler.dense.weight"].dtype == torch.float16

        record = finetune("tiny", params(MOODS, fit="whole"), store=store)

        assert {tensor.dtype for tensor in load_file(ADAPTER / "model.safetensors").values()} == {
            torch.float32
        }
        assert record.accuracy > 0.95

    def test_the_head_of_another_task_gives_way(self, here, store) -> None:
        model, _ = load_with_head("tiny", Path("encoder"), list("abcde"), torch.float32)
        model.save_pretrained("encoder")
        assert load_file("encoder/model.safetensors")["classifier.weight"].shape[0] == 5

        record = finetune("tiny", params(MOODS), store=store)

        found = load("tiny", params(MOODS), store=store).classify(texts_of(FRESH))
        assert record.accuracy > 0.95
        assert accuracy(found, FRESH, ["sad", "glad"]) > 0.95

    def test_an_encoder_that_lacks_more_than_a_head_is_refused_before_it_is_fitted(
        self, here, store, error_of, monkeypatch
    ) -> None:
        weights = load_file("encoder/model.safetensors")
        del weights["encoder.layer.1.output.dense.weight"]
        save_file(weights, "encoder/model.safetensors", metadata={"format": "pt"})
        monkeypatch.setattr(fit, "Trainer", lambda **_: pytest.fail("it was fitted"))
        line = error_of(finetune, "tiny", params(MOODS), store=store)
        assert (
            line
            == "encoder: tiny lacks 1 tensors, as bert.encoder.layer.1.output.dense.weight; see "
            "its `source`"
        )
        assert not Path("data").exists()


class TestAgain:
    @pytest.fixture
    def fits(self, monkeypatch) -> list[str]:
        """Grows by one with every fit."""
        made: list[str] = []
        real = fit._fit_or_resume

        def counted(fitting: Any, run: Path) -> Any:
            made.append(fitting.name)
            return real(fitting, run)

        monkeypatch.setattr(fit, "_fit_or_resume", counted)
        return made

    def test_what_is_there_is_not_fitted_again(self, here, store, fits) -> None:
        first = finetune("tiny", params(MOODS, **SHORT), store=store)
        before = contents()
        assert finetune("tiny", params(MOODS, **SHORT), store=store) == first
        assert (len(fits), contents()) == (1, before)

        assert finetune("tiny", params(MOODS, **SHORT), again=True, store=store) == first
        assert (len(fits), contents()) == (2, before)

    def test_what_follows_another_recipe_is(self, here, store, fits) -> None:
        finetune("tiny", params(MOODS, **SHORT), store=store)
        first = contents()
        labelled = {"moods": {**MOODS["moods"], "labels": ["glad", "sad"]}}
        changes = {
            "bar": (MOODS, {**SHORT, "bar": 0.1}),
            "labels": (labelled, SHORT),
            "encoder": (labelled, SHORT),
        }
        for number, (change, (training, recipe)) in enumerate(changes.items(), start=2):
            before = contents()
            if change == "encoder":
                tiny.save_encoder(Path("encoder"), seed=1)

            record = finetune("tiny", params(training, **recipe), store=store)

            assert len(fits) == number
            assert record.recipe == params(training, **recipe).models["tiny"].finetune.model_dump()
            assert contents()["training.json"] not in (
                before["training.json"],
                first["training.json"],
            )
            # Where the rest stays as it was, so does what is fitted.
            same = contents()["adapter_model.safetensors"] == first["adapter_model.safetensors"]
            assert same == (change != "encoder")

    def test_a_damaged_record_does_not_stand_in_the_way(self, here, store, fits, error_of) -> None:
        first = finetune("tiny", params(MOODS, **SHORT), store=store)
        (ADAPTER / "training.json").write_text("<<<<<<< ours\n")
        line = error_of(finetune, "tiny", params(MOODS, **SHORT), store=store)
        assert line == (
            f"{ADAPTER}/training.json: no record of how tiny was fitted; run `evenruler finetune "
            "tiny --again`"
        )
        assert finetune("tiny", params(MOODS, **SHORT), again=True, store=store) == first

    def test_a_failure_leaves_what_was_there(self, here, store, monkeypatch) -> None:
        finetune("tiny", params(MOODS, **SHORT), store=store)
        before = contents()

        def broken(*_: object) -> str:
            raise Killed

        monkeypatch.setattr("evenruler.training.fit.card_of", broken)
        with pytest.raises(Killed):
            finetune("tiny", params(MOODS, seed=1, **SHORT), store=store)
        assert contents() == before
        assert [path.name for path in ADAPTER.parent.iterdir()] == ["tiny"]


class TestTheSameBytes:
    def test_not_of_another(self, fitted, here, store) -> None:
        finetune("tiny", params(MOODS, seed=1), store=store)
        name = "adapter_model.safetensors"
        assert contents()[name] != contents(fitted[0] / ADAPTER)[name]

    @pytest.mark.parametrize("epoch", [1, 3])
    def test_of_a_run_that_was_broken_off(
        self, epoch, fitted, here, store, monkeypatch, capsys
    ) -> None:
        """Before the checkpoint of that epoch is written."""
        with monkeypatch.context() as patched:
            patched.setattr(fit, "print_note", killing(f"tiny: epoch {epoch} of 3"))
            with pytest.raises(Killed):
                finetune("tiny", params(MOODS), store=store)
        assert not Path("data").exists()
        capsys.readouterr()

        finetune("tiny", params(MOODS), store=store)

        said = [
            line.strip()
            for line in re.split("[\r\n]", capsys.readouterr().err)
            if " epoch " in line
        ]
        assert [line.split(",")[0] for line in said] == [
            f"tiny: epoch {i} of 3" for i in range(epoch, 4)
        ]
        assert contents() == contents(fitted[0] / ADAPTER)
        assert not list((store.root / "finetune").iterdir())

    def test_of_a_run_that_was_broken_off_inside_an_epoch(
        self, fitted, here, store, monkeypatch, capsys
    ) -> None:
        """In the second, whose rows come in an order of their own; 15 steps an epoch."""
        from transformers.trainer_callback import TrainerState

        step = 20
        real = TrainerState.save_to_json

        def last(self: TrainerState, path: str) -> None:
            real(self, path)
            if self.global_step == step:
                raise Killed

        with monkeypatch.context() as patched:
            patched.setattr(fit, "SAVED_EVERY", 0.0)
            patched.setattr(TrainerState, "save_to_json", last)
            with pytest.raises(Killed):
                finetune("tiny", params(MOODS), store=store)
        capsys.readouterr()

        finetune("tiny", params(MOODS), store=store)

        assert f"tiny: going on from checkpoint-{step}\n" in capsys.readouterr().err
        assert contents() == contents(fitted[0] / ADAPTER)

    def test_of_a_run_that_was_broken_off_while_a_checkpoint_was_written(
        self, fitted, here, store, monkeypatch
    ) -> None:
        from transformers.trainer_callback import TrainerState

        real = TrainerState.save_to_json

        def half(self: TrainerState, path: str) -> None:
            real(self, path)
            if self.epoch == 2:
                text = Path(path).read_text()
                Path(path).write_text(text[: len(text) // 2])
                raise Killed

        with monkeypatch.context() as patched:
            patched.setattr(TrainerState, "save_to_json", half)
            with pytest.raises(Killed):
                finetune("tiny", params(MOODS), store=store)
        (run,) = (store.root / "finetune").iterdir()
        assert {path.name for path in (run / "checkpoints").iterdir()} == {
            "checkpoint-15",
            "checkpoint-30",
        }

        finetune("tiny", params(MOODS), store=store)

        assert contents() == contents(fitted[0] / ADAPTER)

    def test_of_a_run_that_was_broken_off_when_all_was_fitted(
        self, fitted, here, store, monkeypatch
    ) -> None:
        with monkeypatch.context() as patched:
            patched.setattr("evenruler.training.fit._copy_fitted_model", killing(""))
            with pytest.raises(Killed):
                finetune("tiny", params(MOODS), store=store)
        finetune("tiny", params(MOODS), store=store)
        assert contents() == contents(fitted[0] / ADAPTER)

    def test_fitted_again_after_a_kill_while_the_run_was_removed(
        self, fitted, here, store, monkeypatch
    ) -> None:
        def begun(run: Path, **_: Any) -> None:
            (weights,) = run.glob("checkpoints/*/adapter_model.safetensors")
            weights.unlink()
            raise Killed

        with monkeypatch.context() as patched:
            patched.setattr(fit, "shutil", SimpleNamespace(rmtree=begun))
            with pytest.raises(Killed):
                finetune("tiny", params(MOODS), store=store)
        assert contents() == contents(fitted[0] / ADAPTER)

        finetune("tiny", params(MOODS), again=True, store=store)

        assert contents() == contents(fitted[0] / ADAPTER)
        assert not list((store.root / "finetune").iterdir())

    @pytest.mark.parametrize("change", ["recipe", "labels", "data"])
    def test_another_run_does_not_go_on_from_it(self, change, here, store, monkeypatch) -> None:
        with monkeypatch.context() as patched:
            patched.setattr(fit, "print_note", killing("tiny: epoch 2"))
            with pytest.raises(Killed):
                finetune("tiny", params(PAIRS), store=store)
        assert len(list((store.root / "finetune").iterdir())) == 1
        training, recipe = PAIRS, {"seed": 1} if change == "recipe" else {}
        if change == "labels":
            training = {"pairs": {"labels": PAIRS["pairs"]["labels"][::-1]}}
        if change == "data":
            tiny.write(here / "pairs.jsonl", tiny.pairs(seed=3))
        monkeypatch.setattr(
            fit, "print_note", killing("tiny: epoch 1")
        )  # not "going on", and not epoch 2
        with pytest.raises(Killed):
            finetune("tiny", params(training, **recipe), store=store)
        assert len(list((store.root / "finetune").iterdir())) == 2


def killing(beginning: str) -> Callable[..., None]:
    """Ends the run when it is called with a text that begins so."""

    def call(text: object, *_: object) -> None:
        if str(text).startswith(beginning):
            raise Killed

    return call


def test_the_loss_of_an_epoch_is_the_mean_of_its_steps_however_often_it_was_logged() -> None:
    """Four steps an epoch: one of 2.0 and three of 1.0, then four of 0.5."""
    log: list[dict[str, float]] = [
        {"step": 1, "epoch": 0.25, "loss": 2.0},
        {"step": 4, "epoch": 1.0, "loss": 1.0},
        {"step": 4, "epoch": 1.0, "eval_accuracy": 0.61237},
        {"step": 8, "epoch": 2.0, "loss": 0.5},
        {"step": 8, "epoch": 2.0, "eval_accuracy": 0.7},
        {"step": 8, "epoch": 2.0, "train_loss": 0.875},
    ]
    assert fit._epoch_metrics(log, 4) == [
        {"epoch": 1, "loss": 1.25, "accuracy": 0.6124},
        {"epoch": 2, "loss": 0.5, "accuracy": 0.7},
    ]


@pytest.mark.parametrize(("has", "said"), [(True, "bfloat16"), (False, "float32")])
def test_the_precision_is_what_the_processor_has_instructions_for(has, said, monkeypatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: {"avx512_bf16": has})
    assert fit.precision() == said


class TestWhatIsRefused:
    def test_an_unknown_name(self, here, store, error_of) -> None:
        assert error_of(finetune, "tinny", params(MOODS), store=store) == (
            "params.yaml: models: no encoder 'tinny'; check the name (did you mean 'tiny'?) or add "
            "an entry"
        )

    def test_a_model_of_another_kind(self, here, store, error_of) -> None:
        line = error_of(finetune, "minilm", params(MOODS), store=store)
        assert line.startswith("params.yaml: models: no encoder 'minilm'; ")

    def test_data_that_are_not_there(self, here, store, error_of) -> None:
        Path("moods.jsonl").unlink()
        line = error_of(finetune, "tiny", params(MOODS), store=store)
        assert line.startswith("params.yaml: training.moods: no file moods.jsonl; ")
        assert not Path("data").exists()

    def test_an_encoder_that_is_not_there(self, here, store, error_of) -> None:
        line = error_of(finetune, "tiny", params(MOODS, "elsewhere"), store=store)
        assert (
            line
            == "params.yaml: models.tiny: elsewhere: no such file or folder; check the name of the "
            "source"
        )

    def test_an_encoder_that_does_not_load(self, here, store, error_of) -> None:
        Path("encoder/model.safetensors").write_bytes(b"nothing")
        line = error_of(finetune, "tiny", params(MOODS), store=store)
        assert line.startswith("encoder: tiny does not load (")

    def test_nothing_to_fit_on(self, here, store, error_of) -> None:
        line = error_of(finetune, "tiny", params(MOODS, held_out=160), store=store)
        assert line.startswith(
            "params.yaml: finetune.held_out: 160 rows held out of 'moods' leave none to fit on; "
        )


def test_another_that_fits_the_same_is_left_alone(here, store, error_of) -> None:
    with FileLock(store.root / "finetune-tiny.lock"):
        said = error_of(finetune, "tiny", params(MOODS, epochs=1), store=store)
    assert said == "data/adapters/tiny: another finetune is running; run again when it is done"
    assert not (here / ADAPTER).exists()


def write_params(folder: Path, training: dict[str, dict[str, Any]], **recipe: Any) -> None:
    """A whole params.yaml."""
    declared = declaration(training, **recipe)
    (folder / "params.yaml").write_text(json.dumps(declared))


class TestCommand:
    def test_says_what_it_does_in_our_words_alone(self, here) -> None:
        """The libraries' warnings are off in these tests, so the command runs as users run it."""
        write_params(here, MOODS)
        code = (
            "import sys\n"
            "from evenruler import cli, models\n"
            "sys.argv[1:] = ['finetune', 'tiny']\n"
            "try:\n"
            "    cli.main()\n"
            "except SystemExit as ended:\n"
            "    assert not ended.code, ended.code\n"
            "model = models.load('tiny')\n"
            "print('logits', model.classify(['w5 w0', 'w5 w1']).argmax(axis=1).tolist())\n"
        )
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        record = read_adapter("tiny")
        assert done.stdout.splitlines() == [
            f"tiny: accuracy {record.accuracy:.3f} on 40 held-out rows, not below the bar of 0.70; "
            "data/adapters/tiny",
            "logits [0, 1]",
        ]
        said = [line.strip() for line in re.split("[\r\n]", done.stderr) if line.strip()]
        assert all(line.startswith("tiny: ") for line in said), done.stderr
        assert [line.split(",")[0] for line in said if " epoch " in line] == [
            f"tiny: epoch {i} of 3" for i in (1, 2, 3)
        ]

    @pytest.mark.slow
    @pytest.mark.long
    def test_killed_and_run_again(self, tmp_path) -> None:
        """Slow: it needs a run that takes seconds, so that there is a middle to be killed in."""
        recipe: dict[str, Any] = {"epochs": 8, "batch": 2}
        folders = [workshop(tmp_path / name) for name in ("unbroken", "broken")]
        for folder in folders:
            write_params(folder, MOODS, **recipe)
        command = [
            sys.executable,
            "-c",
            "from evenruler import cli; cli.main()",
            "finetune",
            "tiny",
        ]
        subprocess.run(command, cwd=folders[0], check=True, capture_output=True)

        broken = folders[1]
        process = subprocess.Popen(
            command, cwd=broken, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL
        )
        deadline = time.monotonic() + 120
        while (
            len(list(broken.glob(".cache/finetune/*/checkpoints/checkpoint-*/trainer_state.json")))
            < 1
        ):
            assert time.monotonic() < deadline, "no epoch was ever saved"
            assert process.poll() is None, "it was over before it could be killed"
            time.sleep(0.02)
        os.kill(process.pid, signal.SIGKILL)
        process.wait(timeout=120)
        assert not (broken / "data").exists()

        done = subprocess.run(command, cwd=broken, check=True, capture_output=True, text=True)

        assert "tiny: going on from checkpoint-" in done.stderr
        assert "tiny: epoch 1 of 8" not in done.stderr
        assert contents(broken / ADAPTER) == contents(folders[0] / ADAPTER)
