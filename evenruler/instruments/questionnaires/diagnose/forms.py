"""Answers in other forms than what entails what stay apart."""

from collections.abc import Iterator

import pandas as pd

from evenruler.models.entry import LIKELIHOODS


def by_measure(scores: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    """Answers by entailment, then by likelihood, each with what the names of figures over a population end in.

    The two are never put into one figure: how a model is asked would pass for a difference between models.
    """
    likelihood = scores["configuration"].isin(LIKELIHOODS)
    for ending, chosen in (("", ~likelihood), ("_by_likelihood", likelihood)):
        if chosen.any():
            yield ending, scores[chosen]
