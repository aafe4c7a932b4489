"""A whole evolution, operator included: ours against plain batches without a store, in one run.

Run by hand on a machine that does nothing else: `python -m tests.performance.evolution_whole`. Both
evolve the same domain by the settings of params.yaml, from an empty store. The other contender is
what a loop without store does: the whole population is measured in every generation, in padded
batches of the size that does best on a sample, whole logits (`tests.performance.evolution.plain`).
Its operator is ours, with an empty store too, so that the replies are the same and any difference
lies in the measuring. Loading is not timed.

Prints one Markdown table, and whether both ended with the same population.
"""

import argparse
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from evenruler.declaration.params_file import ParamsFile
from evenruler.instruments.probes import declare
from evenruler.instruments.probes.declare.source import without_slots
from evenruler.instruments.probes.evolve import starting_templates
from evenruler.instruments.probes.evolve.evolution import Evolution
from evenruler.instruments.probes.evolve.operators import ModelOperator
from evenruler.instruments.probes.evolve.population import Generation, TemplateMeter
from evenruler.models import LogLikelihoods, load
from evenruler.models.model import Model
from evenruler.models.store import RowStore, cache_root
from tests.performance.evolution import SOURCES, best_size, clocks, plain


class Plain:
    """A causal model asked in plain batches, that keeps nothing."""

    def __init__(self, model: Model, sample: Sequence[str]) -> None:
        self._backend, self.name = model.backend, model.name
        self.asked, self.size = 0, best_size(self._backend, sample)

    def loglikelihood(self, texts: Sequence[str]) -> LogLikelihoods:
        nats, _, _ = plain(self._backend, texts, self.size, 1)
        self.asked += len(texts)
        tokens = self._backend.tokenizer(list(texts), add_special_tokens=False)["input_ids"]
        return LogLikelihoods(nats, np.array([len(ids) for ids in tokens]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--instrument", default="occupation-gender-evolved")
    instrument, declared = parser.parse_args().instrument, ParamsFile()
    of_all, params = declared.settings(instrument), declared.catalogue
    settings = of_all.evolve
    source = declare.load(SOURCES / f"{settings.of}.yaml", of_all, SOURCES / "shared")
    start, article = starting_templates(source, settings.start), of_all.article_of(settings.start)
    embedder = load(of_all.embedder, params)

    def evolve(name: str) -> tuple[np.ndarray, int, list[Generation]]:
        """[2] seconds and those of processors; sentences asked meanwhile; what came of it."""
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, "models").symlink_to((cache_root() / "models").resolve())
            store = RowStore(Path(folder))
            own = load(settings.model, params, store=store)
            operator = ModelOperator(own, settings.new_tokens, settings.shots)
            sample = [f"The {word} is a person." for word in source.attributes.values()]
            own.loglikelihood(["Loaded before anything is timed."])
            model = own if name == "ours" else Plain(own, sample)
            ruler = TemplateMeter(model, source, article, settings.gradient_attributes)
            embedder.embed(["warm"])
            began, before, found = clocks(), model.asked, []
            evolution = Evolution(
                ruler,
                operator,
                lambda texts: embedder.embed(list(map(without_slots, texts))),
                settings,
            )
            for generation in evolution.generations(start):
                found.append(generation)
                if name == "plain" and generation.number:  # nothing was kept of those that stay
                    ruler.measure(
                        [one for one in generation.population if one.born < generation.number]
                    )
            replies = (
                sum(len(each.tries) for each in found) if name == "ours" else 0
            )  # asked of the same model
            return clocks() - began, model.asked - before - replies, found

    results = {name: evolve(name) for name in ("ours", "plain")}
    print("| | seconds | of processors | sentences asked |\n| --- | --- | --- | --- |")
    for name, (took, asked, _) in results.items():
        print(f"| {name} | {took[0]:.1f} | {took[1]:.1f} | {asked:,} |")
    times = results["plain"][0] / results["ours"][0]
    same = (
        len({tuple(one.text for one in found[-1].population) for _, _, found in results.values()})
        == 1
    )
    print(
        f"\n{times[0]:.1f}x by the clock, {times[1]:.1f}x by processors; same last population: "
        f"{same}."
    )


if __name__ == "__main__":
    main()
