"""The store of answers, damaged."""

from pathlib import Path

from evenruler.models.store import RowStore
from tests.faults.cases import Case, Outcome, Seen, doing


def _garbage(folder: Path) -> Seen:
    (folder / "rows.sqlite").write_bytes(b"no database" * 1000)
    return doing(lambda: RowStore(folder).count())


CASES = [Case("the file holds something else", "read answers", Outcome.REFUSED, _garbage, ("damaged", "move it away"))]
