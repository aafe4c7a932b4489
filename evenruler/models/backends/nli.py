"""Natural-language inference by transformers: what a premise and a hypothesis have to do with each other."""

from collections import Counter
from collections.abc import Mapping, Sequence
from importlib import resources
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from ruamel.yaml import YAML

from evenruler.errors import UserError
from evenruler.models.backends.classifier import Adapter, Classifier
from evenruler.models.backends.packs import Packs, in_packs
from evenruler.models.loading import Dtype
from evenruler.models.records import LABELS, Pair


class Nli(Classifier):
    """A classifier of premise and hypothesis with three labels, in memory."""

    def __init__(
        self,
        name: str,
        folder: Path,
        device: str,
        dtype: Dtype,
        labels: Sequence[str] | None = None,
        adapter: Adapter | None = None,
    ) -> None:
        """Load it, as a `Classifier` is; `labels` say what its outputs mean, if params do.

        Raises:
            UserError: It does not load, has not three labels, or they cannot be told apart.
        """
        super().__init__(name, folder, device, dtype, adapter)
        if len(self.labels) != len(LABELS):
            what = f"{name} has {len(self.labels)} labels, expected 3"
            raise UserError(what, where=str(folder), remedy="see its `source`")
        self._order = order_of(labels or self.labels) or self._detected()

    @in_packs
    def entail(self, pairs: Sequence[Pair]) -> Packs[NDArray[np.float64]]:
        """Of each pair: [3] logits in the order of `LABELS`."""
        batches = self.batches(pairs)
        order = list(self._order)
        return Packs(batches.indices, lambda batch: [(i, logits[order]) for i, logits in batches.answer(batch)])

    def _detected(self) -> tuple[int, int, int]:
        """The order of labels that have no names, from what the model says of pairs whose answer is plain."""
        sample = labelled_sample()
        logits = self.logits([pair for pair, _ in sample])
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
    text = resources.files("evenruler.models.backends").joinpath("entailment_sample.yaml").read_text(encoding="utf-8")
    sample: Mapping[str, list[list[str]]] = YAML(typ="safe", pure=True).load(text)
    return [((premise, hypothesis), label) for label in LABELS for premise, hypothesis in sample[label]]
