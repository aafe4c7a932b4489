"""Which language a text is in, as far as it can be told."""

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

SURE = 0.5
"""Probability above which a text is taken to be in a language. Of 360 replies of small models about countries, 20 were
above it for another than English; all of them were. Two lists of names were below."""


def in_another(texts: Sequence[str], language: str) -> NDArray[np.bool_]:
    """Whether each text is in another language: the likeliest is another, with a probability above `SURE`.

    Args:
        texts: n texts.
        language: Two letters, as in "en"; where the library does not know it, nothing is in another.

    Source: py3langid (Barbaresi), of langid.py (Lui & Baldwin, 2012): a naive Bayes classifier of byte n-grams.
    """
    identifier = _identifier()
    if language not in identifier.labels:
        return np.zeros(len(texts), dtype=bool)
    found = [identifier.classify(text) for text in texts]
    return np.array([name != language and share > SURE for name, share in found], dtype=bool)


@cache
def _identifier() -> Any:
    from py3langid.langid import MODEL_FILE, LanguageIdentifier  # a second, and nobody else needs it

    return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
