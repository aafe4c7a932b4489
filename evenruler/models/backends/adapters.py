"""Loading an encoder with an adapter and a head of ours (`evenruler finetune`)."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evenruler.errors import UserError
from evenruler.models.loading import loading, quiet

WEIGHTS = "adapter_model.safetensors"


@dataclass(frozen=True)
class Adapter:
    """What makes a classifier of an encoder."""

    folder: Path
    labels: list[str]
    """Of the head's outputs, in order."""

    @property
    def shown(self) -> str:
        """The folder in messages: from the working directory, where it lies below that."""
        here = Path.cwd()
        return str(self.folder.relative_to(here) if self.folder.is_relative_to(here) else self.folder)

    @property
    def is_whole(self) -> bool:
        """Whether the folder holds a whole model, encoder and all."""
        return not (self.folder / WEIGHTS).exists()

    def require_weights(self, name: str) -> None:
        """Stop where there are none: those of a whole model stay out of git, its record does not.

        Raises:
            UserError: The folder holds no weights.
        """
        if not any(self.folder.glob("*.safetensors")):
            raise UserError(f"no weights of {name}", where=self.shown, remedy=f"run `evenruler finetune {name}`")


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
    from peft import PeftModel, get_peft_model_state_dict
    from safetensors import safe_open

    where, remedy = adapter.shown, f"run `evenruler finetune {name} --again`"
    with quiet(), loading(name, where, remedy), torch.random.fork_rng():
        torch.manual_seed(0)
        model, made_up = load_with_head(name, base, adapter.labels, dtype)
        adapted: Any = PeftModel.from_pretrained(model, adapter.folder)
        require_all(name, where, made_up, adapted.peft_config["default"].modules_to_save or [], remedy)
        with safe_open(adapter.folder / WEIGHTS, "pt") as file:
            require_all(name, where, set(get_peft_model_state_dict(adapted)) - set(file.keys()), [], remedy)
    return adapted.merge_and_unload()


def load_with_head(name: str, base: Path, labels: Sequence[str], dtype: Any) -> tuple[Any, list[str]]:
    """An encoder as a sequence classifier of some labels.

    Args:
        name: In the catalogue.
        base: Folder of the encoder.
        labels: Of the head's outputs, in order.
        dtype: What it computes in.

    Returns:
        The model, and the tensors of it that are random because the encoder lacks them.

    Raises:
        UserError: The encoder does not load.
    """
    from transformers import AutoModelForSequenceClassification

    with quiet(), loading(name, str(base)):
        model, found = AutoModelForSequenceClassification.from_pretrained(
            base,
            dtype=dtype,
            num_labels=len(labels),
            id2label=dict(enumerate(labels)),
            label2id={label: i for i, label in enumerate(labels)},
            ignore_mismatched_sizes=True,  # the head of another task
            output_loading_info=True,
            trust_remote_code=False,
        )
    mismatched = [key if isinstance(key, str) else key[0] for key in found["mismatched_keys"]]
    return model, [*found["missing_keys"], *mismatched]


def head_of(model: Any) -> list[str]:
    """Names of the modules after the encoder: its pooler, where it has one, and what comes on top."""
    encoder = model.base_model_prefix
    top = [
        name for name, module in model.named_children() if name != encoder and any(True for _ in module.parameters())
    ]
    pooler = ["pooler"] if getattr(getattr(model, encoder), "pooler", None) is not None else []
    return [*pooler, *top]


def require_all(name: str, where: str, lacking: Iterable[str], brought: Iterable[str], remedy: str) -> None:
    """Stop where tensors are random that nobody brings.

    Args:
        name: In the catalogue.
        where: The folder that is to blame.
        lacking: Tensors that are not in its files.
        brought: Modules that come from elsewhere.
        remedy: What to do about it.

    Raises:
        UserError: A tensor is missing.
    """
    if missing := sorted(key for key in lacking if not set(key.split(".")) & set(brought)):
        raise UserError(f"{name} lacks {len(missing)} tensors, as {missing[0]}", where=where, remedy=remedy)
