"""What the figures of a contrast are made of: a number a stimulus."""

import pandas as pd

from evenruler.instruments.framing.ask import READS
from evenruler.instruments.instrument import Record
from evenruler.tables import rows_of
from evenruler.tables.schemas import UNITS


def units(record: Record) -> pd.DataFrame:
    """The effect of every cue on every stimulus, mean over the tasks that have the cue.

    Args:
        record: Of one contrast on one model.

    Returns:
        By `tables.schemas.UNITS`, of `effect: FACTOR`; none where no effect could be measured.
    """
    effects = record.found["effects"]
    effects = effects[effects["placebo"] == 0]
    if effects.empty:
        return pd.DataFrame(columns=UNITS.names)
    by = ["configuration", "metric", "factor", "stimulus"]
    found = effects.groupby(by)["apd"].mean().reset_index(name="value")
    rows = rows_of(record.tables["prompts"].filter(READS["prompts"]), ["stimulus"])
    told: pd.DataFrame = found.assign(
        part=found["configuration"] + ", " + found["metric"],
        model=record.subject.name,
        figure="effect: " + found["factor"],
        statistic="mean",
        unit=found["stimulus"],
        rows=found["stimulus"].map(rows),
        beside=float("nan"),
    )[UNITS.names]
    return told
