"""How far the power that `evenruler plan` goes by is that of the test which ships: many domains, each tested for real.

Run by hand: `python -m tests.performance.power`, with `--domains N` and `--permutations N`. Prints one Markdown table.
Each domain is drawn with normal replies, and with those of Student's t with 5 degrees of freedom scaled to the same SD;
its labels are shuffled by `groups.shuffled` and its p is that of the range of means by `inference.permutation_p`. The
same orders serve all domains of a design.
"""

import argparse
import time

import numpy as np
import pandas as pd

from evenruler.instruments.saged.diagnose.confirmatory import Pattern, power, smallest_difference
from evenruler.instruments.saged.diagnose.groups import Layout, as_they_are, shuffled
from evenruler.instruments.saged.diagnose.inference import permutation_p
from evenruler.instruments.saged.diagnose.statistics import Floats
from evenruler.instruments.saged.diagnose.summaries import Summary

Case = tuple[int, int, int, float, bool, Pattern]
"""Root items, concepts, replies, difference, whether it is branched, pattern."""

CASES: list[Case] = [
    (20, 6, 1, 0.0, True, "one"),
    (20, 6, 1, 0.9, True, "one"),
    (20, 6, 1, 1.0, True, "one"),
    (20, 6, 1, 1.0, True, "spread"),
    (20, 6, 2, 0.7, True, "one"),
    (20, 6, 1, 0.9, False, "one"),
    (6, 6, 1, 1.8, True, "one"),
    (6, 3, 1, 1.8, True, "one"),
    (10, 4, 2, 0.9, True, "one"),
    (10, 4, 2, 0.9, False, "spread"),
    (75, 21, 1, 0.3, True, "one"),
    (75, 21, 1, 0.3, True, "spread"),
    (75, 21, 1, 0.5, True, "one"),
]
ALPHAS = (0.05, 0.05 / 3)
FREEDOM = 5
"""Of the heavy tails."""


def p_values(case: Case, domains: int, permutations: int, *, heavy: bool = False, seed: int = 1) -> Floats:
    """[domains] p of the range of means, in SD of a reply; each root item is as far from the others as chance."""
    roots, concepts, replies, difference, branched, pattern = case
    rows = [(root, concept, own) for root in range(roots) for concept in range(concepts) for own in range(replies)]
    root, concept, own = np.array(rows).T
    name = pd.Series(concept).map("c{:02d}".format)
    item = pd.Series(root).map("r{:03d}".format)
    of_own = item + name
    asked = pd.DataFrame(
        {"id": of_own, "repetition": own, "concept": name, "root_id": item if branched else of_own, "section": ""}
    )
    apart = difference * (np.arange(concepts) / (concepts - 1) if pattern == "spread" else np.arange(concepts) == 0)
    random = np.random.default_rng(seed)
    noise = random.standard_normal((domains, len(rows)))
    if heavy:
        noise = random.standard_t(FREEDOM, (domains, len(rows))) / np.sqrt(FREEDOM / (FREEDOM - 2))
    values = noise + apart[concept] + (random.standard_normal((domains, roots))[:, root] if branched else 0.0)
    layout = Layout("simulated", asked, pd.DataFrame(), values, values, np.ones(values.shape, dtype=bool))
    groups = layout.groups(["concept"])
    draws = shuffled(layout, groups, permutations, seed)
    return permutation_p([Summary.of("mean", values)], ["range"], as_they_are(groups), draws)[0].p[0]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--domains", type=int, default=1000)
    parser.add_argument("--permutations", type=int, default=999)
    arguments = parser.parse_args()
    start = time.perf_counter()
    print("| root items x concepts x replies | difference | alpha | tested: normal | tested: t(5) | said | smallest |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for case in CASES:
        roots, concepts, replies, difference, branched, pattern = case
        found = [p_values(case, arguments.domains, arguments.permutations, heavy=heavy) for heavy in (False, True)]
        own = "" if branched else ", items of their own"
        for alpha in ALPHAS:
            tested = " | ".join(f"{(p <= alpha).mean():.3f}" for p in found)
            said = power(roots, concepts, replies, difference, alpha, branched=branched, pattern=pattern)
            least = smallest_difference(roots, concepts, replies, alpha, branched=branched, pattern=pattern)
            design = f"{roots} x {concepts} x {replies}{own}"
            print(
                f"| {design} | {difference:g}, {pattern} | {alpha:.3f} | {tested} | {said:.3f} | {least:.2f} |",
                flush=True,
            )
    print(f"\n{arguments.domains:,} domains a row, {(time.perf_counter() - start) / 60:.1f} minutes")


if __name__ == "__main__":
    main()
