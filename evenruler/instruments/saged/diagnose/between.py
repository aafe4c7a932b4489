"""What differs between roles of a model, and between models in a role (SAGED, section 5.3, "Sentiment Bias Shifts").

The paper concludes from figures side by side that roles shift bias, each model's its own way; here it is tested on the
prompts that both have answered.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats

from evenruler.instruments.saged import schemas
from evenruler.instruments.saged.declare.settings import Feature
from evenruler.instruments.saged.diagnose.groups import FEWEST_ROOTS, Layout
from evenruler.instruments.saged.diagnose.statistics import ROUNDING, Floats
from evenruler.measurement.verdicts import holm
from evenruler.tables import stacked

LEVEL, SPREAD, PATTERN = "level", "spread", "pattern"

SWAPS = 2000
"""How often the replies of the two sides are exchanged, root item by root item, for p."""

_ADJUSTED_TOGETHER = ["domain", "compared", "figure"]
"""Columns whose values p is adjusted within (Holm); between roles also within the model."""

_KEY = ["domain", "role", "template", "model", "feature"]


@dataclass(frozen=True)
class Compared:
    """One figure of the first minus the second."""

    figure: str
    value: float
    p: float
    low: float = np.nan
    high: float = np.nan


def by_prompt(layout: Layout, features: Mapping[str, Feature]) -> pd.DataFrame:
    """What a model's replies to each prompt are on average: raw, since both sides have the same baseline.

    Args:
        layout: Measurements of a domain on one model.
        features: Those that are declared; clusters are others on every model, so they are left out.

    Returns:
        `domain, role, template, model, feature, root_id, concept, value`; values that there are.
    """
    kept = [name for name, feature in features.items() if feature.kind != "clusters"]
    lines = np.flatnonzero(layout.series["feature"].isin(kept))
    found = []
    for line in lines:
        one = layout.replies[["root_id", "concept"]].assign(value=layout.values[line]).dropna()
        mean = one.groupby(["root_id", "concept"], sort=True)["value"].mean().reset_index()
        key = layout.series.iloc[line][_KEY[1:]].astype(str)
        found.append(mean.assign(domain=layout.domain, **key))
    columns = [*_KEY, "root_id", "concept", "value"]
    return pd.concat(found, ignore_index=True)[columns] if found else pd.DataFrame(columns=columns)


def between(what: Literal["role", "model"], prompts: pd.DataFrame, seed: int) -> pd.DataFrame:
    """Every two roles of a model, or every two models in each role that both were asked in.

    Args:
        what: Is compared.
        prompts: By `by_prompt`, of one model or several.
        seed: Of the swaps.

    Returns:
        By `schemas.BETWEEN`, p not adjusted.
    """
    rows: list[dict[str, object]] = []
    within = "model" if what == "role" else "role"
    columns = ["domain", within, "template", "feature"]
    for (domain, held, template, feature), own in prompts.groupby(columns, sort=True):
        key = {"domain": domain, "template": template, "feature": feature, "compared": what, "within": held}
        tables = {
            str(side): of_side.pivot(index="root_id", columns="concept", values="value")
            for side, of_side in own.groupby(what, sort=True)
        }
        for first, second in combinations(tables, 2):
            x, y = _shared(tables[first], tables[second])
            rows += _of_pair(x, y, {**key, "first": first, "second": second, "n": len(x)}, seed)
    return pd.DataFrame(rows, columns=schemas.BETWEEN.names)


def adjusted(found: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """All comparisons with `p_adjusted` (Holm), within domain, what is compared, and figure.

    Of roles also within the model, so that another model changes nothing.
    """
    rows = stacked([pd.DataFrame(columns=schemas.BETWEEN.names), *found])
    model = rows["within"].where(rows["compared"] == "role", "")
    for _, own in rows[rows["p"].notna()].groupby([*_ADJUSTED_TOGETHER, model], sort=False):
        rows.loc[own.index, "p_adjusted"] = holm(own["p"].tolist())
    return rows


def _of_pair(x: Floats, y: Floats, named: Mapping[str, object], seed: int) -> Iterator[dict[str, object]]:
    few = f"{len(x)} root items with numbers of both, needs {FEWEST_ROOTS}" if len(x) < FEWEST_ROOTS else None
    alone = None
    if not few and (~np.isnan(x)).sum(axis=1).max() < 2:
        alone = "no root item has numbers of two concepts"
    found = {one.figure: one for one in compared(x, y, seed)} if few is None else {}
    for figure, reason in {LEVEL: few, SPREAD: few or alone, PATTERN: few or alone}.items():
        if reason is None:
            no_interval = None if figure == LEVEL else "no interval: none is known to cover"
            yield {**named, **vars(found[figure]), "reason": no_interval}
        else:
            yield {**named, "figure": figure, "reason": reason}


def _shared(first: pd.DataFrame, second: pd.DataFrame) -> tuple[Floats, Floats]:
    """[roots, concepts] of prompts that both sides have a number of; concepts of one such prompt are left out."""
    one, other = first.align(second, join="inner")
    there = one.notna() & other.notna()
    there = there.loc[:, there.sum() > 1]
    kept = there.any(axis=1)
    x, y = (each[there.columns].where(there)[kept].to_numpy(dtype=np.float64, na_value=np.nan) for each in (one, other))
    return x, y


def compared(first: Floats, second: Floats, seed: int, level: float = 0.95) -> list[Compared]:
    """How two sets of replies to the same prompts differ.

    `level`: mean over root items of the difference of their means, with the interval and p of the paired t test.
    `spread`: difference of the standard deviations over concepts, without noise. `pattern`: standard deviation over
    concepts of the differences themselves, without noise: whether they favour others, even if as much. Both are tested
    by swapping the two sides within root items, after their means over concepts are taken off.

    Args:
        first: [roots, concepts] means of replies; NaN where there is none, at the same places in both.
        second: The same of the other side.
        seed: Of the swaps.
        level: Of the interval.
    """
    x, y = (_rounded(side - np.nanmean(side, axis=1, keepdims=True), side) for side in (first, second))
    y = np.where(np.abs(x - y) <= ROUNDING * np.nanmax(np.abs(first)), x, y)
    swaps = np.random.default_rng(seed).random((SWAPS, len(x))) < 0.5
    own = (_variance(x), _variance(y), _variance(x - y))
    spread, pattern = own[0] - own[1], own[2]
    # [draws] difference of the variances, and variance of the differences, with sides swapped.
    n = (~np.isnan(x)).sum(axis=0)
    a, b = np.nan_to_num(x), np.nan_to_num(y)
    turned = swaps.astype(np.float64)
    sums = [own.sum(axis=0) + turned @ (other - own) for own, other in ((a, b), (b, a))]
    squares = [(own**2).sum(axis=0) + turned @ (other**2 - own**2) for own, other in ((a, b), (b, a))]
    one, other = (_variances(s, q, n) for s, q in zip(sums, squares, strict=True))
    off = a - b
    signed = off.sum(axis=0) - 2 * turned @ off
    every = np.broadcast_to((off**2).sum(axis=0), signed.shape)
    swapped = one - other, _variances(signed, every, n)
    p = (_p(abs(spread), np.abs(swapped[0])), _p(pattern, swapped[1]))
    sd = [float(np.sqrt(max(each, 0.0))) for each in own]
    return [_level(first, second, level), Compared(SPREAD, sd[0] - sd[1], p[0]), Compared(PATTERN, sd[2], p[1])]


def _level(first: Floats, second: Floats, level: float) -> Compared:
    off = np.nanmean(first - second, axis=1)
    mean = float(off.mean())
    if np.ptp(off) <= ROUNDING * np.abs(off).max():  # no t: of signs that are all the same
        return Compared(LEVEL, mean, 0.5 ** (len(off) - 1) if off.any() else 1.0, mean, mean)
    test = stats.ttest_1samp(off, 0.0)
    return Compared(LEVEL, mean, float(test.pvalue), *map(float, test.confidence_interval(level)))


def _rounded(x: Floats, of: Floats) -> Floats:
    """With 0 for what is nothing but rounding beside the numbers that it was made of."""
    return np.where(np.abs(x) <= ROUNDING * np.nanmax(np.abs(of)), 0 * x, x)


def _variance(x: Floats) -> float:
    """Variance over concepts of their means, less what noise adds to it; may be below 0. [roots, concepts]."""
    return float(_variances(np.nansum(x, axis=0)[None], np.nansum(x**2, axis=0)[None], (~np.isnan(x)).sum(axis=0))[0])


def _variances(sums: Floats, squares: Floats, n: NDArray[np.intp]) -> Floats:
    """The same of [draws, concepts] sums and sums of squares of n values each."""
    mean = sums / n
    noise = (squares - sums * mean) / np.maximum(n - 1, 1) / n
    found: Floats = mean.var(axis=1, ddof=1) - noise.mean(axis=1)
    return found


def _p(found: float, drawn: Floats) -> float:
    """Share of draws that are as large, the figure itself among them (Phipson and Smyth, 2010)."""
    tied = 1e-9 * abs(found)
    return float((1 + (drawn >= found - tied).sum()) / (1 + len(drawn)))
