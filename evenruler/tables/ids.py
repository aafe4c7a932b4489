"""Row ids, content checksums and duplicate rows."""

import hashlib
import json
from collections.abc import Iterable
from typing import Any, Protocol

from evenruler.tables.schemas import BARE

_Rows = list[dict[str, Any]]


def canonical_json(value: object) -> bytes:
    """Canonical JSON of a value: sorted keys, no spaces, UTF-8."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def row_id(**identity: str) -> str:
    """16 hex digits that identify a row by what it is (family, benchmark, slugs), not by its
    content.

    An edit of the content therefore keeps the id and shows as a change, not as a removal plus an
    addition.
    """
    return hashlib.sha256(canonical_json(identity)).hexdigest()[:16]


def content_sha256(*content: object) -> str:
    """The sha256 of a row's content (64 hex digits)."""
    return hashlib.sha256(canonical_json(content)).hexdigest()


class Attributed(Protocol):
    """Declared text with where it comes from, and its licence."""

    @property
    def source(self) -> str:
        """Where it comes from."""

    @property
    def licence(self) -> str:
        """Its licence."""


def common_columns(
    identifier: str, source: Attributed, *content: object, variant: str = "all"
) -> dict[str, Any]:
    """The columns that every published row has (`schemas.COMMON`); `content` is what its checksum
    covers.
    """
    identity_columns = {
        "id": identifier,
        "content_sha256": content_sha256(*content),
        "variant": variant,
        "framing": BARE,
    }
    return {**identity_columns, "source": source.source, "licence": source.licence}


def split_duplicates(
    rows: Iterable[dict[str, Any]], *key_columns: str, what: str = "prompt"
) -> tuple[_Rows, _Rows]:
    """Split rows into the first of each kind and duplicates in `key_columns`; duplicates get a
    `reason`.

    `what`: the noun for a row in the reason.
    """
    unique_rows: _Rows = []
    rejected: _Rows = []
    seen: dict[tuple[Any, ...], str] = {}
    for row in rows:
        key = tuple(row[column] for column in key_columns)
        first = seen.setdefault(key, row["id"])
        if first == row["id"]:
            unique_rows.append(row)
        else:
            rejected.append({**row, "reason": f"same {what} as {first}"})
    return unique_rows, rejected
