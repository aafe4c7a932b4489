"""Pages become sentences about concepts, with where each is from (section 2.1)."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from evenruler.instruments.saged.declare import FAMILY
from evenruler.instruments.saged.scrape.pages import Missing, Page
from evenruler.instruments.saged.scrape.sentences import matched, sentences
from evenruler.tables.ids import content_sha256, row_id
from evenruler.tables.schemas import BARE

Row = dict[str, Any]

PAGE = "page"
"""The variant of a row that is a page."""


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
        if isinstance(page, Missing):
            sources += [_missing(domain, concept, page, source, licence) for concept in concepts]
            continue
        own = [
            row
            for section, text in page.sections
            for row in _of_section(domain, page, section, text, {concept: keywords[concept] for concept in concepts})
        ]
        fresh = {row["id"]: row for row in reversed(own) if row["id"] not in found}
        found.update(fresh)
        counted = Counter(row["concept"] for row in fresh.values())
        sources += [_read(domain, concept, page, counted[concept]) for concept in concepts]
    return Scraped(list(found.values()), sources)


def without_sentences(keywords: Mapping[str, Sequence[str]], found: Iterable[Row]) -> list[str]:
    """The concepts that no sentence is about, in their order."""
    present = {row["concept"] for row in found}
    return [concept for concept in keywords if concept not in present]


def _of_section(
    domain: str, page: Page, section: str, text: str, keywords: Mapping[str, Sequence[str]]
) -> Iterable[Row]:
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
            **_provenance(page),
        }


def _read(domain: str, concept: str, page: Page, n: int) -> Row:
    return {
        **_identity(domain, concept, page.asked),
        "content_sha256": content_sha256(*[part for section in page.sections for part in section]),
        **_provenance(page),
        "concept": concept,
        "sentences": n,
        "reason": None if n else "no new sentence holds a keyword",
    }


def _missing(domain: str, concept: str, page: Missing, source: str, licence: str) -> Row:
    return {
        **_identity(domain, concept, page.asked),
        "content_sha256": content_sha256(page.asked),
        "source": source,
        "licence": licence,
        "concept": concept,
        "source_tag": page.asked,
        "title": page.asked,
        "page_id": None,
        "revision_id": None,
        "url": "",
        "language": "",
        "sentences": 0,
        "reason": page.reason,
    }


def _identity(domain: str, concept: str, asked: str) -> Row:
    key = row_id(family=FAMILY, benchmark=domain, concept=concept, page=asked)
    return {"id": key, "variant": PAGE, "framing": BARE}


def _provenance(page: Page) -> Row:
    return {
        "source_tag": page.asked,
        "title": page.title,
        "page_id": page.page_id,
        "revision_id": page.revision_id,
        "url": page.url,
        "language": page.language,
        "source": page.source,
        "licence": page.licence,
    }
