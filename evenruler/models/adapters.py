"""Loading an encoder with an adapter and a head of ours (`evenruler finetune`)."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evenruler.errors import UserError
from evenruler.models.loading import loading

WEIGHTS = "adapter_model.safetensors"


@dataclass(frozen=True)
class Adapter:
    """What makes a classifier of an encoder."""

    folder: Path
    labels: list[str]
    """Of the head's outputs, in order."""

    @property
    def is_whole(self) -> bool:
        """Whether the folder holds a whole model, encoder and all."""
        return not (self.folder / WEIGHTS).exists()


def load_adapted(name: str, base: Path, adapter: Adapter, dtype: Any) -> Any:
    """A sequence classifier: the encoder with its adapter merged in, and the head.

    Args:
        name: In the catalogue.
        base: Folder of the encoder.
        adapter: What was fitted on it.
        dtype: What it computes in.

    Raises:
        UserError: The files do not go together.
    """
    import torch
    from peft import PeftModel
    from transformers import AutoModelForSequenceClassification

    with loading(name, str(adapter.folder)), torch.random.fork_rng():
        torch.manual_seed(0)
        model, found = AutoModelForSequenceClassification.from_pretrained(
            base,
            dtype=dtype,
            num_labels=len(adapter.labels),
            id2label=dict(enumerate(adapter.labels)),
            label2id={label: i for i, label in enumerate(adapter.labels)},
            output_loading_info=True,
        )
        adapted: Any = PeftModel.from_pretrained(model, adapter.folder)
    _require_all(name, adapter.folder, found["missing_keys"], adapted.peft_config["default"].modules_to_save or [])
    return adapted.merge_and_unload()


def _require_all(name: str, adapter: Path, missing: list[str], saved: list[str]) -> None:
    """What the encoder lacks, the adapter brings; transformers would make up the rest."""
    if lacking := sorted(key for key in missing if not set(key.split(".")) & set(saved)):
        raise UserError(
            f"{name} lacks {len(lacking)} tensors, as {lacking[0]}", where=str(adapter), remedy="fit it again"
        )
