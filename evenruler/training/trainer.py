"""The transformers trainer with our settings: a fit that can be resumed anywhere, progress in our words."""

import json
import shutil
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from transformers import DataCollatorWithPadding, Trainer, TrainerCallback, TrainingArguments
from transformers.trainer_callback import PrinterCallback

from evenruler.models.backends.classifier import longest
from evenruler.models.declared import Finetune
from evenruler.terminal import note, progress
from evenruler.training.data import Row

LONGEST = 128
"""Tokens of a row that are fitted on, as in the script that the paper used."""

SAVED_EVERY = 300.0
"""Seconds after which a fit is kept inside an epoch, too: a large encoder takes an hour for one."""

STATE = "trainer_state.json"
"""What the trainer writes last of a checkpoint."""


def train(
    name: str,
    model: Any,
    tokenizer: Any,
    labels: Sequence[str],
    fitted_on: Sequence[Row],
    held_out: Sequence[Row],
    recipe: Finetune,
    run: Path,
) -> list[dict[str, float]]:
    """Fit a model, or go on from the last checkpoint that lies whole under `run`; saves it as `run / "done"`.

    By epoch: loss, and accuracy on the held-out rows. The first of two texts is cut if they are too long.
    """
    limit = min(LONGEST, longest(tokenizer, model.config))

    def encoded(rows: Sequence[Row]) -> list[dict[str, Any]]:
        sides = [list(side) for side in zip(*(row.texts for row in rows), strict=True)]
        read = tokenizer(*sides, truncation="only_first", max_length=limit)
        columns = [{name: values[i] for name, values in read.items()} for i in range(len(rows))]
        return [{**own, "labels": labels.index(row.label)} for own, row in zip(columns, rows, strict=True)]

    checkpoints, cuda = run / "checkpoints", torch.cuda.is_available()
    arguments = TrainingArguments(
        output_dir=str(checkpoints),
        num_train_epochs=recipe.epochs,
        learning_rate=recipe.learning_rate,
        per_device_train_batch_size=recipe.batch,
        per_device_eval_batch_size=64,
        warmup_steps=0.06,  # share of the steps in which the learning rate rises
        weight_decay=0.01,
        seed=recipe.seed,
        data_seed=recipe.seed,
        bf16=precision() == "bfloat16",
        use_cpu=not cuda,
        train_sampling_strategy="group_by_length",
        remove_unused_columns=False,
        dataloader_pin_memory=cuda,
        save_strategy="epoch",
        save_total_limit=1,
        eval_strategy="epoch",
        logging_strategy="epoch",
        report_to="none",
        disable_tqdm=True,
    )
    fitter = Trainer(
        model=model,
        args=arguments,
        train_dataset=encoded(fitted_on),
        eval_dataset=encoded(held_out),
        data_collator=DataCollatorWithPadding(tokenizer),
        compute_metrics=lambda p: {"accuracy": float((np.argmax(p.predictions, -1) == p.label_ids).mean())},
        callbacks=[_Watching(name, recipe)],
    )
    fitter.remove_callback(PrinterCallback)  # ours says it
    last = _last_whole(checkpoints)
    if last:
        note(f"{name}: going on from {last.name}")
    fitter.train(resume_from_checkpoint=str(last) if last else None)
    model.save_pretrained(run / "done")
    tokenizer.save_pretrained(run / "done")
    return _history(fitter.state.log_history, fitter.state.max_steps // recipe.epochs)


def precision() -> str:
    """What matrices are multiplied in while a model is fitted here; weights and their changes are always float32.

    `bfloat16` where the processor or GPU has instructions for it (2.5 times as fast, measured on all-mpnet-base-v2).
    """
    cuda = torch.cuda.is_available()
    has = torch.cuda.is_bf16_supported() if cuda else torch.cpu.get_capabilities().get("avx512_bf16")
    return "bfloat16" if has else "float32"


def clear(run: Path) -> None:
    """Remove what a finished run kept to be resumed; a kill meanwhile leaves no checkpoint that passes for whole."""
    for path in run.glob(f"checkpoints/*/{STATE}"):
        path.unlink()
    shutil.rmtree(run, ignore_errors=True)


def _last_whole(checkpoints: Path) -> Path | None:
    """The last checkpoint that was saved whole; removes what was broken off later."""
    for path in sorted(checkpoints.glob("checkpoint-*"), key=lambda path: int(path.name.split("-")[1]), reverse=True):
        try:
            json.loads((path / STATE).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            shutil.rmtree(path)
        else:
            return path
    return None


class _Watching(TrainerCallback):
    """Progress, and checkpoints inside epochs, from which a fit goes on to the bytes that it would have had."""

    def __init__(self, name: str, recipe: Finetune) -> None:
        self._name, self._recipe = name, recipe

    def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        self.saved = time.monotonic()
        self.bar = progress(state.max_steps, f"{self._name}: finetune", "step")
        self.bar.update(state.global_step)

    def on_epoch_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        # The order of the rows must not hang on what was drawn before: inside an epoch it has to be drawn again.
        epoch = state.global_step * int(args.num_train_epochs) // state.max_steps
        sampler = kwargs["train_dataloader"].batch_sampler.sampler
        sampler.generator = torch.Generator().manual_seed(self._recipe.seed * 1000 + epoch)

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        self.bar.update(1)
        if time.monotonic() - self.saved >= SAVED_EVERY:
            control.should_save = control.should_log = True  # the loss so far is kept in the log alone

    def on_save(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        self.saved = time.monotonic()

    def on_evaluate(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        accuracy = kwargs["metrics"]["eval_accuracy"]
        note(
            f"{self._name}: epoch {state.epoch:.0f} of {self._recipe.epochs}, accuracy {accuracy:.3f} on held-out rows"
        )

    def on_train_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        self.bar.close()


def _history(log: Sequence[dict[str, float]], steps: int) -> list[dict[str, float]]:
    """Mean loss and accuracy by epoch of some steps; an epoch's loss is logged in parts, each with its last step."""
    epochs: dict[int, dict[str, float]] = {}
    last = 0
    for entry in log:
        number = -(-int(entry["step"]) // steps)
        here = epochs.setdefault(number, {"epoch": number})
        if "loss" in entry:
            share = (entry["step"] - last) / steps
            here["loss"] = here.get("loss", 0.0) + share * float(entry["loss"])
            last = int(entry["step"])
        if "eval_accuracy" in entry:
            here["accuracy"] = float(entry["eval_accuracy"])
    return [{key: round(value, 4) for key, value in epochs[number].items()} for number in sorted(epochs)]
