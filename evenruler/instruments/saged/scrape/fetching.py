"""The implementation of `evenruler refresh` and `evenruler find` (2.1, A.1, A.2)."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import cache
from io import StringIO
from itertools import chain, zip_longest
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq

from evenruler.errors import UserError, suggest_nearest
from evenruler.files import write_text_atomically
from evenruler.instruments.saged import schemas
from evenruler.instruments.saged.declare import Settings
from evenruler.instruments.saged.declare.source import (
    DOMAINS,
    FOUND,
    MISSING,
    PAGES,
    SNAPSHOTS,
    SearchMethod,
    Source,
    read_source,
)
from evenruler.instruments.saged.scrape import keyword_search, wiki
from evenruler.instruments.saged.scrape.keyword_search import Keyword, RankedKeywords, Write
from evenruler.instruments.saged.scrape.pages import (
    MissingPage,
    Page,
    as_titled,
    known_pages,
    read_pages,
)
from evenruler.instruments.saged.scrape.replacement_search import (
    Branch,
    Replaced,
    found_replacements,
)
from evenruler.instruments.saged.scrape.scraping import scrape
from evenruler.instruments.saged.scrape.wiki import Wiki
from evenruler.models.declarations import Catalogue
from evenruler.models.questions import Sampling
from evenruler.tables import group_by_key, write_table
from evenruler.terminal import print_note

Row = dict[str, Any]
_HEAD = (
    "# Found by `evenruler find`, to be edited by hand. Behind each word stands how it was found.\n"
)
_UNITS: dict[SearchMethod, str] = {
    "model": "replies",
    "embedding": "similarity",
    "links": "sentences",
}


class SearchFunctions(NamedTuple):
    """The functions that find keywords and replacements; each is called only where it is needed."""

    write: Write
    similarity: keyword_search.Similarity
    links: Callable[[str], Sequence[str]]  # the titles that the page of a title links to


def titles_to_read(source: Source, reader: Wiki) -> dict[str, list[str]]:
    """The titles to read for each root concept: those of the domain's file, then those along links,
    of each page in turn, the nearest first.
    """
    around = source.material.around
    titles_by_concept: dict[str, list[str]] = {}
    for concept in source.roots:
        page_titles = source.pages_of(concept)
        if around is not None:
            ranks = []
            for title in page_titles:
                ranks.append(reader.around(title, around))
            linked_titles = filter(None, chain.from_iterable(zip_longest(*ranks)))
            near_first = list(dict.fromkeys([*page_titles, *linked_titles]))
            page_titles = near_first[: max(around.most, len(page_titles))]
        titles_by_concept[concept] = page_titles
    return titles_by_concept


def found_keywords(
    source: Source, pages: Iterable[Mapping[str, Any]], means: SearchFunctions
) -> keyword_search.Findings:
    """Keywords of the concepts that declare none, in the ways of the domain's `find`.

    UserError where the domain has no `find`, or declares every keyword.
    """
    names: dict[str, str] = {}
    by_hand: dict[str, str] = {}
    for concept, entry in source.concepts.items():
        by_hand |= dict.fromkeys(entry.keywords, concept)
        if not entry.keywords:
            names[concept] = entry.name
    if source.find is None or not names:
        what = "the keywords of every concept are given by hand"
        if source.find is None:
            what = "no `find` in it"
        remedy = "add `find`, or take keywords out of its file"
        raise UserError(what, where=f"the domain {source.title}", remedy=remedy)
    texts = group_by_key((row["concept"], row["text"]) for row in pages)
    ways: dict[str, dict[SearchMethod, RankedKeywords]] = {}
    for concept in names:
        page_texts = texts.get(concept, [])
        ranked_by_way = ways.setdefault(concept, {})
        for way in source.find.by:
            ranked = _rank_words(source, concept, way, page_texts, means)
            if source.find.entities and way != "model":
                ranked = keyword_search.only_names(ranked)
            ranked_by_way[way] = ranked
    return keyword_search.merge_rankings(names, ways, by_hand)


def _rank_words(
    source: Source,
    concept: str,
    way: SearchMethod,
    texts: Sequence[str],
    means: SearchFunctions,
) -> RankedKeywords:
    """What one way finds for a concept, whose pages have these texts."""
    name = source.concepts[concept].name
    if way == "model":
        return keyword_search.rank_by_replies(name, source.title, means.write)
    if not texts:
        return RankedKeywords([], [("", "no page of it was read")])
    if way == "embedding":
        return keyword_search.rank_by_similarity(name, texts, means.similarity)
    linked = chain.from_iterable(map(means.links, source.pages_of(concept)))
    return keyword_search.rank_by_links(dict.fromkeys(linked), texts)


def found_yaml(keywords: Iterable[Keyword], replaced: Iterable[Branch]) -> str:
    """The YAML of a file that `read_source` merges in and a person can edit.

    A branch that lacks replacements is written empty, with the reason as a comment.
    """
    concepts = CommentedMap()
    for keyword in keywords:
        concept_yaml = concepts.setdefault(keyword.concept, CommentedMap(keywords=CommentedSeq()))
        found_words = concept_yaml["keywords"]
        found_words.append(keyword.word)
        notes: list[str] = []
        for way, score in ((hit.way, hit.score) for hit in keyword.hits):
            notes.append(f"{way}: {_UNITS[way]} {score:.3g}")
        note = ", ".join(notes) or "its name"
        found_words.yaml_add_eol_comment(note, len(found_words) - 1)
    replacements = CommentedMap()
    for branch in replaced:
        branches = replacements.setdefault(branch.root, CommentedMap())
        words = branches[branch.branch] = CommentedMap(branch.words)
        for word in words:
            words.yaml_add_eol_comment(branch.why[word], word)
        if branch.lacking:
            wanted = f" ({', '.join(branch.why)})" if branch.why else ""
            reason = " ".join(branch.lacking.split())
            branches.yaml_add_eol_comment(f"lacking{wanted}: {reason}", branch.branch)
    document = CommentedMap()
    if concepts:
        document["concepts"] = concepts
    if replacements:
        document["replacements"] = replacements
    yaml = YAML()
    yaml.indent(mapping=2, sequence=4, offset=2)
    yaml.width = 10_000
    text = StringIO()
    yaml.dump(document, text)
    return _HEAD + text.getvalue()


ON_THE_WAY = Path(".cache/refresh")  # partial results of a refresh, from which it resumes
OpenFunctions = Callable[[Source, Settings, Catalogue], AbstractContextManager[SearchFunctions]]
"""Opens the functions that find."""


def refresh_pages(root: Path, domain: str, settings: Settings) -> Iterator[str]:
    """Fetch the pages of a domain again, yielding lines about progress; an interrupted run is
    resumed.

    UserError where it reads no wiki, no contact is given, or the wiki refuses or does not answer;
    pages fetched before that are kept.
    """
    source = read_source(root / DOMAINS / f"{domain}.yaml", complete=False)
    on_the_way = root / ON_THE_WAY / f"{domain}.jsonl"
    pinned = source.material.revisions or {}
    known_rows = _rows_on_the_way(on_the_way, pinned)
    if known_rows:
        yield f"{domain}: resuming an interrupted run after {len(known_pages(known_rows))} pages"
    pages: list[Row] = []
    missing: list[tuple[str, MissingPage]] = []
    write_text_atomically(on_the_way, json.dumps(known_rows) + "\n")
    with Wiki(source, settings.contact) as reader, on_the_way.open("a", encoding="utf-8") as out:
        wanted = titles_to_read(source, reader)
        _check_pinned_titles(domain, pinned, list(chain.from_iterable(wanted.values())))
        for concept, page in wiki.fetch_pages(reader.read_page, wanted, known_pages(known_rows)):
            if isinstance(page, MissingPage):
                missing.append((concept, page))
                continue
            rows = page.rows(concept)
            pages += rows
            if rows[0] not in known_rows:
                out.write(json.dumps(rows) + "\n")
                out.flush()
                print_note(f"{concept}: {page.title}")
            if page.requested_title in pinned and as_titled(page.requested_title) != page.title:
                revision = f"revision {page.revision_id} of {page.requested_title!r}"
                yield f"{domain}: {concept}: {revision} is one of {page.title!r}"
    folder = root / SNAPSHOTS / domain
    _write_snapshot(folder, pages, missing)
    unanswered = sum(page.unanswered for _, page in missing)
    if not unanswered:
        on_the_way.unlink()
    for concept, page in missing:
        yield f"{domain}: {concept}: {page.requested_title!r} is missing: {page.reason}"
    n_pages = len(known_pages(pages))
    yield f"{domain}: {n_pages} pages in {folder.relative_to(root)}"
    if unanswered:
        yield f"{domain}: run it again to fetch the {unanswered} that had no answer"


def _rows_on_the_way(path: Path, pinned: Mapping[str, int]) -> list[Row]:
    """The rows that an interrupted run fetched, but those of other revisions than the pinned
    ones.
    """
    if not path.exists():
        return []
    rows: list[Row] = []
    lines = path.read_text(encoding="utf-8").split("\n")
    for line in lines[:-1]:  # an incomplete last line is dropped
        rows += json.loads(line)
    return [
        row
        for row in rows
        if pinned.get(row["source_tag"], row["revision_id"]) == row["revision_id"]
    ]


def _check_pinned_titles(
    domain: str, pinned: Mapping[str, int], wanted_titles: Sequence[str]
) -> None:
    """UserError where a revision is pinned of a page that is not read."""
    for title in pinned.keys() - set(wanted_titles):
        raise UserError(
            f"{title!r} is no page that is read",
            where=f"{domain}: material.revisions",
            remedy=f"name one that is; {suggest_nearest(title, wanted_titles)}",
        )


def _write_snapshot(
    folder: Path, pages: list[Row], missing: Iterable[tuple[str, MissingPage]]
) -> None:
    """Write the tables of pages and of missing pages; `missing`: each with its concept."""
    write_table(pages, schemas.PAGES, folder / PAGES)
    missing_rows = [
        {"concept": concept, "asked": page.requested_title, "reason": page.reason}
        for concept, page in missing
    ]
    write_table(missing_rows, schemas.MISSING, folder / MISSING)


def search_for_domain(
    root: Path,
    domain: str,
    settings: Settings,
    catalogue: Catalogue,
    opened: OpenFunctions | None = None,
) -> Iterator[str]:
    """Find the keywords and replacements that a domain asks for, yielding lines about progress.

    Writes a file for a person to edit. UserError where it is there already, nothing is declared or
    missing, or it cannot be looked for.
    """
    path = root / DOMAINS / FOUND / f"{domain}.yaml"
    if path.exists():
        remedy = "edit it, or delete it to search again"
        raise UserError("was found already", where=str(path.relative_to(root)), remedy=remedy)
    source = read_source(root / DOMAINS / f"{domain}.yaml", complete=False)
    threshold = source.find.replacements if source.find else None
    findings = keyword_search.Findings([], [])
    replaced = Replaced([], [])
    with (opened or _search_functions)(source, settings, catalogue) as means:
        pages_read = list(read_pages(domain, source, root))
        if source.find is None or source.find.by:
            findings = found_keywords(source, _rows_of_pages(pages_read), means)
            words = ((keyword.concept, keyword.word) for keyword in findings.keywords)
            source = source.with_found(group_by_key(words))
        if threshold is not None:
            rows = scrape(domain, source, pages_read).sentences
            about = group_by_key((row["concept"], row["sentence"]) for row in rows)
            replaced = found_replacements(source, threshold, about, means.similarity, means.write)
    write_text_atomically(path, found_yaml(findings.keywords, replaced.branches))
    yield from (*findings.refused, *replaced.left)
    counted = []
    if findings.keywords or threshold is None:
        counted.append(f"{len(findings.keywords)} keywords")
    if threshold is not None:
        lacking = [branch for branch in replaced.branches if branch.lacking]
        for branch in lacking:
            reason = " ".join(branch.lacking.split())
            yield f"{branch.root} to {branch.branch}: no replacements: {reason}"
        n_branches = len(replaced.branches) - len(lacking)
        counted.append(f"replacements for {n_branches} branches")
    counts = " and ".join(counted)
    yield f"{domain}: {counts} in {path.relative_to(root)}; edit it, then `make repro`"


def _rows_of_pages(pages: Iterable[tuple[list[str], Page | MissingPage]]) -> list[Row]:
    """Rows by `schemas.PAGES` of the pages that could be read; `pages`: by `read_pages`."""
    rows: list[Row] = []
    for concepts, page in pages:
        if isinstance(page, Page):
            for concept in concepts:
                rows += page.rows(concept)
    return rows


@contextmanager
def _search_functions(
    source: Source, settings: Settings, catalogue: Catalogue
) -> Iterator[SearchFunctions]:
    """The functions that find; models and wiki are opened on first use."""
    from evenruler.models.catalogue import load_model

    loaded = cache(lambda name: load_model(name, catalogue))
    model = source.find.model if source.find else None

    def write(prompts: Sequence[str], seeds: Sequence[int], sampling: Sampling) -> list[str]:
        """The model's reply to each prompt, each with its seed; empty where it was refused."""
        replies = loaded(model).replies(prompts, sampling=sampling, seeds=seeds)
        # A refused prompt gives an empty reply, which does not affect the others.
        return [reply.text or "" for reply in replies]

    def similarity(name: str, words: Sequence[str]) -> list[float]:
        """Cosine similarity (-1 to 1) of each word to a name; UserError where no embedder is
        declared.
        """
        if settings.embedder is None:
            where = "params.yaml: families.saged.embedder"
            raise UserError("no embedder", where=where, remedy="name a model that can embed")
        vectors = np.asarray(loaded(settings.embedder).embed([name, *words]))
        unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
        similarities: list[float] = (unit[1:] @ unit[0]).tolist()
        return similarities

    with ExitStack() as opened:
        wiki = cache(lambda: opened.enter_context(Wiki(source, settings.contact)))
        yield SearchFunctions(write, similarity, lambda title: wiki().links(title))
