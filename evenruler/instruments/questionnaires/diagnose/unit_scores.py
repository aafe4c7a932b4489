"""What the figures of a questionnaire are made of: a number an item."""

import pandas as pd

from evenruler.instruments.instrument import Record
from evenruler.instruments.questionnaires.diagnose.population import WHOLE, called
from evenruler.tables import rows_of
from evenruler.tables.schemas import UNITS


def units(record: Record) -> pd.DataFrame:
    """The answer to every item, on the scale itself.

    Args:
        record: Of one questionnaire on one model.

    Returns:
        By `tables.schemas.UNITS`, of `answer`; none where the model gave no answer.
    """
    items, prompts = record.found["items"], record.tables["prompts"]
    if items.empty:
        return pd.DataFrame(columns=UNITS.names)
    found: pd.DataFrame = pd.DataFrame(
        {
            "part": WHOLE,
            "model": called(items),
            "figure": "answer",
            "statistic": "mean",
            "unit": items["item"],
            "rows": items["item"].map(rows_of(prompts, ["item"])),
            "value": items["score"] * prompts["intensifier"].nunique(),
            "beside": float("nan"),
        }
    )
    told: pd.DataFrame = found[UNITS.names]
    return told
