"""The criterion of a domain: a published number per attribute."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from evenruler.errors import UserError
from evenruler.strict import Strict, Text, read_csv
from evenruler.text.slots import slug_of

MATCHES = ("exact", "group", "none")


class CriterionEntry(Strict):
    """A published number per attribute to validate against."""

    file: Text
    """A CSV under `data/sources/probes/shared/` with the columns `attribute`, `match` and the named one."""
    column: Text
    complement_of: float | None = None
    """The criterion is this minus the column (100 turns percent of women into percent of men)."""
    label: Text
    """What the criterion counts after that, for axes and cards."""


@dataclass(frozen=True)
class Criterion:
    """A criterion, read and checked against the attributes of its domain."""

    label: str
    values: dict[str, float | None]
    """By attribute slug; None where nothing is published."""
    matches: dict[str, str]
    """By attribute slug: `exact` (one title), `group` (several, weighted) or `none`."""


def read_criterion(entry: CriterionEntry | None, attributes: Mapping[str, str], folder: Path) -> Criterion | None:
    """The criterion that a source names, or None where it names none.

    Args:
        entry: What the source says of it.
        attributes: Of the source, by slug.
        folder: Where criteria lie.

    Raises:
        UserError: A column is missing, a value is no number, or an attribute of the domain has no row.
    """
    if entry is None:
        return None
    path = folder / entry.file
    rows = _rows(path, entry)
    missing = [word for slug, word in attributes.items() if slug not in rows]
    if missing:
        raise UserError(
            f"no row for {len(missing)} attributes that the set has: {', '.join(missing)}",
            where=str(path),
            remedy="add a row for each (with an empty figure and match `none` if nothing is published)",
        )
    values = {slug: _value(rows[slug], entry, path) for slug in attributes}
    return Criterion(entry.label, values, {slug: rows[slug]["match"] for slug in attributes})


def _rows(path: Path, entry: CriterionEntry) -> dict[str, dict[str, str]]:
    columns, found = read_csv(path, "put the criterion there or mend `criterion.file`")
    for column in ("attribute", "match", entry.column):
        if column not in columns:
            raise UserError(f"no column {column!r}", where=str(path), remedy="add it")
    rows: dict[str, dict[str, str]] = {}
    for line, row in found:
        slug = slug_of(row["attribute"])
        if slug in rows:
            where = f"{path}: line {line} ({row['attribute']})"
            raise UserError(f"{row['attribute']!r} twice", where=where, remedy="keep one")
        rows[slug] = row
    return rows


def _value(row: dict[str, str], entry: CriterionEntry, path: Path) -> float | None:
    text, match = row[entry.column], row["match"]
    where = f"{path}: {row['attribute']}"
    if match not in MATCHES:
        raise UserError(f"match is {match!r}, expected one of {', '.join(MATCHES)}", where=where, remedy="mend it")
    if (text == "") != (match == "none"):
        raise UserError(f"figure {text!r} with match {match!r}", where=where, remedy="`none` goes with no figure")
    if text == "":
        return None
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise UserError(f"{text!r} is no number", where=where, remedy="mend it")
    return number if entry.complement_of is None else round(entry.complement_of - number, 9)
