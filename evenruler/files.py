"""Files and folders that are written whole or not at all, and what is read only if it is a file."""

import hashlib
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from evenruler.errors import UserError

if TYPE_CHECKING:
    import jinja2

NO_FILES = {stat.S_IFIFO: "a named pipe", stat.S_IFSOCK: "a socket", stat.S_IFCHR: "a device", stat.S_IFBLK: "a device"}
"""What can stand where a file is expected; reading it may never end."""


def require_regular(path: Path, remedy: str = "put a file in its place") -> None:
    """UserError before a pipe, a socket or a device is read; what is missing is said by who reads it."""
    try:
        kind = stat.S_IFMT(path.stat().st_mode)
    except (OSError, ValueError):
        return
    if kind in NO_FILES:
        raise UserError(f"{NO_FILES[kind]}, expected a file", where=str(path), remedy=remedy)


def templates(package: str, *, autoescape: bool = False) -> "jinja2.Environment":
    """The templates beside a package's modules, where an empty slot is an error; `autoescape` is for HTML."""
    import jinja2

    return jinja2.Environment(
        loader=jinja2.PackageLoader(package, "."),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=autoescape,
    )


def file_sha256(path: Path) -> str:
    """Checksum of a file, read in pieces; 64 hex digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@contextmanager
def swapped(folder: Path) -> Iterator[Path]:
    """A place, not there yet, for a folder's new content; until all is in it, the old one stays untouched."""
    working, old = folder.with_name(f".{folder.name}.partial"), folder.with_name(f".{folder.name}.old")
    if old.exists() and not folder.exists():  # killed between the two renames below
        old.rename(folder)
    for leftover in (working, old):
        shutil.rmtree(leftover, ignore_errors=True)
    try:
        yield working
    except BaseException:
        shutil.rmtree(working, ignore_errors=True)
        raise
    if folder.exists():
        folder.rename(old)
    working.rename(folder)
    shutil.rmtree(old, ignore_errors=True)


def replace(path: Path, text: str) -> None:
    """Write a file, and the folder that it lies in, whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f"{path.name}.partial")
    try:
        partial.write_text(text, encoding="utf-8")
        partial.replace(path)
    except OSError as error:
        error.filename = error.filename or str(path)  # which a disk that is full does not say
        partial.unlink(missing_ok=True)
        raise
