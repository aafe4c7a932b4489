"""GGUF files: converted once into what transformers loads in a second."""

import struct
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

from evenruler.errors import UserError
from evenruler.models.loading import complete, quiet
from evenruler.progress import note

VERSION = 1
"""Of the conversion; part of the folder's name."""


def convert(path: Path, folder: Path, where: str) -> None:
    """Save the dequantised model (float32 safetensors) and its tokenizer into a folder.

    Raises:
        UserError: The file is no readable GGUF model, or lacks tensors.
    """
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    note(f"{where.rpartition('.')[2]}: converting its GGUF file (once; up to two minutes)")
    try:
        with quiet(), _read_once():
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


@contextmanager
def _read_once() -> Iterator[None]:
    """Have transformers read a file, and make the table of names of tensors, once: it does both anew each time.

    It reads the file three times, for configuration, tokenizer and weights, and makes the table for every submodule.
    """
    import gguf

    class Reader(gguf.GGUFReader):
        """Cuts the same file as plain arrays: each of a million cuts of `np.memmap` makes a whole one."""

        @property
        def data(self) -> Any:
            return self._data

        @data.setter
        def data(self, value: Any) -> None:
            self._data = np.asarray(value)

    with patch.multiple(gguf, GGUFReader=cache(Reader), get_tensor_name_map=cache(gguf.get_tensor_name_map)):
        yield
