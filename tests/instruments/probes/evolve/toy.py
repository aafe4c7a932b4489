"""A language model whose every probability is known, so that what is measured with it can be added
up on paper."""

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from evenruler.instruments.probes.declare.source import ProbeSource
from evenruler.instruments.probes.evolve import EvolutionRun
from evenruler.instruments.probes.evolve.population import RewordingAttempt
from evenruler.models import LogLikelihoods
from tests.instruments.probes.conftest import SOURCE

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
        bits = np.array(list(map(self._cost, words)))
        return LogLikelihoods(nats=-BIT * bits, tokens=np.array(list(map(len, words))))

    def _cost(self, words: list[str]) -> float:
        alone = sum(self._bits.get(word, 4.0) for word in words)
        added = []
        for (cues, cued), extra in self._after.items():
            needed = set(cues.split())
            for place, word in enumerate(words):
                if word == cued and needed <= set(words[:place]):
                    added.append(extra)
        return alone + sum(added)


def attempts_of(run: EvolutionRun) -> list[RewordingAttempt]:
    """All that a run tried to reword, in order."""
    attempts: list[RewordingAttempt] = []
    for generation in run.generations:
        attempts += generation.tries
    return attempts


def toy_source(**changes: Any) -> ProbeSource:
    """A domain of two attributes and two targets a group, with top-level keys replaced."""
    templates = {"plain": "The {ATTRIBUTE} is a {TARGET}."}
    sets = {"seed": {"title": "By hand", "templates": templates}}
    return ProbeSource.model_validate({**SOURCE, "sets": sets, **changes})
