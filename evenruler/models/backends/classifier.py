"""Classifiers of one text or of two, by transformers; also an encoder with an adapter and a head of ours."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from ruamel.yaml import YAML
from safetensors import safe_open
from transformers import AutoModelForSequenceClassification, AutoTokenizer

from evenruler.errors import UserError
from evenruler.models.backends.packs import Packs, in_packs
from evenruler.models.loading import Dtype, Weights, loading, pretrained, quiet, require_all, require_embeddings
from evenruler.models.records import LABELS, Pair
from evenruler.terminal import note

Texts = tuple[str, ...]  # one text, or two
Encoded = Mapping[str, Sequence[Sequence[int]]]  # tokens and what else a model reads, by name, of each text; not padded
CAPACITY = {"cpu": 1024, "cuda": 8192}  # tokens of a batch, padding included

COUNT_FROM_PADDING = {"roberta", "xlm-roberta", "camembert", "mpnet", "longformer"}
"""Models whose first position comes after that of padding."""

WEIGHTS = "adapter_model.safetensors"


@dataclass(frozen=True)
class Adapter:
    """What makes a classifier of an encoder."""

    folder: Path
    labels: list[str]  # of the head's outputs, in order

    @property
    def shown(self) -> str:
        """The folder in messages: from the working directory, where it lies below that."""
        here = Path.cwd()
        return str(self.folder.relative_to(here) if self.folder.is_relative_to(here) else self.folder)


def load_adapted(name: str, base: Path, adapter: Adapter, dtype: Any) -> Any:
    """The encoder in `base` with its adapter merged in, and the head; UserError where they do not go together."""
    from peft import PeftModel, get_peft_model_state_dict

    where, remedy = adapter.shown, f"run `evenruler finetune {name} --again`"
    with quiet(), loading(name, where, remedy), torch.random.fork_rng():
        torch.manual_seed(0)
        model, made_up = load_with_head(name, base, adapter.labels, dtype)
        adapted: Any = PeftModel.from_pretrained(model, adapter.folder)
        require_all(name, where, made_up, adapted.peft_config["default"].modules_to_save or [], remedy)
        with safe_open(adapter.folder / WEIGHTS, "pt") as file:
            require_all(name, where, set(get_peft_model_state_dict(adapted)) - set(file.keys()), remedy=remedy)
    return adapted.merge_and_unload()


def load_with_head(name: str, base: Path, labels: Sequence[str], dtype: Any) -> tuple[Any, list[str]]:
    """An encoder as a sequence classifier of some labels; and its tensors that are random, since it lacks them."""
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
    named = ((name, module) for name, module in model.named_children() if name != encoder)
    top = [name for name, module in named if any(True for _ in module.parameters())]
    pooler = ["pooler"] if getattr(getattr(model, encoder), "pooler", None) is not None else []
    return [*pooler, *top]


class Classifier:
    """A sequence classifier in memory."""

    def __init__(self, name: str, folder: Weights, device: str, dtype: Dtype, adapter: Adapter | None = None) -> None:
        """Load it, or its encoder with what was fitted on it; UserError where it does not load."""
        where = str(folder)
        if adapter is not None and not (adapter.folder / WEIGHTS).exists():  # a whole model, encoder and all
            if not any(adapter.folder.glob("*.safetensors")):  # they stay out of git, their record does not
                raise UserError(f"no weights of {name}", where=adapter.shown, remedy=f"run `evenruler finetune {name}`")
            where, folder, adapter = adapter.shown, adapter.folder, None
        if adapter is None:
            self.tokenizer, self.model = pretrained(
                "AutoModelForSequenceClassification", name, folder, device, dtype, where
            )
        else:
            assert isinstance(folder, Path)
            with quiet(), loading(name, where):
                self.tokenizer = AutoTokenizer.from_pretrained(folder, trust_remote_code=False)
            model = load_adapted(name, folder, adapter, getattr(torch, dtype))
            require_embeddings(model, self.tokenizer, name)
            self.model = model.to(device).eval()
        self._name, self._where, self._device = name, str(folder), device
        self._longest = longest(self.tokenizer, self.model.config)
        names = self.model.config.id2label
        self.labels: list[str] = [str(names[i]) for i in range(int(self.model.config.num_labels))]
        """What the outputs mean, as the configuration says."""

    @in_packs
    def classify(self, texts: Sequence[str]) -> Packs[NDArray[np.float64]]:
        """Of each text: [k] logits in the order of `labels`."""
        return self.batches([(text,) for text in texts])

    @in_packs
    def classify_whole(self, texts: Sequence[str]) -> Packs[NDArray[np.float64] | None]:
        """The same of texts that are never cut: None for one that is longer than the model takes."""
        with quiet():  # it warns of texts that are too long
            lengths = np.array([len(ids) for ids in self.tokenizer(list(texts))["input_ids"]])
        fits = lengths <= self._longest
        taken, too_long = np.flatnonzero(fits).tolist(), np.flatnonzero(~fits).tolist()
        batches = self.batches([(texts[i],) for i in taken])
        place_of = {i: place for place, i in enumerate(taken)}

        def answer(pack: Sequence[int]) -> list[tuple[int, NDArray[np.float64] | None]]:
            if pack[0] not in place_of:
                return [(i, None) for i in pack]
            return [(taken[place], logits) for place, logits in batches.answer([place_of[i] for i in pack])]

        return Packs([too_long, *([taken[place] for place in batch] for batch in batches.indices)], answer)

    def batches(self, texts: Sequence[Texts]) -> Packs[NDArray[np.float64]]:
        """Texts, or pairs of them, in batches of like length: [k] logits of each in the order of `labels`."""
        if not texts:
            return Packs([], lambda _: [])
        encoded = self._encode(texts)
        indices = packs(encoded["input_ids"], texts, CAPACITY[self._device])
        return Packs(indices, lambda batch: list(zip(batch, self._classify(encoded, batch), strict=True)))

    def logits(self, texts: Sequence[Texts]) -> NDArray[np.float64]:
        """[n, k] logits of one batch."""
        return self._classify(self._encode(texts), range(len(texts)))

    def _classify(self, encoded: Encoded, batch: Sequence[int]) -> NDArray[np.float64]:
        rows = {name: [values[i] for i in batch] for name, values in encoded.items()}
        padded = self.tokenizer.pad(rows, return_tensors="pt").to(self._device)
        with torch.inference_mode():
            logits: NDArray[np.float64] = self.model(**padded).logits.double().cpu().numpy()
        return logits

    def _encode(self, texts: Sequence[Texts]) -> Encoded:
        """Tokens; a (first) text that is too long is cut, and that is said."""
        sides = [list(side) for side in zip(*texts, strict=True)]
        encoded: Encoded = self.tokenizer(*sides)
        too_long = [i for i, ids in enumerate(encoded["input_ids"]) if len(ids) > self._longest]
        if not too_long:
            return encoded
        if len(sides) == 2:
            hypotheses = [sides[1][i] for i in too_long]  # which are never cut
            alone = self.tokenizer([""] * len(hypotheses), hypotheses)["input_ids"]
            for hypothesis, ids in zip(hypotheses, alone, strict=True):
                if len(ids) >= self._longest:
                    what = f"a hypothesis of {len(ids)} tokens, {self._name} takes {self._longest}"
                    raise UserError(what, where=repr(hypothesis[:40]), remedy="shorten it")
        what = "premises" if len(sides) == 2 else "texts"
        note(f"{self._name}: {len(too_long)} {what} cut to fit into {self._longest} tokens")
        cut: Encoded = self.tokenizer(*sides, truncation="only_first", max_length=self._longest)
        return cut


def packs(tokens: Sequence[Sequence[int]], texts: Sequence[Texts], capacity: int) -> list[list[int]]:
    """Indices of texts in batches of like length, and then of what they say, so that hardly anything is padded.

    `capacity`: tokens of a batch, padding included; a longer text is a batch of its own.
    """
    batches: list[list[int]] = []
    for i in sorted(range(len(texts)), key=lambda i: (len(tokens[i]), texts[i])):
        if not batches or (len(batches[-1]) + 1) * len(tokens[i]) > capacity:
            batches.append([])
        batches[-1].append(i)
    return batches


def longest(tokenizer: Any, config: Any) -> int:
    """Tokens that the model takes."""
    positions = getattr(config, "max_position_embeddings", None) or tokenizer.model_max_length
    if config.model_type in COUNT_FROM_PADDING:
        positions -= config.pad_token_id + 1
    return int(min(tokenizer.model_max_length, positions))


class Nli(Classifier):
    """A classifier of premise and hypothesis with three labels, in memory."""

    def __init__(
        self,
        name: str,
        folder: Weights,
        device: str,
        dtype: Dtype,
        labels: Sequence[str] | None = None,
        adapter: Adapter | None = None,
    ) -> None:
        """Load it, as a `Classifier` is; UserError where its three `labels` cannot be told apart."""
        super().__init__(name, folder, device, dtype, adapter)
        if len(self.labels) != len(LABELS):
            what = f"{name} has {len(self.labels)} labels, expected 3"
            raise UserError(what, where=str(folder), remedy="see its `source`")
        self._order = order_of(labels or self.labels) or self._detected()

    @in_packs
    def entail(self, pairs: Sequence[Pair]) -> Packs[NDArray[np.float64]]:
        """Of each pair: [3] logits in the order of `LABELS`."""
        batches = self.batches(pairs)
        return Packs(batches.indices, lambda batch: [(i, logits[self._order]) for i, logits in batches.answer(batch)])

    def _detected(self) -> list[int]:
        """The order of labels that have no names, from what the model says of pairs whose answer is plain."""
        sample = labelled_sample()
        logits = self.logits([pair for pair, _ in sample])
        said: dict[str, Counter[int]] = {label: Counter() for label in LABELS}
        for (_, label), row in zip(sample, logits, strict=True):
            said[label][int(row.argmax())] += 1
        order = [said[label].most_common(1)[0][0] for label in LABELS]
        clear = all(count.most_common(1)[0][1] * 2 > count.total() for count in said.values())
        if len(set(order)) < len(LABELS) or not clear:
            what = f"{self._name} does not say what its three labels mean, and its answers do not tell"
            raise UserError(what, where=self._where, remedy=f"give `labels` in its order, as [{', '.join(LABELS)}]")
        return order


def order_of(names: Sequence[str]) -> list[int] | None:
    """Where entailment, neutral and contradiction stand among a head's labels; None where the names do not say."""
    short = [name.strip().lower()[:6] for name in names]
    wanted = [label[:6] for label in LABELS]
    return [short.index(label) for label in wanted] if sorted(short) == sorted(wanted) else None


def labelled_sample() -> list[tuple[Pair, str]]:
    """Pairs whose answer is plain, with it; ours."""
    text = resources.files("evenruler.models.backends").joinpath("entailment_sample.yaml").read_text(encoding="utf-8")
    sample: Mapping[str, list[list[str]]] = YAML(typ="safe", pure=True).load(text)
    return [((premise, hypothesis), label) for label in LABELS for premise, hypothesis in sample[label]]
