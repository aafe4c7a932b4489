"""Put a probe benchmark together: built rows and figures -> `benchmarks/probes-{d}/`."""

import json

import pyarrow as pa

from evenruler.declaration import load_changelog, load_params, load_probe_source
from evenruler.probes import card, harness
from evenruler.publish import Benchmark, Config, Quality, write_benchmark
from evenruler.tables import read_table
from stages.running import BENCHMARKS, BUILT, DIAGNOSIS, SOURCES, run


def main(domain: str) -> None:
    """Write the benchmark's folder, whole or not at all."""
    params = load_params()
    settings = params.probes[domain]
    source = load_probe_source(SOURCES / "probes" / f"{domain}.yaml", settings)
    built = BUILT / "probes" / domain
    attributes = read_table(built / "attributes.parquet")
    criterion = _criterion(attributes)
    name = f"probes-{domain}"
    version = params.benchmarks[name].version
    evidence = json.loads((DIAGNOSIS / "probes" / "metrics.json").read_text(encoding="utf-8"))[domain]
    benchmark = Benchmark(
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
                read_table(built / "probes.parquet"),
                card.COLUMNS,
            ),
            Config("templates", "a template", read_table(built / "templates.parquet")),
            Config("attributes", "an attribute, with its criterion", attributes, card.ATTRIBUTE_COLUMNS),
        ],
        n_rejected=read_table(built / "rejected.parquet").num_rows,
        parameters=settings.model_dump(),
        quality=[Quality(*figure) for figure in card.FIGURES],
        quality_of_any=[Quality(*figure) for figure in card.OF_ANY_MODEL],
        evidence=evidence,
        models=params.origins(params.active.models),
        command=f"dvc repro card-probes@{domain}",
        harness=harness.harness_files(
            domain, source, criterion, f"./benchmarks/{name}", params.benchmarks[name].version
        ),
        harness_task=harness.task_name(domain),
        changelog=load_changelog(SOURCES / "changelogs" / f"{name}.yaml"),
    )
    write_benchmark(benchmark, BENCHMARKS / name)


def _criterion(attributes: pa.Table) -> dict[str, float]:
    rows = attributes.select(["attribute", "criterion"]).to_pylist()
    return {row["attribute"]: row["criterion"] for row in rows if row["criterion"] is not None}


if __name__ == "__main__":
    run(main)
