"""How much a cue changes the answers: APD, shifts of classes, and their figures (framing, sections
4.3 and 5.3).
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from evenruler.instruments.framing import schemas
from evenruler.instruments.framing.declare import FramingPlan
from evenruler.instruments.framing.declare.task_prompts import alternative_of
from evenruler.instruments.framing.declare.tasks import (
    cues_of,
    real_framing,
    remove_cue,
    with_alternative,
)
from evenruler.instruments.framing.diagnose.distributions import CHOICE
from evenruler.measurement import Figure
from evenruler.measurement.estimates import jackknife_figure
from evenruler.measurement.figures import finite_or_none
from evenruler.measurement.inputs import Floats
from evenruler.measurement.resampling import PLAIN
from evenruler.measurement.verdicts import ValidityCheck, mark_invalid

UNIT = "stimuli"

TOLERANCE = 1e-6
"""How far the sum of a distribution may be from 1."""

MEASURED = ["benchmark", "model", "lineage", "prompt_format", "readout", "task"]


def apd(p: ArrayLike, q: ArrayLike) -> Floats:
    """Absolute Proportion Difference: half the sum of absolute differences of two distributions.

    Args:
        p: [..., classes], each row a distribution.
        q: The same shape.

    Returns:
        float64[...] from 0 (the same distribution) to 1 (no class in common); nan where a row holds
        nan.

    Raises:
        ValueError: Shapes differ or have no classes, an entry is negative, or a row does not sum to
            1 (within 1e-6).

    Source: section 4.3, first equation.
    """
    first = np.asarray(p, dtype=np.float64)
    second = np.asarray(q, dtype=np.float64)
    if first.shape != second.shape or first.ndim < 1:
        raise ValueError(
            f"expected two arrays [..., classes] of one shape, got {first.shape} and {second.shape}"
        )
    for rows in (first, second):
        if (rows < 0).any():
            raise ValueError(f"a share is negative, {np.nanmin(rows)}")
        sums = rows.sum(axis=-1)
        wrong = np.abs(sums - 1) > TOLERANCE
        if wrong.any():
            raise ValueError(
                f"the shares of a distribution sum to {sums[wrong].flat[0]:.9g}, expected 1"
            )
    differences = np.abs(first - second).sum(axis=-1)
    distance: Floats = np.minimum(differences / 2, 1.0)
    return distance


def compute_effects(distributions: pd.DataFrame, factors: Sequence[str]) -> pd.DataFrame:
    """GenEffect, InstrEffect and similar effects for every stimulus: mean APD over feasible pairs
    of cells.

    A pair is two cells of a task that differ only in one factor's cue, or in an alternative in its
    place. The paper always divides by two; here the mean is over the pairs that exist, with a share
    in both cells. `distributions`: by `schemas.DISTRIBUTIONS`, without excluded cells. Returns
    `EFFECTS`, without stimuli that have no feasible pair.
    Source: section 4.3, GenEffect and InstrEffect.
    """
    effect_frames = [
        pair_keys.assign(apd=apd(less, more))
        for pair_keys, less, more in pair_cells(distributions, factors)
    ]
    if not effect_frames:
        return pd.DataFrame(columns=schemas.EFFECTS.names)
    by = [*MEASURED, "factor", "alternative", "stimulus"]
    return (
        pd.concat(effect_frames)
        .groupby(by, sort=True)["apd"]
        .agg(apd="mean", n="size")
        .reset_index()
    )


def compute_shifts(distributions: pd.DataFrame, factors: Sequence[str]) -> pd.DataFrame:
    """Signed relative shift of every class by a cue, (p2 - p1) / (p2 + p1) with p2 the share with
    it: `schemas.SHIFTS`.

    From -1 (the class occurs only without the cue) to 1 (only with it), 0 where it has no share in
    either cell. Arguments as in `effects`.
    Source: section 5.3; 0 for 0 / 0 is our decision.
    """
    pair = [*MEASURED, "factor", "at", "stimulus"]
    shift_frames: list[pd.DataFrame] = []
    of_cues = distributions[distributions["framing"].map(alternative_of) == 0]
    for pair_keys, less, more in pair_cells(of_cues, factors):
        change, total = more - less, more + less
        shift = (change / total.where(total > 0, 1.0)).set_axis(pair_keys.index)
        by_pair = pair_keys[pair].join(shift)
        shift_frames.append(by_pair.melt(pair, var_name="outcome", value_name="shift"))
    if not shift_frames:
        return pd.DataFrame(columns=schemas.SHIFTS.names)
    return pd.concat(shift_frames).sort_values([*pair, "outcome"], ignore_index=True)


def pair_framings(
    framings: Sequence[str], factors: Sequence[str], factor: str
) -> dict[tuple[str, int], str]:
    """The framing with a factor's cue or what stands in its place, by the framing without it and
    the number of that (`alternative_of`).
    """
    cued_framings = {}
    for framing in framings:
        real, number = real_framing(framing), alternative_of(framing)
        unknown = set(cues_of(real)) - set(factors)
        if unknown:
            raise ValueError(
                f"the framing {framing!r} has the cue {min(unknown)!r}, expected "
                f"{', '.join(factors)}"
            )
        # False if it lacks the cue, or if something replaces the cue of another factor.
        replaced = with_alternative(real, factor, number)
        has_cue = factor in cues_of(real) and framing in (real, replaced)
        without_cue = remove_cue(real, factor)
        if has_cue and without_cue in framings:
            cued_framings[without_cue, number] = framing
    return cued_framings


def pair_cells(
    distributions: pd.DataFrame, factors: Sequence[str], column: str = "share"
) -> Iterator[tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]]:
    """Keys of feasible pairs, [pairs, ...], and shares without and with the cue or what stands in
    its place, [pairs, classes].

    ValueError where a framing has a cue that is no factor, or a cell lacks a class.
    """
    for benchmark, group in distributions.groupby("benchmark", sort=True):
        shares = group.pivot(
            index=[*MEASURED, "stimulus", "framing"], columns="outcome", values=column
        )
        is_present = shares.notna()
        whole = is_present.all(axis=1)
        if (is_present.any(axis=1) & ~whole).any():
            classes = ", ".join(shares.columns)
            raise ValueError(
                f"{benchmark}: a cell lacks the {column} of one of the classes {classes}"
            )
        groups = shares[whole].groupby(level="framing")
        by_framing = {str(framing): rows.droplevel("framing") for framing, rows in groups}
        for factor in factors:
            framing_pairs = pair_framings(list(by_framing), factors, factor)
            for (base_framing, number), cued_framing in framing_pairs.items():
                base_shares, cued_shares = by_framing[base_framing], by_framing[cued_framing]
                less, more = base_shares.align(cued_shares, join="inner", axis=0)
                pair_keys = less.index.to_frame(index=False)
                pair_keys = pair_keys.assign(factor=factor, alternative=number, at=base_framing)
                yield pair_keys, less, more


@dataclass(frozen=True)
class Effects:
    """Effects of one model in one part (prompt format and readout)."""

    table: pd.DataFrame
    """APD by stimulus, columns factor, alternative, task."""
    measured: pd.DataFrame
    """By `schemas.DISTRIBUTIONS`, with excluded cells, to explain why a figure is lacking."""
    exclusions: pd.DataFrame
    framing_plan: FramingPlan
    level: float

    def figures(self) -> Iterator[Figure]:
        """Descriptive figures of every factor in every task and over its tasks, and the mean over
        factors.

        The mean leaves out tasks with a cell of too little coverage, unless all have one, and of
        the others those without alternatives, unless none has any. So effect and control are over
        the same tasks.
        """
        tasks = sorted(self.measured["task"].unique())
        table_columns: list[Any] = self.table.columns.tolist()
        columns: list[tuple[str, int, str]] = []
        weights: list[float] = []
        lacking: str | None = None
        for factor in self.framing_plan.factors:
            measured_tasks = [task for task in tasks if (factor, 0, task) in table_columns]
            unfit: dict[str, str] = {}
            if self.measured["readout"].iloc[0] != CHOICE:  # choices have no such cells left
                for task in measured_tasks:
                    why = low_coverage(
                        self.measured, self.exclusions, self.framing_plan.factors, factor, task
                    )
                    if why:
                        unfit[task] = why
            for task in tasks:
                yield self._figure({"cue": factor, "task": task}, [task], unfit.get(task))
            with_alternatives = {
                task
                for column_factor, number, task in table_columns
                if column_factor == factor and number > 0
            }
            counted = counted_tasks(measured_tasks, unfit, with_alternatives)
            unfit_reason = unfit.get(counted[0]) if counted else None
            figure = self._figure({"cue": factor}, counted or tasks, unfit_reason)
            # The tasks with the cue that the mean leaves out, and why.
            tasks_by_reason = {
                "too little coverage": [task for task in unfit if task not in counted],
                "no alternatives": [
                    task for task in measured_tasks if task not in counted and task not in unfit
                ],
            }
            left_out = "; ".join(
                f"{why} in {', '.join(reason_tasks)}"
                for why, reason_tasks in tasks_by_reason.items()
                if reason_tasks
            )
            reason = f"over {', '.join(counted)} only: {left_out}" if left_out else None
            yield figure if figure.value is None else replace(figure, reason=reason)
            columns += [(factor, 0, task) for task in counted]
            weights += [1 / len(counted) / len(self.framing_plan.factors) for _ in counted]
            if not lacking and not counted:
                lacking = self._why_none(factor)
        # The mean of the factors' effects is the paper's probability of a shift.
        lacking = lacking or self._too_few()
        if lacking:
            yield Figure("shift_probability", None, 0, UNIT, reason=lacking)
            return
        x = self.table[columns].dropna(how="all").to_numpy(dtype=np.float64)
        yield jackknife_figure(
            "shift_probability",
            lambda rows: float(_column_means(rows) @ weights),
            x,
            PLAIN,
            self.level,
            UNIT,
        )

    def _figure(self, dimensions: dict[str, str], tasks: list[str], unfit: str | None) -> Figure:
        """The mean APD by a cue over `tasks`, with that by alternatives as its control; null with
        the reason where there is none. `unfit`: why it is invalid, or None.
        """
        factor = dimensions["cue"]
        measured_tasks = [task for task in tasks if (factor, 0, task) in self.table.columns]
        reason = self._too_few() if measured_tasks else self._why_none(factor, tasks)
        if reason:
            return Figure("effect", None, 0, UNIT, reason=reason, dimensions=dimensions)
        cue_apds = self.table[factor][0][measured_tasks]
        cue = cue_apds.dropna(how="all").to_numpy(dtype=np.float64)
        figure = jackknife_figure(
            "effect",
            lambda rows: float(_column_means(rows).mean()),
            cue,
            PLAIN,
            self.level,
            UNIT,
        )
        # The control is over alternatives asked in every task.
        by_number: Any = self.table[factor].mean()
        means = by_number.unstack("task").reindex(columns=measured_tasks).dropna()
        alternative_means = means[means.index > 0].mean(axis=1)
        control = finite_or_none(float(alternative_means.mean()))
        figure = replace(figure, control=control, dimensions=dimensions)
        return mark_invalid(figure, ValidityCheck(failure=unfit))

    def _too_few(self) -> str | None:
        """Why an effect may be chance alone: one reply per question, where replies choose; else
        None.
        """
        is_choice = self.measured["readout"].iloc[0] == CHOICE
        few = is_choice and self.measured["n"].max() < 2
        return "one reply per question cannot be distinguished from chance" if few else None

    def _why_none(self, factor: str, tasks: Sequence[str] | None = None) -> str:
        """Why a factor has no effect in `tasks` (None: in any): no pair of cells differs in it
        alone, or these have no valid answers.
        """
        measured = self.measured
        if tasks is not None:
            measured = measured[measured["task"].isin(tasks)]
        framings = measured.groupby("task")["framing"].unique()
        has_pairs = any(
            pair_framings(list(of_task), self.framing_plan.factors, factor) for of_task in framings
        )
        if not has_pairs:
            return f"no two cells differ in {factor} alone"
        if measured["share"].isna().all():
            return "no answer names an option"
        return (
            f"no two cells that differ in {factor} alone are left: excluded, or without valid "
            "answers"
        )


def low_coverage(
    measured: pd.DataFrame, exclusions: pd.DataFrame, factors: Sequence[str], factor: str, task: str
) -> str | None:
    """The cell with the least coverage in a cue's pairs of a task, in words, if it is too low, else
    None.

    What stands in place of the cue does not count. Tables are of one part.
    """
    is_out = exclusions["excluded"].astype(bool) & (exclusions["task"] == task)
    out = exclusions[is_out]
    covered = dict(zip(out["framing"], out["coverage"], strict=True))
    framings = measured.loc[measured["task"] == task, "framing"].unique()
    framing_pairs = pair_framings(list(framings), factors, factor)
    cells: set[str] = set()
    for (base_framing, number), cued_framing in framing_pairs.items():
        if number == 0:
            cells |= {base_framing, cued_framing}
    low = {covered[cell]: cell for cell in sorted(cells) if cell in covered}
    if not low:
        return None
    least = min(low)
    return f"only {least:.1%} of its answers name an option ({task}, {low[least]})"


def counted_tasks(
    tasks: list[str], unfit: Collection[str], with_alternatives: Collection[str]
) -> list[str]:
    """The tasks with enough coverage, or all if none has; of these the ones with alternatives, or
    all if none has.
    """
    covered = [task for task in tasks if task not in unfit] or tasks
    return [task for task in covered if task in with_alternatives] or covered


def _column_means(rows: Floats) -> Floats:
    """[columns] mean over rows, ignoring NaN."""
    is_number = ~np.isnan(rows)
    sums = np.where(is_number, rows, 0.0).sum(axis=0)
    means: Floats = sums / is_number.sum(axis=0)
    return means


def shift_figures(shifts: pd.DataFrame, outcomes: Sequence[str], level: float) -> Iterator[Figure]:
    """The mean shift of every class and the differences of all pairs, the later class minus the
    earlier.

    For one model in one part; means are over factors, tasks and pairs of cells, then over stimuli.
    """
    if shifts.empty:
        return
    by_stimulus = shifts.pivot_table(index="stimulus", columns="outcome", values="shift")
    for outcome in outcomes:
        shift = by_stimulus[outcome].to_numpy()
        figure = jackknife_figure("shift", np.mean, shift, PLAIN, level, UNIT)
        yield replace(figure, dimensions={"outcome": outcome})
    for first, second in combinations(outcomes, 2):  # as the paper compares them (figures 1 to 3)
        apart = (by_stimulus[second] - by_stimulus[first]).to_numpy()
        figure = jackknife_figure("shift_difference", np.mean, apart, PLAIN, level, UNIT)
        yield replace(figure, dimensions={"outcome": second, "reference_outcome": first})
