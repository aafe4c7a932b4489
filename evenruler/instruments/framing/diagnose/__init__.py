"""Diagnosis of framing: how cues change a model's answers (sections 4.3 and 5, appendices A and
B).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import pandas as pd

from evenruler.instruments.framing import schemas
from evenruler.instruments.framing.ask import CHAT, PLAIN, READS, options_by_prompt
from evenruler.instruments.framing.declare import (
    MEAN_CHANGES,
    FramingPlan,
    WrittenPlan,
    measure_figure,
)
from evenruler.instruments.framing.declare.source import Continuation
from evenruler.instruments.framing.declare.task_prompts import alternative_of
from evenruler.instruments.framing.diagnose import distributions as answered
from evenruler.instruments.framing.diagnose import effects
from evenruler.instruments.framing.diagnose.distributions import CHOICE, EVERY, TOKEN
from evenruler.instruments.framing.diagnose.effects import UNIT, Effects
from evenruler.instruments.framing.diagnose.headlines import (
    contrast,
    part_headlines,
    unanswered_figures,
)
from evenruler.instruments.framing.diagnose.replications import compute_replications
from evenruler.instruments.instrument import (
    Evidence,
    ModelMeta,
    Plan,
    Record,
    SchemasByTable,
    Tables,
)
from evenruler.measurement import Figure, Resampling, rows_by_benchmark
from evenruler.measurement.estimates import jackknife_figure
from evenruler.measurement.figures import Row, as_rows, finite_or_none
from evenruler.measurement.inputs import wilson
from evenruler.measurement.nonresponse import mark_by_validity
from evenruler.measurement.resampling import FEWEST_UNITS
from evenruler.measurement.resampling import PLAIN as PLAIN_SCALE
from evenruler.measurement.verdicts import HeadlineTest, ValidityCheck, judge_all
from evenruler.tables import concat_frames, row_hashes
from evenruler.terminal import print_note

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

TABLES: SchemasByTable = {
    name: getattr(schemas, name.upper()) for name in (*_OF_MODEL, "comparisons")
}


def figures(
    name: str,
    tables: Tables,
    plan: Plan,
    scores: Tables,
    subject: ModelMeta,
    resampling: Resampling,
) -> dict[str, pd.DataFrame]:
    """Tables of one model on one contrast: by `TABLES`, all but `comparisons`; `scores` may be
    empty.

    Cells of the readout `choice` with too many invalid replies are only in `distributions`,
    `exclusions` and the coverage. Cells of `token` with too little mass are left out of shifts, and
    make effects unfit. Where `mass` is `first_token` and a class has no first token of its own,
    the model has no distributions of `token`, and a note says so.
    """
    framing_plan = FramingPlan.read(plan)
    prompts, stimuli = tables["prompts"].assign(benchmark=name), tables["stimuli"]
    options = options_by_prompt(prompts, stimuli, framing_plan)
    read = answered.read_replies(
        scores["replies"], prompts, framing_plan.words, options, framing_plan.left_out
    )
    content_free = tables["content-free"] if framing_plan.calibrated else None
    forms = scores["forms"]
    try:
        by_words = answered.token_distributions(
            forms, prompts, content_free, framing_plan.forms, framing_plan.mass
        )
    except answered.SharedTokensError as error:
        # Its tokenizer alone is at fault: other models and contrasts are diagnosed.
        print_note(f"{subject.name}: its next words are not scored: {error}")
        by_words = answered.token_distributions(forms[:0], prompts, content_free, {})
    distributions = concat_frames(
        [by_words, answered.choice_distributions(read, framing_plan.forms)]
    )
    excluded = answered.compute_exclusions(distributions, framing_plan.least_coverage)
    counted = answered.without_excluded(distributions, excluded, [CHOICE])
    # Shifts of classes need enough coverage, and more than one reply per question.
    readouts = (TOKEN, CHOICE) if framing_plan.generations > 1 else (TOKEN,)
    covered = answered.without_excluded(
        distributions[distributions["readout"].isin(readouts)], excluded, readouts
    )
    diagnosis_tables = {
        "choices": read,
        "distributions": distributions,
        "exclusions": excluded,
        "effects": effects.compute_effects(counted, framing_plan.factors),
        "shifts": effects.compute_shifts(covered, framing_plan.factors),
    }
    diagnosis_tables["continuations"] = pd.DataFrame(columns=schemas.CONTINUATIONS.names)
    diagnosis_tables["replications"] = pd.DataFrame(columns=schemas.REPLICATIONS.names)
    neutral = framing_plan.continuation
    if neutral is not None:
        real = read[read["framing"].map(alternative_of) == 0]
        diagnosis_tables["continuations"] = answered.count_continuations(
            real, framing_plan.factors, neutral.outcome, neutral.keywords
        )
    if framing_plan.replicates is not None:
        # In the order of the source, which decides from which group's preference the other's is
        # subtracted.
        members = stimuli.groupby("group")["stimulus"].agg(list)
        groups: dict[str, str] = {}
        for group in framing_plan.groups:
            for stimulus in members[group]:
                groups[stimulus] = group
        diagnosis_tables["replications"] = compute_replications(
            counted, read, framing_plan.forms, groups, framing_plan.replicates, resampling.level
        )
    diagnosis_tables["figures"], cells = figures_of(
        name, diagnosis_tables, framing_plan, subject, resampling.level
    )
    model_tables = {
        table: diagnosis_tables[table][schema.names]
        for table, schema in TABLES.items()
        if table in diagnosis_tables
    }
    rested_on = row_hashes(tables["prompts"].filter(READS["prompts"]), ["stimulus"])
    return {**model_tables, "headlines": cells.assign(rows=cells["unit"].map(rested_on))}


def across(
    records: Sequence[Record[WrittenPlan]], resampling: Resampling
) -> dict[str, pd.DataFrame]:
    """Compare the shifts of classes over all models of each contrast (section 5.3), by
    `schemas.COMPARISONS`.
    """
    from evenruler.instruments.framing.diagnose.comparisons import (
        compare_classes,
    )  # imports slow libraries (seconds)

    comparison_tables = [pd.DataFrame(columns=schemas.COMPARISONS.names)]
    for instrument in dict.fromkeys(record.instrument for record in records):
        shifted = concat_frames(
            [record.diagnosis["shifts"] for record in records if record.instrument == instrument]
        )
        # Sort rows, since the last bits of sums depend on their order.
        comparison_tables.append(
            compare_classes(shifted.sort_values(schemas.SHIFTS.names[:-1]), resampling)
        )
    return {"comparisons": concat_frames(comparison_tables)}


def evidence(tables: Tables) -> Mapping[str, Evidence]:
    """Figures as rows, by contrast."""
    return rows_by_benchmark(tables["figures"])


def figures_of(
    name: str,
    diagnosis_tables: dict[str, pd.DataFrame],
    framing_plan: FramingPlan,
    subject: ModelMeta,
    level: float,
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Figures of every part (prompt format and readout) of a model on a contrast, by
    `schemas.FIGURES`, and `HEADLINES`.

    Source: section 4.3; taking the mean of the effects as the probability of a shift is our
    decision.
    """
    rows: list[Row] = []
    checks: dict[tuple[str, str], ValidityCheck] = {}
    cells = [pd.DataFrame(columns=["stimulus", "alternative", "value"])]
    # The headline of a model without samples rests on the probability of words, without these on
    # its replies.
    readouts = set(diagnosis_tables["distributions"]["readout"])
    judged_by = (
        framing_plan.confirmed
        if framing_plan.confirmed in readouts
        else next(iter(readouts), TOKEN)
    )
    for key, measured in diagnosis_tables["distributions"].groupby(
        ["prompt_format", "readout"], sort=True
    ):
        prompt_format, readout = map(str, key)
        part = {"prompt_format": prompt_format, "readout": readout}
        part_tables = {}
        for table in ("effects", "shifts", "exclusions"):
            table_rows = diagnosis_tables[table]
            is_of_prompt_format = table_rows["prompt_format"] == prompt_format
            is_of_readout = table_rows["readout"] == readout
            part_tables[table] = table_rows[is_of_prompt_format & is_of_readout]
        apds = part_tables["effects"].pivot(
            index="stimulus", columns=["factor", "alternative", "task"], values="apd"
        )
        described = Effects(apds, measured, part_tables["exclusions"], framing_plan, level)
        # Without alternatives: answers to these may rightly be of no class, and most prompts hold
        # one.
        choices = diagnosis_tables["choices"]
        replies = choices[choices["prompt_format"] == prompt_format]
        of_cues = replies[replies["framing"].map(alternative_of) == 0]
        check = answered.validity_of_part(measured, of_cues)
        checks[prompt_format, readout] = check
        tests: list[tuple[HeadlineTest | Figure, ValidityCheck]] = []
        # Headlines use words after the plain prompt and replies in the chat template, if a model
        # supports both.
        plain = subject.continues if readout == TOKEN else not subject.chats
        if readout == judged_by and prompt_format == (PLAIN if plain else CHAT):
            for headline in part_headlines(measured, part_tables["exclusions"], framing_plan):
                validity = headline.validity if check == ValidityCheck() else check
                tests.append((headline.test, validity))
                tests += [
                    (mark_by_validity(figure, validity), validity) for figure in headline.described
                ]
                long = headline.points.melt(ignore_index=False).reset_index()
                of_headline = {**part, **headline.test.dimensions, "group": headline.grammar}
                cells.append(long.assign(figure=headline.test.figure, **of_headline))
        shifted = effects.shift_figures(part_tables["shifts"], list(framing_plan.forms), level)
        unanswered = unanswered_figures(measured, framing_plan)
        unmarked = [*described.figures(), *shifted, *unanswered]
        part_figures = judge_all(tests)
        part_figures += [mark_by_validity(figure, check) for figure in unmarked]
        part_figures += _coverage_figures(measured, part_tables["exclusions"], level)
        rows += as_rows(part_figures, name, subject.name, **part)
    continued = _continuation_figures(
        diagnosis_tables["continuations"], framing_plan.continuation, level
    )
    rows += as_rows(continued, name, subject.name)
    for figure in _replication_figures(diagnosis_tables["replications"]):
        part_key = figure.dimensions["prompt_format"], figure.dimensions["readout"]
        marked = mark_by_validity(figure, checks.get(part_key, ValidityCheck()))
        rows += as_rows([marked], name, subject.name)
    figure_table = pd.DataFrame(rows, columns=schemas.FIGURES.names)
    points = concat_frames(cells).dropna(subset="value")
    numbers = points["alternative"].astype(int)
    points = points.assign(
        model=subject.name, unit=points["stimulus"], at=numbers.astype(str), pole=1 * (numbers == 0)
    )
    return figure_table, points.reindex(columns=schemas.HEADLINES.names)


