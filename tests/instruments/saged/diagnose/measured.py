"""Prompts and what was measured of replies to them, for tests of the diagnosis."""

from collections.abc import Collection, Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from evenruler.instruments.instrument import Tables
from evenruler.instruments.saged import schemas
from evenruler.instruments.saged.declare.settings import Disparities, Feature, confirmatory_of
from evenruler.instruments.saged.diagnose import diagnose
from evenruler.measurement import Resampling


def prompts(roots: int, concepts: Sequence[str], branched: bool = True) -> pd.DataFrame:
    """Root items, each for every concept; where not branched, each prompt is its own root item."""
    rows = []
    for root, concept in product(range(roots), concepts):
        row_id = f"{concept}-{root:03d}"
        root_id = f"root-{root:03d}" if branched else row_id
        rows.append({"id": row_id, "concept": concept, "root_id": root_id})
    frame = pd.DataFrame(rows)
    return frame.assign(keyword="word", section="", source_tag="article")


def features(
    prompts: pd.DataFrame,
    values: ArrayLike,
    baselines: ArrayLike = np.nan,
    model: str = "m0",
    feature: str = "vader",
    role: str = "no-role",
    framing: str = "bare",
    repetition: int = 0,
) -> pd.DataFrame:
    """A measurement of each prompt."""
    numbers = {
        name: np.broadcast_to(np.asarray(column, dtype=np.float64), len(prompts))
        for name, column in (("value", values), ("baseline", baselines))
    }
    cell = {"framing": framing, "model": model, "lineage": model, "role": role}
    cell |= {"template": "plain", "repetition": repetition, "domain": "fruit", "feature": feature}
    return pd.DataFrame({"id": prompts["id"], **cell, **numbers, "reason": None})


def replies(
    measured: pd.DataFrame, refusals: Sequence[str] = (), empty: Sequence[str] = ()
) -> pd.DataFrame:
    """The replies that were measured; some are refusals or empty, by id."""
    columns = ["id", "framing", "model", "lineage", "role", "template", "repetition"]
    frame = measured[columns].drop_duplicates()
    return frame.assign(
        generation=[f"Reply {n}." for n in range(len(frame))],
        refusal=frame["id"].isin(refusals),
        empty=frame["id"].isin(empty),
        other_language=False,
        cut=False,
        reason=None,
    )


def baselines(features: pd.DataFrame) -> pd.DataFrame:
    """What tools say of the baselines, where masks change nothing."""
    bare = features[(features["framing"] == "bare") & features["baseline"].notna()]
    frame = bare.drop_duplicates(["id", "feature"]).rename(
        columns={"value": "of_reply", "baseline": "value"}
    )
    return frame[schemas.BASELINES.names].reset_index(drop=True)


def diagnosed(
    features: pd.DataFrame,
    generations: pd.DataFrame,
    prompts: pd.DataFrame,
    settings: Disparities,
    again: pd.DataFrame | None = None,
    prefixes: Collection[str] = (),
    declared: Mapping[str, Feature] | None = None,
    **planned: Any,
) -> Tables:
    """The diagnosis of what was measured, of all concepts unless `planned` says which."""
    framed = pd.DataFrame(columns=schemas.FRAMED.names) if again is None else again
    tables = {
        "features": features,
        "baselines": baselines(features),
        "generations": generations,
        "prompts": prompts,
        "again": framed,
    }
    plan = plan_of(settings, prefixes, declared or {})
    plan["concepts"] = sorted(set(prompts["concept"]))
    return diagnose("fruit", tables, plan | planned, Resampling(0.95, 100, 3))


def plan_of(
    settings: Disparities, prefixes: Collection[str], declared: Mapping[str, Feature]
) -> dict[str, Any]:
    """As far as a diagnosis reads it."""
    return {
        "name": "fruit",
        "features": {
            name: feature.model_dump(exclude_none=True) for name, feature in declared.items()
        },
        "headline_features": confirmatory_of(declared),
        "items": 1000,
        "prefixed": 0,
        "concepts": [],
        "reference": [],
        "concept": None,
        "control": None,
        "crossed": True,
        "prefixes": dict.fromkeys(prefixes, ""),
        "placebos": [],
        "disparities": settings.model_dump(),
    }
