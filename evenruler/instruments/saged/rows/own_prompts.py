"""Prompts of a user's table, asked of every concept that they fit."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from string import Formatter

from evenruler.instruments.saged.declare import FAMILY
from evenruler.instruments.saged.declare.source import Source
from evenruler.instruments.saged.rows.branching import Branched, Span
from evenruler.instruments.saged.rows.prompts import PROVENANCE, Row, Rows, balanced_sample, not_drawn
from evenruler.tables.ids import content_sha256, row_id
from evenruler.tables.schemas import BARE
from evenruler.text.english import with_capital


def own_rows(name: str, source: Source, prompts: Sequence[Row]) -> Rows:
    """Ask every prompt of a table of every concept that it fits.

    Args:
        name: Slug of the domain.
        source: What the user wrote.
        prompts: By `schemas.SENTENCES`, as `scrape` read them.

    Returns:
        A row a prompt and concept: one with placeholders for each concept, the first of the domain as its root; any
        other for its own. Prompts of one `root` are one item. What is above `per_concept` is rejected.
    """
    how = source.assemble
    every = {row["id"]: row for row in sorted(prompts, key=lambda row: row["id"])}
    drawn = set(balanced_sample(list(every), [row["section"] for row in every.values()], how.per_concept, how.seed))
    rows = [
        _row(name, source, row, concept, asked_of)
        for row in every.values()
        if row["id"] in drawn
        for asked_of in [_asked_of(source, row)]
        for concept in asked_of
    ]
    return Rows(rows, [not_drawn(row, how) for row in every.values() if row["id"] not in drawn])


def _asked_of(source: Source, row: Row) -> dict[str, dict[str, str]]:
    """The concepts that a prompt is asked of, each with what stands for its placeholders."""
    texts = (row["sentence"], row["baseline"] or "")
    names = {name for text in texts for _, name, *_ in Formatter().parse(text) if name}
    about = source.concepts if names else [row["concept"]]
    return {concept: {name: source.form(concept, name) or "" for name in names} for concept in about}


def filled(text: str, words: Mapping[str, str], of_root: Mapping[str, str]) -> Branched:
    """A text with words in the place of its placeholders, a capital where it begins with one.

    Its spans are the places where the words of the root are others.
    """
    parts: list[str] = []
    spans: list[Span] = []
    for literal, name, *_ in Formatter().parse(text):
        parts.append(literal)
        if name is not None:
            begin = sum(map(len, parts))
            word, root = (own[name] if begin else with_capital(own[name]) for own in (words, of_root))
            parts.append(word)
            if word != root:
                spans.append(Span(begin, begin + len(word), root, word))
    return Branched("".join(parts), tuple(spans))


def _row(name: str, source: Source, row: Row, concept: str, asked_of: Mapping[str, Mapping[str, str]]) -> Row:
    """By `schemas.PROMPTS`."""
    words = asked_of[concept], asked_of[row["concept"]]
    method, prompt = source.assemble.method, filled(row["sentence"], *words)
    baseline = filled(row["baseline"], *words) if row["baseline"] is not None else None
    identity = {"family": FAMILY, "benchmark": name, "sentence": row["id"], "framing": BARE}
    written_out = len(asked_of) == 1 and row["root"] is not None
    root = {"family": FAMILY, "benchmark": name, "root": str(row["root"])} if written_out else None
    return {
        "id": row_id(**identity, concept=concept),
        "content_sha256": content_sha256(method, prompt.text, baseline.text if baseline else ""),
        "variant": method,
        "framing": BARE,
        **{key: row[key] for key in PROVENANCE},
        "concept": concept,
        "keyword": source.form(concept, "concept"),
        "prompt_type": method,
        "prompt": prompt.text,
        "baseline": baseline.text if baseline else None,
        "note": row["note"],
        "root_id": row_id(**(root or {**identity, "concept": row["concept"]})),
        "root_concept": row["concept"],
        "is_root": concept == row["concept"],
        "prompt_spans": [asdict(span) for span in prompt.spans],
        "baseline_spans": [asdict(span) for span in baseline.spans] if baseline else [],
    }
