"""How often the intervals of agreement hold the truth: `python -m
tests.performance.convergent_coverage`.

Two instruments of units whose true values correlate by rho, of some items each; 500 draws a row.
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from evenruler.instruments.agreement import TRUE, R, compute_agreement
from evenruler.tables.schemas import CONCEPTS

DRAWS = 500
DESIGNS = [(n, rho, noise) for n in (20, 40) for rho in (0.0, 0.6, 1.0) for noise in (1.0, 2.5)]
"""Units, true correlation, noise of an item of the second instrument (that of true values is 1)."""

ITEMS = (8, 4)


def drawn(n: int, rho: float, noises: Sequence[float], random: np.random.Generator) -> pd.DataFrame:
    """Concepts of two instruments."""
    true = random.multivariate_normal([0, 0], [[1, rho], [rho, 1]], n)
    tables = []
    for place, (items, noise) in enumerate(zip(ITEMS, noises, strict=True)):
        x = true[:, [place]] + random.normal(0, noise, (n, items))
        own = {
            "concept": [f"unit:{unit:02}" for unit in range(n)],
            "value": x.mean(1),
            "error": x.var(1, ddof=1) / items,
        }
        of = {
            "benchmark": f"b{place}",
            "kin": f"b{place}",
            "part": "all",
            "model": "m",
            "trait": "t",
            "n": items,
            "criterion": np.nan,
        }
        tables.append(pd.DataFrame(own).assign(**of))
    return pd.concat(tables)[CONCEPTS.names]


def main() -> None:
    """Print a row a design: reliabilities, how often r's interval and that without errors hold the
    truth, how wide."""
    random = np.random.default_rng(11)
    print(
        "| units | true r | reliabilities | r covered | without errors covered | its width | not "
        "told |"
    )
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for n, rho, noise in DESIGNS:
        reliable = [
            1 / (1 + own**2 / items) for own, items in zip((1.0, noise), ITEMS, strict=True)
        ]
        truth = {R: rho * np.prod(reliable) ** 0.5, TRUE: rho}
        held, widths = {R: 0, TRUE: 0}, []
        for _ in range(DRAWS):
            found = compute_agreement(drawn(n, rho, (1.0, noise), random), 0.95)
            both = found[(found["benchmark"] == "b0") & (found["other"] == "b1")].set_index(
                "figure"
            )
            for figure, value in truth.items():
                held[figure] += bool(both["low"][figure] <= value <= both["high"][figure])
            if not np.isnan(both["low"][TRUE]):
                widths.append(both["high"][TRUE] - both["low"][TRUE])
        told = (
            f"{reliable[0]:.2f}, {reliable[1]:.2f} | {held[R] / DRAWS:.3f} | "
            f"{held[TRUE] / len(widths):.3f}"
        )
        print(f"| {n} | {rho} | {told} | {np.mean(widths):.2f} | {DRAWS - len(widths)} |")


if __name__ == "__main__":
    main()
