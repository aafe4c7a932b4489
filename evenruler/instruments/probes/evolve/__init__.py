"""Evolving a set of templates (PMPO, section 3.2): a source of its own, and tables of how it came about.

Runs are kept as generations, bit by bit, as replies of operators, and as tables, whose numbers are rounded.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray
from pydantic import TypeAdapter
from ruamel.yaml import YAML

from evenruler.errors import UserError
from evenruler.files import replace
from evenruler.instruments.instrument import Declaration
from evenruler.instruments.probes import schemas
from evenruler.instruments.probes.declare import Evolve, ProbeSource, Settings, without_slots
from evenruler.instruments.probes.declare.source import DEMONSTRATION, EVOLVED, TemplateEntry, TemplateSet
from evenruler.instruments.probes.evolve import fitness
from evenruler.instruments.probes.evolve.evolution import VERSION, Evolution
from evenruler.instruments.probes.evolve.fitness import Choices, Pool, hotspot
from evenruler.instruments.probes.evolve.operators import Asking, ModelOperator, Operator, ReplayedOperator, key_of
from evenruler.instruments.probes.evolve.population import Generation, Measured, Ruler, Template, Try
from evenruler.instruments.probes.schemas import CHOSEN, ELITES, OUTDONE, POPULATION
from evenruler.tables.frames import without_last_bits
from evenruler.tables.ids import content_sha256, row_id
from evenruler.tables.parquet import table_of
from evenruler.tables.schemas import BARE

__all__ = ["Evolved", "asked_anew", "evolve"]

_GENERATION: TypeAdapter[Generation] = TypeAdapter(Generation)


def as_line(generation: Generation) -> str:
    """One line of JSON, from which `from_line` makes the same generation again, bit by bit."""
    return _GENERATION.dump_json(generation).decode()


def from_line(line: str) -> Generation:
    """What `as_line` wrote; ValueError where the line is not whole."""
    return _GENERATION.validate_json(line)


@dataclass(frozen=True)
class Run:
    """A whole evolution."""

    name: str
    evolution: Evolution
    generations: tuple[Generation, ...]

    @property
    def in_words(self) -> str:
        """What it took."""
        replies = [one for generation in self.generations for one in generation.tries]
        taken = sum(one.reason is None for one in replies)
        sentences = sum(measured.sentences for _, measured in self.measured())
        generations = self.generations[-1].number
        return f"{generations} generations, {taken} of {len(replies):,} replies taken, {sentences:,} sentences"

    @property
    def passed(self) -> float:
        """The share of replies that keep every rule, whether they were taken or another one was more acceptable."""
        reasons = [one.reason for generation in self.generations for one in generation.tries]
        return sum(reason in (None, OUTDONE) for reason in reasons) / max(1, len(reasons))

    def measured(self) -> list[tuple[str, Measured]]:
        """Every template once, with what the model answered."""
        found = {
            template.slug: measured
            for generation in self.generations
            for template, measured in zip(generation.population, generation.measured, strict=True)
        }
        return list(found.items())


def as_lines(runs: Iterable[Run], asking: Asking) -> str:
    """The replies of some runs as a file, one line of JSON each, in the order of the run; equal questions once."""
    found: dict[str, dict[str, Any]] = {}
    for run in runs:
        for one in (one for generation in run.generations for one in generation.tries):
            seed = run.evolution.seed_of(one.generation, one.place, one.attempt, one.sample)
            key = key_of(run.evolution.operator, one.prompt, seed, asking.new_tokens_of(one.word is not None))
            wish = {"parent": one.parent, "operation": one.operation, "voice": one.voice, "word": one.word}
            found.setdefault(key, {"key": key, **wish, "seed": seed, "reply": one.reply})
    # Whatever some reader takes for the end of a line is escaped.
    return "".join(f"{json.dumps(row)}\n" for row in found.values())


def history(run: Run, benchmark: str, shared: Mapping[str, Any]) -> pd.DataFrame:
    """Every population with its fitness, by `schemas.HISTORY`; `shared` has `source`, `licence`, `variant`."""
    found = pd.concat([_population(run.evolution, one) for one in run.generations], ignore_index=True)
    found = found.assign(run=run.name, **shared)
    return _identified(found, benchmark, ["run", "generation", "template"], ["text", "keying", "parent", "fitness"])


def _population(evolution: Evolution, generation: Generation) -> pd.DataFrame:
    rows = [
        {
            "generation": generation.number,
            **asdict(template),
            "hotspot": telling.word if (telling := hotspot(measured.gradients)) else None,
            "sentences": measured.sentences if template.born == generation.number else 0,
        }
        for template, measured in zip(generation.population, generation.measured, strict=True)
    ]
    found = pd.concat([pd.DataFrame(rows), evolution.appraised(generation)], axis=1).rename(
        columns={"slug": "template"}
    )
    return found.assign(acceptability=generation.acceptability, elite=found["place"] <= evolution.elites)


def tries(run: Run, benchmark: str, shared: Mapping[str, Any]) -> pd.DataFrame:
    """Every reply of the operator, by `schemas.TRIES`; arguments as for `history`."""
    rows = [asdict(one) for generation in run.generations for one in generation.tries]
    table = pd.DataFrame(rows, columns=[each.name for each in fields(Try)])
    table = table.assign(run=run.name, operator=run.evolution.operator, accepted=table["reason"].isna(), **shared)
    identity = ["run", "generation", "place", "attempt", "sample"]
    return _identified(table, benchmark, identity, ["prompt", "reply", "reason"])


def gradients(run: Run, benchmark: str, shared: Mapping[str, Any]) -> pd.DataFrame:
    """Every word of every template, by `schemas.GRADIENTS`; arguments as for `history`."""
    rows = [
        (slug, place, word.begin, word.word, word.gradient)
        for slug, measured in run.measured()
        for place, word in enumerate(measured.gradients, start=1)
    ]
    table = pd.DataFrame(rows, columns=["template", "place", "begin", "word", "gradient"]).assign(
        run=run.name, **shared
    )
    return _identified(table, benchmark, ["run", "template", "place"], ["begin", "word", "gradient"])


def biases(run: Run, attributes: Sequence[str], benchmark: str, shared: Mapping[str, Any]) -> pd.DataFrame:
    """Every template and attribute, by `schemas.OWN_BIASES`; further arguments as for `history`."""
    rows = [
        (slug, attribute, bias)
        for slug, measured in run.measured()
        for attribute, bias in zip(attributes, measured.biases, strict=True)
    ]
    table = pd.DataFrame(rows, columns=["template", "attribute", "bias"]).assign(run=run.name, **shared)
    return _identified(table, benchmark, ["run", "template", "attribute"], ["bias"])


def choices(pool: Pool, made: Choices, benchmark: str, shared: Mapping[str, Any]) -> pd.DataFrame:
    """Every template of a run with what became of it, by `schemas.CHOICES`."""
    table = pd.DataFrame(
        {
            "template": [template.slug for template in pool.templates],
            "root": pool.roots,
            "closeness": pool.closeness,
            "item_rest_correlation": pool.item_rest(),
            "refused": made.refused,
            **{name: [i in chosen for i in range(len(pool.templates))] for name, chosen in made.sets.items()},
        }
    )
    return _identified(table.assign(**shared), benchmark, ["template"], ["root", "refused", *made.sets])


def _identified(table: pd.DataFrame, benchmark: str, identity: Sequence[str], content: Sequence[str]) -> pd.DataFrame:
    """The table, its numbers rounded, with names and checksums of its rows."""
    table = without_last_bits(table)
    values = table.astype(object).where(table.notna(), None).to_dict("records")
    ids = [row_id(family="probes", benchmark=benchmark, **{key: str(row[key]) for key in identity}) for row in values]
    checksums = [content_sha256(*(row[key] for key in content)) for row in values]
    return table.assign(id=ids, content_sha256=checksums, framing=BARE)


UNUSED = {"concept", "keys", "placebos", "rivals"}
"""Of a source, by evolution: what changes in them evolves nothing anew."""

_NOTE = "# Written by `dvc repro`: what evolved, as a source of probes.\n"


@dataclass(frozen=True)
class Evolved:
    """What evolution gave."""

    source: ProbeSource
    """The chosen set, the elites of the last population, and the whole of it, as template sets."""
    tables: Mapping[str, pa.Table]
    """`history`, `tries`, `gradients` and `biases`, of all runs; `choices`, of the guided one."""
    said: Sequence[str]
    """Lines for whoever runs it."""

    def as_yaml(self) -> str:
        """The source as a file that `declare.load` reads."""
        text, yaml = StringIO(), YAML()
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
        UserError: The file is missing, or lacks a reply that is wanted; or no template may be chosen.
    """
    settings: Settings = declaration.settings
    source: ProbeSource = declaration.source
    assert settings.evolve is not None
    runs = runs_of(declaration, load, kept, replies)
    attributes = list(source.attributes)
    pool = fitness.pool_of(runs[0].generations, runs[0].evolution.embed)
    made = fitness.choices(pool, attributes, settings.evolve)
    if not made.sets["chosen"]:
        what = f"no template may be chosen: each is one of {sorted(set(filter(None, made.refused)))}"
        raise UserError(what, where=declaration.name, remedy="lower `evolve.closeness`, or start with other templates")
    found = as_source(source, settings.evolve, runs[0], [pool.templates[i] for i in made.sets["chosen"]])
    first = next(iter(found.sets.values()))
    shared = {"variant": settings.article_of(settings.evolve.start), "source": first.source, "licence": first.licence}
    frames = {
        "choices": (schemas.CHOICES, [choices(pool, made, declaration.name, shared)]),
        "history": (schemas.HISTORY, [history(run, declaration.name, shared) for run in runs]),
        "tries": (schemas.TRIES, [tries(run, declaration.name, shared) for run in runs]),
        "gradients": (schemas.GRADIENTS, [gradients(run, declaration.name, shared) for run in runs]),
        "biases": (schemas.OWN_BIASES, [biases(run, attributes, declaration.name, shared) for run in runs]),
    }
    tables = {
        name: table_of(pd.concat(own, ignore_index=True)[schema.names], schema)
        for name, (schema, own) in frames.items()
    }
    return Evolved(found, tables, [f"{run.name} run: {run.in_words}" for run in runs])


