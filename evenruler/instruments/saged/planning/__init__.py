"""What `evenruler plan` says: what a domain's design can detect, and what a wanted difference takes. No model is asked.

It goes by the declaration, and by the rows of the benchmark where it is built.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

from evenruler.declared import Declared
from evenruler.errors import UserError, nearest
from evenruler.instruments.saged.declare import FAMILY
from evenruler.instruments.saged.planning.design import design_of
from evenruler.instruments.saged.planning.showing import lines_of

__all__ = ["WANTED", "plan"]

WANTED = (0.2, 0.3, 0.5, 0.8)
"""Differences that are planned for by default, in SD of a reply."""

OF_PROBES = "how many templates and words a reliability takes is drawn in the report, data/report/index.html"


def plan(root: Path, name: str, params: Declared, wanted: Sequence[float] = WANTED) -> Iterator[str]:
    """What a domain can detect at the scale in use, and what wanted differences take.

    Args:
        root: The repository.
        name: Of the domain, or of its benchmark.
        params: The declaration.
        wanted: Differences, in SD of a reply.

    Yields:
        Lines.

    Raises:
        UserError: There is no such domain, it is of another family, or something that it declares is wrong.
    """
    name = _domain(name, params)
    yield from lines_of(name, params.scale, design_of(root, name, params.settings(name, FAMILY)), wanted)


def _domain(name: str, params: Declared) -> str:
    families = params.every_instrument()
    domains = [own for own, family in families.items() if family == FAMILY]
    short = name.removeprefix(f"{FAMILY}-")
    if short in domains and name not in families:
        return short
    where = f"{params.path}: instruments"
    family = families.get(name)
    if family is None:
        raise UserError(f"no domain {name!r}", where=where, remedy=nearest(name, domains))
    if family != FAMILY:
        remedy = OF_PROBES if family == "probes" else nearest(name, domains)
        raise UserError(f"{name!r} is of the family {family}, and plans are of {FAMILY}", where=where, remedy=remedy)
    return name
