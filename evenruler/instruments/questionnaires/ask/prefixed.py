"""Prompts of which the question to a causal model stands after a prefix."""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from evenruler.instruments import prefixes
from evenruler.instruments.questionnaires.declare.identity import prompt_id


def prefixed_rows(prompts: pd.DataFrame, plan: Mapping[str, Any]) -> pd.DataFrame:
    """The prompts of some items after every prefix, by `prefixes.after_prefixes`.

    Args:
        prompts: By `schemas.PROMPTS`.
        plan: Of their questionnaire.
    """

    def identify(row: Mapping[Any, Any], prefix: str) -> str:
        return prompt_id(row["questionnaire"], row["item"], row["term"], row["intensifier"], prefix)

    return prefixes.after_prefixes(prompts, "item", plan, identify)
