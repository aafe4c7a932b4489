"""Evolve a set of templates: `data/sources/probes/{d}.yaml` -> `data/built/probes/{d}-evolved/`."""

from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from evenruler.declared import Declared
from evenruler.files import replace
from evenruler.instruments.probes.build import compile_domain
from evenruler.instruments.probes.criterion import read_criterion
from evenruler.instruments.probes.evolve import records, schemas
from evenruler.instruments.probes.evolve.evolution import VERSION, Evolution
from evenruler.instruments.probes.evolve.measuring import Ruler
from evenruler.instruments.probes.evolve.operators import ModelOperator
from evenruler.instruments.probes.evolve.population import GUIDED, RANDOM
from evenruler.instruments.probes.evolve.records import Run
from evenruler.instruments.probes.evolve.result import as_source, starting
from evenruler.instruments.probes.evolve.settings import EvolveSettings, evolved, require_evolving, require_start
from evenruler.instruments.probes.settings import ProbeSettings
from evenruler.instruments.probes.source import ProbeSource, load_probe_source, without_slots
from evenruler.tables import content_sha256, write_table
from stages.compile import write_compiled
from stages.running import BUILT, SOURCES, run


def main(domain: str) -> None:
    """Write what evolved as a probe domain of its own, and beside it how it came about.

    A run that broke off goes on after its last whole generation.
    """
    params, path = Declared(), Path("params.yaml")
    settings = params.entry("evolve", domain, EvolveSettings)
    require_evolving(domain, settings, params.entries("probes", ProbeSettings), params.catalogue, path)
    source = load_probe_source(SOURCES / "probes" / f"{domain}.yaml", params.entry("probes", domain, ProbeSettings))
    require_start(domain, settings, source, path)
    runs = runs_of(domain, params, source)
    guided = runs[0]
    result = as_source(source, settings.start, guided)
    compiled = compile_domain(
        evolved(domain),
        result,
        ProbeSettings(article=params.entry("probes", domain, ProbeSettings).article_of(settings.start)),
        read_criterion(source, SOURCES / "criteria"),
    )
    folder = BUILT / "probes" / evolved(domain)
    write_compiled(compiled, folder)
    shared = {column: compiled.templates[0][column] for column in ("variant", "source", "licence")}
    attributes = list(source.attributes)
    for name, schema, frames in (
        ("history", schemas.HISTORY, [records.history(each, evolved(domain), shared) for each in runs]),
        ("tries", schemas.TRIES, [records.tries(each, evolved(domain), shared) for each in runs]),
        ("gradients", schemas.GRADIENTS, map(records.gradients, runs)),
        ("biases", schemas.BIASES, [records.biases(each, attributes) for each in runs]),
    ):
        write_table(pd.concat(frames, ignore_index=True)[schema.names], schema, folder / f"{name}.parquet")
    print("; ".join(f"{domain}, {each.name} run: {each.in_words}" for each in runs))


def runs_of(domain: str, params: Declared, source: ProbeSource) -> list[Run]:
    """The guided run, and the one that replaces any word where the scale asks for it."""
    from evenruler.models.catalogue import load  # takes seconds
    from evenruler.models.store import cache_root

    settings, scale = params.entry("evolve", domain, EvolveSettings), params.scale
    model, writer = load(settings.model[scale], params.catalogue), load(settings.operator[scale], params.catalogue)
    embedder = load(params.diagnosis.embedder, params.catalogue)
    article = params.entry("probes", domain, ProbeSettings).article_of(settings.start)
    ruler = Ruler(model, source, article, settings.gradient_attributes[scale])
    operator = ModelOperator(writer, settings.new_tokens, settings.shots[scale])

    def embed(texts: list[str]) -> NDArray[np.float32]:
        return embedder.embed([without_slots(text) for text in texts])

    depends = [VERSION, settings.model_dump(), scale, article, source.model_dump()]
    depends += [model.engine, writer.engine, embedder.engine]
    found = []
    for name in (GUIDED, RANDOM) if settings.ablation[scale] else (GUIDED,):
        evolution = Evolution(ruler, operator, embed, settings, scale, name)
        path = cache_root() / "evolve" / f"{domain}-{name}-{content_sha256(*depends)[:16]}.jsonl"
        found.append(_resumed(evolution, name, source, settings.start, path))
    return found


def _resumed(evolution: Evolution, name: str, source: ProbeSource, start: str, path: Path) -> Run:
    """The whole run: generations that an earlier one kept are read, and every new one is kept."""
    # Replies may hold whatever else `splitlines` takes for the end of a line.
    lines = path.read_text(encoding="utf-8").removesuffix("\n").split("\n") if path.exists() else []
    generations = list(map(records.from_line, lines))
    for generation in evolution.generations(starting(source, start), tuple(generations)):
        generations.append(generation)
        lines.append(records.as_line(generation))
        replace(path, "\n".join(lines) + "\n")
    return Run(name, evolution, tuple(generations))


if __name__ == "__main__":
    run(main)
