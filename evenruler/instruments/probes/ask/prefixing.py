"""Sentences after prefixes: cues, an instruction, and placebos."""

import pandas as pd

from evenruler.instruments import prefixes
from evenruler.instruments.instrument import Plan
from evenruler.instruments.probes.schemas import sentence_id
from evenruler.tables import evenly_spread


def after_prefixes(probes: pd.DataFrame, plan: Plan) -> pd.DataFrame:
    """The sentences of some attributes, templates and targets after every prefix, by `prefixes.after_prefixes`.

    Args:
        probes: By `schemas.PROBES`.
        plan: Of their instrument.

    Returns:
        As there, with `bare_id`: the same sentence without prefix.
    """
    chosen = probes[~probes["control"]].assign(bare_id=lambda rows: rows["id"])
    chosen = _few(chosen, ["set"], "template", plan["prefixed_templates"])
    chosen = _few(chosen, ["set", "group"], "target", plan["prefixed_targets"])
    return prefixes.after_prefixes(
        chosen, "attribute", plan, lambda row, prefix: sentence_id(plan["name"], dict(row), prefix)
    )


def _few(rows: pd.DataFrame, within: list[str], column: str, most: int) -> pd.DataFrame:
    """Rows of at most so many values of a column within others, evenly spread."""
    kept = [own[own[column].isin(evenly_spread(sorted(set(own[column])), most))] for _, own in rows.groupby(within)]
    return pd.concat([rows.head(0), *kept]) if kept else rows
