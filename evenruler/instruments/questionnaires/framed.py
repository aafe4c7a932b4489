"""Brittleness of questionnaires: how far item scores move when something stands before the verbaliser's question."""

from collections.abc import Mapping
from dataclasses import asdict

import pandas as pd

from evenruler import measurement
from evenruler.instruments.questionnaires.item_scores import Settings, score_items
from evenruler.instruments.questionnaires.population import WHOLE
from evenruler.measurement import Figure, Resampling
from evenruler.models.entry import LIKELIHOODS, VERBALISER, named
from evenruler.tables import asked_units

UNIT = "items"
"""What observations are."""

NO_PROMPT = "a framing has no meaning for a model that reads premise and hypothesis alone"
NO_QUESTION = "framings stand before the question of the verbaliser, which this form does not ask"
UNASKED = "no items were asked after a framing"

OF_MODEL = ["questionnaire", "model", "configuration"]


def framed_scores(
    framed: pd.DataFrame, items: pd.DataFrame, scores: pd.DataFrame, settings: Mapping[str, Settings]
) -> dict[tuple[str, str], pd.DataFrame]:
    """Item scores under framings of the models that are asked by verbaliser, by questionnaire and model.

    Args:
        framed: By `schemas.FRAMED`.
        items: Items, with a column `questionnaire`.
        scores: Answers to bare and framed prompts.
        settings: By questionnaire.

    Returns:
        [framings, items] scores of the items that were asked.

    Raises:
        ValueError: A model was asked for no framed prompt of a questionnaire that has some, or for an item in part.
    """
    found = {}
    for model, own in scores[scores["configuration"] == VERBALISER].groupby("model"):
        for questionnaire, rows in framed.groupby("questionnaire"):
            asked = asked_units(rows, "item", own["id"], str(model), f"framed prompts of {questionnaire}")
            of_items = items[(items["questionnaire"] == questionnaire) & items["item"].isin(rows.loc[asked, "item"])]
            under = [
                score_items(prompts, of_items, own[own["id"].isin(prompts["id"])], settings)
                for _, prompts in rows[asked].groupby("framing", sort=True)
            ]
            table = pd.concat(under).pivot(index="framing", columns="item", values="score")
            found[str(questionnaire), str(model)] = table
    return found


def of_models(
    items: pd.DataFrame, framed: Mapping[tuple[str, str], pd.DataFrame], resampling: Resampling
) -> pd.DataFrame:
    """Brittleness of every questionnaire on every model and form; null with the reason where it has no meaning.

    Args:
        items: Item scores without a framing, by `schemas.ITEM_SCORES`.
        framed: By `framed_scores`.
        resampling: How intervals are computed.
    """
    rows = []
    for (questionnaire, model, configuration), of_model in items.groupby(OF_MODEL, sort=True):
        here = {"benchmark": questionnaire, "subscale": WHOLE, "model": named(str(model), str(configuration))}
        under = framed.get((str(questionnaire), str(model))) if configuration == VERBALISER else None
        bare = of_model.set_index("item")["score"]
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
