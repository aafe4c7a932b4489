"""Sentence embedders with sentence-transformers."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import safe_open
from sentence_transformers import SentenceTransformer

from evenruler.errors import UserError
from evenruler.models.backends.packs import Packs, in_packs, parts
from evenruler.models.loading import loading, quiet, require_embeddings

BATCH = 32


class SentenceEmbedder:
    """A loaded sentence embedder."""

    def __init__(self, name: str, folder: Path, device: str) -> None:
        """Load it; UserError if sentence-transformers cannot load the folder."""
        with quiet(), loading(name, str(folder)):
            self._model: Any = SentenceTransformer(
                str(folder), device=device, local_files_only=True, trust_remote_code=False
            )
        model: Any = self._model[0].auto_model
        files = [*folder.glob("*.safetensors"), *folder.glob("*/*.safetensors")]
        held: set[str] = set()
        for path in files:
            with safe_open(path, "pt") as file:
                held |= {f".{key}" for key in file.keys()}  # noqa: SIM118  # no mapping
        named = [name for name, _ in model.named_parameters()]
        # Tensors in no file were randomly initialised.
        lacking = [own for own in named if files and not any(key.endswith(f".{own}") for key in held)]
        if lacking:
            what = f"{name} lacks {len(lacking)} tensors, as {lacking[0]}"
            raise UserError(what, where=str(folder), remedy="see its `source`")
        require_embeddings(model, self._model.tokenizer, name)

    @in_packs
    def embed(self, texts: Sequence[str]) -> Packs[NDArray[np.float32]]:
        """For each text: its vector, of length 1."""
        order = sorted(range(len(texts)), key=lambda i: (len(texts[i]), texts[i]))

        def answer(batch: Sequence[int]) -> list[tuple[int, NDArray[np.float32]]]:
            own = [texts[i] for i in batch]
            vectors = self._model.encode(own, batch_size=BATCH, normalize_embeddings=True, show_progress_bar=False)
            return list(zip(batch, vectors, strict=True))

        return Packs(parts(order, BATCH), answer)
