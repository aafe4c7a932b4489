"""Figures of a contrast: how much each cue moves its answers, and how much mass is on the classes."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from evenruler.instruments.framing import schemas
from evenruler.instruments.framing.diagnose.sensitivity import partners
from evenruler.measurement import Figure, Resampling
from evenruler.measurement.figures import bootstrapped

UNIT = "stimuli"
"""What is drawn: a stimulus with all its tasks and factors."""

_PART = ["benchmark", "configuration", "metric", "model"]


def figures_of(
    effects: pd.DataFrame, distributions: pd.DataFrame, factors: Sequence[str], resampling: Resampling
) -> pd.DataFrame:
    """Effects, the probability of a shift and coverage of every model, with bootstrap intervals over stimuli.

    Attribute-level effects are averaged over stimuli per task (`effect: FACTOR, TASK`), then over the tasks that
    have the factor (`effect: FACTOR`), then over factors (`shift probability`), all from 0 to 1. `coverage` is the
    mass on the classes, mean over cells of the mean over stimuli.

    Args:
        effects: By `schemas.EFFECTS`.
        distributions: By `schemas.DISTRIBUTIONS`: everything that was measured. Cells that are
            excluded from `effects` may be there; a figure that they leave without a value then says so.
        factors: Of the contrast, in order.
        resampling: How intervals are computed.

    Returns:
        By `schemas.FIGURES`; for every model the same figures, null with the reason where there
        is no feasible pair.

    Source: section 4.3; the probability of a shift as the mean of the effects is a decision of ours.
    """
    of_effects = dict(iter(effects.groupby(_PART)))
    rows = []
    for key, measured in distributions.groupby(_PART, sort=True):
        benchmark, configuration, metric, model = key
        here = {"benchmark": benchmark, "part": f"{configuration}, {metric}", "model": model}
        own = of_effects.get(key, effects.iloc[:0])
        rows += [{**here, **asdict(figure)} for figure in _of_model(own, measured, factors, resampling)]
    return pd.DataFrame(rows, columns=schemas.FIGURES.names)


def _of_model(
    effects: pd.DataFrame, measured: pd.DataFrame, factors: Sequence[str], resampling: Resampling
) -> Iterator[Figure]:
    table = effects.pivot(index="stimulus", columns=["factor", "task"], values="apd")
    tasks = sorted(measured["task"].unique())
    found: list[tuple[str, float]] = []
    weights: list[float] = []
    lacking = None
    for factor in factors:
        own = [(factor, task) for task in tasks if (factor, task) in table.columns]
        for task in tasks:
            name = f"effect: {factor}, {task}"
            reason = None if (factor, task) in own else _why_none(measured[measured["task"] == task], factors, factor)
            yield _weighted(name, table[[column for column in own if column[1] == task]], [1.0], reason, resampling)
        reason = None if own else _why_none(measured, factors, factor)
        yield _weighted(f"effect: {factor}", table[own], [1 / len(own) for _ in own], reason, resampling)
        found += own
        weights += [1 / len(own) / len(factors) for _ in own]
        lacking = lacking or reason
    yield _weighted("shift probability", table[found], weights, lacking, resampling)
    cells = measured.drop_duplicates(["task", "framing", "stimulus"])
    coverage = cells.pivot(index="stimulus", columns=["task", "framing"], values="coverage")
    yield _weighted("coverage", coverage, [1 / coverage.shape[1]] * coverage.shape[1], None, resampling)


def _weighted(
    name: str, table: pd.DataFrame, weights: Sequence[float], reason: str | None, resampling: Resampling
) -> Figure:
    """A weighted sum of the column means of [stimuli, columns], each over the stimuli that have a value in it.

    The figure is null where there is a reason for it.
    """
    known = table.dropna(how="all")
    if reason:
        return Figure(name, None, len(known), UNIT, reason=reason)

    def of_drawn(rows: NDArray[np.float64]) -> float:
        sums, counts = rows.sum(axis=0)
        return float((sums / counts) @ weights)

    # Sums and counts, for nanmean takes most of a second for a figure.
    x = np.stack([known.fillna(0.0).to_numpy(dtype=np.float64), known.notna().to_numpy(dtype=np.float64)], axis=1)
    return bootstrapped(name, of_drawn, x, resampling, UNIT)


def _why_none(measured: pd.DataFrame, factors: Sequence[str], factor: str) -> str:
    """Why cells have no effect of a factor."""
    framings = measured.groupby("task")["framing"].unique()
    if not any(partners(list(of_task), factors, factor) for of_task in framings):
        return f"no two cells differ in {factor} alone"
    if measured["share"].isna().all():
        return "no answer was one of the classes"
    return f"no two cells that differ in {factor} alone are left: excluded, or without valid answers"
