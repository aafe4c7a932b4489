"""Models that are asked in other forms than what entails what: what they are called, and where they stay apart."""

from collections.abc import Iterator

import pandas as pd

from evenruler.declaration import LIKELIHOODS


def named(model: str, configuration: str) -> str:
    """What a model is called where no column says how it is asked: "bert (mlm)".

    One that says what entails what, by a head or a verbaliser, goes by its name in the catalogue. So a model that
    answers in two forms is two in every figure, of one lineage.
    """
    return f"{model} ({configuration})" if configuration in LIKELIHOODS else model


def by_measure(scores: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    """Answers by entailment, then by likelihood, each with what the names of figures over a population end in.

    The two are never put into one figure: how a model is asked would pass for a difference between models.
    """
    likelihood = scores["configuration"].isin(LIKELIHOODS)
    for ending, chosen in (("", ~likelihood), ("_by_likelihood", likelihood)):
        if chosen.any():
            yield ending, scores[chosen]
