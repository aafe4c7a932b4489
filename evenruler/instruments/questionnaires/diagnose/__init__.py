"""Figures of models on questionnaires, and of how well questionnaires measure."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

import pandas as pd

from evenruler.instruments.instrument import Evidence, ModelMeta, Record, SchemasByTable, Tables
from evenruler.instruments.questionnaires import schemas
from evenruler.instruments.questionnaires.ask import READS
from evenruler.instruments.questionnaires.declare import I_OR_OTHERS
from evenruler.instruments.questionnaires.declare.plan import QuestionnairePlan
from evenruler.instruments.questionnaires.declare.subjects import FIRST_PERSON
from evenruler.instruments.questionnaires.diagnose import population
from evenruler.instruments.questionnaires.diagnose.figures import (
    model_figures,
    of_options,
    population_figures,
    prefix_shift_figures,
)
from evenruler.instruments.questionnaires.diagnose.headlines import (
    answer_trajectories,
    contrast,
    corpus_change_figures,
    intervention_changes,
    judge_headlines,
)
from evenruler.instruments.questionnaires.diagnose.quality import (
    of_content,
    of_silhouettes,
    over_fits,
)
from evenruler.measurement import Resampling, rows_by_benchmark
from evenruler.measurement.figures import Row, as_rows
from evenruler.tables import concat_frames, row_hashes

__all__ = ["TABLES", "across", "contrast", "evidence", "figures"]

TABLES: SchemasByTable = {
    "accuracy": schemas.ACCURACY,
    "cells": schemas.CELLS,
    "changes": schemas.CHANGES,
    "content": schemas.CONTENT,
    "course": schemas.COURSE,
    "figures": schemas.FIGURES,
    "items": schemas.ITEM_SCORES,
    "population": schemas.POPULATION,
    "quality": schemas.QUALITY,
    "scales": schemas.SCALE_SCORES,
    "subjects": schemas.SUBJECT_SCORES,
    "trajectories": schemas.TRAJECTORIES,
    "twins": schemas.ITEM_SCORES,
}

FOR_ALL = {"content_of_any": "content", "course_of_any": "course"}
"""Further tables that `figures` passes to `across`, with the scores they come from: equal for all
models or all questionnaires, so stored once."""


def figures(
    name: str,
    tables: Tables,
    plan: QuestionnairePlan,
    scores: Tables,
    subject: ModelMeta,
    resampling: Resampling,
) -> dict[str, pd.DataFrame]:
    """Figures of one model on one questionnaire: those of `TABLES` that need no other model, and
    `FOR_ALL`.

    All are descriptive: headlines combine all fits of a model, so `across` computes them, even for
    a single fit.
    """
    cells, items = scores["cells"], scores["items"]
    accuracy = population.accuracy_table(scores["labelled"], resampling.level, scores["known"])
    shifts = prefix_shift_figures(items, scores["prefixed"], plan["placebos"], resampling.level)
    intensifiers = tables["prompts"]["intensifier"].nunique()
    judged = {"accuracy_of_any": accuracy, "cells": cells, "chosen": scores["chosen"]}
    fits = population.validity_by_method(judged, subject.methods, plan["accuracy"]["threshold"])
    on_the_way = answer_trajectories(items, scores["adapted"], intensifiers)
    twins = scores["twins"]
    rows = list(model_figures(items, twins, cells, accuracy, fits, resampling.level))
    rows += of_options(cells, scores["by_order"]["points"], resampling.level)
    rows += _corpus_change_rows(name, on_the_way, resampling.level)
    rows += shifts
    labelled_items = items.assign(model=population.method_label(items))
    item_tables = {"items": items, "twins": twins, "quality": of_silhouettes(labelled_items)}
    for_all = {table: scores[score] for table, score in FOR_ALL.items()}
    figures = pd.DataFrame(rows, columns=schemas.FIGURES.names)
    return {
        **judged,
        **item_tables,
        "figures": figures,
        "trajectories": on_the_way,
        "changes": intervention_changes(on_the_way, plan),
        "headlines": _made_of(scores["subjects"], tables),
        "subjects": scores["subjects"],
        **for_all,
    }


def across(
    records: Sequence[Record[QuestionnairePlan]], resampling: Resampling
) -> dict[str, pd.DataFrame]:
    """Tables over several models or questionnaires, headlines, and figures that do not depend on a
    model.
    """
    if not records:
        return {}
    population_rows = population.population_table(records)
    members = population.members_of(population_rows)
    firsts: dict[str, Record[QuestionnairePlan]] = {}
    for record in records:
        firsts.setdefault(record.instrument, record)
    content = _concat_diagnosis_tables(firsts.values(), "content_of_any")
    items = _concat_diagnosis_tables(records, "items")
    twins = _concat_diagnosis_tables(records, "twins")
    subjects = [record.subject for record in records]
    agreed = over_fits(subjects, items, twins, members, resampling.level)
    confirmed = judge_headlines(records, resampling.level)
    scales = population.scale_scores(items, members)
    of_population = population_figures(items, scales, content, resampling, members)
    rows = [*confirmed, *of_population, *agreed]
    quality = of_content(content)
    accuracy = _concat_diagnosis_tables(records, "accuracy_of_any").drop_duplicates()
    course = _concat_diagnosis_tables(records, "course_of_any").drop_duplicates()
    return {
        "accuracy": accuracy,
        "population": population_rows,
        "scales": scales,
        "content": content,
        "quality": quality,
        "figures": pd.DataFrame(rows, columns=schemas.FIGURES.names),
        "course": course,
    }


def _concat_diagnosis_tables(
    records: Iterable[Record[QuestionnairePlan]], table: str
) -> pd.DataFrame:
    """The table of this name from the diagnosis of every record, in one frame."""
    return concat_frames(record.diagnosis[table] for record in records)


def evidence(tables: Tables) -> Mapping[str, Evidence]:
    """The figures of each questionnaire, a row each."""
    return rows_by_benchmark(tables["figures"]) if len(tables["figures"]) else {}


def _corpus_change_rows(name: str, trajectories: pd.DataFrame, level: float) -> Iterator[Row]:
    """How far each corpus moves answers, by method, without comparison with its control."""
    for (model, method), group in trajectories.groupby(["model", "method"], sort=True):
        change_figures = corpus_change_figures(group, level)
        yield from as_rows(change_figures, name, model, method=population.method_dimension(method))


def _made_of(scores: pd.DataFrame, tables: Tables) -> pd.DataFrame:
    """The rows behind `I_OR_OTHERS`, in points: answers to every item about I (`pole` 1), by
    wording, and about each other subject (`pole` 0).
    """
    sentences = tables["subjects"]
    rows = row_hashes(sentences.filter(READS["subjects"]), ["item"])
    n_intensifiers = tables["prompts"]["intensifier"].nunique()
    uncontrolled = scores[scores["control"].isna()]
    is_own = uncontrolled["subject"] == FIRST_PERSON
    method = uncontrolled["method"].map(population.method_dimension)
    headline_rows = uncontrolled[["model"]].assign(figure=I_OR_OTHERS, method=method)
    headline_rows["pole"] = is_own.astype("int8")
    headline_rows["unit"] = uncontrolled["item"]
    headline_rows["rows"] = uncontrolled["item"].map(rows)
    headline_rows["at"] = uncontrolled["wording"].where(is_own, uncontrolled["subject"])
    headline_rows["value"] = uncontrolled["score"] * n_intensifiers
    return headline_rows.reindex(columns=schemas.HEADLINES.names)
