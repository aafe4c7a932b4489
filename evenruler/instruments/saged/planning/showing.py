"""A design, what it can detect, and what wanted differences take, in lines for a terminal."""

import math
from collections.abc import Iterator, Sequence
from textwrap import wrap

from evenruler.instruments.saged.diagnose.layout import FEWEST_ROOTS
from evenruler.instruments.saged.diagnose.power import POWER, roots_for, smallest_difference
from evenruler.instruments.saged.planning.design import Design

WIDTH = 110

ALPHA = 0.05

TIMES = (1, 2, 4)
"""As many replies as now, and so on."""

OF_A_REPLY = (
    "An SD of a reply is the standard deviation of replies about one concept to one root item; docs/saged.md has what "
    "it was of the small models."
)
OF_REPLIES = (
    "More replies help as far as replies to one prompt differ as those to two do. A model that is not tuned to chat is "
    "told no role, so that it gives fewer."
)
OF_OWN_TEXTS = (
    "Its concepts have texts of their own, so that no difference has a verdict; this is what the test of the range "
    "finds."
)


def lines_of(name: str, scale: str, design: Design, wanted: Sequence[float]) -> Iterator[str]:
    """What `evenruler plan` prints.

    Args:
        name: Of the domain.
        scale: In use.
        design: Of the domain at that scale.
        wanted: Differences, in SD of a reply.
    """
    yield from wrap(f"{name}, scale {scale}: {_in_words(design)}", WIDTH, subsequent_indent="  ")
    yield from wrap(_smallest(design), WIDTH, subsequent_indent="  ")
    yield ""
    what = "root items" if design.branched else "items of each concept"
    yield f"How many {what} a difference takes, where one concept lies apart from all others:"
    yield from _table(design, wanted)
    yield ""
    for note in (OF_A_REPLY, _found(design), OF_REPLIES, _to_change(name, design, what)):
        yield from wrap(note, WIDTH, subsequent_indent="  ")


def _in_words(design: Design) -> str:
    one = "root item" if design.branched else "item of each concept"
    several = "root items" if design.branched else "items of each concept"
    parts = [
        f"{_of(design.roots, design.of_roots)} {one if design.of_roots == 1 else several}",
        f"{_of(design.concepts, design.of_concepts)} concepts",
        _count(design.replies, "reply", "replies"),
    ]
    made = (("role", design.roles), ("template", design.templates), ("generation", design.generations))
    asked = " x ".join(_count(n, noun, f"{noun}s") for noun, n in made)
    later = "" if design.built else "; as declared, for it is not built yet: there may be fewer"
    unasked = "" if design.asked else "; nobody is asked at this scale (`asked: false`)"
    return f"{' x '.join(parts)} to a prompt ({asked}){later}{unasked}."


def _alpha(design: Design) -> float:
    """What Holm's correction over the features that have a verdict asks of the first."""
    return ALPHA / max(1, design.features)


def _found(design: Design) -> str:
    if not design.branched:
        return OF_OWN_TEXTS
    corrected = ""
    if design.features > 1:
        corrected = (
            f" / {design.features}: Holm's correction over the features that get a verdict asks that of the first"
        )
    return f"Found means that the range of concepts' means has p < {ALPHA}{corrected}. It is simulated (docs/saged.md)."


def _smallest(design: Design) -> str:
    one, spread = (
        smallest_difference(
            design.roots, design.concepts, design.replies, _alpha(design), branched=design.branched, pattern=pattern
        )
        for pattern in ("one", "spread")
    )
    if math.isnan(one):
        return f"Below {FEWEST_ROOTS} root items nothing is told from chance: no difference can be detected."
    found = f"Found in {POWER:.0%} of studies: a difference of {one:.2f} SD of a reply"
    if design.concepts == 2:
        return f"{found}. Smaller ones are missed more often."
    return (
        f"{found}, where one concept lies apart from all others; of {spread:.2f} SD between the outermost, where all "
        "are spread evenly. Smaller ones are missed more often."
    )


def _table(design: Design, wanted: Sequence[float]) -> Iterator[str]:
    """A line a difference; a column for more replies, and for fewer and more concepts."""
    columns = [(design.concepts, times * design.replies) for times in TIMES]
    heads = [_count(replies, "reply", "replies") for _, replies in columns]
    others = [n for n in (max(2, design.concepts // 2), 2 * design.concepts) if n != design.concepts]
    columns += [(concepts, design.replies) for concepts in others]
    heads += [f"{concepts} concepts" for concepts in others]
    yield "  ".join(["    SD", *heads])
    for difference in wanted:
        found = [roots_for(difference, *column, _alpha(design), branched=design.branched) for column in columns]
        yield "  ".join([f"{difference:>6g}", *(f"{n:>{len(head)},}" for n, head in zip(found, heads, strict=True))])


def _to_change(name: str, design: Design, what: str) -> str:
    have = f"{design.of_roots:,} {what} are {'built' if design.built else 'declared'}"
    return (
        f"To change it, set `items`, `concepts` or `generations` under instruments.{name} in params.yaml. {have}; more "
        f"take more text, or a higher `assemble.per_concept` in data/sources/saged/{name}.yaml."
    )


def _of(n: int, of: int) -> str:
    return f"{n:,}" if n == of else f"{n:,} of {of:,}"


def _count(n: int, one: str, several: str) -> str:
    return f"{n:,} {one if n == 1 else several}"
