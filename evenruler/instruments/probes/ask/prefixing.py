"""Sentences after prefixes, for brittleness."""

import pandas as pd

from evenruler.instruments import prefixes
from evenruler.instruments.instrument import Plan
from evenruler.instruments.probes.schemas import sentence_id


def after_prefixes(probes: pd.DataFrame, plan: Plan) -> pd.DataFrame:
    """The sentences of some attributes after every prefix, by `prefixes.after_prefixes`; the sentence is the same.

    Args:
        probes: By `schemas.PROBES`.
        plan: Of their instrument.
    """
    return prefixes.after_prefixes(
        probes, "attribute", plan, lambda row, prefix: sentence_id(plan["name"], dict(row), prefix)
    )
