"""Which cells have too few answers of any class to count (appendix A.1, table 2)."""

from collections.abc import Collection

import numpy as np
import pandas as pd

from evenruler.instruments.framing.declare.settings import LEAST_OF_CHOICES
from evenruler.instruments.framing.diagnose import choices
from evenruler.instruments.framing.schemas import EXCLUSIONS
from evenruler.measurement.answered import Replies, unanswered, unvaried

CELL = [*choices.CELL, "metric"]
"""What coverage is of."""


def exclusions(distributions: pd.DataFrame, least: float) -> pd.DataFrame:
    """How much of the answers of every cell is of any class, and whether that is too little.

    Args:
        distributions: By `schemas.DISTRIBUTIONS`, of both metrics.
        least: Of the metric `token`; of choices it is `LEAST_OF_CHOICES`.

    Returns:
        By `EXCLUSIONS`.
    """
    one_class = distributions.drop_duplicates([*CELL, "stimulus"])
    rows = []
    for key, own in one_class.groupby(CELL, sort=True):
        cell = dict(zip(CELL, key, strict=True))
        floor = LEAST_OF_CHOICES if cell["metric"] == choices.METRIC else least
        covered = float(np.average(own["coverage"], weights=own["n"]))
        # A rounding of the mean takes no cell out.
        rows.append(
            {**cell, "coverage": covered, "least": floor, "n": int(own["n"].sum()), "excluded": covered < floor - 1e-12}
        )
    return pd.DataFrame(rows, columns=EXCLUSIONS.names)


def without_excluded(distributions: pd.DataFrame, exclusions: pd.DataFrame, metrics: Collection[str]) -> pd.DataFrame:
    """Distributions without the cells of some metrics that are excluded; those of others stay.

    Args:
        distributions: By `schemas.DISTRIBUTIONS`.
        exclusions: By `EXCLUSIONS`.
        metrics: Whose cells go.
    """
    out = exclusions[exclusions["excluded"].astype(bool) & exclusions["metric"].isin(list(metrics))]
    gone = set(out[CELL].itertuples(index=False, name=None))
    stays = [cell not in gone for cell in distributions[CELL].itertuples(index=False, name=None)]
    return distributions[np.array(stays, dtype=bool)].reset_index(drop=True)  # of none, an empty list is no columns


NO_ANSWER = {"refusal": "refused", "empty": "empty", "none": "unread", choices.WITHHELD: "withheld"}
"""Rules by which a reply is none, and what it counts as. One that names several classes, or an option that stands for
none, is an answer, if no valid one."""


def unmeasured(measured: pd.DataFrame, replies: pd.DataFrame) -> str | None:
    """Why a model's answers in one part (configuration and metric) measure nothing; None where they do.

    Args:
        measured: By `schemas.DISTRIBUTIONS`, of the part.
        replies: By `schemas.CHOICES`, of the configuration; no row where words have probabilities.
    """
    if measured["metric"].iloc[0] == choices.METRIC:
        lacking = replies["rule"].map(NO_ANSWER)
        refused, empty, unread, withheld = (int((lacking == of).sum()) for of in NO_ANSWER.values())
        distinct = replies["reply"].dropna().str.strip().nunique()
        found = Replies(len(replies), refused, empty, 0, unread, withheld, distinct, free=False)
        if why := unanswered(found):
            return why
    cells = measured.pivot(index=["framing", "stimulus"], columns=["task", "outcome"], values="share")
    return unvaried(cells, "cells (cues and stimuli)")
