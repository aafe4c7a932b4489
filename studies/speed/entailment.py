"""Entailment of questionnaire prompts: ours against qlatent's batches, in one run.

Prints a Markdown table. All prompts of all
declared questionnaires, from text to logits on the host, tokenising included. qlatent 1.0.27 sends
the prompts of an item as one padded batch; what it does to each answer afterwards is left out.
"""

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from evenruler.declaration.params import load_params
from evenruler.instruments.questionnaires.declare.source import load_questionnaire
from evenruler.instruments.questionnaires.rows import fill_templates
from evenruler.models.backends.encoders import Nli
from evenruler.models.questions import EntailmentPair
from studies.speed.contest import OURS, open_with_new_store, print_contest

SOURCES = Path("data/sources/questionnaires")
MODEL = "mpnet-nli-a"
Batches = Sequence[Sequence[EntailmentPair]]


def prompts_by_item() -> list[list[EntailmentPair]]:
    """All prompts, a list for each item."""
    pairs_by_item: dict[tuple[str, str], list[EntailmentPair]] = defaultdict(list)
    for name, entry in load_params().instruments.items():
        if entry["family"] != "questionnaires":
            continue
        source, scale = load_questionnaire(
            SOURCES / f"{name}.yaml",
            SOURCES / "shared/scales",
        )
        for row in fill_templates(name, source, scale).prompts:
            pairs_by_item[name, row["item"]].append((row["premise"], row["hypothesis"]))
    return list(pairs_by_item.values())


def call_by_batch(backend: Nli, batches: Batches) -> NDArray[np.float64]:
    """[n, 3] logits, one call of transformers a batch."""
    logits = []
    with torch.inference_mode():
        for batch in batches:
            encoded = backend.tokenizer(
                list(batch), padding=True, truncation="only_first", return_tensors="pt"
            )
            output = backend.model(**encoded.to(backend.model.device))
            logits.append(output.logits.cpu().numpy())
    return np.concatenate(logits)[:, list(backend._order)].astype(np.float64)


def main() -> None:
    """Print the table."""
    items = prompts_by_item()
    pairs = [pair for item_pairs in items for pair in item_pairs]
    with open_with_new_store(MODEL) as model:
        backend = model.backend
    call_by_batch(backend, items[:2])  # warm-up
    contenders = {
        OURS: lambda model: model.entailment(pairs),
        "a batch an item": lambda _: call_by_batch(backend, items),
    }
    print_contest(MODEL, backend, contenders)


if __name__ == "__main__":
    main()
