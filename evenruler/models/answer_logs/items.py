"""The items of a benchmark, as answers to them are found in a batch or a table."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Protocol

from evenruler.models.answer_logs.logged import AnswerLog, normalise_question
from evenruler.text.replies import normalise_surface

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class LoggedItem:
    """An item that a log may answer: a question, if it has one, and the texts that compete."""

    name: str
    unit: str
    question: str
    """Without labels, by `normalise_question`; "" where texts stand alone."""
    texts: tuple[str, ...]
    """In the authors' order, where their keys number them; else in the order of roles."""
    roles: tuple[str, ...]
    keys: tuple[str, ...]
    """The authors' key of each text."""
    aliases: tuple[str | None, ...]
    """The benchmark's own short name of each text, if it has one."""

    @cached_property
    def place_by_surface(self) -> Mapping[str, int]:
        """The place of a text by its words, or by its alias where no other text is called so."""
        places: dict[str, int] = {}
        shared: set[str] = set()
        for place, alias in enumerate(self.aliases):
            surface = normalise_surface(alias or "")
            if surface in places:
                shared.add(surface)
            places[surface] = place
        for surface in {"", *shared} & places.keys():
            del places[surface]
        for place, text in enumerate(self.texts):
            places[normalise_surface(text)] = place
        return places

    def places_of(self, options: Sequence[str]) -> tuple[int, ...] | None:
        """The place of the text that each option is; None unless each of them is another one, and
        no text is left.
        """
        places: list[int] = []
        for option in options:
            place = self.place_by_surface.get(normalise_surface(option))
            if place is None:
                return None
            places.append(place)
        is_whole = sorted(places) == list(range(len(self.texts)))
        return tuple(places) if is_whole else None


class LoggedItems:
    """The items of a benchmark, whichever of them are asked."""

    def __init__(self, benchmark: str, items: Sequence[LoggedItem]) -> None:
        """`benchmark`: its name and version, for errors."""
        self.benchmark = benchmark
        self.items = items
        self.unit_by_key: dict[str, str] = {}
        """The unit of each text."""
        for item in items:
            self.unit_by_key |= dict.fromkeys(item.keys, item.unit)

    @classmethod
    def from_texts(cls, benchmark: str, texts: "pd.DataFrame") -> "LoggedItems":
        """From the rows of a benchmark, one a text; older benchmarks lack the column `alias`."""
        if "alias" not in texts:
            texts = texts.assign(alias=None)
        columns = ["item", "unit", "prompt", "role", "text", "key", "alias"]
        rows_by_item: dict[str, list[tuple[str, ...]]] = {}
        for row in texts[columns].itertuples(index=False, name=None):
            rows_by_item.setdefault(row[0], []).append(row)
        items: list[LoggedItem] = []
        for name in sorted(rows_by_item, key=_natural_order):
            rows = sorted(rows_by_item[name], key=_authors_order)
            _, units, prompts, roles, words, keys, aliases = zip(*rows, strict=True)
            named = tuple(alias if isinstance(alias, str) else None for alias in aliases)
            question = normalise_question(prompts[0])
            items.append(LoggedItem(name, units[0], question, words, roles, keys, named))
        return cls(benchmark, items)


def _natural_order(name: str) -> str:
    """A name whose numbers sort by their size."""
    return re.sub(r"\d+", lambda digits: digits[0].zfill(12), name)


def _authors_order(row: tuple[str, ...]) -> tuple[str, str]:
    """The place that the authors' key gives a text, if any, and its role."""
    role, key = row[3], row[5]
    last = key.rpartition("/")[2]
    return (last if last.isdigit() and "/" in key else ""), role


class UnjoinedLog(Protocol):
    """Answers to requests or keys, which stand for texts only once a benchmark says which."""

    def join_items(self, benchmark: LoggedItems) -> AnswerLog:
        """The answers by the keys of the benchmark's texts; UserError where it does not answer
        them.
        """

    def has_answers(self, benchmark: LoggedItems) -> bool:
        """Whether it answers an item of the benchmark."""