def asked_anew(declaration: Declaration, load: Callable[[str], Any], kept: Path) -> tuple[str, list[str]]:
    """What an operator says when it is asked, as the file that `evolve` replays, and lines for whoever asks."""
    evolve: Evolve = declaration.settings.evolve
    runs = runs_of(declaration, load, kept)
    said = [f"{run.name} run: {run.in_words}" for run in runs]
    return as_lines(runs, Asking(evolve.new_tokens, evolve.shots)), said


def runs_of(declaration: Declaration, load: Callable[[str], Any], kept: Path, replies: Path | None = None) -> list[Run]:
    """The guided run, and the one that replaces any word where the settings ask for it; arguments as of `evolve`."""
    settings: Settings = declaration.settings
    source: ProbeSource = declaration.source
    evolve = settings.evolve
    assert evolve is not None
    model, embedder, asking = load(evolve.model), load(settings.embedder), Asking(evolve.new_tokens, evolve.shots)
    operator: Operator
    if replies is None:
        writer = load(evolve.operator)
        operator, said = ModelOperator(writer, asking), writer.engine
    else:
        operator = ReplayedOperator(evolve.operator, asking, replies)
        said = content_sha256(replies.read_text(encoding="utf-8"))
    article = settings.article_of(evolve.start)
    ruler = Ruler(model, source, article, evolve.gradient_attributes)

    def embed(texts: list[str]) -> NDArray[np.float32]:
        found: NDArray[np.float32] = embedder.embed([without_slots(text) for text in texts])
        return found

    depends = [VERSION, evolve.model_dump(mode="json"), article, source.model_dump(mode="json", exclude=UNUSED)]
    depends += [model.engine, said, embedder.engine]
    found = []
    for run in (schemas.GUIDED, schemas.RANDOM) if evolve.ablation else (schemas.GUIDED,):
        evolution = Evolution(ruler, operator, embed, evolve, run)
        path = kept / f"{declaration.name}-{run}-{content_sha256(*depends)[:16]}.jsonl"
        # Replies may hold whatever else `splitlines` takes for the end of a line.
        lines = path.read_text(encoding="utf-8").removesuffix("\n").split("\n") if path.exists() else []
        generations = list(map(from_line, lines))
        for generation in evolution.generations(starting(source, evolve.start), tuple(generations)):
            generations.append(generation)
            lines.append(as_line(generation))
            replace(path, "\n".join(lines) + "\n")
        found.append(Run(run, evolution, tuple(generations)))
    return found


