"""What the outputs of a classifier mean, by its own account; no weights are loaded."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evenruler.models.adapter_record import read_adapter
from evenruler.models.entry import ModelEntry
from evenruler.models.loading import loading, quiet

SINGLE_LABEL, MULTI_LABEL = "single_label_classification", "multi_label_classification"
"""What transformers calls the problems of heads that give probabilities."""


@dataclass(frozen=True)
class Head:
    """The head of a classifier."""

    labels: list[str]
    """Of its outputs, in order."""
    problem: str
    """What it was trained on, as transformers calls it."""


def read_head(name: str, entry: ModelEntry, folder: Path) -> Head:
    """The head of a classifier, from its configuration or from the record of what was fitted.

    Raises:
        UserError: The configuration does not load, or nothing has been fitted.
    """
    if entry.kind == "encoder":
        return Head(list(read_adapter(name).labels), SINGLE_LABEL)
    from transformers import AutoConfig

    with quiet(), loading(name, str(folder)):
        config: Any = AutoConfig.from_pretrained(folder, trust_remote_code=False)
    labels = [str(config.id2label[i]) for i in range(int(config.num_labels))]
    return Head(labels, config.problem_type or (SINGLE_LABEL if len(labels) > 1 else MULTI_LABEL))
