"""Where a model's files come from: the Hub at a commit, an installed package, a local folder."""

import importlib.util
import shutil
from pathlib import Path

from filelock import FileLock

from evenruler.errors import UserError
from evenruler.hub import talking_about
from evenruler.models import gguf
from evenruler.models.entry import ModelEntry
from evenruler.models.store import RowStore

_HUB_FILES = ["*.safetensors", "*.json", "*.jinja", "*.txt", "*.model"]


def locate(name: str, entry: ModelEntry, store: RowStore) -> Path:
    """The folder that holds a model's configuration, weights and tokenizer, ready to load.

    A GGUF file is checked against its checksum and converted once, under the store's folder.

    Raises:
        UserError: Something is missing or is not what was declared.
    """
    where = f"params.yaml: models.{name}"
    if entry.scheme == "hub":
        files = [_from_hub(entry, where)]
    else:
        files = [_path(scheme, rest, where) for scheme, rest in entry.locations]
    for path in files:
        if not path.exists():
            raise UserError("no such file or folder", where=f"{where}: {path}", remedy="mend `source`")
    folder = _converted(name, files, entry, store, where) if entry.is_file else files[0]
    _check_folder(folder, where)
    return folder


def _path(scheme: str, rest: str, where: str) -> Path:
    if scheme == "local":
        return Path(rest).expanduser()
    module, _, inside = rest.partition("/")
    # Finds a top-level package without running its code.
    spec = importlib.util.find_spec(module) if module.isidentifier() else None
    if spec is None or not spec.submodule_search_locations:
        raise UserError(f"the package {module!r} is not installed", where=where, remedy="run `make setup`")
    return Path(next(iter(spec.submodule_search_locations))) / inside


def _from_hub(entry: ModelEntry, where: str) -> Path:
    from huggingface_hub import snapshot_download

    repo = entry.locations[0][1]
    with talking_about(repo, revision=entry.revision, where=where):
        return Path(snapshot_download(repo, revision=entry.revision, allow_patterns=_HUB_FILES))


def _converted(name: str, files: list[Path], entry: ModelEntry, store: RowStore, where: str) -> Path:
    """The folder of a converted GGUF file; converts it on the first call."""
    identity = entry.sha256 or store.file_sha256(files[0])
    folder = store.root / "models" / f"{name}-{identity[:16]}-v{gguf.VERSION}"
    folder.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(f"{folder}.lock"):
        if not folder.exists():
            working = folder.with_name(f"{folder.name}.partial")
            shutil.rmtree(working, ignore_errors=True)
            working.mkdir()
            try:
                joined = working / "model.gguf"
                gguf.join(files, joined, entry.sha256, where)
                gguf.convert(joined, working, where)
                joined.unlink()
                working.rename(folder)
            finally:
                shutil.rmtree(working, ignore_errors=True)
    return folder


def _check_folder(folder: Path, where: str) -> None:
    if not (folder / "config.json").exists():
        raise UserError("no config.json", where=f"{where}: {folder}", remedy="point `source` at a saved model")
    if not any(folder.glob("*.safetensors")) and not any(folder.glob("*.bin")):
        raise UserError("no weights (*.safetensors)", where=f"{where}: {folder}", remedy="save the model there")
    if not any((folder / file).exists() for file in ("tokenizer.json", "tokenizer.model", "vocab.json", "vocab.txt")):
        raise UserError("no tokenizer", where=f"{where}: {folder}", remedy="save the model's tokenizer there too")
