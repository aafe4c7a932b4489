"""Does a scale move when it should? Adaptation to a corpus beside its control (EMPALC, section 3.3.5)."""

from collections.abc import Collection, Iterator
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from evenruler.instruments.instrument import Plan
from evenruler.instruments.questionnaires.ask.item_scores import MODEL
from evenruler.instruments.questionnaires.ask.questions import STAGE
from evenruler.instruments.questionnaires.declare import CHANGED, MOVED, of_those
from evenruler.instruments.questionnaires.diagnose.population import FEWEST_LINEAGES, called, fitness, interval_of
from evenruler.measurement import Figure
from evenruler.measurement.checks import Floats, constant_columns
from evenruler.measurement.figures import jackknifed
from evenruler.measurement.resampling import FEWEST_UNITS, PLAIN
from evenruler.measurement.verdicts import Fitness
from evenruler.models.declared import LIKELIHOODS
from evenruler.models.records import LABELS
from evenruler.tables.schemas import WHOLE

UNIT = "fits"

FEWEST_FITS = FEWEST_UNITS
"""Below which nothing is said."""

SMALLEST_BOUND = 1e-9
"""A bound is positive also where all items are answered alike."""


@dataclass(frozen=True)
class Pair:
    """An intervention and the control that is matched to it."""

    corpus: str
    control: str | None
    expected: str


def pairs_of(plan: Plan) -> list[Pair]:
    """The interventions of a plan."""
    controls = {own["control_of"]: name for name, own in plan["corpora"].items() if own["control_of"]}
    return [
        Pair(name, controls.get(name), own["expected"])
        for name, own in sorted(plan["corpora"].items())
        if own["control_of"] is None
    ]


def trajectories(items: pd.DataFrame, adapted: pd.DataFrame, words: int) -> pd.DataFrame:
    """Mean answer to a scale at every stage, on the scale itself: `words` (intensifiers) times its score.

    Returns:
        By `schemas.TRAJECTORIES`; epoch 0 of every fit is the model as it is.
    """
    before = items[items["item"].isin(adapted["item"])]
    fits = adapted[STAGE[:2]].drop_duplicates().assign(epoch=0)
    whole = pd.concat([fits.merge(before, how="cross"), adapted], ignore_index=True)
    found = whole.groupby([*MODEL, *STAGE], sort=True)["score"].agg(["mean", "size"]).reset_index()
    return found.assign(answer=found["mean"] * words, n=found["size"]).drop(columns=["mean", "size"])


def changes(trajectories: pd.DataFrame, plan: Plan) -> pd.DataFrame:
    """What each fit did, by `schemas.CHANGES`, of interventions that have a control."""
    key = [*MODEL, "fit"]
    before = trajectories[trajectories["epoch"] == 0].set_index(["corpus", *key])["answer"]
    last = trajectories.groupby("corpus")["epoch"].transform("max")
    after = trajectories[trajectories["epoch"] == last].set_index(["corpus", *key])["answer"]
    rows = []
    for pair in pairs_of(plan):
        if pair.control is None or pair.corpus not in after:
            continue
        found = pd.DataFrame(
            {"before": before[pair.corpus], "after": after[pair.corpus], "after_control": after[pair.control]}
        )
        said = {"corpus": pair.corpus, "control": pair.control, "expected": pair.expected}
        rows.append(found.reset_index().assign(**said, difference=lambda own: own["after"] - own["after_control"]))
    columns = [*key, "before", "after", "after_control", "corpus", "control", "expected", "difference"]
    return pd.concat(rows, ignore_index=True) if rows else pd.DataFrame(columns=columns)


