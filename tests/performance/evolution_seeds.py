"""What luck does to an evolution: the embedded run over some seeds, what evolved against what costs no evolution.

Run by hand in the repository: `python -m tests.performance.evolution_seeds`. Prints Markdown: for each seed the texts
of the chosen set, and reliability, diversity and external validity of the chosen set, the paper's elites, the best
subset of the start, the start and the human set, on the model that they evolved on and on another; and what became of
the operator's replies, all seeds together. The operator is asked. Answers go through the row store, so a second run
takes seconds.
"""

import argparse
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from evenruler import measurement
from evenruler.declared import Declared
from evenruler.instruments.probes import declare
from evenruler.instruments.probes.declare import halves, without_slots
from evenruler.instruments.probes.diagnose.evolution import rewordings
from evenruler.instruments.probes.diagnose.quality import alpha_at_common_length
from evenruler.instruments.probes.evolve import runs_of
from evenruler.instruments.probes.evolve.fitness import choices, pool_of
from evenruler.instruments.probes.evolve.population import Ruler, Template
from evenruler.instruments.probes.evolve.records import Run, tries
from evenruler.models import load
from evenruler.models.store import cache_root
from evenruler.text import words
from tests.performance.evolution import SOURCES

SEEDS = [1, 2, 3, 4, 5]
HUMAN = "validation"


class Bench:
    """What measures and embeds templates, each once."""

    def __init__(self, models: Sequence[Any], embedder: Any, source: Any, settings: Any) -> None:
        self.source, self._embedder = source, embedder
        self.attributes = list(source.attributes)
        numbers = source.published.values if source.published else {}
        self.criterion = np.array([np.nan if numbers.get(a) is None else numbers[a] for a in self.attributes])
        self._rulers = {
            (model.name, human): Ruler(model, source, settings.article_of(HUMAN if human else "seed"), 1)
            for model in models
            for human in (False, True)
        }
        self._known: dict[tuple[str, bool, str], Any] = {}
        self.models = [model.name for model in models]

    def biases(self, model: str, templates: Sequence[Template], human: bool = False) -> np.ndarray:
        new = [t for t in templates if (model, human, t.text) not in self._known]
        found = self._rulers[model, human].measure(new) if new else []
        self._known |= {(model, human, t.text): one.biases for t, one in zip(new, found, strict=True)}
        return np.array([self._known[model, human, t.text] for t in templates]).T

    def embed(self, texts: list[str]) -> np.ndarray:
        return self._embedder.embed([without_slots(text) for text in texts])

    def r(self, x: np.ndarray, rows: np.ndarray) -> float:
        rows = rows & ~np.isnan(self.criterion)
        return float(np.corrcoef(x[rows].mean(axis=1), self.criterion[rows])[0, 1])

    def figures(self, templates: Sequence[Template], human: bool = False) -> dict[str, float]:
        """Of a set, on every model by all attributes, and its diversities."""
        texts, every = [t.text for t in templates], np.ones(len(self.attributes), dtype=bool)
        found: dict[str, float] = {"k": len(templates)}
        for model in self.models:
            x = self.biases(model, templates, human)
            found |= {f"alpha at 8, {model[:5]}": alpha_at_common_length(x), f"r, {model[:5]}": self.r(x, every)}
        found["SD"] = float(measurement.semantic_diversity(self.embed(texts)).mean())
        found["LD"] = float(measurement.lexical_diversity([words(text) for text in texts]).mean())
        return found

    def held_out(self, by_first: Sequence[Template], by_second: Sequence[Template]) -> dict[str, float]:
        """What one half of the attributes chose, judged by the other, mean of both ways, on the first model."""
        first = np.isin(self.attributes, halves(self.attributes)[0])
        both = [(self.biases(self.models[0], by_first), ~first), (self.biases(self.models[0], by_second), first)]
        alpha, r = zip(*((alpha_at_common_length(x[half]), self.r(x, half)) for x, half in both), strict=True)
        return {"held-out alpha at 8": float(np.mean(alpha)), "held-out r": float(np.mean(r))}


def rows_of(run: Run, bench: Bench, evolve: Any) -> tuple[list[dict[str, Any]], list[str]]:
    """Figures of what evolved, and lines on the chosen templates."""
    pool = pool_of(run.generations, bench.embed)
    made = choices(pool, bench.attributes, evolve)
    sets = {name: [pool.templates[i] for i in chosen] for name, chosen in made.sets.items()}
    start = list(run.generations[0].population)
    rows = [
        {"set": "chosen", **bench.figures(sets["chosen"]),
         **bench.held_out(sets["chosen_by_first"], sets["chosen_by_second"])},
        {"set": "elites (paper)", **bench.figures(run.evolution.best(run.generations[-1]))},
        {"set": "best subset of the start", **bench.figures(sets["best_start"]),
         **bench.held_out(sets["best_start_by_first"], sets["best_start_by_second"])},
        {"set": "start", **bench.figures(start), **bench.held_out(start, start)},
    ]  # fmt: skip
    said = [f"- {one.slug} ({pool.roots[pool.templates.index(one)]}): {one.text}" for one in sets["chosen"]]
    refused = [
        f"- refused {t.slug}: {t.text} ({why})" for t, why in zip(pool.templates, made.refused, strict=True) if why
    ]
    return rows, [*said, *refused, f"- replies that keep every rule: {run.passed:.0%}"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--instrument", default="occupation-gender-evolved")
    parser.add_argument("--other", default="gemma-3-270m", help="a model that has no part in the evolution")
    parser.add_argument("--seeds", type=int, nargs="+", default=SEEDS)
    arguments = parser.parse_args()
    declared, name = Declared(), arguments.instrument
    settings, opened = declared.settings(name), partial(load, params=declared.catalogue)
    source = declare.load(SOURCES / f"{settings.written_as(name)}.yaml", settings, SOURCES / "shared")
    bench = Bench([opened(settings.evolve.model), opened(arguments.other)], opened(settings.embedder), source, settings)
    rows, replies = [], []
    for seed in arguments.seeds:
        evolve = settings.evolve.model_copy(update={"seed": seed})
        run = runs_of(name, settings, evolve, source, opened, cache_root() / "evolve")[0]
        found, said = rows_of(run, bench, evolve)
        rows += [{"seed": seed, **row} for row in found]
        replies.append(tries(run, name, {}))
        print(f"\nSeed {seed}\n", *said, sep="\n", flush=True)
    human = [Template(slug, one.text, one.keying) for slug, one in source.sets[HUMAN].scored.items()]
    rows.append({"set": f"human ({HUMAN})", **bench.figures(human, human=True)})
    print("\n", pd.DataFrame(rows).round(2).to_markdown(index=False), sep="")
    _say_replies(pd.concat([rewordings(of_seed, name) for of_seed in replies]))


def _say_replies(counted: pd.DataFrame) -> None:
    print(f"\n{counted['n'].sum():,} replies\n")
    reasons = counted.fillna({"reason": "taken"}).groupby(["operation", "reason"])["n"].sum().reset_index()
    print(reasons.sort_values(["operation", "n"], ascending=[True, False]).to_markdown(index=False))


if __name__ == "__main__":
    main()
