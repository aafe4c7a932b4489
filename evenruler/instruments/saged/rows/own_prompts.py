"""Prompts of a user's table, asked of every concept that they fit."""

from collections.abc import Iterator, Mapping, Sequence
from string import Formatter

from evenruler.instruments.saged.declare import FAMILY
from evenruler.instruments.saged.declare.source import Source
from evenruler.instruments.saged.rows.branching import Branched, Span
from evenruler.instruments.saged.rows.prompts import Row, Rows, balanced_sample, not_drawn, prompt_row
from evenruler.tables.ids import row_id
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
    asked = [made for row in every.values() if row["id"] in drawn for made in _asked(name, source, row)]
    return Rows(asked, [not_drawn(row, how) for row in every.values() if row["id"] not in drawn])


def _asked(name: str, source: Source, row: Row) -> Iterator[Row]:
    """A prompt for each concept that it is asked of."""
    texts = [row["sentence"], *filter(None, [row["baseline"]])]
    names = {placeholder for text in texts for _, placeholder, *_ in Formatter().parse(text) if placeholder}
    about = list(source.concepts) if names else [row["concept"]]
    forms = {concept: {name: source.form(concept, name) or "" for name in names} for concept in about}
    alone = len(about) == 1 and row["root"] is not None
    root_id = row_id(family=FAMILY, benchmark=name, root=str(row["root"])) if alone else None
    for concept in about:
        prompt, *baseline = (filled(text, forms[concept], forms[row["concept"]]) for text in texts)
        keyword = source.form(concept, "concept")
        last = next(iter(baseline), None)
        yield prompt_row(name, source, row, concept, prompt, last, keyword=keyword, root_id=root_id)


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
