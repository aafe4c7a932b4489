"""What a file is that people have lying about: by its columns, and by what stands in them.

Kinds stand in `recognised.yaml`; `drafts` makes sources of them.
"""

import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations
from pathlib import Path
from typing import Any, Final

from pydantic import Field

from evenruler.errors import UserError
from evenruler.files import file_sha256
from evenruler.strict import StrictModel, Text, read_yaml, validate
from evenruler.tables.frames import evenly_spread
from evenruler.tables.records import Records, as_cell, look_up, read_records

KINDS_FILE: Final = Path(__file__).with_name("recognised.yaml")

SAMPLE: Final = 50
"""Rows that are looked at where content says what a column is."""

FEWEST_WORDS: Final = 3
"""Fewest words of a sentence, where content says what a column is."""

MASK: Final = re.compile(r"\[M\]|\[MASK\]|<mask>|<M>", re.IGNORECASE)
"""What stands in templates where a word is to be filled in."""

DOCUMENT: Final = "doc."
"""Before columns of documents in samples of lm-evaluation-harness."""


class Kind(StrictModel):
    """A kind of file, as `recognised.yaml` has it."""

    title: Text
    takes: dict[Text, list[Text]]
    """By family that takes it, the usual one first, what a verdict lacks."""
    columns: dict[str, list[str]]
    optional: list[str] = Field(default_factory=list)
    either: list[str] = Field(default_factory=list)
    """Optional roles of which a file has one at least."""

    @property
    def families_in_order(self) -> list[str]:
        """The families that take it, the usual one first."""
        return [*self.takes]


@cache
def load_kinds() -> dict[str, Kind]:
    """The kinds by name, in the order in which they are tried."""
    return {name: validate(Kind, kind, KINDS_FILE) for name, kind in read_yaml(KINDS_FILE).items()}


@dataclass(frozen=True)
class RecognisedFile:
    """A file, what it is, and which of its columns is what."""

    path: Path
    sha256: str
    records: Records
    name: str
    """The name of its kind."""
    kind: Kind
    columns: Mapping[str, str]
    """By role."""

    @property
    def in_words(self) -> str:
        """What it is, for readers."""
        return f"{self.kind.title} ({self.records.kind})"

    def cells_of(self, role: str) -> list[str]:
        """The text of a column in each row."""
        column = self.columns[role]
        return [as_cell(look_up(fields, column)) for _, fields in self.records.rows]

    def contents_of(self, role: str) -> list[Any]:
        """What the file holds in a column in each row."""
        return [look_up(fields, self.columns[role]) for _, fields in self.records.rows]


def recognise_file(path: Path, given_columns: Mapping[str, str] = {}) -> RecognisedFile:
    """What a file is; `given_columns`: columns by role that the user names. UserError where it is
    of no kind, or a named column is not there.
    """
    records = read_records(path)
    if not records.rows:
        raise UserError("it has no row", where=str(path), remedy="name a file with rows")
    for column in given_columns.values():
        if not records.has_column(column):
            what = f"no column {column!r} among {', '.join(records.columns)[:200]}"
            raise UserError(what, where=str(path), remedy="check the name after --column")
    for name, kind in load_kinds().items():
        columns = find_columns(records, name, kind, given_columns)
        if columns is not None:
            return RecognisedFile(path, file_sha256(path), records, name, kind, columns)
    kinds = "; ".join(kind.title for kind in load_kinds().values())
    what = f"columns {', '.join(records.columns)[:200]}, which are those of no kind: {kinds}"
    remedy = "say which is which, as --column first=COLUMN --column second=COLUMN"
    raise UserError(what, where=str(path), remedy=remedy)


def find_columns(
    records: Records, name: str, kind: Kind, given_columns: Mapping[str, str]
) -> dict[str, str] | None:
    """The columns of a kind by role; None where the file lacks one, or its content is another."""
    available = list_paths(records)
    if set(given_columns) - set(kind.columns):
        return None
    columns = {**given_columns}
    for role, patterns in kind.columns.items():
        taken = set(columns.values())
        column = first_match(patterns, [path for path in available if path not in taken])
        if role not in columns and column is not None:
            columns[role] = column
    if name == "pairs" and {"first", "second"} - set(columns) and not given_columns:
        columns |= find_pair(records)
    lacking = set(kind.columns) - set(columns) - set(kind.optional)
    if lacking or (kind.either and not set(kind.either) & set(columns)):
        return None
    is_of_kind = CONTENT.get(name)
    if is_of_kind is None or is_of_kind(records, columns):
        return columns
    return None


