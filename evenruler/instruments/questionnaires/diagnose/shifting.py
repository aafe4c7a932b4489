"""How far item scores move when something stands before the verbaliser's question, beside placebos of like length."""

from collections.abc import Collection
from dataclasses import asdict

import pandas as pd

from evenruler.instruments.questionnaires.diagnose.population import OF_MODEL
from evenruler.measurement.shifts import UNASKED, of_prefixes, shift_figures
from evenruler.models.entry import LIKELIHOODS, VERBALISER, named
from evenruler.tables.schemas import WHOLE

UNIT = "items"
"""What observations are."""

NO_PROMPT = "a framing has no meaning for a model that reads premise and hypothesis alone"
NO_QUESTION = "framings stand before the question of the verbaliser, which this form does not ask"


def of_model(items: pd.DataFrame, prefixed: pd.DataFrame, placebos: Collection[str], level: float) -> pd.DataFrame:
    """Shifts of one questionnaire on one model, by form; null with the reason where they have no meaning.

    Args:
        items: Item scores, by `schemas.ITEM_SCORES`.
        prefixed: The same after prefixes, which `framing` names; of the items that were asked.
        placebos: Which of the prefixes are.
        level: Of intervals.
    """
    rows = []
    for (questionnaire, model, configuration), own in items.groupby(OF_MODEL, sort=True):
        here = {"benchmark": questionnaire, "part": WHOLE, "model": named(str(model), str(configuration))}
        after = prefixed[prefixed["configuration"] == configuration]
        by_prefix = {str(prefix): of.set_index("item")["score"] for prefix, of in after.groupby("framing")}
        found = of_prefixes(own.set_index("item")["score"], by_prefix, placebos)
        figures = shift_figures(found, level, UNIT, _lacking(str(configuration), asked=bool(by_prefix)))
        rows += [{**here, **asdict(figure)} for figure in figures]
    return pd.DataFrame(rows)


def _lacking(configuration: str, *, asked: bool) -> str | None:
    """Why nothing was asked after prefixes in a form."""
    if configuration in LIKELIHOODS:
        return NO_QUESTION
    if configuration != VERBALISER:
        return NO_PROMPT
    return None if asked else UNASKED
