"""Diagnose how framings move answers: built prompts and their scores -> `data/diagnosis/framing/`."""

import json
from dataclasses import fields

import pandas as pd

from evenruler.declared import Declared
from evenruler.instruments.framing import schemas
from evenruler.instruments.framing.diagnosis import Diagnosis, all_of, diagnose
from evenruler.instruments.framing.settings import ContrastSettings
from evenruler.instruments.framing.source import load_contrast
from evenruler.measurement import Resampling, as_metrics
from evenruler.tables import read_frame, write_table
from stages.running import BUILT, DIAGNOSIS, SCORES, SOURCES, run

FOLDER = DIAGNOSIS / "framing"


def main() -> None:
    """Write the tables of the diagnosis and the tracked figures; empty tables where no contrast is declared."""
    params = Declared()
    forms, replies = _scores(params, "forms"), _scores(params, "replies")
    declared = params.entries("contrasts", ContrastSettings)
    found = [_of_contrast(params, contrast, settings, forms, replies) for contrast, settings in declared.items()]
    diagnosis = all_of(found) if found else None
    for field in fields(Diagnosis):
        schema = getattr(schemas, field.name.upper())
        rows = getattr(diagnosis, field.name)[schema.names] if diagnosis else []
        write_table(rows, schema, FOLDER / f"{field.name}.parquet")
    metrics = as_metrics(diagnosis.figures, "part") if diagnosis else {}
    (FOLDER / "metrics.json").write_text(json.dumps(metrics, indent=2, sort_keys=True) + "\n", encoding="utf-8")


def _of_contrast(
    params: Declared, contrast: str, settings: ContrastSettings, forms: pd.DataFrame, replies: pd.DataFrame
) -> Diagnosis:
    source = load_contrast(SOURCES / "contrasts" / f"{contrast}.yaml", settings)
    prompts = read_frame(BUILT / "framing" / contrast / "prompts.parquet")
    resampling = Resampling(params.diagnosis.level, params.diagnosis.resamples, params.diagnosis.seed)
    own_forms, own_replies = (table[table["id"].isin(prompts["id"])] for table in (forms, replies))
    return diagnose(contrast, source, settings, prompts, own_forms, own_replies, resampling)


def _scores(params: Declared, table: str) -> pd.DataFrame:
    return pd.concat([read_frame(SCORES / "framing" / model / f"{table}.parquet") for model in params.active.models])


if __name__ == "__main__":
    run(main)
