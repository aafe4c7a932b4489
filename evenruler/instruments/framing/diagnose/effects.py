"""How much a cue changes the answers: APD, shifts of classes, and their figures (framing, sections
4.3 and 5.3).
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from evenruler.instruments.framing import schemas
from evenruler.instruments.framing.declare import CHANGE, EFFECT, TOTAL, UNANSWERED, FramingPlan
from evenruler.instruments.framing.declare.asked import placebo_of
from evenruler.instruments.framing.declare.source import FEWEST_WORDINGS, Settings
from evenruler.instruments.framing.declare.tasks import cues_of, real_framing, with_placebo, without
from evenruler.instruments.framing.diagnose.distributions import CHOICE, TOKEN, without_excluded
from evenruler.measurement import Figure
from evenruler.measurement.checks import FEWEST_PLACEBOS, Floats
from evenruler.measurement.estimates import jackknifed
from evenruler.measurement.facets import paired
from evenruler.measurement.figures import finite
from evenruler.measurement.resampling import PLAIN, jackknife, sign_flips, squared_shift
from evenruler.measurement.verdicts import ALPHA, Confirmatory, Fitness, confirmatory, marked

UNIT = "stimuli"

INVALID = "invalid"
"""The class of replies without a class."""

SMALLEST_UNANSWERED = 15.0
"""Smallest change of interest in unanswered replies, percentage points, as in other families."""

SHIFT = "shift: "
"""Prefix of figures, before the name of a class, or of two with a minus between."""

TOLERANCE = 1e-6
"""How far the sum of a distribution may be from 1."""

MEASURED = ["benchmark", "model", "lineage", "configuration", "metric", "task"]


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
    first, second = np.asarray(p, dtype=np.float64), np.asarray(q, dtype=np.float64)
    if first.shape != second.shape or first.ndim < 1:
        raise ValueError(
            f"expected two arrays [..., classes] of one shape, got {first.shape} and {second.shape}"
        )
    for rows in (first, second):
        if (rows < 0).any():
            raise ValueError(f"a share is negative, {np.nanmin(rows)}")
        sums = rows.sum(axis=-1)
        if (wrong := np.abs(sums - 1) > TOLERANCE).any():
            raise ValueError(
                f"the shares of a distribution sum to {sums[wrong].flat[0]:.9g}, expected 1"
            )
    distance: Floats = np.minimum(np.abs(first - second).sum(axis=-1) / 2, 1.0)
    return distance


def effects(distributions: pd.DataFrame, factors: Sequence[str]) -> pd.DataFrame:
    """GenEffect, InstrEffect and similar effects for every stimulus: mean APD over feasible pairs
    of cells.

    A pair is two cells of a task that differ only in one factor's cue, or in a placebo in its
    place. The paper always divides by two; here the mean is over the pairs that exist, with a share
    in both cells. `distributions`: by `schemas.DISTRIBUTIONS`, without excluded cells. Returns
    `EFFECTS`, without stimuli that have no feasible pair.
    Source: section 4.3, GenEffect and InstrEffect.
    """
    found = [of.assign(apd=apd(less, more)) for of, less, more in pairs(distributions, factors)]
    if not found:
        return pd.DataFrame(columns=schemas.EFFECTS.names)
    by = [*MEASURED, "factor", "placebo", "stimulus"]
    return pd.concat(found).groupby(by, sort=True)["apd"].agg(apd="mean", n="size").reset_index()


def shifts(distributions: pd.DataFrame, factors: Sequence[str]) -> pd.DataFrame:
    """Signed relative shift of every class by a cue, (p2 - p1) / (p2 + p1) with p2 the share with
    it: `schemas.SHIFTS`.

    From -1 (the class occurs only without the cue) to 1 (only with it), 0 where it has no share in
    either cell. Arguments as in `effects`.
    Source: section 5.3; 0 for 0 / 0 is our decision.
    """
    pair, found = [*MEASURED, "factor", "at", "stimulus"], []
    for of, less, more in pairs(
        distributions[distributions["framing"].map(placebo_of) == 0], factors
    ):
        change, total = more - less, more + less
        shift = (change / total.where(total > 0, 1.0)).set_axis(of.index)
        found.append(of[pair].join(shift).melt(pair, var_name="outcome", value_name="shift"))
    if not found:
        return pd.DataFrame(columns=schemas.SHIFTS.names)
    return pd.concat(found).sort_values([*pair, "outcome"], ignore_index=True)


def partners(
    framings: Sequence[str], factors: Sequence[str], factor: str
) -> dict[tuple[str, int], str]:
    """The framing with a factor's cue or placebo, by the framing without it and the placebo's
    number (0: the cue).
    """
    found = {}
    for framing in framings:
        real, placebo = real_framing(framing), placebo_of(framing)
        if unknown := set(cues_of(real)) - set(factors):
            raise ValueError(
                f"the framing {framing!r} has the cue {min(unknown)!r}, expected "
                f"{', '.join(factors)}"
            )
        # False if it lacks the cue, or if the placebo replaces the cue of another factor.
        own = factor in cues_of(real) and framing in (real, with_placebo(real, factor, placebo))
        if own and (bare := without(real, factor)) in framings:
            found[bare, placebo] = framing
    return found


def pairs(
    distributions: pd.DataFrame, factors: Sequence[str], column: str = "share"
) -> Iterator[tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]]:
    """Keys of feasible pairs, [pairs, ...], and shares without and with the cue or placebo, [pairs,
    classes].

    ValueError where a framing has a cue that is no factor, or a cell lacks a class.
    """
    for benchmark, own in distributions.groupby("benchmark", sort=True):
        shares = own.pivot(
            index=[*MEASURED, "stimulus", "framing"], columns="outcome", values=column
        )
        known = shares.notna()
        whole = known.all(axis=1)
        if (known.any(axis=1) & ~whole).any():
            classes = ", ".join(shares.columns)
            raise ValueError(
                f"{benchmark}: a cell lacks the {column} of one of the classes {classes}"
            )
        groups = shares[whole].groupby(level="framing")
        by_framing = {str(framing): rows.droplevel("framing") for framing, rows in groups}
        for factor in factors:
            for (at, placebo), other in partners(list(by_framing), factors, factor).items():
                less, more = by_framing[at].align(by_framing[other], join="inner", axis=0)
                yield (
                    less.index.to_frame(index=False).assign(factor=factor, placebo=placebo, at=at),
                    less,
                    more,
                )


@dataclass(frozen=True)
class Effects:
    """Effects of one model in one part (configuration and metric)."""

    table: pd.DataFrame
    """APD by stimulus, columns factor, placebo, task."""
    measured: pd.DataFrame
    """By `schemas.DISTRIBUTIONS`, with excluded cells, to explain why a figure is lacking."""
    exclusions: pd.DataFrame
    asked: FramingPlan
    level: float

    def figures(self) -> Iterator[Figure]:
        """Descriptive figures of every factor in every task and over its tasks, and the mean over
        factors.

        The mean leaves out tasks with a cell of too little coverage, unless all have one, and of
        the others those without placebos, unless none has any. So effect and control are over the
        same tasks.
        """
        tasks, told = sorted(self.measured["task"].unique()), list[Any](self.table.columns.tolist())
        columns, weights, lacking = list[tuple[str, int, str]](), list[float](), None
        for factor in self.asked.factors:
            known = [task for task in tasks if (factor, 0, task) in told]
            unfit = {}
            for task in (
                known if self.measured["metric"].iloc[0] != CHOICE else ()
            ):  # choices have no such cells left
                if why := low_coverage(
                    self.measured, self.exclusions, self.asked.factors, factor, task
                ):
                    unfit[task] = why
            for task in tasks:
                yield self._figure(factor, [task], f"{factor}, {task}", unfit.get(task))
            with_placebos = {task for of, placebo, task in told if of == factor and placebo > 0}
            counted = counted_tasks(known, unfit, with_placebos)
            figure = self._figure(
                factor, counted or tasks, factor, unfit.get(counted[0]) if counted else None
            )
            # The tasks with the cue that the mean leaves out, and why.
            without = {
                "too little coverage": [task for task in unfit if task not in counted],
                "no placebos": [
                    task for task in known if task not in counted and task not in unfit
                ],
            }
            left_out = "; ".join(f"{why} in {', '.join(of)}" for why, of in without.items() if of)
            reason = f"over {', '.join(counted)} only: {left_out}" if left_out else None
            yield figure if figure.value is None else replace(figure, reason=reason)
            columns += [(factor, 0, task) for task in counted]
            weights += [1 / len(counted) / len(self.asked.factors) for _ in counted]
            lacking = lacking or (None if counted else self._why_none(factor))
        # The mean of the factors' effects is the paper's probability of a shift.
        name, lacking = "shift probability", lacking or self._too_few()
        if lacking:
            yield Figure(name, None, 0, UNIT, reason=lacking)
            return
        x = self.table[columns].dropna(how="all").to_numpy(dtype=np.float64)
        yield jackknifed(
            name, lambda rows: float(_means(rows) @ weights), x, PLAIN, self.level, UNIT
        )

    def _figure(self, factor: str, tasks: list[str], name: str, unfit: str | None) -> Figure:
        known = [task for task in tasks if (factor, 0, task) in self.table.columns]
        if not known or (too_few := self._too_few()):
            reason = too_few if known else self._why_none(factor, tasks)
            return Figure(EFFECT + name, None, 0, UNIT, reason=reason)
        cue = self.table[factor][0][known].dropna(how="all").to_numpy(dtype=np.float64)
        found = jackknifed(
            EFFECT + name, lambda rows: float(_means(rows).mean()), cue, PLAIN, self.level, UNIT
        )
        # The control is over placebos asked in every task, each with the stimuli that it was asked
        # about.
        by_placebo: Any = self.table[factor].mean()
        means = by_placebo.unstack("task").reindex(columns=known).dropna()
        control = finite(float(means[means.index > 0].mean(axis=1).mean()))
        return marked(replace(found, control=control), Fitness(unfit=unfit))

    def _too_few(self) -> str | None:
        few = self.measured["metric"].iloc[0] == CHOICE and self.measured["n"].max() < 2
        return "one reply per question cannot be distinguished from chance" if few else None

    def _why_none(self, factor: str, tasks: Sequence[str] | None = None) -> str:
        measured = (
            self.measured if tasks is None else self.measured[self.measured["task"].isin(tasks)]
        )
        framings = measured.groupby("task")["framing"].unique()
        if not any(partners(list(of_task), self.asked.factors, factor) for of_task in framings):
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

    Placebos of sampled replies do not count: an invalid reply may be a proper answer to them.
    Tables are of one part.
    """
    out = exclusions[exclusions["excluded"].astype(bool) & (exclusions["task"] == task)]
    covered = dict(zip(out["framing"], out["coverage"], strict=True))
    sampled = (measured["metric"] == CHOICE).any()
    found = partners(
        list(measured.loc[measured["task"] == task, "framing"].unique()), factors, factor
    )
    cells = {
        cell
        for (at, number), other in found.items()
        if number <= 0 or not sampled
        for cell in (at, other)
    }
    low = {covered[cell]: cell for cell in sorted(cells) if cell in covered}
    return (
        f"only {min(low):.1%} of its answers name an option ({task}, {low[min(low)]})"
        if low
        else None
    )


