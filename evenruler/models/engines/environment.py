"""The engine string of a cache key: everything that an answer depends on, except the question."""

import hashlib
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from evenruler.errors import UserError
from evenruler.files import read_json_file
from evenruler.models.chat_settings import NOW
from evenruler.models.declarations import DeclaredDtype, ModelEntry
from evenruler.models.loading import Dtype, card_memory, stored_dtype, tokenizer_folder
from evenruler.models.starts import start_in_key
from evenruler.models.store import RowStore
from evenruler.tables.ids import canonical_json

_LIBRARIES = ("torch", "transformers", "tokenizers", "sentence-transformers")
_WEIGHTS = (
    "**/*.safetensors",
    "**/*.bin",
    "**/*.index.json",
)  # an index names the shards that are loaded
_CONFIGURATION = ("*config*.json", "modules.json", "**/config.json")
_ADAPTER = ("*.safetensors", "*.bin", "*.json", "*.jinja", "*.model", "*.txt")
_CHAT_TEMPLATES = ("chat_template*", "additional_chat_templates/*.jinja")
_TOKENIZER_FILES = (
    "tokenizer*",
    "vocab*",
    "merges*",
    "special_tokens_map.json",
    "added_tokens.json",
    "*.model",
)


def choose_device(wanted: str | None = None) -> str:
    """The device to compute on: the wanted one, else `cuda` if there is a GPU; UserError if it is
    not available.
    """
    devices = ["cpu", *(["cuda"] if count_gpus() else [])]
    if wanted is not None and wanted not in devices:
        remedy = f"name {' or '.join(devices)}; which GPU that is, CUDA_VISIBLE_DEVICES says"
        raise UserError(f"no device {wanted!r} here", where="device", remedy=remedy)
    return wanted or devices[-1]


def count_gpus() -> int:
    """Number of GPUs that torch sees; 0 without importing torch (two seconds) for CPU-only
    builds.
    """
    if "torch" not in sys.modules and version("torch").endswith("+cpu"):
        return 0

    import torch

    return torch.cuda.device_count() if torch.cuda.is_available() else 0


@dataclass(frozen=True)
class ComputeEnvironment:
    """Device class and library versions."""

    device: str  # device class: `cpu`, or `cuda` with its compute capability and memory
    libraries: tuple[tuple[str, str], ...]  # (name, version) pairs

    def other_than(self, other: "ComputeEnvironment") -> str:
        """The differences from another one, in words."""
        there = dict(other.libraries)
        devices = [] if self.device == other.device else [self.device]
        return ", ".join(
            [
                *devices,
                *(
                    f"{name} {library_version}"
                    for name, library_version in self.libraries
                    if there.get(name) != library_version
                ),
            ]
        )


def current_environment(on: str) -> ComputeEnvironment:
    """Surroundings of this process, on the `cpu` or on its GPU."""
    libraries = tuple((library, version(library)) for library in _LIBRARIES)
    return ComputeEnvironment("cpu" if on == "cpu" else device_class(), libraries)


