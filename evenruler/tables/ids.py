"""Names of rows: what a row is, and what it says."""

import hashlib
import json


def canonical(value: object) -> bytes:
    """JSON of a value in one way only: sorted keys, no spaces, UTF-8."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def row_id(**identity: str) -> str:
    """16 hex digits that name a row by what it is (family, benchmark, slugs), not by what it says.

    An edit of the content so keeps the id, and shows as a change, not as a removal and an addition.
    """
    return hashlib.sha256(canonical(identity)).hexdigest()[:16]


def content_sha256(*content: object) -> str:
    """The sha256 of a row's content, 64 hex digits."""
    return hashlib.sha256(canonical(content)).hexdigest()
