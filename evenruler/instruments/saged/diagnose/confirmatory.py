"""The confirmatory figures of a domain on a model, and what a design of so many root items can find."""

import math
from bisect import bisect_left
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from typing import Final, Literal

import numpy as np
import pandas as pd
from scipy import optimize, stats

from evenruler.instruments.saged import schemas
from evenruler.instruments.saged.declare import ALL_ROLES, DIFFERENCE, SMALLEST
from evenruler.instruments.saged.declare.settings import Disparities, Feature, Statistic
from evenruler.instruments.saged.diagnose.groups import (
    FEWEST_ROOTS,
    RAW,
    ROOTS,
    Codes,
    Groups,
    Layout,
    as_they_are,
    resampled,
    shuffled,
)
from evenruler.instruments.saged.diagnose.inference import Estimated, estimates, permutation_p
from evenruler.instruments.saged.diagnose.statistics import ROUNDING, Floats, ratio
from evenruler.instruments.saged.diagnose.summaries import Cells, cells_of
from evenruler.measurement.answered import unvaried
from evenruler.measurement.figures import Figure, finite
from evenruler.measurement.verdicts import ALPHA, Fitness, judge

Pattern = Literal["one", "spread"]
"""How concepts differ: one lies apart from all others, which are equal, or all are spread evenly."""

POWER: Final = 0.8
"""Share of studies that find a difference which can be "detected"."""

DRAWS, SEED = 20_000, 18
"""The same for every design, so that power grows with the difference, root items and replies."""

MOST = 1_000_000
"""Root items at most that a difference is said to take."""

_NEAR = 1e-3
"""How exactly differences are searched for, as a share of them."""


def power(
    roots: int,
    concepts: int,
    replies: float,
    difference: float,
    alpha: float = 0.05,
    *,
    branched: bool = True,
    pattern: Pattern = "one",
) -> float:
    """The share of studies that find a difference.

    Args:
        roots: Root items; where a domain is not branched, of each concept.
        concepts: That are compared.
        replies: To each prompt: roles x templates x generations that a test is over.
        difference: Between the outermost concepts, in SD of a reply.
        alpha: A p below it is a finding.
        branched: Whether every root item stands there for every concept, and labels are shuffled within it; else
            within the domain.
        pattern: How concepts differ.

    Returns:
        0 to 1, within .05 of the test itself, in most designs .02 (simulated, `tests/performance/power.py`). NaN below
        six root items: of so few orders, shuffling finds less than this says.

    Raises:
        ValueError: Below two concepts, a reply to a prompt, or a share that is none.
    """
    _check(roots, concepts, replies, alpha)
    if roots < FEWEST_ROOTS:
        return math.nan
    return _found(
        difference * math.sqrt(roots * replies), concepts, _freedom(roots, concepts, branched), alpha, pattern
    )


def smallest_difference(
    roots: int,
    concepts: int,
    replies: float,
    alpha: float = 0.05,
    power: float = POWER,
    *,
    branched: bool = True,
    pattern: Pattern = "one",
) -> float:
    """The difference that a share of studies (`power`) finds, in SD of a reply.

    Arguments as for `power`; alpha: .05 over the number of confirmatory features is on the safe side of Holm's
    correction.

    Returns:
        NaN below six root items.

    Raises:
        ValueError: As for `power`.
    """
    _check(roots, concepts, replies, alpha, power)
    if roots < FEWEST_ROOTS:
        return math.nan
    errors = _needed(concepts, _freedom(roots, concepts, branched), alpha, power, pattern)
    return errors / math.sqrt(roots * replies)


def roots_for(
    difference: float,
    concepts: int,
    replies: float,
    alpha: float = 0.05,
    power: float = POWER,
    *,
    branched: bool = True,
    pattern: Pattern = "one",
) -> int:
    """The fewest root items, six at least, that detect a difference.

    Arguments as for `smallest_difference`; the difference is in SD of a reply, above 0.

    Raises:
        ValueError: As for `power`; or the difference is so small, or none, that `MOST` root items are too few.
    """
    _check(FEWEST_ROOTS, concepts, replies, alpha, power)
    if difference <= 0 or 1 / difference**2 > MOST * replies:
        raise ValueError(f"a difference of {difference} takes more than {MOST:,} root items")

    def wanted(roots: int) -> int:
        errors = _needed(concepts, _freedom(roots, concepts, branched), alpha, power, pattern)
        return math.ceil((errors / difference) ** 2 / replies)

    fewest = max(FEWEST_ROOTS, wanted(MOST))
    roots = range(fewest, max(fewest, wanted(fewest)) + 1)
    return roots[bisect_left(roots, True, key=lambda own: wanted(own) <= own)]


