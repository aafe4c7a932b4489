"""Diagnose models and instruments: built probes and their scores -> `data/diagnosis/probes/`."""

import json
from pathlib import Path

import pandas as pd

from evenruler import probes
from evenruler.declaration import Params, load_params
from evenruler.measurement import Resampling, as_metrics
from evenruler.probes import Diagnosis, schemas
from evenruler.probes.metrics import with_items
from evenruler.tables import read_frame, write_table
from stages.running import BUILT, DIAGNOSIS, SCORES, run

FOLDER = DIAGNOSIS / "probes"


def main() -> None:
    """Write the tables of the diagnosis, the tracked figures, and the data of the plots."""
    from evenruler.models import load_embedder

    params = load_params()
    templates = _built(params, "templates")
    embedder = load_embedder(params.diagnosis.embedder, params)
    texts = sorted({probes.without_slots(text) for text in templates["text"]})
    diagnosis = probes.diagnose(
        _built(params, "probes"),
        templates,
        _built(params, "attributes"),
        pd.concat([read_frame(SCORES / "probes" / f"{model}.parquet") for model in params.active.models]),
        dict(zip(texts, embedder.embed(texts), strict=True)),
        Resampling(params.diagnosis.level, params.diagnosis.resamples, params.diagnosis.seed),
        _built(params, "framed"),
    )
    _write_tables(diagnosis)
    _write_plots(diagnosis, FOLDER / "plots")
    metrics = json.dumps(with_items(as_metrics(diagnosis.figures, "set"), diagnosis.items), indent=2, sort_keys=True)
    (FOLDER / "metrics.json").write_text(metrics + "\n", encoding="utf-8")


def _built(params: Params, table: str) -> pd.DataFrame:
    frames = [
        read_frame(BUILT / "probes" / domain / f"{table}.parquet").assign(benchmark=domain) for domain in params.probes
    ]
    return pd.concat(frames, ignore_index=True)


def _write_tables(diagnosis: Diagnosis) -> None:
    write_table(diagnosis.biases, schemas.BIASES, FOLDER / "biases.parquet")
    write_table(diagnosis.associations, schemas.ASSOCIATIONS, FOLDER / "associations.parquet")
    write_table(diagnosis.items, schemas.ITEMS, FOLDER / "items.parquet")
    write_table(diagnosis.correlations, schemas.CORRELATIONS, FOLDER / "correlations.parquet")
    write_table(diagnosis.figures[schemas.FIGURES.names], schemas.FIGURES, FOLDER / "figures.parquet")


def _write_plots(diagnosis: Diagnosis, folder: Path) -> None:
    """What `dvc plots` draws: it reads CSV, not Parquet."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, frame in (
        ("validity", diagnosis.associations.dropna(subset=["criterion"])),
        ("correlations", diagnosis.correlations),
        ("distributions", diagnosis.biases),
    ):
        frame.to_csv(folder / f"{name}.csv", index=False, float_format="%.4f", lineterminator="\n")


if __name__ == "__main__":
    run(main)
