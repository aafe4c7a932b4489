"""Where templates of a family tree and words of a line stand."""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pandas as pd

COLUMNS = 104
"""Characters that a line of words may take."""
NUMBER = 0.72
"""Width of a character of the number below a word, in characters of the word."""


def ancestry(history: pd.DataFrame) -> pd.DataFrame:
    """The last population and all that led to it, a row a template, indexed by slug, with a lane for each.

    A child stands on the lane of its parent where that has ended before, else below it, the last-born nearest; so no
    line of a tree drawn from generation (x) to generation crosses another.

    Args:
        history: One run, by `HISTORY` of `evenruler.instruments.probes.schemas`.

    Returns:
        `text`, `born`, `last` (generation that it lived in), `parent`, `operation`, `voice`, `word`, `fitness` (in
        `last`), `place` and `elite` (of the last population, else null and False), `lane` (from 0).
    """
    latest = history.sort_values("generation").groupby("template", sort=False).tail(1).set_index("template")
    final = latest["generation"] == history["generation"].max()
    latest = latest.assign(
        last=latest["generation"], place=latest["place"].where(final), elite=latest["elite"].astype(bool) & final
    )
    parents = parents_of(history)
    best: dict[str, float] = {}
    for slug, place in latest.loc[final, "place"].items():
        for ancestor in lineage(str(slug), parents):
            best[ancestor] = min(best.get(ancestor, math.inf), place)
    # Founders and children of one age: those whose descendants came furthest first.
    best_first = sorted(best, key=best.__getitem__)
    tree = latest.loc[best_first]
    born, last = (dict(zip(best_first, tree[name], strict=True)) for name in ("born", "last"))
    lanes = _lanes(born, last, parents)
    columns = ["text", "born", "last", "parent", "operation", "voice", "word", "fitness", "place", "elite"]
    return tree[columns].assign(lane=pd.Series(lanes)).sort_values(["lane", "born"])


def parents_of(history: pd.DataFrame) -> dict[str, str]:
    """By template of a run what it was reworded from; founders are left out."""
    known = history.dropna(subset=["parent"])
    return dict(zip(known["template"], known["parent"], strict=True))


def lineage(slug: str, parents: Mapping[str, str]) -> list[str]:
    """A template and its ancestors, the founder last."""
    line = [slug]
    while line[-1] in parents:
        line.append(parents[line[-1]])
    return line


def _lanes(born: Mapping[str, int], last: Mapping[str, int], parents: Mapping[str, str]) -> dict[str, int]:
    """By slug its lane; `born` in the order in which equals are to stand."""
    children: dict[str | None, list[str]] = {}
    for slug in sorted(born, key=lambda slug: -born[slug]):
        children.setdefault(parents.get(slug), []).append(slug)
    lanes: dict[str, int] = {}

    def settle(slug: str, lane: int) -> int:
        """Place a template and its descendants; the first lane below them."""
        lanes[slug] = lane
        free = lane + 1
        for number, child in enumerate(children.get(slug, [])):
            heir = number == 0 and last[slug] < born[child]
            free = settle(child, lane if heir else free)
        return free

    free = 0
    for founder in children[None]:
        free = settle(founder, free)
    return lanes


@dataclass(frozen=True)
class Piece:
    """A part of a line: a word with its gradient, or what has none (slots, articles before them, punctuation)."""

    line: int
    column: float
    width: float
    text: str
    gradient: float | None


def pieces(text: str, begins: Sequence[int], words: Sequence[str], gradients: Sequence[float]) -> list[Piece]:
    """A template in lines of at most `COLUMNS` characters, each word as wide as the number below it at least.

    Args:
        text: The template.
        begins: Where each word begins in it, ascending.
        words: Those words.
        gradients: Theirs, nats.
    """
    known = {begin: (begin + len(word), value) for begin, word, value in zip(begins, words, gradients, strict=True)}
    placed: list[Piece] = []
    line, column = 0, 0.0
    for match in re.finditer(r"\S+", text):
        parts = _parts(match, known)
        widths = [len(part) if value is None else max(len(part), len(said(value)) * NUMBER) for part, value in parts]
        if column and column + sum(widths) > COLUMNS:
            line, column = line + 1, 0.0
        for (part, value), width in zip(parts, widths, strict=True):
            placed.append(Piece(line, round(column, 2), round(width, 2), part, value))
            column += width
        column += 1
    return placed


def _parts(match: re.Match[str], known: Mapping[int, tuple[int, float]]) -> list[tuple[str, float | None]]:
    """What stands between two spaces, cut where a word with a gradient begins and ends."""
    parts: list[tuple[str, float | None]] = []
    at = match.start()
    for begin in (begin for begin in known if match.start() <= begin < match.end()):
        end, value = known[begin]
        parts += [(match.string[at:begin], None), (match.string[begin:end], value)]
        at = end
    return [part for part in [*parts, (match.string[at : match.end()], None)] if part[0]]


def said(gradient: float) -> str:
    """The number below a word."""
    return f"{gradient:.2f}"
