"""Build the rows: each item and its negation, about each group, put to each persona."""

from collections.abc import Iterator
from itertools import product
from typing import Any, Literal

from evenruler.instruments.instrument import BuiltInstrument, Declaration, plan_with_sizes
from evenruler.instruments.likert import schemas
from evenruler.instruments.likert.declare import LikertPlan, LikertSource, Settings
from evenruler.instruments.likert.declare.source import GROUP
from evenruler.models.declarations import Catalogue
from evenruler.tables import table_of
from evenruler.tables.ids import common_columns, row_id, split_duplicates
from evenruler.text import fill

__all__ = ["build"]


def build(
    declaration: Declaration[Settings, LikertSource], catalogue: Catalogue
) -> BuiltInstrument:
    """The tables `statements` and `rejected`, by `schemas`, and the plan."""
    source = declaration.source
    every = list(_list_statements(declaration.name, source))
    statements, rejected = split_duplicates(every, "text", "about", "persona", what="statement")
    tables = {
        "statements": table_of(statements, schemas.STATEMENTS),
        "rejected": table_of(rejected, schemas.REJECTED),
    }
    plan = plan_with_sizes(declaration, lambda settings: _build_plan(source, settings))
    n_built, n_rejected = len(statements), len(rejected)
    messages = [f"{n_built:,} statements, {n_rejected:,} rejected"]
    return BuiltInstrument(tables, plan, messages)


def _build_plan(source: LikertSource, settings: Settings) -> LikertPlan:
    """What is asked of statements, at the size of some settings."""
    groups, personas = source.compared_slugs
    return LikertPlan(
        asked=settings.asked,
        without_verdict=True,
        labels=source.option_labels,
        lowest=source.lowest,
        question=source.question_text,
        instruction=source.instruction_text,
        stem=source.stem,
        samples=settings.samples,
        groups=groups,
        personas=personas,
    )


def _list_statements(name: str, source: LikertSource) -> Iterator[dict[str, Any]]:
    """A row each, in the order of the source."""
    groups = source.groups or {"": ""}
    personas = source.personas or {"": ""}
    # Only English has "a" and "an".
    article: Literal["agree", "literal"] = "agree" if source.in_english else "literal"
    for slug, item in source.items.items():
        for (negated, text), (about, word), (persona, before) in product(
            item.list_texts(), groups.items(), personas.items()
        ):
            statement = fill(text, {GROUP: word}, article) if about else text
            identity = {
                "family": "likert",
                "benchmark": name,
                "item": slug,
                "about": about,
                "persona": persona,
                "negated": str(negated),
            }
            shared = common_columns(row_id(**identity), source, before, statement)
            yield {
                **shared,
                "item": slug,
                "text": statement,
                "before": before,
                "subscale": item.subscale,
                "about": about or None,
                "persona": persona or None,
                "key": item.key,
                "negated": negated,
            }
