"""Put a probe benchmark together: built rows and figures -> `benchmarks/probes-{d}/`."""

import json

from evenruler.declaration import load_params, load_probe_source
from evenruler.publish import Benchmark, Config, write_benchmark
from evenruler.tables import read_table
from stages.running import BENCHMARKS, BUILT, DIAGNOSIS, SOURCES, run

READING = (
    "A score is the log-likelihood of the sentences with the first group's targets minus that with the second "
    "group's, in nats, averaged over targets and templates: {direction}. Templates with keying -1 count with "
    "their sign changed."
)


def main(domain: str) -> None:
    """Write the benchmark's folder, whole or not at all."""
    params = load_params()
    settings = params.probes[domain]
    source = load_probe_source(SOURCES / "probes" / f"{domain}.yaml", settings)
    built = BUILT / "probes" / domain
    evidence = json.loads((DIAGNOSIS / "probes" / "metrics.json").read_text(encoding="utf-8"))[domain]
    configs = [
        Config("probes", "a sentence: template x attribute x target", read_table(built / "probes.parquet")),
        Config("templates", "a template", read_table(built / "templates.parquet")),
        Config("attributes", "an attribute, with its criterion", read_table(built / "attributes.parquet")),
    ]
    name = f"probes-{domain}"
    benchmark = Benchmark(
        name=name,
        title=source.title,
        version=settings.version,
        language=source.language,
        construct=source.construct_,
        warning=source.warning,
        reading=READING.format(direction=source.direction),
        configs=configs,
        n_rejected=read_table(built / "rejected.parquet").num_rows,
        parameters=settings.model_dump(exclude={"version"}),
        evidence=evidence,
        command=f"dvc repro card-probes@{domain}",
    )
    write_benchmark(benchmark, BENCHMARKS / name)


if __name__ == "__main__":
    run(main)