def counted_tasks(
    tasks: list[str], unfit: Collection[str], with_placebos: Collection[str]
) -> list[str]:
    """The tasks with enough coverage, or all if none has; of these the ones with placebos, or all
    if none has.
    """
    covered = [task for task in tasks if task not in unfit] or tasks
    return [task for task in covered if task in with_placebos] or covered


def _means(rows: Floats) -> Floats:
    """[columns] mean over rows, ignoring NaN."""
    known = ~np.isnan(rows)
    found: Floats = np.where(known, rows, 0.0).sum(axis=0) / known.sum(axis=0)
    return found


def shift_figures(shifts: pd.DataFrame, outcomes: Sequence[str], level: float) -> Iterator[Figure]:
    """The mean shift of every class and the differences of all pairs, the later class minus the
    earlier.

    For one model in one part; means are over factors, tasks and pairs of cells, then over stimuli.
    """
    if shifts.empty:
        return
    by_stimulus = shifts.pivot_table(index="stimulus", columns="outcome", values="shift")
    for outcome in outcomes:
        yield jackknifed(
            SHIFT + outcome, np.mean, by_stimulus[outcome].to_numpy(), PLAIN, level, UNIT
        )
    for first, second in combinations(outcomes, 2):  # as the paper compares them (figures 1 to 3)
        apart = (by_stimulus[second] - by_stimulus[first]).to_numpy()
        yield jackknifed(f"{SHIFT}{second} - {first}", np.mean, apart, PLAIN, level, UNIT)


