"""The pages of a domain, from wherever it says: files of ours, a snapshot of a wiki, packaged leads (2.1)."""

from collections.abc import Iterator
from pathlib import Path

from evenruler.errors import UserError
from evenruler.files import require_regular
from evenruler.instruments.saged.declare.source import DOMAINS, MISSING, PAGES, Source, material_of
from evenruler.instruments.saged.scrape.extracts import Extracts
from evenruler.instruments.saged.scrape.local import ENDINGS, plain
from evenruler.instruments.saged.scrape.pages import Missing, Page, known_pages
from evenruler.progress import note
from evenruler.tables import read_table

Read = Iterator[tuple[list[str], Page | Missing]]
"""Pages, or why there is none, each with the concepts that it is read for."""


def read(domain: str, source: Source, root: Path = Path()) -> Read:
    """The pages of every concept that sentences are about; no network is asked.

    Args:
        domain: Its slug.
        source: What the user wrote.
        root: The repository.

    Raises:
        UserError: A file cannot be read or is no text, a folder is empty, or pages were never fetched.
    """
    place = material_of(domain, source, root)
    if place is not None and source.material.kind == "local":
        yield from _of_ours(source, root / place, root)
    elif place is not None:
        yield from _of_snapshot(root / place, source.roots)
    else:
        note(f"{domain}: leads of Wikipedia from a package; `evenruler refresh {domain}` fetches whole pages")
        extracts = Extracts()
        for concept in source.roots:
            for title in source.pages_of(concept):
                yield [concept], extracts.read_page(title)


def _of_ours(source: Source, path: Path, root: Path) -> Read:
    """Every file, read for every concept that sentences are about."""
    files = sorted(file for file in path.rglob("*") if file.suffix.lower() in ENDINGS) if path.is_dir() else [path]
    if not files:
        remedy = f"put files with one of the endings {', '.join(ENDINGS)} there"
        raise UserError("an empty folder", where=str(path), remedy=remedy)
    for file in files:
        yield source.roots, _page(file, source, root)


def _page(file: Path, source: Source, root: Path) -> Page:
    require_regular(file)
    try:
        content = file.read_bytes()
    except OSError as error:
        raise UserError(f"cannot be read ({error.strerror})", where=str(file), remedy="mend or remove it") from error
    return Page(
        asked=file.relative_to(root / DOMAINS).as_posix(),
        title=file.stem,
        page_id=None,
        revision_id=None,
        url=file.relative_to(root).as_posix(),
        language=source.language,
        source=source.source,
        licence=source.material.licence or source.licence,
        sections=tuple(plain(content, str(file))),
    )


def _of_snapshot(folder: Path, concepts: list[str]) -> Read:
    rows = read_table(folder / PAGES).to_pylist()
    for concept in concepts:
        for page in known_pages([row for row in rows if row["concept"] == concept]).values():
            yield [concept], page
    for row in read_table(folder / MISSING).to_pylist():
        if row["concept"] in concepts:
            yield [row["concept"]], Missing(row["asked"], row["reason"])
