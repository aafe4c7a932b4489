"""Pages of a dump of Wikipedia, read by `datasets`: pinned, and gone through once without keeping it (SAGED, 2.1)."""

import gc
import re
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from evenruler.errors import UserError
from evenruler.hub import talking_about
from evenruler.instruments.saged.declare.source import Dump
from evenruler.instruments.saged.scrape.pages import Closed, Missing, Page, as_titled, tidy

COLUMNS = ["id", "url", "title", "text"]
"""Of `wikimedia/wikipedia`: number and address of a page, its title, its plain text."""

_LONGEST_HEADING = 12  # words
_END = re.compile(r"""[.?!:;,\u2026]["'\u2019\u201d)\]]*$""")
_AMBIGUOUS = re.compile(r"\b(?:may|can|could) (?:also )?refer to\b[^.]*:\s*$")


class DumpReader(Closed):
    """Gives pages by title; to be closed, or used in a `with`.

    It goes through the dump as far as the last title that is wanted; where one is missing, to the end.

    Args:
        dump: Which.
        titles: All that will be asked for.
        source: Whom to attribute the text to, the dump aside.
        licence: The text's.
    """

    def __init__(self, dump: Dump, titles: Iterable[str], *, source: str, licence: str) -> None:
        self._dump, self._source, self._licence = dump, source, licence
        self._wanted = sorted(set(map(as_titled, titles)))
        self._found: dict[str, dict[str, str]] = {}
        self._coming = self._rows()

    def close(self) -> None:
        """Let go of the dump. Arrow's threads that outlive Python abort it (apache/arrow#45214)."""
        self._coming.close()
        gc.collect()

    def read_page(self, title: str) -> Page | Missing:
        """A page as it was when the dump was made; UserError where the dump cannot be had."""
        name = as_titled(title)
        while name not in self._found and (row := next(self._coming, None)):
            self._found[row["title"]] = row
        if (row := self._found.get(name)) is None:
            return Missing(title, "no page of this title in the dump, which has no redirects")
        sections = sections_of(row["text"])
        if _AMBIGUOUS.search(row["text"].strip().partition("\n")[0]):
            return Missing(title, "a disambiguation page")
        if not sections:
            return Missing(title, "a page without text")
        return Page(
            asked=title,
            title=row["title"],
            page_id=int(row["id"]),
            revision_id=None,
            url=row["url"],
            language=self._dump.language,
            source=f"{self._source}, {self._dump}",
            licence=self._licence,
            sections=sections,
        )

    def _rows(self) -> Generator[dict[str, str]]:
        """The rows that are wanted, as they come."""
        from datasets import load_dataset

        scheme, _, place = self._dump.source.partition(":")
        place = str(Path(place).expanduser()) if scheme == "local" else place
        with self._in_one_line(place):
            rows: Iterable[dict[str, Any]] = load_dataset(
                place,
                data_files=f"{self._dump.config}/*.parquet",
                split="train",
                revision=self._dump.revision,
                streaming=True,
                columns=COLUMNS,
                filters=[("title", "in", self._wanted)],
            )
            yield from rows

    @contextmanager
    def _in_one_line(self, place: str) -> Iterator[None]:
        from datasets.exceptions import DatasetsError

        where = f"material.dump: {self._dump.source}"
        try:
            with talking_about(place, revision=self._dump.revision, where=where):
                yield
        except (OSError, ValueError, DatasetsError) as error:
            reason = (str(error).strip() or type(error).__name__).split("\n")[0].rstrip(".:")
            away = isinstance(error, ConnectionError)
            remedy = "run it again with a network" if away else "mend `source`, `config` or `revision`"
            raise UserError(f"{self._dump.config} cannot be read ({reason})", where=where, remedy=remedy) from None


def sections_of(text: str) -> tuple[tuple[str, str], ...]:
    """Heading and text of each section that has text of its own; the lead's heading is empty.

    Nothing marks a heading in a dump. What is taken for one is a short line behind a blank one (or two headings in a
    row) that does not end as a sentence does, with text below it; the first line of a list may be one, too.

    Args:
        text: Paragraphs with blank lines between them, headings bare.
    """
    sections = [("", list[str]())]
    blank = False
    for line in text.splitlines():
        bare = line.strip()
        is_heading = blank and bare and not _END.search(bare) and len(bare.split()) <= _LONGEST_HEADING
        if is_heading and bare[0].isupper():
            sections.append((bare, []))
        else:
            sections[-1][1].append(line)
        blank = not bare or bool(is_heading)
    tidied = ((heading, tidy("\n".join(lines))) for heading, lines in sections)
    return tuple((heading, own) for heading, own in tidied if own)
