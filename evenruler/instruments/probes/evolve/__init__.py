"""Evolution of a template set (PMPO, section 3.2): the resulting source, and tables of its
history.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from io import StringIO
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray
from pydantic import TypeAdapter
from ruamel.yaml import YAML

from evenruler.errors import UserError
from evenruler.files import write_text_atomically
from evenruler.instruments.instrument import Declaration
from evenruler.instruments.probes import schemas
from evenruler.instruments.probes.declare.settings import Evolve, Settings
from evenruler.instruments.probes.declare.source import (
    DEMONSTRATION,
    EVOLVED,
    ProbeSource,
    TemplateEntry,
    TemplateSet,
    without_slots,
)
from evenruler.instruments.probes.evolve import fitness
from evenruler.instruments.probes.evolve.evolution import VERSION, Evolution
from evenruler.instruments.probes.evolve.fitness import find_hotspot
from evenruler.instruments.probes.evolve.operators import (
    ModelOperator,
    Operator,
    OperatorSettings,
    ReplayedOperator,
    key_of,
)
from evenruler.instruments.probes.evolve.population import (
    Generation,
    RewordingAttempt,
    Template,
    TemplateMeasurement,
    TemplateMeter,
)
from evenruler.instruments.probes.schemas import CHOSEN, ELITES, OUTDONE, POPULATION
from evenruler.tables.frames import table_of, without_last_bits
from evenruler.tables.ids import content_sha256, row_id
from evenruler.tables.schemas import BARE

__all__ = ["EvolutionResult", "evolve", "merge_replies", "record_operator_replies"]

LINES: TypeAdapter[Generation] = TypeAdapter(Generation)
"""Writes and reads a generation as one line of JSON, without loss."""


@dataclass(frozen=True)
class EvolutionRun:
    """One complete run of an evolution."""

    name: str
    evolution: Evolution
    generations: tuple[Generation, ...]

    @property
    def tries(self) -> list[RewordingAttempt]:
        """Every reply of the operator."""
        return list(chain.from_iterable(generation.tries for generation in self.generations))

    @property
    def in_words(self) -> str:
        """A line that sums the run up: generations, replies and sentences."""
        tries = self.tries
        taken = sum(attempt.reason is None for attempt in tries)
        sentences = sum(measured.sentences for _, measured in self.measured())
        n_generations = self.generations[-1].number
        summary = f"{n_generations} generations, {taken} of {len(tries):,} replies taken"
        return f"{self.name} run: {summary}, {sentences:,} sentences"

    @property
    def passed(self) -> float:
        """Share of replies that keep every rule, whether they were accepted or another was more
        acceptable.
        """
        tries = self.tries
        n_passed = sum(attempt.reason in (None, OUTDONE) for attempt in tries)
        return n_passed / max(1, len(tries))

    def measured(self) -> list[tuple[str, TemplateMeasurement]]:
        """Slug and measurements of every template, each once."""
        measurement_by_slug: dict[str, TemplateMeasurement] = {}
        for generation in self.generations:
            for template, measured in zip(generation.population, generation.measured, strict=True):
                measurement_by_slug[template.slug] = measured
        return list(measurement_by_slug.items())


def replies_as_jsonl(runs: Iterable[EvolutionRun], asking: OperatorSettings) -> str:
    """The replies of some runs as lines of JSON, in order; repeated questions only once."""
    rows_by_key: dict[str, dict[str, Any]] = {}
    for run in runs:
        for attempt in run.tries:
            seed = run.evolution.seed_of(
                attempt.generation, attempt.place, attempt.attempt, attempt.sample
            )
            key = key_of(
                run.evolution.operator,
                attempt.prompt,
                seed,
                asking.new_tokens_of(attempt.word is not None),
            )
            wish = {
                "parent": attempt.parent,
                "operation": attempt.operation,
                "voice": attempt.voice,
                "word": attempt.word,
            }
            rows_by_key.setdefault(key, {"key": key, **wish, "seed": seed, "reply": attempt.reply})
    # JSON in ASCII escapes every character that some reader takes for the end of a line.
    return "".join(f"{json.dumps(row)}\n" for row in rows_by_key.values())


TOLD = {
    "history": (["run", "generation", "template"], ["text", "keying", "parent", "fitness"]),
    "tries": (["run", "generation", "place", "attempt", "sample"], ["prompt", "reply", "reason"]),
    "gradients": (["run", "template", "place"], ["begin", "word", "gradient"]),
    "biases": (["run", "template", "attribute"], ["bias"]),
}
"""By table of a run, the columns that identify a row, and those that its checksum covers."""


def tables_of(
    run: EvolutionRun, attributes: Sequence[str], benchmark: str, shared: Mapping[str, Any]
) -> dict[str, pd.DataFrame]:
    """Every population, reply, word and bias of a run, by table of `TOLD`; `shared`: `source`,
    `licence`, `variant`.
    """
    tries = pd.DataFrame(
        map(asdict, run.tries), columns=[field.name for field in fields(RewordingAttempt)]
    )
    tries = tries.assign(operator=run.evolution.operator, accepted=tries["reason"].isna())
    gradients: list[tuple[str, int, int, str, float]] = []
    biases: list[tuple[str, str, float]] = []
    for slug, measured in run.measured():
        for place, word in enumerate(measured.gradients, start=1):
            gradients.append((slug, place, word.begin, word.word, word.gradient))
        for attribute, bias in zip(attributes, measured.biases, strict=True):
            biases.append((slug, attribute, bias))
    populations = [_population_table(run.evolution, generation) for generation in run.generations]
    gradient_columns = ["template", "place", "begin", "word", "gradient"]
    frame_by_table = {
        "history": pd.concat(populations, ignore_index=True),
        "tries": tries,
        "gradients": pd.DataFrame(gradients, columns=gradient_columns),
        "biases": pd.DataFrame(biases, columns=["template", "attribute", "bias"]),
    }
    return {
        name: _add_ids_and_checksums(rows.assign(run=run.name, **shared), benchmark, *TOLD[name])
        for name, rows in frame_by_table.items()
    }


def _population_table(evolution: Evolution, generation: Generation) -> pd.DataFrame:
    """A row for each template of a generation: its lineage, fitness and parts, place,
    acceptability, hotspot, and number of sentences scored for it (0 where it was scored before).
    """
    rows: list[dict[str, Any]] = []
    for template, measured in zip(generation.population, generation.measured, strict=True):
        hotspot = find_hotspot(measured.gradients)
        is_new = template.born == generation.number
        rows.append(
            {
                "generation": generation.number,
                **asdict(template),
                "hotspot": hotspot.word if hotspot else None,
                "sentences": measured.sentences if is_new else 0,
            }
        )
    population_frame = pd.concat([pd.DataFrame(rows), evolution.appraised(generation)], axis=1)
    population_frame = population_frame.rename(columns={"slug": "template"})
    return population_frame.assign(
        acceptability=generation.acceptability, elite=population_frame["place"] <= evolution.elites
    )


def _add_ids_and_checksums(
    table: pd.DataFrame, benchmark: str, identity: Sequence[str], content: Sequence[str]
) -> pd.DataFrame:
    """The table with rounded numbers, and with ids and checksums of its rows."""
    table = without_last_bits(table)
    values = table.astype(object).where(table.notna(), None).to_dict("records")
    ids: list[str] = []
    checksums: list[str] = []
    for row in values:
        keys = {key: str(row[key]) for key in identity}
        ids.append(row_id(family="probes", benchmark=benchmark, **keys))
        covered = [row[key] for key in content]
        checksums.append(content_sha256(*covered))
    return table.assign(id=ids, content_sha256=checksums, framing=BARE)


UNUSED = {"agreement", "keys", "next_word", "rivals"}
"""Fields of a source that evolution does not use: a change in them starts no new run."""


@dataclass(frozen=True)
class EvolutionResult:
    """The result of an evolution."""

    source: ProbeSource
    """The chosen set, the elites of the last population, and the whole of it, as template sets."""
    tables: Mapping[str, pa.Table]
    """`history`, `tries`, `gradients` and `biases`, of all runs; `choices`, of the guided one."""
    messages: Sequence[str]
    """Lines to print for the user."""

    def as_yaml(self) -> str:
        """The source as a file that `declare.load` reads."""
        text, yaml = StringIO(), YAML()
        yaml.width = 10_000  # a sentence is a line
        yaml.dump(self.source.model_dump(mode="json", by_alias=True, exclude_none=True), text)
        return f"# Written by `dvc repro`: what evolved, as a source of probes.\n{text.getvalue()}"


def evolve(
    declaration: Declaration[Settings, ProbeSource],
    load: Callable[[str], Any],
    generations_folder: Path,
    replies: Path,
) -> EvolutionResult:
    """Evolve the templates of an instrument; an interrupted run resumes after its last complete
    generation.

    `declaration`: with the source that users wrote; `load`: returns a model by its name in the
    catalogue, not called for the operator; `generations_folder`: where generations are saved;
    `replies`: the file of the operator's replies. UserError where that is missing or lacks a needed
    reply, or where no template may be chosen.
    """
    source, wanted = declaration.source, declaration.settings.evolve
    assert wanted is not None
    runs = runs_of(declaration, load, generations_folder, replies)
    attributes = list(source.attributes)
    pool = fitness.pool_of(runs[0].generations, runs[0].evolution.embed)
    refused = fitness.exclusion_reasons(pool, wanted.closeness)
    elites = runs[0].evolution.best(runs[0].generations[-1])
    sets = fitness.choose_sets(pool, attributes, wanted, elites)
    if not sets["chosen"]:
        reasons = sorted(set(filter(None, refused)))
        what = f"no template may be chosen: each is one of {reasons}"
        raise UserError(
            what,
            where=declaration.name,
            remedy="lower `evolve.closeness`, or start with other templates",
        )
    chosen_templates = [pool.templates[i] for i in sets["chosen"]]
    evolved_source = as_source(source, wanted, runs[0], chosen_templates)
    first = next(iter(evolved_source.sets.values()))
    article = declaration.settings.article_of(wanted.start)
    shared = {"variant": article, "source": first.source, "licence": first.licence}
    frames = [tables_of(run, attributes, declaration.name, shared) for run in runs]
    rows: dict[str, pd.DataFrame] = {}
    for name in TOLD:
        frames_of_table = [run_frames[name] for run_frames in frames]
        rows[name] = pd.concat(frames_of_table, ignore_index=True)
    slugs = [template.slug for template in pool.templates]
    choices: dict[str, Any] = {
        "template": slugs,
        "root": pool.roots,
        "closeness": pool.closeness,
        "item_rest_correlation": pool.item_rest(),
        "refused": refused,
    }
    for name, indices in sets.items():
        choices[name] = [i in indices for i in range(len(pool.templates))]
    content = ["root", "refused", *sets]
    choices_table = pd.DataFrame(choices).assign(**shared)
    rows["choices"] = _add_ids_and_checksums(choices_table, declaration.name, ["template"], content)
    schema = {name: getattr(schemas, name.upper()) for name in rows}
    schema["biases"] = schemas.OWN_BIASES
    tables = {
        name: table_of(table_rows[schema[name].names], schema[name])
        for name, table_rows in rows.items()
    }
    return EvolutionResult(evolved_source, tables, [run.in_words for run in runs])


def record_operator_replies(
    declaration: Declaration[Settings, ProbeSource],
    load: Callable[[str], Any],
    generations_folder: Path,
) -> tuple[str, list[str]]:
    """Ask the operator again: its replies as the file that `evolve` replays, and lines to print for
    the user.
    """
    evolve = declaration.settings.evolve
    assert evolve is not None
    runs = runs_of(declaration, load, generations_folder)
    asking = OperatorSettings(evolve.new_tokens, evolve.shots)
    return replies_as_jsonl(runs, asking), [run.in_words for run in runs]


def merge_replies(recorded: str, new: str) -> str:
    """Lines of a file of replies, and after them those of new replies whose question it does not
    have.
    """
    recorded_keys = {json.loads(line)["key"] for line in recorded.splitlines()}
    added = [
        line
        for line in new.splitlines(keepends=True)
        if json.loads(line)["key"] not in recorded_keys
    ]
    return recorded + "".join(added)


def runs_of(
    declaration: Declaration[Settings, ProbeSource],
    load: Callable[[str], Any],
    generations_folder: Path,
    replies: Path | None = None,
) -> list[EvolutionRun]:
    """The guided run and, if the settings say `ablation`, the random one; without `replies` the
    operator is asked.
    """
    settings, source = declaration.settings, declaration.source
    evolve = settings.evolve
    assert evolve is not None
    model = load(evolve.model)
    embedder = load(settings.embedder)
    asking = OperatorSettings(evolve.new_tokens, evolve.shots)
    operator: Operator
    if replies is None:
        writer = load(evolve.operator)
        operator = ModelOperator(writer, asking)
        operator_identity = writer.engine
    else:
        operator = ReplayedOperator(evolve.operator, asking, replies)
        operator_identity = content_sha256(replies.read_text(encoding="utf-8"))
    article = settings.article_of(evolve.start)
    ruler = TemplateMeter(model, source, article, evolve.gradient_attributes)

    def embed(texts: list[str]) -> NDArray[np.float32]:
        """[texts, dimensions] embeddings of templates, with "someone" in place of each slot."""
        vectors: NDArray[np.float32] = embedder.embed([without_slots(text) for text in texts])
        return vectors

    depends = [
        VERSION,
        evolve.model_dump(mode="json"),
        article,
        source.model_dump(mode="json", exclude=UNUSED),
    ]
    depends += [model.engine, operator_identity, embedder.engine]
    checksum = content_sha256(*depends)[:16]
    run_names = [schemas.GUIDED]
    if evolve.ablation:
        run_names.append(schemas.RANDOM)
    runs = []
    for run in run_names:
        evolution = Evolution(ruler, operator, embed, evolve, run)
        path = generations_folder / f"{declaration.name}-{run}-{checksum}.jsonl"
        # No `splitlines`: replies may hold other characters that it takes for the end of a line.
        lines: list[str] = []
        if path.exists():
            lines = path.read_text(encoding="utf-8").removesuffix("\n").split("\n")
        generations = list(map(LINES.validate_json, lines))
        start = starting_templates(source, evolve.start)
        for generation in evolution.generations(start, tuple(generations)):
            generations.append(generation)
            saved_lines = [LINES.dump_json(saved).decode() + "\n" for saved in generations]
            write_text_atomically(path, "".join(saved_lines))
        runs.append(EvolutionRun(run, evolution, tuple(generations)))
    return runs


def starting_templates(source: ProbeSource, start: str) -> list[Template]:
    """The templates of a set that evolution starts with: all but controls."""
    return [
        Template(slug, entry.text, entry.keying)
        for slug, entry in source.sets[start].scored.items()
    ]


BELOW = (
    "A demonstration, no instrument: {passed:.0%} of the replies of {operator}, which reworded the "
    "templates, keep "
    "every rule, where {bar:.0%} are asked for."
)


def as_source(
    source: ProbeSource, evolve: Evolve, run: EvolutionRun, chosen: Sequence[Template]
) -> ProbeSource:
    """The source with the evolved sets instead of its own; title and limits say if the operator is
    below its bar.
    """
    first, last = source.sets[evolve.start], run.generations[-1]
    elites = "The best templates of the last population, each by itself (the paper's elites)"
    of_chosen = "Chosen as a set out of every template that was measured"
    if evolve.selection == "elites":
        of_chosen = elites
    titles = {
        CHOSEN: (of_chosen, chosen),
        ELITES: (elites, run.evolution.best(last)),
        POPULATION: ("The whole last population", last.population),
    }
    origin = (
        f"{first.source or source.source}; rewordings by {run.evolution.operator}, prompted by "
        "Even Ruler"
    )
    sets: dict[str, TemplateSet] = {}
    for name, (title, templates) in titles.items():
        entries = {
            template.slug: TemplateEntry(text=template.text, keying=template.keying)
            for template in templates
        }
        sets[name] = TemplateSet(
            title=title,
            source=origin,
            licence=first.licence or source.licence,
            templates=entries,
        )
    changes = {"sets": sets, "title": f"{source.title}{EVOLVED}", "next_word": None}
    evolved_source = source.model_copy(update=changes)
    if run.passed >= evolve.bar:
        return evolved_source
    below = BELOW.format(passed=run.passed, operator=run.evolution.operator, bar=evolve.bar)
    return evolved_source.model_copy(
        update={
            "title": f"{evolved_source.title}{DEMONSTRATION}",
            "limits": [*evolved_source.limits, below],
        }
    )
