"""Sentences about concepts, with their provenance (section 2.1): what the stage `scrape` makes of
pages.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from ruamel.yaml import YAML

from evenruler.errors import UserError
from evenruler.instruments.saged import schemas
from evenruler.instruments.saged.declare import FAMILY
from evenruler.instruments.saged.declare.source import Row, Source
from evenruler.instruments.saged.scrape.pages import MissingPage, Page, read_pages
from evenruler.tables import group_by_key, write_table
from evenruler.tables.ids import content_sha256, row_id
from evenruler.tables.schemas import BARE
from evenruler.text.english import BATCH, spacy_pipeline
from evenruler.text.whole_words import cached_finder, collapse_spaces

_PARSED_AT_ONCE = 10_000  # characters, about: longer paragraphs are parsed in parts
_WRAPPED = 40
"""Fewest characters of a line without an end that continues on the next line; shorter ones are
titles."""
_TITLE = 12  # most words of a line without an end mark that is taken for a title

_BULLET = re.compile(r"\A(?:[-*+\u2022\u2013\u25aa\u25cf\u25e6]|\(?(?:\d{1,3}|[a-zA-Z])[.)])\s+")
_END = re.compile(r"""[.?!:;\u2026]["'\u2019\u201d\u00bb)\]*_]*$""")
_FOOTNOTE = re.compile(r"\[\^?\w{1,3}\]:?|\[(?:citation|clarification) needed\]")
_ENDED = re.compile(r"""[.?!\u2026]["'\u2019\u201d\u00bb)\]]*$""")
_ABBREVIATED = re.compile(r"\b(?:approx|ca|c|cf|e\.g|fig|i\.e|no|nos|pp?|vol|vs)\.$", re.IGNORECASE)


class KeywordMatch(NamedTuple):
    """A sentence that contains a keyword of a concept."""

    sentence: str
    concept: str
    keyword: str


def split_sentences(text: str) -> list[str]:
    """The sentences of a text with one paragraph per line, in order, each with single spaces.

    Short lines without an end mark (titles and list entries) are skipped; bullets and footnote
    marks are removed. UserError where the spaCy model is not installed.
    """
    lines: list[str] = []
    for line in text.splitlines():
        if (
            lines
            and not _ENDED.search(lines[-1])
            and (len(lines[-1]) >= _WRAPPED or line[:1].islower())
        ):
            lines[-1] += f" {line}"
        else:
            lines.append(line)
    parts: list[str] = []
    for line in lines:
        parts += _split_long_paragraph(_strip_marks(line))
    sentences: list[str] = []
    for doc in spacy_pipeline("sentences").pipe(parts, batch_size=BATCH):
        sentences += _join_spans([span.text for span in doc.sents])
    return sentences


def match_keywords(
    sentences: Sequence[str], keywords: Mapping[str, Sequence[str]]
) -> list[KeywordMatch]:
    """The sentences that contain keywords, and of which concepts; repeated sentences count once.

    Each is given once for each concept in it, with the concept's first keyword there, spelled as in
    `keywords`. Keywords are matched as in `evenruler.text.whole_words`, but not in plurals that are
    no keywords themselves.
    """
    owner_pairs: list[tuple[str, tuple[str, str]]] = []
    for concept, words in keywords.items():
        owner_pairs += [(collapse_spaces(word), (concept, word)) for word in words]
    owners = group_by_key(owner_pairs)
    sought = cached_finder(tuple(owners))
    matches = []
    for sentence in dict.fromkeys(sentences):
        first: dict[str, str] = {}
        for match in sought.matches(sentence):
            for concept, keyword in owners[match.word] if not match.plural else []:
                first.setdefault(concept, keyword)
        matches += [KeywordMatch(sentence, *pair) for pair in first.items()]
    return matches


def _strip_marks(line: str) -> str:
    """A line without bullet and footnote marks; empty where it is a title."""
    unmarked = _BULLET.sub("", _FOOTNOTE.sub("", line).strip())
    bare = " ".join(unmarked.split())
    has_words = any(map(str.isalnum, bare))
    is_title = not _END.search(bare) and len(bare.split()) <= _TITLE
    return bare if has_words and not is_title else ""


def _split_long_paragraph(paragraph: str) -> Iterator[str]:
    """A paragraph, or its parts where it is too long to parse at once, cut where sentences seem to
    end.
    """
    begin = 0
    while len(paragraph) - begin > _PARSED_AT_ONCE:
        window = paragraph[begin : begin + _PARSED_AT_ONCE]
        ends = [match.end() for match in re.finditer(r"[a-z]{3}[.?!]\s(?=[A-Z])", window)]
        if ends:
            end = ends[-1]
        else:
            end = window.rfind(" ") + 1 or len(window)
        yield window[:end].strip()
        begin += end
    if paragraph[begin:].strip():
        yield paragraph[begin:].strip()


