"""What the figures of a questionnaire are made of: a number an item."""

import pandas as pd

from evenruler.instruments.instrument import Record
from evenruler.instruments.questionnaires.ask import READS
from evenruler.instruments.questionnaires.declare.headings import BEYOND
from evenruler.instruments.questionnaires.diagnose.population import called
from evenruler.instruments.questionnaires.diagnose.twins import paired_answers
from evenruler.tables import rows_of
from evenruler.tables.schemas import UNITS, WHOLE


def units(record: Record) -> pd.DataFrame:
    """The answer to every item, on the scale itself, and how much it is beyond that to the item's twin.

    Args:
        record: Of one questionnaire on one model.

    Returns:
        By `tables.schemas.UNITS`, of `answer` and `BEYOND`; none where the model gave no answer.
    """
    items, prompts = record.found["items"], record.tables["prompts"]
    if items.empty:
        return pd.DataFrame(columns=UNITS.names)
    intensifiers = prompts["intensifier"].nunique()
    pairs = paired_answers(items, record.found["twins"], intensifiers)
    answers = _units(items, "answer", items["score"] * intensifiers, prompts[~prompts["twin"]])
    beyond = _units(pairs, BEYOND, pairs["own"] - pairs["twin"], prompts)
    return pd.concat([answers, beyond], ignore_index=True)


def _units(items: pd.DataFrame, figure: str, values: "pd.Series[float]", prompts: pd.DataFrame) -> pd.DataFrame:
    """Values of one figure by item, with what of the published rows they rest on."""
    found: pd.DataFrame = pd.DataFrame(
        {
            "part": WHOLE,
            "model": called(items),
            "figure": figure,
            "statistic": "mean",
            "unit": items["item"],
            "rows": items["item"].map(rows_of(prompts.filter(READS["prompts"]), ["item"])),
            "value": values,
            "beside": float("nan"),
        }
    )
    told: pd.DataFrame = found[UNITS.names]
    return told