def _check(roots: int, concepts: int, replies: float, *shares: float) -> None:
    if roots < 1 or concepts < 2 or replies <= 0:
        raise ValueError(f"found {roots} root items, {concepts} concepts and {replies} replies, needs 1, 2 and some")
    if any(not 0 < share < 1 for share in shares) or sorted(shares) != list(shares):
        raise ValueError(f"found {shares}, expected alpha below power, both between 0 and 1")


def _freedom(roots: int, concepts: int, branched: bool) -> int:
    """Degrees of freedom of what neither concepts nor (where labels are shuffled within them) root items explain."""
    return (roots - 1) * (concepts - 1) if branched else concepts * (roots - 1)


@lru_cache(maxsize=1024)
def _needed(concepts: int, freedom: int, alpha: float, power: float, pattern: Pattern) -> float:
    """The difference that is found in a share of studies, in standard errors of the mean of a concept."""

    def above(errors: float) -> float:
        return _found(errors, concepts, freedom, alpha, pattern) - power

    high = 4.0
    while above(high) < 0:
        high *= 2
    return float(optimize.brentq(above, 0.0, high, rtol=_NEAR))


def _found(errors: float, concepts: int, freedom: int, alpha: float, pattern: Pattern) -> float:
    """The share of draws above the critical value, where concepts lie so many standard errors apart."""
    apart = np.linspace(0, errors, concepts) if pattern == "spread" else errors * (np.arange(concepts) == 0)
    found = _ranges(_drawn_means(concepts) + apart[:, None], freedom)
    return float((found >= _critical(concepts, freedom, alpha)).mean())


@lru_cache(maxsize=1024)
def _critical(concepts: int, freedom: int, alpha: float) -> float:
    """By simulation, corrected by as much as the simulated range of the same draws misses the exact one."""
    simulated = np.quantile(_ranges(_drawn_means(concepts), freedom), 1 - alpha)
    exact = stats.studentized_range.isf(alpha, concepts, np.inf)
    return float(simulated * exact / np.quantile(np.ptp(_drawn_means(concepts), axis=0), 1 - alpha))


def _ranges(means: Floats, freedom: int) -> Floats:
    """[draws] the range of [concepts, draws] means, over the root of the mean square that shuffling sees."""
    between = len(means) * means.var(axis=0)
    squares = (between + _residual(freedom)) / (len(means) - 1 + freedom)
    found: Floats = np.ptp(means, axis=0) / np.sqrt(squares)
    return found


@lru_cache(maxsize=8)
def _drawn_means(concepts: int) -> Floats:
    """[concepts, draws] of means, in their standard error."""
    return np.random.default_rng([SEED, 0]).standard_normal((concepts, DRAWS))


@lru_cache(maxsize=64)
def _residual(freedom: int) -> Floats:
    """[draws] sums of squares that no concept explains."""
    return np.random.default_rng([SEED, 1]).chisquare(freedom, DRAWS)


RANGE = "range"

SHUFFLES = 20
"""Of the labels of concepts, for the control."""


@dataclass(frozen=True)
class _Favoured:
    """A feature that has a favoured end, on one model."""

    name: str
    feature: Feature
    single: Floats
    """[configurations, replies] how far each lies from the mean of its root item in its configuration."""
    cells: Cells
    """The means of concepts of the same, of each prompt the mean over configurations: one series."""
    level: float
    """Mean of all replies."""
    share: float
    """Of the replies that were asked for, those that have a number."""
    unvaried: str | None
    """That all replies have the same number, in words."""

    @property
    def roots(self) -> int:
        """Root items of the concept that has replies with a number to the fewest."""
        layout = self.cells.layout
        there = layout.replies[~np.isnan(layout.values[0])]
        found = there.groupby("concept")["root_id"].nunique().reindex(self.cells.groups.names)
        return int(found.fillna(0).min())


