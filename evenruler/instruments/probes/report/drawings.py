"""Two drawings of an evolution with their own layout: the family tree of templates, and the
gradients of words.
"""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

import altair as alt
import pandas as pd

from evenruler.report.page import ONE_HUE, QUIET
from evenruler.report.style import Charts
from evenruler.tables import group_by_key

CHARTS: Final = Charts(Path(__file__).with_name("charts.yaml"))
ORANGE, PURPLE = "#f58518", "#b279a2"
"""From tableau10."""
START = "from the start"
OPERATIONS: Final = {
    START: (QUIET, "circle"),
    "hotspot": (ONE_HUE, "square"),
    "random-word": (ORANGE, "triangle-up"),
    "reword": (PURPLE, "diamond"),
}
"""Colour by operation, and a shape for readers who cannot tell colours apart."""
NONE = "\u2013"
DIGITS = 4
LANE, CHARACTER, LINE = 25, 8, 40
"""Pixels: height of a lane, width of a 13-pixel monospaced character, height of a line with the
numbers below it."""
GAP = 0.3
"""Between templates, in lines."""
COLUMNS = 104
"""Characters that a line of words may take."""
NUMBER = 0.72
"""Width of a character of the number below a word, in characters of the word."""


def family_tree(history: pd.DataFrame) -> alt.TopLevelMixin:
    """The last population and its ancestors, from left to right; templates without a descendant in
    it are left out.
    """
    tree = ancestry_table(history)
    last = int(tree["last"].max())
    lanes = int(tree["lane"].max()) + 1
    nodes = _format_nodes(tree)
    here = [name for name in OPERATIONS if name in set(nodes["operation"])]
    # Rules between the generations that a template lived in; paler where it was out of the
    # population, before it came back because a rewording was lacking.
    lived = history[["template", "generation"]].sort_values(["template", "generation"])
    until = lived.groupby("template")["generation"].shift(-1)
    lives = lived.assign(until=until, lane=lived["template"].map(tree["lane"])).dropna(
        subset=["until", "lane"]
    )
    # Edges from the parent, in the generation before the birth, to the child.
    children = tree.dropna(subset=["parent"])
    parent_lanes = tree["lane"].loc[children["parent"]].to_numpy()
    edges = {
        "generation": children["born"] - 1,
        "born": children["born"],
        "lane": parent_lanes,
        "to": children["lane"],
        "operation": children["operation"],
    }
    named = nodes[nodes["place"].notna()].assign(last=last, generation=last)
    named = named.fillna({"parent": NONE})
    named = named.assign(said=named["shown"] + ". " + named["text"])
    founders = nodes[nodes["parent"].isna()]
    data = {
        "lives": lives,
        "edges": pd.DataFrame(edges),
        "nodes": nodes.fillna({"parent": NONE}),
        "founders": founders,
        "named": named,
    }
    colours = [OPERATIONS[name][0] for name in here]
    shapes = [OPERATIONS[name][1] for name in here]
    return CHARTS.chart(
        "tree",
        data,
        height=LANE * lanes,
        lowest=lanes - 0.5,
        last=last,
        ticks=list(range(last + 1)),
        here=here,
        colours=colours,
        shapes=shapes,
    )


def _format_nodes(tree: pd.DataFrame) -> pd.DataFrame:
    """One row per template, formatted for display; `generation`: where it is drawn."""
    shown = [NONE if pd.isna(place) else f"{place:.0f}" for place in tree["place"]]
    lived: list[str] = []
    for born, last in zip(tree["born"], tree["last"], strict=True):
        lived.append(f"{born} to {last}" if last > born else str(born))
    named = tree.assign(
        operation=tree["operation"].fillna(START), generation=tree["born"], shown=shown, lived=lived
    )
    return named.fillna({"word": NONE, "voice": NONE}).round({"fitness": DIGITS}).reset_index()


def ancestry_table(history: pd.DataFrame) -> pd.DataFrame:
    """The last population and its ancestors, one row per template, indexed by slug, with a lane for
    each.

    A child takes the lane of its parent if that lived only before its birth, else one below, the
    last-born nearest, so that lines drawn from generation to generation (x) do not cross.

    `history`: of one run, by `schemas.HISTORY`. Returns `text`, `born`, `last` (generation that it
    lived in), `parent`, `operation`, `voice`, `word`, `fitness` (in `last`), `place` and `elite`
    (of the last population, else null and False), `lane` (from 0).
    """
    latest = (
        history.sort_values("generation")
        .groupby("template", sort=False)
        .tail(1)
        .set_index("template")
    )
    final = latest["generation"] == history["generation"].max()
    latest = latest.assign(
        last=latest["generation"],
        place=latest["place"].where(final),
        elite=latest["elite"].astype(bool) & final,
    )
    parents = parents_of(history)
    best: dict[str, float] = {}
    for slug, place in latest.loc[final, "place"].items():
        for ancestor in trace_lineage(str(slug), parents):
            best[ancestor] = min(best.get(ancestor, math.inf), place)
    # Ties between founders, and between children of one age: the best-placed descendants first.
    best_first = sorted(best, key=best.__getitem__)
    tree = latest.loc[best_first]
    born = dict(zip(best_first, tree["born"], strict=True))
    last = dict(zip(best_first, tree["last"], strict=True))
    lanes = _assign_lanes(born, last, parents)
    columns = [
        "text",
        "born",
        "last",
        "parent",
        "operation",
        "voice",
        "word",
        "fitness",
        "place",
        "elite",
    ]
    return tree[columns].assign(lane=pd.Series(lanes)).sort_values(["lane", "born"])


