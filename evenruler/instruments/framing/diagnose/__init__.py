"""Diagnosis of framing: how cues change a model's answers (sections 4.3 and 5, appendices A and
B).
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import pandas as pd
import pyarrow as pa

from evenruler.instruments.framing import schemas
from evenruler.instruments.framing.ask import CHAT, PLAIN, READS, options_by_prompt
from evenruler.instruments.framing.declare import FramingPlan
from evenruler.instruments.framing.declare.asked import placebo_of
from evenruler.instruments.framing.diagnose import distributions as answered
from evenruler.instruments.framing.diagnose import effects
from evenruler.instruments.framing.diagnose.distributions import CHOICE, EVERY, TOKEN
from evenruler.instruments.framing.diagnose.effects import UNIT, Effects, contrast, headlines
from evenruler.instruments.framing.diagnose.replications import AS, replications
from evenruler.instruments.instrument import Plan, Record, Subject, Tables
from evenruler.measurement import Figure, Resampling, as_metrics
from evenruler.measurement.answered import marked
from evenruler.measurement.checks import wilson
from evenruler.measurement.estimates import jackknifed
from evenruler.measurement.resampling import FEWEST_UNITS
from evenruler.measurement.resampling import PLAIN as PLAIN_SCALE
from evenruler.measurement.verdicts import Confirmatory, Fitness, judge
from evenruler.tables import rows_of, stacked
from evenruler.tables.schemas import HEADLINES

__all__ = ["TABLES", "across", "contrast", "evidence", "figures"]

_OF_MODEL = (
    "figures",
    "choices",
    "distributions",
    "exclusions",
    "effects",
    "shifts",
    "continuations",
    "replications",
)

TABLES: Final[Mapping[str, pa.Schema]] = {
    name: getattr(schemas, name.upper()) for name in (*_OF_MODEL, "comparisons")
}

COVERAGE, EXCLUDED, CONTINUATION = "coverage", "excluded cells", "continuation check"
"""Names of figures."""


def figures(
    name: str, tables: Tables, plan: Plan, scores: Tables, subject: Subject, resampling: Resampling
) -> dict[str, pd.DataFrame]:
    """Tables of one model on one contrast: by `TABLES`, all but `comparisons`; `scores` may be
    empty.

    Cells of the metric `choice` with too many invalid replies are only in `distributions`,
    `exclusions` and the coverage. Cells of `token` with too little mass are left out of shifts, and
    make effects unfit. UserError where `mass` is `first_token`, and a class has no first token of
    its own.
    """
    asked = FramingPlan.read(plan)
    prompts, stimuli = tables["prompts"].assign(benchmark=name), tables["stimuli"]
    options = options_by_prompt(prompts, stimuli, asked)
    read = answered.read_replies(scores["replies"], prompts, asked.words, options, asked.left_out)
    content_free = tables["content-free"] if asked.calibrated else None
    by_words = answered.token_distributions(
        scores["forms"], prompts, content_free, asked.forms, asked.mass
    )
    distributions = stacked([by_words, answered.choice_distributions(read, asked.forms)])
    excluded = answered.exclusions(distributions, asked.least_coverage)
    counted = answered.without_excluded(distributions, excluded, [CHOICE])
    # Shifts of classes need enough coverage, and more than one reply per question.
    metrics = (TOKEN, CHOICE) if asked.generations > 1 else (TOKEN,)
    covered = answered.without_excluded(
        distributions[distributions["metric"].isin(metrics)], excluded, metrics
    )
    found = {
        "choices": read,
        "distributions": distributions,
        "exclusions": excluded,
        "effects": effects.effects(counted, asked.factors),
        "shifts": effects.shifts(covered, asked.factors),
        "continuations": pd.DataFrame(columns=schemas.CONTINUATIONS.names),
        "replications": pd.DataFrame(columns=schemas.REPLICATIONS.names),
    }
    if (neutral := asked.continuation) is not None:
        real = read[read["framing"].map(placebo_of) == 0]
        found["continuations"] = answered.continuations(
            real, asked.factors, neutral.outcome, neutral.keywords
        )
    if asked.replicates is not None:
        # In the order of the source, which decides from which group's preference the other's is
        # subtracted.
        members = stimuli.groupby("group")["stimulus"].agg(list)
        groups = {stimulus: group for group in asked.groups for stimulus in members[group]}
        found["replications"] = replications(
            counted, read, asked.forms, groups, asked.replicates, resampling.level
        )
    found["figures"], cells = figures_of(name, found, asked, subject, resampling.level)
    told = {table: found[table][schema.names] for table, schema in TABLES.items() if table in found}
    rested_on = rows_of(tables["prompts"].filter(READS["prompts"]), ["stimulus"])
    return {**told, "headlines": cells.assign(rows=cells["unit"].map(rested_on))}


def across(records: Sequence[Record], resampling: Resampling) -> dict[str, pd.DataFrame]:
    """Compare the shifts of classes over all models of each contrast (section 5.3), by
    `schemas.COMPARISONS`.
    """
    from evenruler.instruments.framing.diagnose.comparisons import (
        comparisons,
    )  # imports slow libraries (seconds)

    found = [pd.DataFrame(columns=schemas.COMPARISONS.names)]
    for instrument in dict.fromkeys(record.instrument for record in records):
        shifted = stacked(
            [record.found["shifts"] for record in records if record.instrument == instrument]
        )
        # Sort rows, since the last bits of sums depend on their order.
        found.append(comparisons(shifted.sort_values(schemas.SHIFTS.names[:-1]), resampling))
    return {"comparisons": stacked(found)}


def evidence(tables: Tables) -> dict[str, Any]:
    """Figures as nested records: by contrast, part, model and figure."""
    return as_metrics(tables["figures"], "part")


def figures_of(
    name: str, found: dict[str, pd.DataFrame], asked: FramingPlan, subject: Subject, level: float
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Figures of every part (configuration and metric) of a model on a contrast, by
    `schemas.FIGURES`, and `HEADLINES`.

    Source: section 4.3; taking the mean of the effects as the probability of a shift is our
    decision.
    """
    rows: list[tuple[str, Confirmatory | Figure, Fitness]] = []
    bars, cells = (
        dict[str, Fitness](),
        [pd.DataFrame(columns=["stimulus", "placebo", "value", "part", "figure"])],
    )
    # The headline of a model without samples rests on the probability of words, without these on
    # its replies.
    metrics = set(found["distributions"]["metric"])
    judged_by = asked.confirmed if asked.confirmed in metrics else next(iter(metrics), TOKEN)
    for key, measured in found["distributions"].groupby(["configuration", "metric"], sort=True):
        configuration, metric = map(str, key)
        part = f"{configuration}, {metric}"
        own = {}
        for table in ("effects", "shifts", "exclusions"):
            of_part = (found[table]["configuration"] == configuration) & (
                found[table]["metric"] == metric
            )
            own[table] = found[table][of_part]
        apds = own["effects"].pivot(
            index="stimulus", columns=["factor", "placebo", "task"], values="apd"
        )
        described = Effects(apds, measured, own["exclusions"], asked, level)
        # Without placebos: answers to these may rightly be of no class, and most prompts hold one.
        replies = found["choices"][found["choices"]["configuration"] == configuration]
        of_cues = replies[replies["framing"].map(placebo_of) <= 0]
        bars[part] = bar = answered.fitness_of_part(measured, of_cues)
        # Headlines use words after the plain prompt and replies in the chat template, if a model
        # supports both.
        plain = subject.continues if metric == TOKEN else not subject.chats
        if metric == judged_by and configuration == (PLAIN if plain else CHAT):
            for headline, fitness, total, points in headlines(measured, own["exclusions"], asked):
                rows.append((part, headline, fitness if bar == Fitness() else bar))
                rows += [(part, total, Fitness())] if total is not None else []
                cells.append(
                    points.melt(ignore_index=False)
                    .reset_index()
                    .assign(part=part, figure=headline.figure)
                )
        rows += [(part, marked(figure, bar), Fitness()) for figure in described.figures()]
        rows += [
            (part, figure, Fitness()) for figure in _coverage(measured, own["exclusions"], level)
        ]
        shifted = effects.shift_figures(own["shifts"], list(asked.forms), level)
        rows += [(part, marked(figure, bar), Fitness()) for figure in shifted]
    rows += [(part, figure, Fitness()) for part, figure in _checked(found["continuations"], level)]
    replicated = _replicated(found["replications"])
    rows += [
        (part, marked(figure, bars.get(part, Fitness())), Fitness()) for part, figure in replicated
    ]
    judged = judge([(figure, fitness) for _, figure, fitness in rows])
    told = pd.DataFrame(judged).assign(
        benchmark=name, part=[part for part, *_ in rows], model=subject.name
    )
    points = stacked(cells).dropna(subset="value")
    numbers = points["placebo"].astype(int)
    points = points.assign(
        model=subject.name, unit=points["stimulus"], at=numbers.astype(str), pole=1 * (numbers <= 0)
    )
    return told.reindex(columns=schemas.FIGURES.names), points.reindex(columns=HEADLINES.names)


