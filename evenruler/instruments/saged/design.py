"""Power analysis of `evenruler power`: the minimum detectable difference of a domain, and root
items for a wanted one.

No model is asked. Numbers come from the rows of the built benchmark, or from the declaration where
there are none.
"""

import math
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING

import pandas as pd

from evenruler.errors import UserError, suggest_nearest
from evenruler.files import jinja_environment
from evenruler.instruments.saged.ask import with_items
from evenruler.instruments.saged.declare import FAMILY, is_branched, read_prompts
from evenruler.instruments.saged.declare.settings import FEWEST_ROOTS, Settings
from evenruler.instruments.saged.declare.source import DOMAINS, Source, read_source
from evenruler.instruments.saged.diagnose.deviation_tests import detectable_deviation
from evenruler.instruments.saged.rows.prompts import own_rows
from evenruler.measurement.inputs import POWER
from evenruler.tables import read_frame
from evenruler.terminal import text_width

if TYPE_CHECKING:
    from evenruler.declaration.params_file import ParamsFile

WANTED = (0.2, 0.3, 0.5, 0.8)  # differences that are planned for by default, in SD of a reply

BUILT = (
    "data/built/saged/{}/prompts.parquet",
    "benchmarks/saged-{}/prompts/test-00000-of-00001.parquet",
)
"""Paths of a domain's rows: as built, and as published."""

MOST = 1_000_000  # upper bound of `roots_for`


@dataclass(frozen=True)
class Design:
    """Size of a domain's design: concepts, root items, and replies to each prompt."""

    roots: int  # root items asked about the concept that has the fewest
    concepts: int
    roles: int
    templates: int
    generations: int
    branched: bool  # whether some root items are asked about several concepts
    of_roots: int  # root items available, before `items` limits them
    built: bool  # whether the numbers come from built rows, not from the declaration
    is_asked: bool  # whether models are asked in this profile

    @property
    def replies(self) -> int:
        """Replies to each prompt."""
        return self.roles * self.templates * self.generations

    @property
    def detects(self) -> float:
        """Minimum detectable difference, in SD of a reply."""
        return smallest_difference(self.roots, self.concepts, self.replies)

    @property
    def noun(self) -> str:
        """What the output calls the units that are counted."""
        return "root items" if self.branched else "items of each concept"


def design_of(root: Path, name: str, settings: Settings) -> Design:
    """The design of a domain at the profile of its settings.

    UserError where its source is missing or wrong, or fewer than two concepts are asked about.
    """
    source = read_source(root / DOMAINS / f"{settings.source_name(name)}.yaml", complete=False)
    paths = (root / place.format(name) for place in BUILT)
    built = next((path for path in paths if path.exists()), None)
    prompts = _declared_prompts(name, source, root) if built is None else read_frame(built)
    uncompared = set(source.concepts) - set(source.members)
    prompts = prompts[~prompts["concept"].isin(uncompared)]
    asked_prompts = with_items(prompts, settings.items)
    n_concepts = asked_prompts["concept"].nunique()
    if n_concepts < 2:
        what, remedy = "a single concept: nothing to compare", "add another concept to its file"
        raise UserError(what, where=name, remedy=remedy)
    roles = min(len(settings.roles), settings.most_roles)
    return Design(
        roots=_fewest_roots(asked_prompts),
        concepts=n_concepts,
        roles=roles,
        templates=len(settings.templates),
        generations=settings.generations,
        branched=is_branched(prompts),
        of_roots=_fewest_roots(prompts),
        built=built is not None,
        is_asked=settings.asked,
    )


def _declared_prompts(name: str, source: Source, root: Path) -> pd.DataFrame:
    """The most rows that a declaration allows; the number of sentences is unknown before the
    benchmark is built.
    """
    if source.material.kind == "table":
        prompts = read_prompts(name, source, root / DOMAINS).prompts
        return pd.DataFrame(own_rows(name, source, prompts).prompts)
    rows: list[tuple[str, str, str]] = []
    for about in source.roots:
        concepts = [about]
        if source.branch:
            concepts += source.branch.branches_of(about, list(source.concepts))
        for concept in concepts:
            for number in range(source.assemble.per_concept):
                rows.append((concept, f"{about} {number}", about))
    return pd.DataFrame(rows, columns=["concept", "root_id", "root_concept"])


