"""Filled sheets, checked against their key."""

import csv
from collections.abc import Mapping
from io import StringIO

import numpy as np
import pandas as pd

from evenruler.errors import UserError, nearest
from evenruler.instruments.probes.ratings.sheet import CRITERIA, HIGHEST, LOWEST, folded

DELIMITERS = ",;\t"
"""What spreadsheets put between fields, by language."""

_SHORT_CELL = 40


def read_key(text: str, where: str) -> pd.DataFrame:
    """A key as a frame of texts: at least id, set, domain, template and text.

    Raises:
        UserError: It is no CSV, or a column is missing.
    """
    key = _table(text, ("id", "set", "domain", "template", "text"), where).drop(columns="row")
    return key.assign(text=folded(key["text"]))


def collect(sheets: Mapping[str, str], key: pd.DataFrame) -> pd.DataFrame:
    """The ratings of all sheets.

    Args:
        sheets: CSV by the name of its file, filled by one rater or by several. Spaces and case apart, a rater's name
            is the same rater. Delimiters: comma, semicolon or tab.
        key: See `read_key`.

    Returns:
        One row per rater, probe of the key and criterion: rater, id, criterion, rating (whole number, null where it
        is missing), sorted.

    Raises:
        UserError: With file and row (as a spreadsheet counts, the header is row 1): a column is missing, an id is
            unknown or stands twice for a rater, a text is not that of its id, a rating is no whole number from 1 to 5,
            a row has no rater, or a rater stands in several files.
    """
    parts: list[pd.DataFrame] = []
    sheet_of: dict[str, str] = {}
    for where, text in sheets.items():
        rows = _sheet(text, key, where)
        for rater, row in rows.drop_duplicates("rater")[["rater", "row"]].itertuples(index=False):
            if rater in sheet_of:
                raise _refusal(
                    where, row, f"the rater {rater!r} is in {sheet_of[rater]}, too", "give each sheet of a rater once"
                )
            sheet_of[rater] = where
        parts.append(rows)
    wide = pd.concat(parts).set_index(["rater", "id"])[list(CRITERIA)]
    everything = pd.MultiIndex.from_product([sorted(sheet_of), sorted(key["id"].unique())], names=["rater", "id"])
    rows = wide.reindex(everything).reset_index()
    long = rows.melt(id_vars=["rater", "id"], var_name="criterion", value_name="rating")
    long = long.sort_values(["rater", "id"], kind="stable", ignore_index=True)
    return long.astype({"rating": "Int64"})


def _sheet(text: str, key: pd.DataFrame, where: str) -> pd.DataFrame:
    """One sheet: row, rater (folded), id, and a float per criterion."""
    rows = _table(text, ("id", "text", *CRITERIA, "rater"), where)
    rows = rows.assign(rater=folded(rows["rater"]).str.casefold(), text=folded(rows["text"]))
    texts = key.drop_duplicates("id").set_index("id")["text"]
    _refuse(rows, where, rows["rater"] == "", "no rater", "write a name or code into every row")
    _refuse(
        rows,
        where,
        ~rows["id"].isin(texts.index),
        "{id!r} is no id of the key",
        "give the key that came with the sheet",
    )
    _refuse(
        rows,
        where,
        rows["text"] != rows["id"].map(texts),
        "the text is not that of {id}",
        "sort whole rows, and leave ids and texts as they are",
    )
    twice = rows.duplicated(["rater", "id"])
    _refuse(rows, where, twice, "{id} stands twice for the rater {rater!r}", "keep one of the two")
    ratings = {criterion: _ratings(rows, criterion, where) for criterion in CRITERIA}
    return rows[["row", "rater", "id"]].assign(**ratings)


def _ratings(rows: pd.DataFrame, criterion: str, where: str) -> "pd.Series[float]":
    written = rows[criterion].str.strip()
    numbers = pd.to_numeric(written, errors="coerce")
    bad = (written != "") & ~numbers.isin(np.arange(LOWEST, HIGHEST + 1))
    remedy = f"write a whole number from {LOWEST} to {HIGHEST}, or nothing"
    _refuse(rows.assign(written=written), where, bad, f"{criterion} is {{written!r}}", remedy)
    return numbers.astype(float)


def _refuse(rows: pd.DataFrame, where: str, bad: "pd.Series[bool]", what: str, remedy: str) -> None:
    """Raise what is wrong with the first bad row; `what` may name its columns in braces."""
    if bad.any():
        first = rows[bad].iloc[0]
        shown = {str(name): str(value)[:_SHORT_CELL] for name, value in first.items()}
        raise _refusal(where, int(first["row"]), what.format(**shown), remedy)


def _refusal(where: str, row: int, what: str, remedy: str) -> UserError:
    return UserError(what, where=f"{where}: row {row}", remedy=remedy)


def _table(text: str, columns: tuple[str, ...], where: str) -> pd.DataFrame:
    """A CSV as texts, with the number of each row; empty rows are none."""
    first_line = text.partition("\n")[0]
    delimiter = max(DELIMITERS, key=first_line.count)
    try:
        rows = list(csv.reader(StringIO(text, newline=""), delimiter=delimiter, strict=True))
    except csv.Error as error:
        raise UserError(f"no CSV ({error})", where=where, remedy="save it as CSV again") from None
    header = [name.strip().lower() for name in rows[0]] if rows else []
    for column in columns:
        if header.count(column) != 1:
            found = "no column" if column not in header else "more than one column"
            raise UserError(
                f"{found} {column!r}; {nearest(column, header)}", where=where, remedy="keep one, as it came"
            )
    filled = [(number, row) for number, row in enumerate(rows[1:], start=2) if any(field.strip() for field in row)]
    if not filled:
        raise UserError("no rows", where=where, remedy="give a sheet that is filled in")
    for number, row in filled:
        if len(row) != len(header):
            raise _refusal(
                where, number, f"{len(row)} fields, the header has {len(header)}", "quote fields with commas"
            )
    frame = pd.DataFrame([row for _, row in filled], columns=header, dtype=str)[list(columns)]
    return frame.assign(id=frame["id"].str.strip(), row=[number for number, _ in filled])
