"""What `evenruler refresh` and `evenruler find` do to the files of a domain (2.1, A.1, A.2)."""

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from evenruler.errors import UserError
from evenruler.files import replace
from evenruler.instruments.saged.declare import Settings, Source
from evenruler.instruments.saged.declare.finding import FOUND, Found
from evenruler.instruments.saged.declare.source import DOMAINS, MISSING, PAGES, SNAPSHOTS, read_source
from evenruler.instruments.saged.schemas import MISSING as MISSING_SCHEMA
from evenruler.instruments.saged.schemas import PAGES as PAGES_SCHEMA
from evenruler.instruments.saged.scrape import refreshing
from evenruler.instruments.saged.scrape.finding import Findings
from evenruler.instruments.saged.scrape.pages import Missing, Page
from evenruler.instruments.saged.scrape.reading import read
from evenruler.instruments.saged.scrape.refreshing import Means
from evenruler.instruments.saged.scrape.replacing import Replaced, found_replacements
from evenruler.instruments.saged.scrape.scraping import scrape
from evenruler.instruments.saged.scrape.wiki import Wiki, WikiSettings
from evenruler.models.declared import Catalogue
from evenruler.models.records import Reply, Sampling
from evenruler.progress import note
from evenruler.tables import write_table

ON_THE_WAY = Path(".cache/refresh")
"""Where a refresh keeps what it has fetched until it has everything."""

Row = dict[str, Any]
PagesRead = Sequence[tuple[list[str], Page | Missing]]
Opened = Callable[[Source, Settings, Catalogue], AbstractContextManager[Means]]
"""Opens what things are found with."""


def refresh(
    root: Path, domain: str, settings: Settings, opened: Callable[[WikiSettings], Wiki] = Wiki
) -> Iterator[str]:
    """Fetch the pages of a domain anew; one that broke off goes on where it was.

    Args:
        root: The repository.
        domain: Its slug.
        settings: What params say of it, with a contact.
        opened: Opens the wiki.

    Yields:
        Lines that say what was done.

    Raises:
        UserError: The domain reads no wiki, no contact is given, or the wiki, or the dump's place, refuses or is away;
            what was fetched before that is kept.
    """
    source = _source(root, domain)
    on_the_way = root / ON_THE_WAY / f"{domain}.jsonl"
    known = _before(on_the_way)
    if known:
        yield f"{domain}: going on after {_count(known)} pages of a run that broke off"
    pages: list[Row] = []
    missing: list[Row] = []
    replace(on_the_way, json.dumps(known) + "\n")
    dump = refreshing.dump_of(source)
    with (
        dump or opened(refreshing.wiki_settings(source, settings.contact)) as reader,
        on_the_way.open("a", encoding="utf-8") as out,
    ):
        for fetched in refreshing.fetched(source, reader, known):
            pages += fetched.pages
            missing += fetched.missing
            if fetched.pages and fetched.pages[0] not in known:
                out.write(json.dumps(fetched.pages) + "\n")
                out.flush()
                note(f"{fetched.pages[0]['concept']}: {fetched.pages[0]['title']}")
    folder = root / SNAPSHOTS / domain
    write_table(pages, PAGES_SCHEMA, folder / PAGES)
    write_table([_bare(row) for row in missing], MISSING_SCHEMA, folder / MISSING)
    unanswered = [row for row in missing if row.get("unanswered")]
    if not unanswered:
        on_the_way.unlink()
    for row in missing:
        yield f"{domain}: {row['concept']}: {row['asked']!r} is missing: {row['reason']}"
    yield f"{domain}: {_count(pages)} pages in {folder.relative_to(root)}"
    if unanswered:
        yield f"{domain}: run it again to fetch the {len(unanswered)} that had no answer"


def find(
    root: Path, domain: str, settings: Settings, catalogue: Catalogue, opened: Opened | None = None
) -> Iterator[str]:
    """Find what the file of a domain declares: keywords and pages, replacements; a person edits what was found.

    What was found before stays: then only the branches are looked for that still lack replacements.

    Args:
        root: The repository.
        domain: Its slug.
        settings: What params say of it.
        catalogue: The models.
        opened: Opens the means; models of the catalogue and the wiki by default.

    Yields:
        Lines that say what was done.

    Raises:
        UserError: The domain declares nothing to look for, or it cannot be looked for; or nothing is lacking.
    """
    path = root / DOMAINS / FOUND / f"{domain}.yaml"
    source = _source(root, domain)
    anew = not path.exists()
    how = source.find.replacements if source.find else None
    if not anew and not (how and source.lacking):
        remedy = "edit it, or delete it to look anew"
        raise UserError("was found already", where=str(path.relative_to(root)), remedy=remedy)
    findings, replaced, pages = Findings([], []), None, dict[str, list[str]]()
    with (opened or _means)(source, settings, catalogue) as means:
        pages_read = list(read(domain, source, root))
        if anew and (source.find is None or source.find.by):
            findings = refreshing.found_keywords(source, _rows(pages_read), means)
            source = source.with_found(_keywords(findings))
        if how:
            replaced = _replaced(domain, source, pages_read, means)
    if anew and source.material.around is not None:
        with Wiki(refreshing.wiki_settings(source, settings.contact)) as reader:
            pages = refreshing.found_pages(source, reader)
    before = "" if anew else path.read_text(encoding="utf-8")
    replace(path, refreshing.found_yaml(findings.keywords, pages, replaced, before))
    yield from _said(findings, replaced)
    counted = [f"{len(findings.keywords)} keywords"] if findings.keywords or not replaced else []
    counted += [f"replacements for {len(replaced.filled)} branches"] if replaced else []
    yield f"{domain}: {' and '.join(counted)} in {path.relative_to(root)}; edit it, then `make repro`"