def _fewest_roots(prompts: pd.DataFrame) -> int:
    """Number of root items of the concept with the fewest; concepts differ, since some of their
    rows were rejected.
    """
    if not len(prompts):
        return 0
    roots_by_concept = prompts.groupby("concept")["root_id"].nunique()
    return int(roots_by_concept.min())


def plan_lines(
    root: Path, name: str, params: "ParamsFile", wanted: Sequence[float] = WANTED
) -> Iterator[str]:
    """Lines about what a domain (or its benchmark) can detect at the profile in use, and the root
    items needed.

    `wanted`: in SD of a reply. UserError: no such domain, one of another family, or a wrong
    declaration.
    """
    name = _resolve_domain(name, params)
    design = design_of(root, name, params.settings(name, FAMILY))
    environment = jinja_environment("evenruler.instruments.saged")
    environment.filters["wrapped"] = lambda text: "\n".join(
        [*wrap(text, text_width(), subsequent_indent="  "), ""]
    )
    plan_text = environment.get_template("power.txt.j2").render(
        name=name,
        profile=params.profile,
        own=design,
        table="\n".join(_table_lines(design, wanted)),
        count=_count_with_noun,
        fewest=FEWEST_ROOTS,
        power=POWER,
    )
    yield from plan_text.splitlines()


def smallest_difference(roots: int, concepts: int, replies: int) -> float:
    """Minimum detectable distance of a concept from the mean of all, at power `POWER`, in SD of a
    reply.

    `roots`: root items, or items of each concept where a domain is not branched; `replies`: to each
    prompt.
    """
    error = math.sqrt((1 - 1 / concepts) / (roots * replies))
    return detectable_deviation(error, concepts, roots)


def roots_for(difference: float, concepts: int, replies: int) -> int:
    """The fewest root items, from six to `MOST`, that detect a difference; arguments as for
    `smallest_difference`.
    """
    roots = range(FEWEST_ROOTS, MOST)
    offset = bisect_left(
        roots, True, key=lambda n: smallest_difference(n, concepts, replies) <= difference
    )
    return FEWEST_ROOTS + offset


def _table_lines(design: Design, wanted: Sequence[float]) -> Iterator[str]:
    """A table with one line per difference; columns vary the number of replies, then of
    concepts.
    """
    replies = design.replies
    columns = {
        _count_with_noun(n * replies, "reply", "replies"): (design.concepts, n * replies)
        for n in (1, 2, 4)
    }
    for n in (max(2, design.concepts // 2), 2 * design.concepts):
        if n != design.concepts:
            columns[f"{n} concepts"] = (n, replies)
    yield "  ".join(["    SD", *columns])
    for difference in wanted:
        cells = [f"{difference:>6g}"]
        for head, column in columns.items():
            roots = roots_for(difference, *column)
            cells.append(f"{roots:>{len(head)},}")
        yield "  ".join(cells)


def _count_with_noun(n: int, singular: str, several: str) -> str:
    """A number with its noun: "1 reply", "1,200 replies"."""
    return f"{n:,} {singular if n == 1 else several}"


def _resolve_domain(name: str, params: "ParamsFile") -> str:
    """The name of a domain in params.yaml, from that or from its benchmark's (`saged-NAME`);
    UserError where there is none, or it is of another family.
    """
    families = params.every_instrument()
    domains = [domain for domain, family in families.items() if family == FAMILY]
    short = name.removeprefix(f"{FAMILY}-")
    if short in domains and name not in families:
        return short
    family = families.get(name)
    if family == FAMILY:
        return name
    what = (
        f"{name!r} is of the family {family}, but plans are for {FAMILY}"
        if family
        else f"no domain {name!r}"
    )
    of_probes = (
        "the report (data/report/index.html) shows the reliability by number of templates and words"
    )
    remedy = of_probes if family == "probes" else suggest_nearest(name, domains)
    raise UserError(what, where=f"{params.path}: instruments", remedy=remedy)
