"""The benchmarks of a folder, a line each: what `evenruler list` says."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from evenruler.errors import UserError
from evenruler.publish import manifest
from evenruler.publish.verifying import front_matter


@dataclass(frozen=True)
class Listed:
    """One benchmark."""

    name: str
    version: str
    rows: int
    """Of all its tables."""
    title: str


def listed(folder: Path) -> list[Listed]:
    """The benchmarks that lie in a folder, by name.

    Raises:
        UserError: A manifest or a card is damaged.
    """
    return [_one(path.parent) for path in sorted(folder.glob(f"*/{manifest.NAME}"))]


def _one(folder: Path) -> Listed:
    declared, card = manifest.read_manifest(folder), folder / "README.md"
    front = front_matter(card.read_text(encoding="utf-8", errors="replace")) if card.is_file() else None
    if not front or not front.get("pretty_name"):
        raise UserError("no `pretty_name` in its front matter", where=str(card), remedy="get the file again")
    return Listed(declared.name, declared.version, sum(declared.rows.values()), str(front["pretty_name"]))


def as_table(benchmarks: Sequence[Listed]) -> str:
    """Lines of aligned columns: name, version, rows, title."""
    lines = [("name", "version", "rows", "title")]
    lines += [(own.name, own.version, f"{own.rows:,}", own.title) for own in benchmarks]
    names, versions, rows, _ = (max(map(len, column)) for column in zip(*lines, strict=True))
    return "".join(f"{a:<{names}}  {b:<{versions}}  {c:>{rows}}  {d}\n" for a, b, c, d in lines)
