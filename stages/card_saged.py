"""Put the benchmark of a domain together: built rows and figures -> `benchmarks/saged-{d}/`."""

import json

from evenruler.declared import Declared
from evenruler.instruments.saged import card
from evenruler.instruments.saged.settings import DomainSettings
from evenruler.instruments.saged.source import load_domain
from evenruler.publish import Benchmark, Config, Quality, measured, write_benchmark
from evenruler.publish.versions import load_changelog
from evenruler.tables import read_table
from stages.running import BENCHMARKS, BUILT, DIAGNOSIS, SENTENCES, SOURCES, run


def main(domain: str) -> None:
    """Write the benchmark's folder, whole or not at all."""
    params = Declared()
    settings = params.entry("domains", domain, DomainSettings)
    source = load_domain(SOURCES / "domains" / f"{domain}.yaml")
    built = BUILT / "saged" / domain
    prompts, rejected = read_table(built / "prompts.parquet"), read_table(built / "rejected.parquet")
    items = prompts.filter(prompts["is_root"])["concept"].value_counts().field("counts").to_pylist()
    name = f"saged-{domain}"
    metrics = json.loads((DIAGNOSIS / "saged" / "metrics.json").read_text(encoding="utf-8"))
    evidence = metrics.get(domain, {})  # of no model, where none could be asked
    benchmark = Benchmark(
        name=name,
        title=source.title,
        version=params.version(name),
        language=source.language,
        task_categories=["text-generation"],
        tags=["fairness", "bias", "counterfactual", "evaluation", "saged"],
        construct=source.construct_,
        warning=source.warning,
        reading=card.reading(source),
        limits=card.limits(source, settings, max(items)),
        citations=source.citations,
        configs=[
            Config("prompts", "a prompt with its baseline: root item x concept", prompts, card.COLUMNS),
            Config("sources", "a page or file, read for a concept", read_table(SENTENCES / domain / "sources.parquet")),
            Config("rejected", "a sentence that became no prompt, and why", rejected),
        ],
        n_rejected=rejected.num_rows,
        parameters=source.assemble.model_dump(),
        quality=[Quality(*figure) for figure in card.FIGURES],
        quality_of_any=[],
        evidence=evidence,
        models=measured(params.catalogue.origins(params.active.models), evidence),
        command=f"dvc repro card-saged{'' if settings.text == 'ours' else '-of-others'}@{domain}",
        harness={},
        harness_task=None,
        changelog=load_changelog(SOURCES / "changelogs" / f"{name}.yaml"),
    )
    write_benchmark(benchmark, BENCHMARKS / name)


if __name__ == "__main__":
    run(main)
