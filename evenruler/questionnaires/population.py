"""Scores of scales over a population of models (EMPALC, section 3.2)."""

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import norm, rankdata

from evenruler.measurement.checks import constant_columns

WHOLE = "all"
"""The subscale that is the whole scale."""

FEWEST_MODELS = 3
"""Models below which a place in the population says nothing."""


def scale_scores(items: pd.DataFrame) -> pd.DataFrame:
    """Mean item score of every scale and subscale, with the model's place in the population.

    Args:
        items: By `evenruler.questionnaires.schemas.ITEM_SCORES`.

    Returns:
        By `evenruler.questionnaires.schemas.SCALE_SCORES`.
    """
    model = ["questionnaire", "model", "lineage", "kind", "configuration", "framing"]
    both = pd.concat([items.assign(subscale=WHOLE), items.dropna(subset=["subscale"])])
    scores = both.groupby([*model, "subscale"], sort=True)["score"].agg(["mean", "size"]).reset_index()
    scores = scores.rename(columns={"mean": "score", "size": "n"})
    by_scale = scores.groupby(["questionnaire", "subscale", "configuration", "framing"])["score"]
    return scores.assign(
        z=by_scale.transform(lambda s: standardised(s.to_numpy())),
        normal=by_scale.transform(lambda s: normal_scores(s.to_numpy())),
    )


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
