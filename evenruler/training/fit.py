"""Fitting a head on an encoder: one mechanism for every task (EMPALC, section 3.2: entailment on MNLI)."""

import json
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import load_file, save_file
from transformers import AutoTokenizer

from evenruler.errors import UserError, nearest
from evenruler.files import swapped, templates
from evenruler.models import sources
from evenruler.models.backends.classifier import (
    WEIGHTS,
    Adapter,
    Classifier,
    Nli,
    head_of,
    labelled_sample,
    load_with_head,
    require_all,
)
from evenruler.models.cache import not_a_number
from evenruler.models.catalogue import base_sha256
from evenruler.models.declared import Catalogue, Finetune, ModelEntry
from evenruler.models.engines import described
from evenruler.models.heads import ADAPTERS, RECORD, AdapterRecord, read_adapter
from evenruler.models.loading import loading, quiet
from evenruler.models.records import LABELS
from evenruler.models.store import RowStore
from evenruler.tables.ids import content_sha256
from evenruler.training import data, trainer
from evenruler.training.data import Row


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

    A run that was broken off goes on from its last checkpoint: one is kept every five minutes and after every epoch,
    under the folder of `store` (by default the one under `cache_root()`). `again`: even if the adapter that is there
    follows the same recipe. UserError: no such encoder, or data or weights are not what was declared.
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
    described = {d: words for d, (_, words) in read.items()}
    rows = data.split({d: own for d, (own, _) in read.items()}, entry.finetune)
    fitting = _Fitting(name, entry, entry.finetune, labels, base, *rows)
    identity = content_sha256(
        entry.finetune.model_dump(), base_sum, labels, {d: words["sha256"] for d, words in described.items()}
    )
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
            "data": described,
            "rows_fitted_on": len(fitting.fitted_on),
            "precision": trainer.precision(),
            "history": history,
            **_measured(fitting, folder),
        }
        (folder / RECORD).write_text(json.dumps(record, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
        (folder / "README.md").write_text(card_of(name, entry, record), encoding="utf-8")
    trainer.clear(run)
    return read_adapter(name)


def _fit(fitting: _Fitting, run: Path) -> list[dict[str, float]]:
    """Fit, or go on fitting; the result lies in `run / "done"`. By epoch: loss, and accuracy on the held-out rows."""
    recipe = fitting.recipe
    torch.manual_seed(recipe.seed)
    with loading(fitting.name, str(fitting.base)):
        tokenizer: Any = AutoTokenizer.from_pretrained(fitting.base, trust_remote_code=False)
    model, made_up = load_with_head(fitting.name, fitting.base, fitting.labels, torch.float32)
    require_all(fitting.name, str(fitting.base), made_up, head_of(model), "see its `source`")
    model = _to_fit(model, recipe)
    rows = fitting.fitted_on, fitting.held_out
    return trainer.train(fitting.name, model, tokenizer, fitting.labels, *rows, recipe, run)


def _to_fit(model: Any, recipe: Finetune) -> Any:
    """The model with only that trainable which the recipe wants fitted."""
    if recipe.fit == "whole":
        return model
    from peft import LoraConfig, get_peft_model
    from peft.utils.constants import DUMMY_TARGET_MODULES

    head = head_of(model)
    linear = (name for name, module in model.named_modules() if type(module).__name__ == "Linear")
    inside = [name for name in linear if not set(name.split(".")) & set(head)]
    targets = inside if recipe.fit == "adapter" else DUMMY_TARGET_MODULES
    config = LoraConfig(
        task_type="SEQ_CLS", r=recipe.rank, lora_alpha=recipe.rank, target_modules=targets, modules_to_save=head
    )
    return get_peft_model(model, config)


def _keep(fitting: _Fitting, done: Path, folder: Path) -> None:
    """Copy what was fitted; an adapter in half precision, without the path of this machine's encoder."""
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
    """(scheme, rest) of each part of a source; of a folder outside, its name alone."""
    return [(s, Path(rest).name if Path(rest).expanduser().is_absolute() else rest) for s, rest in entry.locations]


def _measured(fitting: _Fitting, folder: Path) -> dict[str, Any]:
    """Accuracy of what lies in the folder, loaded as users load it; and of an entailment model, the sense checks."""
    adapter, device = Adapter(folder, fitting.labels), described.device()
    model = Classifier(fitting.name, fitting.base, device, "float32", adapter)
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
    if set(fitting.labels) != set(LABELS):
        return {"held_out": held_out}
    nli = Nli(fitting.name, fitting.base, device, "float32", adapter=adapter)
    return {"held_out": held_out, "sense_checks": sense_checks(nli)}


def sense_checks(model: Nli) -> list[dict[str, Any]]:
    """What an entailment model says of hand-written pairs whose answer is plain (`expected`).

    `entailment` is the share that it gives to entailment against contradiction.
    """
    sample, found = labelled_sample(), []
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
    """The text of a fitted model's card, by its `training.json`."""
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