def _coverage(measured: pd.DataFrame, exclusions: pd.DataFrame, level: float) -> Iterator[Figure]:
    """Coverage of all cells and of each cell, without placebos, and how many cells have too
    little.
    """
    cells = measured.drop_duplicates(["task", "framing", "stimulus"])
    real = cells[cells["framing"].map(placebo_of) == 0]
    by_stimulus = real.pivot(index="stimulus", columns=["task", "framing"], values="coverage")
    whole = by_stimulus.mean(axis=1).to_numpy()
    yield jackknifed(COVERAGE, lambda rows: float(rows.mean()), whole, PLAIN_SCALE, level, UNIT)
    told = exclusions[exclusions["framing"].map(placebo_of) == 0]
    unit = "replies" if measured["metric"].iloc[0] == CHOICE else "prompts"
    for row in told.to_dict("records"):
        yield Figure(
            f"{COVERAGE}: {row['task']}, {row['framing']}",
            float(row["coverage"]),
            int(row["n"]),
            unit,
        )
    yield Figure(EXCLUDED, float(told["excluded"].sum()), len(told), "cells")


def _checked(continuations: pd.DataFrame, level: float) -> Iterator[tuple[str, Figure]]:
    """The continuation check, with Wilson's interval for at least `FEWEST_UNITS` replies (appendix
    A.3).
    """
    for row in continuations[continuations["factor"] == EVERY].to_dict("records"):
        part, n = f"{row['configuration']}, {CHOICE}", int(row["n"])
        if not n:
            yield part, Figure(CONTINUATION, None, 0, "replies", reason="no reply is of the class")
            continue
        ends = wilson(row["named"] / n, n, level) if n >= FEWEST_UNITS else (None, None)
        yield part, Figure(CONTINUATION, float(row["share"]), n, "replies", *ends)


def _replicated(replications: pd.DataFrame) -> Iterator[tuple[str, Figure]]:
    """Measures of a replicated study before and after, and their change, with that of placebos
    (appendix B).
    """
    for row in replications.astype(object).where(replications.notna(), None).to_dict("records"):
        metric = row["metric"] if row["metric"] in (TOKEN, CHOICE) else TOKEN
        part, n, reason = f"{row['configuration']}, {metric}", int(row["n"]), row["reason"]
        if not str(row["measure"]).startswith(AS):
            for side in ("before", "after"):
                low, high = row[f"{side}_low"], row[f"{side}_high"]
                yield (
                    part,
                    Figure(
                        f"{row['measure']}: {side}", row[side], n, UNIT, low, high, reason=reason
                    ),
                )
        ends = (row["low"], row["high"])
        yield (
            part,
            Figure(
                f"{row['measure']}: change",
                row["change"],
                n,
                UNIT,
                *ends,
                None,
                reason,
                row["control"],
            ),
        )