def parents_of(history: pd.DataFrame) -> dict[str, str]:
    """Parent by template of a run; founders are left out."""
    children = history.dropna(subset=["parent"])
    return dict(zip(children["template"], children["parent"], strict=True))


def trace_lineage(slug: str, parents: Mapping[str, str]) -> list[str]:
    """A template and its ancestors, the founder last."""
    line = [slug]
    while line[-1] in parents:
        line.append(parents[line[-1]])
    return line


def _assign_lanes(
    born: Mapping[str, int], last: Mapping[str, int], parents: Mapping[str, str]
) -> dict[str, int]:
    """Lane by slug; the order of `born` breaks ties."""
    children = group_by_key(
        (parents.get(slug), slug) for slug in sorted(born, key=lambda slug: -born[slug])
    )
    lanes: dict[str, int] = {}

    def settle(slug: str, lane: int) -> int:
        """Place a template and its descendants; return the first lane below them."""
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
class TextPiece:
    """A part of a line: a word with its gradient, or text without one (slots, articles before them,
    punctuation).
    """

    line: int
    column: float
    width: float
    text: str
    gradient: float | None


def lay_out_text(
    text: str, begins: Sequence[int], words: Sequence[str], gradients: Sequence[float]
) -> list[TextPiece]:
    """A template in lines of `COLUMNS` characters, words at least as wide as their numbers;
    `begins`: ascending.
    """
    span_by_begin = {
        begin: (begin + len(word), value)
        for begin, word, value in zip(begins, words, gradients, strict=True)
    }
    placed: list[TextPiece] = []
    line, column = 0, 0.0
    for match in re.finditer(r"\S+", text):
        parts = _split_at_gradients(match, span_by_begin)
        widths = [_measure_width(part, value) for part, value in parts]
        if column and column + sum(widths) > COLUMNS:
            line, column = line + 1, 0.0
        for (part, value), width in zip(parts, widths, strict=True):
            begin = round(column, 2)
            placed.append(TextPiece(line, begin, round(width, 2), part, value))
            column += width
        column += 1
    return placed


def _split_at_gradients(
    match: re.Match[str], span_by_begin: Mapping[int, tuple[int, float]]
) -> list[tuple[str, float | None]]:
    """The text between two spaces, split where a word with a gradient begins and ends."""
    parts: list[tuple[str, float | None]] = []
    text, position = match.string, match.start()
    for begin, (end, gradient) in span_by_begin.items():
        if match.start() <= begin < match.end():
            parts.append((text[position:begin], None))
            parts.append((text[begin:end], gradient))
            position = end
    parts.append((text[position : match.end()], None))
    return [part for part in parts if part[0]]


def _measure_width(text: str, gradient: float | None) -> float:
    """The width of a piece of a line, in characters: at least that of its number."""
    if gradient is None:
        return len(text)
    return max(len(text), len(gradient_label(gradient)) * NUMBER)


def gradient_label(gradient: float) -> str:
    """The number below a word."""
    return f"{gradient:.2f}"


def word_gradients(templates: pd.DataFrame, gradients: pd.DataFrame) -> alt.TopLevelMixin:
    """Templates of a run, in their order, as lines of words; the larger a word's gradient, the
    bluer it is.
    """
    words, starts = _lay_out_templates(templates, gradients)
    lines = float(words["line"].max()) + 1
    size = {"width": COLUMNS * CHARACTER, "height": lines * LINE}
    return CHARTS.chart(
        "gradients", {"words": words, "starts": starts}, columns=COLUMNS, lines=lines, **size
    )


def _lay_out_templates(
    templates: pd.DataFrame, gradients: pd.DataFrame
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """One row per piece of a line, and one row per template where it begins."""
    words: list[dict[str, Any]] = []
    starts: list[dict[str, Any]] = []
    top = 0.0
    gradients_by_template = {
        slug: group.sort_values("begin") for slug, group in gradients.groupby("template")
    }
    for record in templates.to_dict("records"):
        template_gradients = gradients_by_template.get(record["template"], gradients.head(0))
        placed = lay_out_text(
            record["text"],
            template_gradients["begin"].tolist(),
            template_gradients["word"].tolist(),
            template_gradients["gradient"].tolist(),
        )
        measured = [piece for piece in placed if piece.gradient is not None]
        highest = max(measured, key=lambda piece: piece.gradient or 0.0, default=None)
        place_label = f"{record['place']}."
        starts.append({"line": top, "column": 0, "said": place_label, "elite": record["elite"]})
        for piece in placed:
            number = "" if piece.gradient is None else gradient_label(piece.gradient)
            piece_columns = {
                "template": record["template"],
                "said": number,
                "hotspot": piece is highest,
            }
            words.append({**asdict(piece), **piece_columns, "line": top + piece.line})
        top += placed[-1].line + 1 + GAP
    words_table = pd.DataFrame(words).round({"gradient": DIGITS})
    starts_table = pd.DataFrame(starts).round({"line": 2})
    return words_table, starts_table
