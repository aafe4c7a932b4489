"""Brittleness of questionnaires: how far item scores move when something stands before the verbaliser's question."""

from dataclasses import asdict

import pandas as pd

from evenruler import measurement
from evenruler.instruments.questionnaires.diagnose.population import OF_MODEL, WHOLE
from evenruler.measurement import Figure, Resampling
from evenruler.models.entry import LIKELIHOODS, VERBALISER, named

UNIT = "items"
"""What observations are."""

NO_PROMPT = "a framing has no meaning for a model that reads premise and hypothesis alone"
NO_QUESTION = "framings stand before the question of the verbaliser, which this form does not ask"
UNASKED = "no items were asked after a framing"


def of_model(items: pd.DataFrame, prefixed: pd.DataFrame, resampling: Resampling) -> pd.DataFrame:
    """Brittleness of one questionnaire on one model, by form; null with the reason where it has no meaning.

    Args:
        items: Item scores, by `schemas.ITEM_SCORES`.
        prefixed: The same after prefixes, which `framing` names; of the items that were asked.
        resampling: How intervals are computed.
    """
    rows = []
    for (questionnaire, model, configuration), own in items.groupby(OF_MODEL, sort=True):
        here = {"benchmark": questionnaire, "part": WHOLE, "model": named(str(model), str(configuration))}
        bare = own.set_index("item")["score"]
        after = prefixed[prefixed["configuration"] == configuration]
        under = after.pivot(index="framing", columns="item", values="score") if len(after) else None
        rows += [{**here, **asdict(figure)} for figure in _figures(str(configuration), bare, under, resampling)]
    return pd.DataFrame(rows)


def _figures(
    configuration: str, bare: "pd.Series[float]", under: pd.DataFrame | None, resampling: Resampling
) -> list[Figure]:
    if configuration in LIKELIHOODS:
        return measurement.no_brittleness(NO_QUESTION, UNIT)
    if configuration != VERBALISER:
        return measurement.no_brittleness(NO_PROMPT, UNIT)
    if under is None:
        return measurement.no_brittleness(UNASKED, UNIT)
    return measurement.brittleness_figures(bare, under.reindex(columns=bare.index), resampling, UNIT)
