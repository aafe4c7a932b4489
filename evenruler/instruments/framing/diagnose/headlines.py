"""Headlines of framing: how far a cue moves a class, beside other sentences of its form.

Any sentence moves a small model's answers, so a test against no change says little: the null is
that the cue is one of the sentences of its form (spec/controls.md, sections 2 and 3).
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from evenruler.instruments.framing.declare import FramingPlan
from evenruler.instruments.framing.declare.source import (
    DETECTED_SPREADS,
    FEWEST_STIMULI,
    ConfirmedEffect,
)
from evenruler.instruments.framing.declare.task_prompts import CONTROL, alternative_of
from evenruler.instruments.framing.diagnose.distributions import CHOICE, TOKEN, without_excluded
from evenruler.instruments.framing.diagnose.effects import (
    UNIT,
    counted_tasks,
    low_coverage,
    pair_cells,
)
from evenruler.measurement import Figure
from evenruler.measurement.estimates import jackknife_figure
from evenruler.measurement.figures import dimensions_of
from evenruler.measurement.inputs import ALPHA, Floats
from evenruler.measurement.randomisation import RankTest, rank_test
from evenruler.measurement.resampling import (
    PLAIN,
    Interval,
    bootstrap,
    jackknife,
    sign_flips,
    squared_shift,
)
from evenruler.measurement.verdicts import (
    HeadlineTest,
    PositiveControl,
    ReferenceComparison,
    ValidityCheck,
)

INVALID = "invalid"
"""The class of replies without a class."""

SENTENCES = "sentences"

CHANGE = "change"


@dataclass(frozen=True)
class Headline:
    """A headline of a model in one part (prompt format and readout)."""

    test: HeadlineTest
    validity: ValidityCheck
    described: list[Figure]
    """Of the same effect, without a test."""
    points: pd.DataFrame
    """[stimuli, numbers] changes in percentage points, by `alternative_of`: of the cue (0) and its
    alternatives."""
    grammar: str | None
    """Name of the grammar that the alternatives are of."""


def part_headlines(
    measured: pd.DataFrame, exclusions: pd.DataFrame, framing_plan: FramingPlan
) -> Iterator[Headline]:
    """Every headline of a model in one part.

    An alternative with too little coverage is left out; a cell of the contrast itself with too
    little makes the headline invalid.
    """
    is_alternative = exclusions["framing"].map(alternative_of) > 0
    covered_rows = without_excluded(measured, exclusions[is_alternative], [TOKEN])
    changes = changes_of(covered_rows, framing_plan)
    for headline in framing_plan.headlines:
        of_factor = changes[changes["factor"] == headline.cue]
        tasks = [headline.task] if headline.task else sorted(of_factor["task"].unique())
        unfit: dict[str, str] = {}
        for task in tasks:
            why = low_coverage(covered_rows, exclusions, framing_plan.factors, headline.cue, task)
            if why:
                unfit[task] = why
        with_alternatives = set(of_factor.loc[of_factor["alternative"] > 0, "task"])
        counted = counted_tasks(tasks, unfit, with_alternatives)
        by_class = over_tasks(of_factor[of_factor["task"].isin(counted)])
        validity = ValidityCheck(failure=unfit.get(counted[0]) if counted else None)
        n_tasks = None if headline.task else len(counted)
        yield _build_headline(headline, by_class, n_tasks, validity, framing_plan)


def _build_headline(
    headline: ConfirmedEffect,
    by_class: pd.DataFrame,
    n_tasks: int | None,
    validity: ValidityCheck,
    framing_plan: FramingPlan,
) -> Headline:
    """`by_class`: by `over_tasks`; `n_tasks`: number of these, for a headline over tasks."""
    of_cue = (
        {"cue": headline.cue, "task": headline.task} if headline.task else {"cue": headline.cue}
    )
    dimensions = of_cue | {"outcome": str(framing_plan.focal_outcome)}
    planned = framing_plan.alternatives_of(headline)
    points = _points_of(by_class, str(framing_plan.focal_outcome))
    points = points.drop(columns=CONTROL, errors="ignore")
    control = None
    if planned is not None and planned.control is not None:
        control_points = _points_of(by_class, str(framing_plan.control_outcome))
        control = positive_control(control_points, planned.control)
    grammar = None if planned is None else planned.grammar
    test = build_change_test(
        points, framing_plan.bound, framing_plan.seed, grammar, control, n_tasks
    )
    described = [
        *_described_figures(points, framing_plan.seed, dimensions),
        _total_shift(of_cue, by_class, framing_plan.seed),
    ]
    return Headline(replace(test, dimensions=dimensions), validity, described, points, grammar)


def _points_of(by_class: pd.DataFrame, outcome: str) -> pd.DataFrame:
    """[stimuli, numbers] changes of one class."""
    points: pd.DataFrame = by_class[outcome].unstack("alternative")
    return points


def changes_of(measured: pd.DataFrame, framing_plan: FramingPlan) -> pd.DataFrame:
    """`factor, task, at, alternative, stimulus`, and by class its change in percentage points.

    For words, points of the probability of all classes; for replies, of all replies, with invalid
    ones as a class.
    """
    sampled = bool((measured["readout"] == CHOICE).any())
    key = ["factor", "task", "at", "alternative", "stimulus"]
    column = "mass" if sampled else "share"
    change_frames: list[pd.DataFrame] = []
    for pair_keys, less, more in pair_cells(measured, framing_plan.factors, column):
        change = 100 * (more - less)
        if sampled:
            change[INVALID] = -change.sum(axis=1)
        change_frames.append(pair_keys[key].join(change.set_axis(pair_keys.index)))
    if not change_frames:
        return pd.DataFrame(columns=[*key, *framing_plan.forms])
    return pd.concat(change_frames, ignore_index=True)


def over_tasks(changes: pd.DataFrame) -> pd.DataFrame:
    """[alternative x stimulus, classes] mean over pairs of cells, then over tasks; rows that lack a
    task are left out.
    """
    key = ["alternative", "stimulus", "task"]
    by_task = changes.drop(columns=["factor", "at"]).groupby(key).mean()
    whole: Any = by_task.stack().unstack("task").dropna()
    return pd.DataFrame(whole.mean(axis=1).unstack(), columns=by_task.columns, dtype=float)


def build_change_test(
    points: pd.DataFrame,
    bound: float,
    seed: int,
    grammar: str | None = None,
    control: PositiveControl | None = None,
    n_tasks: int | None = None,
) -> HeadlineTest:
    """Test whether a cue moves a class further than its alternatives do.

    The value is the cue's change less the mean of the alternatives', with its jackknife interval
    over stimuli. The p is the rank of the cue among the alternatives, whose stimuli are the same,
    so stimuli are fixed. `points`: [stimuli, numbers] changes, the cue's in column 0; a stimulus
    that lacks one is left out. `grammar`: that the alternatives are of. `n_tasks`: how many tasks a
    change is the mean of.
    """
    complete = points.dropna()
    alternatives = complete[alternative_numbers(complete)]
    facets = {UNIT: len(complete), SENTENCES: alternatives.shape[1]}
    fixed: Collection[str] = ()
    if n_tasks is not None:
        facets["tasks"], fixed = n_tasks, ["tasks"]
    test = HeadlineTest(CHANGE, UNIT, facets, None, bound, no_verdict="?", fixed=frozenset(fixed))
    if complete.empty or 0 not in complete.columns:
        why = "no answers that name an option both with and without the cue"
        return replace(test, no_verdict=why)
    if alternatives.shape[1] == 0:
        return replace(test, no_verdict="no other sentences were asked in place of the cue")
    rank = rank_among_alternatives(complete, 0)
    few_stimuli = None
    if len(complete) < FEWEST_STIMULI:
        few_stimuli = f"{len(complete)} stimuli (at least {FEWEST_STIMULI} needed)"
    null, detects, no_below = None, None, None
    if rank.p is not None:
        null = f"{rank.null}, sentences of the cue's form"
        detects = DETECTED_SPREADS * float(alternatives.mean(axis=0).std(ddof=1))
        # The interval is over stimuli alone, so it may be narrow where sentences scatter widely.
        if detects > bound:
            no_below = f"sentences scatter so that only {detects:.3g} points would be detected"
    compared = _compare_cue(complete, rank, grammar)
    return replace(
        test,
        effect=beyond_alternatives(complete, 0),
        p=rank.p,
        null=null,
        no_verdict=rank.lacking or few_stimuli,
        control=control,
        compared=compared,
        detects=detects,
        no_below=no_below,
    )


def positive_control(points: pd.DataFrame, words: str) -> PositiveControl | None:
    """The control of a headline: by how many points words that tell a class make it likelier,
    beyond what alternatives do; None where it or too few of these were asked.

    The p is a rank, as the headline's: flips of signs would say of most sentences that they move an
    answer. `points`: [stimuli, numbers] changes of that class.
    """
    complete = points.dropna()
    if complete.empty or CONTROL not in complete.columns or not alternative_numbers(complete):
        return None
    rank = rank_among_alternatives(complete, CONTROL)
    if rank.p is None:
        return None
    return PositiveControl(f'"{words}"', beyond_alternatives(complete, CONTROL), rank.p)


def contrast(first: pd.DataFrame, second: pd.DataFrame, bound: float) -> HeadlineTest:
    """How much more a cue moves one model's answers than another's: the difference of both, ranked
    among the differences by the alternatives that both were asked.
    """
    first_points, second_points = (
        headline_rows.astype({"at": int}).pivot(index="unit", columns="at", values="value")
        for headline_rows in (first, second)
    )
    headline: Any = first.iloc[0].to_dict()
    differences = (first_points - second_points).dropna(axis=1, how="all")
    test = build_change_test(differences, bound, 0, headline["group"])
    return replace(test, dimensions=dimensions_of(headline))


def unanswered_figures(measured: pd.DataFrame, framing_plan: FramingPlan) -> Iterator[Figure]:
    """By how many points each cue changes the share of replies without a class.

    It is described: an alternative may rightly draw replies of no class, so that its rank among
    these would say nothing of the model.
    """
    is_of_cells = measured["framing"].map(alternative_of) == 0
    changes = changes_of(measured[is_of_cells], framing_plan)
    if INVALID not in changes:
        return
    for factor, confirmed in framing_plan.confirmed_tasks.items():
        is_confirmed = changes["task"].isin(confirmed) | (None in confirmed)
        is_of_factor = changes["factor"] == factor
        by_class = over_tasks(changes[is_of_factor & is_confirmed])
        by_stimulus = by_class[INVALID].to_numpy(dtype=np.float64)
        figure = jackknife_figure(
            "nonresponse_change", np.mean, by_stimulus, PLAIN, 1 - ALPHA, UNIT
        )
        yield replace(figure, dimensions={"cue": factor})


def root_mean_square(changes: Floats) -> float:
    """Of changes by alternatives: how far any sentence moves a class."""
    return float(np.sqrt(np.mean(changes**2)))


def alternative_numbers(points: pd.DataFrame) -> list[int]:
    """The columns of alternatives."""
    numbers = [int(number) for number in points.columns]
    return [number for number in numbers if number > 0]


def rank_among_alternatives(points: pd.DataFrame, number: int) -> RankTest:
    """The rank of a column's mean among those of the alternatives."""
    means = points.mean(axis=0)
    return rank_test(means[number], means[alternative_numbers(points)])


