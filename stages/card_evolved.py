"""Put the benchmark of what evolved together: built rows, history, figures -> `benchmarks/probes-{d}-evolved/`."""

from dataclasses import replace

import pyarrow.compute as pc

from evenruler.declared import Declared
from evenruler.instruments.probes.evolve import card
from evenruler.instruments.probes.evolve.population import GUIDED
from evenruler.instruments.probes.evolve.sets import ELITES, with_sets
from evenruler.instruments.probes.evolve.settings import EvolveSettings, evolved
from evenruler.instruments.probes.settings import ProbeSettings
from evenruler.instruments.probes.source import load_probe_source
from evenruler.publish import Config, write_benchmark
from evenruler.tables import read_table
from stages.card_probes import benchmark_of
from stages.running import BENCHMARKS, BUILT, SOURCES, run


def main(domain: str) -> None:
    """Write the benchmark's folder, whole or not at all."""
    params = Declared()
    settings, scale = params.entry("evolve", domain, EvolveSettings), params.scale
    folder = BUILT / "probes" / evolved(domain)
    templates, history = read_table(folder / "templates.parquet"), read_table(folder / "history.parquet")
    source = with_sets(
        load_probe_source(SOURCES / "probes" / f"{domain}.yaml", params.entry("probes", domain, ProbeSettings)),
        templates.to_pylist(),
    )
    parameters = settings.model_dump(mode="json") | {"scale": scale}
    benchmark = benchmark_of(evolved(domain), source, params, parameters, f"dvc repro card-evolved@{domain}")
    last = pc.max(history["generation"])
    population = history.filter(pc.and_(pc.equal(history["run"], GUIDED), pc.equal(history["generation"], last)))
    sentences, _, attributes = benchmark.configs
    benchmark = replace(
        benchmark,
        reading=f"{benchmark.reading} {card.reading(settings, scale)}",
        limits=[*benchmark.limits, *card.limits(settings, scale)],
        configs=[
            Config("templates", "one of the best templates", templates.filter(pc.equal(templates["set"], ELITES))),
            Config(
                "population", "a template of the last population, and its fitness", population, card.LINEAGE_COLUMNS
            ),
            Config("history", "a template in a generation, how it came about, and its fitness", history),
            Config("tries", "a reply of the operator", read_table(folder / "tries.parquet"), card.TRY_COLUMNS),
            sentences,
            attributes,
        ],
    )
    write_benchmark(benchmark, BENCHMARKS / benchmark.name)


if __name__ == "__main__":
    run(main)
