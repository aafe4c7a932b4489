"""What the prompts of a benchmark are wrapped in, to see whether its figures are of the bias or of the task."""

from collections.abc import Callable, Mapping
from typing import Any

import pandas as pd
from pydantic import field_validator, model_validator

from evenruler.strict import Strict, Text
from evenruler.tables.units import evenly_spread

SALIENCE, INSTRUCTION = "salience", "instruction"
BOTH = f"{SALIENCE}+{INSTRUCTION}"


class Framings(Strict):
    """Two cues that a prompt is a test, put before it: each alone, and both."""

    salience: Text
    """A sentence that says what is tested."""
    instruction: Text
    """A sentence that says what to do."""

    @field_validator("salience", "instruction")
    @classmethod
    def _without_slots(cls, text: str) -> str:
        if "{" in text or "}" in text:
            raise ValueError(f"{text!r} holds a brace; the same words stand before every prompt")
        return text

    @model_validator(mode="after")
    def _distinct(self) -> "Framings":
        if self.salience.lower() == self.instruction.lower():
            raise ValueError(f"salience and instruction are the same, {self.salience!r}")
        return self

    @property
    def prefixes(self) -> dict[str, str]:
        """What stands before a prompt, by framing."""
        return {
            SALIENCE: self.salience,
            INSTRUCTION: self.instruction,
            BOTH: f"{self.salience} {self.instruction}",
        }

    @property
    def in_words(self) -> str:
        """What stands before prompts, for a card."""
        return f'"{self.salience}" and "{self.instruction}", each alone and both'


def after_prefixes(
    rows: pd.DataFrame, unit: str, plan: Mapping[str, Any], identify: Callable[[Mapping[Any, Any], str], str]
) -> pd.DataFrame:
    """Rows as they stand after every prefix, of some units evenly spread; derived, so that none is published twice.

    Args:
        rows: As they are published.
        unit: The column of the units.
        plan: How many units (`prefixed`), and the `prefixes` by name.
        identify: The id of a row after the prefix of a name.

    Returns:
        As `rows`, with ids of their own, the name of the prefix as `framing`, and `before`: what stands before. No row
        where the plan asks for none.
    """
    if not plan["prefixed"] or not plan["prefixes"] or rows.empty:
        return rows.head(0).assign(before="")
    chosen = rows[rows[unit].isin(evenly_spread(sorted(set(rows[unit])), plan["prefixed"]))]
    found = [
        chosen.assign(id=[identify(row, name) for row in chosen.to_dict("records")], framing=name, before=before)
        for name, before in plan["prefixes"].items()
    ]
    return pd.concat(found, ignore_index=True)