def headlines(
    measured: pd.DataFrame, exclusions: pd.DataFrame, asked: FramingPlan
) -> Iterator[tuple[Confirmatory, Fitness, Figure | None, pd.DataFrame]]:
    """Every headline of a model in one part, its fitness, the descriptive figure of all classes,
    and its points.

    For replies, also how much each cue changes the share without a class, even in cells with few
    answers. Points: [stimuli, wordings and placebos] percentage points, columns by number: wordings
    are 0 and below.
    """
    every = changes_of(measured, asked)
    for factor, confirmed in asked.confirmed_tasks.items() if INVALID in every else ():
        own = every[
            (every["factor"] == factor) & (every["task"].isin(confirmed) | ("" in confirmed))
        ]
        by_cue = over_tasks(own)
        points = by_cue.reset_index().pivot(index="stimulus", columns="placebo", values=INVALID)
        figure = headline(UNANSWERED + factor, points, SMALLEST_UNANSWERED, asked.least, asked.seed)
        yield figure, Fitness(), None, points
    # Leave out placebos and wordings with too little coverage; in cells of the contrast itself it
    # makes figures unfit.
    others = exclusions[exclusions["framing"].map(placebo_of) != 0]
    kept = without_excluded(measured, others, [TOKEN])
    changes = every if len(kept) == len(measured) else changes_of(kept, asked)
    for name in asked.confirmatory:
        factor, _, task = name.partition(", ")
        own = changes[changes["factor"] == factor]
        tasks = [task] if task else sorted(own["task"].unique())
        unfit = {
            task: why
            for task in tasks
            if (why := low_coverage(kept, exclusions, asked.factors, factor, task))
        }
        counted = counted_tasks(tasks, unfit, set(own.loc[own["placebo"] > 0, "task"]))
        by_cue = over_tasks(own[own["task"].isin(counted)])
        fitness = Fitness(unfit=unfit.get(counted[0]) if counted else None)
        points = by_cue.reset_index().pivot(
            index="stimulus", columns="placebo", values=asked.headline
        )
        more = {} if task else {"tasks": len(counted)}
        figure = headline(CHANGE + name, points, asked.smallest, asked.least, asked.seed, more)
        yield figure, fitness, _total(name, by_cue, asked.seed), points


