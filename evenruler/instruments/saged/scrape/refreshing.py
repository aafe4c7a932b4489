"""What `evenruler find` and `evenruler refresh` do for a domain: find keywords and pages, fetch pages (2.1, A.1)."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from io import StringIO
from itertools import chain, product, zip_longest
from typing import Any, Literal

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq

from evenruler.errors import UserError
from evenruler.instruments.saged.declare.finding import Way
from evenruler.instruments.saged.declare.source import Source
from evenruler.instruments.saged.scrape import wiki
from evenruler.instruments.saged.scrape.candidates import Similarity
from evenruler.instruments.saged.scrape.dump import DumpReader
from evenruler.instruments.saged.scrape.finding import (
    Ask,
    Findings,
    Keyword,
    Ranked,
    asked,
    linked,
    merged,
    near,
    only_names,
)
from evenruler.instruments.saged.scrape.pages import Missing, known_pages
from evenruler.instruments.saged.scrape.replacing import Replaced, Write
from evenruler.instruments.saged.scrape.wiki import Wiki, WikiSettings

Row = dict[str, Any]
Links = Callable[[str], Sequence[str]]
"""The titles that the page of a title links to."""

_HEAD = "# Found by `evenruler find`, to be edited by hand. Behind each word stands how it was found.\n"
_UNITS: dict[Way, str] = {"model": "replies", "embedding": "similarity", "links": "sentences"}


@dataclass(frozen=True)
class Means:
    """What keywords and replacements are found with; each is called only in the way that needs it."""

    ask: Ask
    """For keywords."""
    similarity: Similarity
    links: Links
    write: Write
    """For replacements."""


@dataclass(frozen=True)
class Fetched:
    """A page that was asked for. One of the two is empty.

    Attributes:
        pages: Its sections, by `schemas.PAGES`.
        missing: Why there is none, by `schemas.MISSING`, and `unanswered`: whether the wiki did not
            answer, so that a later run may find the page.
    """

    pages: list[Row]
    missing: list[Row]


def wiki_settings(source: Source, contact: str | None) -> WikiSettings:
    """Which wiki a domain's pages are read from.

    Args:
        source: What the user wrote.
        contact: Mail or web address of whoever asks.

    Raises:
        UserError: Its text comes from no wiki; there is no contact, or none that can be.
    """
    material = source.material
    if material.kind == "local":
        raise UserError(
            "its text is local", where=f"{source.title}: material", remedy="there is nothing to fetch; edit the file"
        )
    if contact is None:
        raise UserError(
            "no contact, which those who run a wiki want",
            where="params.yaml: families.saged.contact",
            remedy="write a mail or web address",
        )
    return WikiSettings(
        contact,
        language=source.language,
        api=material.api,
        source="Wikipedia" if material.api is None else source.source,
        licence=material.licence,
    )


def dump_of(source: Source) -> DumpReader | None:
    """Where a domain's pages are read from, if that is a dump."""
    material = source.material
    if material.dump is None:
        return None
    wanted = chain.from_iterable(map(source.pages_of, source.roots))
    return DumpReader(material.dump, wanted, source=source.source, licence=material.licence or "cc-by-sa-4.0")


def titles(source: Source, reader: Wiki | DumpReader) -> dict[str, list[str]]:
    """The titles of each concept that sentences are about: those of the domain's file, then those along links.

    Args:
        source: What the user wrote, with what was found. Pages that were found are not gone beyond.
        reader: Asked for links, which a dump has none of.

    Raises:
        UserError: The wiki refuses or does not answer.
    """
    found: dict[str, list[str]] = {}
    for concept in source.roots:
        own, around = source.pages_of(concept), source.around(concept)
        if around is None or isinstance(reader, DumpReader):
            found[concept] = own
            continue
        ranks = [
            reader.around(title, depth=around.depth, most=around.most, direction=around.direction) for title in own
        ]
        near_first = dict.fromkeys([*own, *filter(None, chain.from_iterable(zip_longest(*ranks)))])
        found[concept] = list(near_first)[: max(around.most, len(own))]
    return found


def fetched(source: Source, reader: Wiki | DumpReader, known: Iterable[Mapping[str, Any]] = ()) -> Iterator[Fetched]:
    """Pages of all concepts, one by one, so that each can be stored as it comes.

    Args:
        source: What the user wrote, with what was found.
        reader: Open, by `wiki_settings` or `dump_of`.
        known: Rows by `schemas.PAGES` of a run that did not end: these pages are not fetched again.
            None of them for everything anew.

    Yields:
        All that was asked for, known pages included, in the order of the titles.

    Raises:
        UserError: The wiki refuses, or is away.
    """
    for concept, page in wiki.refresh(reader, titles(source, reader), known_pages(known)):
        if isinstance(page, Missing):
            yield Fetched([], [_missing(concept, page)])
        else:
            yield Fetched(page.rows(concept), [])


def _missing(concept: str, page: Missing) -> Row:
    return {"concept": concept, "asked": page.asked, "reason": page.reason, "unanswered": page.unanswered}


