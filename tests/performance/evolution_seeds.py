"""What luck does to an evolution: the embedded run over some seeds, elites against the set that it starts with.

Run by hand in the repository: `python -m tests.performance.evolution_seeds`. Prints Markdown tables: reliability and
diversity of the elites and of the whole last population by seed, beside the set that evolution starts with, on the
model that it evolved on; and what became of the operator's replies, all seeds together. Answers go through the row
store, so a second run takes seconds.
"""

import argparse

import numpy as np
import pandas as pd

from evenruler import measurement
from evenruler.instruments.probes.evolve.evidence import rewordings
from evenruler.instruments.probes.evolve.records import Run, tries
from evenruler.instruments.probes.figures import alpha_at_common_length
from evenruler.instruments.probes.source import load_probe_source, without_slots
from evenruler.models import load
from evenruler.project.params import load_params
from evenruler.text import words
from stages.evolve import runs_of
from stages.running import SOURCES

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
    parser.add_argument("--domain", default="occupation-gender")
    parser.add_argument("--seeds", type=int, nargs="+", default=SEEDS)
    parser.add_argument("--ablation", action="store_true", help="a run that replaces any word, too")
    arguments = parser.parse_args()
    params = load_params()
    domain, settings = arguments.domain, params.evolve[arguments.domain]
    source = load_probe_source(SOURCES / "probes" / f"{domain}.yaml", params.probes[domain])
    embedder = load(params.diagnosis.embedder, params)
    rows, replies = [], []
    for seed in arguments.seeds:
        changes = {"seed": seed} | ({"ablation": {"quick": True, "paper": True}} if arguments.ablation else {})
        own = params.model_copy(update={"evolve": {domain: settings.model_copy(update=changes)}})
        for run in runs_of(domain, own, source):
            last = run.generations[-1]
            sets = {"start": run.generations[0].population, "elites": run.evolution.best(last), "all": last.population}
            for name, templates in sets.items():
                texts = [template.text for template in templates]
                vectors = dict(zip(texts, embedder.embed(list(map(without_slots, texts))), strict=True))
                found = figures(run, [template.slug for template in templates], texts, vectors)
                rows.append({"seed": seed, "run": run.name, "set": name, **found})
            replies.append(tries(run, domain, {}))
    table = pd.DataFrame(rows)
    print(table[(table["set"] != "start") | (table["seed"] == arguments.seeds[0])].round(2).to_markdown(index=False))
    counted = pd.concat([rewordings(of_seed, domain) for of_seed in replies])
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
