"""Scores of scales over a population of models (EMPALC, section 3.2)."""

from collections.abc import Callable, Collection, Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import norm, rankdata

from evenruler.instruments.instrument import Subject
from evenruler.instruments.questionnaires.ask.scored import KINDS
from evenruler.measurement.checks import constant_columns

OF_MODEL = ["questionnaire", "model", "configuration"]
"""The columns that say who answered what, and how."""

WHOLE = "all"
"""The subscale that is the whole scale."""

FEWEST_MODELS = 3
"""Models below which a place in the population says nothing."""

Place = Callable[[NDArray[np.float64]], NDArray[np.float64]]
"""Scores of a population -> the place of each in it."""

FEWEST_LINEAGES = 5
"""Lineages of models below which nothing is said about a population."""


def population(subjects: Sequence[Subject]) -> pd.DataFrame:
    """The models that were asked, and whether they count: one fitted here must reach its bar.

    Args:
        subjects: Each once.

    Returns:
        By `schemas.POPULATION`.
    """
    rows = []
    for subject in subjects:
        fitted = subject.fitted or {}
        below = bool(fitted.get("below_bar"))
        row = {
            "model": subject.name,
            "lineage": subject.lineage,
            **{column: fitted.get(column) for column in ("accuracy", "bar", "n_held_out")},
            "member": not below,
            "standing": "below its bar, does not count" if below else "counts",
        }
        rows += [{**row, "kind": KINDS[form], "configuration": form} for form in subject.forms]
    return pd.DataFrame(rows)


def scale_scores(items: pd.DataFrame, members: Collection[str] | None = None) -> pd.DataFrame:
    """Mean item score of every scale and subscale, with the model's place in the population.

    Args:
        items: By `schemas.ITEM_SCORES`.
        members: The models that make the population, all by default; others get no place in it.

    Returns:
        By `schemas.SCALE_SCORES`.
    """
    model = ["questionnaire", "model", "lineage", "kind", "configuration", "framing"]
    both = pd.concat([items.assign(subscale=WHOLE), items.dropna(subset=["subscale"])])
    scores = both.groupby([*model, "subscale"], sort=True)["score"].agg(["mean", "size"]).reset_index()
    scores = scores.rename(columns={"mean": "score", "size": "n"})
    own = scores["score"] if members is None else scores["score"].where(scores["model"].isin(members))
    by_scale = own.groupby([scores[key] for key in ("questionnaire", "subscale", "configuration", "framing")])
    return scores.assign(
        z=by_scale.transform(lambda s: _among(s, standardised)),
        normal=by_scale.transform(lambda s: _among(s, normal_scores)),
    )


def _among(scores: "pd.Series[float]", place: Place) -> NDArray[np.float64]:
    """The place of each score among those that are there; nan for one that is not."""
    known = scores.notna().to_numpy()
    found = np.full(len(scores), np.nan)
    found[known] = place(np.asarray(scores[known], dtype=np.float64))
    return found


def standardised(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Z of each score over the population; nan below three models or where all are equal."""
    if len(scores) < FEWEST_MODELS or constant_columns(scores[:, None]).any():
        return np.full(len(scores), np.nan)
    found: NDArray[np.float64] = (scores - scores.mean()) / scores.std(ddof=1)
    return found


def normal_scores(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Rank-based inverse normal transform, (rank - 3/8) / (n + 1/4); equal scores share a rank; nan below three."""
    if len(scores) < FEWEST_MODELS:
        return np.full(len(scores), np.nan)
    found: NDArray[np.float64] = norm.ppf((rankdata(scores) - 0.375) / (len(scores) + 0.25))
    return found