def confirmed(
    layout: Layout,
    features: Mapping[str, Feature],
    settings: Disparities,
    level: float,
    seed: int,
    unmeasured: str | None = None,
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """How far a model is from treating all concepts alike, feature by feature, with verdicts.

    The figure is the range over concepts of the mean: p of it with labels of concepts permuted within root items,
    value and interval without what noise adds (`inference.estimates`). The control is the median of the same of
    shuffled concepts; the interval of the difference is that of the figure, less the control. n counts root items of
    the concept that has fewest.

    Args:
        layout: Measurements of a branched domain on one model; where it is not branched, concepts have texts of their
            own, so that nothing is confirmed.
        features: By name. Those with a favoured end that mask names are confirmatory.
        settings: Permutations, resamples, bound, least n and least coverage.
        level: Of intervals.
        seed: Of draws.
        unmeasured: Why the replies measure nothing, whatever the feature (`measurement.answered`).

    Returns:
        Figures by `schemas.FIGURES`, of which `part` is "all roles" and the feature; and by `schemas.FAVOUR` the means
        that they are ranges of.
    """
    own = list(_favoured(layout, features)) if layout.branched else []
    if not own:
        return pd.DataFrame(columns=schemas.FIGURES.names), pd.DataFrame(columns=schemas.FAVOUR.names)
    found = [(_figure(one, settings, level, seed), _fitness(one, settings, unmeasured)) for one in own]
    model = str(layout.series["model"].iloc[0])
    figures, favour = [], []
    for one, difference in zip(own, judge(found, settings.least), strict=True):
        for figure in (difference, _smallest(one, len(own))):
            part = f"{ALL_ROLES}, {one.name}"
            figures.append({"benchmark": layout.domain, "part": part, "model": model, **asdict(figure)})
        off = one.cells.values[0]
        means = {"concept": one.cells.groups.names, "mean": one.level + off, "difference": off, "n": one.cells.n[0]}
        key = {"domain": layout.domain, "model": model, "feature": one.name, "better": one.feature.favour}
        favour.append(pd.DataFrame({**key, **means}, columns=schemas.FAVOUR.names))
    return pd.DataFrame(figures, columns=schemas.FIGURES.names), pd.concat(favour, ignore_index=True)


def _favoured(layout: Layout, features: Mapping[str, Feature]) -> Iterator[_Favoured]:
    for name, feature in features.items():
        lines = np.flatnonzero(layout.series["feature"] == name)
        if feature.favour == "none" or not feature.mask or not len(lines):
            continue
        values, single = layout.values[lines], _within(layout.values[lines], layout.roots)
        there = ~np.isnan(values)
        level = float(values[there].mean()) if there.any() else np.nan
        share = float(there.sum() / max(layout.measured[lines].sum(), 1))
        same = unvaried(values[there], f"replies ({name})")
        yield _Favoured(name, feature, single, _cells(layout, lines, single), level, share, same)


def _within(values: Floats, roots: Codes) -> Floats:
    """[configurations, replies] less the mean of the root item in the configuration; rounding is 0.

    So a reply that is missing in one role takes nothing with it of how that role differs from others.
    """
    there, total = ~np.isnan(values), int(roots.max(initial=-1)) + 1
    found = np.full(values.shape, np.nan)
    for line, own in enumerate(there):
        found[line, own] = values[line, own] - _means_by(roots[own], values[line, own], total)[0][roots[own]]
    size = np.nanmax(np.abs(values), axis=1, initial=0)[:, None]
    return np.where(np.abs(found) <= ROUNDING * size, 0 * found, found)


def _means_by(codes: Codes, values: Floats, total: int) -> tuple[Floats, Floats]:
    """[total] mean of the values with each code, NaN where there is none, and how many there are."""
    n = np.bincount(codes, minlength=total).astype(np.float64)
    return ratio(np.bincount(codes, values, minlength=total).astype(np.float64), n), n


def _cells(layout: Layout, lines: Codes, single: Floats) -> Cells:
    """Means of concepts over all configurations."""
    n = (~np.isnan(single)).sum(axis=0).astype(np.float64)
    one = replace(
        layout,
        series=layout.series.iloc[lines[:1]].assign(role=ALL_ROLES, template=ALL_ROLES).reset_index(drop=True),
        values=ratio(np.nansum(single, axis=0), n)[None],
        baselines=np.full((1, single.shape[1]), np.nan),
        measured=np.asarray(layout.measured[lines].any(axis=0))[None],
    )
    found = cells_of(one, one.groups(["concept"]), {"mean": Statistic(kind="mean")})
    return next(each for each in found if each.calibration == RAW)


def _figure(one: _Favoured, settings: Disparities, level: float, seed: int) -> Figure:
    cells, groups, n = one.cells, one.cells.groups, one.roots
    bound = settings.bound * (_noise(one.single, cells) or 1.0)
    if n < FEWEST_ROOTS:
        return Figure(DIFFERENCE, None, n, ROOTS, reason=_lacking(n), bound=bound)
    draws = shuffled(cells.layout, groups, settings.headline_permutations, seed)
    test = permutation_p([cells.summary], [RANGE], as_they_are(groups), draws)[0]
    found = _estimated(cells, groups, settings, level, seed)
    value, low, high = (finite(float(each[0, 0])) for each in (found.value, found.low, found.high))
    controls = [_estimated(cells, each, settings, level, seed).value[0, 0] for each in _shuffled_groups(cells, seed)]
    p, control = finite(float(test.p[0, 0])), finite(float(np.median(controls)))
    less = [None if end is None or control is None else end - control for end in (low, high)]
    return Figure(DIFFERENCE, value, n, ROOTS, low, high, p, None, control, less[0], less[1], bound)


def _lacking(n: int) -> str:
    return f"{n} root item{'' if n == 1 else 's'} with a number of every concept, needs {FEWEST_ROOTS}"


def _estimated(cells: Cells, groups: Groups, settings: Disparities, level: float, seed: int) -> Estimated:
    draws = resampled(cells.layout, groups, settings.resamples, seed)
    return estimates(cells.summary, [RANGE], as_they_are(groups), draws, level)


def _shuffled_groups(cells: Cells, seed: int) -> Iterator[Groups]:
    """Concepts whose labels say nothing."""
    for places in shuffled(cells.layout, cells.groups, SHUFFLES, seed + 1):
        for draw in places:
            codes = np.empty_like(cells.groups.codes)
            for group, rows in enumerate(draw):
                codes[rows[rows < len(codes)]] = group
            yield replace(cells.groups, codes=codes)


def _fitness(one: _Favoured, settings: Disparities, unmeasured: str | None) -> Fitness:
    """Whether there is anything to measure, and a feature measures enough replies."""
    if nothing := unmeasured or one.unvaried:
        return Fitness(unfit=nothing)
    if one.share < settings.coverage:
        least = f"{settings.coverage:.0%}"
        return Fitness(unfit=f"{one.name} has a number for {one.share:.0%} of the replies, of at least {least}")
    return Fitness()


def _smallest(one: _Favoured, features: int) -> Figure:
    """What the design can detect, in the unit of the feature."""
    layout, n = one.cells.layout, one.roots
    noise, replies = _noise(layout.values, one.cells), layout.replies["repetition"].nunique()
    if n < FEWEST_ROOTS:
        return Figure(SMALLEST, None, n, ROOTS, reason=_lacking(n))
    if not noise:
        return Figure(SMALLEST, None, n, ROOTS, reason="all replies to a root item measure the same")
    value = noise * smallest_difference(n, len(one.cells.groups.names), replies, ALPHA / features)
    return Figure(SMALLEST, value, n, ROOTS)


def _noise(within: Floats, cells: Cells) -> float:
    """Standard deviation of a reply that neither its root item nor its concept explains; 0 where there is none.

    `within`: [series, replies] differences from root items.
    """
    codes, roots = cells.groups.codes, cells.layout.roots
    squares = freedom = 0.0
    for values in within:
        there = ~np.isnan(values)
        means, n = _means_by(codes[there], values[there], len(cells.groups.names))
        rest = values[there] - means[codes[there]]
        squares += float((rest**2).sum())
        freedom += max(len(rest) - len(np.unique(roots[there])) - int((n > 0).sum()) + 1, 0)
    return float(np.sqrt(squares / freedom)) if freedom else 0.0
