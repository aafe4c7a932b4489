"""Prefixes for a benchmark's prompts, to test whether its figures reflect bias or the test
situation.
"""

from collections.abc import Callable, Mapping
from typing import Annotated, Any, Final

import pandas as pd
from pydantic import AfterValidator, Field, model_validator

from evenruler.instruments.instrument import ModelMeta, Plan
from evenruler.measurement.inputs import FEWEST_FOR_SPREAD
from evenruler.strict import StrictModel, Word
from evenruler.tables.frames import evenly_spread
from evenruler.text.spelling import find_duplicates

SALIENCE, INSTRUCTION = "salience", "instruction"
BOTH = f"{SALIENCE}+{INSTRUCTION}"

OTHER_START: Final = "other_start"
"""Key of a plan, not published: whether texts are asked again after another usual start token; by
default they are."""


def _require_enough_placebos(placebos: list[str]) -> list[str]:
    """The placebos unchanged; ValueError if they are fewer than `FEWEST_FOR_SPREAD`, but not none,
    or one is repeated.
    """
    if 0 < len(placebos) < FEWEST_FOR_SPREAD:
        raise ValueError(f"found {len(placebos)}, expected {FEWEST_FOR_SPREAD} at least, or none")
    if find_duplicates(placebos):
        raise ValueError("a placebo stands in it twice")
    return placebos


Placebos = Annotated[list[Word], AfterValidator(_require_enough_placebos)]
"""Sentences unrelated to a benchmark; what they change is what any prepended sentence does."""


class PrefixSettings(StrictModel):
    """Two cues that the prompt is a test, prepended singly and together, and placebo sentences."""

    salience: Word
    """A sentence that says what is tested."""
    instruction: Word
    """A sentence that says what to do."""
    placebos: Placebos = Field(default_factory=list)
    """Sentences of similar length."""

    @model_validator(mode="after")
    def _require_distinct_prefixes(self) -> "PrefixSettings":
        """ValueError if two of the cues and placebos are the same to a reader."""
        if find_duplicates([self.salience, self.instruction]):
            raise ValueError(f"salience and instruction are the same, {self.salience!r}")
        if find_duplicates([self.salience, self.instruction, *self.placebos]):
            raise ValueError("a placebo stands in it twice, or is one of the cues")
        return self

    @property
    def placebo_names(self) -> list[str]:
        """Names of the placebos among the prefixes."""
        return [f"placebo-{place}" for place in range(1, len(self.placebos) + 1)]

    @property
    def prefixes(self) -> dict[str, str]:
        """Prefix text by framing."""
        return {
            SALIENCE: self.salience,
            INSTRUCTION: self.instruction,
            BOTH: f"{self.salience} {self.instruction}",
            **dict(zip(self.placebo_names, self.placebos, strict=True)),
        }

    @property
    def in_words(self) -> str:
        """The prefixes in words, for a card."""
        cues_in_words = f'"{self.salience}" and "{self.instruction}", each alone and both'
        placebos = ", ".join(f'"{placebo}"' for placebo in self.placebos)
        return f"{cues_in_words}; and as placebos {placebos}" if placebos else cues_in_words


def after_prefixes(
    rows: pd.DataFrame,
    unit: str,
    plan: Plan,
    identify: Callable[[Mapping[Any, Any], str], str],
) -> pd.DataFrame:
    """Published rows of some evenly spaced units under every prefix; empty if the plan asks for
    none.

    `unit`: the column of units; the plan has their number (`prefixed`) and the `prefixes` by name;
    `identify` gives the id of a row under a prefix. The rows get new ids, the prefix name as
    `framing` and its text as `before`. They are derived, so that no row is published twice.
    """
    if not plan["prefixed"] or not plan["prefixes"] or rows.empty:
        return rows.head(0).assign(before="")
    chosen_units = evenly_spread(sorted(set(rows[unit])), plan["prefixed"])
    chosen = rows[rows[unit].isin(chosen_units)]
    prefixed_frames: list[pd.DataFrame] = []
    for name, before in plan["prefixes"].items():
        ids = [identify(row, name) for row in chosen.to_dict("records")]
        prefixed_frames.append(chosen.assign(id=ids, framing=name, before=before))
    return pd.concat(prefixed_frames, ignore_index=True)


def asks_other_start(subject: ModelMeta, plan: Plan) -> bool:
    """Whether texts are asked again after another usual start token: of a local model, unless a
    plan says not to.
    """
    return subject.kind == "causal" and bool(plan.get(OTHER_START, True))


def no_other_start(subject: ModelMeta, plan: Plan) -> str:
    """Why nothing was asked of a model after another usual start token."""
    if not plan.get(OTHER_START, True):
        return "its plan asks no text after another start token"
    if subject.kind == "recorded":
        return "recorded answers are to texts after one start token"
    if subject.kind == "masked":
        return "a masked model reads a text from both sides"
    if subject.kind != "causal":
        return "which start token stands before a text, a server decides"
    return "the model has one usual start token"
