"""Diagnose models and instruments: built probes and their scores -> `data/diagnosis/probes/`."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from evenruler.declared import Declared
from evenruler.instruments.probes import schemas
from evenruler.instruments.probes.diagnosis import Diagnosis, diagnose
from evenruler.instruments.probes.evolve import evidence
from evenruler.instruments.probes.evolve.schemas import COMPARISONS, GENERATIONS, REWORDINGS
from evenruler.instruments.probes.evolve.sets import ELITES, POPULATION
from evenruler.instruments.probes.evolve.settings import EvolveSettings, evolved, probe_sets
from evenruler.instruments.probes.metrics import with_items
from evenruler.instruments.probes.settings import ProbeSettings
from evenruler.instruments.probes.source import without_slots
from evenruler.measurement import Resampling, as_metrics
from evenruler.tables import read_frame, write_table
from stages.running import BUILT, DIAGNOSIS, SCORES, run

FOLDER = DIAGNOSIS / "probes"


def main() -> None:
    """Write the tables of the diagnosis, the tracked figures, and the data of the plots."""
    from evenruler.models.catalogue import load

    params = Declared()
    sets = probe_sets(params.entries("probes", ProbeSettings), params.active.evolved)
    templates = _built("templates", sets)
    history = _built("history", _evolved(params))
    embedder = load(params.diagnosis.embedder, params.catalogue)
    texts = sorted({without_slots(text) for table in (templates, history) for text in table["text"]})
    embeddings = dict(zip(texts, embedder.embed(texts), strict=True))
    resampling = Resampling(params.diagnosis.level, params.diagnosis.resamples, params.diagnosis.seed)
    diagnosis = diagnose(
        _built("probes", sets),
        templates,
        _built("attributes", sets),
        pd.concat([read_frame(SCORES / "probes" / f"{model}.parquet") for model in params.active.models]),
        embeddings,
        resampling,
        _built("framed", sets) if params.brittleness.probes[params.scale] else None,
    )
    _write_tables(diagnosis)
    _write_evolution(params, diagnosis, templates, history, embeddings, resampling)
    _write_plots(diagnosis, FOLDER / "plots")
    metrics = json.dumps(with_items(as_metrics(diagnosis.figures, "set"), diagnosis.items), indent=2, sort_keys=True)
    (FOLDER / "metrics.json").write_text(metrics + "\n", encoding="utf-8")


def _evolved(params: Declared) -> list[str]:
    return list(map(evolved, params.active.evolved))


def _built(table: str, built: Iterable[str]) -> pd.DataFrame:
    """A table of some built probes, with their name as `benchmark`."""
    frames = [read_frame(BUILT / "probes" / name / f"{table}.parquet").assign(benchmark=name) for name in built]
    return pd.concat(frames or [pd.DataFrame(columns=["text", "benchmark"])], ignore_index=True)


def _write_evolution(
    params: Declared,
    diagnosis: Diagnosis,
    templates: pd.DataFrame,
    history: pd.DataFrame,
    embeddings: Mapping[str, NDArray[np.float32]],
    resampling: Resampling,
) -> None:
    """What evolution achieved, by generation and against the other sets of the domain."""
    attributes = _built("attributes", params.entries("probes", ProbeSettings))
    biases = _built("biases", _evolved(params))
    generations, comparisons, rewordings = [], [], []
    for domain in params.active.evolved:
        name, model = evolved(domain), params.entry("evolve", domain, EvolveSettings).model[params.scale]
        own = history[history["benchmark"] == name], biases[biases["benchmark"] == name]
        of_domain = attributes[attributes["benchmark"] == domain].set_index("attribute")
        others = templates[templates["benchmark"] == domain]["set"].unique()
        pairs = [((name, which), (domain, other)) for which in (POPULATION, ELITES) for other in others]
        generations.append(evidence.by_generation(*own, embeddings, name, model, resampling))
        rewordings.append(evidence.rewordings(_built("tries", [name]), name))
        comparisons += [
            evidence.comparisons(
                diagnosis.biases, templates, embeddings, model, pairs, resampling, of_domain["criterion"]
            ),
            evidence.guidance(*own, embeddings, name, model, resampling),
        ]
    write_table(_together(generations, GENERATIONS), GENERATIONS, FOLDER / "generations.parquet")
    write_table(_together(rewordings, REWORDINGS), REWORDINGS, FOLDER / "rewordings.parquet")
    write_table(_together(comparisons, COMPARISONS), COMPARISONS, FOLDER / "comparisons.parquet")


def _together(frames: list[pd.DataFrame], schema: pa.Schema) -> pd.DataFrame:
    found = [frame for frame in frames if len(frame)]
    return pd.concat(found, ignore_index=True) if found else pd.DataFrame(columns=schema.names)


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
