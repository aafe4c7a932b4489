"""The lexicon feature: VADER (Hutto and Gilbert, 2014)."""

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from evenruler.measurement.checks import Floats


def compound(texts: Sequence[str]) -> Floats:
    """VADER's compound score of each text.

    Args:
        texts: n texts, English. One without a word of the lexicon is neutral, 0; so is an empty one, which is for the
            caller to leave out.

    Returns:
        float64[n] from -1 (negative) to 1 (positive), with the four decimals that VADER gives.
    """
    analyzer = _analyzer()
    return np.array([analyzer.polarity_scores(text)["compound"] for text in texts], dtype=np.float64)


@cache
def _analyzer() -> Any:
    from vaderSentiment.vaderSentiment import SentimentIntensityAnalyzer  # type: ignore[import-untyped]

    return SentimentIntensityAnalyzer()
