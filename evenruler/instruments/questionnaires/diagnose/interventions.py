"""Does a scale move when it should? Adaptation to a corpus beside its control (EMPALC, section 3.3.5)."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from math import nan

import numpy as np
import pandas as pd

from evenruler.instruments.instrument import Plan
from evenruler.instruments.questionnaires.ask.item_scores import MODEL
from evenruler.instruments.questionnaires.ask.questions import STAGE
from evenruler.instruments.questionnaires.declare import CHANGED, MOVED
from evenruler.instruments.questionnaires.diagnose.population import fitness, interval_of
from evenruler.measurement import Figure
from evenruler.measurement.checks import Floats, constant_columns
from evenruler.measurement.facets import Estimate, Paired, summed
from evenruler.measurement.figures import jackknifed
from evenruler.measurement.resampling import FEWEST_UNITS, PLAIN, Interval
from evenruler.measurement.verdicts import Confirmatory, Fitness, p_of
from evenruler.models.declared import LIKELIHOODS
from evenruler.models.records import LABELS

UNIT = "fits"

FEWEST_FITS = FEWEST_UNITS
"""Below which nothing is said."""


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
    """`schemas.TRAJECTORIES`: the mean answer at every stage, in points; epoch 0 is the model as it is."""
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


def changed(trajectories: pd.DataFrame, level: float) -> Iterator[Figure]:
    """How far one model moves with each corpus on one questionnaire, in one form; descriptive."""
    for corpus, own in trajectories.groupby("corpus", sort=True):
        ends = own.pivot(index="fit", columns="epoch", values="answer")
        yield _mean_change(CHANGED + str(corpus), (ends.iloc[:, -1] - ends[0]).to_numpy(), level)


def moved(
    changes: pd.DataFrame, course: pd.DataFrame, plan: Plan, form: str, level: float
) -> Iterator[tuple[Confirmatory, Fitness]]:
    """How much farther one model moves with an intervention than with its control, in one form.

    Corpora are fixed, fits could have been others.

    Args:
        changes: By `schemas.CHANGES`.
        course: Of the model, by `schemas.COURSE`.
        plan: Declares pairs, the points that are worth naming, and the bar of accuracy.
        form: In which it was asked.
        level: Of the interval of accuracy.

    Yields:
        `moved_by_...` of every intervention, in points; unfit where the adapted model is below the bar that it had to
        pass before.
    """
    for pair in pairs_of(plan):
        own = changes[changes["corpus"] == pair.corpus]
        ends = [own[side].to_numpy(dtype=np.float64) for side in ("before", "after", "after_control")]
        told = form not in LIKELIHOODS and len(own) >= FEWEST_FITS  # a course of fewer is shown, not judged
        forgot = _forgot(course, [pair.corpus, pair.control], plan["accuracy"]["bar"], level) if told else None
        figure = beside_control(MOVED + pair.corpus, ends[1] - ends[0], ends[2] - ends[0], plan["smallest"])
        yield figure, Fitness(unfit=forgot)


def beside_control(name: str, own: Floats, control: Floats, smallest: float) -> Confirmatory:
    """Changes of fits to a corpus, [fits] in points, less those of the same fits to its control.

    Null: t of the change with the corpus, since of five fits flips of signs give no p below .0625.
    """
    n, differences = len(own), own - control
    levels = {UNIT: n}
    if not n:
        return Confirmatory(name, UNIT, levels, None, smallest, lacking="no corpus that is its control")
    value, placebo = float(differences.mean()), float(control.mean())
    lacking = f"{n} fit{'s' * (n > 1)}, of at least {FEWEST_FITS}" if n < FEWEST_FITS else None
    if lacking is None and constant_columns(differences[:, None]).any():
        lacking = "fits that are all alike"
    if lacking:
        p_null = _over_fits(own).p() if n > 1 else 1.0
        bare = Interval(value, nan, nan)
        return Confirmatory(name, UNIT, levels, bare, smallest, p_null, placebo, lacking=lacking)
    effect = _over_fits(own)
    beside = Paired(placebo, _over_fits(differences), _over_fits(own / 2 - control))
    specific, p = beside.difference, p_of(effect, effect.p(), beside, smallest)
    ends = (specific.interval(), specific.detectable(), p)
    return Confirmatory(name, UNIT, levels, specific.interval(), smallest, effect.p(), placebo, *ends)


def _over_fits(values: Floats) -> Estimate:
    return summed(float(values.mean()), [(float(values.var(ddof=1)) / len(values), len(values) - 1.0)])


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
