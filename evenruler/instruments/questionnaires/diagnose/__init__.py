"""How models answer questionnaires, and how well questionnaires measure."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, Final

import numpy as np
import pandas as pd
import pyarrow as pa

from evenruler.instruments.instrument import Plan, Record, Subject, Tables
from evenruler.instruments.questionnaires import schemas
from evenruler.instruments.questionnaires.diagnose import intervening, shifting
from evenruler.instruments.questionnaires.diagnose.figures import of_models, of_population
from evenruler.instruments.questionnaires.diagnose.population import WHOLE, population, scale_scores
from evenruler.instruments.questionnaires.diagnose.quality import of_content, of_silhouettes, refuse_poor
from evenruler.instruments.questionnaires.diagnose.unit_scores import units
from evenruler.measurement import Resampling, as_metrics
from evenruler.measurement.verdicts import judge
from evenruler.models.entry import named

__all__ = ["TABLES", "across", "evidence", "figures", "units"]

TABLES: Final[dict[str, pa.Schema]] = {
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
}

FOR_ALL = {"content_of_any": "content", "course_of_any": "course"}
"""What `figures` hands on to `across`, beside `TABLES`, and which scores it is: what is the same for all models or for
all questionnaires stands in a table once."""


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
        Rows of `cells`, `items`, `quality`, `figures`, `trajectories` and `changes`, and what `FOR_ALL` names.
    """
    cells, items, adapted = scores["cells"], scores["items"], scores["adapted"]
    called = [named(str(model), str(form)) for model, form in zip(items["model"], items["configuration"], strict=True)]
    shifts = shifting.of_model(items, scores["prefixed"], plan["placebos"], resampling.level)
    trajectories = intervening.trajectories(items, adapted, cells["intensifier"].nunique())
    changes = intervening.changes(trajectories, plan)
    moved = _moved(name, trajectories, changes, scores, plan, resampling.level)
    own = pd.concat([of_models(items, cells, resampling), shifts, moved])
    return {
        "cells": cells,
        "items": items,
        "quality": of_silhouettes(items.assign(model=called)),
        "figures": own,
        "trajectories": trajectories,
        "changes": changes,
        **{table: scores[score] for table, score in FOR_ALL.items()},
    }


def across(records: Sequence[Record], resampling: Resampling) -> dict[str, pd.DataFrame]:
    """What rests on several models or questionnaires, and what does not depend on a model.

    Args:
        records: Every questionnaire on every model.
        resampling: How intervals are computed.

    Returns:
        Rows of `population`, `scales`, `content`, `quality`, `figures` and `course`.

    Raises:
        UserError: An item is poor, of a questionnaire that asks to stop there.
    """
    if not records:
        return {}
    known = population(list({record.subject.name: record.subject for record in records}.values()))
    members = known.loc[known["member"], "model"].unique().tolist()
    firsts: dict[str, Record] = {}
    for record in records:
        firsts.setdefault(record.instrument, record)
    content = _all([record.found["content_of_any"] for record in firsts.values()])
    items = _all([record.found["items"] for record in records])
    scales, quality = scale_scores(items, members), of_content(content)
    found = {
        "population": known,
        "scales": scales,
        "content": content,
        "quality": quality,
        "figures": pd.concat(
            [of_population(items, scales, content, resampling, members), _of_lineages(records, members, resampling)]
        ),
        "course": _all([record.found["course_of_any"] for record in records]).drop_duplicates(),
    }
    judged = _all([quality, *(record.found["quality"] for record in records)])
    refuse_poor(judged, [name for name, record in firsts.items() if record.plan["stop_below"]])
    return found


def evidence(tables: Tables) -> dict[str, Any]:
    """Figures as nested records, by questionnaire, part of it (a subscale), model and figure."""
    return as_metrics(tables["figures"], "part") if len(tables["figures"]) else {}


def _moved(
    name: str, trajectories: pd.DataFrame, changes: pd.DataFrame, scores: Tables, plan: Plan, level: float
) -> pd.DataFrame:
    """Figures of interventions, judged, by form."""
    rows = []
    for (model, form), own in trajectories.groupby(["model", "configuration"], sort=True):
        in_form = [frame[frame["configuration"] == form] for frame in (changes, scores["adapted"], scores["items"])]
        asked = in_form[2][in_form[2]["item"].isin(in_form[1]["item"])]
        spread = scores["cells"]["intensifier"].nunique() * float(np.nan_to_num(asked["score"].std(ddof=1)))
        found = intervening.figures(own, in_form[0], scores["course"], spread, plan, level)
        here = {"benchmark": name, "part": WHOLE, "model": named(str(model), str(form))}
        rows += [{**here, **asdict(figure)} for figure in judge(list(found), intervening.FEWEST_FITS)]
    return pd.DataFrame(rows)


def _of_lineages(records: Sequence[Record], members: Sequence[str], resampling: Resampling) -> pd.DataFrame:
    """What interventions do over lineages of models that count, as they answer by head or verbaliser."""
    lineages = {record.subject.name: record.subject.lineage for record in records if record.subject.name in members}
    own = _all([record.found["figures"] for record in records])
    return pd.DataFrame(intervening.of_lineages(own, lineages, resampling.level))


def _all(frames: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """One below the other; one without rows only where all are."""
    return pd.concat([frame for frame in frames if len(frame)] or list(frames[:1]), ignore_index=True)