def figures(
    trajectories: pd.DataFrame, changes: pd.DataFrame, course: pd.DataFrame, spread: float, plan: Plan, level: float
) -> Iterator[tuple[Figure, Fitness]]:
    """How far one model moves on one questionnaire, in one form.

    Args:
        trajectories: By `schemas.TRAJECTORIES`.
        changes: By `schemas.CHANGES`.
        course: Of the model, by `schemas.COURSE`.
        spread: Standard deviation over items of the answers before.
        plan: Declares pairs, the bound in standard deviations, and the bar of accuracy.
        level: Of intervals.

    Yields:
        `changed_with_...` of every corpus, descriptive, then the confirmatory `moved_by_...` of every intervention, in
        the unit of answers; to be judged with at least `FEWEST_FITS` fits, and unfit where the adapted model is below
        the bar that it had to pass before.
    """
    for corpus, own in trajectories.groupby("corpus", sort=True):
        ends = own.pivot(index="fit", columns="epoch", values="answer")
        yield _mean_change(CHANGED + str(corpus), (ends.iloc[:, -1] - ends[0]).to_numpy(), level), Fitness()
    entails = not set(trajectories["configuration"]) & set(LIKELIHOODS)
    for pair in pairs_of(plan):
        found = changes.loc[changes["corpus"] == pair.corpus, "difference"].to_numpy(dtype=np.float64)
        figure = _moved(MOVED + pair.corpus, found, level)
        told = entails and len(found) >= FEWEST_FITS  # a course of fewer is shown, not judged
        forgot = _forgot(course, [pair.corpus, pair.control], plan["accuracy"]["bar"], level) if told else None
        yield replace(figure, bound=max(plan["bound"] * spread, SMALLEST_BOUND)), Fitness(unfit=forgot)


def _moved(name: str, differences: Floats, level: float) -> Figure:
    """Changes of fits to a corpus less those of the same fits to its control; none where there is no control."""
    if not len(differences):
        return Figure(name, None, 0, UNIT, reason="no corpus is its control")
    figure = replace(_mean_change(name, differences, level), control=0.0)
    if figure.low is None:
        return figure
    p = float(stats.ttest_1samp(differences, 0).pvalue)
    return replace(figure, difference_low=figure.low, difference_high=figure.high, p=p)


def _mean_change(name: str, values: Floats, level: float) -> Figure:
    """With the interval of t, fits being the units."""
    if len(values) < FEWEST_FITS:
        few = f"no interval: fewer than {FEWEST_FITS} {UNIT}"
        return Figure(name, float(values.mean()), len(values), UNIT, reason=few)
    if constant_columns(values[:, None]).any():
        return Figure(name, float(values.mean()), len(values), UNIT, reason="no interval: all fits are alike")
    return jackknifed(name, np.mean, values, PLAIN, level, UNIT)


def _forgot(course: pd.DataFrame, corpora: Collection[str | None], bar: float, level: float) -> str | None:
    """In words, that a model adapted to one of the corpora is not surely above the bar; None where it is above.

    Fits are asked the same labelled pairs, so that their mean accuracy is of so many pairs, not of so many more.
    """
    accuracy = course[(course["measure"] == "accuracy") & (course["epoch"] > 0)]
    for corpus, own in accuracy[accuracy["corpus"].isin(corpora)].groupby("corpus", sort=True):
        last = own[own["epoch"] == own["epoch"].max()]
        record = interval_of(float(last["value"].mean()), int(last["n"].iloc[0]), level)
        found = fitness({**record, "chance": 1 / len(LABELS)}, bar)
        if found.unfit is not None:
            return f"adapted to {corpus}, {found.unfit}"
    return None


def of_lineages(figures: pd.DataFrame, population: pd.DataFrame, level: float) -> Iterator[dict[str, Any]]:
    """The confirmatory figures over lineages of models that are asked in one way: what other weights do alike.

    Args:
        figures: Of models, by `schemas.FIGURES`.
        population: By `schemas.POPULATION`; who does not count is left out.
        level: Of intervals.

    Yields:
        Rows by `schemas.FIGURES`, without a model; descriptive.
    """
    if figures.empty:
        return
    chosen = figures[figures["figure"].str.startswith(MOVED)]
    for form, asked in population.groupby("configuration", sort=True):
        names = called(asked)
        lineages = dict(zip(names[asked["member"]], asked["lineage"][asked["member"]], strict=True))
        asked_so = chosen[chosen["model"].isin(names)]
        for (questionnaire, name), own in asked_so.groupby(["benchmark", "figure"], sort=True):
            counted = own[own["model"].isin(lineages)].dropna(subset=["value"])
            values = counted.groupby(counted["model"].map(lineages))["value"].mean().to_numpy(dtype=np.float64)
            told, n = of_those(str(name), str(form)), len(values)
            figure = Figure(told, None, n, "lineages", reason=f"fewer than {FEWEST_LINEAGES} lineages of models")
            if n >= FEWEST_LINEAGES:
                figure = jackknifed(told, np.mean, values, PLAIN, level, "lineages")
            yield {"benchmark": questionnaire, "part": WHOLE, "model": None, **asdict(figure)}
