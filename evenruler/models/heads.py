"""Labels of classifier outputs, from the configuration or the record of a fit, without loading the model.

For adapters fitted here, the record is `data/adapters/{model}/training.json`, written by `evenruler finetune`.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evenruler import shipped
from evenruler.errors import UserError
from evenruler.models.declared import ModelEntry
from evenruler.models.loading import loading, quiet

ADAPTERS = Path("data/adapters")  # folder of adapters, by model name
RECORD = "training.json"


@dataclass(frozen=True)
class AdapterRecord:
    """How an adapter was fitted, and its accuracy."""

    labels: list[str]  # of the head's outputs, in order
    base: str  # checksum of the encoder's weights
    recipe: dict[str, Any]  # `finetune` in the model's entry, with defaults
    accuracy: float  # on held-out data
    n_held_out: int
    content: dict[str, Any]  # the whole file

    @property
    def below_bar(self) -> bool:
        """Whether accuracy is below the bar of the recipe."""
        return self.accuracy < float(self.recipe["bar"])


def adapter_folder(name: str, folder: Path = ADAPTERS) -> Path:
    """Folder of a model's adapter: below `folder`, or else in the package."""
    ours = shipped.adapters() / name
    return ours if ours.is_dir() and not (folder / name).is_dir() else folder / name


def read_adapter(name: str, folder: Path = ADAPTERS) -> AdapterRecord:
    """The record of a model's adapter; UserError if none was fitted or it is damaged."""
    path = adapter_folder(name, folder) / RECORD
    if not path.exists():
        raise UserError(f"{name} has no adapter yet", where=str(path.parent), remedy=f"run `evenruler finetune {name}`")
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        labels, base, recipe, held_out = (content[key] for key in ("labels", "base", "recipe", "held_out"))
        return AdapterRecord(labels, base, recipe, held_out["accuracy"], held_out["n"], content)
    except (ValueError, KeyError, TypeError):
        what = f"no record of how {name} was fitted"
        raise UserError(what, where=str(path), remedy=f"run `evenruler finetune {name} --again`") from None


SINGLE_LABEL, MULTI_LABEL = "single_label_classification", "multi_label_classification"
"""transformers' problem types whose heads give probabilities."""


def read_head(name: str, entry: ModelEntry, folder: Path) -> tuple[list[str], str]:
    """Labels of a classifier's outputs, in order, and its problem type in transformers' terms.

    From its configuration or the record of the fit; UserError if neither exists.
    """
    if entry.kind == "encoder":
        return list(read_adapter(name).labels), SINGLE_LABEL
    from transformers import AutoConfig

    with quiet(), loading(name, str(folder)):
        config: Any = AutoConfig.from_pretrained(folder, trust_remote_code=False)
    labels = [str(config.id2label[i]) for i in range(int(config.num_labels))]
    return labels, config.problem_type or (SINGLE_LABEL if len(labels) > 1 else MULTI_LABEL)
