"""Pages become sentences about concepts, with where each is from (section 2.1): what the stage `scrape` makes."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

from evenruler.errors import UserError
from evenruler.instruments.saged import schemas
from evenruler.instruments.saged.declare import FAMILY, Source
from evenruler.instruments.saged.scrape.pages import Missing, Page
from evenruler.instruments.saged.scrape.reading import read
from evenruler.instruments.saged.scrape.sentences import matched, sentences
from evenruler.tables import write_table
from evenruler.tables.ids import content_sha256, row_id
from evenruler.tables.schemas import BARE

Row = dict[str, Any]

PAGE = "page"
"""The variant of a row that is a page."""

_NOTHING_NEW = "no new sentence holds a keyword"


@dataclass(frozen=True)
class Scraped:
    """The tables of a domain, by `SENTENCES` and `SOURCES`."""

    sentences: list[Row]
    sources: list[Row]


def scrape(
    domain: str,
    keywords: Mapping[str, Sequence[str]],
    read: Iterable[tuple[Sequence[str], Page | Missing]],
    source: str,
    licence: str,
) -> Scraped:
    """Find the sentences that hold keywords.

    Args:
        domain: Its slug.
        keywords: By concept.
        read: Each page once, or why there is none, with the concepts that it is read for: keywords of others do not
            count on it.
        source: Whom to attribute what is missing to.
        licence: Of what is missing.

    Returns:
        A sentence of a concept once, with the first keyword in it and the first place where it stands; every page,
        also those that are missing or hold no keyword.

    Raises:
        UserError: The spaCy model is not installed.
    """
    found: dict[str, Row] = {}
    sources: list[Row] = []
    for concepts, page in read:
        own: dict[str, Row] = {}
        if isinstance(page, Page):
            place, parts, reason = page.provenance, list(chain.from_iterable(page.sections)), _NOTHING_NEW
            for row in _rows(domain, page, {concept: keywords[concept] for concept in concepts}):
                own.setdefault(row["id"], row)
        else:
            place, parts, reason = _nowhere(page, source, licence), [page.asked], page.reason
        fresh = {key: row for key, row in own.items() if key not in found}
        found |= fresh
        counted = Counter(row["concept"] for row in fresh.values())
        shared = {"content_sha256": content_sha256(*parts), "variant": PAGE, "framing": BARE, **place}
        for concept in concepts:
            key, n = row_id(family=FAMILY, benchmark=domain, concept=concept, page=page.asked), counted[concept]
            sources.append({"id": key, **shared, "concept": concept, "sentences": n, "reason": None if n else reason})
    return Scraped(list(found.values()), sources)


def _rows(domain: str, page: Page, keywords: Mapping[str, Sequence[str]]) -> Iterator[Row]:
    """By `schemas.SENTENCES`, as often as they stand there."""
    for section, text in page.sections:
        listed = sentences(text)
        for match in matched(listed, keywords):
            sentence = listed[match.sentence]
            yield {
                "id": row_id(family=FAMILY, benchmark=domain, concept=match.concept, sentence=sentence),
                "content_sha256": content_sha256(sentence),
                "concept": match.concept,
                "keyword": match.keyword,
                "sentence": sentence,
                "section": section,
                **page.provenance,
            }


def _nowhere(page: Missing, source: str, licence: str) -> Row:
    """The place of a page that is missing."""
    none = {"page_id": None, "revision_id": None, "url": "", "language": ""}
    return {"source_tag": page.asked, "title": page.asked, **none, "source": source, "licence": licence}


SOURCE = "source.yaml"


@dataclass(frozen=True)
class Made:
    """How much was found."""

    sentences: int
    pages: int
    missing: int
    """Pages without a sentence."""
    without: list[str]
    """Concepts that no sentence is about."""


def make(domain: str, source: Source, path: Path, folder: Path, root: Path = Path()) -> Made:
    """Find the sentences of a domain and write them.

    Raises:
        UserError: No sentence is about a concept that others are branched from; or as `read` and `scrape` say.
    """
    keywords = {concept: source.keywords_of(concept) for concept in source.roots}
    found = scrape(domain, keywords, read(domain, source, root), source.source, source.licence)
    present = {row["concept"] for row in found.sentences}
    without = [concept for concept in keywords if concept not in present]
    if without and source.branch:
        raise UserError(
            f"no sentence about {without[0]} (keywords {', '.join(keywords[without[0]])})",
            where=str(path),
            remedy="mend its keywords or give it more text",
        )
    write_table(found.sentences, schemas.SENTENCES, folder / "sentences.parquet")
    write_table(found.sources, schemas.SOURCES, folder / "sources.parquet")
    yaml = YAML(pure=True)  # which keeps the order of concepts
    yaml.dump(
        source.resolved().model_dump(mode="json", by_alias=True, exclude_unset=True, exclude_none=True), folder / SOURCE
    )
    missing = sum(1 for row in found.sources if not row["sentences"])
    return Made(len(found.sentences), len(found.sources), missing, without)
