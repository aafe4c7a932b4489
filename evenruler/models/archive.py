"""Files that come in parts, and archives: joined, checked, unpacked."""

import hashlib
import shutil
import stat
import zipfile
import zlib
from pathlib import Path, PurePosixPath

from evenruler.errors import UserError

VERSION = 1
"""Of the unpacking; part of the folder's name."""

_BLOCK = 1 << 20


def join(parts: list[Path], joined: Path, sha256: str | None, where: str) -> None:
    """Write the parts, in order, as one file and check it.

    Raises:
        UserError: The checksum is not the declared one.
    """
    digest = hashlib.sha256()
    with joined.open("wb") as out:
        for part in parts:
            with part.open("rb") as file:
                while block := file.read(_BLOCK):
                    digest.update(block)
                    out.write(block)
    if sha256 is not None and digest.hexdigest() != sha256:
        raise UserError(
            f"corrupt: sha256 is {digest.hexdigest()[:12]}..., declared is {sha256[:12]}...",
            where=f"{where}: {parts[0]}",
            remedy="install the package again (`pip install --force-reinstall --no-deps`) or mend `sha256`",
        )


def unpack(archive: Path, folder: Path, where: str) -> None:
    """Unpack a zip file into a folder; a folder that holds all of its files is taken off.

    Args:
        archive: The zip file.
        folder: Exists; nothing is written outside it.
        where: The file is declared, for errors.

    Raises:
        UserError: It is no readable zip file, or a file in it does not belong into a folder.
    """
    try:
        with zipfile.ZipFile(archive) as packed:
            members = [member for member in packed.infolist() if not member.is_dir()]
            paths = _paths(members, where)
            for member, path in zip(members, paths, strict=True):
                target = folder / path
                target.parent.mkdir(parents=True, exist_ok=True)
                with packed.open(member) as file, target.open("xb") as out:
                    shutil.copyfileobj(file, out, _BLOCK)
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, FileExistsError) as error:
        raise UserError(f"corrupt: no readable zip file ({error})", where=where, remedy="get the file again") from None


def _paths(members: list[zipfile.ZipInfo], where: str) -> list[PurePosixPath]:
    """Where each file goes, below the folder."""
    paths = [PurePosixPath(member.filename) for member in members]
    for member, path in zip(members, paths, strict=True):
        strange = path.is_absolute() or ".." in path.parts or "\\" in member.filename or ":" in member.filename
        if strange or stat.S_ISLNK(member.external_attr >> 16):
            raise UserError(
                f"the archive holds {member.filename!r}, which does not belong into a folder",
                where=where,
                remedy="do not use it",
            )
    tops = {path.parts[0] for path in paths}
    if len(tops) == 1 and all(len(path.parts) > 1 for path in paths):
        return [path.relative_to(path.parts[0]) for path in paths]
    return paths
