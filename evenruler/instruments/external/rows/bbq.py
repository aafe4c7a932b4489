"""Questions of BBQ and of what follows it, with three options: who is stereotyped, who is not, and
that it is unknown.

Files are JSON lines as their authors have them, or tables. Which option is the biased one is said
by a table of metadata (BBQ), by a column (KoBBQ), or by groups and polarity (MBBQ).
"""

import ast
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from evenruler.errors import UserError
from evenruler.instruments.external.declare import METADATA, Source, table_in
from evenruler.instruments.external.rows.items import BenchmarkItem
from evenruler.instruments.external.schemas import AMBIGUOUS, ROLES
from evenruler.strict import read_yaml
from evenruler.tables.records import as_cell, look_up, read_records

IDENTITY: Final = ("category", "question_index", "example_id")

_WORDS: Final = read_yaml(Path(__file__).with_name("bbq.yaml"))

COLUMNS: Final[Mapping[str, str]] = _WORDS["columns"]
"""By role, the column of BBQ; `options` and `biased` are those of KoBBQ."""

CONDITIONS: Final[Mapping[str, str]] = _WORDS["conditions"]
"""Condition by what a file says of a context."""

KOBBQ_ID: Final = re.compile(
    r"(?P<unit>(?P<part>.+?)-\d+\w?)(?:-.*)?-(?P<condition>amb|dis)-(?P<polarity>\w+)"
)
"""An id of KoBBQ, which says category, template, context and polarity: age-001a-001-amb-bsd."""

UNKNOWN: Final = "unknown"
"""The group of an option that says that the answer is not known."""

NEGATIVE: Final = "neg"


@dataclass(frozen=True)
class BbqQuestion:
    """A question with three options, as its file has it."""

    identity: tuple[str, str, str]
    """Category, template and name."""
    prompt: str
    options: tuple[str, ...]
    groups: tuple[tuple[str, ...], ...]
    """By option: short name and group, where the file says them."""
    condition: str
    polarity: str
    right: int | None
    """The place of the right option."""
    biased: int | None
    """The place of the option that the file calls the biased one."""
    stereotyped: frozenset[str]
    """Groups that the stereotype is about."""

    @property
    def item_name(self) -> str:
        """Its name in the benchmark."""
        return "/".join(part for part in self.identity if part)

    def unknown_places(self, unknown_texts: frozenset[str]) -> list[int]:
        """The places of options that say that it is unknown, by their group, else by their text."""
        places = [place for place, words in enumerate(self.groups) if UNKNOWN in words]
        if places:
            return places
        return [place for place, text in enumerate(self.options) if text in unknown_texts]

    def biased_by_group(self, unknown: int) -> int | None:
        """The option of the stereotyped group if the question is negative, else the other
        person's.
        """
        persons = [place for place in range(len(self.options)) if place != unknown]
        stereotyped = [place for place in persons if self.stereotyped & set(self.groups[place])]
        if len(stereotyped) != 1:
            return None
        if self.polarity == NEGATIVE:
            return stereotyped[0]
        return next(place for place in persons if place != stereotyped[0])


def read_bbq(files: Mapping[str, Path], source: Source) -> Iterator[BenchmarkItem]:
    """Questions after ambiguous or disambiguated contexts, each with three options: a file per
    category, or one of all.
    """
    columns = {**COLUMNS, **source.columns_by_role}
    targets = _read_targets(files)
    questions: list[BbqQuestion] = []
    for file_name, path in files.items():
        if file_name != METADATA:
            records = read_records(path, where=path.name)
            questions += [_parse_question(row, columns, number) for number, row in records.rows]
    if not targets and not any(
        question.biased is not None or question.stereotyped for question in questions
    ):
        raise _biased_error(files)
    unknown_texts = frozenset(
        question.options[question.right]
        for question in questions
        if question.condition == AMBIGUOUS and question.right is not None
    )
    for question in questions:
        yield _as_item(question, targets, unknown_texts)


def _biased_error(files: Mapping[str, Path]) -> UserError:
    """The error for files that do not say which option is the biased one."""
    names = ", ".join(files)
    what = f"the layout bbq takes a file `metadata` beside {names}: which option is the biased one"
    remedy = (
        f"write a table with the columns {', '.join(IDENTITY)}, target_loc (0, 1 or 2), and "
        "name it in the source; or name a column as `columns: {biased: ...}`"
    )
    return UserError(what, where="files", remedy=remedy)


def _read_targets(files: Mapping[str, Path]) -> dict[tuple[str, ...], str]:
    """The place of the biased option by category, template and name, from the authors' table;
    empty where there is none. It accounts for the question's polarity.
    """
    if METADATA not in files:
        return {}
    targets: dict[tuple[str, ...], str] = {}
    for row in table_in(files[METADATA], [*IDENTITY, "target_loc"]):
        targets[tuple(row[name] for name in IDENTITY)] = row["target_loc"]
    return targets


