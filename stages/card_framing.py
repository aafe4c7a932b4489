"""Put a benchmark of a contrast together: built rows and figures -> `benchmarks/framing-{c}/`."""

import json

from evenruler.declared import Declared
from evenruler.instruments.framing import card
from evenruler.instruments.framing.settings import ContrastSettings
from evenruler.instruments.framing.source import load_contrast
from evenruler.publish import Benchmark, Config, Quality, measured, write_benchmark
from evenruler.publish.versions import load_changelog
from evenruler.tables import read_table
from stages.running import BENCHMARKS, BUILT, DIAGNOSIS, SOURCES, run


def main(contrast: str) -> None:
    """Write the benchmark's folder, whole or not at all."""
    params = Declared()
    settings = params.entry("contrasts", contrast, ContrastSettings)
    source = load_contrast(SOURCES / "contrasts" / f"{contrast}.yaml", settings)
    built = BUILT / "framing" / contrast
    name = f"framing-{contrast}"
    metrics = json.loads((DIAGNOSIS / "framing" / "metrics.json").read_text(encoding="utf-8"))
    evidence = metrics.get(contrast, {})  # of no model, where none could be asked
    benchmark = Benchmark(
        name=name,
        title=source.title,
        version=params.version(name),
        language=source.language,
        task_categories=["text-generation"],
        tags=["fairness", "bias", "prompt-sensitivity", "evaluation", "framing"],
        construct=source.construct_,
        warning=source.warning,
        reading=card.reading(source),
        limits=card.limits(source, settings),
        citations=source.citations,
        configs=[
            Config(
                "prompts",
                "a prompt: task x cues x stimulus x order of options",
                read_table(built / "prompts.parquet"),
                card.COLUMNS,
            ),
            Config("outcomes", "a surface form of an outcome class", read_table(built / "outcomes.parquet")),
            Config("stimuli", "a stimulus", read_table(built / "stimuli.parquet")),
        ],
        n_rejected=read_table(built / "rejected.parquet").num_rows,
        parameters={"variant": settings.variant},  # what the rows hang on; the rest is how models are asked
        quality=[Quality(*figure) for figure in card.figures(source)],
        quality_of_any=[],
        evidence=evidence,
        models=measured(params.catalogue.origins(params.active.models), evidence),
        command=f"dvc repro card-framing@{contrast}",
        harness={},
        harness_task=None,
        changelog=load_changelog(SOURCES / "changelogs" / f"{name}.yaml"),
    )
    write_benchmark(benchmark, BENCHMARKS / name)


if __name__ == "__main__":
    run(main)
