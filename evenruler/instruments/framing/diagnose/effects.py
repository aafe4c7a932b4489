"""Figures that describe how far each cue moves answers and classes, beside placebos in its place (section 4.3)."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from evenruler.instruments.framing.declare import EFFECT, FramingPlan
from evenruler.instruments.framing.diagnose.distributions import CHOICE
from evenruler.instruments.framing.diagnose.sensitivity import partners
from evenruler.measurement import Figure
from evenruler.measurement.figures import finite, jackknifed
from evenruler.measurement.resampling import PLAIN
from evenruler.measurement.shifts import Difference, Units, cue_minus_placebos
from evenruler.measurement.verdicts import Fitness, marked

Floats = NDArray[np.float64]

UNIT = "stimuli"

SHIFT = "shift: "
"""Before the name of a class, or of two with a minus between."""


@dataclass(frozen=True)
class Effects:
    """Effects of one model in one part: configuration and metric."""

    table: pd.DataFrame
    """APD by stimulus, columns factor, placebo, task."""
    beyond: Mapping[tuple[str, int], pd.DataFrame]
    """By `beyond_placebos`."""
    measured: pd.DataFrame
    """By `schemas.DISTRIBUTIONS`: everything, to say why there is none."""
    exclusions: pd.DataFrame
    """By `schemas.EXCLUSIONS`."""
    asked: FramingPlan
    level: float

    @classmethod
    def of(cls, found: Mapping[str, pd.DataFrame], asked: FramingPlan, level: float) -> "Effects":
        """From long tables of one model and part: `effects`, `distributions`, `exclusions` and `pairs`."""
        table = found["effects"].pivot(index="stimulus", columns=["factor", "placebo", "task"], values="apd")
        return cls(table, beyond_placebos(found["pairs"]), found["distributions"], found["exclusions"], asked, level)

    @property
    def tasks(self) -> list[str]:
        """Of the model, in the alphabet."""
        return sorted(self.measured["task"].unique())

    def figures(self) -> Iterator[Figure]:
        """Of every factor in every task and over its tasks, and the mean over factors; they describe.

        A task is left out of the mean where a cell of it is below its coverage, if another is not; and of those that
        are left, where it has no placebos, if another has. So effect and control are of the same tasks.
        """
        columns: list[tuple[str, int, str]] = []
        weights: list[float] = []
        lacking = None
        for factor in self.asked.factors:
            unfit = {task: self._why_unfit(factor, task) for task in self._known(factor)}
            for task in self.tasks:
                yield self._figure(factor, [task], f"{factor}, {task}", unfit.get(task))
            covered = [task for task, why in unfit.items() if not why] or list(unfit)
            with_placebos = {task for (of, _), table in self.beyond.items() if of == factor for task in table}
            counted = [task for task in covered if task in with_placebos] or covered
            why = next(iter(unfit.values()), None) if all(unfit.values()) else None
            figure = self._figure(factor, counted or self.tasks, factor, why)
            if figure.value is not None:
                # Which of the tasks with the cue the mean is over, and why.
                low = [task for task in unfit if task not in covered]
                bare = [task for task in covered if task not in counted]
                left_out = [f"too little coverage in {', '.join(low)}"] if low else []
                left_out += [f"no placebos in {', '.join(bare)}"] if bare else []
                told = f"over {', '.join(counted)} alone: {'; '.join(left_out)}"
                figure = replace(figure, reason=told if left_out else None)
            yield figure
            columns += [(factor, 0, task) for task in counted]
            weights += [1 / len(counted) / len(self.asked.factors) for _ in counted]
            lacking = lacking or (None if counted else self._why_none(factor))
        # The mean of the factors' effects is the paper's probability of a shift.
        name, lacking = "shift probability", lacking or self._too_few()
        if lacking:
            yield Figure(name, None, 0, UNIT, reason=lacking)
            return
        x = self.table[columns].dropna(how="all").to_numpy(dtype=np.float64)
        yield jackknifed(name, lambda rows: float(_means(rows) @ weights), x, PLAIN, self.level, UNIT)

    def _figure(self, factor: str, tasks: list[str], name: str, unfit: str | None) -> Figure:
        known = [task for task in self._known(factor) if task in tasks]
        if not known or (too_few := self._too_few()):
            reason = too_few if known else self._why_none(factor, tasks)
            return Figure(EFFECT + name, None, 0, UNIT, reason=reason)
        cue = self.table[factor][0][known].dropna(how="all").to_numpy(dtype=np.float64)
        found = marked(jackknifed(EFFECT + name, _mean_of_means, cue, PLAIN, self.level, UNIT), Fitness(unfit=unfit))
        # By placebo, [stimuli, tasks]; none that lacks a task.
        own = [table for (of, _), table in sorted(self.beyond.items()) if of == factor and set(known) <= set(table)]
        beyond = [table[known].dropna(how="all") for table in own]
        return with_control(found, mean_difference(beyond, self.level)) if beyond else found

    def _known(self, factor: str) -> list[str]:
        """The tasks in which the cue of a factor was measured."""
        return [task for task in self.tasks if (factor, 0, task) in self.table.columns]

    @property
    def _sampled(self) -> bool:
        return bool(self.measured["metric"].iloc[0] == CHOICE)

    def _too_few(self) -> str | None:
        """Why effects of choices say nothing."""
        few = self._sampled and self.measured["n"].max() < 2
        return "one reply to a question cannot be told from chance" if few else None

    def _why_unfit(self, factor: str, task: str) -> str | None:
        """Of choices nothing is left of such a cell."""
        return None if self._sampled else low_coverage(self.measured, self.exclusions, self.asked.factors, factor, task)

    def _why_none(self, factor: str, tasks: Sequence[str] | None = None) -> str:
        """Why cells have no effect of a factor."""
        measured = self.measured if tasks is None else self.measured[self.measured["task"].isin(tasks)]
        framings = measured.groupby("task")["framing"].unique()
        if not any(partners(list(of_task), self.asked.factors, factor) for of_task in framings):
            return f"no two cells differ in {factor} alone"
        if measured["share"].isna().all():
            return "no answer was one of the classes"
        return f"no two cells that differ in {factor} alone are left: excluded, or without valid answers"


def low_coverage(
    measured: pd.DataFrame, exclusions: pd.DataFrame, factors: Sequence[str], factor: str, task: str
) -> str | None:
    """The cell of a cue's pairs in a task that has the least coverage, in words, where that is too little.

    Of replies a placebo may bring few of any class: an invalid one is an answer to it.

    Args:
        measured: By `schemas.DISTRIBUTIONS`, of one model and part.
        exclusions: By `schemas.EXCLUSIONS`, of the same.
        factors: Of the contrast, in order.
        factor: The cue.
        task: The task.
    """
    out = exclusions[exclusions["excluded"].astype(bool) & (exclusions["task"] == task)]
    covered = dict(zip(out["framing"], out["coverage"], strict=True))
    sampled = (measured["metric"] == CHOICE).any()
    found = partners(list(measured.loc[measured["task"] == task, "framing"].unique()), factors, factor)
    cells = {cell for (at, number), other in found.items() if number <= 0 or not sampled for cell in (at, other)}
    low = {covered[cell]: cell for cell in sorted(cells) if cell in covered}
    return f"only {min(low):.1%} of its answers are of any class ({task}, {low[min(low)]})" if low else None


def beyond_placebos(pairs: pd.DataFrame) -> dict[tuple[str, int], pd.DataFrame]:
    """APD with the cue less that with a placebo in its place, of the same pairs of cells and the same stimuli.

    Args:
        pairs: Of one model and part, by `sensitivity.apd_of_pairs`.

    Returns:
        By factor and number of the placebo: [stimuli, tasks], mean over the pairs that both have; nan where there is
        none.
    """
    if not (pairs["placebo"] == 0).any():
        return {}
    found = {}
    by_placebo = pairs.pivot(index=["factor", "task", "at", "stimulus"], columns="placebo", values="apd")
    for factor, own in by_placebo.groupby(level="factor", sort=True):
        for placebo in _placebos(own):
            less = (own[0] - own[placebo]).dropna()
            if len(less):
                found[str(factor), int(placebo)] = less.groupby(["stimulus", "task"]).mean().unstack("task")
    return found


def mean_difference(beyond: Sequence[pd.DataFrame], level: float) -> Difference:
    """The mean over placebos of how far the cue goes beyond each, on the stimuli that this was asked about.

    Args:
        beyond: By placebo, at least one: [stimuli, tasks] a value with the cue less that with the placebo; nan where
            one of them is not known.
        level: Of the interval.

    Returns:
        The mean over tasks of the means over stimuli, with its interval.
    """
    stimuli = pd.Index(sorted({stimulus for table in beyond for stimulus in table.index}))
    units = [np.sort(stimuli.get_indexer(table.index)) for table in beyond]

    def mean_of(table: pd.DataFrame) -> Callable[[Units], float]:
        values = table.reindex(stimuli).to_numpy(dtype=np.float64)
        return lambda chosen: _mean_of_means(values[chosen])

    return cue_minus_placebos([mean_of(table) for table in beyond], units, level)


def with_control(figure: Figure, difference: Difference) -> Figure:
    """A figure with what placebos give, and the interval of the difference to them."""
    if figure.value is None:
        return figure
    low, high = finite(difference.low), finite(difference.high)
    return replace(figure, control=figure.value - difference.value, difference_low=low, difference_high=high)


def _means(rows: Floats) -> Floats:
    """[columns] mean over rows of those that there are."""
    known = ~np.isnan(rows)
    found: Floats = np.where(known, rows, 0.0).sum(axis=0) / known.sum(axis=0)
    return found


def _mean_of_means(rows: Floats) -> float:
    return float(_means(rows).mean())


def shift_figures(shifts: pd.DataFrame, outcomes: Sequence[str], level: float) -> Iterator[Figure]:
    """The mean shift of every class, and the difference of every two, of one model in one part.

    Means are over factors, tasks and pairs of cells, then over stimuli. A placebo is compared with the cue in the pairs
    that it has, on the stimuli that it was asked about.

    Args:
        shifts: By `schemas.SHIFTS`, of the pairs whose cells count.
        outcomes: The classes, in their order; a difference is of a later one less an earlier one.
        level: Of intervals.
    """
    if not (shifts["placebo"] == 0).any():  # a cell with the cue may be excluded, and placebos stay
        return
    by_class = {
        outcome: own.pivot(index=["factor", "task", "at", "stimulus"], columns="placebo", values="shift")
        for outcome, own in shifts.groupby("outcome")
    }
    for outcome in outcomes:
        yield _shift(outcome, by_class[outcome], level)
    for first, second in combinations(outcomes, 2):
        yield _shift(f"{second} - {first}", by_class[second] - by_class[first], level)


def _shift(name: str, by_placebo: pd.DataFrame, level: float) -> Figure:
    """Of [pairs and stimuli, placebos], the cue at 0."""
    by_stimulus = [
        values.dropna().groupby(level="stimulus").mean().to_frame()
        for values in (
            by_placebo[0],
            *(by_placebo[0] - by_placebo[number] for number in _placebos(by_placebo)),
        )
    ]
    cue, *beyond = by_stimulus
    found = jackknifed(f"{SHIFT}{name}", np.mean, cue.to_numpy(dtype=np.float64)[:, 0], PLAIN, level, UNIT)
    beyond = [table for table in beyond if len(table)]
    return with_control(found, mean_difference(beyond, level)) if beyond else found


def _placebos(table: pd.DataFrame) -> list[Any]:
    """The numbers of placebos among columns; the cue is 0, other wordings of it are below."""
    numbers: list[Any] = list(table.columns)
    return [number for number in numbers if number > 0]
