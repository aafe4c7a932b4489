"""Dixon's test for one outlier among 3 to 30 numbers, at either end (Dixon 1950, Rorabacher 1991).

The ratio compares the gap at one end with the spread; which gap and which spread depends on n, so that a second outlier
at either end does not mask the first: r10 to n = 7, r11 to 10, r21 to 13, r22 to 30. The first digit says how many
steps the gap spans, the second how many numbers of the other end the spread leaves out.
"""

from collections.abc import Mapping
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from evenruler.instruments.saged.diagnose.blocks import ROUNDING, Floats, count

End = Literal["high", "low"]

FEWEST, MOST = 3, 30

CRITICAL: Mapping[int, float] = dict(
    enumerate(
        [
            *(0.970, 0.829, 0.710, 0.625, 0.568),  # r10, n = 3 to 7
            *(0.615, 0.570, 0.534),  # r11, n = 8 to 10
            *(0.625, 0.592, 0.565),  # r21, n = 11 to 13
            *(0.590, 0.568, 0.548, 0.531, 0.516, 0.503, 0.491, 0.480, 0.470),  # r22, n = 14 to 22
            *(0.461, 0.452, 0.445, 0.438, 0.432, 0.426, 0.419, 0.414),  # n = 23 to 30
        ],
        start=FEWEST,
    )
)
"""By n, at 95%, two-sided: a normal sample exceeds it at a given end in 2.5% of cases, since either end is looked at
(Rorabacher 1991, as github.com/pycafee/pycafee, pycafee/sample/outliers.py, has his tables of r10, r11, r21, r22)."""


def kind_of(n: int) -> str:
    """The ratio that fits n numbers: `r10`, `r11`, `r21` or `r22`.

    Raises:
        ValueError: n is not from 3 to 30.
    """
    if not FEWEST <= n <= MOST:
        raise ValueError(f"n must be from {FEWEST} to {MOST}, got {n}")
    return f"r{1 + (n > 10)}{(n > 7) + (n > 13)}"


def dixon_ratios(values: Floats, end: End) -> Floats:
    """Dixon's ratio of the kind that fits how many numbers there are.

    Args:
        values: float64[..., groups], NaN where there is none.
        end: The end whose outermost number is suspected.

    Returns:
        float64[...], 0 to 1; 0 where there is no gap (ties at that end, all equal but for rounding), NaN where fewer
        than 3 or more than 30 numbers are left.
    """
    ordered = np.sort(values if end == "low" else -values, axis=-1)  # the suspect first, NaN last
    n = count(ordered).astype(np.intp)
    fits = (n >= FEWEST) & (n <= MOST)
    after, far = 1 + (n > 10), n - 1 - (n > 7) - (n > 13)
    suspect, neighbour, farthest = (_at(ordered, np.where(fits, place, 0)) for place in (np.zeros_like(n), after, far))
    gap, spread = neighbour - suspect, farthest - suspect
    distinct = fits & (spread > ROUNDING * np.maximum(np.abs(suspect), np.abs(farthest)))
    ratios = np.divide(gap, spread, out=np.zeros_like(gap), where=distinct)
    return np.where(fits, ratios, np.nan)


def _at(ordered: Floats, place: NDArray[np.intp]) -> Floats:
    return np.take_along_axis(ordered, place[..., None], axis=-1)[..., 0]
