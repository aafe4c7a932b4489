"""Diagnose models and questionnaires: built prompts and their scores -> `data/diagnosis/questionnaires/`."""

import json

import pandas as pd

from evenruler import questionnaires
from evenruler.declaration import Params, load_params
from evenruler.measurement import Resampling, as_metrics
from evenruler.questionnaires import schemas
from evenruler.tables import read_frame, write_table
from stages.running import BUILT, DIAGNOSIS, SCORES, run

FOLDER = DIAGNOSIS / "questionnaires"

KINDS = {"verbaliser": "causal", "head": "nli"}
"""What kind of model answers in which way."""


def main() -> None:
    """Write the tables of the diagnosis and the tracked figures."""
    from evenruler.models import load_embedder

    params = load_params()
    prompts, items = _built(params, "prompts"), _built(params, "items")
    scores = pd.concat(
        [read_frame(SCORES / "questionnaires" / f"{model}.parquet") for model in params.active.entailment]
    )
    scores["kind"] = scores["configuration"].map(KINDS)
    embedder = load_embedder(params.diagnosis.embedder, params)
    texts = sorted({*items["original"], *questionnaires.source_prompts(prompts)["whole"]})
    diagnosis = questionnaires.diagnose(
        prompts,
        items,
        scores,
        dict(zip(texts, embedder.embed(texts), strict=True)),
        {
            name: questionnaires.Settings(entry.temperature, entry.three_way)
            for name, entry in params.questionnaires.items()
        },
        Resampling(params.diagnosis.level, params.diagnosis.resamples, params.diagnosis.seed),
    )
    write_table(diagnosis.cells, schemas.CELLS, FOLDER / "cells.parquet")
    write_table(diagnosis.items, schemas.ITEM_SCORES, FOLDER / "items.parquet")
    write_table(diagnosis.scales, schemas.SCALE_SCORES, FOLDER / "scales.parquet")
    write_table(diagnosis.content, schemas.CONTENT, FOLDER / "content.parquet")
    write_table(diagnosis.figures[schemas.FIGURES.names], schemas.FIGURES, FOLDER / "figures.parquet")
    metrics = json.dumps(as_metrics(diagnosis.figures, "subscale"), indent=2, sort_keys=True)
    (FOLDER / "metrics.json").write_text(metrics + "\n", encoding="utf-8")


def _built(params: Params, table: str) -> pd.DataFrame:
    frames = [
        read_frame(BUILT / "questionnaires" / name / f"{table}.parquet").assign(questionnaire=name)
        for name in params.questionnaires
    ]
    return pd.concat(frames, ignore_index=True)


if __name__ == "__main__":
    run(main)
