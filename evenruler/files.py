"""Files and folders that are written whole or not at all."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def swapped(folder: Path) -> Iterator[Path]:
    """A place beside a folder to write its new content; until all is there, the old one stays untouched.

    Yields:
        An empty place, which does not exist yet; it becomes the folder.
    """
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
