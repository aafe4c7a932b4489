"""The confirmatory figures of a domain on a model: how far concepts are apart in favour, beside shuffled concepts.

Names are masked before anything is measured, replies in all roles count together, and what noise adds is taken off.
"""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from evenruler.instruments.saged import schemas
from evenruler.instruments.saged.declare.settings import Disparities, Feature, Statistic
from evenruler.instruments.saged.diagnose.blocks import Floats
from evenruler.instruments.saged.diagnose.cells import Cells, cells_of
from evenruler.instruments.saged.diagnose.draws import as_they_are, resampled, shuffled
from evenruler.instruments.saged.diagnose.groups import Codes
from evenruler.instruments.saged.diagnose.inference import Estimated, estimates, permutation_p
from evenruler.instruments.saged.diagnose.layout import CALIBRATED, FEWEST_ROOTS, RAW, Groups, Layout, too_few
from evenruler.instruments.saged.diagnose.power import smallest_difference
from evenruler.measurement.figures import Figure, finite
from evenruler.measurement.verdicts import ALPHA, Fitness, judge

DIFFERENCE, SMALLEST = "difference in favour", "smallest difference"

ALL_ROLES = "all roles"

ROOTS = "root items"

RANGE = "range"

SHUFFLES = 20
"""Of the labels of concepts, for the control."""


@dataclass(frozen=True)
class _Favoured:
    """A feature that has a favoured end, on one model."""

    name: str
    feature: Feature
    cells: Cells
    """Means of concepts over all roles, one series: calibrated, or raw where baselines have no number."""
    replies: Floats
    """[configurations, replies] single ones, raw."""
    asked: NDArray[np.bool_]
    """[configurations, replies] which were."""


