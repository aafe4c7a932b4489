"""Sentences after prefixes, for brittleness: derived from those as they are, so that none is published twice."""

import pandas as pd

from evenruler.instruments.instrument import Plan
from evenruler.instruments.probes.schemas import sentence_id
from evenruler.tables.units import evenly_spread


def after_prefixes(probes: pd.DataFrame, plan: Plan) -> pd.DataFrame:
    """The sentences of some attributes after every prefix; the sentence itself is the same.

    Args:
        probes: By `schemas.PROBES`.
        plan: How many attributes (`prefixed`), and the prefixes.

    Returns:
        As `probes`, with ids of their own, the name of the prefix as `framing`, and `before`: what stands before.
    """
    units = evenly_spread(sorted(set(probes["attribute"])), plan["prefixed"]) if plan["prefixed"] else []
    chosen = probes[probes["attribute"].isin(units)]
    rows = [
        {**row, "id": sentence_id(plan["name"], row, prefix), "framing": prefix, "before": before}
        for prefix, before in plan["prefixes"].items()
        for row in chosen.to_dict("records")
    ]
    return pd.DataFrame(rows, columns=[*probes.columns, "before"])