def device_class() -> str:
    """Device class with equal arithmetic: `cpu`, or `cuda` with its compute capability and memory,
    and `tf32` where float32 matrices are multiplied in it.

    Memory determines packs (`backends/causal.py`), and packs determine the last bits of results.
    """
    if not count_gpus():
        return "cpu"

    import torch

    capability = torch.cuda.get_device_capability()
    device = "cuda-{}.{}-{}GiB".format(*capability, card_memory() // 2**30)
    return f"{device}-tf32" if uses_tf32() else device


def uses_tf32() -> bool:
    """Whether PyTorch multiplies float32 matrices on a GPU in TF32, of 10 bits instead of 23; off
    unless somebody turned it on in this process.
    """
    import torch

    return bool(torch.backends.cuda.matmul.fp32_precision == "tf32")


def choose_dtype(declared: DeclaredDtype, device: str, folder: Path) -> Dtype:
    """The dtype that a model computes in: float32 on a CPU; on a GPU the declared one, which `auto`
    takes from the weights in the folder.

    `device`: `cpu`, or the name of a GPU, which need not be there.
    """
    if device == "cpu":
        return "float32"
    return stored_dtype(folder) if declared == "auto" else declared


def engine_string(
    folder: Path,
    entry: ModelEntry,
    store: RowStore,
    on: str | ComputeEnvironment,
    adapter: Path | None = None,
) -> str:
    """The engine string of a model folder, with an encoder's adapter; `on`: a device here, or given
    surroundings.

    Canonical JSON of `parts` below, files by sha256. UserError if the folder names files that the
    libraries would load from outside the hashed ones.
    """
    # Refuse weights named in a configuration or index that are not among the hashed files.
    weight_files = _matching_files(folder, *_WEIGHTS)
    config = folder / "config.json"
    named = [(config, [read_json_file(config, dict).get("transformers_weights")])]
    for index in sorted(path for path in weight_files if path.name.endswith(".index.json")):
        shards = read_json_file(index, dict).get("weight_map")
        shard_names = list(shards.values()) if isinstance(shards, dict) else []
        named.append((index, shard_names))
    for file, names in named:
        for name in sorted({name for name in names if isinstance(name, str)}):
            for path in (file.parent / name, folder / name):  # transformers uses either
                if path.exists() and path not in weight_files:
                    what = f"it names {name!r}, which is not among the weights of the folder"
                    raise UserError(
                        what, where=str(file), remedy="put all weights into the model's folder"
                    )
    environment = current_environment(on) if isinstance(on, str) else on
    hashed = hashed_files(folder, entry)
    adapter_hashes = adapter and _hash_files(adapter, _matching_files(adapter, *_ADAPTER), store)
    hashes_by_part = {part: _hash_files(folder, paths, store) for part, paths in hashed.items()}
    dtype = choose_dtype(entry.dtype, environment.device, folder)
    parts = {
        "backend": "transformers",
        "attention": "sdpa",
        "device": environment.device,
        "dtype": dtype,
        "quantisation": None,
        "adapter": adapter_hashes,
        **hashes_by_part,
        "libraries": dict(environment.libraries),
    }
    parts |= entry.in_key
    if entry.kind == "causal":
        parts |= start_in_key(str(folder), tokenizer_folder(folder, adapter), entry.start)
    # Files that may contain a chat template.
    places = _matching_files(folder, "**/*.jinja", "*template*.json", "tokenizer_config.json")
    if entry.chat and any(b"strftime_now" in path.read_bytes() for path in places):
        from evenruler.models.templates import writes_day  # imports libraries that take seconds

        if writes_day(folder, entry):
            parts["now"] = (entry.now or NOW).isoformat()
    if environment.device != "cpu":
        parts["logits"] = "float32"  # also for bfloat16 models
    return canonical_json(parts).decode()


def hashed_files(
    folder: Path, entry: ModelEntry, adapter: Path | None = None
) -> dict[str, set[Path]]:
    """The files that are part of an engine string, by part; UserError for an embedder with modules
    of other code.

    With an `adapter`, its files are a part, too.
    """
    weights, code, tokenizer = (
        _matching_files(folder, *_WEIGHTS),
        _matching_files(folder, "**/*.py"),
        _matching_files(folder, *_TOKENIZER_FILES),
    )
    templates, configuration = (
        _matching_files(folder, *_CHAT_TEMPLATES),
        _matching_files(folder, *_CONFIGURATION),
    )
    if entry.kind == "embedder":
        configuration |= _files_of_modules(folder) - weights - code - tokenizer - templates
    parts = {
        "weights": weights,
        "config": configuration,
        "code": code,
        "tokenizer": tokenizer,
        "chat_template": templates,
    }
    return {**parts, "adapter": _matching_files(adapter, *_ADAPTER)} if adapter else parts


def _files_of_modules(folder: Path) -> set[Path]:
    """The files in the folders of an embedder's modules; UserError for modules of other code or
    outside the folder.
    """
    modules, root = folder / "modules.json", folder.resolve()
    files: set[Path] = set()
    for module in read_json_file(modules, list):
        kind = str(module.get("type")) if isinstance(module, dict) else ""
        place = str(module.get("path")) if isinstance(module, dict) else ""
        module_folder = folder / place
        if not kind.startswith("sentence_transformers."):
            what = (
                f"the module {kind!r} is no part of sentence-transformers, and code of a model "
                "is not run"
            )
            raise UserError(what, where=str(modules), remedy="name a model without code of its own")
        if not module_folder.resolve().is_relative_to(root):
            what = f"the module {place!r} lies outside the folder"
            raise UserError(what, where=str(modules), remedy="put it into the model's folder")
        if module_folder.resolve() != root:
            files |= _matching_files(module_folder, "**/*")
    return files


def _matching_files(folder: Path, *patterns: str) -> set[Path]:
    """Files of a folder that match patterns; links to files count, links to folders are not
    followed.
    """
    paths: set[Path] = set()
    for pattern in patterns:
        paths |= {path for path in folder.glob(pattern) if path.is_file()}
    return paths


def _hash_files(folder: Path, paths: Iterable[Path], store: RowStore) -> str:
    """Sha256, in hex, of paths relative to the folder and contents of files, sorted by path."""
    named = [
        (path.relative_to(folder).as_posix(), store.file_sha256(path)) for path in sorted(paths)
    ]
    return hashlib.sha256(canonical_json(named)).hexdigest()
