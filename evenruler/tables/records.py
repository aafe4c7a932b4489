"""The reader of tables that people have: commas, semicolons or tabs, JSON lines, JSON, Parquet.

A file is recognised by its content, not by its name. Text is UTF-8, or UTF-16 with a byte order
mark.
"""

import csv
import io
import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

from evenruler.errors import UserError, suggest_nearest
from evenruler.files import MOST_READ, require_regular
from evenruler.strict import read_text

FileKind = Literal["CSV", "tab-separated text", "JSON lines", "JSON", "Parquet"]

Rows = list[tuple[int, dict[str, str]]]
"""Rows of text by column, each with the number of the line at which it ends; in JSON and Parquet
with its own number."""

DELIMITERS: Final = ",;\t"
PARQUET: Final = b"PAR1"
UTF_16: Final = (b"\xff\xfe", b"\xfe\xff")

GROUPED: Final = ("group", "name", "text")
"""Columns of texts that stand in JSON by group and name (BOLD)."""

RENAME: Final = "rename or remove it"
WORDS_OF_A_TEXT: Final = 3
"""Fewest words of a text; what is shorter is a word or a name."""

WRITE_IT: Final = "create it or check the name"
NOT_A_TABLE: Final = (
    "write a table: a line of names, then a row each, with commas between fields; or JSON lines, "
    "an object a row"
)

_MISSING: Final = object()


class Records(NamedTuple):
    """The rows of a table as its file has them: text, or what JSON and Parquet hold."""

    kind: FileKind
    columns: list[str]
    rows: list[tuple[int, dict[str, Any]]]

    def as_text(self, columns: Sequence[str] = ()) -> Rows:
        """Rows of text, by default of all columns; a column may lead into an object, as
        `doc.sentence` or `answers.0`.
        """
        names = columns or self.columns
        rows: Rows = []
        for number, fields in self.rows:
            rows.append((number, {name: as_cell(look_up(fields, name)) for name in names}))
        return rows

    def has_column(self, column: str) -> bool:
        """Whether there is a column, or a path into an object, in any row."""
        if column in self.columns:
            return True
        return any(look_up(fields, column) is not None for _, fields in self.rows)


def look_up(fields: Mapping[str, Any], column: str) -> Any:
    """What a row has in a column, or where a path with points leads; None where it has nothing."""
    if column in fields:
        return fields[column]
    inner: Any = fields
    for key in column.split("."):
        if isinstance(inner, dict):
            inner = inner.get(key)
        elif isinstance(inner, list) and key.isdigit() and int(key) < len(inner):
            inner = inner[int(key)]
        else:
            return None
    return inner


def as_cell(content: object) -> str:
    """A cell as CSV would have it: a whole number without a point, nothing for null, lists as
    JSON.
    """
    if content is None or (isinstance(content, float) and math.isnan(content)):
        return ""
    if isinstance(content, float) and content.is_integer():
        return str(int(content))
    if isinstance(content, dict | list | bool):
        return json.dumps(content, ensure_ascii=False)
    return str(content)


def read_text_table(
    path: Path,
    remedy: str = WRITE_IT,
    columns: Sequence[str] = (),
    known_columns: Sequence[str] = (),
    *,
    where: str = "",
    quotes: bool | None = None,
    for_unknown: str = RENAME,
) -> tuple[list[str], Rows]:
    """The columns and rows of a table, as `parse_text_table`; `remedy` if there is no file,
    `for_unknown` for a column that is not known, `where` in errors instead of its path.
    """
    records = read_records(path, remedy, where=where, quotes=quotes)
    _require_columns(records, where or str(path), columns, known_columns, for_unknown)
    return records.columns, records.as_text(_with_paths(records, columns))


