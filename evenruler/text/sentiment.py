"""How good or bad the words of an English text are."""

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray


def compound(texts: Sequence[str]) -> NDArray[np.float64]:
    """VADER's compound score of each English text, -1 (negative) to 1 (positive), with its four decimals.

    One without a word of the lexicon is neutral, 0; so is an empty one, which is for the caller to leave out.
    """
    analyzer = _analyzer()
    return np.array([analyzer.polarity_scores(text)["compound"] for text in texts], dtype=np.float64)


@cache
def _analyzer() -> Any:
    from vaderSentiment.vaderSentiment import SentimentIntensityAnalyzer  # type: ignore[import-untyped]

    return SentimentIntensityAnalyzer()
