"""Measures of two published studies, before and after their prompts say what they test (framing, appendix B)."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial

import numpy as np
import pandas as pd

from evenruler.instruments.framing import schemas
from evenruler.instruments.framing.declare.framings import placebo_of
from evenruler.instruments.framing.declare.source import Study
from evenruler.instruments.framing.diagnose.studies import AS, MEANS, Answers, Measure, Stimuli, measures
from evenruler.measurement.figures import finite
from evenruler.measurement.resampling import jackknife, within
from evenruler.measurement.shifts import cue_minus_placebos
from evenruler.tables.schemas import BARE

Row = dict[str, object]

_MODEL = ["benchmark", "model", "lineage", "configuration"]


def replications(
    distributions: pd.DataFrame,
    choices: pd.DataFrame,
    outcomes: Mapping[str, Sequence[str]],
    groups: Mapping[str, str | None],
    study: Study,
    level: float,
) -> pd.DataFrame:
    """Compute a study's own measures of every model, without and with the one cue of a contrast.

    `indirect-probing`, each from 0 to 1:
        GAS: share of replies with a form of either class anywhere in them, as a whole word in any case.
        GLD: mean over prompts (task x stimulus) of |Pa - Pb| / (Pa + Pb), P the mass of a class at the decision point.
        ADD: Jensen-Shannon distance (base 2) of the distributions over stimuli given each class, P(stimulus | class)
        proportional to the mean over tasks of the mass of the class.
        AS (metric `all`): mean absolute change of the three, which takes words and replies in one configuration.
        AS of GLD and ADD (metric `token`): the same of these two.

    `p-at`, by the metric `token` and, where the model was sampled, `choice`:
        S: half the difference of the mean preference (share of the first class less that of the second) for stimuli of
        the first group and of the second, -1 to 1.
        H: entropy of the mean shares of the two classes, 0 to 1 bit.
        AS: mean absolute change of H and of S brought to 0..1, (S + 1) / 2.

    What has a value on one side only is left out on both, so that the change is between the same prompts. Intervals are
    the jackknife's over stimuli, of means alone (GAS, GLD, S), on a scale that keeps them in the measure's range; there
    is none where the measure is at an end of it, or would be without one stimulus.

    Each placebo is compared with the cue on the prompts that both have: `difference` is the mean over placebos of how
    much more the cue changes there. Of means the control is the change less this; the others are not the same of few
    stimuli as of many, so that theirs is the mean of what placebos change, each on its own stimuli, and `difference`
    alone compares it with the cue. Where a measure has an interval, so has the difference.

    Args:
        distributions: By `schemas.DISTRIBUTIONS`, of one contrast, without excluded cells.
        choices: By `CHOICES`, of the same; may be empty.
        outcomes: Surface forms of the two classes, in the order of the source.
        groups: The group of every stimulus, in the order of the source; for `p-at`.
        study: Which measures.
        level: Of intervals.

    Returns:
        By `schemas.REPLICATIONS`. A measure is null with the reason where nothing has a value on
        both sides; `AS` is where one of its measures is.

    Raises:
        ValueError: There are not two classes, or there is more than one cue.

    Source: appendix B. The paper's tables of AS disagree with its text; what it is here is a decision of ours.
    """
    framings = {*distributions["framing"], *choices["framing"]} - {BARE}
    cues = sorted(framing for framing in framings if not placebo_of(framing))
    if len(outcomes) != 2 or len(cues) > 1:
        told = f"classes {', '.join(outcomes)}; framings {', '.join(cues)}"
        raise ValueError(f"a replication compares two classes under one cue, found {told}")
    # Where nothing was asked with the cue, the other side is one that no row has.
    sides = [BARE, *(cues or [""])]
    placebos = sorted(framings - set(cues), key=placebo_of)
    rows: list[Row] = []
    asked = pd.concat([distributions[_MODEL], choices[_MODEL]]).drop_duplicates()
    models = asked.groupby(_MODEL[:-1])["configuration"].transform("size")
    for key, ways in sorted(zip(asked.itertuples(index=False, name=None), models, strict=True)):
        own, replies = (frame[(frame[_MODEL] == list(key)).all(axis=1)] for frame in (distributions, choices))
        stimuli = pd.Index(sorted({*own["stimulus"], *replies["stimulus"]}))
        here = {**dict(zip(_MODEL, key, strict=True)), "study": study}

        answers = partial(Answers, own, replies, outcomes, stimuli=stimuli, elsewhere=ways > 1)
        beside = [measures(answers(sides=[*sides, placebo]), study, groups) for placebo in placebos]
        for name, measure in measures(answers(sides=sides), study, groups).items():
            rows.append({**here, **_row(measure, [other[name] for other in beside if name in other], level)})
    return pd.DataFrame(rows, columns=schemas.REPLICATIONS.names)


def _row(measure: Measure, beside: Sequence[Measure], level: float) -> Row:
    """A measure on both sides, and its change beside those of placebos.

    Args:
        measure: Without and with the cue.
        beside: By placebo, the same of the prompts that were asked with the cue and with it, its side the third.
        level: Of intervals.
    """
    row: Row = {"metric": measure.metric, "measure": measure.name, "n": len(measure.stimuli), "reason": measure.reason}
    if measure.reason:
        return row
    if not measure.name.startswith(AS):
        row |= _told(lambda units: measure.of(units, 0), measure, "before", "before_", measure.lowest, level)
        row |= _told(lambda units: measure.of(units, 1), measure, "after", "after_", measure.lowest, level)
    row |= _told(measure.change, measure, "change", "", -measure.width, level)
    known = [other for other in beside if not other.reason]
    return row | (_beside(measure, known, level) if known else {})


def _beside(measure: Measure, placebos: Sequence[Measure], level: float) -> Row:
    def less(other: Measure) -> Callable[[Stimuli], float]:
        return lambda units: other.change(units, 1) - other.change(units, 2)

    with np.errstate(all="ignore"):
        found = cue_minus_placebos([less(other) for other in placebos], [other.stimuli for other in placebos], level)
        theirs = float(np.mean([other.change(other.stimuli, 2) for other in placebos]))
    if measure.name not in MEANS:
        return {"control": finite(theirs), "difference": finite(found.value)}
    control = finite(measure.change(measure.stimuli) - found.value)
    ends = {"difference_low": finite(found.low), "difference_high": finite(found.high)}
    return {"control": control, "difference": finite(found.value), **ends}


def _told(of: Callable[[Stimuli], float], measure: Measure, name: str, prefix: str, lowest: float, level: float) -> Row:
    """A measure as `name`, and where it has one its interval over stimuli as `low` and `high` with a prefix.

    Args:
        of: Of some stimuli, in a range from `lowest` to the width of the measure's, or to 1.
        measure: Whose it is.
        name: Of the value.
        prefix: Of the names of the ends.
        lowest: Where the range begins.
        level: Of the interval.
    """
    if measure.name not in MEANS:
        return {name: finite(of(measure.stimuli))}
    highest = -lowest if name == "change" else 1.0
    found = jackknife(of, measure.stimuli, scale=within(lowest, highest), level=level)
    return {name: finite(found.value), f"{prefix}low": finite(found.low), f"{prefix}high": finite(found.high)}
