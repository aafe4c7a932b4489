"""Put a probe benchmark together: built rows and figures -> `benchmarks/probes-{d}/`."""

import json
from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from evenruler.declared import Declared
from evenruler.instruments.probes import card, harness
from evenruler.instruments.probes.settings import ProbeSettings
from evenruler.instruments.probes.source import ProbeSource, load_probe_source
from evenruler.publish import Benchmark, Config, Quality, measured, write_benchmark
from evenruler.publish.versions import load_changelog
from evenruler.tables import read_table
from stages.running import BENCHMARKS, BUILT, DIAGNOSIS, SOURCES, run


def main(domain: str) -> None:
    """Write the benchmark's folder, whole or not at all."""
    params = Declared()
    settings = params.entry("probes", domain, ProbeSettings)
    source = load_probe_source(SOURCES / "probes" / f"{domain}.yaml", settings)
    benchmark = benchmark_of(domain, source, params, settings.model_dump(), f"dvc repro card-probes@{domain}")
    write_benchmark(benchmark, BENCHMARKS / benchmark.name)


def benchmark_of(
    built: str, source: ProbeSource, params: Declared, parameters: Mapping[str, Any], command: str
) -> Benchmark:
    """The benchmark of a folder under `data/built/probes`.

    Args:
        built: Name of the folder.
        source: The domain, with the template sets that the folder holds.
        params: The declaration.
        parameters: What it was built with.
        command: What rebuilds it.
    """
    folder, name = BUILT / "probes" / built, f"probes-{built}"
    attributes = read_table(folder / "attributes.parquet")
    criterion = _criterion(attributes)
    version = params.version(name)
    evidence = json.loads((DIAGNOSIS / "probes" / "metrics.json").read_text(encoding="utf-8"))[built]
    return Benchmark(
        name=name,
        title=source.title,
        version=version,
        language=source.language,
        task_categories=["text-generation"],
        tags=["fairness", "bias", "psychometrics", "evaluation", "probes"],
        construct=source.construct_,
        warning=source.warning,
        reading=card.reading(source),
        limits=card.limits(source, attributes.num_rows - len(criterion)),
        citations=source.citations,
        configs=[
            Config(
                "probes",
                "a sentence: template x attribute x target",
                read_table(folder / "probes.parquet"),
                card.COLUMNS,
            ),
            Config("templates", "a template", read_table(folder / "templates.parquet")),
            Config("attributes", "an attribute, with its criterion", attributes, card.ATTRIBUTE_COLUMNS),
        ],
        n_rejected=read_table(folder / "rejected.parquet").num_rows,
        parameters=parameters,
        quality=[Quality(*figure) for figure in card.FIGURES],
        quality_of_any=[Quality(*figure) for figure in card.OF_ANY_MODEL],
        evidence=evidence,
        models=measured(params.catalogue.origins(params.active.models), evidence),
        command=command,
        harness=harness.harness_files(built, source, criterion, f"./benchmarks/{name}", version),
        harness_task=harness.task_name(built),
        changelog=load_changelog(SOURCES / "changelogs" / f"{name}.yaml"),
    )


def _criterion(attributes: pa.Table) -> dict[str, float]:
    rows = attributes.select(["attribute", "criterion"]).to_pylist()
    return {row["attribute"]: row["criterion"] for row in rows if row["criterion"] is not None}


if __name__ == "__main__":
    run(main)
