"""`shared/pairs/entailment-pairs.csv` of the family: labelled pairs that tell how well a model says what follows."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal

from evenruler.errors import UserError
from evenruler.strict import Slug, Strict, Text, read_csv, validate

MNLI = "mnli"
"""The set of pairs that accuracy is judged by; others are told beside it."""


class LabelledPair(Strict):
    """A premise and a hypothesis, and what they have to do with each other."""

    set: Slug
    """Pairs of one origin; accuracy is told for each apart."""
    label: Literal["entailment", "neutral", "contradiction"]
    premise: Text
    hypothesis: Text
    genre: str = ""
    """Of MNLI, the kind of text that the premise is from."""
    source: Text
    licence: Text


def load_pairs(path: Path) -> list[LabelledPair]:
    """Read and check labelled pairs.

    Args:
        path: A CSV file, UTF-8, with the fields of `LabelledPair` as columns.

    Raises:
        UserError: There is no such file, a row is wrong or stands twice, or no pair is of `MNLI`.
    """
    _, rows = read_csv(path, "put labelled pairs there; the README beside says how")
    found = [validate(LabelledPair, row, path) for _, row in rows]
    seen: set[tuple[str, str]] = set()
    for pair in found:
        if (pair.premise, pair.hypothesis) in seen:
            raise UserError(
                f"{pair.premise!r} stands twice with {pair.hypothesis!r}", where=str(path), remedy="drop one"
            )
        seen.add((pair.premise, pair.hypothesis))
    if MNLI not in {pair.set for pair in found}:
        raise UserError(f"no pair of the set {MNLI}, which accuracy is judged by", where=str(path), remedy="add some")
    return found


def first_pairs(pairs: Sequence[LabelledPair], n: int) -> list[LabelledPair]:
    """At most n pairs of each set, the first of every label in turn, so that labels are as even as they can be.

    Args:
        pairs: Of all sets, in the order of their file.
        n: Of each set at most.
    """
    by_set: dict[str, dict[str, list[LabelledPair]]] = defaultdict(lambda: defaultdict(list))
    for pair in pairs:
        by_set[pair.set][pair.label].append(pair)
    return [pair for of_set in by_set.values() for pair in list(_in_turn(list(of_set.values())))[:n]]


def _in_turn(by_label: Sequence[Sequence[LabelledPair]]) -> Iterator[LabelledPair]:
    for place in range(max(map(len, by_label))):
        yield from (own[place] for own in by_label if place < len(own))
