"""Diagnose models and questionnaires: built prompts and their scores -> `data/diagnosis/questionnaires/`."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from evenruler.declared import Declared
from evenruler.errors import UserError
from evenruler.instruments.questionnaires import schemas
from evenruler.instruments.questionnaires.acceptability import (
    ACCEPTABILITY,
    SLOR,
    acceptability,
    probability_of_acceptable,
    sentences,
)
from evenruler.instruments.questionnaires.corpora import load_corpus
from evenruler.instruments.questionnaires.diagnosis import diagnose, source_prompts
from evenruler.instruments.questionnaires.intervening import Intervention, changes, trajectories
from evenruler.instruments.questionnaires.item_scores import Settings, score_items
from evenruler.instruments.questionnaires.settings import InterventionSettings, QuestionnaireSettings, corpora_at
from evenruler.measurement import Resampling, as_metrics
from evenruler.models.adapter_record import ADAPTERS, read_adapter
from evenruler.tables import read_frame, write_table
from stages.running import BUILT, DIAGNOSIS, SCORES, SOURCES, run

FOLDER = DIAGNOSIS / "questionnaires"

KINDS = {"verbaliser": "causal", "clm": "causal", "mlm": "masked", "head": "nli"}
"""What kind of model answers in which way."""


def main() -> None:
    """Write the tables of the diagnosis and the tracked figures."""
    params = Declared()
    prompts, items = _built(params, "prompts"), _built(params, "items")
    population = _population(params)
    members = population.loc[population["member"], "model"].unique().tolist()
    diagnosis = diagnose(
        prompts,
        items,
        _scores(params),
        _embeddings(params, prompts, items),
        _settings(params),
        _resampling(params),
        members,
        _acceptability(params, prompts),
        _built(params, "framed") if params.brittleness.questionnaires[params.scale] else None,
    )
    write_table(population, schemas.POPULATION, FOLDER / "population.parquet")
    write_table(diagnosis.cells, schemas.CELLS, FOLDER / "cells.parquet")
    write_table(diagnosis.items, schemas.ITEM_SCORES, FOLDER / "items.parquet")
    write_table(diagnosis.scales, schemas.SCALE_SCORES, FOLDER / "scales.parquet")
    write_table(diagnosis.content, schemas.CONTENT, FOLDER / "content.parquet")
    write_table(diagnosis.quality, schemas.QUALITY, FOLDER / "quality.parquet")
    write_table(diagnosis.figures[schemas.FIGURES.names], schemas.FIGURES, FOLDER / "figures.parquet")
    metrics = json.dumps(as_metrics(diagnosis.figures, "subscale"), indent=2, sort_keys=True)
    (FOLDER / "metrics.json").write_text(metrics + "\n", encoding="utf-8")
    _refuse_poor(params, diagnosis.quality)
    _write_interventions(params, prompts, items, members)


def _built(params: Declared, table: str) -> pd.DataFrame:
    frames = [
        read_frame(BUILT / "questionnaires" / name / f"{table}.parquet").assign(questionnaire=name)
        for name in params.entries("questionnaires", QuestionnaireSettings)
    ]
    return pd.concat(frames, ignore_index=True)


def _scores(params: Declared) -> pd.DataFrame:
    return _answers([SCORES / "questionnaires" / f"{model}.parquet" for model in params.active.entailment])


def _answers(files: list[Path]) -> pd.DataFrame:
    """What models answered, with their kind."""
    found = pd.concat(map(read_frame, files))
    return found.assign(kind=found["configuration"].map(KINDS))


def _embeddings(params: Declared, prompts: pd.DataFrame, items: pd.DataFrame) -> dict[str, NDArray[np.float32]]:
    from evenruler.models.catalogue import load

    texts = sorted({*items["original"], *source_prompts(prompts)["whole"]})
    return dict(zip(texts, load(params.diagnosis.embedder, params.catalogue).embed(texts), strict=True))


def _acceptability(params: Declared, prompts: pd.DataFrame) -> pd.DataFrame | None:
    """How acceptable the sentences are, by a causal model or a classifier, where one is named."""
    from evenruler.models.catalogue import load

    judge = params.diagnosis.acceptability
    if judge is None:
        return None
    texts = sentences(prompts)
    if params.catalogue.can(judge, "slor"):
        values = load(judge, params.catalogue).slor(texts)
        return acceptability(prompts, dict(zip(texts, values, strict=True)), SLOR)
    classifier = load(judge, params.catalogue)
    shares = probability_of_acceptable(classifier.classify(texts), classifier.labels, judge)
    return acceptability(prompts, dict(zip(texts, shares, strict=True)), ACCEPTABILITY)


def _settings(params: Declared) -> dict[str, Settings]:
    declared = params.entries("questionnaires", QuestionnaireSettings)
    return {name: Settings(entry.temperature, entry.three_way) for name, entry in declared.items()}


def _resampling(params: Declared) -> Resampling:
    return Resampling(params.diagnosis.level, params.diagnosis.resamples, params.diagnosis.seed)


def _population(params: Declared) -> pd.DataFrame:
    """The models that were asked, and whether they count: one fitted here must reach its bar."""
    rows = []
    for model in params.active.entailment:
        entry = params.catalogue.models[model]
        row: dict[str, object] = {
            "model": model,
            "lineage": params.catalogue.lineage(model),
            "accuracy": None,
            "bar": None,
            "n_held_out": None,
            "member": True,
            "standing": "counts",
        }
        if entry.kind == "encoder":
            record = read_adapter(model, ADAPTERS)
            row |= {
                "accuracy": record.accuracy,
                "bar": record.bar,
                "n_held_out": record.n_held_out,
                "member": not record.below_bar,
                "standing": "below its bar, does not count" if record.below_bar else "counts",
            }
        rows += [{**row, "kind": KINDS[form], "configuration": form} for form in entry.configurations]
    return pd.DataFrame(rows)


def _refuse_poor(params: Declared, quality: pd.DataFrame) -> None:
    """Stop at a poor item of a questionnaire that asks for it."""
    poor = quality[quality["verdict"] == "poor"]
    for record in poor.to_dict("records"):
        if params.entry("questionnaires", record["questionnaire"], QuestionnaireSettings).stop_below:
            raise UserError(
                f"{record['measure']} is {record['value']:.2f}",
                where=f"{record['questionnaire']}, item {record['item']}",
                remedy=f"{record['advice']}; or take `stop_below` out of params.yaml",
            )


def _write_interventions(params: Declared, prompts: pd.DataFrame, items: pd.DataFrame, members: list[str]) -> None:
    """Scores on the way through every corpus, and the first against the last; empty tables where there is no corpus."""
    if not params.active.interventions:
        for name, schema in (
            ("trajectories", schemas.TRAJECTORIES),
            ("changes", schemas.CHANGES),
            ("course", schemas.COURSE),
        ):
            write_table([], schema, FOLDER / f"{name}.parquet")
        return
    folders = [SCORES / "interventions" / model for model in params.active.interventions]
    answered = _answers([folder / "answers.parquet" for folder in folders])
    scored = pd.concat(
        [
            score_items(prompts, items, rows, _settings(params)).assign(
                corpus=rows["corpus"].iloc[0], epoch=rows["epoch"].iloc[0]
            )
            for _, rows in answered.groupby(["corpus", "epoch"], sort=True)
        ]
    )
    declared = corpora_at(params.entries("interventions", InterventionSettings), params.scale)
    corpora = {name: load_corpus(SOURCES / "corpora" / f"{name}.yaml") for name in declared}
    interventions = {name: Intervention(corpus.role, corpus.expect) for name, corpus in corpora.items()}
    write_table(trajectories(scored, _resampling(params)), schemas.TRAJECTORIES, FOLDER / "trajectories.parquet")
    write_table(
        changes(scored, interventions, params.diagnosis.level, members)[schemas.CHANGES.names],
        schemas.CHANGES,
        FOLDER / "changes.parquet",
    )
    write_table(
        pd.concat([read_frame(folder / "course.parquet") for folder in folders]),
        schemas.COURSE,
        FOLDER / "course.parquet",
    )


if __name__ == "__main__":
    run(main)
