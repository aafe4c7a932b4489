"""Figures of quality of a set of templates, each with interval, n, and a reason where it is null."""

import math
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from evenruler import measurement
from evenruler.measurement import Correlation, Interval
from evenruler.measurement.checks import constant_columns

COMMON_LENGTH = 8
"""Templates at which sets of different length are compared (Spearman-Brown); as many as the paper's sets have."""

FEWEST_PAIRS = 4
"""Attributes with a criterion below which a correlation says nothing."""


@dataclass(frozen=True)
class Resampling:
    """How intervals are computed."""

    level: float
    resamples: int
    seed: int


@dataclass(frozen=True)
class Figure:
    """One figure; None where it could not be computed, and then the reason."""

    figure: str
    value: float | None
    n: int
    unit: str
    low: float | None = None
    high: float | None = None
    p: float | None = None
    reason: str | None = None


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
        *_reliability(x, resampling),
        _bootstrapped("mean_bias", lambda rows: float(rows.mean()), x, resampling),
    ]
    return pd.DataFrame([asdict(figure) for figure in figures])


def of_sets(diversity: pd.DataFrame) -> pd.DataFrame:
    """Mean diversity of every set; the same whatever model is measured."""
    rows = []
    for (benchmark, set_name), templates in diversity.groupby(["benchmark", "set"], sort=True):
        for figure in ("semantic_diversity", "lexical_diversity"):
            values = templates[figure].to_numpy()
            mean = float(values.mean())
            reason = "a set of one template" if len(values) == 1 else None
            row = asdict(Figure(figure, _finite(mean), len(values), "templates", reason=reason))
            rows.append({"benchmark": benchmark, "set": set_name, "model": None, **row})
    return pd.DataFrame(rows)


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
            yield _correlation(f"{figure}{subset}", correlate, rows, resampling.level)


def _correlation(figure: str, correlate: Callable[..., Correlation], rows: pd.DataFrame, level: float) -> Figure:
    bias, criterion = rows["bias"].to_numpy(), rows["criterion"].to_numpy()
    n = len(rows)
    if n < FEWEST_PAIRS:
        return Figure(figure, None, n, "attributes", reason=f"fewer than {FEWEST_PAIRS} attributes with a criterion")
    if constant_columns(np.column_stack([bias, criterion])).any():
        return Figure(figure, None, n, "attributes", reason="all values are equal")
    result = correlate(bias, criterion, level)
    return Figure(figure, result.value, n, "attributes", result.low, result.high, result.p)


def _reliability(x: NDArray[np.float64], resampling: Resampling) -> Iterator[Figure]:
    """Reliability and dimensionality of attributes x templates."""
    n, k = x.shape
    names = ["alpha", "alpha_feldt", "omega", "inter_item_correlation", f"alpha_at_{COMMON_LENGTH}"]
    names += ["first_component_share", "factors"]
    reason = _why_no_reliability(x)
    if reason:
        yield from (Figure(name, None, n, "attributes", reason=reason) for name in names)
        return
    yield _bootstrapped("alpha", measurement.cronbach_alpha, x, resampling)
    feldt = measurement.feldt_interval(measurement.cronbach_alpha(x), n, k, resampling.level)
    yield Figure("alpha_feldt", feldt.value, n, "attributes", feldt.low, feldt.high)
    omega = _finite(measurement.omega_total(x))
    yield Figure("omega", omega, n, "attributes", reason=None if omega is not None else "no proper one-factor solution")
    yield _bootstrapped("inter_item_correlation", measurement.mean_inter_item_correlation, x, resampling)

    def at_common_length(rows: NDArray[np.float64]) -> float:
        return measurement.spearman_brown(measurement.mean_inter_item_correlation(rows), COMMON_LENGTH)

    yield _bootstrapped(f"alpha_at_{COMMON_LENGTH}", at_common_length, x, resampling)
    yield _bootstrapped("first_component_share", measurement.first_component_share, x, resampling)
    yield Figure("factors", float(measurement.parallel_analysis(x, seed=resampling.seed)), n, "attributes")


def _why_no_reliability(x: NDArray[np.float64]) -> str | None:
    n, k = x.shape
    if k < 2:
        return "a set of one template has no internal consistency"
    if n < 3:
        return "fewer than three attributes"
    if constant_columns(x).any():
        return "a template does not tell the attributes apart"
    return None


def _bootstrapped(
    figure: str,
    statistic: Callable[[NDArray[np.float64]], float],
    x: NDArray[np.float64],
    resampling: Resampling,
) -> Figure:
    """A statistic with its bootstrap interval over attributes."""
    if len(x) < 2:
        return Figure(figure, float(statistic(x)), len(x), "attributes", reason="one attribute has no interval")
    interval = measurement.bootstrap(statistic, x, level=resampling.level, n=resampling.resamples, seed=resampling.seed)
    value = _finite(interval.value)
    reason = "undefined for these values" if value is None else None
    low, high = _finite(interval.low), _finite(interval.high)
    return Figure(figure, value, len(x), "attributes", low, high, reason=reason)


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def rounded(figures: pd.DataFrame) -> list[dict[str, object]]:
    """Figures as plain records for JSON: three decimals (p: two digits); a null value stays, with its reason."""
    records = []
    for record in figures.to_dict("records"):
        plain: dict[str, object] = {"figure": record["figure"], "value": None}
        plain |= {key: round(float(record[key]), 3) for key in ("value", "low", "high") if not pd.isna(record[key])}
        if not pd.isna(record["p"]):
            plain["p"] = float(f"{record['p']:.1e}")
        plain |= {"n": int(record["n"]), "unit": record["unit"]}
        if not pd.isna(record["reason"]):
            plain["reason"] = record["reason"]
        records.append(plain)
    return records
