"""Damaged objects of DVC's cache and damaged outputs: files whose bytes do not have the MD5 that
`dvc.lock` names.

DVC never hashes a read-only object of its cache, nor a file whose time and size it knows. So it
takes a damaged object back in place of an output, and counts it as unchanged from then on. Here
every object, and everything that `dvc.lock` names, is hashed.
"""

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from evenruler.declaration.profiles import pipeline_folders
from evenruler.errors import UserError
from evenruler.project.dvc import HASH, read_lock

FOLDER = ".dir"
"""Ending of the MD5 of a folder, whose object is a JSON list of its files."""


@dataclass(frozen=True)
class LockedFile:
    """A file that a stage has written; or the list of the files of a folder, which lies in DVC's
    cache alone.
    """

    stage: str
    path: Path
    """Where the file or folder lies."""
    object: Path
    """Its copy in DVC's cache, if there is one."""
    md5: str
    """In `dvc.lock`; with `FOLDER` at the end of a list."""


def remove_damaged(root: Path) -> list[str]:
    """Remove damaged objects from DVC's cache, and make DVC hash damaged outputs again; returns
    messages on objects.

    DVC then takes an output from an object that is whole, or runs its stage. Nothing is said of
    outputs: most of those that differ from `dvc.lock` were changed on purpose. Objects of earlier
    runs are hashed, too: DVC takes them back where a stage is again as it was then.
    """
    files, messages = list(locked_files(root)), []
    stages = {file.object: file.stage for file in files}
    for path, md5 in cached_objects(root):
        if is_damaged(path, md5):
            path.unlink()
            stage = stages.get(path, "a stage that needs it")
            messages.append(
                f"warning: {path}: damaged in DVC's cache, and removed; {stage} writes it again"
            )
    for file in files:
        if is_damaged(file.path, file.md5):
            file.path.touch()
    return messages


def cached_objects(root: Path) -> Iterator[tuple[Path, str]]:
    """Every object of DVC's cache with the MD5 that is its name."""
    if not (root / ".dvc").is_dir():
        return
    for path in sorted(objects_folder(root).glob("??/*")):
        md5 = path.parent.name + path.name
        if HASH.fullmatch(md5):
            yield path, md5


def damaged_outputs(root: Path) -> list[LockedFile]:
    """Files of `dvc.lock` that lie in their place with other bytes: damaged, changed, or not built
    since a `git pull`.

    Files of a folder are left out where DVC's cache has no whole list of them: DVC cannot restore
    such a folder.
    """
    return [file for file in locked_files(root) if is_damaged(file.path, file.md5)]


def locked_files(root: Path) -> Iterator[LockedFile]:
    """Every output of all pipelines, and after a folder its files, if the list of them in DVC's
    cache is whole.
    """
    locked_outputs: list[tuple[str, Path, str]] = []
    for folder in pipeline_folders(root):
        for stage, outputs in read_lock(root / folder).items():
            for output in outputs:
                locked_outputs.append((stage, root / folder / output["path"], output["md5"]))
    if not locked_outputs:
        return
    objects = objects_folder(root)
    for stage, path, md5 in locked_outputs:
        listed = objects / md5[:2] / md5[2:]
        yield LockedFile(stage, path, listed, md5)
        if not md5.endswith(FOLDER) or not listed.is_file() or is_damaged(listed, md5):
            continue
        for file in json.loads(listed.read_text(encoding="utf-8")):
            file_md5 = file["md5"]
            of_file = objects / file_md5[:2] / file_md5[2:]
            yield LockedFile(stage, path / file["relpath"], of_file, file_md5)


def objects_folder(root: Path) -> Path:
    """The folder of DVC's cache in which objects lie by their MD5; UserError if DVC cannot read its
    configuration.
    """
    from dvc.config import Config
    from dvc.exceptions import DvcException

    try:
        cache = Config(str(root / ".dvc"))["cache"]
    except DvcException as error:
        raise UserError(
            f"DVC cannot read it ({error})", where=".dvc/config", remedy="fix it"
        ) from None
    return Path(cache.get("dir", root / ".dvc/cache")) / "files" / "md5"


def is_damaged(path: Path, md5: str) -> bool:
    """Whether there is a file whose bytes do not have the MD5."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return hashlib.file_digest(file, "md5").hexdigest() != md5.removesuffix(FOLDER)
