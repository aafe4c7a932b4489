"""All figures of one model on one contrast, with verdicts where they are confirmatory."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, replace
from typing import Any

import pandas as pd
from statsmodels.stats.proportion import proportion_confint

from evenruler.instruments.framing import schemas
from evenruler.instruments.framing.ask.asked import CHAT, PLAIN
from evenruler.instruments.framing.declare.framings import placebo_of
from evenruler.instruments.framing.declare.plan import FramingPlan
from evenruler.instruments.framing.diagnose import choices, class_shifts, mass
from evenruler.instruments.framing.diagnose.effects import UNIT, Effects
from evenruler.instruments.framing.diagnose.studies import AS, MEANS
from evenruler.instruments.instrument import Subject
from evenruler.measurement import Figure
from evenruler.measurement.figures import jackknifed
from evenruler.measurement.resampling import FEWEST_UNITS
from evenruler.measurement.resampling import PLAIN as PLAIN_SCALE
from evenruler.measurement.verdicts import Fitness, judge

COVERAGE = "coverage"

SAME = 1e-9
"""How far two figures may be apart that are one."""

OF_FEWER = (
    "no control: placebos were asked about fewer stimuli, of which {measure} is another; `{measure}: beyond placebos` "
    "compares cue and placebos on theirs"
)

CONTINUATION = "continuation check"

EXCLUDED = "excluded cells"

TABLES = ("effects", "pairs", "shifts", "exclusions")
"""What is of one configuration and metric."""


def figures_of(
    name: str, found: dict[str, pd.DataFrame], asked: FramingPlan, subject: Subject, level: float
) -> pd.DataFrame:
    """Figures of every part (configuration and metric) of a model on a contrast.

    Args:
        name: Of the contrast.
        found: Tables by `diagnose.TABLES`: `distributions`, `effects`, `shifts`, `exclusions`, `continuations`,
            `replications`; and `pairs`, by `sensitivity.apd_of_pairs`.
        asked: What was asked.
        subject: The model.
        level: Of intervals.

    Returns:
        By `schemas.FIGURES`: effects by factor and task, `shift probability`, `coverage` (also by cell), `excluded
        cells`, shifts of classes, the continuation check, and the measures of a replicated study.

    Source: section 4.3; the probability of a shift as the mean of the effects is a decision of ours.
    """
    rows = []
    # A model that is not sampled has its verdicts by the probability of words.
    sampled = (found["distributions"]["metric"] == choices.METRIC).any()
    judged_by = asked.confirmed if sampled else mass.METRIC
    for key, measured in found["distributions"].groupby(["configuration", "metric"], sort=True):
        configuration, metric = map(str, key)
        part = f"{configuration}, {metric}"
        own = {table: _of_part(found[table], configuration, metric) for table in TABLES}
        confirmed = metric == judged_by and configuration == _own_configuration(metric, subject)
        effects = Effects.of(own["effects"], own["pairs"], measured, own["exclusions"], asked, confirmed, level)
        rows += [(part, *figure) for figure in effects.figures()]
        rows += [(part, figure, Fitness()) for figure in _coverage(measured, own["exclusions"], level)]
        rows += [(part, figure, Fitness()) for figure in class_shifts.figures(own["shifts"], list(asked.forms), level)]
    rows += [(part, figure, Fitness()) for part, figure in _checked(found["continuations"], level)]
    rows += [(part, figure, Fitness()) for part, figure in _replicated(found["replications"])]
    judged = judge([(figure, fitness) for _, figure, fitness in rows], asked.least)
    told = [
        {"benchmark": name, "part": part, "model": subject.name, **asdict(figure)}
        for (part, *_), figure in zip(rows, judged, strict=True)
    ]
    return pd.DataFrame(told, columns=schemas.FIGURES.names)


def _own_configuration(metric: str, subject: Subject) -> str:
    """The one that verdicts are of: words as the prompt is, replies in the chat template, if it has both."""
    if metric == mass.METRIC:
        return PLAIN if subject.continues else CHAT
    return CHAT if subject.chats else PLAIN


def _of_part(table: pd.DataFrame, configuration: str, metric: str) -> pd.DataFrame:
    return table[(table["configuration"] == configuration) & (table["metric"] == metric)]


def _coverage(measured: pd.DataFrame, exclusions: pd.DataFrame, level: float) -> Iterator[Figure]:
    """Of all cells, of each that has no placebo, and how many have too little."""
    cells = measured.drop_duplicates(["task", "framing", "stimulus"])
    real = cells[cells["framing"].map(placebo_of) == 0]
    by_stimulus = real.pivot(index="stimulus", columns=["task", "framing"], values="coverage")
    whole = by_stimulus.mean(axis=1).to_numpy()
    yield jackknifed(COVERAGE, lambda rows: float(rows.mean()), whole, PLAIN_SCALE, level, UNIT)
    told = exclusions[exclusions["framing"].map(placebo_of) == 0]
    unit = "replies" if measured["metric"].iloc[0] == choices.METRIC else "prompts"
    for row in told.to_dict("records"):
        yield Figure(f"{COVERAGE}: {row['task']}, {row['framing']}", float(row["coverage"]), int(row["n"]), unit)
    yield Figure(EXCLUDED, float(told["excluded"].sum()), len(told), "cells")


def _checked(continuations: pd.DataFrame, level: float) -> Iterator[tuple[str, Figure]]:
    """The continuation check, with Wilson's interval from `FEWEST_UNITS` replies on (appendix A.3)."""
    for row in continuations[continuations["factor"] == choices.EVERY].to_dict("records"):
        part, n = f"{row['configuration']}, {choices.METRIC}", int(row["n"])
        if not n:
            yield part, Figure(CONTINUATION, None, 0, "replies", reason="no reply is of the class")
            continue
        low, high = proportion_confint(int(row["named"]), n, alpha=1 - level, method="wilson")
        ends = (float(low), float(high)) if n >= FEWEST_UNITS else (None, None)
        yield part, Figure(CONTINUATION, float(row["share"]), n, "replies", *ends)


def _replicated(replications: pd.DataFrame) -> Iterator[tuple[str, Figure]]:
    """A replicated study's measures before, after, and their change beside placebos (appendix B)."""
    for row in replications.astype(object).where(replications.notna(), None).to_dict("records"):
        metric = row["metric"] if row["metric"] in (mass.METRIC, choices.METRIC) else mass.METRIC
        part, n, reason = f"{row['configuration']}, {metric}", int(row["n"]), row["reason"]
        if not str(row["measure"]).startswith(AS):
            for side in ("before", "after"):
                ends = (row[f"{side}_low"], row[f"{side}_high"])
                yield part, Figure(f"{row['measure']}: {side}", row[side], n, UNIT, *ends, reason=reason)
        change = Figure(f"{row['measure']}: change", row["change"], n, UNIT, row["low"], row["high"], reason=reason)
        yield part, _with_placebos(change, row)
        if row["measure"] not in MEANS:
            why = reason or (None if row["difference"] is not None else "no placebo was asked about in this way")
            yield part, Figure(f"{row['measure']}: beyond placebos", row["difference"], n, UNIT, reason=why)


def _with_placebos(change: Figure, row: Mapping[Any, Any]) -> Figure:
    """A change with its control, unless that is of other stimuli, of which the measure would not be the same."""
    if change.value is None or row["control"] is None:
        return change
    if abs(change.value - row["control"] - row["difference"]) > SAME:
        return replace(change, reason=OF_FEWER.format(measure=row["measure"]))
    ends = {"difference_low": row["difference_low"], "difference_high": row["difference_high"]}
    return replace(change, control=row["control"], **ends)
