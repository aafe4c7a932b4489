"""Locates model files: on the Hub at a commit, in a package or folder, or created here once."""

import fnmatch
import importlib.util
import json
import os
import re
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from pathlib import Path

from filelock import FileLock

from evenruler.errors import UnfinishedError, UserError
from evenruler.files import file_sha256, require_regular, swapped
from evenruler.models.declared import ModelEntry
from evenruler.models.store import RowStore, cache_root
from evenruler.strict import at_home
from evenruler.tables.ids import content_sha256
from evenruler.terminal import note

_HUB_FILES = ["*.safetensors", "*.json", "*.jinja", "*.txt", "*.model"]
_OLDER_WEIGHTS = ["pytorch_model*.bin"]
"""For repositories without safetensors. transformers reads only tensors from them and runs no code."""

_TOKENIZERS = ["tokenizer.json", "tokenizer.model", "vocab.json", "vocab.txt"]
SUMS = "sums.json"  # in a created folder: sha256 of every other file, by name


def locate(
    name: str,
    entry: ModelEntry,
    store: RowStore,
    catalogue: Mapping[str, ModelEntry] | None = None,
    *,
    where: str | None = None,
) -> Path:
    """The folder with a model's configuration, weights and tokenizer, ready to load.

    A GGUF file is verified and converted once, under the store's folder; a zip file is unpacked, and an untrained model
    made from an entry of `catalogue`. Created folders are verified by checksums and recreated if they changed.
    UserError if something is missing or not as declared.
    """
    where = where or declared_at(name)
    if entry.scheme == "untrained":
        return _untrained(name, entry, store, catalogue or {})
    local = [path_of(f"{scheme}:{rest}", where) for scheme, rest in entry.locations if scheme != "hub"]
    files = local or [_from_hub(entry, where)]
    for path in files:
        require_regular(path)
    folder = files[0]
    if entry.is_file:
        folder = _of_file(name, files, entry, store, where)
    for path in folder.rglob("*"):
        require_regular(path)
    for lacking, remedy, names in (
        ("config.json", "name the folder of a saved model", ["config.json"]),
        ("weights (*.safetensors)", "save the model there", ["*.safetensors", "*.bin"]),
        ("tokenizer", "save the model's tokenizer there too", _TOKENIZERS),
    ):
        if not any(any(folder.glob(name)) for name in names):
            raise UserError(f"no {lacking}", where=f"{where}: {folder}", remedy=remedy)
    return folder


def declared_at(name: str) -> str:
    """Place of a model's declaration in this repository's catalogue."""
    return f"params.yaml: models.{name}"


def path_of(source: str, where: str) -> Path:
    """The file or folder of a `local:` or `package:` source; UserError if it does not exist."""
    scheme, _, rest = source.partition(":")
    if scheme == "local":
        path = at_home(rest)
    else:
        module, _, inside = rest.partition("/")
        # Find the package without running its code; data packages may have names that Python cannot import.
        spec = importlib.util.find_spec(module) if module.replace("-", "_").isidentifier() else None
        if spec is None or not spec.submodule_search_locations:
            remedy = "install it; in a clone `make setup` does"
            raise UserError(f"the package {module!r} is not installed", where=where, remedy=remedy)
        path = Path(next(iter(spec.submodule_search_locations))) / inside
    if not path.exists():
        raise UserError("no such file or folder", where=f"{where}: {path}", remedy="mend the name of the source")
    return path


MIRROR = "EVENRULER_MIRROR"  # environment variable: a folder of published files, found by sha256
GIT = r"git:([\w.-]+/[\w.-]+)@([0-9a-f]{40})/(.+)"  # a file on GitHub at a commit: `git:OWNER/NAME@COMMIT/PATH`


def pinned(source: str, sha256: str, where: str) -> Path:
    """A published file whose bytes match the declared sha256.

    Searched in the folder `EVENRULER_MIRROR` under any name; else at its source: `package:MODULE/FILE`, `local:FILE`,
    or a commit on GitHub (`GIT`), downloaded once into the cache. UnfinishedError if it is missing or cannot be
    downloaded; UserError if its bytes differ.
    """
    if (mirror := os.environ.get(MIRROR)) and (found := _in_mirror(Path(mirror)).get(sha256)):
        return found
    try:
        path = _from_git(source, sha256, where) if source.startswith("git:") else path_of(source, where)
    except UserError as error:
        raise UnfinishedError(error.what, where=error.where, remedy=error.remedy) from None
    require_regular(path)
    if not path.is_file():
        raise UserError("a folder, expected a file", where=f"{where}: {path}", remedy="name a file in it")
    if (own := file_sha256(path)) != sha256:
        what = f"other bytes than were declared (sha256 {own[:12]}..., expected {sha256[:12]}...)"
        remedy = "install the version that requirements-models.txt names, or mend sha256"
        raise UserError(what, where=f"{where}: {path.name}", remedy=remedy)
    return path


@cache
def _in_mirror(folder: Path) -> Mapping[str, Path]:
    if not folder.is_dir():
        raise UserError("no such folder", where=f"environment: {MIRROR}", remedy="mend it or unset it")
    return {file_sha256(path): path for path in sorted(folder.rglob("*")) if path.is_file()}