def _coverage_figures(
    measured: pd.DataFrame, exclusions: pd.DataFrame, level: float
) -> Iterator[Figure]:
    """Coverage of all cells and of each cell, without alternatives, and how many cells have too
    little.
    """
    cells = measured.drop_duplicates(["task", "framing", "stimulus"])
    real = cells[cells["framing"].map(alternative_of) == 0]
    by_stimulus = real.pivot(index="stimulus", columns=["task", "framing"], values="coverage")
    whole = by_stimulus.mean(axis=1).to_numpy()
    yield jackknife_figure(
        "coverage", lambda rows: float(rows.mean()), whole, PLAIN_SCALE, level, UNIT
    )
    real_exclusions = exclusions[exclusions["framing"].map(alternative_of) == 0]
    unit = "replies" if measured["readout"].iloc[0] == CHOICE else "prompts"
    for row in real_exclusions.to_dict("records"):
        dimensions = {"task": row["task"], "cell": row["framing"]}
        coverage = float(row["coverage"])
        yield Figure("coverage", coverage, int(row["n"]), unit, dimensions=dimensions)
    n_excluded = float(real_exclusions["excluded"].sum())
    yield Figure("excluded_cells", n_excluded, len(real_exclusions), "cells")


def _continuation_figures(
    continuations: pd.DataFrame, neutral: Continuation | None, level: float
) -> Iterator[Figure]:
    """The continuation check, with Wilson's interval for at least `FEWEST_UNITS` replies (appendix
    A.3).
    """
    if neutral is None:
        return
    for row in continuations[continuations["factor"] == EVERY].to_dict("records"):
        part = {"prompt_format": row["prompt_format"], "readout": CHOICE}
        dimensions = {**part, "outcome": neutral.outcome}
        n = int(row["n"])
        share = finite_or_none(float(row["share"]))
        reason = None if n else "no reply is of the class"
        ends: tuple[float | None, float | None] = (None, None)
        if n >= FEWEST_UNITS:
            ends = wilson(row["named"] / n, n, level)
        figure = Figure("continuation", share, n, "replies", *ends, reason=reason)
        yield replace(figure, dimensions=dimensions)


PHASES = ("before", "after", "change")
CHANGE_COLUMNS = {name: f"change_{name}" for name in ("low", "high", "control")}


def _replication_figures(replications: pd.DataFrame) -> Iterator[Figure]:
    """Measures of a replicated study before and after, and their change, with that of
    alternatives (appendix B).
    """
    replications = replications.rename(columns=CHANGE_COLUMNS).astype(object)
    with_none = replications.where(replications.notna(), None)
    for row in with_none.to_dict("records"):
        readout = row["readout"] if row["readout"] in (TOKEN, CHOICE) else TOKEN
        part = {"prompt_format": row["prompt_format"], "readout": readout}
        name = measure_figure(row["measure"])
        figure = Figure(name, None, int(row["n"]), UNIT, reason=row["reason"])
        for phase in ("change",) if row["measure"] in MEAN_CHANGES else PHASES:
            low, high = f"{phase}_low", f"{phase}_high"
            figure = replace(figure, value=row[phase], low=row[low], high=row[high])
            control = row.get(f"{phase}_control")
            yield replace(figure, control=control, dimensions={**part, "phase": phase})
