"""From a declaration to what evolved of it: a source of its own, and tables of how it came about."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray
from ruamel.yaml import YAML

from evenruler.files import replace
from evenruler.instruments.instrument import Declaration
from evenruler.instruments.probes import schemas
from evenruler.instruments.probes.declare import Evolve, ProbeSource, Settings, without_slots
from evenruler.instruments.probes.evolve import records
from evenruler.instruments.probes.evolve.evolution import VERSION, Evolution
from evenruler.instruments.probes.evolve.measuring import Ruler
from evenruler.instruments.probes.evolve.operators import Asking, ModelOperator, Operator
from evenruler.instruments.probes.evolve.records import Run
from evenruler.instruments.probes.evolve.replies import ReplayedOperator, as_lines
from evenruler.instruments.probes.evolve.result import as_source, starting
from evenruler.tables.ids import content_sha256
from evenruler.tables.parquet import table_of

_NOTE = "# Written by `dvc repro`: what evolved, as a source of probes.\n"


@dataclass(frozen=True)
class Evolved:
    """What evolution gave."""

    source: ProbeSource
    """The best of the last population, and the whole of it, as template sets."""
    tables: Mapping[str, pa.Table]
    """`history`, `tries`, `gradients` and `biases`, of all runs."""
    said: Sequence[str]
    """Lines for whoever runs it."""

    def as_yaml(self) -> str:
        """The source as a file that `declare.load` reads."""
        text = StringIO()
        yaml = YAML()
        yaml.width = 10_000  # a sentence is a line
        yaml.dump(self.source.model_dump(mode="json", by_alias=True, exclude_none=True), text)
        return _NOTE + text.getvalue()


def evolve(declaration: Declaration, load: Callable[[str], Any], kept: Path, replies: Path) -> Evolved:
    """Evolve the templates of an instrument; a run that broke off goes on after its last whole generation.

    Args:
        declaration: Its source is what users wrote.
        load: A model by its name in the catalogue; the operator is not asked for.
        kept: The folder where generations are kept.
        replies: The file of what the operator said.

    Raises:
        UserError: The file is missing, or lacks a reply that is wanted.
    """
    settings: Settings = declaration.settings
    source: ProbeSource = declaration.source
    assert settings.evolve is not None
    start = settings.evolve.start
    runs = runs_of(declaration.name, settings, settings.evolve, source, load, kept, replies)
    found = as_source(source, start, runs[0])
    first = next(iter(found.sets.values()))
    shared = {"variant": settings.article_of(start), "source": first.source, "licence": first.licence}
    attributes = list(source.attributes)
    frames = {
        "history": (schemas.HISTORY, [records.history(run, declaration.name, shared) for run in runs]),
        "tries": (schemas.TRIES, [records.tries(run, declaration.name, shared) for run in runs]),
        "gradients": (schemas.GRADIENTS, [records.gradients(run, declaration.name, shared) for run in runs]),
        "biases": (schemas.OWN_BIASES, [records.biases(run, attributes, declaration.name, shared) for run in runs]),
    }
    return Evolved(
        found,
        {
            name: table_of(pd.concat(own, ignore_index=True)[schema.names], schema)
            for name, (schema, own) in frames.items()
        },
        [f"{run.name} run: {run.in_words}" for run in runs],
    )


def asked_anew(declaration: Declaration, load: Callable[[str], Any], kept: Path) -> tuple[str, list[str]]:
    """What an operator says when it is asked, as the file that `evolve` replays, and lines for whoever asks.

    Args:
        declaration: Its source is what users wrote.
        load: A model by its name in the catalogue.
        kept: The folder where generations are kept.
    """
    settings: Settings = declaration.settings
    assert settings.evolve is not None
    runs = runs_of(declaration.name, settings, settings.evolve, declaration.source, load, kept)
    return as_lines(runs, _asking(settings.evolve)), [f"{run.name} run: {run.in_words}" for run in runs]


def _asking(evolve: Evolve) -> Asking:
    return Asking(evolve.new_tokens, evolve.shots)


def runs_of(
    name: str,
    settings: Settings,
    evolve: Evolve,
    source: ProbeSource,
    load: Callable[[str], Any],
    kept: Path,
    replies: Path | None = None,
) -> list[Run]:
    """The guided run, and the one that replaces any word where the settings ask for it.

    Args:
        name: Of the instrument.
        settings: Of the instrument.
        evolve: How its templates evolve.
        source: What users wrote.
        load: A model by its name in the catalogue.
        kept: The folder where generations are kept.
        replies: What the operator said, as a file; without one it is asked.
    """
    model, embedder = load(evolve.model), load(settings.embedder)
    operator, said = _operator(evolve, load, replies)
    article = settings.article_of(evolve.start)
    ruler = Ruler(model, source, article, evolve.gradient_attributes)

    def embed(texts: list[str]) -> NDArray[np.float32]:
        found: NDArray[np.float32] = embedder.embed([without_slots(text) for text in texts])
        return found

    depends = [VERSION, evolve.model_dump(mode="json"), article, source.model_dump(mode="json")]
    depends += [model.engine, said, embedder.engine]
    found = []
    for run in (schemas.GUIDED, schemas.RANDOM) if evolve.ablation else (schemas.GUIDED,):
        path = kept / f"{name}-{run}-{content_sha256(*depends)[:16]}.jsonl"
        found.append(_resumed(Evolution(ruler, operator, embed, evolve, run), run, source, evolve.start, path))
    return found


def _operator(evolve: Evolve, load: Callable[[str], Any], replies: Path | None) -> tuple[Operator, str]:
    """What rewords, and what its replies depend on beside what it is asked."""
    if replies is None:
        writer = load(evolve.operator)
        return ModelOperator(writer, _asking(evolve)), writer.engine
    replayed = ReplayedOperator(evolve.operator, _asking(evolve), replies)
    return replayed, content_sha256(replies.read_text(encoding="utf-8"))


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