def _rows(read: PagesRead) -> list[Row]:
    return [
        row
        for concepts, page in read
        if not isinstance(page, Missing)
        for concept in concepts
        for row in page.rows(concept)
    ]


def _keywords(findings: Findings) -> dict[str, Found]:
    words: dict[str, list[str]] = {}
    for keyword in findings.keywords:
        words.setdefault(keyword.concept, []).append(keyword.word)
    return {concept: Found(keywords=own) for concept, own in words.items()}


def _replaced(domain: str, source: Source, pages: PagesRead, means: Means) -> Replaced:
    keywords = {concept: source.keywords_of(concept) for concept in source.roots}
    about: dict[str, list[str]] = {}
    for row in scrape(domain, keywords, pages, source.source, source.licence).sentences:
        about.setdefault(row["concept"], []).append(row["sentence"])
    return found_replacements(source, about, means.similarity, means.write)


def _said(findings: Findings, replaced: Replaced | None) -> Iterator[str]:
    for refused in findings.refused:
        yield f"{refused.concept}: refused {refused.word!r} ({refused.way}): {refused.reason}"
    for left in replaced.left if replaced else []:
        yield f"{left.root}: left {', '.join(map(repr, left.words))}: {left.reason}"
    for lacking in replaced.lacking if replaced else []:
        yield f"{lacking.root} to {lacking.branch}: no replacements: {' '.join(lacking.reason.split())}"


def _source(root: Path, domain: str) -> Source:
    return read_source(root / DOMAINS / f"{domain}.yaml", complete=False)


def _before(path: Path) -> list[Row]:
    """The pages that a run before left, a line each; one that it did not end is left out."""
    if not path.exists():
        return []
    *whole, _ = path.read_text(encoding="utf-8").split("\n")
    return [row for line in whole for row in json.loads(line)]


def _count(pages: Sequence[Row]) -> int:
    return len({row["source_tag"] for row in pages})


def _bare(row: Row) -> Row:
    return {name: row[name] for name in MISSING_SCHEMA.names}


@contextmanager
def _means(source: Source, settings: Settings, catalogue: Catalogue) -> Iterator[Means]:
    """What things are found with; models and wiki are opened when they are first asked."""
    from evenruler.models.catalogue import load

    wikis: list[Wiki] = []
    loaded = cache(lambda name: load(name, catalogue))

    def said(replies: Sequence[Reply]) -> list[str]:
        # A refused prompt is a reply that is of no use, and takes none of the others with it.
        return [reply.text or "" for reply in replies]

    def ask(prompts: Sequence[str], seeds: Sequence[int]) -> Sequence[str]:
        model = loaded(str(source.find.model if source.find else ""))
        return said(model.replies(prompts, sampling=Sampling(max_new_tokens=128), seeds=seeds))

    def write(prompts: Sequence[str], seed: int, tokens: int) -> Sequence[str]:
        how = source.find.replacements if source.find else None
        model = loaded(how.model if how else "")
        # Close to the likeliest reply, yet another one for another seed.
        sampling = Sampling(max_new_tokens=tokens, temperature=0.3)
        return said(model.replies(prompts, sampling=sampling, seeds=[seed] * len(prompts)))

    def similarity(name: str, words: Sequence[str]) -> Sequence[float]:
        if settings.embedder is None:
            remedy = "name a model that can embed"
            raise UserError("no embedder", where="params.yaml: families.saged.embedder", remedy=remedy)
        vectors = np.asarray(loaded(settings.embedder).embed([name, *words]))
        unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
        return list(map(float, unit[1:] @ unit[0]))

    def links(title: str) -> Sequence[str]:
        if not wikis:
            wikis.append(Wiki(refreshing.wiki_settings(source, settings.contact)))
        return wikis[0].forward_links(title)

    try:
        yield Means(ask, similarity, links, write)
    finally:
        for wiki in wikis:
            wiki.close()
