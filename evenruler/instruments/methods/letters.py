"""Probabilities of the letters of options: what a local chat would answer, without a sample."""

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import pandas as pd

from evenruler.instruments.instrument import RequestBatch
from evenruler.measurement.verdicts import ValidityCheck
from evenruler.text.replies import LETTERS

LETTER_MASS: Final = "letters"
"""The table of answers."""

LEAST_MASS: Final = 0.5
"""Of all letters together: with less, the model would mostly write something else."""


def request_letters(
    questions: pd.DataFrame, n_options: Sequence[int], columns: Sequence[str]
) -> RequestBatch:
    """Request the probability of each letter as the whole answer to each `prompt` of questions.

    `columns`: those that identify a question.
    """
    letters: list[str] = []
    for n in n_options:
        letters.extend(LETTERS[:n])
    rows = questions.loc[questions.index.repeat(n_options), [*columns, "prompt"]]
    rows = rows.assign(surface_form=letters)
    inputs: dict[str, Sequence[Any]] = {
        name: rows[name].tolist() for name in ("prompt", "surface_form")
    }
    return RequestBatch(
        LETTER_MASS, "words", rows[[*columns, "surface_form"]], inputs, {"chat": True}
    )


def share_letters(letters: pd.DataFrame, columns: Sequence[str]) -> pd.DataFrame:
    """By question (`columns`): `shares`, by option the probability of its letter over that of all
    letters, and `mass`, the probability of all letters.
    """
    probabilities = letters.assign(p=np.exp(letters["nats"] + letters["ends"]))
    by_letter = probabilities.pivot(index=list(columns), columns="surface_form", values="p")
    shares = by_letter.apply(lambda row: (row.dropna() / row.sum()).tolist(), axis=1)
    mass = by_letter.sum(axis=1)
    both = pd.DataFrame({"shares": shares, "mass": mass})
    return both.reset_index()


def check_mass(mass: "pd.Series[float]") -> ValidityCheck:
    """Whether letters are what the model would answer at all, from their mass by question."""
    mean = float(mass.mean())
    reason = (
        f"the letters have {mean:.2f} of what it would write; at least {LEAST_MASS:g} is asked for"
    )
    return ValidityCheck(failure=reason if mean < LEAST_MASS else None)