def beyond_alternatives(points: pd.DataFrame, number: int) -> Interval:
    """Mean of a column less that of the alternatives, with its jackknife interval over stimuli."""
    beyond = points[number] - points[alternative_numbers(points)].mean(axis=1)
    return jackknife(np.mean, beyond, level=1 - ALPHA)


def _compare_cue(points: pd.DataFrame, rank: RankTest, grammar: str | None) -> ReferenceComparison:
    """The cue among its alternatives, by its rank."""
    means = points[alternative_numbers(points)].mean(axis=0).to_numpy(dtype=np.float64)
    name = f"sentences of the grammar {grammar}" if grammar else "sentences of the cue's form"
    return ReferenceComparison(name, len(means), rank.as_percentile, _rate_rank_test(means))


def _rate_rank_test(means: Floats) -> float | None:
    """The share of alternatives that the rank among all others calls different; None where these
    are too few.
    """
    if len(means) < 2:
        return None
    n_detected = 0
    for place in range(len(means)):
        p = rank_test(means[place], np.delete(means, place)).p
        if p is None:
            return None
        n_detected += p <= ALPHA
    return n_detected / len(means)


def _described_figures(
    points: pd.DataFrame, seed: int, dimensions: Mapping[str, str]
) -> Iterator[Figure]:
    """How far any sentence of the cue's form moves the class, and how far the cue does."""
    complete = points.dropna()
    means = complete[alternative_numbers(complete)].mean(axis=0).to_numpy(dtype=np.float64)
    if len(complete) and len(means) > 1:
        spread = bootstrap(root_mean_square, means, level=1 - ALPHA, seed=seed)
        any_sentence = Figure(
            "any_sentence", spread.value, len(means), SENTENCES, spread.low, spread.high
        )
        yield replace(any_sentence, dimensions=dimensions)
    if len(complete) and 0 in complete.columns:
        cue = complete[0].to_numpy(dtype=np.float64)
        raw_change = jackknife_figure("raw_change", np.mean, cue, PLAIN, 1 - ALPHA, UNIT)
        control = float(means.mean()) if len(means) else None
        yield replace(raw_change, control=control, dimensions=dimensions)


def _total_shift(dimensions: Mapping[str, str], by_class: pd.DataFrame, seed: int) -> Figure:
    """Joint change of all classes: the squared length of the mean change of shares, corrected for
    noise.
    """
    cues = by_class[by_class.index.get_level_values("alternative") == 0]
    shares = cues.groupby(level="stimulus").mean().to_numpy() / 100
    figure = Figure("total_shift", None, len(shares), UNIT, dimensions=dimensions)
    if len(shares) < 2:
        return replace(figure, reason="fewer than two stimuli")
    return replace(figure, value=squared_shift(shares), p=sign_flips(shares, seed))
