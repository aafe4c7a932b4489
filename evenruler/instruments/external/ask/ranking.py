"""Who comes first in lists of candidates, from recorded answers: a choice, or a reply that ranks
them.
"""

import re
from collections.abc import Sequence
from typing import Final

import numpy as np
import pandas as pd

from evenruler.instruments.external import schemas

UNREAD: Final = -1
"""The place of a winner that was not read."""


def find_first_named(reply: str, names: Sequence[str]) -> int | None:
    """The place of the candidate that a reply names first; None where it names nobody.

    Capitals do not matter, and a name is found as whole words, so that "Ann Lee" is not in "Joann
    Lee". A ranking begins with its first candidate, with or without numbers; a reply that goes
    through candidates in another order than its ranking is read wrongly.
    """
    text = reply.casefold()
    place_by_begin: dict[int, int] = {}
    for place, name in enumerate(names):
        pattern = rf"(?<!\w){re.escape(name.casefold())}(?!\w)"
        found_at = re.search(pattern, text)
        if found_at is not None:
            place_by_begin[found_at.start()] = place
    return place_by_begin[min(place_by_begin)] if place_by_begin else None


def read_winner(names: Sequence[str], scores: Sequence[float], reply: str | None) -> int | None:
    """The place of the candidate who comes first: the one with the highest score, else, where
    scores tell nobody apart, the one that the reply names first.
    """
    best = max(scores)
    if sum(score == best for score in scores) == 1:
        return list(scores).index(best)
    return None if reply is None else find_first_named(reply, names)


def score_lists(texts: pd.DataFrame, likelihoods: pd.DataFrame) -> pd.DataFrame:
    """The lists that were answered, a row each by `schemas.ITEMS`: `value` is the place of the
    winner, from 0, and `known` whether one was read (else the place is `UNREAD`).

    `likelihoods`: by `schemas.LIKELIHOODS`, of candidates; a list without any answer is left out.
    """
    answered = likelihoods.reindex(columns=schemas.LIKELIHOODS.names).drop(columns="id")
    answered = answered[answered["nats"].notna()]
    rows = texts.merge(answered, left_on="id", right_on="text_id", validate="one_to_one")
    rows = rows.sort_values(["item", "role"])
    places: list[int] = []
    for _, candidates in rows.groupby("item", sort=True):
        replied = candidates["replied"].iloc[0]
        reply = replied if isinstance(replied, str) else None
        place = read_winner(candidates["text"].tolist(), candidates["nats"].tolist(), reply)
        places.append(UNREAD if place is None else place)
    items = rows.groupby("item", sort=True)[["part", "condition"]].first().reset_index()
    items = items.assign(unit=items["item"], value=np.array(places, dtype=np.float64))
    is_read = items["value"] != UNREAD
    items = items.assign(known=is_read, won=is_read, lean=0.0)
    scored_items: pd.DataFrame = items.assign(
        right=None,
        related=float("nan"),
        length=0.0,
        in_tokens=False,
        frequency=0.0,
        criterion=float("nan"),
    )[schemas.ITEMS.names]
    return scored_items
