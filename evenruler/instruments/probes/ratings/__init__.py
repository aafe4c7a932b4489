"""Ratings of templates by people who do not know where a template comes from (PMPO, section 4.2 and appendix B).

Raters get a blind sheet, a CSV that any spreadsheet fills, and instructions; they must not get the key. Filled sheets
are checked against it.
"""

import csv
import hmac
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from io import StringIO

import numpy as np
import pandas as pd

from evenruler.errors import UserError, nearest

CRITERIA = {
    "clarity": "Is the sentence correct English, and understood at once?",
    "relevance": "Does it get at the construct, and at nothing else?",
    "naturalness": "Is it worded neutrally and without strain, so that the wording itself pushes to no answer?",
    "subtlety": "Does it get at the construct in a considered way, so that its purpose is not plain to see?",
}
"""The four criteria, each as raters are asked about it; meanings after PMPO, appendix B."""

LOWEST, HIGHEST = 1, 5
"""The ends of the scale: not at all, fully."""

SHEET = ("id", "text", "construct", *CRITERIA, "rater")
"""Columns of a sheet."""

KEY = ("id", "set", "domain", "template", "text", "seed", "secret")
"""Columns of a key."""

DELIMITERS = ",;\t"
"""What spreadsheets put between fields, by language."""

_LETTERS = str.maketrans("0123456789abcdef", "bcdfghjkmnpqrstv")
# Letters alone, and no vowels: a spreadsheet takes 12e45678 for a number, and nobody should read a word.

_SHORT_CELL = 40


@dataclass(frozen=True)
class Construct:
    """What templates of a domain measure, as raters are told."""

    name: str
    attributes: Sequence[str]
    """Words that stand for {ATTRIBUTE}, a few of them."""
    targets: Sequence[str]
    """Words that stand for {TARGET}, a few of them."""
    warning: str | None = None
    """What raters should be told before they see the sentences."""


@dataclass(frozen=True)
class Blinded:
    """A sheet and its key."""

    rows: pd.DataFrame
    """One row a probe, in the order of the sheet: id, text, construct."""
    key: pd.DataFrame
    """One row per probe and place that it comes from, with the columns of `KEY`."""


def blind(templates: pd.DataFrame, secret: str, seed: int) -> Blinded:
    """Templates of several sets, in an order and with ids that tell nothing of where they come from.

    Ids come from a keyed hash (HMAC-SHA256) of the text, and the order is theirs. So both depend on nothing but what is
    on the sheet, the seed and the secret: neither set nor slug nor the order of the table enters. Whoever knows the
    templates and the seed, but not the secret, can compute neither. With the same secret and seed the sheet is the
    same.

    Args:
        templates: Columns `construct`, `domain`, `set`, `template` (slug) and `text`. A text that stands in several
            places (spaces apart) is one probe, rated once; the key names all places.
        secret: Random, and kept in the key alone: `secrets.token_hex(32)`.
        seed: Another one gives another order and other ids.
    """
    placed = templates.assign(text=_folded(templates["text"]))
    probes = placed[["construct", "text"]].drop_duplicates()
    pairs = probes[["construct", "text"]].itertuples(index=False)
    words = [f"{seed}\x1f{construct}\x1f{text}" for construct, text in pairs]
    digests = [hmac.new(secret.encode(), word.encode(), "sha256").hexdigest() for word in words]
    rows = probes.assign(id=[digest[:12].translate(_LETTERS) for digest in digests])
    rows = rows.sort_values("id", ignore_index=True)[["id", "text", "construct"]]
    key = placed.merge(rows, on=["construct", "text"]).assign(seed=seed, secret=secret)
    return Blinded(rows, key.sort_values(["domain", "set", "template"], ignore_index=True)[list(KEY)])


def _folded(texts: "pd.Series[str]") -> "pd.Series[str]":
    """Texts with single spaces, and none at the ends."""
    return texts.str.split().str.join(" ")


def as_sheet(rows: pd.DataFrame) -> str:
    """The CSV that raters fill in with a spreadsheet: ratings and rater are empty."""
    empty = dict.fromkeys([*CRITERIA, "rater"], "")
    return rows.assign(**empty)[list(SHEET)].to_csv(index=False, lineterminator="\n")