def _from_git(source: str, sha256: str, where: str) -> Path:
    """A file from GitHub at a commit, cached by checksum."""
    kept = cache_root() / "files" / sha256
    if kept.exists():
        return kept
    if not (named := re.fullmatch(GIT, source)):
        remedy = "say git:OWNER/NAME@COMMIT/PATH, a commit in 40 hex digits"
        raise UserError(f"found {source!r}", where=where, remedy=remedy)

    import httpx2

    address = "https://raw.githubusercontent.com/{}/{}/{}".format(*named.groups())
    try:
        answer = httpx2.get(address, timeout=60).raise_for_status()
    except httpx2.HTTPError as error:
        what = f"{address} cannot be fetched ({type(error).__name__})"
        raise UserError(what, where=where, remedy=f"put it into a folder and name that in {MIRROR}") from None
    kept.parent.mkdir(parents=True, exist_ok=True)
    partial = kept.with_name(f"{sha256}.partial")
    partial.write_bytes(answer.content)
    return partial.rename(kept) if file_sha256(partial) == sha256 else partial


def _from_hub(entry: ModelEntry, where: str) -> Path:
    from huggingface_hub import snapshot_download

    from evenruler.hub import talking_about

    repo = entry.locations[0][1]
    if entry.lacks_commit:
        raise UserError(f"the commit of {repo} is to be given", where=where, remedy="run `evenruler check`")
    with talking_about(repo, revision=entry.revision, where=where):
        folder = Path(snapshot_download(repo, revision=entry.revision, allow_patterns=_HUB_FILES))
        if not any(folder.glob("*.safetensors")):
            folder = Path(snapshot_download(repo, revision=entry.revision, allow_patterns=_OLDER_WEIGHTS))
        return folder


def fetched_of(names: Iterable[str]) -> list[str]:
    """The files of a Hub repository that would be downloaded."""
    names = list(names)
    weights = [] if fnmatch.filter(names, "*.safetensors") else _OLDER_WEIGHTS
    return [name for name in names if any(fnmatch.fnmatch(name, pattern) for pattern in [*_HUB_FILES, *weights])]


def _of_file(name: str, files: list[Path], entry: ModelEntry, store: RowStore, where: str) -> Path:
    """The folder of a converted GGUF file or an unpacked zip file, created on the first call.

    It is shared by all entries that name the same file.
    """
    from evenruler.models import conversion

    def make(folder: Path) -> None:
        joined = folder / (".joined.zip" if entry.is_zip else "model.gguf")
        conversion.join(files, joined, entry.sha256, where)
        (conversion.unpack if entry.is_zip else conversion.convert)(joined, folder, where)
        joined.unlink()

    identity = (entry.sha256 or store.file_sha256(files[0]))[:16]
    if entry.is_zip:
        title = files[0].name.lower().partition(".zip")[0]
        return made(name, f"{title}-{identity}-v{conversion.ARCHIVE_VERSION}", make, store)
    ending = f"{identity}-v{conversion.GGUF_VERSION}"
    known = sorted((store.root / "models").glob(f"*-{ending}"))
    return made(name, known[0].name if known else f"{name}-{ending}", make, store)


def _untrained(name: str, entry: ModelEntry, store: RowStore, catalogue: Mapping[str, ModelEntry]) -> Path:
    """The folder of a small untrained model with another's architecture, created on the first call."""
    from evenruler.models import conversion

    other = conversion.made_of(entry, catalogue, f"{declared_at(name)}.source")
    base = locate(other, catalogue[other], store)
    files = [path for path in sorted(base.iterdir()) if path.suffix in conversion.READ]
    sums = {path.name: store.file_sha256(path) for path in files if path.name != SUMS}
    identity = content_sha256(entry.kind, sums)
    folder = f"{name}-untrained-{identity[:16]}-v{conversion.UNTRAINED_VERSION}"
    return made(name, folder, lambda made: conversion.make(name, entry.kind, base, made), store)


def made(name: str, folder_name: str, make: Callable[[Path], None], store: RowStore) -> Path:
    """A folder under the store's that `make` fills once, and again if its files have changed."""
    folder = store.root / "models" / folder_name
    if folder.exists() and _is_whole(folder, store):
        return folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(f"{folder}.lock"):
        if folder.exists() and _is_whole(folder, store):  # created by another process meanwhile
            return folder
        if folder.exists():
            note(f"{name}: the files in {folder} are not those that were written there; they are made again")
        with swapped(folder) as working:
            working.mkdir()
            make(working)
            sums = {file: file_sha256(working / file) for file in _files(working)}
            (working / SUMS).write_text(json.dumps(sums, indent=2) + "\n", encoding="utf-8")
    return folder


def _is_whole(folder: Path, store: RowStore) -> bool:
    """Whether a created folder still has the files written, by their recorded checksums."""
    try:
        sums = json.loads((folder / SUMS).read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError):
        return False
    if not isinstance(sums, dict) or set(_files(folder)) != set(sums):
        return False
    return all(store.file_sha256(folder / file) == sha256 for file, sha256 in sums.items())


def _files(folder: Path) -> list[str]:
    """Relative paths of the files in a folder, without the file of checksums."""
    paths = (path.relative_to(folder).as_posix() for path in folder.rglob("*") if not path.is_dir())
    return sorted(set(paths) - {SUMS})