def changes_of(measured: pd.DataFrame, asked: FramingPlan) -> pd.DataFrame:
    """`factor, task, at, placebo, stimulus`, and by class its change by a wording or placebo in
    percentage points.

    For words, points of the probability of all classes; for replies, of all replies, with invalid
    ones as a class.
    """
    sampled = bool((measured["metric"] == CHOICE).any())
    key, found = ["factor", "task", "at", "placebo", "stimulus"], []
    for of, less, more in pairs(measured, asked.factors, "mass" if sampled else "share"):
        change = 100 * (more - less)
        if sampled:
            change[INVALID] = -change.sum(axis=1)
        found.append(of[key].join(change.set_axis(of.index)))
    return (
        pd.concat(found, ignore_index=True) if found else pd.DataFrame(columns=[*key, *asked.forms])
    )


def over_tasks(changes: pd.DataFrame) -> pd.DataFrame:
    """[placebo x stimulus, classes] mean over pairs of cells, then over tasks; rows that lack a
    task are left out.
    """
    by_task = changes.drop(columns=["factor", "at"]).groupby(["placebo", "stimulus", "task"]).mean()
    whole: Any = by_task.stack().unstack("task").dropna()
    return pd.DataFrame(whole.mean(axis=1).unstack(), columns=by_task.columns, dtype=float)