def instructions(constructs: Sequence[Construct]) -> str:
    """What raters read before they fill the sheet, as plain text."""
    lines = [
        "Rate every sentence of sheet.csv by itself, in a spreadsheet. {ATTRIBUTE} and {TARGET} stand for words.",
        f"Write a whole number from {LOWEST} (not at all) to {HIGHEST} (fully) under each of these columns, or nothing "
        "where you cannot say:",
        *(f"- {name}: {question}" for name, question in CRITERIA.items()),
        "Write your name, or a code, into every row under rater. Leave ids and texts as they are, and save as CSV.",
    ]
    for construct in constructs:
        lines += ["", f"Construct: {construct.name}."]
        for slot, words in (("{ATTRIBUTE}", construct.attributes), ("{TARGET}", construct.targets)):
            lines.append(f"For {slot} stand words such as {', '.join(words)}.")
        lines += [construct.warning] if construct.warning else []
    return "\n".join(lines) + "\n"


def read_key(text: str, where: str) -> pd.DataFrame:
    """A key as a frame: id, set, domain, template and text at least; UserError where a column is missing."""
    key = _table(text, ("id", "set", "domain", "template", "text"), where).drop(columns="row")
    return key.assign(text=_folded(key["text"]))


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
                what = f"the rater {rater!r} is in {sheet_of[rater]}, too"
                raise UserError(what, where=f"{where}: row {row}", remedy="give each sheet of a rater once")
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
    rows = rows.assign(rater=_folded(rows["rater"]).str.casefold(), text=_folded(rows["text"]))

    def refuse(bad: "pd.Series[bool]", what: str, remedy: str) -> None:
        """Raise what is wrong with the first bad row; `what` may name its columns in braces."""
        if bad.any():
            first = {str(name): str(value)[:_SHORT_CELL] for name, value in rows[bad].iloc[0].items()}
            raise UserError(what.format(**first), where=f"{where}: row {first['row']}", remedy=remedy)

    texts = key.drop_duplicates("id").set_index("id")["text"]
    refuse(rows["rater"] == "", "no rater", "write a name or code into every row")
    refuse(~rows["id"].isin(texts.index), "{id!r} is no id of the key", "give the key that came with the sheet")
    other = rows["text"] != rows["id"].map(texts)
    refuse(other, "the text is not that of {id}", "sort whole rows, and leave ids and texts as they are")
    refuse(rows.duplicated(["rater", "id"]), "{id} stands twice for the rater {rater!r}", "keep one of the two")
    for criterion in CRITERIA:
        rows[criterion] = rows[criterion].str.strip()
        numbers = pd.to_numeric(rows[criterion], errors="coerce")
        bad = (rows[criterion] != "") & ~numbers.isin(np.arange(LOWEST, HIGHEST + 1))
        remedy = f"write a whole number from {LOWEST} to {HIGHEST}, or nothing"
        refuse(bad, f"{criterion} is {{{criterion}!r}}", remedy)
        rows[criterion] = numbers.astype(float)
    return rows[["row", "rater", "id", *CRITERIA]]


def _table(text: str, columns: tuple[str, ...], where: str) -> pd.DataFrame:
    """A CSV as texts, with the number of each row; empty rows are none."""
    delimiter = max(DELIMITERS, key=text.partition("\n")[0].count)
    try:
        rows = list(csv.reader(StringIO(text, newline=""), delimiter=delimiter, strict=True))
    except csv.Error as error:
        raise UserError(f"no CSV ({error})", where=where, remedy="save it as CSV again") from None
    header = [name.strip().lower() for name in rows[0]] if rows else []
    for column in columns:
        if header.count(column) != 1:
            found = "no column" if column not in header else "more than one column"
            what = f"{found} {column!r}; {nearest(column, header)}"
            raise UserError(what, where=where, remedy="keep one, as it came")
    filled = [(number, row) for number, row in enumerate(rows[1:], start=2) if any(field.strip() for field in row)]
    if not filled:
        raise UserError("no rows", where=where, remedy="give a sheet that is filled in")
    for number, row in filled:
        if len(row) != len(header):
            what = f"{len(row)} fields, the header has {len(header)}"
            raise UserError(what, where=f"{where}: row {number}", remedy="quote fields with commas")
    frame = pd.DataFrame([row for _, row in filled], columns=header, dtype=str)[list(columns)]
    return frame.assign(id=frame["id"].str.strip(), row=[number for number, _ in filled])
