"""Runs as they are kept: generations bit by bit, replies of operators, and tables, whose numbers are rounded."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

import pandas as pd
from pydantic import TypeAdapter

from evenruler.instruments.probes.evolve.evolution import Evolution
from evenruler.instruments.probes.evolve.fitness import Choices, Pool, hotspot
from evenruler.instruments.probes.evolve.operators import Asking, key_of
from evenruler.instruments.probes.evolve.population import Generation, Measured, Try, WordGradient
from evenruler.instruments.probes.schemas import OUTDONE
from evenruler.tables.frames import without_last_bits
from evenruler.tables.ids import content_sha256, row_id
from evenruler.tables.schemas import BARE

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
        return (
            f"{self.generations[-1].number} generations, {taken} of {len(replies):,} replies taken, "
            f"{sentences:,} sentences"
        )

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
    populations = [_population(run.evolution, generation) for generation in run.generations]
    found = pd.concat(populations, ignore_index=True).assign(run=run.name, **shared)
    return _identified(found, benchmark, ["run", "generation", "template"], ["text", "keying", "parent", "fitness"])


def _population(evolution: Evolution, generation: Generation) -> pd.DataFrame:
    rows = []
    for template, measured in zip(generation.population, generation.measured, strict=True):
        lineage, telling = asdict(template), hotspot(measured.gradients)
        new = template.born == generation.number
        rows.append(
            {
                "generation": generation.number,
                "template": lineage.pop("slug"),
                **lineage,
                "hotspot": telling.word if telling else None,
                "sentences": measured.sentences if new else 0,
            }
        )
    found = pd.concat([pd.DataFrame(rows), evolution.appraised(generation)], axis=1)
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
        {"run": run.name, "template": slug, "place": place, **asdict(word)}
        for slug, measured in run.measured()
        for place, word in enumerate(measured.gradients, start=1)
    ]
    table = pd.DataFrame(rows, columns=["run", "template", "place", *(each.name for each in fields(WordGradient))])
    return _identified(table.assign(**shared), benchmark, ["run", "template", "place"], ["begin", "word", "gradient"])


def biases(run: Run, attributes: Sequence[str], benchmark: str, shared: Mapping[str, Any]) -> pd.DataFrame:
    """Every template and attribute, by `schemas.OWN_BIASES`; further arguments as for `history`."""
    rows = [
        {"run": run.name, "template": slug, "attribute": attribute, "bias": bias}
        for slug, measured in run.measured()
        for attribute, bias in zip(attributes, measured.biases, strict=True)
    ]
    table = pd.DataFrame(rows).assign(**shared)
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