def contrast(first: pd.DataFrame, second: pd.DataFrame, smallest: float) -> Confirmatory:
    """How much more one model's answers change than another's, over stimuli, wordings and placebos
    of both.
    """
    one, other = (
        own.astype({"at": int}).pivot(index="unit", columns="at", values="value")
        for own in (first, second)
    )
    least = int(Settings.model_fields["least"].default)
    return headline(
        str(first["figure"].iloc[0]), (one - other).dropna(axis=1, how="all"), smallest, least, 0
    )


def headline(
    name: str,
    points: pd.DataFrame,
    smallest: float,
    least: int,
    seed: int,
    more: Mapping[str, int] | None = None,
) -> Confirmatory:
    """One headline figure from `points`, [stimuli, wordings and placebos]; `more`: further levels
    to report.
    """
    numbers: list[Any] = list(points.columns)
    wordings = points[[number for number in numbers if number <= 0]].dropna()
    placebos = points[[number for number in numbers if number > 0]]
    crossed = wordings.join(placebos.dropna(), how="inner")
    levels = {
        UNIT: len(wordings),
        "wordings": wordings.shape[1],
        "placebos": placebos.shape[1],
        **(more or {}),
    }
    if wordings.empty:
        why = "no answers that name an option both with and without the cue"
        return Confirmatory(name, UNIT, levels | {UNIT: 0}, None, smallest, lacking=why)
    lacking = _lacking(levels, len(crossed), least)
    if len(crossed) > 1 and placebos.shape[1] and len(numbers) > 2:
        effect, beside = paired(crossed[wordings.columns], crossed[placebos.columns])
        p_null = sign_flips(crossed[wordings.columns].mean(axis=1), seed)
        return confirmatory(
            name, UNIT, levels | {UNIT: len(crossed)}, effect, p_null, beside, smallest, lacking
        )
    # No stimuli have all placebos, or there are none: the change is reported without a test against
    # placebos.
    by_stimulus = wordings.mean(axis=1)
    found = jackknife(np.mean, by_stimulus, level=1 - ALPHA)
    placebo = float(placebos.mean().mean()) if placebos.size else None
    p_null = sign_flips(by_stimulus, seed)
    return Confirmatory(name, UNIT, levels, found, smallest, p_null, placebo, lacking=lacking)


def _lacking(levels: dict[str, int], crossed: int, least: int) -> str | None:
    wordings, placebos = levels["wordings"], levels["placebos"]
    if wordings < FEWEST_WORDINGS:
        return (
            f"{wordings} answered wording{'s' * (wordings > 1)} of the cue (at least "
            f"{FEWEST_WORDINGS} needed)"
        )
    if placebos < FEWEST_PLACEBOS:
        return (
            f"{placebos} answered placebo{'s' * (placebos != 1)} (at least {FEWEST_PLACEBOS} "
            "needed)"
        )
    return (
        f"{crossed} stimuli with every wording and placebo (at least {least} needed)"
        if crossed < least
        else None
    )


def _total(name: str, by_cue: pd.DataFrame, seed: int) -> Figure:
    """Joint change of all classes: the squared length of the mean change of shares, corrected for
    noise.
    """
    cues = by_cue[by_cue.index.get_level_values("placebo") <= 0]
    shares = cues.groupby(level="stimulus").mean().to_numpy() / 100
    if len(shares) < 2:
        return Figure(TOTAL + name, None, len(shares), UNIT, reason="fewer than two stimuli")
    return Figure(
        TOTAL + name, squared_shift(shares), len(shares), UNIT, p=sign_flips(shares, seed)
    )
