"""What users write of a domain of SAGED: settings in params.yaml, and its source."""

from pathlib import Path

from evenruler.errors import UserError
from evenruler.instruments.saged.declare.headings import headings
from evenruler.instruments.saged.declare.replacements import checked
from evenruler.instruments.saged.declare.settings import Settings
from evenruler.instruments.saged.declare.source import Source, read_source
from evenruler.models.declared import Catalogue

__all__ = ["FAMILY", "Settings", "Source", "headings", "load", "takes"]

FAMILY = "saged"
"""Of its rows' ids."""


def load(path: Path, settings: Settings, shared: Path) -> Source:
    """Read and check the source of a domain, with what `evenruler find` found for it.

    Args:
        path: The file that users write, or `source.yaml` in the folder that `scrape` made.
        settings: Whose its sentences are.
        shared: Not used: no two domains share anything.

    Raises:
        UserError: Something in it is wrong or was not found yet, or text that others wrote is declared as ours.
    """
    source = read_source(path)
    kind = source.material.kind
    if kind != "local" and not settings.of_others:
        raise UserError(
            f"text of the kind {kind} was written by others",
            where=f"{path}: material.kind",
            remedy="add `text: others` to its entry in params.yaml, which keeps the benchmark out of git",
        )
    for root, branches in source.replacements.items():
        for concept, words in branches.items():
            checked(words, f"{path}: branch.replacements.{root}.{concept}")
    return source


def takes(catalogue: Catalogue, model: str) -> bool:
    """Whether a model of the catalogue is asked: one that writes or scores text."""
    return catalogue.can(model, "generate") or catalogue.can(model, "loglikelihood")
