"""How models answer questionnaires, and how well questionnaires measure."""

from collections.abc import Sequence
from typing import Any, Final

import pandas as pd
import pyarrow as pa

from evenruler.instruments.instrument import Plan, Record, Subject, Tables
from evenruler.instruments.questionnaires import schemas
from evenruler.instruments.questionnaires.diagnose import shifting
from evenruler.instruments.questionnaires.diagnose.accuracy import accuracies, fitness_by_form
from evenruler.instruments.questionnaires.diagnose.figures import of_models, of_population
from evenruler.instruments.questionnaires.diagnose.fits import over_fits
from evenruler.instruments.questionnaires.diagnose.intervening import (
    Intervention,
    changes_of_lineages,
    changes_of_models,
    trajectories,
)
from evenruler.instruments.questionnaires.diagnose.population import called, members_of, population, scale_scores
from evenruler.instruments.questionnaires.diagnose.quality import of_content, of_silhouettes, refuse_poor
from evenruler.instruments.questionnaires.diagnose.twins import beyond_twins
from evenruler.instruments.questionnaires.diagnose.unit_scores import units
from evenruler.measurement import Resampling, as_metrics

__all__ = ["TABLES", "across", "evidence", "figures", "units"]

TABLES: Final[dict[str, pa.Schema]] = {
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
    "trajectories": schemas.TRAJECTORIES,
    "twins": schemas.ITEM_SCORES,
}

FOR_ALL = {"adapted": "adapted", "content_of_any": "content", "course_of_any": "course"}
"""What `figures` hands on to `across`, beside `TABLES`, and which scores it is: what is the same for all models or for
all questionnaires stands in a table once, and lineages are compared by the items of several models."""


def figures(
    name: str, tables: Tables, plan: Plan, scores: Tables, subject: Subject, resampling: Resampling
) -> dict[str, pd.DataFrame]:
    """What one model makes of one questionnaire.

    Args:
        name: Of the questionnaire.
        tables: Its published rows.
        plan: What was asked of them.
        scores: By `evenruler.instruments.questionnaires.ask.scores`.
        subject: Who answered.
        resampling: How intervals are computed.

    Returns:
        Rows of `cells`, `items`, `twins` (scores of the twins, under the names of their items), `quality`, `figures`,
        `trajectories` and `changes`, what `FOR_ALL` names, and `accuracy_of_any`, the same for all questionnaires.
    """
    cells, items, adapted = scores["cells"], scores["items"], scores["adapted"]
    accuracy = accuracies(scores["labelled"], resampling.level)
    shifts = shifting.of_model(items, scores["prefixed"], plan["placebos"], resampling.level)
    intensifiers = tables["prompts"]["intensifier"].nunique()
    fits = fitness_by_form(accuracy, subject.forms, plan["accuracy"]["bar"])
    beyond = beyond_twins(items, scores["twins"], intensifiers, fits, plan, resampling.level)
    own = pd.concat([of_models(items, scores["twins"], cells, accuracy, fits, resampling.level), beyond, shifts])
    changes = changes_of_models(adapted, _interventions(name, plan), resampling.level)
    return {
        "accuracy_of_any": accuracy,
        "cells": cells,
        "items": items,
        "twins": scores["twins"],
        "quality": of_silhouettes(items.assign(model=called(items))),
        "figures": own,
        "trajectories": trajectories(adapted, resampling),
        "changes": pd.DataFrame(changes),
        **{table: scores[score] for table, score in FOR_ALL.items()},
    }


def across(records: Sequence[Record], resampling: Resampling) -> dict[str, pd.DataFrame]:
    """What rests on several models or questionnaires, and what does not depend on a model.

    Args:
        records: Every questionnaire on every model.
        resampling: How intervals are computed.

    Returns:
        Rows of `accuracy`, `population`, `scales`, `content`, `quality`, `figures`, `changes` and `course`.

    Raises:
        UserError: An item is poor on a model that counts, of a questionnaire that asks to stop there.
    """
    if not records:
        return {}
    known = population(records)
    members = members_of(known)
    firsts: dict[str, Record] = {}
    for record in records:
        firsts.setdefault(record.instrument, record)
    content = _all([record.found["content_of_any"] for record in firsts.values()])
    items, twins = (_all([record.found[table] for record in records]) for table in ("items", "twins"))
    agreed = over_fits([record.subject for record in records], items, twins, members, resampling.level)
    scales, quality = scale_scores(items, members), of_content(content)
    found = {
        "accuracy": _all([record.found["accuracy_of_any"] for record in records]).drop_duplicates(),
        "population": known,
        "scales": scales,
        "content": content,
        "quality": quality,
        "figures": pd.concat([of_population(items, scales, content, resampling, members), agreed]),
        "changes": _changes_of_lineages(records, resampling, members),
        "course": _all([record.found["course_of_any"] for record in records]).drop_duplicates(),
    }
    judged = _all([quality, *(record.found["quality"] for record in records)])
    counted = judged[judged["model"].isna() | judged["model"].isin(members)]
    refuse_poor(counted, [name for name, record in firsts.items() if record.plan["stop_below"]])
    return found


def evidence(tables: Tables) -> dict[str, Any]:
    """Figures as nested records, by questionnaire, part of it (a subscale), model and figure."""
    return as_metrics(tables["figures"], "part") if len(tables["figures"]) else {}


def _interventions(name: str, plan: Plan) -> dict[str, Intervention]:
    return {corpus: Intervention(own["role"], {name: own["expected"]}) for corpus, own in plan["corpora"].items()}


def _changes_of_lineages(records: Sequence[Record], resampling: Resampling, members: Sequence[str]) -> pd.DataFrame:
    rows: list[dict[str, object]] = []
    for name in sorted({record.instrument for record in records}):
        own = [record for record in records if record.instrument == name]
        adapted = _all([record.found["adapted"] for record in own])
        interventions = _interventions(name, own[0].plan)
        rows += changes_of_lineages(adapted, interventions, resampling.level, members)
    return pd.DataFrame(rows)


def _all(frames: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """One below the other; one without rows only where all are."""
    return pd.concat([frame for frame in frames if len(frame)] or list(frames[:1]), ignore_index=True)