def found_pages(source: Source, reader: Wiki) -> dict[str, list[str]]:
    """The titles along links of the concepts that give none by hand, for a person to edit before they are fetched.

    Raises:
        UserError: The wiki refuses or does not answer.
    """
    if source.material.around is None:
        return {}
    return {concept: own for concept, own in titles(source, reader).items() if not source.concepts[concept].pages}


def found_keywords(source: Source, pages: Iterable[Mapping[str, Any]], means: Means) -> Findings:
    """Keywords of the concepts that give none by hand, in the ways of the domain's `find`.

    Args:
        source: What the user wrote; keywords that were found before do not count.
        pages: Of every concept, by `schemas.PAGES`: a snapshot, extracts or local text.
        means: What they are found with.

    Raises:
        UserError: The domain declares no `find`, or gives every keyword by hand; whatever the means raise.
    """
    names = {concept: entry.name for concept, entry in source.concepts.items() if not entry.keywords}
    how = source.find
    if how is None or not names:
        what = "no `find` in it" if how is None else "the keywords of every concept are given by hand"
        raise UserError(what, where=f"the domain {source.title}", remedy="add `find`, or take keywords out of its file")
    texts: dict[str, list[str]] = {}
    for row in pages:
        texts.setdefault(row["concept"], []).append(row["text"])
    ways: dict[str, dict[Way, Ranked]] = {concept: {} for concept in names}
    for (concept, name), way in product(names.items(), how.by):
        if way == "model":
            found = asked(name, source.title, means.ask, times=how.times, seed=how.seed)
        else:
            found = _of_pages(way, name, source.pages_of(concept), texts.get(concept, []), means)
            found = only_names(found) if how.entities else found
        ways[concept][way] = found
    by_hand = {word: concept for concept, entry in source.concepts.items() for word in entry.keywords}
    return merged(names, ways, by_hand, how.most)


def _of_pages(
    way: Literal["embedding", "links"], name: str, asked_for: Sequence[str], texts: Sequence[str], means: Means
) -> Ranked:
    if not texts:
        return Ranked([], [("", "no page of it was read")])
    if way == "embedding":
        return near(name, texts, means.similarity)
    return linked(dict.fromkeys(chain.from_iterable(map(means.links, asked_for))), texts)


def found_yaml(
    keywords: Iterable[Keyword], pages: Mapping[str, Sequence[str]], replaced: Replaced | None = None, before: str = ""
) -> str:
    """The text of a file that `read_source` merges in and a person can edit.

    Args:
        keywords: Of concepts.
        pages: Titles of concepts; empty where none were looked for.
        replaced: Replacements; a branch that lacks them is empty, with the reason. None where none were looked for.
        before: What stands in the file already and is kept.
    """
    yaml = YAML()
    yaml.indent(mapping=2, sequence=4, offset=2)
    yaml.width, yaml.preserve_quotes = 10_000, True
    document = yaml.load(before) or CommentedMap()
    if concepts := _concepts(keywords, pages):
        document["concepts"] = concepts
    notes = ""
    for filled in replaced.filled if replaced else []:
        branches, note = _branches(document, filled.root, filled.branch)
        own = branches[filled.branch] = CommentedMap(filled.words)
        for word in own:
            own.yaml_add_eol_comment(filled.why[word], word)
        notes += note
    for lacking in replaced.lacking if replaced else []:
        branches, note = _branches(document, lacking.root, lacking.branch)
        branches[lacking.branch] = CommentedMap()
        wanted = f" ({', '.join(lacking.words)})" if lacking.words else ""
        branches.yaml_add_eol_comment(f"lacking{wanted}: {' '.join(lacking.reason.split())}", lacking.branch)
        notes += note
    text = StringIO("" if before else _HEAD)
    text.seek(0, 2)
    yaml.dump(document, text)
    return text.getvalue() + notes


def _branches(document: CommentedMap, root: str, branch: str) -> tuple[CommentedMap, str]:
    """Where the branches of a root are written, and what a person noted below the reason why one was lacking."""
    replacements: CommentedMap = document.setdefault("replacements", CommentedMap())
    branches: CommentedMap = replacements.setdefault(root, CommentedMap())
    for outer in (document, replacements, branches):
        outer.fa.set_block_style()  # comments in braces would swallow what follows
    comment = branches.ca.items.pop(branch, [None] * 3)[2]
    return branches, comment.value.partition("\n")[2] if comment else ""


def _concepts(keywords: Iterable[Keyword], pages: Mapping[str, Sequence[str]]) -> CommentedMap:
    concepts = CommentedMap()
    for keyword in keywords:
        entry = concepts.setdefault(keyword.concept, CommentedMap(keywords=CommentedSeq()))
        entry["keywords"].append(keyword.word)
        entry["keywords"].yaml_add_eol_comment(_how_found(keyword), len(entry["keywords"]) - 1)
    for concept, own in pages.items():
        concepts.setdefault(concept, CommentedMap())["pages"] = list(own)
    return concepts


def _how_found(keyword: Keyword) -> str:
    return ", ".join(f"{hit.way}: {_UNITS[hit.way]} {hit.score:.3g}" for hit in keyword.hits) or "its name"
