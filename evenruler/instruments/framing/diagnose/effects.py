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
from evenruler.measurement.jackknife import PLAIN
from evenruler.measurement.placebos import Difference, Units, beside_placebos
from evenruler.measurement.shifts import FEWEST_PLACEBOS
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
        measured: pd.DataFrame,
        exclusions: pd.DataFrame,
        asked: FramingPlan,
        confirmed: bool,
        level: float,
    ) -> "Effects":
        """From long tables of one model and part.

        Args:
            effects: By `schemas.EFFECTS`.
            measured: By `schemas.DISTRIBUTIONS`.
            exclusions: By `schemas.EXCLUSIONS`.
            asked: What was asked.
            confirmed: Whether this part gets verdicts.
            level: Of intervals.
        """
        table = effects.pivot(index="stimulus", columns=["factor", "placebo", "task"], values="apd")
        out = exclusions[exclusions["excluded"].astype(bool)]
        covered = {(row["task"], row["framing"]): row["coverage"] for row in out.to_dict("records")}
        return cls(table, measured, covered, asked, confirmed, level)

    @property
    def tasks(self) -> list[str]:
        """Of the model, in the alphabet."""
        return sorted(self.measured["task"].unique())

    def figures(self) -> Iterator[tuple[Figure, Fitness]]:
        """Of every factor in every task and over its tasks, and the mean over factors.

        A task is left out of the mean where a cell of it is below its coverage, if another is not.
        """
        means: list[tuple[str, list[str]]] = []
        lacking = None
        for factor in self.asked.factors:
            unfit = {task: self._why_unfit(factor, task) for task in self._known(factor)}
            for task in self.tasks:
                yield self._figure(factor, [task], f"{factor}, {task}", unfit.get(task))
            counted = [task for task, why in unfit.items() if not why] or list(unfit)
            why = next(iter(unfit.values()), None) if all(unfit.values()) else None
            yield self._figure(factor, counted or self.tasks, factor, why)
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
        placebos = self._placebos(factor, known)
        difference = beside(cue, placebos, self.level)
        fitness = Fitness(unfit=unfit, doubt=self._doubt(placebos))
        if difference is None or found.value is None:
            return replace(found, bound=bare.bound), fitness
        told = beside_control(found, difference)
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

    def _placebos(self, factor: str, tasks: list[str]) -> list[pd.DataFrame]:
        """By number, APD [stimuli, tasks]; none that lacks a task."""
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

    def _doubt(self, placebos: Sequence[pd.DataFrame]) -> str | None:
        if len(placebos) >= FEWEST_PLACEBOS:
            return None
        return f"{len(placebos)} placebos stand beside the cue, of at least {FEWEST_PLACEBOS}"

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


def beside(cue: pd.DataFrame, placebos: Sequence[pd.DataFrame], level: float) -> Difference | None:
    """The cue's mean APD less those of its placebos, each on the stimuli that it was asked about.

    Args:
        cue: [stimuli, tasks] APD.
        placebos: The same of each placebo; a stimulus that it was not asked about is NaN or not there.
        level: Of the interval.

    Returns:
        The difference of the means over tasks of the means over stimuli; None without a placebo.
    """
    own = [placebo.reindex(cue.index) for placebo in placebos]
    asked = [(placebo, np.flatnonzero(placebo.notna().any(axis=1))) for placebo in own]
    asked = [(placebo, units) for placebo, units in asked if len(units)]
    if not asked:
        return None
    of_cue = cue.to_numpy(dtype=np.float64)

    def less(placebo: pd.DataFrame) -> Callable[[Units], float]:
        values = placebo.to_numpy(dtype=np.float64)
        return lambda units: _mean_of_means(of_cue[units]) - _mean_of_means(values[units])

    return beside_placebos([less(placebo) for placebo, _ in asked], [units for _, units in asked], level)


def beside_control(figure: Figure, difference: Difference) -> Figure:
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
