"""The implementation of `evenruler refresh` and `evenruler find` (2.1, A.1, A.2)."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import cache
from io import StringIO
from itertools import chain, product, zip_longest
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
    FoundKeywords,
    SearchMethod,
    Source,
    read_source,
)
from evenruler.instruments.saged.scrape import keyword_search, wiki
from evenruler.instruments.saged.scrape.keyword_search import Keyword
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
    Write,
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
    """The functions that find keywords (`ask`) and replacements (`write`); each is called only
    where it is needed.
    """

    ask: keyword_search.Ask
    similarity: keyword_search.Similarity
    links: Callable[[str], Sequence[str]]  # the titles that the page of a title links to
    write: Write


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
    how = source.find
    names = {
        concept: declared_concept.name
        for concept, declared_concept in source.concepts.items()
        if not declared_concept.keywords
    }
    if how is None or not names:
        what = (
            "no `find` in it" if how is None else "the keywords of every concept are given by hand"
        )
        raise UserError(
            what,
            where=f"the domain {source.title}",
            remedy="add `find`, or take keywords out of its file",
        )
    texts = group_by_key((row["concept"], row["text"]) for row in pages)
    ways: dict[str, dict[SearchMethod, keyword_search.RankedKeywords]] = {
        concept: {} for concept in names
    }
    for (concept, name), way in product(names.items(), how.by):
        page_texts = texts.get(concept, [])
        if way == "model":
            ranked_keywords = keyword_search.rank_by_replies(
                name, source.title, means.ask, times=how.times, seed=how.seed
            )
        elif not page_texts:
            ranked_keywords = keyword_search.RankedKeywords([], [("", "no page of it was read")])
        elif way == "embedding":
            ranked_keywords = keyword_search.rank_by_similarity(name, page_texts, means.similarity)
        else:
            linked = chain.from_iterable(map(means.links, source.pages_of(concept)))
            ranked_keywords = keyword_search.rank_by_links(dict.fromkeys(linked), page_texts)
        if how.entities and way != "model":
            ranked_keywords = keyword_search.only_names(ranked_keywords)
        ways[concept][way] = ranked_keywords
    by_hand: dict[str, str] = {}
    for concept, entry in source.concepts.items():
        by_hand |= dict.fromkeys(entry.keywords, concept)
    return keyword_search.merge_rankings(names, ways, by_hand, how.most)


def found_yaml(keywords: Iterable[Keyword], replaced: Iterable[Branch]) -> str:
    """The YAML of a file that `read_source` merges in and a person can edit.

    A branch that lacks replacements is written empty, with the reason as a comment.
    """
    concepts = CommentedMap()
    for keyword in keywords:
        concept_yaml = concepts.setdefault(keyword.concept, CommentedMap(keywords=CommentedSeq()))
        found_words = concept_yaml["keywords"]
        found_words.append(keyword.word)
        ways = [f"{hit.way}: {_UNITS[hit.way]} {hit.score:.3g}" for hit in keyword.hits]
        note = ", ".join(ways) or "its name"
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
OpenWiki = Callable[
    [Source, Settings, Catalogue], AbstractContextManager[SearchFunctions]
]  # opens the functions that find


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
            if page.asked in pinned and as_titled(page.asked) != page.title:
                revision = f"revision {page.revision_id} of {page.asked!r}"
                yield f"{domain}: {concept}: {revision} is one of {page.title!r}"
    folder = root / SNAPSHOTS / domain
    _write_snapshot(folder, pages, missing)
    unanswered = sum(page.unanswered for _, page in missing)
    if not unanswered:
        on_the_way.unlink()
    for concept, page in missing:
        yield f"{domain}: {concept}: {page.asked!r} is missing: {page.reason}"
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
        {"concept": concept, "asked": page.asked, "reason": page.reason}
        for concept, page in missing
    ]
    write_table(missing_rows, schemas.MISSING, folder / MISSING)


def search_for_domain(
    root: Path,
    domain: str,
    settings: Settings,
    catalogue: Catalogue,
    opened: OpenWiki | None = None,
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
    how = source.find.replacements if source.find else None
    findings = keyword_search.Findings([], [])
    replaced = Replaced([], [])
    with (opened or _search_functions)(source, settings, catalogue) as means:
        pages_read = list(read_pages(domain, source, root))
        if source.find is None or source.find.by:
            findings = found_keywords(source, _rows_of_pages(pages_read), means)
            source = _with_keywords(source, findings.keywords)
        if how:
            rows = scrape(domain, source, pages_read).sentences
            about = group_by_key((row["concept"], row["sentence"]) for row in rows)
            replaced = found_replacements(source, how, about, means.similarity, means.write)
    write_text_atomically(path, found_yaml(findings.keywords, replaced.branches))
    yield from (*findings.refused, *replaced.left)
    counted = []
    if findings.keywords or not how:
        counted.append(f"{len(findings.keywords)} keywords")
    if how:
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


def _with_keywords(source: Source, keywords: Iterable[Keyword]) -> Source:
    """The domain completed by keywords that were found."""
    words = group_by_key((keyword.concept, keyword.word) for keyword in keywords)
    keywords_by_concept = {
        concept: FoundKeywords(keywords=concept_keywords)
        for concept, concept_keywords in words.items()
    }
    return source.with_found(keywords_by_concept)


@contextmanager
def _search_functions(
    source: Source, settings: Settings, catalogue: Catalogue
) -> Iterator[SearchFunctions]:
    """The functions that find; models and wiki are opened on first use."""
    from evenruler.models.catalogue import load_model

    loaded = cache(lambda name: load_model(name, catalogue))
    how = source.find

    def replies(
        model: str, prompts: Sequence[str], sampling: Sampling, seeds: Sequence[int]
    ) -> list[str]:
        # A refused prompt gives an empty reply, which does not affect the others.
        return [
            reply.text or ""
            for reply in loaded(model).replies(prompts, sampling=sampling, seeds=seeds)
        ]

    def ask(prompts: Sequence[str], seeds: Sequence[int]) -> Sequence[str]:
        return replies(str(how.model if how else ""), prompts, Sampling(max_new_tokens=128), seeds)

    def write(prompts: Sequence[str], seed: int, tokens: int) -> Sequence[str]:
        model = how.replacements.model if how and how.replacements else ""
        # Low temperature: close to the likeliest reply, yet different by seed.
        return replies(
            model, prompts, Sampling(max_new_tokens=tokens, temperature=0.3), [seed] * len(prompts)
        )

    def similarity(name: str, words: Sequence[str]) -> Sequence[float]:
        if settings.embedder is None:
            remedy = "name a model that can embed"
            raise UserError(
                "no embedder", where="params.yaml: families.saged.embedder", remedy=remedy
            )
        vectors = np.asarray(loaded(settings.embedder).embed([name, *words]))
        unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
        return list(map(float, unit[1:] @ unit[0]))

    with ExitStack() as opened:
        wiki = cache(lambda: opened.enter_context(Wiki(source, settings.contact)))
        yield SearchFunctions(ask, similarity, lambda title: wiki().links(title), write)