def starting(source: ProbeSource, start: str) -> list[Template]:
    """The templates of a set that evolution starts with; a control is none."""
    return [Template(slug, entry.text, entry.keying) for slug, entry in source.sets[start].scored.items()]


BELOW = (
    "A demonstration, no instrument: {passed:.0%} of the replies of {operator}, which reworded the templates, keep "
    "every rule, where {bar:.0%} are asked for."
)


def as_source(source: ProbeSource, evolve: Evolve, run: Run, chosen: Sequence[Template]) -> ProbeSource:
    """The domain with what evolved as its template sets; attributes, targets, criterion and framings stay.

    Where the operator is below its bar, title and limits say so.
    """
    first, last = source.sets[evolve.start], run.generations[-1]
    titles = {
        CHOSEN: ("Chosen as a set out of every template that was measured", chosen),
        ELITES: (
            "The best templates of the last population, each by itself (the paper's elites)",
            run.evolution.best(last),
        ),
        POPULATION: ("The whole last population", last.population),
    }
    sets = {
        name: TemplateSet(
            title=title,
            source=f"{first.source or source.source}; rewordings by {run.evolution.operator}, prompted by Even Ruler",
            licence=first.licence or source.licence,
            templates={own.slug: TemplateEntry(text=own.text, keying=own.keying) for own in templates},
        )
        for name, (title, templates) in titles.items()
    }
    found = source.model_copy(update={"sets": sets, "title": f"{source.title}{EVOLVED}"})
    if run.passed >= evolve.bar:
        return found
    below = BELOW.format(passed=run.passed, operator=run.evolution.operator, bar=evolve.bar)
    return found.model_copy(update={"title": f"{found.title}{DEMONSTRATION}", "limits": [*found.limits, below]})
