"""How far raters agree: Fleiss' kappa and Krippendorff's alpha."""

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from evenruler.measurement.checks import Floats


def fleiss_kappa(ratings: ArrayLike) -> float:
    """Fleiss' kappa by `statsmodels`: agreement on the very same rating, beyond chance.

    Args:
        ratings: units x raters, none missing; at least one unit and two raters. Ratings are taken as mere names.

    Returns:
        At most 1 (all agree); 0 is what chance gives. NaN where all ratings are equal.

    Raises:
        ValueError: A rating is missing, or there are too few units or raters.

    Source: Fleiss (1971), Measuring nominal scale agreement among many raters.
    """
    from statsmodels.stats.inter_rater import fleiss_kappa as kappa

    x = np.asarray(ratings, dtype=np.float64)
    if x.ndim != 2 or x.shape[0] < 1 or x.shape[1] < 2 or np.isnan(x).any():
        raise ValueError(f"expected units x raters without gaps, at least 1 x 2, got shape {x.shape}")
    counts, _ = _counts(x)
    return math.nan if counts.shape[1] == 1 else float(kappa(counts))


def krippendorff_alpha(ratings: ArrayLike) -> float:
    """Krippendorff's alpha for ordinal ratings: agreement beyond chance, where a near miss counts for less.

    With o the coincidences of values within units, n their margins and N their sum,
    alpha = 1 - (N - 1) sum o_ck d_ck / sum n_c n_k d_ck, and d_ck = (n_c + ... + n_k - (n_c + n_k) / 2) ** 2: how many
    ratings lie between two values, squared.

    Args:
        ratings: units x raters, NaN where one is missing. Units with fewer than two ratings tell nothing and are left
            out.

    Returns:
        At most 1 (all agree); 0 is what chance gives. NaN where all ratings are equal, or no unit has two.

    Source: Krippendorff (2011), Computing Krippendorff's alpha-reliability, section E.
    """
    x = np.asarray(ratings, dtype=np.float64)
    if x.ndim != 2:
        raise ValueError(f"expected units x raters, got {x.ndim} dimension(s)")
    x = x[np.count_nonzero(~np.isnan(x), axis=1) >= 2]
    counts, given = _counts(x)
    # A unit's ratings pair with each other but not with themselves.
    coincidences = (counts / (given[:, None] - 1)).T @ counts - np.diag((counts / (given[:, None] - 1)).sum(axis=0))
    margins = coincidences.sum(axis=1)
    up_to = np.cumsum(margins) - margins / 2
    apart = (up_to[:, None] - up_to) ** 2
    expected = float(margins @ apart @ margins)
    if expected == 0:
        return math.nan
    return 1 - (float(margins.sum()) - 1) * float((coincidences * apart).sum()) / expected


def _counts(ratings: Floats) -> tuple[Floats, NDArray[np.int_]]:
    """Units x distinct values in their order, how often each was given; and the ratings of each unit."""
    values = np.unique(ratings[~np.isnan(ratings)])
    counts: Floats = (ratings[:, :, None] == values).sum(axis=1, dtype=np.float64)
    return counts, np.count_nonzero(~np.isnan(ratings), axis=1)
