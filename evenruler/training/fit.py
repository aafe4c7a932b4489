"""Fit a head on an encoder, for any classification task (EMPALC, section 3.2: entailment on MNLI)."""

import json
import shutil
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import load_file, save_file
from transformers import AutoTokenizer, DataCollatorWithPadding, Trainer, TrainerCallback, TrainingArguments
from transformers.trainer_callback import PrinterCallback

from evenruler.errors import UserError, nearest
from evenruler.files import swapped, templates
from evenruler.models import sources
from evenruler.models.backends import classifier
from evenruler.models.backends.classifier import WEIGHTS, Adapter, Classifier, Nli
from evenruler.models.cache import not_a_number
from evenruler.models.catalogue import base_sha256
from evenruler.models.declared import Catalogue, Finetune, ModelEntry
from evenruler.models.engines import described
from evenruler.models.heads import ADAPTERS, RECORD, AdapterRecord, read_adapter
from evenruler.models.loading import loading, quiet, require_all
from evenruler.models.records import LABELS
from evenruler.models.store import RowStore
from evenruler.tables.ids import content_sha256
from evenruler.terminal import note, progress
from evenruler.training import data
from evenruler.training.data import Row

LONGEST = 128  # tokens of a row, as in the script that the paper used
SAVED_EVERY = 300.0  # seconds between checkpoints inside an epoch: a large encoder takes an hour per epoch
STATE = "trainer_state.json"  # the file of a checkpoint that the trainer writes last


@dataclass(frozen=True)
class _Fitting:
    name: str
    entry: ModelEntry
    recipe: Finetune
    labels: list[str]
    base: Path
    fitted_on: list[Row]
    held_out: list[Row]