def parse_text_table(
    text: str,
    where: str,
    columns: Sequence[str] = (),
    known_columns: Sequence[str] = (),
    *,
    quotes: bool | None = None,
) -> tuple[list[str], Rows]:
    """The columns and rows of a table; the delimiter is that which the header holds most often.

    Rows without text are skipped: spreadsheets may end with them. UserError if it is no table, one
    of `columns` is not there once, one is not among `known_columns` (if given), or a row has not as
    many fields as the header. `quotes`: whether quotes enclose fields; by default they do, unless
    a table with tabs cannot be read so.
    """
    records = parse_records(text, where, quotes=quotes)
    _require_columns(records, where, columns, known_columns)
    return records.columns, records.as_text(_with_paths(records, columns))


def rename_columns(rows: Rows, columns: Mapping[str, str]) -> Rows:
    """Rows by role, where `columns` says which column a role is; other columns are left out."""
    renamed: Rows = []
    for number, cells in rows:
        cells_by_role = {role: cells[column] for role, column in columns.items()}
        renamed.append((number, cells_by_role))
    return renamed


def _with_paths(records: Records, columns: Sequence[str]) -> list[str]:
    """All columns, and paths into objects among `columns`."""
    paths = [column for column in columns if column not in records.columns]
    return [*records.columns, *paths]


def _require_columns(
    records: Records,
    where: str,
    columns: Sequence[str],
    known_columns: Sequence[str],
    for_unknown: str = RENAME,
) -> None:
    """UserError for a column that is not known, not there, or there more than once."""
    header = records.columns
    unknown_columns = [name for name in header if name not in known_columns]
    if known_columns and unknown_columns:
        hint = suggest_nearest(unknown_columns[0], filter(None, known_columns))
        what = f"unknown column {unknown_columns[0]!r}; {hint}"
        raise UserError(what, where=f"{where}: line 1", remedy=for_unknown)
    optional = [name for name in known_columns if name and name in header]
    for column in (*columns, *optional):
        is_path = column not in header and records.has_column(column)
        if header.count(column) != 1 and not is_path:
            fault = "more than one column" if column in header else "no column"
            what = f"{fault} {column!r}; {suggest_nearest(column, header)}"
            raise UserError(what, where=where, remedy="add it once")


def read_records(
    path: Path, remedy: str = WRITE_IT, *, where: str = "", quotes: bool | None = None
) -> Records:
    """The rows of a table as its file has them; UserError if it is none."""
    require_regular(path, most=MOST_READ)
    begin = _first_bytes(path)
    if begin == PARQUET:
        return _parquet_records(path)
    encoding = "utf-16" if begin[:2] in UTF_16 else "utf-8-sig"
    return parse_records(read_text(path, remedy, encoding), where or str(path), quotes=quotes)


def _first_bytes(path: Path) -> bytes:
    """The first four bytes of a file; none where it cannot be opened, which its reader says."""
    try:
        with path.open("rb") as file:
            return file.read(len(PARQUET))
    except OSError:
        return b""


def _parquet_records(path: Path) -> Records:
    """The rows of a Parquet file."""
    from evenruler.tables.contents import schema_of, table_in

    remedy = "write it again"
    schema_of(path, remedy)
    table = table_in(path, remedy=remedy)
    rows = list(enumerate(table.to_pylist(), 1))
    return Records("Parquet", list(table.schema.names), rows)


def parse_records(text: str, where: str, *, quotes: bool | None = None) -> Records:
    """The rows of a table in text; UserError if it is none."""
    if text.lstrip()[:1] in ("[", "{"):
        return _json_records(text, where)
    header = re.sub('"[^"]*"', "", text.partition("\n")[0])
    delimiter = max(DELIMITERS, key=header.count)
    if delimiter != "\t" or quotes is not None:
        return _delimited_records(text, where, delimiter, quotes=quotes is not False)
    try:
        return _delimited_records(text, where, delimiter, quotes=True)
    except UserError:  # quotes are letters there
        return _delimited_records(text, where, delimiter, quotes=False)


def _json_records(text: str, where: str) -> Records:
    """The rows of JSON lines, or of JSON: a list, one object, or texts by group and name."""
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as error:
        return _records_of_lines(text, where, error)
    if _is_grouped(content):
        grouped_texts = list(_list_grouped(content))
        return Records("JSON", [*GROUPED], list(enumerate(grouped_texts, 1)))
    if isinstance(content, dict):
        return Records("JSON", [*content], [(1, content)])
    return _records_of_list("JSON", list(enumerate(content, 1)), where)


