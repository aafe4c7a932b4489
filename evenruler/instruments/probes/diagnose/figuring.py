"""Figures of quality of a set of templates, each with interval, n, and a reason where it is null."""

import math
from collections.abc import Iterator
from dataclasses import asdict, replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats

from evenruler import measurement
from evenruler.instruments.probes.schemas import LEXICAL, SEMANTIC
from evenruler.measurement import Figure, Interval, Resampling
from evenruler.measurement.checks import constant_columns
from evenruler.measurement.figures import correlated, finite, jackknifed
from evenruler.measurement.resampling import BELOW_ONE, CORRELATION, FEWEST_UNITS, SHARE

COMMON_LENGTH = 8
"""Templates at which sets of different length are compared (Spearman-Brown); as many as the paper's sets have."""

UNIT = "attributes"
"""What observations are."""

NO_FACTOR = "no proper one-factor solution"
"""Why omega is null where all else is there."""


def of_sets(diversity: pd.DataFrame) -> pd.DataFrame:
    """Mean diversity of every set; the same whatever model is measured.

    Args:
        diversity: By `schemas.DIVERSITY`, of sets.
    """
    return pd.DataFrame(
        [
            {"benchmark": benchmark, "set": set_name, "model": None, **asdict(figure)}
            for (benchmark, set_name), templates in diversity.groupby(["benchmark", "set"], sort=True)
            for figure in mean_diversities(templates)
        ]
    )


def mean_diversities(templates: pd.DataFrame) -> list[Figure]:
    """Mean SD(t) and mean LD(t) of templates (PMPO, section 3.2.1), 0 (all alike) upwards; null for a single one."""
    reason = "a set of one template" if len(templates) == 1 else None
    return [
        Figure(figure, finite(float(templates[figure].mean())), len(templates), "templates", reason=reason)
        for figure in (SEMANTIC, LEXICAL)
    ]


def mean_interval(values: NDArray[np.float64], level: float) -> Interval:
    """The mean of templates with the interval of t; none for fewer than `FEWEST_UNITS`, nor where all are equal."""
    mean, n = float(values.mean()), len(values)
    if n < FEWEST_UNITS or np.ptp(values) == 0:
        return Interval(mean, math.nan, math.nan)
    low, high = stats.t.interval(level, n - 1, mean, float(values.std(ddof=1)) / math.sqrt(n))
    return Interval(mean, float(low), float(high))


def further_validity(mean_bias: "pd.Series[float]", attributes: pd.DataFrame, level: float) -> Iterator[Figure]:
    """Rho between mean bias and criterion, and r and rho over the attributes that the criterion names exactly.

    Args:
        mean_bias: By attribute, nats.
        attributes: Indexed by attribute, with `criterion` and `match`.
        level: Of intervals.
    """
    if attributes["criterion"].isna().all():
        return
    joined = attributes.assign(bias=mean_bias).dropna(subset=["criterion", "bias"])
    exact = joined[joined["match"] == "exact"]
    for figure, correlate, rows in (
        ("rho", measurement.spearman, joined),
        ("r_exact", measurement.jackknifed_r, exact),
        ("rho_exact", measurement.spearman, exact),
    ):
        yield correlated(figure, correlate, rows["bias"].to_numpy(), rows["criterion"].to_numpy(), level, UNIT)


def alpha_at_common_length(x: NDArray[np.float64]) -> float:
    """Alpha of attributes x templates as it were with `COMMON_LENGTH` templates; NaN where there can be no such set."""
    return measurement.spearman_brown(measurement.mean_inter_item_correlation(x), COMMON_LENGTH)


RELIABILITY = {
    "alpha": (measurement.cronbach_alpha, BELOW_ONE),
    "inter_item_correlation": (measurement.mean_inter_item_correlation, CORRELATION),
    f"alpha_at_{COMMON_LENGTH}": (alpha_at_common_length, BELOW_ONE),
    "first_component_share": (measurement.first_component_share, SHARE),
}
"""By figure: what it is of attributes x templates, and the scale of its interval."""


def reliability(
    x: NDArray[np.float64], resampling: Resampling, alpha_of_regroupings: float | None = None
) -> Iterator[Figure]:
    """Reliability and dimensionality of attributes x templates; intervals are over attributes.

    Args:
        x: Biases.
        resampling: How intervals are computed.
        alpha_of_regroupings: What alpha is where the groups mean nothing.
    """
    n = len(x)
    reason = why_no_reliability(x)
    if reason:
        yield from (Figure(name, None, n, UNIT, reason=reason) for name in (*RELIABILITY, "omega", "factors"))
        return
    for name, (statistic, scale) in RELIABILITY.items():
        found = jackknifed(name, statistic, x, scale, resampling.level, UNIT)
        yield replace(found, control=alpha_of_regroupings) if name == "alpha" else found
    omega = finite(measurement.omega_total(x))
    yield Figure("omega", omega, n, UNIT, reason=None if omega is not None else NO_FACTOR)
    yield Figure("factors", float(measurement.parallel_analysis(x, seed=resampling.seed)), n, UNIT)


def why_no_reliability(x: NDArray[np.float64]) -> str | None:
    """Why attributes x templates have no figures of reliability; None where they have."""
    n, k = x.shape
    if k < 2:
        return "a set of one template has no internal consistency"
    if n < 3:
        return "fewer than three attributes"
    if constant_columns(x).any():
        return "a template does not tell the attributes apart"
    return None
