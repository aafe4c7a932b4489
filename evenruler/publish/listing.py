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
    declared, front = manifest.read_manifest(folder), front_matter(folder)
    if not front or not front.get("pretty_name"):
        where = str(folder / "README.md")
        raise UserError("no `pretty_name` in its front matter", where=where, remedy="get the file again")
    title = str(front["pretty_name"])
    return Listed(declared.name, declared.version, sum(declared.rows.values()), title)


def as_table(benchmarks: Sequence[Listed]) -> str:
    """Lines of aligned columns: name, version, rows, title."""
    lines = [("name", "version", "rows", "title")]
    lines += [(own.name, own.version, f"{own.rows:,}", own.title) for own in benchmarks]
    names, versions, rows, _ = (max(map(len, column)) for column in zip(*lines, strict=True))
    return "".join(f"{a:<{names}}  {b:<{versions}}  {c:>{rows}}  {d}\n" for a, b, c, d in lines)
