"""The headline of a contrast: by how many points a cue moves the share of one declared class, beside placebos."""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from evenruler.instruments.framing.declare import CHANGE, FEWEST_PLACEBOS, FEWEST_WORDINGS, TOTAL, FramingPlan
from evenruler.instruments.framing.diagnose.distributions import CHOICE
from evenruler.instruments.framing.diagnose.effects import UNIT, counted_tasks, low_coverage
from evenruler.instruments.framing.diagnose.sensitivity import pairs
from evenruler.measurement import Figure
from evenruler.measurement.facets import paired
from evenruler.measurement.figures import jackknifed
from evenruler.measurement.nulls import sign_flips, squared_shift
from evenruler.measurement.resampling import PLAIN, Interval
from evenruler.measurement.verdicts import Confirmatory, Fitness, confirmatory

LEVEL = 0.95

INVALID = "invalid"
"""A reply of no class: one class more."""


def headlines(
    measured: pd.DataFrame, exclusions: pd.DataFrame, asked: FramingPlan
) -> Iterator[tuple[Confirmatory | Figure, Fitness]]:
    """Every headline figure, and after it that of all classes, which describes.

    Args:
        measured: By `schemas.DISTRIBUTIONS`, of one model in one part, with cells of too little coverage.
        exclusions: By `schemas.EXCLUSIONS`, of the same.
        asked: What was asked.
    """
    changes = changes_of(measured, asked)
    for name in asked.confirmatory:
        factor, _, task = name.partition(", ")
        own = changes[changes["factor"] == factor]
        tasks = [task] if task else sorted(own["task"].unique())
        unfit = {
            task: why for task in tasks if (why := low_coverage(measured, exclusions, asked.factors, factor, task))
        }
        counted = counted_tasks(tasks, unfit, set(own.loc[own["placebo"] > 0, "task"]))
        by_cue = over_tasks(own[own["task"].isin(counted)])
        fitness = Fitness(unfit=unfit.get(counted[0]) if counted else None)
        yield _headline(name, by_cue, {} if task else {"tasks": len(counted)}, asked), fitness
        yield _total(name, by_cue, asked.seed), Fitness()


def changes_of(measured: pd.DataFrame, asked: FramingPlan) -> pd.DataFrame:
    """Percentage points by which each wording of a cue and each placebo moves each class, about each stimulus.

    Of words, of the probability of any class; of replies, of all replies, so that an invalid one is a class.

    Returns:
        `factor, task, at, placebo, stimulus`, and a column a class.
    """
    sampled = bool((measured["metric"] == CHOICE).any())
    found = []
    for of, less, more in pairs(measured, asked.factors, "mass" if sampled else "share"):
        change = 100 * (more - less)
        if sampled:
            change[INVALID] = -change.sum(axis=1)
        found.append(of[_KEY].join(change.set_axis(of.index)))
    return pd.concat(found, ignore_index=True) if found else pd.DataFrame(columns=[*_KEY, *asked.forms])


_KEY = ["factor", "task", "at", "placebo", "stimulus"]


def over_tasks(changes: pd.DataFrame) -> pd.DataFrame:
    """[placebo x stimulus, classes] mean over pairs of cells, then over tasks, of which none is lacking."""
    by_task = changes.drop(columns=["factor", "at"]).groupby(["placebo", "stimulus", "task"]).mean()
    whole: Any = by_task.stack().unstack("task").dropna()
    return pd.DataFrame(whole.mean(axis=1).unstack(), columns=by_task.columns, dtype=float)


def _headline(name: str, by_cue: pd.DataFrame, more: dict[str, int], asked: FramingPlan) -> Confirmatory:
    """One headline figure of `over_tasks`."""
    points = by_cue.reset_index().pivot(index="stimulus", columns="placebo", values=asked.headline)
    numbers: list[Any] = list(points.columns)
    wordings = points[[number for number in numbers if number <= 0]].dropna()
    placebos = points[[number for number in numbers if number > 0]]
    crossed = wordings.join(placebos.dropna(), how="inner")
    levels = {UNIT: len(wordings), "wordings": wordings.shape[1], "placebos": placebos.shape[1], **more}
    name, bound = CHANGE + name, asked.smallest
    if wordings.empty:
        why = "no answer of any class with the cue and without it"
        return Confirmatory(name, UNIT, levels | {UNIT: 0}, None, bound, lacking=why)
    lacking = _lacking(levels, len(crossed), asked.least)
    if len(crossed) > 1 and placebos.shape[1] and len(numbers) > 2:
        effect, beside = paired(crossed[wordings.columns], crossed[placebos.columns])
        p_null = sign_flips(crossed[wordings.columns].mean(axis=1), asked.seed)
        return confirmatory(name, UNIT, levels | {UNIT: len(crossed)}, effect, p_null, beside, bound, lacking)
    # Each placebo stands beside some stimuli alone, or there is none: what the cue does is told, and nothing of it.
    found = jackknifed(name, np.mean, wordings.mean(axis=1).to_numpy(), PLAIN, LEVEL, UNIT)
    ends = [math.nan if end is None else end for end in (found.value, found.low, found.high)]
    placebo = float(placebos.mean().mean()) if placebos.size else None
    p_null = sign_flips(wordings.mean(axis=1), asked.seed)
    return Confirmatory(name, UNIT, levels, Interval(*ends), bound, p_null, placebo, lacking=lacking)


def _lacking(levels: dict[str, int], crossed: int, least: int) -> str | None:
    """What a design has too little of, the first."""
    wordings, placebos = levels["wordings"], levels["placebos"]
    if wordings < FEWEST_WORDINGS:
        return f"{wordings} wording{'s' * (wordings > 1)} of the cue, of at least {FEWEST_WORDINGS}"
    if placebos < FEWEST_PLACEBOS:
        return f"{placebos} placebo{'s' * (placebos != 1)}, of at least {FEWEST_PLACEBOS}"
    return f"{crossed} stimuli with every wording and placebo, of at least {least}" if crossed < least else None


def _total(name: str, by_cue: pd.DataFrame, seed: int) -> Figure:
    """How far all classes move together: the squared length of the mean change of shares, free of noise's part."""
    cues = by_cue[by_cue.index.get_level_values("placebo") <= 0]
    shares = cues.groupby(level="stimulus").mean().to_numpy() / 100
    if len(shares) < 2:
        return Figure(TOTAL + name, None, len(shares), UNIT, reason="fewer than two stimuli")
    return Figure(TOTAL + name, squared_shift(shares), len(shares), UNIT, p=sign_flips(shares, seed))