def _is_grouped(content: object) -> bool:
    """Whether JSON holds lists of texts, not of words, by group and name."""
    if not isinstance(content, dict) or not content:
        return False
    if not all(isinstance(texts, dict) and texts for texts in content.values()):
        return False
    lists = list(chain.from_iterable(texts.values() for texts in content.values()))
    if not all(isinstance(lines, list) and _are_texts(lines) for lines in lists):
        return False
    return any(len(line.split()) >= WORDS_OF_A_TEXT for line in chain.from_iterable(lists))


GroupedTexts = Mapping[str, Mapping[str, list[str]]]


def _list_grouped(content: GroupedTexts) -> Iterator[dict[str, Any]]:
    """A row for each text that stands by group and name."""
    for group, texts in content.items():
        for name, lines in texts.items():
            for line in lines:
                yield dict(zip(GROUPED, (group, name, line), strict=True))


def _are_texts(lines: list[object]) -> bool:
    """Whether all of a list is text."""
    return all(isinstance(line, str) for line in lines)


def _records_of_lines(text: str, where: str, whole: Exception) -> Records:
    """The rows of JSON lines; `whole`: why the text is not JSON as a whole."""
    rows: list[tuple[int, Any]] = []
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            rows.append((number, json.loads(line)))
        except (ValueError, RecursionError) as error:
            is_first = not rows
            what = f"not JSON, or cut off ({whole if is_first else error})"
            place = where if is_first else f"{where}: line {number}"
            remedy = "fix it: JSON, or JSON lines, an object a row"
            raise UserError(what, where=place, remedy=remedy) from None
    return _records_of_list("JSON lines", rows, where)


def _records_of_list(kind: FileKind, rows: list[tuple[int, Any]], where: str) -> Records:
    """Rows that are objects; or lists of one length, whose columns are called by their place from 1
    on. UserError where they are neither.
    """
    contents = [content for _, content in rows]
    if contents and all(isinstance(content, list) for content in contents):
        lengths = {len(content) for content in contents}
        if len(lengths) == 1:
            names = [str(place) for place, _ in enumerate(contents[0], 1)]
            named = [(number, dict(zip(names, row, strict=True))) for number, row in rows]
            return Records(kind, names, named)
    wrong = [number for number, content in rows if not isinstance(content, dict)]
    if wrong:
        what = f"{kind} whose row {wrong[0]} is no object, expected a table"
        raise UserError(what, where=where, remedy=NOT_A_TABLE)
    columns = list(dict.fromkeys(chain.from_iterable(contents)))
    return Records(kind, columns, rows)


def _delimited_records(text: str, where: str, delimiter: str, *, quotes: bool) -> Records:
    """The rows of text with a delimiter between fields."""
    quoting: Literal[0, 3] = csv.QUOTE_MINIMAL if quotes else csv.QUOTE_NONE
    rows: list[tuple[int, dict[str, Any]]] = []
    lines = io.StringIO(text, newline="")
    reader = csv.DictReader(lines, delimiter=delimiter, strict=True, quoting=quoting)
    try:
        reader.fieldnames = header = [name.strip() for name in reader.fieldnames or ()]
        for row in reader:
            more = row.pop(None, [])
            texts = [*filter(None, row.values()), *more]
            if not "".join(texts).strip():
                continue
            if more or None in row.values():
                first_field = [*row.values(), *more][0]
                place = f"{where}: line {reader.line_num} ({first_field})"
                remedy = "quote fields that hold commas"
                raise UserError("not as many fields as the header", where=place, remedy=remedy)
            rows.append((reader.line_num, row))
    except csv.Error as error:
        place = f"{where}: line {reader.line_num + 1}"
        raise UserError(f"not CSV ({error})", where=place, remedy="fix it") from None
    kind: FileKind = "tab-separated text" if delimiter == "\t" else "CSV"
    return Records(kind, header, rows)