def confirmed(
    layout: Layout, features: Mapping[str, Feature], settings: Disparities, level: float, seed: int
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """How far a model is from treating all concepts alike, feature by feature, with verdicts.

    The figure is the range over concepts of the mean: p of it with labels of concepts permuted within root items,
    value and interval without what noise adds (`inference.estimates`). Since noise is taken off, the interval is also
    that of the difference to no range at all. The control is the median of the same of shuffled concepts. n counts root
    items.

    Args:
        layout: Measurements of a branched domain on one model; where it is not branched, concepts have texts of their
            own, so that nothing is confirmed.
        features: By name. Those with a favoured end that mask names are confirmatory.
        settings: Permutations, resamples, bound, least n and least coverage.
        level: Of intervals.
        seed: Of draws.

    Returns:
        Figures by `schemas.FIGURES`, of which `part` is "all roles" and the feature; and by `schemas.FAVOUR` the means
        that they are ranges of.
    """
    own = list(_favoured(layout, features)) if layout.branched else []
    if not own:
        return pd.DataFrame(columns=schemas.FIGURES.names), pd.DataFrame(columns=schemas.FAVOUR.names)
    judged = judge([(_figure(one, settings, level, seed), _fitness(one, settings)) for one in own], settings.least)
    figures = [
        _row(one, figure)
        for one, difference in zip(own, judged, strict=True)
        for figure in (difference, _smallest(one, len(own)))
    ]
    favour = pd.concat([_favour(one) for one in own], ignore_index=True)
    return pd.DataFrame(figures, columns=schemas.FIGURES.names), favour


def _favoured(layout: Layout, features: Mapping[str, Feature]) -> Iterator[_Favoured]:
    for name, feature in features.items():
        lines = np.flatnonzero(layout.series["feature"] == name)
        if feature.favour != "none" and feature.mask and len(lines):
            yield _Favoured(name, feature, _cells(pooled(layout, lines)), layout.values[lines], layout.measured[lines])


def pooled(layout: Layout, lines: Codes) -> Layout:
    """Some series as one: of each prompt and repetition the mean of its replies in all roles and templates.

    Args:
        layout: Measurements of a domain on one model.
        lines: The series of one feature.
    """
    values = layout.values[lines]
    n = (~np.isnan(values)).sum(axis=0)
    mean: Floats = np.where(n > 0, np.nansum(values, axis=0) / np.maximum(n, 1), np.nan)
    return replace(
        layout,
        series=layout.series.iloc[lines[:1]].assign(role=ALL_ROLES, template=ALL_ROLES).reset_index(drop=True),
        values=mean[None],
        baselines=np.fmax.reduce(layout.baselines[lines], axis=0)[None],
        measured=np.asarray(layout.measured[lines].any(axis=0))[None],
    )


def _cells(one: Layout) -> Cells:
    wanted = RAW if np.isnan(one.baselines).all() else CALIBRATED
    found = cells_of(one, one.groups(["concept"]), {"mean": Statistic(kind="mean")})
    return next(each for each in found if each.calibration == wanted)


def _row(one: _Favoured, figure: Figure) -> dict[str, object]:
    layout = one.cells.layout
    model = str(layout.series["model"].iloc[0])
    return {"benchmark": layout.domain, "part": f"{ALL_ROLES}, {one.name}", "model": model, **asdict(figure)}


def _figure(one: _Favoured, settings: Disparities, level: float, seed: int) -> Figure:
    cells, groups = one.cells, one.cells.groups
    bound, n = settings.bound * _sd_of_a_reply(one), cells.layout.fewest_roots
    lacking = None if n >= FEWEST_ROOTS else too_few(n)
    if np.isnan(cells.values).any():
        lacking = "no reply about some concept has a number"
    if lacking:
        return Figure(DIFFERENCE, None, n, ROOTS, reason=lacking, bound=bound)
    draws = shuffled(cells.layout, groups, settings.headline_permutations, seed)
    test = permutation_p([cells.summary], [RANGE], as_they_are(groups), draws)[0]
    found = _estimated(cells, groups, settings, level, seed)
    value, low, high = (finite(float(each[0, 0])) for each in (found.value, found.low, found.high))
    controls = [_estimated(cells, each, settings, level, seed).value[0, 0] for each in _shuffled_groups(cells, seed)]
    p, control = finite(float(test.p[0, 0])), finite(float(np.median(controls)))
    return Figure(DIFFERENCE, value, n, ROOTS, low, high, p, None, control, low, high, bound)


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


def _sd_of_a_reply(one: _Favoured) -> float:
    """Standard deviation of single replies about one concept in one role, over all; 1 where they are all equal."""
    codes = one.cells.groups.codes
    squares = n = 0.0
    for group in range(len(one.cells.groups.names)):
        for replies in one.replies[:, codes == group]:
            own = replies[~np.isnan(replies)]
            if len(own) > 1:
                squares, n = squares + float(((own - own.mean()) ** 2).sum()), n + len(own) - 1
    return float(np.sqrt(squares / n)) if squares > 0 else 1.0


def _fitness(one: _Favoured, settings: Disparities) -> Fitness:
    """Whether a feature measures enough replies."""
    share = 1 - float(np.isnan(one.replies[one.asked]).mean())
    if share < settings.coverage:
        return Fitness(
            unfit=f"{one.name} has a number for {share:.0%} of the replies, of at least {settings.coverage:.0%}"
        )
    return Fitness()


def _smallest(one: _Favoured, features: int) -> Figure:
    """What the design can detect, in the unit of the feature."""
    layout = one.cells.layout
    n, concepts, noise = layout.fewest_roots, len(one.cells.groups.names), _noise(one)
    if noise is None:
        return Figure(SMALLEST, None, n, ROOTS, reason="too few replies to tell their noise")
    value = finite(noise * smallest_difference(n, concepts, 1, ALPHA / features))
    return Figure(SMALLEST, value, n, ROOTS, reason=None if value is not None else too_few(n))


def _noise(one: _Favoured) -> float | None:
    """Standard deviation of what neither root item nor concept explains of a prompt's mean."""
    layout = one.cells.layout
    value = layout.numbers(one.cells.calibration)[0]
    table = pd.DataFrame({"root": layout.roots, "concept": one.cells.groups.codes, "value": value})
    x = table.pivot_table(index="root", columns="concept", values="value", aggfunc="mean").to_numpy()
    df = int((~np.isnan(x)).sum()) - x.shape[0] - x.shape[1] + 1
    if df < 1:
        return None
    rest = x - np.nanmean(x, axis=1, keepdims=True)
    rest -= np.nanmean(rest, axis=0)
    return float(np.sqrt(np.nansum(rest**2) / df))


def _favour(one: _Favoured) -> pd.DataFrame:
    layout, means = one.cells.layout, one.cells.values[0]
    rows = {
        "domain": layout.domain,
        "model": str(layout.series["model"].iloc[0]),
        "feature": one.name,
        "better": one.feature.favour,
        "concept": one.cells.groups.names,
        "mean": means,
        "difference": means - means[~np.isnan(means)].mean() if not np.isnan(means).all() else means,
        "n": one.cells.n[0],
    }
    return pd.DataFrame(rows, columns=schemas.FAVOUR.names)
