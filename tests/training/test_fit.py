import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from filelock import FileLock
from safetensors.torch import load_file, save_file
from transformers.trainer_callback import TrainerState

from evenruler.errors import UserError
from evenruler.models import LABELS, load
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


def mood_accuracy(store: RowStore, declared: Any) -> float:
    """Share of fresh texts whose mood an adapter tells: sad is 0, glad is 1."""
    logits = load("tiny", declared, store=store).classify([row["text"] for row in FRESH])
    numbers = [row["label"] for row in FRESH]
    return float((logits.argmax(axis=1) == numbers).mean())


FRESH = tiny.moods(60, seed=7)
FRESH_PAIRS = tiny.pairs(60, seed=7)


@pytest.fixture(scope="module")
def fitted(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, AdapterRecord]:
    """A workshop with an adapter for moods and its record, for tests that change nothing in it."""
    folder = workshop(tmp_path_factory.mktemp("fitted"))
    with pytest.MonkeyPatch.context() as patched:
        patched.chdir(folder)
        record = finetune(
            "tiny",
            params(MOODS),
            store=RowStore(folder / "cache"),
        )
    return folder, record


@pytest.fixture
def copied(
    fitted: tuple[Path, AdapterRecord], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AdapterRecord:
    """The record of an adapter that was fitted, in a workshop to stand in and to change."""
    folder, record = fitted
    shutil.copytree(
        folder,
        tmp_path / "copy",
        ignore=shutil.ignore_patterns("cache"),
    )
    monkeypatch.chdir(tmp_path / "copy")
    return record


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Grows by its folder with every fit that begins, which is where it ends."""
    begun: list[Path] = []

    def begin(fitting: Any, run: Path) -> None:
        begun.append(run)
        raise Killed

    monkeypatch.setattr(fit, "_fit_or_resume", begin)
    return begun


class TestWhatIsLearned:
    @pytest.mark.slow
    @pytest.mark.long
    @pytest.mark.parametrize("kind", ["mpnet", "roberta", "distilbert"])
    def test_by_every_kind_of_encoder(self, kind, tmp_path, monkeypatch, store) -> None:
        monkeypatch.chdir(workshop(tmp_path, kind))

        record = finetune("tiny", params(MOODS), store=store)

        assert mood_accuracy(store, params(MOODS)) > 0.95
        assert record.accuracy > 0.95

    @pytest.mark.slow
    @pytest.mark.long
    def test_entailment_from_data_that_order_labels_each_in_their_way(self, here, store) -> None:
        numbered = ["neutral", "contradiction", "entailment"]
        rows = tiny.pairs(200, seed=1)
        for row in rows:
            row["label"] = numbered.index(row["label"])
        tiny.write(here / "numbers.jsonl", rows)
        training = {**PAIRS, "numbers": {"labels": numbered}}
        declared = params(training, data=["numbers"], epochs=6)

        record = finetune("tiny", declared, store=store)

        assert record.labels == ["contradiction", "entailment", "neutral"]
        pairs = [(row["premise"], row["hypothesis"]) for row in FRESH_PAIRS]
        logits = load("tiny", declared, store=store).entailment(pairs)
        right = [LABELS.index(row["label"]) for row in FRESH_PAIRS]
        assert (logits.argmax(axis=1) == right).mean() > 0.95
        assert record.accuracy > 0.95
        content = record.content
        assert (content["held_out"]["data"], list(content["data"])) == (
            "pairs",
            ["numbers", "pairs"],
        )
        assert len(content["sense_checks"]) == 21

    def test_by_an_adapter_and_its_figure_is_that_of_the_rows_held_out(
        self, fitted, monkeypatch, store
    ) -> None:
        folder, record = fitted
        monkeypatch.chdir(folder)
        declared = params(MOODS)
        assert mood_accuracy(store, declared) > 0.95
        assert (record.n_held_out, record.labels, record.below_bar) == (40, ["sad", "glad"], False)
        rows, _ = fit.read_data("moods", declared.training["moods"])
        _, held_out = fit.split_data({"moods": rows}, declared.models["tiny"].finetune)
        logits = load("tiny", declared, store=store).classify([row.texts[0] for row in held_out])
        labels = pd.Series([row.label for row in held_out])
        is_right = labels == np.array(["sad", "glad"])[logits.argmax(axis=1)]
        assert record.accuracy == pytest.approx(is_right.mean(), abs=5e-5)
        by_label = is_right.groupby(labels).mean().to_dict()
        assert record.content["held_out"]["by_label"] == pytest.approx(by_label, abs=5e-5)


class TestWhatIsWritten:
    def test_the_files_of_an_adapter_whose_weights_are_small_and_in_half_precision(
        self, fitted
    ) -> None:
        folder, _ = fitted
        assert set(contents(folder / ADAPTER)) == FILES
        assert not list((folder / "data/adapters").glob(".*"))
        assert not list((folder / "cache/finetune").iterdir())
        tensors = load_file(folder / ADAPTER / "adapter_model.safetensors")
        assert {tensor.dtype for tensor in tensors.values()} == {torch.float16}
        part = re.compile(r"\.(lora_[AB]|pooler|classifier)\.")
        parts = Counter(part.search(name)[1] for name in tensors)
        # Six linear maps in each of two layers, of rank 4.
        assert parts == {"lora_A": 12, "lora_B": 12, "pooler": 2, "classifier": 2}
        assert {tensors[name].shape[0] for name in tensors if "lora_A" in name} == {4}

    @pytest.mark.slow
    @pytest.mark.long
    def test_no_path_of_this_machine(self, here, store) -> None:
        finetune(
            "tiny",
            params(MOODS, str(here / "encoder"), **SHORT),
            store=store,
        )
        names_no_place(here)
        config = json.loads((ADAPTER / "adapter_config.json").read_text())
        assert config["base_model_name_or_path"] == "encoder"

    def test_the_record(self, fitted) -> None:
        folder, record = fitted
        content = json.loads((folder / ADAPTER / "training.json").read_text())
        assert record == read_adapter("tiny", folder / "data/adapters")
        assert record.content == content
        weights = folder / "encoder/model.safetensors"
        assert content["base"] == RowStore(folder / "cache").file_sha256(weights)
        assert content["recipe"] == params(MOODS).models["tiny"].finetune.model_dump()
        assert (content["source"], content["rows_fitted_on"]) == ("local:encoder", 120)
        assert content["data"]["moods"]["rows"] == 160
        assert content["precision"] == fit.precision()
        first, second, third = content["history"]
        assert first["loss"] > second["loss"] > third["loss"]
        assert (third["epoch"], third["accuracy"] > 0.95) == (3, True)
        assert "sense_checks" not in content


def names_no_place(here: Path) -> None:
    """No file of an adapter names this machine."""
    for name, content in contents().items():
        assert str(here).encode() not in content, name
        assert str(Path.home()).encode() not in content, name
    assert json.loads((ADAPTER / "training.json").read_text())["source"] == "local:encoder"


def changed_weights(base: dict[str, Any], model: dict[str, Any]) -> set[str]:
    """Names of weights of an encoder that are others in a model."""
    changed = set()
    for name, tensor in base.items():
        if not torch.equal(tensor, model[f"bert.{name}"]):
            changed.add(name)
    return changed


class TestWhatIsFitted:
    @pytest.mark.slow
    @pytest.mark.long
    def test_the_head_alone(self, here, store) -> None:
        declared = params(MOODS, fit="head", **SHORT)
        finetune("tiny", declared, store=store)

        model = load("tiny", declared, store=store).backend.model.state_dict()
        base = load_file("encoder/model.safetensors")
        head = {"classifier.weight", "classifier.bias"}
        pooler = {"pooler.dense.weight", "pooler.dense.bias"}
        of_encoder = {f"bert.{name}" for name in pooler}
        assert set(model) - {f"bert.{name}" for name in base} == head
        assert changed_weights(base, model) == pooler
        assert set(contents()) == FILES
        saved = load_file(ADAPTER / "adapter_model.safetensors")
        assert {name.removeprefix("base_model.model.") for name in saved} == of_encoder | head

    def test_an_adapter_changes_linear_maps_of_every_layer_and_nothing_else_of_the_encoder(
        self, fitted, monkeypatch, store
    ) -> None:
        folder, _ = fitted
        monkeypatch.chdir(folder)
        model = load("tiny", params(MOODS), store=store).backend.model.state_dict()
        base = load_file("encoder/model.safetensors")
        is_map = re.compile(r"encoder\.(?!.*LayerNorm).*\.weight")
        maps = set(filter(is_map.fullmatch, base))
        assert len(maps) == 12
        pooler = {"pooler.dense.weight", "pooler.dense.bias"}
        assert changed_weights(base, model) == maps | pooler

    @pytest.mark.slow
    @pytest.mark.long
    def test_the_whole_of_which_only_the_record_is_in_git(self, here, store, error_of) -> None:
        declared = params(
            MOODS,
            str(here / "encoder"),
            fit="whole",
            epochs=2,
        )

        record = finetune("tiny", declared, store=store)

        assert mood_accuracy(store, declared) > 0.95
        assert record.accuracy > 0.95
        weights = ADAPTER / "model.safetensors"
        base, whole = load_file("encoder/model.safetensors"), load_file(weights)
        # The key's bias is taken off by the softmax, so that nothing pulls it anywhere.
        same = set(base) - changed_weights(base, whole)
        assert all(".key.bias" in name for name in same)
        assert {"config.json", "tokenizer.json", "training.json", "README.md"} < set(contents())
        names_no_place(here)

        before = weights.read_bytes()
        weights.unlink()
        line = error_of(load("tiny", declared, store=store).classify, ["w0"])
        assert line == f"{ADAPTER}: no weights of tiny; run `evenruler finetune tiny`"
        finetune("tiny", declared, store=store)
        assert weights.read_bytes() == before

    @pytest.mark.slow
    @pytest.mark.long
    def test_an_encoder_in_half_precision_is_fitted_in_full(
        self, tmp_path, monkeypatch, store
    ) -> None:
        monkeypatch.chdir(workshop(tmp_path, dtype="float16"))
        assert load_file("encoder/model.safetensors")["pooler.dense.weight"].dtype == torch.float16

        record = finetune(
            "tiny",
            params(MOODS, fit="whole"),
            store=store,
        )

        assert {tensor.dtype for tensor in load_file(ADAPTER / "model.safetensors").values()} == {
            torch.float32
        }
        assert record.accuracy > 0.95

    def test_an_encoder_that_lacks_more_than_a_head_is_refused_before_it_is_fitted(
        self, here, store, error_of, monkeypatch
    ) -> None:
        weights = load_file("encoder/model.safetensors")
        del weights["encoder.layer.1.output.dense.weight"]
        save_file(weights, "encoder/model.safetensors", metadata={"format": "pt"})
        monkeypatch.setattr(fit, "Trainer", lambda **_: pytest.fail("it was fitted"))
        line = error_of(
            finetune,
            "tiny",
            params(MOODS),
            store=store,
        )
        assert (
            line
            == "encoder: tiny lacks 1 tensors, as bert.encoder.layer.1.output.dense.weight; see "
            "its `source`"
        )
        assert not Path("data").exists()


def fit_until_killed(declared: Any, store: RowStore) -> None:
    with pytest.raises(Killed):
        finetune("tiny", declared, store=store)


class TestAgain:
    def test_what_is_there_is_not_fitted_again(self, copied, store, runs) -> None:
        before = contents()
        assert finetune("tiny", params(MOODS), store=store) == copied
        assert (runs, contents()) == ([], before)

    def test_what_follows_another_recipe_is(self, copied, store, runs) -> None:
        turned = {"moods": {**MOODS["moods"], "labels": ["glad", "sad"]}}
        for declared in (params(MOODS, bar=0.1), params(turned)):
            fit_until_killed(declared, store)
        tiny.save_encoder(Path("encoder"), seed=1)
        fit_until_killed(params(MOODS), store)
        assert len(runs) == 3

    def test_a_damaged_record_does_not_stand_in_the_way(
        self, copied, store, runs, error_of
    ) -> None:
        path = ADAPTER / "training.json"
        path.write_text("<<<<<<< ours\n")
        line = error_of(
            finetune,
            "tiny",
            params(MOODS),
            store=store,
        )
        unread = "no record of how tiny was fitted; run `evenruler finetune tiny --again`"
        assert line == f"{path}: {unread}"
        with pytest.raises(Killed):
            finetune("tiny", params(MOODS), again=True, store=store)
        assert len(runs) == 1

    def test_a_failure_leaves_what_was_there(self, copied, store, monkeypatch) -> None:
        before = contents()

        def write_half(fitting: Any, done: Path, folder: Path) -> None:
            folder.mkdir(parents=True)
            (folder / "README.md").write_text("half")
            raise Killed

        monkeypatch.setattr(fit, "_fit_or_resume", lambda *_: [])
        monkeypatch.setattr(fit, "_copy_fitted_model", write_half)
        fit_until_killed(params(MOODS, seed=1), store)
        assert contents() == before
        assert [path.name for path in ADAPTER.parent.iterdir()] == ["tiny"]


def kill_when_saved(patched: pytest.MonkeyPatch, is_last: Callable[[Any, str], bool]) -> None:
    """Kills a fit when the state of a checkpoint is saved for which that holds."""
    save = TrainerState.save_to_json

    def save_and_die(state, path):
        save(state, path)
        if is_last(state, path):
            raise Killed

    patched.setattr(TrainerState, "save_to_json", save_and_die)


def kill_before_a_checkpoint(patched: pytest.MonkeyPatch) -> None:
    """Before that of the second epoch is written."""
    patched.setattr(fit, "print_note", killing("tiny: epoch 2 of 3"))


def kill_inside_an_epoch(patched: pytest.MonkeyPatch) -> None:
    """In the second, whose rows come in an order of their own; 15 steps an epoch."""
    patched.setattr(fit, "SAVED_EVERY", 0.0)
    kill_when_saved(patched, lambda state, _: state.global_step == 20)


def kill_while_a_checkpoint_is_written(patched: pytest.MonkeyPatch) -> None:
    """Of the second epoch, whose state is left half written."""

    def is_half_of_second(state: Any, path: str) -> bool:
        if state.epoch == 2:
            text = Path(path).read_text()
            Path(path).write_text(text[: len(text) // 2])
        return state.epoch == 2

    kill_when_saved(patched, is_half_of_second)


def kill_when_all_is_fitted(patched: pytest.MonkeyPatch) -> None:
    patched.setattr(fit, "_copy_fitted_model", killing(""))


class TestTheSameBytes:
    @pytest.fixture
    def expected(self, fitted):
        return contents(fitted[0] / ADAPTER)

    @pytest.mark.slow
    @pytest.mark.long
    @pytest.mark.parametrize(
        ("kill", "step"),
        [
            (kill_before_a_checkpoint, 15),
            (kill_inside_an_epoch, 20),
            (kill_while_a_checkpoint_is_written, 15),
            (kill_when_all_is_fitted, 45),
        ],
    )
    def test_of_a_run_that_was_broken_off(
        self, kill, step, expected, here, store, monkeypatch, capsys
    ) -> None:
        with monkeypatch.context() as patched:
            kill(patched)
            fit_until_killed(params(MOODS), store)
        assert not Path("data").exists()
        capsys.readouterr()

        finetune("tiny", params(MOODS), store=store)

        assert f"tiny: going on from checkpoint-{step}\n" in capsys.readouterr().err
        assert contents() == expected
        assert not list((store.root / "finetune").iterdir())

    @pytest.mark.slow
    @pytest.mark.long
    def test_fitted_again_after_a_kill_while_the_run_was_removed(
        self, expected, here, store, monkeypatch
    ) -> None:
        def begin_removing(run: Path, **_: Any) -> None:
            (weights,) = run.glob("checkpoints/*/adapter_model.safetensors")
            weights.unlink()
            raise Killed

        with monkeypatch.context() as patched:
            patched.setattr(
                fit,
                "shutil",
                SimpleNamespace(rmtree=begin_removing),
            )
            fit_until_killed(params(MOODS), store)
        assert contents() == expected

        finetune("tiny", params(MOODS), again=True, store=store)

        assert contents() == expected
        assert not list((store.root / "finetune").iterdir())

    def test_another_recipe_other_labels_and_other_data_have_runs_of_their_own(
        self, here, store, runs
    ) -> None:
        turned = {"pairs": {"labels": PAIRS["pairs"]["labels"][::-1]}}
        for declared in (params(PAIRS), params(PAIRS, seed=1), params(turned), params(PAIRS)):
            fit_until_killed(declared, store)
        tiny.write(here / "pairs.jsonl", tiny.pairs(seed=3))
        fit_until_killed(params(PAIRS), store)
        assert runs[0] == runs[3]
        assert len(set(runs)) == 4


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
        {"step": 8, "epoch": 2.0, "train_loss": 0.875, "eval_accuracy": 0.7},
    ]
    assert fit._epoch_metrics(log, 4) == [
        {"epoch": 1, "loss": 1.25, "accuracy": 0.6124},
        {"epoch": 2, "loss": 0.5, "accuracy": 0.7},
    ]


@pytest.mark.parametrize(("has", "precision"), [(True, "bfloat16"), (False, "float32")])
def test_the_precision_is_what_the_processor_has_instructions_for(
    has, precision, monkeypatch
) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: {"avx512_bf16": has})
    assert fit.precision() == precision


class TestAll:
    """`evenruler finetune --all`: what was fitted stays, and a failure stops no other."""

    @pytest.fixture
    def fitted_names(self, here, copied, monkeypatch) -> list[str]:
        """Grows by the encoders that are fitted; of three, `tiny` was fitted before."""
        declared = declaration(MOODS)
        entry = declared["models"]["tiny"]
        declared["models"] |= {"broken": entry, "next": entry, "off": {**entry, "profile": "none"}}
        Path("params.yaml").write_text(json.dumps(declared))
        names: list[str] = []

        def record_name(name: str, declared: Any, *, again: bool) -> AdapterRecord:
            if name == "broken":
                raise UserError("no weights", where="encoder", remedy="get them")
            names.append(name)
            return copied

        monkeypatch.setattr(fit, "finetune", record_name)
        return names

    def test_those_without_a_fit_in_turn(self, fitted_names, run_evenruler) -> None:
        status, out, err = run_evenruler("finetune", "--all")
        assert fitted_names == ["next"]
        assert (status, err) == (2, "error: encoder: no weights; get them\n")
        assert re.fullmatch(r"next: accuracy \S+ on 40 held-out rows, .*data/adapters/next\n", out)

    @pytest.mark.parametrize("words", [(), ("tiny", "--all"), ("--all", "--again")])
    def test_what_says_nothing_to_fit_is_one_line(self, words, fitted_names, run_evenruler) -> None:
        line = "nothing to fit; name an encoder, or say --all without --again"
        assert run_evenruler("finetune", *words) == (2, "", f"error: evenruler finetune: {line}\n")
        assert fitted_names == []


class TestWhatIsRefused:
    def test_an_unknown_name(self, here, store, error_of) -> None:
        assert error_of(finetune, "tinny", params(MOODS), store=store) == (
            "params.yaml: models: no encoder 'tinny'; check the name (did you mean 'tiny'?) or add "
            "an entry"
        )

    def test_a_gpu_that_is_too_small(self, here, store, monkeypatch, error_of) -> None:
        def fill_memory(fitting: Any, run: Path) -> None:
            raise torch.OutOfMemoryError("CUDA out of memory")

        monkeypatch.setattr(fit, "_fit_or_resume", fill_memory)
        assert error_of(finetune, "tiny", params(MOODS), store=store) == (
            "tiny: the GPU has too little memory for a fit; lower `batch` (params.yaml: "
            "models.tiny.finetune), or leave the model out"
        )
        assert not ADAPTER.exists()

    def test_an_encoder_that_does_not_load(self, here, store, error_of) -> None:
        Path("encoder/model.safetensors").write_bytes(b"nothing")
        line = error_of(
            finetune,
            "tiny",
            params(MOODS),
            store=store,
        )
        assert line.startswith("encoder: tiny does not load (")


def test_another_that_fits_the_same_is_left_alone(here, store, error_of) -> None:
    with FileLock(store.root / "finetune-tiny.lock"):
        message = error_of(
            finetune,
            "tiny",
            params(MOODS, epochs=1),
            store=store,
        )
    assert message == "data/adapters/tiny: another finetune is running; run again when it is done"
    assert not (here / ADAPTER).exists()


COMMAND = [sys.executable, "-c", "from evenruler import cli; cli.main()", "finetune", "tiny"]


@pytest.mark.slow
@pytest.mark.long
def test_the_command_is_killed_and_run_again(tmp_path) -> None:
    """Slow: it needs a run that takes seconds, so that there is a middle to be killed in."""
    unbroken, broken = (workshop(tmp_path / name) for name in ("unbroken", "broken"))
    for folder in (unbroken, broken):
        declared = json.dumps(declaration(MOODS, epochs=8, batch=2))
        (folder / "params.yaml").write_text(declared)
    subprocess.run(COMMAND, cwd=unbroken, check=True, capture_output=True)

    quiet = {"stderr": subprocess.DEVNULL, "stdout": subprocess.DEVNULL}
    process = subprocess.Popen(COMMAND, cwd=broken, **quiet)
    deadline = time.monotonic() + 120
    saved = ".cache/finetune/*/checkpoints/checkpoint-*/trainer_state.json"
    while not list(broken.glob(saved)):
        assert time.monotonic() < deadline, "no epoch was ever saved"
        assert process.poll() is None, "it was over before it could be killed"
        time.sleep(0.02)
    os.kill(process.pid, signal.SIGKILL)
    process.wait(timeout=120)
    assert not (broken / "data").exists()

    done = subprocess.run(
        COMMAND,
        cwd=broken,
        check=True,
        capture_output=True,
        text=True,
    )

    assert "tiny: going on from checkpoint-" in done.stderr
    assert "tiny: epoch 1 of 8" not in done.stderr
    assert contents(broken / ADAPTER) == contents(unbroken / ADAPTER)
