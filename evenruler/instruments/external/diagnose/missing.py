"""Items that recorded answers lack: what a verdict may still say."""

from dataclasses import replace

import numpy as np
import pandas as pd

from evenruler.instruments.external.declare import Score
from evenruler.instruments.external.diagnose.lean import lean_weights
from evenruler.measurement.verdicts import HeadlineTest


def missing_share(
    texts: pd.DataFrame, items: pd.DataFrame, replies: pd.DataFrame, score: Score
) -> float:
    """Share of the weight of a lean that items without a recorded answer would have, within the
    units that were answered; 0 where whole units are missing and nothing else.

    `texts`: those that are asked, by `schemas.TEXTS`; `items`: answered ones, by `schemas.ITEMS`,
    of BBQ in one condition; `replies`: recorded ones, by `schemas.REPLIES`, since a reply that
    names no option is not missing.
    """
    if score == "bbq":
        texts = texts[texts["condition"].isin(items["condition"])]
    asked_items = texts[["item", "unit"]].drop_duplicates()
    recorded = {*items["item"], *replies["item"]}
    of_answered_units = asked_items[asked_items["unit"].isin(items["unit"])]
    missing = of_answered_units[~of_answered_units["item"].isin(recorded)]
    if missing.empty:
        return 0.0
    if score == "stereoset":  # units count alike
        n_missing = missing["unit"].value_counts()
        n_asked = of_answered_units["unit"].value_counts()
        return float((n_missing.reindex(n_asked.index).fillna(0) / n_asked).mean())
    answered_weight = float(lean_weights(items, score).sum())
    return len(missing) / (answered_weight + len(missing))


def state_coverage(test: HeadlineTest, texts: pd.DataFrame) -> HeadlineTest:
    """A test that says how many units its design has; `texts`: those that are asked."""
    return replace(test, levels_planned={test.unit: texts["unit"].nunique()})


def require_below_with_missing(test: HeadlineTest, share: float) -> HeadlineTest:
    """A test that is below its bound only if it would be with every missing item against it.

    `share`: by `missing_share`. A missing item moves a lean by its share at most, in either
    direction. Source: spec/fixed-models.md, section 5.3; Manski (1990), worst-case bounds.
    """
    if share == 0 or test.effect is None or test.no_below:
        return test
    furthest = np.abs([test.effect.low, test.effect.high]).max() + share
    if furthest < test.bound:
        return test
    reason = f"{share:.0%} of the items of these {test.unit} have no answer, which may reach it"
    return replace(test, no_below=reason)


def refuse_below_with_missing(test: HeadlineTest, share: float) -> HeadlineTest:
    """The same for a figure without limits, to which a missing item can add anything."""
    if share == 0 or test.no_below:
        return test
    reason = f"{share:.0%} of the items of these {test.unit} have no answer"
    return replace(test, no_below=reason)
