"""Figures of quality of a set of templates, each with interval, n, and a reason where it is null."""

import math
from collections.abc import Iterator
from dataclasses import asdict

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from evenruler import measurement
from evenruler.instruments.probes.schemas import LEXICAL, SEMANTIC
from evenruler.measurement import Figure, Interval, Resampling
from evenruler.measurement.checks import constant_columns
from evenruler.measurement.figures import bootstrapped, correlated, finite

COMMON_LENGTH = 8
"""Templates at which sets of different length are compared (Spearman-Brown); as many as the paper's sets have."""

UNIT = "attributes"
"""What observations are."""

NO_FACTOR = "no proper one-factor solution"
"""Why omega is null where all else is there."""


def of_model(matrix: pd.DataFrame, attributes: pd.DataFrame, resampling: Resampling) -> pd.DataFrame:
    """Validity and reliability of one set on one model.

    Args:
        matrix: attributes x templates, bias in nats.
        attributes: Indexed by attribute, with `criterion` and `match`.
        resampling: How intervals are computed.
    """
    x = matrix.to_numpy()
    figures = [
        *_validity(matrix.mean(axis=1), attributes, resampling),
        *reliability(x, resampling),
        bootstrapped("mean_bias", lambda rows: float(rows.mean()), x, resampling, UNIT),
    ]
    return pd.DataFrame([asdict(figure) for figure in figures])


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


def mean_interval(values: NDArray[np.float64], resampling: Resampling) -> Interval:
    """The mean with its bootstrap interval; no interval for a single value."""
    if len(values) < 2:
        return Interval(float(values.mean()), math.nan, math.nan)
    return measurement.bootstrap(np.mean, values, level=resampling.level, n=resampling.resamples, seed=resampling.seed)


def _validity(mean_bias: "pd.Series[float]", attributes: pd.DataFrame, resampling: Resampling) -> Iterator[Figure]:
    """R and rho between mean bias and criterion, over all attributes with a figure and over the exact matches."""
    if attributes["criterion"].isna().all():
        return
    joined = attributes.assign(bias=mean_bias).dropna(subset=["criterion", "bias"])
    for subset, rows in (("", joined), ("_exact", joined[joined["match"] == "exact"])):
        for figure, correlate in (("r", measurement.pearson), ("rho", measurement.spearman)):
            bias, criterion = rows["bias"].to_numpy(), rows["criterion"].to_numpy()
            yield correlated(f"{figure}{subset}", correlate, bias, criterion, resampling.level, UNIT)


def alpha_at_common_length(x: NDArray[np.float64]) -> float:
    """Alpha of attributes x templates as it were with `COMMON_LENGTH` templates; NaN where there can be no such set."""
    return measurement.spearman_brown(measurement.mean_inter_item_correlation(x), COMMON_LENGTH)


def reliability(x: NDArray[np.float64], resampling: Resampling) -> Iterator[Figure]:
    """Reliability and dimensionality of attributes x templates; intervals are over attributes."""
    n, k = x.shape
    names = ["alpha", "alpha_feldt", "omega", "inter_item_correlation", f"alpha_at_{COMMON_LENGTH}"]
    names += ["first_component_share", "factors"]
    reason = why_no_reliability(x)
    if reason:
        yield from (Figure(name, None, n, UNIT, reason=reason) for name in names)
        return
    yield bootstrapped("alpha", measurement.cronbach_alpha, x, resampling, UNIT)
    feldt = measurement.feldt_interval(measurement.cronbach_alpha(x), n, k, resampling.level)
    yield Figure("alpha_feldt", feldt.value, n, UNIT, feldt.low, feldt.high)
    omega = finite(measurement.omega_total(x))
    yield Figure("omega", omega, n, UNIT, reason=None if omega is not None else NO_FACTOR)
    yield bootstrapped("inter_item_correlation", measurement.mean_inter_item_correlation, x, resampling, UNIT)
    yield bootstrapped(f"alpha_at_{COMMON_LENGTH}", alpha_at_common_length, x, resampling, UNIT)
    yield bootstrapped("first_component_share", measurement.first_component_share, x, resampling, UNIT)
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
