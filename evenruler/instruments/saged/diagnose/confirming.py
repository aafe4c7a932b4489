"""The confirmatory figures of a domain on a model: how far concepts are apart in favour, beside shuffled concepts.

Names are masked before anything is measured, replies in all roles count together, what a root item and a role bring
along is taken off, and so is what noise adds.
"""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace

import numpy as np
import pandas as pd

from evenruler.instruments.saged import schemas
from evenruler.instruments.saged.declare.features import Feature
from evenruler.instruments.saged.declare.headings import ALL_ROLES, DIFFERENCE, SMALLEST
from evenruler.instruments.saged.declare.settings import Disparities, Statistic
from evenruler.instruments.saged.diagnose.blocks import ROUNDING, Floats, ratio
from evenruler.instruments.saged.diagnose.cells import Cells, cells_of
from evenruler.instruments.saged.diagnose.draws import as_they_are, resampled, shuffled
from evenruler.instruments.saged.diagnose.groups import Codes
from evenruler.instruments.saged.diagnose.inference import Estimated, estimates, permutation_p
from evenruler.instruments.saged.diagnose.layout import FEWEST_ROOTS, RAW, ROOTS, Groups, Layout
from evenruler.instruments.saged.diagnose.power import smallest_difference
from evenruler.measurement.answered import unvaried
from evenruler.measurement.figures import Figure, finite
from evenruler.measurement.verdicts import ALPHA, Fitness, judge

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
    fits = [_fitness(one, settings, unmeasured) for one in own]
    found = [_figure(one, settings, level, seed) for one in own]
    judged = judge(list(zip(found, fits, strict=True)), settings.least)
    figures = [
        _row(one, figure)
        for one, difference in zip(own, judged, strict=True)
        for figure in (difference, _smallest(one, len(own)))
    ]
    favour = pd.concat([_means_of(one) for one in own], ignore_index=True)
    return pd.DataFrame(figures, columns=schemas.FIGURES.names), favour


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


def _row(one: _Favoured, figure: Figure) -> dict[str, object]:
    layout = one.cells.layout
    model = str(layout.series["model"].iloc[0])
    return {"benchmark": layout.domain, "part": f"{ALL_ROLES}, {one.name}", "model": model, **asdict(figure)}


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

    Args:
        within: [series, replies] differences from root items.
        cells: With the concept and root item of each reply.
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


def _means_of(one: _Favoured) -> pd.DataFrame:
    layout, off = one.cells.layout, one.cells.values[0]
    rows = {
        "domain": layout.domain,
        "model": str(layout.series["model"].iloc[0]),
        "feature": one.name,
        "better": one.feature.favour,
        "concept": one.cells.groups.names,
        "mean": one.level + off,
        "difference": off,
        "n": one.cells.n[0],
    }
    return pd.DataFrame(rows, columns=schemas.FAVOUR.names)