def _join_spans(spans: Sequence[str]) -> Iterator[str]:
    """Sentences joined from the parser's spans: none ends without a mark or at an abbreviation, or
    is only a mark.
    """
    sentence = ""
    for span in filter(None, map(str.strip, spans)):
        if not sentence:
            sentence = span
        elif _continues_sentence(span, sentence):
            sentence = f"{sentence} {span}"
        else:
            yield sentence
            sentence = span
    if sentence:
        yield sentence


def _continues_sentence(span: str, sentence: str) -> bool:
    """Whether a span belongs to the sentence before it."""
    if not _ENDED.search(sentence):
        return True
    if _ABBREVIATED.search(sentence) and not _ABBREVIATED.fullmatch(sentence):
        return True
    is_mark = not any(map(str.isalnum, span))
    return span[0].islower() or is_mark


class Scraped(NamedTuple):
    """The tables of a domain, by `SENTENCES` and `SOURCES`."""

    sentences: list[Row]
    sources: list[Row]


def scrape(
    domain: str, source: Source, read: Iterable[tuple[Sequence[str], Page | MissingPage]]
) -> Scraped:
    """Find sentences that contain keywords: each once per concept, with its first keyword, where it
    occurs first.

    `read`: each page once, or why there is none, with the concepts that it is read for: keywords of
    others are ignored on it. All pages are among the sources. UserError where the spaCy model is
    not installed.
    """
    row_by_id: dict[str, Row] = {}
    sources: list[Row] = []
    for concepts, page in read:
        fresh: Counter[str] = Counter()
        if isinstance(page, Page):
            place = page.provenance
            parts = list(chain.from_iterable(page.sections))
            reason = "no new sentence holds a keyword"
            keywords = {concept: source.keywords_of(concept) for concept in concepts}
            for row in _sentence_rows(domain, page, keywords):
                if row["id"] not in row_by_id:
                    row_by_id[row["id"]] = row
                    fresh[row["concept"]] += 1
        else:
            place = {
                "page_id": None,
                "revision_id": None,
                "url": "",
                "language": "",
                "source_tag": page.requested_title,
                "title": page.requested_title,
                "source": source.source,
                "licence": source.licence,
            }
            parts = [page.requested_title]
            reason = page.reason
        shared = {
            "content_sha256": content_sha256(*parts),
            "variant": "page",
            "framing": BARE,
            **place,
        }
        for concept in concepts:
            key = row_id(
                family=FAMILY, benchmark=domain, concept=concept, page=page.requested_title
            )
            n = fresh[concept]
            sources.append(
                {
                    "id": key,
                    **shared,
                    "concept": concept,
                    "sentences": n,
                    "reason": None if n else reason,
                }
            )
    return Scraped(list(row_by_id.values()), sources)


def _sentence_rows(domain: str, page: Page, keywords: Mapping[str, Sequence[str]]) -> Iterator[Row]:
    """Matches on a page by `schemas.SENTENCES`, with repeats across sections."""
    for section, text in page.sections:
        for sentence, concept, keyword in match_keywords(split_sentences(text), keywords):
            key = row_id(family=FAMILY, benchmark=domain, concept=concept, sentence=sentence)
            yield {
                "id": key,
                "content_sha256": content_sha256(sentence),
                "concept": concept,
                "keyword": keyword,
                "sentence": sentence,
                **dict.fromkeys(["root", "baseline", "note"]),
                "section": section,
                **page.provenance,
            }


def write_sentence_tables(
    domain: str, source: Source, path: Path, folder: Path, root: Path = Path()
) -> list[str]:
    """Write the sentences of a domain; returns lines about them.

    UserError where no sentence is about a root that is branched, or as for `read_pages` and
    `scrape`.
    """
    tables = scrape(domain, source, read_pages(path.stem, source, root))
    present = {row["concept"] for row in tables.sentences}
    without = [concept for concept in source.roots if concept not in present]
    if without and source.branch:
        keywords = ", ".join(source.keywords_of(without[0]))
        what = f"no sentence about {without[0]} (keywords {keywords})"
        raise UserError(what, where=str(path), remedy="fix its keywords or give it more text")
    write_table(tables.sentences, schemas.SENTENCES, folder / "sentences.parquet")
    write_table(tables.sources, schemas.SOURCES, folder / "sources.parquet")
    yaml = YAML(pure=True)  # which keeps the order of concepts
    resolved = source.model_copy(update={"find": None})
    written = resolved.model_dump(mode="json", by_alias=True, exclude_unset=True, exclude_none=True)
    yaml.dump(written, folder / "source.yaml")
    missing = sum(not row["sentences"] for row in tables.sources)
    n_sentences, n_pages = len(tables.sentences), len(tables.sources)
    lines = [f"no sentence about {concept}" for concept in without]
    lines.append(f"{n_sentences:,} sentences, {missing} of {n_pages} pages without any")
    return [f"{domain}: {line}" for line in lines]
