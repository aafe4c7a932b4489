"""Figures of effects: how far each cue moves answers, beside what placebos in its place do (section 4.3)."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from evenruler.instruments.framing.declare.headings import EFFECT
from evenruler.instruments.framing.declare.plan import FramingPlan
from evenruler.instruments.framing.diagnose import choices
from evenruler.instruments.framing.diagnose.sensitivity import partners
from evenruler.measurement import Figure
from evenruler.measurement.figures import finite, jackknifed
from evenruler.measurement.resampling import PLAIN
from evenruler.measurement.shifts import FEWEST_PLACEBOS, Difference, Units, cue_minus_placebos
from evenruler.measurement.verdicts import Fitness

Floats = NDArray[np.float64]

UNIT = "stimuli"

_SMALLEST = 1e-9
"""A bound is positive also where nothing differs."""


@dataclass(frozen=True)
class Effects:
    """Effects of one model in one part: configuration and metric."""

    table: pd.DataFrame
    """APD by stimulus, columns factor, placebo, task."""
    beyond: Mapping[tuple[str, int], pd.DataFrame]
    """By `beyond_placebos`."""
    measured: pd.DataFrame
    """By `schemas.DISTRIBUTIONS`: everything, to say why there is none."""
    excluded: Mapping[tuple[str, str], float]
    """The coverage of cells, task and framing, that have too little."""
    asked: FramingPlan
    confirmed: bool
    """Whether its confirmatory effects get a verdict here."""
    level: float

    @classmethod
    def of(
        cls,
        effects: pd.DataFrame,
        pairs: pd.DataFrame,
        measured: pd.DataFrame,
        exclusions: pd.DataFrame,
        asked: FramingPlan,
        confirmed: bool,
        level: float,
    ) -> "Effects":
        """From long tables of one model and part.

        Args:
            effects: By `schemas.EFFECTS`.
            pairs: What they are means of, by `sensitivity.apd_of_pairs`.
            measured: By `schemas.DISTRIBUTIONS`.
            exclusions: By `schemas.EXCLUSIONS`.
            asked: What was asked.
            confirmed: Whether this part gets verdicts.
            level: Of intervals.
        """
        table = effects.pivot(index="stimulus", columns=["factor", "placebo", "task"], values="apd")
        out = exclusions[exclusions["excluded"].astype(bool)]
        covered = {(row["task"], row["framing"]): row["coverage"] for row in out.to_dict("records")}
        return cls(table, beyond_placebos(pairs), measured, covered, asked, confirmed, level)

    @property
    def tasks(self) -> list[str]:
        """Of the model, in the alphabet."""
        return sorted(self.measured["task"].unique())

    def figures(self) -> Iterator[tuple[Figure, Fitness]]:
        """Of every factor in every task and over its tasks, and the mean over factors.

        A task is left out of the mean where a cell of it is below its coverage, if another is not; and of those that
        are left, where it has no placebos, if another has. So effect and control are of the same tasks.
        """
        means: list[tuple[str, list[str]]] = []
        lacking = None
        for factor in self.asked.factors:
            unfit = {task: self._why_unfit(factor, task) for task in self._known(factor)}
            for task in self.tasks:
                yield self._figure(factor, [task], f"{factor}, {task}", unfit.get(task))
            covered = [task for task, why in unfit.items() if not why] or list(unfit)
            counted = [task for task in covered if self._has_placebos(factor, task)] or covered
            why = next(iter(unfit.values()), None) if all(unfit.values()) else None
            figure, fitness = self._figure(factor, counted or self.tasks, factor, why)
            if figure.value is not None:
                figure = replace(figure, reason=_left_out(counted, covered, list(unfit)))
            yield figure, fitness
            means.append((factor, counted))
            lacking = lacking or (None if counted else self._why_none(factor))
        yield self._shift_probability(means, lacking), Fitness()

    def _figure(self, factor: str, tasks: list[str], name: str, unfit: str | None) -> tuple[Figure, Fitness]:
        known = [task for task in tasks if task in self._known(factor)]
        bare = Figure(EFFECT + name, None, 0, UNIT, bound=self._bound(factor, known, name))
        if not known or (too_few := self._too_few()):
            reason = too_few if known else self._why_none(factor, tasks)
            unfit = unfit or (reason if self.excluded and not known else None)
            return Figure(bare.figure, None, 0, UNIT, reason=reason, bound=bare.bound), Fitness(unfit=unfit)
        cue = self.table[factor][0][known].dropna(how="all")
        found = jackknifed(bare.figure, _mean_of_means, cue.to_numpy(dtype=np.float64), PLAIN, self.level, UNIT)
        beyond = self._beyond(factor, known)
        fitness = Fitness(unfit=unfit, doubt=self._doubt(len(beyond)))
        if not beyond or found.value is None:
            return replace(found, bound=bare.bound), fitness
        difference = mean_difference(beyond, self.level)
        told = with_control(found, difference)
        return replace(told, p=finite(difference.p), bound=bare.bound), fitness

    def _shift_probability(self, means: Sequence[tuple[str, list[str]]], lacking: str | None) -> Figure:
        """The mean of the factors' effects (the paper's probability of a shift)."""
        name = "shift probability"
        lacking = lacking or self._too_few()
        if lacking:
            return Figure(name, None, 0, UNIT, reason=lacking)
        columns = [(factor, 0, task) for factor, tasks in means for task in tasks]
        weights = np.array([1 / len(tasks) / len(means) for _, tasks in means for _ in tasks])
        x = self.table[columns].dropna(how="all").to_numpy(dtype=np.float64)
        return jackknifed(name, lambda rows: float(_means(rows) @ weights), x, PLAIN, self.level, UNIT)

    @property
    def _columns(self) -> list[tuple[str, int, str]]:
        """Factor, placebo and task of what was measured."""
        names: list[tuple[str, int, str]] = list(self.table.columns.to_flat_index())  # type: ignore[arg-type]
        return names

    def _known(self, factor: str) -> list[str]:
        """The tasks in which the cue of a factor was measured."""
        columns = {(of, task) for of, placebo, task in self._columns if not placebo}
        return [task for task in self.tasks if (factor, task) in columns]

    def _has_placebos(self, factor: str, task: str) -> bool:
        """Whether any placebo can be compared with the cue of a factor in a task."""
        return any(of == factor and task in table for (of, _), table in self.beyond.items())

    def _beyond(self, factor: str, tasks: list[str]) -> list[pd.DataFrame]:
        """By placebo, how far the cue goes beyond it, [stimuli, tasks]; none that lacks a task."""
        own = [table for (of, _), table in sorted(self.beyond.items()) if of == factor]
        return [table[tasks].dropna(how="all") for table in own if set(tasks) <= set(table)]

    def _placebos(self, factor: str, tasks: list[str]) -> list[pd.DataFrame]:
        """By placebo, APD [stimuli, tasks]; none that lacks a task."""
        numbers = sorted({placebo for of, placebo, _ in self._columns if of == factor and placebo})
        every = [self.table[factor][number].reindex(columns=tasks) for number in numbers]
        return [placebo for placebo in every if placebo.notna().any().all()]

    def _bound(self, factor: str, tasks: list[str], name: str) -> float | None:
        """Of a confirmatory figure: so many standard deviations over stimuli of what placebos do, or the cue."""
        if name not in self.asked.confirmatory or not self.confirmed:
            return None
        alike = [frame.mean(axis=1) for frame in self._placebos(factor, tasks)]
        values = pd.concat(alike, axis=1).mean(axis=1) if alike else None
        if values is None and tasks:
            values = self.table[factor][0][tasks].mean(axis=1)
        spread = 0.0 if values is None or values.count() < 2 else float(values.std(ddof=1))
        return max(self.asked.bound * spread, _SMALLEST)

    def _doubt(self, placebos: int) -> str | None:
        if placebos >= FEWEST_PLACEBOS:
            return None
        return f"{placebos} placebos stand beside the cue, of at least {FEWEST_PLACEBOS}"

    def _too_few(self) -> str | None:
        """Why effects of choices say nothing."""
        if self._sampled and self.measured["n"].max() < 2:
            return "one reply to a question cannot be told from chance"
        return None

    @property
    def _sampled(self) -> bool:
        return bool(self.measured["metric"].iloc[0] == choices.METRIC)

    def _why_unfit(self, factor: str, task: str) -> str | None:
        """The cell of its pairs that has the least coverage, where that is too little; of choices none is left."""
        if self._sampled:
            return None
        framings = self.measured.loc[self.measured["task"] == task, "framing"].unique()
        pairs = partners(list(framings), self.asked.factors, factor)
        cells = {framing for (at, _), other in pairs.items() for framing in (at, other)}
        low = {self.excluded[task, framing]: framing for framing in sorted(cells) if (task, framing) in self.excluded}
        if not low:
            return None
        return f"only {min(low):.1%} of its answers are of any class ({task}, {low[min(low)]})"

    def _why_none(self, factor: str, tasks: Sequence[str] | None = None) -> str:
        """Why cells have no effect of a factor."""
        measured = self.measured if tasks is None else self.measured[self.measured["task"].isin(tasks)]
        framings = measured.groupby("task")["framing"].unique()
        if not any(partners(list(of_task), self.asked.factors, factor) for of_task in framings):
            return f"no two cells differ in {factor} alone"
        if measured["share"].isna().all():
            return "no answer was one of the classes"
        return f"no two cells that differ in {factor} alone are left: excluded, or without valid answers"


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
        for placebo in own.columns[own.columns != 0]:
            less = (own[0] - own[placebo]).dropna()
            if len(less):
                found[str(factor), int(placebo)] = less.groupby(["stimulus", "task"]).mean().unstack("task")
    return found


def mean_difference(beyond: Sequence[pd.DataFrame], level: float) -> Difference:
    """The mean over placebos of how far the cue goes beyond each, on the stimuli that this was asked about.

    Args:
        beyond: By placebo, at least one: [stimuli, tasks] APD with the cue less that with the placebo; nan where one of
            them is not known.
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


def _left_out(counted: Sequence[str], covered: Sequence[str], known: Sequence[str]) -> str | None:
    """Which tasks a mean is over, where it leaves some out, and why; None where it is over all.

    Args:
        counted: Those that it is over.
        covered: Those that have enough coverage.
        known: Those that have the cue.
    """
    low = [task for task in known if task not in covered]
    bare = [task for task in covered if task not in counted]
    why = [f"too little coverage in {', '.join(low)}"] if low else []
    why += [f"no placebos in {', '.join(bare)}"] if bare else []
    return f"over {', '.join(counted)} alone: {'; '.join(why)}" if why else None


def _means(rows: Floats) -> Floats:
    """[columns] mean over rows of those that there are."""
    known = ~np.isnan(rows)
    found: Floats = np.where(known, rows, 0.0).sum(axis=0) / known.sum(axis=0)
    return found


def _mean_of_means(rows: Floats) -> float:
    return float(_means(rows).mean())
