"""What users declare for a SAGED domain: its settings and its source; and the names of the figures shown."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from evenruler.errors import UserError
from evenruler.instruments.instrument import Column, Plan
from evenruler.instruments.saged.declare.replacements import checked
from evenruler.instruments.saged.declare.settings import Feature, Settings
from evenruler.instruments.saged.declare.source import Source, read_source
from evenruler.models.declared import Catalogue
from evenruler.strict import read_yaml

if TYPE_CHECKING:
    import pandas as pd

ALIKE, FAVOUR, BY_ROLE = "answered alike", "favour", "role x concept"
"""The figures that have a verdict: silence, favour over all roles, and favour in one role compared with the others."""

LEFT_OUT = "left out"  # a concept excluded from favour, because under half of its replies are answered

FEWEST_INVENTED = 12
"""Fewest invented concepts for a verdict: with five, an effect is found half as often (docs/controls.md)."""

ALL_ROLES = "all roles"  # start of `part` in figures over all roles and templates; the feature follows


def headings(plan: Plan) -> list[Column]:
    """The figures shown for every role, template and feature on every model."""
    columns = [Column(**column) for column in read_yaml(Path(__file__).with_name("headings.yaml"))]
    return [replace(column, meaning=column.meaning.format(favour=in_words(plan))) for column in columns]


def in_words(plan: Plan) -> str:
    """In words, which end of each feature of a plan is favourable."""
    favour = {name: Feature.model_validate(feature).favour for name, feature in plan["features"].items()}
    ends = {"higher": "higher", "lower": "lower", "none": "neither end"}
    said = [(words, [name for name, own in favour.items() if own == end]) for end, words in ends.items()]
    return "; ".join(f"{', '.join(names)}: {words} is in favour" for words, names in said if names)


__all__ = ["FAMILY", "Settings", "Source", "headings", "load", "takes"]

FAMILY = "saged"  # in the ids of its rows


def load(path: Path, settings: Settings, shared: Path) -> Source:
    """Read and check a domain's source, written by users or by `scrape`, together with what `evenruler find` found.

    UserError where something is wrong or not found yet, or where text by others is declared as ours.
    """
    source = read_source(path)
    if not source.material.is_ours and not settings.of_others:
        remedy = "add `text: others` to its entry in params.yaml, which keeps the benchmark out of git"
        what = f"text of the kind {source.material.kind} was written by others"
        raise UserError(what, where=f"{path}: material.kind", remedy=remedy)
    for root, branches in source.replacements.items():
        for concept, words in branches.items():
            checked(words, f"{path}: branch.replacements.{root}.{concept}")
    return source


takes = Catalogue.scores_or_writes


def is_branched(prompts: "pd.DataFrame") -> bool:
    """Whether some root items are asked about several concepts."""
    return bool((prompts.groupby("root_id")["concept"].nunique() > 1).any())
