"""How often `compare` errs: coverage of its intervals of 95%, and how often p is below .05 where nothing differs.

Run by hand: `python -m tests.performance.compared`, with `--draws N` and `--units N ...`; some minutes. It prints the
table of docs/results.md. Two models' values of n units correlate by `together`; beside each unit stands a criterion for
correlation and slope. Where nothing differs, both have the same statistic; else the means differ by .3 standard
deviations, the standard deviations by a ratio of 1.5, the correlations are .67 and .37, the slopes .9 and .4. Numbers
are normal, or have the tails of Student's t with 5 degrees of freedom. Everything is computed by the code that ships.
"""

import argparse
import math
from itertools import product

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from evenruler.results.comparing import Comparison, contrasted
from evenruler.results.statistics import STATISTICS

Floats = NDArray[np.float64]

FREEDOM = 5
UNITS, TOGETHER, TAILS = (5, 8, 12, 20, 50), (0.0, 0.5, 0.9), ("normal", "t(5)")
LOW, HIGH = 0.92, 0.98


def numbers(random: np.random.Generator, tails: str, n: int) -> Floats:
    """Of mean 0 and variance 1."""
    if tails == "normal":
        return random.normal(size=n)
    return random.standard_t(FREEDOM, size=n) / math.sqrt(FREEDOM / (FREEDOM - 2))


def drawn(
    random: np.random.Generator, tails: str, n: int, together: float, statistic: str, differ: bool
) -> pd.DataFrame:
    """Units of two models, side by side as `compare` has them."""
    beside, first, other = (numbers(random, tails, n) for _ in range(3))
    second = together * first + math.sqrt(1 - together**2) * other
    if STATISTICS[statistic].beside:
        slopes = (0.9, 0.4) if differ else (0.8, 0.8)
        first, second = slopes[0] * beside + first, slopes[1] * beside + second
    elif statistic == "mean":
        first = first + 0.3 * differ
    else:
        first = first * (1.5 if differ else 1)
    columns = {"value_first": first, "value_second": second, "beside_first": beside, "beside_second": beside}
    return pd.DataFrame(columns)


def true(statistic: str, differ: bool) -> float:
    """What the interval is to hold, on the scale on which it is printed."""
    if not differ:
        return 1.0 if statistic == "sd" else 0.0
    z = [math.atanh(b / math.sqrt(1 + b * b)) for b in (0.9, 0.4)]
    return {"mean": 0.3, "sd": 1.5, "correlation": z[0] - z[1], "slope": 5.0}[statistic]


def shares(statistic: str, n: int, tails: str, together: float, draws: int) -> tuple[float, float, float]:
    """How often p is below .05 and the interval holds the truth where nothing differs, and the latter where it does."""
    random = np.random.default_rng([n, TAILS.index(tails), int(10 * together)])
    blank = Comparison("", "", "", statistic, "", "", n=n)
    held, below = {}, 0
    for differ in (False, True):
        found = [contrasted(blank, drawn(random, tails, n, together, statistic, differ), 0.95) for _ in range(draws)]
        truth = true(statistic, differ)
        held[differ] = sum(one.low is not None and one.low <= truth <= (one.high or 0) for one in found) / draws
        below += 0 if differ else sum(one.p is not None and one.p < 0.05 for one in found)
    return below / draws, held[False], held[True]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=1000)
    parser.add_argument("--units", type=int, nargs="+", default=UNITS)
    given = parser.parse_args()
    print(
        "| statistic | units | values | p below .05: together 0, .5, .9 | covers, no difference | covers, difference |"
    )
    print("| --- " * 6 + "|")
    for statistic, n, tails in product(STATISTICS, given.units, TAILS):
        if n < STATISTICS[statistic].fewest:
            continue
        found = np.array([shares(statistic, n, tails, together, given.draws) for together in TOGETHER]).T
        cells = [", ".join(f"{share:.3f}" for share in found[0])]
        cells += [", ".join(marked(share) for share in row) for row in found[1:]]
        print(f"| {statistic} | {n} | {tails} | {' | '.join(cells)} |", flush=True)


def marked(share: float) -> str:
    return f"{share:.3f}" if LOW <= share <= HIGH else f"**{share:.3f}**"


if __name__ == "__main__":
    main()
