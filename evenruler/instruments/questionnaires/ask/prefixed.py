"""Prompts of which the question to a causal model stands after a prefix."""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from evenruler.instruments.questionnaires.declare.identity import prompt_id
from evenruler.tables import evenly_spread


def prefixed_rows(prompts: pd.DataFrame, plan: Mapping[str, Any]) -> pd.DataFrame:
    """The prompts after every prefix, of the items that the plan asks for; no row where it asks for none.

    Args:
        prompts: By `schemas.PROMPTS`.
        plan: `prefixes`, and how many items (`prefixed`) they are put before.

    Returns:
        As prompts, with ids of their own; `framing` names the prefix, `before` holds it.
    """
    chosen = evenly_spread(sorted(set(prompts["item"])), plan["prefixed"]) if plan["prefixed"] else []
    rows = prompts[prompts["item"].isin(chosen)]
    found = [
        rows.assign(id=[_id(row, name) for row in rows.to_dict("records")], framing=name, before=text)
        for name, text in plan["prefixes"].items()
    ]
    return pd.concat(found, ignore_index=True) if found else prompts.head(0).assign(before="")


def _id(row: Mapping[Any, Any], prefix: str) -> str:
    return prompt_id(row["questionnaire"], row["item"], row["term"], row["intensifier"], prefix)