def list_paths(records: Records) -> list[str]:
    """The columns, and those of objects that stand in the first row."""
    _, first_row = records.rows[0]
    paths: list[str] = []
    for column in records.columns:
        paths.append(column)
        inner = first_row.get(column)
        if isinstance(inner, dict):
            paths += [f"{column}.{key}" for key in inner]
    return paths


def first_match(patterns: Iterable[str], columns: Sequence[str]) -> str | None:
    """The first column that the first fitting pattern matches; None where none does."""
    for pattern in patterns:
        for column in columns:
            if re.fullmatch(pattern, re.sub(r"[^\w.]+", "_", column.strip().casefold())):
                return column
    return None


def sample_cells(records: Records, column: str) -> list[str]:
    """Cells of some rows, evenly spread."""
    rows = evenly_spread(records.rows, SAMPLE)
    return [as_cell(look_up(fields, column)) for _, fields in rows]


def find_pair(records: Records) -> dict[str, str]:
    """The two columns whose texts share half of their words in most rows; none where there are no
    such columns.
    """
    texts = {column: sample_cells(records, column) for column in records.columns}
    for first, second in combinations(records.columns, 2):
        pairs = list(zip(texts[first], texts[second], strict=True))
        n_alike = sum(_are_like_sentences(*pair) for pair in pairs)
        if 2 * n_alike > len(pairs):
            return {"first": first, "second": second}
    return {}


def _are_like_sentences(text: str, other_text: str) -> bool:
    """Whether two texts differ, and share half of their words."""
    words, other_words = set(text.split()), set(other_text.split())
    n_words = sorted([len(words), len(other_words)])
    if n_words[0] < FEWEST_WORDS or text == other_text:
        return False
    return 2 * len(words & other_words) >= n_words[-1]


def _has_masks(records: Records, columns: Mapping[str, str]) -> bool:
    """Whether prompts have a mask."""
    return any(MASK.search(text) for text in sample_cells(records, columns["prompt"]))


def _has_word_lists(records: Records, columns: Mapping[str, str]) -> bool:
    """Whether a row holds lists of words."""
    _, first_row = records.rows[0]
    return all(isinstance(look_up(first_row, column), list) for column in columns.values())


def _has_questions(records: Records, columns: Mapping[str, str]) -> bool:
    """Whether items stand in an object or a list."""
    _, first_row = records.rows[0]
    return isinstance(look_up(first_row, columns["questions"]), dict | list)


def _has_groups(records: Records, columns: Mapping[str, str]) -> bool:
    """Whether texts stood by group and name."""
    return records.kind == "JSON" and len(records.columns) == len(columns)


def _has_numbers(records: Records, columns: Mapping[str, str]) -> bool:
    """Whether figures are numbers, and words are words."""
    figures = [cell for cell in sample_cells(records, columns["figure"]) if cell]
    words = sample_cells(records, columns["attribute"])
    are_words = all(len(word.split()) <= 5 for word in words)
    return bool(figures) and are_words and all(_is_number(figure) for figure in figures)


def _is_number(cell: str) -> bool:
    """Whether a cell is a number."""
    return re.fullmatch(r"[-+]?\d+([.,]\d+)?", cell.strip()) is not None


CONTENT: Final = {
    "weat": _has_word_lists,
    "questionnaires": _has_questions,
    "templates": _has_masks,
    "grouped": _has_groups,
    "words": _has_numbers,
}
"""By kind, whether what stands in its columns is what it should be."""


def command_for(recognised: RecognisedFile, name: str = "NAME", family: str = "") -> str:
    """The command that takes a file."""
    family = family or recognised.kind.families_in_order[0]
    path = shlex.quote(str(recognised.path))
    return f"evenruler new {family} {name} --from {path}"


def require_family(recognised: RecognisedFile, family: str | None, name: str) -> str:
    """The family that takes a file; UserError where another one is named."""
    families = recognised.kind.families_in_order
    if family is None or family in families:
        return family or families[0]
    what = f"{recognised.in_words}, which {' or '.join(families)} takes, not {family}"
    remedy = f"run `{command_for(recognised, name)}`"
    raise UserError(what, where=str(recognised.path), remedy=remedy)
