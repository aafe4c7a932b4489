"""How often the intervals of agreement hold the truth: `python -m
studies.planted.agreement`.

Two instruments of units whose true values correlate by rho, of some items each; 500 draws a row.
"""

from collections.abc import Sequence
from itertools import product

import numpy as np
import pandas as pd

from evenruler.instruments.agreement import TRUE, R, compute_agreement
from evenruler.tables.schemas import CONCEPTS
from studies.tables import print_head, print_row

DRAWS = 500
DESIGNS = list(product((20, 40), (0.0, 0.6, 1.0), (1.0, 2.5)))
"""Units, true correlation, noise of an item of the second instrument (that of true values is 1)."""

ITEMS = (8, 4)


def drawn(n: int, rho: float, noises: Sequence[float], random: np.random.Generator) -> pd.DataFrame:
    """Concepts of two instruments."""
    true = random.multivariate_normal([0, 0], [[1, rho], [rho, 1]], n)
    same = {"part": "all", "model": "m", "trait": "t", "criterion": np.nan}
    tables = []
    for place, (n_items, noise) in enumerate(zip(ITEMS, noises, strict=True)):
        scores = true[:, [place]] + random.normal(0, noise, (n, n_items))
        columns = {
            "concept": [f"unit:{unit:02}" for unit in range(n)],
            "value": scores.mean(1),
            "error": scores.var(1, ddof=1) / n_items,
        }
        benchmark = f"b{place}"
        table = pd.DataFrame(columns).assign(benchmark=benchmark, kin=benchmark, n=n_items, **same)
        tables.append(table)
    return pd.concat(tables)[CONCEPTS.names]


def main() -> None:
    """Print a row a design: reliabilities, how often r's interval and that without errors hold the
    truth, how wide."""
    random = np.random.default_rng(11)
    print_head(
        *("units", "true r", "reliabilities", "r covered"),
        *("without errors covered", "its width", "not told"),
    )
    for n, rho, noise in DESIGNS:
        reliabilities = 1 / (1 + np.square([1.0, noise]) / ITEMS)
        truth = {R: rho * np.prod(reliabilities) ** 0.5, TRUE: rho}
        n_held, widths = {R: 0, TRUE: 0}, []
        for _ in range(DRAWS):
            figures = compute_agreement(drawn(n, rho, (1.0, noise), random), 0.95)
            of_pair = figures.query("benchmark == 'b0' and other == 'b1'").set_index("figure")
            low, high = of_pair["low"], of_pair["high"]
            for figure, true in truth.items():
                n_held[figure] += bool(low[figure] <= true <= high[figure])
            if not np.isnan(low[TRUE]):
                widths.append(high[TRUE] - low[TRUE])
        print_row(
            *(n, rho, ", ".join(f"{reliability:.2f}" for reliability in reliabilities)),
            f"{n_held[R] / DRAWS:.3f}",
            f"{n_held[TRUE] / len(widths):.3f}",
            f"{np.mean(widths):.2f}",
            DRAWS - len(widths),
        )


if __name__ == "__main__":
    main()