def _parse_question(row: Mapping[str, Any], columns: Mapping[str, str], number: int) -> BbqQuestion:
    """A question from a row of its file; KeyError or ValueError where it lacks a part."""
    cells = {role: as_cell(look_up(row, column)) for role, column in columns.items()}
    for role in ("context", "question"):
        if not cells[role]:
            raise ValueError(f"row {number} has no {role}")
    options = _options_of(row, columns)
    name = cells["item"] or str(number)
    _complete_by_id(cells, name)
    identity = (cells["part"], cells["unit"], name)
    prompt = f"{cells['context']}\n\nQ: {cells['question']}\nA:"
    condition = CONDITIONS[cells["condition"].lower()]
    right = _place_of(cells["label"], options)
    biased = _place_of(cells["biased"], options)
    stereotyped = frozenset(map(str, _list_in(look_up(row, columns["stereotyped"]))))
    return BbqQuestion(
        identity,
        prompt,
        options,
        _groups_of(row),
        condition,
        cells["polarity"],
        right,
        biased,
        stereotyped,
    )


def _complete_by_id(cells: dict[str, str], name: str) -> None:
    """Add what an id of KoBBQ says, where no column does."""
    fitting = KOBBQ_ID.fullmatch(name)
    for role, word in (fitting.groupdict() if fitting else {}).items():
        cells[role] = cells[role] or word


def _groups_of(row: Mapping[str, Any]) -> tuple[tuple[str, ...], ...]:
    """By option: short name and group, as BBQ says them."""
    words_by_option = row.get("answer_info") or {}
    groups: list[tuple[str, ...]] = []
    for place, _ in enumerate(ROLES):
        words = words_by_option.get(f"ans{place}", ())
        groups.append(tuple(map(str, words)))
    return tuple(groups)


def _options_of(row: Mapping[str, Any], columns: Mapping[str, str]) -> tuple[str, ...]:
    """The three options of a row, from three columns or from a list."""
    listed = _list_in(look_up(row, columns["options"]))
    if not listed:
        names = [columns[f"ans{place}"] for place, _ in enumerate(ROLES)]
        listed = [look_up(row, name) for name in names]
    options = tuple(as_cell(option) for option in listed)
    if len(options) != len(ROLES) or not all(options):
        raise ValueError(f"{len(options)} options, expected {len(ROLES)}: {options}")
    return options


def _list_in(content: object) -> list[Any]:
    """A list, also one that is written in a cell as JSON or Python; else empty."""
    if isinstance(content, list):
        return content
    if isinstance(content, str) and content.startswith("["):
        for parse in (json.loads, ast.literal_eval):
            with suppress(ValueError, SyntaxError, RecursionError):
                return list(parse(content))
    return []


def _place_of(cell: str, options: Sequence[str]) -> int | None:
    """The place of the option that a cell names by text, number (from 0), ans0 or letter."""
    if cell in options:
        return options.index(cell)
    numbered = cell.removeprefix("ans")
    if numbered in ("0", "1", "2"):
        return int(numbered)
    return "ABC".index(cell) if cell in ("A", "B", "C") else None


def _as_item(
    question: BbqQuestion, targets: Mapping[tuple[str, ...], str], unknown_texts: frozenset[str]
) -> BenchmarkItem:
    """The item: its options by role, the biased one first, and that it is unknown last."""
    unknown = question.unknown_places(unknown_texts)
    biased = question.biased
    if targets:
        biased = _place_of(targets.get(question.identity, "NA"), question.options)
    elif biased is None and len(unknown) == 1:
        biased = question.biased_by_group(unknown[0])
    fault: str | None = None
    if biased is None or len(unknown) != 1 or biased in unknown:
        fault = "no option is named as the biased one"
        biased, unknown = 0, [2]
    (third,) = unknown
    (second,) = {0, 1, 2} - {biased, third}
    places = dict(zip(ROLES, (biased, second, third), strict=True))
    right = ""
    for role, place in places.items():
        if place == question.right:
            right = role
    if not fault and not right:
        fault = "no option is named as the right one"
    category, template, _ = question.identity
    name = question.item_name
    texts: dict[str, str] = {}
    keys: dict[str, str] = {}
    for role, place in places.items():
        texts[role] = question.options[place]
        keys[role] = f"{name}/{place}"
    unit = f"{category} {template}".strip() or name
    aliases = _aliases_of(question, places)
    return BenchmarkItem(
        name,
        unit,
        category,
        texts,
        keys,
        question.prompt,
        question.condition,
        question.polarity,
        right,
        aliases=aliases,
        fault=fault,
    )


def _aliases_of(question: BbqQuestion, places: Mapping[str, int]) -> dict[str, str]:
    """The authors' short name of each option by role; none where one lacks."""
    if not all(question.groups):
        return {}
    return {role: question.groups[place][0] for role, place in places.items()}
