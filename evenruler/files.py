"""Atomic writing of files and folders, checksums, files of packages, and refusal of files that are
not regular.
"""

import hashlib
import importlib.util
import json
import shutil
import stat
import zipfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from evenruler.errors import UserError
from evenruler.terminal import escape_steering

if TYPE_CHECKING:
    import jinja2

T = TypeVar("T", dict[str, Any], list[Any])

NO_FILES = {
    stat.S_IFIFO: "a named pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}
"""File types whose reading may never end."""


MOST_READ = 2**28
"""Most bytes of a text that users name, also in an archive. As objects of Python, JSON takes up to
20 times as much."""


def require_regular(
    path: Path, remedy: str = "put a file in its place", most: int | None = None
) -> None:
    """Raise UserError for a pipe, socket or device, or more than `most` bytes; missing files are
    left to the reader.
    """
    try:
        file_status = path.stat()
    except (OSError, ValueError):
        return
    kind = stat.S_IFMT(file_status.st_mode)
    if kind in NO_FILES:
        raise UserError(f"{NO_FILES[kind]}, expected a file", where=str(path), remedy=remedy)
    if most is not None and file_status.st_size > most:
        what = f"{file_status.st_size:,} bytes, more than the {most:,} that are read"
        raise UserError(what, where=str(path), remedy=remedy)


def zip_members(archive: zipfile.ZipFile, most: int) -> list[zipfile.ZipInfo]:
    """The files in a zip archive; BadZipFile if they come to more than `most` bytes.

    Python unpacks no more than a file's size here says, except by bzip2 and LZMA, which are
    refused.
    """
    members = [member for member in archive.infolist() if not member.is_dir()]
    n_bytes = sum(max(member.file_size, member.compress_size) for member in members)
    if n_bytes > most:
        raise zipfile.BadZipFile(
            f"it unpacks to {n_bytes:,} bytes, more than the {most:,} that there is room for"
        )
    if {member.compress_type for member in members} & {zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA}:
        raise zipfile.BadZipFile("it is packed by bzip2 or LZMA, which are not read")
    return members


def read_json_file(path: Path, kind: type[T]) -> T:
    """The object or list in a JSON file; an empty one where there is none, or the file was cut
    off.
    """
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return kind()
    return content if isinstance(content, kind) else kind()


def jinja_environment(package: str, *, autoescape: bool = False) -> "jinja2.Environment":
    """The Jinja templates in a package's folder; undefined variables are errors. `autoescape` is
    for HTML. What steers a terminal or turns round text is escaped in all that they write.
    """
    import jinja2

    class EscapedTemplate(jinja2.Template):
        def render(self, *args: Any, **variables: Any) -> str:
            """The text, as others may safely show it."""
            return escape_steering(super().render(*args, **variables))

    environment = jinja2.Environment(
        loader=jinja2.PackageLoader(package, "."),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=autoescape,
    )
    environment.template_class = EscapedTemplate
    return environment


def file_sha256(path: Path) -> str:
    """The sha256 of a file (64 hex digits), read in chunks."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def folder_sha256(folder: Path, sha256: Callable[[Path], str] = file_sha256) -> str:
    """The sha256 of a folder's content: of the sorted pairs (name, sha256) of all its files, as
    JSON.

    Bytecode, which differs by machine, is left out. `sha256`: that of a file, such as a store's
    cached one.
    """
    files = (
        path for path in folder.rglob("*") if path.is_file() and path.parent.name != "__pycache__"
    )
    named = sorted((path.relative_to(folder).as_posix(), sha256(path)) for path in files)
    return hashlib.sha256(
        json.dumps(named, separators=(",", ":"), ensure_ascii=False).encode()
    ).hexdigest()


def package_path(place: str) -> Path | None:
    """The path of `module/inside` in an installed package; None if the package is not installed.

    Its code is not run; data packages may have names that Python cannot import.
    """
    module, _, inside = place.partition("/")
    spec = importlib.util.find_spec(module) if module.replace("-", "_").isidentifier() else None
    roots = (spec.submodule_search_locations if spec else None) or []
    return next((Path(root) / inside for root in roots), None)


def package_sha256(places: Iterable[str]) -> str | None:
    """The sha256 of a folder in a package, or of a file, whose parts are joined; None if one is not
    installed.
    """
    digest = hashlib.sha256()
    for place in places:
        path = package_path(place)
        if path is not None and path.is_dir():
            return folder_sha256(path)
        if path is None or not path.is_file():
            return None
        digest.update(path.read_bytes())
    return digest.hexdigest()


@contextmanager
def replace_folder(folder: Path) -> Iterator[Path]:
    """Replace a folder atomically: yields a path for the new content; the old folder stays until
    the block succeeds.
    """
    working, old = (
        folder.with_name(f".{folder.name}.partial"),
        folder.with_name(f".{folder.name}.old"),
    )
    if (
        old.exists() and not folder.exists()
    ):  # a previous run was killed between the two renames below
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


def write_text_atomically(path: Path, text: str) -> None:
    """Write a text file atomically; creates its folder. UserError if a folder is in its place."""
    if path.is_dir():
        raise UserError("a folder, expected a file", where=str(path), remedy="name a file")
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f"{path.name}.partial")
    try:
        partial.write_text(text, encoding="utf-8")
        partial.replace(path)
    except OSError as error:
        error.filename = error.filename or str(path)  # not set if the disk is full
        partial.unlink(missing_ok=True)
        raise
