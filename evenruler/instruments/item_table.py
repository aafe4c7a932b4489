"""Tables of items, a row each: the first row says what holds for all, marks say which items are
reversed.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from evenruler.errors import UserError
from evenruler.tables.records import Rows, read_records, read_text_table
from evenruler.text import slug_of

KEYED: Final = {
    **dict.fromkeys(("-1", "-", "minus"), True),
    **dict.fromkeys(("1", "+1", "+", "plus"), False),
}
"""Marks of a key: whether an item is reversed."""

MARKED: Final = {
    **dict.fromkeys(["1", "r", "yes", "y", "true", "reverse", "reversed"], True),
    **dict.fromkeys(["", *["0", "no", "n", "false", "forward"]], False),
}
"""Marks of reversed items and of others."""

MARKS: Final = {"reverse": MARKED, "key": KEYED, "keying": KEYED}
"""By the name of the column that says how items are keyed; a table has one of them."""

REMEDIES: Final = {
    "reverse": "write R where an item is reversed, else nothing; call a column of 1 and -1 `key`",
    "key": "write 1 where an item is forward, -1 where it is reversed",
}


def reversed_rows(marks: Mapping[int, str], column: str, where: str) -> dict[int, bool]:
    """Whether each row is keyed in reverse, from the marks of one column, by line; UserError where
    one is no mark of such a column.
    """
    is_reversed = MARKS[column]
    plain = {line: _normalise_mark(mark) for line, mark in marks.items()}
    for line, mark in plain.items():
        if mark not in is_reversed:
            what = f"{column} is {marks[line]!r}"
            remedy = REMEDIES.get(column, REMEDIES["key"])
            raise UserError(what, where=f"{where}: line {line}", remedy=remedy)
    return {line: is_reversed[mark] for line, mark in plain.items()}


def _normalise_mark(mark: str) -> str:
    """A mark in one form: small letters, a usual minus, no decimals as a spreadsheet writes
    them.
    """
    mark = mark.strip().casefold().replace("\N{MINUS SIGN}", "-")
    return mark.removesuffix(".0")


TABLES: Final = (".csv", ".tsv", ".jsonl", ".parquet")
"""Endings of tables that are sources of Likert items."""

OF_ITEM: Final = ("item", "negation", "subscale", "slug")

OF_DRAFTS: Final = ("wording",)
"""Columns that only `evenruler translate` reads."""

OF_SCALE: Final = (
    *("title", "construct", "direction", "language", "licence", "reference"),
    *("responses", "lowest", "question", "instruction", "stem", "groups"),
)
"""Columns whose first row says what holds for all items."""

BETWEEN: Final = "|"
"""What stands between options, and between groups, in a cell."""


def has_items(path: Path) -> bool:
    """Whether a file is a table with a column of items; UserError if it cannot be read."""
    return path.suffix in TABLES and path.is_file() and "item" in read_records(path).columns


def read_items(path: Path) -> dict[str, Any]:
    """The content of a source, from a table of items (`docs/likert.md`).

    UserError if it is no table, has an unknown column, or marks that say nothing.
    """
    columns = ["", *OF_ITEM, *MARKS, *OF_SCALE, *OF_DRAFTS]
    header, rows = read_text_table(path, "write the scale there, a row an item", ["item"], columns)
    if not rows:
        raise UserError(
            "holds no item", where=str(path), remedy="write a row an item, in the column `item`"
        )
    marks = [name for name in header if name in MARKS]
    if len(marks) > 1:
        what = f"the columns {' and '.join(marks)} both say how items are keyed"
        raise UserError(what, where=f"{path}: line 1", remedy="keep one of them")
    is_reversed: dict[int, bool] = {}
    if marks:
        marked = {line: row[marks[0]] for line, row in rows}
        is_reversed = reversed_rows(marked, marks[0], str(path))
    first_cells = _filled_cells(rows[0][1], OF_SCALE)
    return {**_scale_content(path.stem, first_cells), "items": _item_content(rows, is_reversed)}


def _filled_cells(row: dict[str, str], names: tuple[str, ...]) -> dict[str, str]:
    """The cells of some columns that hold text, with single spaces."""
    cells = {name: " ".join(row.get(name, "").split()) for name in names}
    return {name: text for name, text in cells.items() if text}


def _scale_content(name: str, cells: dict[str, str]) -> dict[str, Any]:
    """What a source says of all items; `name`: its title, where the table has none."""
    content: dict[str, Any] = {
        "title": name,
        "construct": cells.get("title", name),
        "direction": "more points are more of it",
        "licence": "not stated",
        **cells,
    }
    content["source"] = content.pop("reference", f"{name}.csv")
    if "lowest" in content and content["lowest"].isdigit():
        content["lowest"] = int(content["lowest"])
    responses = content.pop("responses", "agreement")
    if BETWEEN in responses:
        content["responses"] = [label.strip() for label in responses.split(BETWEEN)]
    else:
        content["scale"] = responses
    if "groups" in content:
        content["groups"] = [word.strip() for word in content["groups"].split(BETWEEN)]
    return content


def _item_content(rows: Rows, is_reversed: dict[int, bool]) -> dict[str, Any]:
    """Items by slug, as a source has them."""
    items: dict[str, Any] = {}
    n_digits = len(str(len(rows)))
    for number, (line, row) in enumerate(rows, start=1):
        cells = _filled_cells(row, OF_ITEM)
        slug = cells.pop("slug", f"item-{number:0{n_digits}}")
        if slug in items:
            slug = f"{slug}-{number}"
        item: dict[str, Any] = {"text": cells.pop("item", None), **cells}
        if "subscale" in item:
            item["subscale"] = slug_of(item["subscale"])
        item["key"] = -1 if is_reversed.get(line) else 1
        items[slug] = item
    return items
