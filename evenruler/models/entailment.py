"""The transformers backend for natural-language inference, and causal models asked by a verbaliser."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from ruamel.yaml import YAML

from evenruler.errors import UserError
from evenruler.models.engine import Dtype
from evenruler.models.loading import complete, loading
from evenruler.progress import note

LABELS = ("entailment", "neutral", "contradiction")
"""The order of all logits that leave this module."""

Pair = tuple[str, str]
"""Premise and hypothesis."""

BATCH = 32

COUNT_FROM_PADDING = {"roberta", "xlm-roberta", "camembert", "mpnet", "longformer"}
"""Models whose first position comes after that of padding."""

INSTRUCTION = (
    "Does the first sentence mean that the second is true? Answer yes, no or maybe.\n"
    "First: {premise}\nSecond: {hypothesis}\nAnswer:"
)
"""What a causal model reads. Everything that differs between prompts comes late, so that they share beginnings."""

OPTIONS = (" yes", " maybe", " no")
"""What stands for entailment, neutral and contradiction."""

CONTENT_FREE = "N/A"
"""The premise that shows what a model answers whatever it is told."""


class TransformersEntailment:
    """A sequence classifier with three labels, in memory."""

    def __init__(self, name: str, folder: Path, device: str, dtype: Dtype, labels: Sequence[str] | None) -> None:
        """Load it.

        Args:
            name: In the catalogue.
            folder: Its files.
            device: Where to.
            dtype: What it computes in.
            labels: What its outputs mean, if params say so.

        Raises:
            UserError: It does not load, has not three labels, or they cannot be told apart.
        """
        import torch
        from transformers import AutoModelForSequenceClassification, AutoTokenizer

        with loading(name, str(folder)):
            self._tokenizer: Any = AutoTokenizer.from_pretrained(folder)
            loaded: Any = AutoModelForSequenceClassification.from_pretrained(
                folder, dtype=getattr(torch, dtype), output_loading_info=True
            )
        self._model: Any = complete(loaded, name, str(folder)).to(device).eval()
        self._name, self._where, self._device = name, str(folder), device
        self._longest = _longest(self._tokenizer, self._model.config)
        n_labels = int(self._model.config.num_labels)
        if n_labels != len(LABELS):
            raise UserError(f"{name} has {n_labels} labels, expected 3", where=str(folder), remedy="see its `source`")
        names = self._model.config.id2label
        self._order = order_of(labels or [names[i] for i in range(n_labels)]) or self._detected()

    def entailments(
        self, pairs: Sequence[Pair], wanted: frozenset[int]
    ) -> Iterator[list[tuple[int, NDArray[np.float64]]]]:
        """Classify every batch of pairs that holds a wanted one, whole; batches are of pairs of like length.

        Yields:
            By batch: (index, [3] logits in the order of `LABELS`).
        """
        order = sorted(range(len(pairs)), key=lambda i: (sum(map(len, pairs[i])), pairs[i]))
        for first in range(0, len(order), BATCH):
            batch = order[first : first + BATCH]
            if wanted.isdisjoint(batch):
                continue
            logits = self._logits([pairs[i] for i in batch])[:, list(self._order)]
            yield list(zip(batch, logits, strict=True))

    def _logits(self, pairs: Sequence[Pair]) -> NDArray[np.float64]:
        """[n, 3] in the model's own order."""
        import torch

        encoded = self._encode(pairs)
        with torch.inference_mode():
            logits: NDArray[np.float64] = self._model(**encoded.to(self._device)).logits.double().cpu().numpy()
        if not np.isfinite(logits).all():
            broken = pairs[int(np.flatnonzero(~np.isfinite(logits).all(axis=1))[0])]
            raise UserError(
                f"{self._name} answers with what is no number", where=repr(broken), remedy="take another dtype or model"
            )
        return logits

    def _encode(self, pairs: Sequence[Pair]) -> Any:
        """Tokens; a premise that is too long is cut, and that is said."""
        premises, hypotheses = ([pair[side] for pair in pairs] for side in (0, 1))
        lengths = [len(ids) for ids in self._tokenizer(premises, hypotheses)["input_ids"]]
        if max(lengths) <= self._longest:
            return self._tokenizer(premises, hypotheses, padding=True, return_tensors="pt")
        alone = [len(ids) for ids in self._tokenizer([""] * len(pairs), hypotheses)["input_ids"]]
        for hypothesis, length in zip(hypotheses, alone, strict=True):
            if length >= self._longest:
                raise UserError(
                    f"a hypothesis of {length} tokens, {self._name} takes {self._longest}",
                    where=repr(hypothesis[:40]),
                    remedy="shorten it",
                )
        cut = sum(length > self._longest for length in lengths)
        note(f"{self._name}: {cut} premises cut to fit into {self._longest} tokens")
        return self._tokenizer(
            premises,
            hypotheses,
            padding=True,
            truncation="only_first",
            max_length=self._longest,
            return_tensors="pt",
        )

    def _detected(self) -> tuple[int, int, int]:
        """The order of labels that have no names, from what the model says of pairs whose answer is plain."""
        sample = labelled_sample()
        logits = self._logits([pair for pair, _ in sample])
        said: dict[str, Counter[int]] = {label: Counter() for label in LABELS}
        for (_, label), row in zip(sample, logits, strict=True):
            said[label][int(row.argmax())] += 1
        order = tuple(said[label].most_common(1)[0][0] for label in LABELS)
        clear = all(count.most_common(1)[0][1] * 2 > count.total() for count in said.values())
        if len(set(order)) < len(LABELS) or not clear:
            raise UserError(
                f"{self._name} does not say what its three labels mean, and its answers do not tell",
                where=self._where,
                remedy=f"give `labels` in its order, as [{', '.join(LABELS)}]",
            )
        return order[0], order[1], order[2]


def _longest(tokenizer: Any, config: Any) -> int:
    """Tokens that the model takes."""
    positions = getattr(config, "max_position_embeddings", None) or tokenizer.model_max_length
    if config.model_type in COUNT_FROM_PADDING:
        positions -= config.pad_token_id + 1
    return int(min(tokenizer.model_max_length, positions))


def order_of(names: Sequence[str]) -> tuple[int, int, int] | None:
    """Where entailment, neutral and contradiction stand among a head's labels; None where the names do not say."""
    short = [name.strip().lower()[:6] for name in names]
    wanted = [label[:6] for label in LABELS]
    if sorted(short) != sorted(wanted):
        return None
    first, second, third = (short.index(label) for label in wanted)
    return first, second, third


def labelled_sample() -> list[tuple[Pair, str]]:
    """Pairs whose answer is plain, with it; ours."""
    text = resources.files("evenruler.models").joinpath("entailment_sample.yaml").read_text(encoding="utf-8")
    sample: Mapping[str, list[list[str]]] = YAML(typ="safe", pure=True).load(text)
    return [((premise, hypothesis), label) for label in LABELS for premise, hypothesis in sample[label]]


def verbalised(pairs: Sequence[Pair]) -> tuple[list[str], list[str]]:
    """The prompt of each pair for a causal model, and that of its hypothesis after a premise without content."""
    asked = [INSTRUCTION.format(premise=premise, hypothesis=hypothesis) for premise, hypothesis in pairs]
    empty = [INSTRUCTION.format(premise=CONTENT_FREE, hypothesis=hypothesis) for _, hypothesis in pairs]
    return asked, empty
