"""The numbers that decide what a domain can detect: as its benchmark has them, or as they are declared."""

import json
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from evenruler.errors import UserError
from evenruler.instruments.saged.ask.prompts import asked_prompts
from evenruler.instruments.saged.declare.settings import Settings
from evenruler.instruments.saged.declare.source import DOMAINS, Source, read_source
from evenruler.tables import read_frame


@dataclass(frozen=True)
class Design:
    """What is asked of a domain."""

    roots: int
    """Root items that every concept has; where it is not branched, items of the concept with the fewest."""
    concepts: int
    roles: int
    templates: int
    generations: int
    branched: bool
    """Whether root items stand there for several concepts."""
    of_roots: int
    """Root items that there are to ask."""
    of_concepts: int
    """The same of concepts."""
    built: bool
    """Whether these numbers are of rows, not of what was declared."""
    asked: bool
    """Whether models are asked at this scale."""
    features: int
    """Those that have a favoured end and mask names, over which p is corrected."""

    @property
    def replies(self) -> int:
        """To each prompt."""
        return self.roles * self.templates * self.generations


def design_of(root: Path, name: str, settings: Settings) -> Design:
    """The design of a domain.

    Args:
        root: The repository.
        name: Of the domain.
        settings: Of the domain, at the scale in use.

    Raises:
        UserError: Its source is missing or wrong, or fewer than two concepts are asked about.
    """
    found = sorted((root / f"benchmarks/saged-{name}/prompts").glob("*.parquet"))
    if found:
        counted = _counted(pd.concat([read_frame(path) for path in found]), settings, _controls(found[0].parents[1]))
    else:
        counted = _declared(read_source(root / DOMAINS / f"{name}.yaml", complete=False), settings)
    roots, concepts, of_roots, of_concepts, branched = counted
    if concepts < 2:
        remedy = "give another concept, or raise `concepts` in params.yaml"
        raise UserError("a single concept, with nothing to compare it with", where=name, remedy=remedy)
    return Design(
        roots=roots,
        concepts=concepts,
        roles=len(settings.roles),
        templates=len(settings.templates),
        generations=settings.generations,
        branched=branched,
        of_roots=of_roots,
        of_concepts=of_concepts,
        built=bool(found),
        asked=settings.asked,
        features=len(settings.confirmed),
    )


Counted = tuple[int, int, int, int, bool]
"""Root items and concepts that are asked, those that there are, and whether root items hold several concepts."""


def _controls(benchmark: Path) -> list[str]:
    """The concepts of a benchmark that are in no difference in favour."""
    plan = benchmark / "plan.json"
    found: list[str] = json.loads(plan.read_text(encoding="utf-8"))["controls"] if plan.exists() else []
    return found


def _counted(prompts: pd.DataFrame, settings: Settings, controls: list[str]) -> Counted:
    """Of the rows of a benchmark; a concept that lacks root items, as some were rejected, has the fewest."""
    asked = asked_prompts(prompts, settings.items, settings.concepts)
    asked, prompts = (rows[~rows["concept"].isin(controls)] for rows in (asked, prompts))
    branched = bool((prompts.groupby("root_id")["concept"].nunique() > 1).any())
    return _roots(asked), asked["concept"].nunique(), _roots(prompts), prompts["concept"].nunique(), branched


def _roots(prompts: pd.DataFrame) -> int:
    """Root items of the concept that has the fewest."""
    return int(prompts.groupby("concept")["root_id"].nunique().min()) if len(prompts) else 0


def _declared(source: Source, settings: Settings) -> Counted:
    """At most: how many sentences are found, nobody knows before the benchmark is built."""
    # Every root concept has items of its own, which where it is branched stand for all others too.
    times = len(source.roots) if source.branch else 1
    least = len(source.roots) if source.branch else 0
    most, of_concepts = source.assemble.per_concept, len(source.concepts)
    concepts = max(min(settings.concepts, of_concepts), least) - len(set(source.controls) & set(source.roots))
    of_concepts -= len(source.controls)
    return times * min(settings.items, most), concepts, times * most, of_concepts, source.branch is not None
