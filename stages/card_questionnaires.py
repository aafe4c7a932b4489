"""Put a questionnaire benchmark together: built rows and figures -> `benchmarks/nli-{q}/`."""

import json

from evenruler.declared import Declared
from evenruler.instruments.questionnaires import card, harness
from evenruler.instruments.questionnaires.settings import QuestionnaireSettings
from evenruler.instruments.questionnaires.source import load_questionnaire
from evenruler.models.entry import named
from evenruler.publish import Benchmark, Config, Quality, write_benchmark
from evenruler.publish.versions import load_changelog
from evenruler.tables import read_table
from stages.running import BENCHMARKS, BUILT, DIAGNOSIS, SOURCES, run


def main(questionnaire: str) -> None:
    """Write the benchmark's folder, whole or not at all."""
    params = Declared()
    source, scale = load_questionnaire(SOURCES / "questionnaires" / f"{questionnaire}.yaml", SOURCES / "scales")
    built = BUILT / "questionnaires" / questionnaire
    settings = params.entry("questionnaires", questionnaire, QuestionnaireSettings)
    name = f"nli-{questionnaire}"
    version = params.version(name)
    metrics = json.loads((DIAGNOSIS / "questionnaires" / "metrics.json").read_text(encoding="utf-8"))
    benchmark = Benchmark(
        name=name,
        title=source.title,
        version=version,
        language=source.language,
        task_categories=["text-classification"],
        tags=["psychometrics", "natural-language-inference", "questionnaire", "evaluation"],
        construct=source.construct_,
        warning=source.warning,
        reading=card.reading(source),
        limits=card.limits(source),
        citations=source.citations,
        configs=[
            Config(
                "prompts",
                "a premise and a hypothesis: item x term x intensifier",
                read_table(built / "prompts.parquet"),
                card.COLUMNS,
            ),
            Config("items", "an item with its templates", read_table(built / "items.parquet")),
            Config("terms", "a term of an item", read_table(built / "terms.parquet")),
        ],
        n_rejected=read_table(built / "rejected.parquet").num_rows,
        parameters={
            **settings.model_dump(),
            "scale": {word: level.weight for level in scale.levels for word in level.words},
        },
        quality=[Quality(*figure) for figure in card.FIGURES],
        quality_of_any=[Quality(*figure) for figure in card.OF_ANY_MODEL],
        evidence=metrics[questionnaire],
        models=_origins(params),
        command=f"dvc repro card-questionnaires@{questionnaire}",
        harness=harness.harness_files(
            questionnaire,
            source,
            scale,
            f"./benchmarks/{name}",
            version,
            temperature=settings.temperature,
            three_way=settings.three_way,
        ),
        harness_task=harness.task_name(questionnaire),
        changelog=load_changelog(SOURCES / "changelogs" / f"{name}.yaml"),
    )
    write_benchmark(benchmark, BENCHMARKS / name)


def _origins(params: Declared) -> dict[str, str]:
    """Where the models of the evidence come from; one that answers in several forms is there once for each."""
    origins = params.catalogue.origins(params.active.entailment)
    return {
        named(model, form): origin
        for model, origin in origins.items()
        for form in params.catalogue.models[model].configurations
    }


if __name__ == "__main__":
    run(main)
