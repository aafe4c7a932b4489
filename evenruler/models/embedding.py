"""The sentence-transformers backend for embedders."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenruler.models.loading import loading

BATCH = 32


class TransformersEmbedder:
    """A sentence embedder in memory."""

    def __init__(self, name: str, folder: Path, device: str) -> None:
        """Load it.

        Raises:
            UserError: The folder holds no model that sentence-transformers can load.
        """
        from sentence_transformers import SentenceTransformer

        with loading(name, str(folder)):
            self._model: Any = SentenceTransformer(str(folder), device=device, local_files_only=True)

    def embeddings(
        self, texts: Sequence[str], wanted: frozenset[int]
    ) -> Iterator[list[tuple[int, NDArray[np.float32]]]]:
        """Embed every batch of texts that holds a wanted one, whole.

        Yields:
            By batch: (index, vector of length 1).
        """
        order = sorted(range(len(texts)), key=lambda i: (len(texts[i]), texts[i]))
        for first in range(0, len(order), BATCH):
            batch = order[first : first + BATCH]
            if wanted.isdisjoint(batch):
                continue
            vectors = self._model.encode(
                [texts[i] for i in batch],
                batch_size=BATCH,
                normalize_embeddings=True,
                show_progress_bar=False,
            )
            yield list(zip(batch, vectors, strict=True))
