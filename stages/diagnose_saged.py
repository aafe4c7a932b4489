"""Diagnose disparities: built prompts, replies and their features -> `data/diagnosis/saged/`."""

import json
from dataclasses import fields

import pandas as pd

from evenruler.declared import Declared
from evenruler.instruments.saged import schemas
from evenruler.instruments.saged.diagnose.diagnosis import Diagnosis, all_of, diagnose
from evenruler.instruments.saged.settings import DomainSettings, SagedSettings
from evenruler.measurement import as_metrics
from evenruler.tables import read_frame, write_table
from stages.running import BUILT, DIAGNOSIS, FEATURES, GENERATIONS, run

FOLDER = DIAGNOSIS / "saged"
REPEATED = ["framing", "model", "lineage", "role", "template", "domain", "feature", "reason"]
"""Columns with few values, which are many times smaller as categories."""


def main() -> None:
    """Write the tables of the diagnosis and the tracked figures; empty tables where no domain is declared."""
    params = Declared()
    features = _of_models(params, "features").astype(dict.fromkeys(REPEATED, "category"))
    replies = pd.concat([read_frame(GENERATIONS / f"{model}.parquet") for model in params.active.models])
    found = [_of_domain(params, domain, features, replies) for domain in params.entries("domains", DomainSettings)]
    diagnosis = all_of(found) if found else None
    for field in fields(Diagnosis):
        schema = getattr(schemas, field.name.upper())
        rows = getattr(diagnosis, field.name)[schema.names] if diagnosis else []
        write_table(rows, schema, FOLDER / f"{field.name}.parquet")
    write_table(_of_models(params, "topics"), schemas.TOPICS, FOLDER / "topics.parquet")
    metrics = as_metrics(_tracked(diagnosis.figures, params), "part") if diagnosis else {}
    (FOLDER / "metrics.json").write_text(json.dumps(metrics, indent=2, sort_keys=True) + "\n", encoding="utf-8")


def _of_domain(params: Declared, domain: str, features: pd.DataFrame, replies: pd.DataFrame) -> Diagnosis:
    prompts, framed = (read_frame(BUILT / "saged" / domain / f"{table}.parquet") for table in ("prompts", "framed"))
    ids = {*prompts["id"], *framed["id"]}
    return diagnose(
        domain,
        features[features["domain"] == domain],
        replies[replies["id"].isin(ids)],
        prompts,
        framed,
        params.part("saged", SagedSettings).disparities,
        params.scale,
        params.diagnosis.level,
        params.diagnosis.seed,
    )


def _tracked(figures: pd.DataFrame, params: Declared) -> pd.DataFrame:
    """Those of features that go by their name in params: clusters, of which each is a feature, are too many."""
    of_part = figures["part"].str.split(", ").str[2]
    return figures[of_part.isna() | of_part.isin(list(params.part("saged", SagedSettings).features))]


def _of_models(params: Declared, table: str) -> pd.DataFrame:
    return pd.concat([read_frame(FEATURES / model / f"{table}.parquet") for model in params.active.models])


if __name__ == "__main__":
    run(main)
