"""The engine string: everything but the question that an answer depends on."""

import hashlib
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from evenruler.errors import UserError
from evenruler.models.entry import ModelEntry
from evenruler.models.loading import Dtype, card_memory
from evenruler.models.store import RowStore
from evenruler.tables.ids import canonical

_LIBRARIES = ("torch", "transformers", "tokenizers", "sentence-transformers")
_TOKENIZER_FILES = (
    "tokenizer*",
    "vocab*",
    "merges*",
    "special_tokens_map.json",
    "added_tokens.json",
    "*.model",
)


def device(wanted: str | None = None) -> str:
    """What to compute on.

    Args:
        wanted: `cpu` or `cuda`; by default `cuda` where there is a GPU, else `cpu`.

    Raises:
        UserError: There is no such device here.
    """
    import torch

    known = ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]
    if wanted is not None and wanted not in known:
        remedy = f"name {' or '.join(known)}; which GPU that is, CUDA_VISIBLE_DEVICES says"
        raise UserError(f"no device {wanted!r} here", where="device", remedy=remedy)
    return wanted or known[-1]


@dataclass(frozen=True)
class Surroundings:
    """What computes, whatever the model."""

    device: str
    """The kind of device whose arithmetic this is: `cpu`, or `cuda` with its compute capability and memory."""
    libraries: tuple[tuple[str, str], ...]
    """Name and version."""

    def other_than(self, other: "Surroundings") -> str:
        """What differs here, in words."""
        there = dict(other.libraries)
        devices = [] if self.device == other.device else [self.device]
        return ", ".join([*devices, *(f"{name} {own}" for name, own in self.libraries if there.get(name) != own)])


def surroundings(on: str) -> Surroundings:
    """Those of this process.

    Args:
        on: `cpu`; anything else is the GPU that is here, if one is.
    """
    libraries = tuple((library, version(library)) for library in _LIBRARIES)
    return Surroundings("cpu" if on == "cpu" else device_class(), libraries)


def device_class() -> str:
    """The kind of device whose arithmetic this is: `cpu`, or `cuda` with its compute capability and memory.

    Packs follow from memory (`backends/capacity.py`), and last bits from packs.
    """
    import torch

    if not torch.cuda.is_available():
        return "cpu"
    return "cuda-{}.{}-{}GiB".format(*torch.cuda.get_device_capability(), card_memory() // 2**30)


def dtype_on(entry: ModelEntry, on: str) -> Dtype:
    """What a model computes in: float32 on a CPU, what params say on a GPU."""
    return "float32" if on == "cpu" else entry.dtype


def describe(
    folder: Path, entry: ModelEntry, store: RowStore, on: str | Surroundings, adapter: Path | None = None
) -> str:
    """The engine string of a model in a folder.

    Args:
        folder: Configuration, weights, tokenizer and chat template.
        entry: Its declaration.
        store: Remembers the checksums of large files.
        on: `cpu` or `cuda` of this process, or what computes elsewhere.
        adapter: Folder of the adapter, for an encoder.

    Returns:
        Canonical JSON: backend, attention kernel, device class, dtype, quantisation, sha256 of weights,
        configuration, modelling code, tokenizer and chat template, library versions.
    """
    own = surroundings(on) if isinstance(on, str) else on
    parts = {
        "backend": "transformers",
        "attention": "sdpa",
        "device": own.device,
        "dtype": dtype_on(entry, own.device),
        "quantisation": None,
        "adapter": adapter and _sha256(adapter, store, "*.safetensors", "*.json"),
        "weights": _sha256(folder, store, "**/*.safetensors", "**/*.bin"),
        "config": _sha256(folder, store, "*config*.json", "modules.json", "**/config.json"),
        "code": _sha256(folder, store, "**/*.py"),
        "tokenizer": _sha256(folder, store, *_TOKENIZER_FILES),
        "chat_template": _sha256(folder, store, "chat_template*"),
        "libraries": dict(own.libraries),
    }
    if own.device != "cpu":
        parts["logits"] = "float32"  # of bfloat16 models too
    return canonical(parts).decode()


def _sha256(folder: Path, store: RowStore, *patterns: str) -> str:
    """One checksum over the files that match, by name."""
    paths = sorted({path for pattern in patterns for path in folder.glob(pattern) if path.is_file()})
    named = [(path.relative_to(folder).as_posix(), store.file_sha256(path)) for path in paths]
    return hashlib.sha256(canonical(named)).hexdigest()
