"""What luck does to an evolution: the embedded run over some seeds, elites against the set that it starts with.

Run by hand in the repository: `python -m tests.performance.evolution_seeds`. Prints Markdown tables: reliability and
diversity of the elites and of the whole last population by seed, beside the set that evolution starts with, on the
model that it evolved on; and what became of the operator's replies, all seeds together. Answers go through the row
store, so a second run takes seconds.
"""

import argparse
from functools import partial

import numpy as np
import pandas as pd

from evenruler import measurement
from evenruler.declared import Declared
from evenruler.instruments.probes import declare
from evenruler.instruments.probes.declare import without_slots
from evenruler.instruments.probes.diagnose.evolved import rewordings
from evenruler.instruments.probes.diagnose.figuring import alpha_at_common_length
from evenruler.instruments.probes.evolve.evolving import runs_of
from evenruler.instruments.probes.evolve.records import Run, tries
from evenruler.models import load
from evenruler.models.store import cache_root
from evenruler.text import words
from tests.performance.evolution import SOURCES

SEEDS = [1, 2, 3, 4, 5]


def figures(run: Run, slugs: list[str], texts: list[str], vectors: dict[str, np.ndarray]) -> dict[str, float]:
    """Of one set of templates."""
    biases = dict(run.measured())
    x = np.array([biases[slug].biases for slug in slugs]).T
    return {
        "templates": len(slugs),
        "alpha": measurement.cronbach_alpha(x),
        "alpha at 8": alpha_at_common_length(x),
        "inter-item r": measurement.mean_inter_item_correlation(x),
        "SD": float(measurement.semantic_diversity(np.stack([vectors[text] for text in texts])).mean()),
        "LD": float(measurement.lexical_diversity([words(text) for text in texts]).mean()),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--instrument", default="occupation-gender-evolved")
    parser.add_argument("--seeds", type=int, nargs="+", default=SEEDS)
    parser.add_argument("--ablation", action="store_true", help="a run that replaces any word, too")
    arguments = parser.parse_args()
    declared, name = Declared(), arguments.instrument
    settings, opened = declared.settings(name), partial(load, params=declared.catalogue)
    source = declare.load(SOURCES / f"{settings.written_as(name)}.yaml", settings, SOURCES / "shared")
    embedder = opened(settings.embedder)
    rows, replies = [], []
    for seed in arguments.seeds:
        changes = {"seed": seed} | ({"ablation": True} if arguments.ablation else {})
        evolve = settings.evolve.model_copy(update=changes)
        for run in runs_of(name, settings, evolve, source, opened, cache_root() / "evolve"):
            last = run.generations[-1]
            sets = {"start": run.generations[0].population, "elites": run.evolution.best(last), "all": last.population}
            for which, templates in sets.items():
                texts = [template.text for template in templates]
                vectors = dict(zip(texts, embedder.embed(list(map(without_slots, texts))), strict=True))
                found = figures(run, [template.slug for template in templates], texts, vectors)
                rows.append({"seed": seed, "run": run.name, "set": which, **found})
            replies.append(tries(run, name, {}))
    table = pd.DataFrame(rows)
    print(table[(table["set"] != "start") | (table["seed"] == arguments.seeds[0])].round(2).to_markdown(index=False))
    counted = pd.concat([rewordings(of_seed, name) for of_seed in replies])
    judged = counted[counted["share"].notna()]
    by_kind = judged.groupby(["operation", "voice"], dropna=False)["n"].sum()
    refused = judged.dropna(subset="reason").groupby(["operation", "voice"], dropna=False)["n"].sum()
    print(f"\n{counted['n'].sum():,} replies, {judged['n'].sum():,} of them judged\n")
    print(
        pd.DataFrame({"judged": by_kind, "refused": (refused / by_kind).fillna(0)})
        .round(2)
        .reset_index()
        .to_markdown(index=False)
    )
    print()
    reasons = judged.fillna({"reason": "taken"}).groupby(["operation", "reason"])["n"].sum().reset_index()
    print(reasons.sort_values(["operation", "n"], ascending=[True, False]).to_markdown(index=False))


if __name__ == "__main__":
    main()