def finetune(name: str, params: Catalogue, *, again: bool = False, store: RowStore | None = None) -> AdapterRecord:
    """Fit the adapter and head of an encoder, and write them with their record and card.

    An interrupted run resumes from its last checkpoint; one is saved every five minutes and after every epoch, under
    the folder of `store` (by default the one under `cache_root()`). `again`: fit even if an adapter of the same recipe
    exists. UserError: no such encoder, or data or weights are not as declared.
    """
    encoders = {other: entry for other, entry in params.models.items() if entry.kind == "encoder"}
    entry = encoders.get(name)
    if entry is None or entry.finetune is None:
        remedy = f"mend the name ({nearest(name, encoders)}) or add an entry"
        raise UserError(f"no encoder {name!r}", where="params.yaml: models", remedy=remedy)
    store = store or RowStore()
    base = sources.locate(name, entry, store, params.models)
    base_sum = base_sha256(base, store)
    labels = params.labels(name)
    if not again and (ADAPTERS / name / RECORD).exists() and any((ADAPTERS / name).glob("*.safetensors")):
        there = read_adapter(name)
        if (there.recipe, there.base, there.labels) == (entry.finetune.model_dump(), base_sum, labels):
            return there
    named = dict.fromkeys([*entry.finetune.data, entry.finetune.validation])
    read = {d: data.read(d, params.training[d]) for d in named}
    about = {d: words for d, (_, words) in read.items()}
    rows = data.split({d: own for d, (own, _) in read.items()}, entry.finetune)
    fitting = _Fitting(name, entry, entry.finetune, labels, base, *rows)
    sums = {d: words["sha256"] for d, words in about.items()}
    identity = content_sha256(entry.finetune.model_dump(), base_sum, labels, sums)
    run = store.root / "finetune" / f"{name}-{identity[:16]}"
    with quiet():
        history = _fit(fitting, run)
    with quiet(), swapped(ADAPTERS / name) as folder:
        _keep(fitting, run / "done", folder)
        record = {
            "labels": fitting.labels,
            "source": "+".join(f"{scheme}:{rest}" for scheme, rest in _places(entry)),
            "base": base_sum,
            "recipe": entry.finetune.model_dump(),
            "data": about,
            "rows_fitted_on": len(fitting.fitted_on),
            "precision": precision(),
            "history": history,
            **_measured(fitting, folder),
        }
        (folder / RECORD).write_text(json.dumps(record, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
        (folder / "README.md").write_text(card_of(name, entry, record), encoding="utf-8")
    # Removed first, so that a kill in between leaves no checkpoint that looks complete.
    for path in run.glob(f"checkpoints/*/{STATE}"):
        path.unlink()
    shutil.rmtree(run, ignore_errors=True)
    return read_adapter(name)


def _fit(fitting: _Fitting, run: Path) -> list[dict[str, float]]:
    """Fit, or resume from the last complete checkpoint under `run`; the result is in `run / "done"`.

    Returns loss, and accuracy on the held-out rows, by epoch.
    """
    name, recipe, checkpoints, cuda = fitting.name, fitting.recipe, run / "checkpoints", torch.cuda.is_available()
    torch.manual_seed(recipe.seed)
    with loading(name, str(fitting.base)):
        tokenizer: Any = AutoTokenizer.from_pretrained(fitting.base, trust_remote_code=False)
    model, made_up = classifier.load_with_head(name, fitting.base, fitting.labels, torch.float32)
    require_all(name, str(fitting.base), made_up, classifier.head_of(model))
    model = _to_fit(model, recipe)
    limit = min(LONGEST, classifier.longest(tokenizer, model.config))

    def encoded(rows: Sequence[Row]) -> list[dict[str, Any]]:
        """Tokenise rows; if two texts are too long, the first is truncated."""
        sides = [list(side) for side in zip(*(row.texts for row in rows), strict=True)]
        read = tokenizer(*sides, truncation="only_first", max_length=limit)
        columns = [{key: values[i] for key, values in read.items()} for i in range(len(rows))]
        return [{**own, "labels": fitting.labels.index(row.label)} for own, row in zip(columns, rows, strict=True)]

    arguments = TrainingArguments(
        output_dir=str(checkpoints),
        num_train_epochs=recipe.epochs,
        learning_rate=recipe.learning_rate,
        per_device_train_batch_size=recipe.batch,
        per_device_eval_batch_size=64,
        warmup_steps=0.06,  # share of the steps for warm-up
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
        train_dataset=encoded(fitting.fitted_on),
        eval_dataset=encoded(fitting.held_out),
        data_collator=DataCollatorWithPadding(tokenizer),
        compute_metrics=lambda p: {"accuracy": float((np.argmax(p.predictions, -1) == p.label_ids).mean())},
        callbacks=[_Watching(name, recipe)],
    )
    fitter.remove_callback(PrinterCallback)  # replaced by `_Watching`
    last = _last_whole(checkpoints)
    if last:
        note(f"{name}: going on from {last.name}")
    fitter.train(resume_from_checkpoint=str(last) if last else None)
    model.save_pretrained(run / "done")
    tokenizer.save_pretrained(run / "done")
    return _history(fitter.state.log_history, fitter.state.max_steps // recipe.epochs)


def _to_fit(model: Any, recipe: Finetune) -> Any:
    if recipe.fit == "whole":
        return model
    from peft import LoraConfig, get_peft_model
    from peft.utils.constants import DUMMY_TARGET_MODULES

    head = classifier.head_of(model)
    linear = (name for name, module in model.named_modules() if type(module).__name__ == "Linear")
    inside = [name for name in linear if not set(name.split(".")) & set(head)]
    targets = inside if recipe.fit == "adapter" else DUMMY_TARGET_MODULES
    config = LoraConfig(
        task_type="SEQ_CLS", r=recipe.rank, lora_alpha=recipe.rank, target_modules=targets, modules_to_save=head
    )
    return get_peft_model(model, config)


def _last_whole(checkpoints: Path) -> Path | None:
    """The last complete checkpoint; removes later incomplete ones."""
    for path in sorted(checkpoints.glob("checkpoint-*"), key=lambda path: int(path.name.split("-")[1]), reverse=True):
        try:
            json.loads((path / STATE).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            shutil.rmtree(path)
        else:
            return path
    return None


class _Watching(TrainerCallback):
    """Progress, and checkpoints inside epochs; a resumed fit gives the same bytes as an uninterrupted one."""

    def __init__(self, name: str, recipe: Finetune) -> None:
        self._name, self._recipe = name, recipe

    def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        self.saved = time.monotonic()
        self.bar = progress(state.max_steps, f"{self._name}: finetune", "step")
        self.bar.update(state.global_step)

    def on_epoch_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        # Seeded by epoch, so that a fit resumed inside an epoch draws the same order of rows.
        epoch = state.global_step * int(args.num_train_epochs) // state.max_steps
        sampler = kwargs["train_dataloader"].batch_sampler.sampler
        sampler.generator = torch.Generator().manual_seed(self._recipe.seed * 1000 + epoch)

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        self.bar.update(1)
        if time.monotonic() - self.saved >= SAVED_EVERY:
            control.should_save = control.should_log = True  # the loss so far is kept only in the log

    def on_save(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        self.saved = time.monotonic()

    def on_evaluate(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        done, accuracy = f"epoch {state.epoch:.0f} of {self._recipe.epochs}", kwargs["metrics"]["eval_accuracy"]
        note(f"{self._name}: {done}, accuracy {accuracy:.3f} on held-out rows")

    def on_train_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        self.bar.close()


def _history(log: Sequence[dict[str, float]], steps: int) -> list[dict[str, float]]:
    """Mean loss and accuracy by epoch of `steps` steps; a loss is logged in parts, each with its last step."""
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


def _keep(fitting: _Fitting, done: Path, folder: Path) -> None:
    """Copy the fitted model; an adapter in half precision, without the local path of its encoder."""
    if fitting.recipe.fit == "whole":
        shutil.copytree(done, folder, copy_function=shutil.copyfile)
        return
    folder.mkdir(parents=True)
    tensors = load_file(done / WEIGHTS)
    save_file({name: tensor.to(torch.float16) for name, tensor in tensors.items()}, folder / WEIGHTS)
    config = json.loads((done / "adapter_config.json").read_text(encoding="utf-8"))
    config["base_model_name_or_path"] = "+".join(rest for _, rest in _places(fitting.entry))
    if fitting.recipe.fit == "adapter":
        config["target_modules"] = sorted(config["target_modules"])
    (folder / "adapter_config.json").write_text(json.dumps(config, indent=2, sort_keys=True) + "\n", encoding="utf-8")


def _places(entry: ModelEntry) -> list[tuple[str, str]]:
    """(scheme, rest) of each part of a source; for absolute paths only the folder's name."""
    return [(s, Path(rest).name if Path(rest).expanduser().is_absolute() else rest) for s, rest in entry.locations]


def precision() -> str:
    """The data type of matrix products during a fit here; weights and updates are always float32.

    `bfloat16` where the processor or GPU supports it (2.5 times as fast, measured on all-mpnet-base-v2).
    """
    cuda = torch.cuda.is_available()
    has = torch.cuda.is_bf16_supported() if cuda else torch.cpu.get_capabilities().get("avx512_bf16")
    return "bfloat16" if has else "float32"


def _measured(fitting: _Fitting, folder: Path) -> dict[str, Any]:
    """Held-out accuracy of the written model, loaded as users load it; for entailment models also the sense checks."""
    kind, adapter = Nli if set(fitting.labels) == set(LABELS) else Classifier, Adapter(folder, fitting.labels)
    model = kind(fitting.name, fitting.base, described.device(), "float32", adapter=adapter)
    texts, labels = [row.texts for row in fitting.held_out], np.array([row.label for row in fitting.held_out])
    said, batches = [""] * len(texts), model.batches(texts)
    for batch in batches.indices:
        for i, logits in batches.answer(batch):
            if not np.isfinite(logits).all():
                raise not_a_number(fitting.name, texts[i])
            said[i] = fitting.labels[int(logits.argmax())]
    right = np.array(said) == labels
    by_label = {str(label): round(float(right[labels == label].mean()), 4) for label in np.unique(labels)}
    accuracy = round(float(right.mean()), 4)
    held_out = {"data": fitting.recipe.validation, "n": len(right), "accuracy": accuracy, "by_label": by_label}
    return {"held_out": held_out, **({"sense_checks": sense_checks(model)} if isinstance(model, Nli) else {})}


def sense_checks(model: Nli) -> list[dict[str, Any]]:
    """An entailment model's answers on hand-written pairs with an obvious answer (`expected`).

    `entailment`: probability of entailment against contradiction alone.
    """
    sample, found = classifier.labelled_sample(), []
    pairs = [pair for pair, _ in sample]
    logits = {i: row for batch in model.entail(pairs, frozenset(range(len(pairs)))) for i, row in batch}
    for i, ((premise, hypothesis), expected) in enumerate(sample):
        said, share = LABELS[int(logits[i].argmax())], float(1 / (1 + np.exp(logits[i][2] - logits[i][0])))
        record = {"premise": premise, "hypothesis": hypothesis, "expected": expected, "said": said}
        found.append({**record, "entailment": round(share, 3)})
    return found


WHAT_IS_FITTED = {
    "adapter": "low-rank changes of every layer (rank {rank}) and the head; the encoder's own weights stay as they are",
    "head": "the head alone; the encoder is frozen",
    "whole": "the encoder and the head",
}


def card_of(name: str, entry: ModelEntry, record: Mapping[str, Any]) -> str:
    """The card of a fitted model, from its `training.json`."""
    recipe, checks = record["recipe"], record.get("sense_checks", [])
    card = templates("evenruler.training").get_template("card.md.j2")
    return card.render(
        name=name,
        entry=entry,
        record=record,
        recipe=recipe,
        held_out=record["held_out"],
        fitted=WHAT_IS_FITTED[recipe["fit"]].format(**recipe),
        below=record["held_out"]["accuracy"] < recipe["bar"],
        checks=checks,
        failures=[check for check in checks if check["said"] != check["expected"]],
    )
