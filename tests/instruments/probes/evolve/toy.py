"""A language model whose every probability is known, so that what is measured with it can be added
up on paper."""

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from evenruler.instruments.probes.declare.source import ProbeSource
from evenruler.models import LogLikelihoods

BIT = math.log(2)
"""Nats."""


class ToyModel:
    """A word has the probability of so many coin tosses; words that stood before it make that more
    or fewer.

    Its tokens are words, in lower case; punctuation is none. It answers what a causal model
    answers.
    """

    name = "toy-model"

    def __init__(
        self, bits: Mapping[str, float], after: Mapping[tuple[str, str], float] | None = None
    ) -> None:
        """Say what words cost.

        Args:
            bits: Minus log2 of the probability of each word; 4 for those that are not named.
            after: By words (one or several) that stand anywhere before it, and the word: how many
                bits they add to it.
        """
        self._bits, self._after = bits, after or {}
        self.calls: list[list[str]] = []
        """Texts of every question."""

    def loglikelihood(self, texts: Sequence[str]) -> LogLikelihoods:
        self.calls.append(list(texts))
        words = [re.findall(r"[\w'-]+", text.lower()) for text in texts]
        return LogLikelihoods(
            nats=np.array([-BIT * self._cost(of_text) for of_text in words]),
            tokens=np.array([len(of_text) for of_text in words]),
        )

    def _cost(self, words: list[str]) -> float:
        own = sum(self._bits.get(word, 4.0) for word in words)
        added = [
            extra
            for (cues, word), extra in self._after.items()
            for place, found in enumerate(words)
            if found == word and set(cues.split()) <= set(words[:place])
        ]
        return own + sum(added)


def toy_source(**changes: Any) -> ProbeSource:
    """A domain of two attributes and two targets a group, with top-level keys replaced."""
    return ProbeSource.model_validate(
        {
            "title": "Trades",
            "construct": "association of trades with gender",
            "direction": "positive means closer to men",
            "source": "the file",
            "licence": "cc-by-4.0",
            "targets": {"men": ["man", "uncle"], "women": ["woman", "girl"]},
            "attributes": ["baker", "engineer"],
            "sets": {
                "seed": {
                    "title": "By hand",
                    "templates": {"plain": "The {ATTRIBUTE} is a {TARGET}."},
                }
            },
            **changes,
        }
    )
