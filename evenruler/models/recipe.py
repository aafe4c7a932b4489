"""What small models of ours are fitted on, and how: labelled data sets and the recipe of an adapter."""

import re
from typing import Literal

from pydantic import Field, field_validator, model_validator

from evenruler.strict import Seed, Slug, Strict, Text, at_home

NLI_LABELS = ("entailment", "neutral", "contradiction")


class TrainingData(Strict):
    """A labelled data set: one text a row, or two."""

    source: Text
    """`hub:org/name`, or `local:path` of a Parquet, JSON Lines or CSV file."""
    revision: Text | None = None
    """The commit of a Hub data set."""
    config: Text | None = None
    split: Text | None = None
    columns: list[Text] = Field(default=["premise", "hypothesis"], min_length=1, max_length=2)
    """Where the text stands, or the two texts."""
    label: Text = "label"
    """The column of the label."""
    labels: list[Text] = Field(default=list(NLI_LABELS), min_length=2)
    """All labels; where the column holds numbers, in their order."""
    licence: Text
    origin: Text

    @field_validator("labels")
    @classmethod
    def _distinct(cls, labels: list[str]) -> list[str]:
        if len(set(labels)) < len(labels):
            raise ValueError(f"found {labels}, expected each label once")
        return labels

    @model_validator(mode="after")
    def _reachable(self) -> "TrainingData":
        scheme, _, rest = self.source.partition(":")
        if scheme not in ("hub", "local") or not rest:
            raise ValueError(f"source is {self.source!r}, expected hub:org/name or local:path")
        if scheme == "local":
            at_home(rest)
        if scheme == "hub" and (not re.fullmatch("[0-9a-f]{40}", self.revision or "") or self.split is None):
            raise ValueError("a Hub data set needs `revision` (a commit of 40 hex digits) and `split`")
        return self


class Finetune(Strict):
    """How an encoder gets a head: what it is fitted on, and what of it is fitted."""

    data: list[Slug] = Field(min_length=1)
    """Data sets of `training`, put together."""
    validation: Slug
    """The data set that accuracy is measured on. If it is among `data`, `held_out` of its rows are kept apart."""
    held_out: int = Field(default=2000, ge=1)
    """Rows to measure accuracy on; all rows of a text stay on one side."""
    half: Literal[1, 2] | None = None
    """Fit on one half of the data; by default on all."""
    fit: Literal["adapter", "head", "whole"] = "adapter"
    """`adapter`: low-rank changes of every layer, and the head; `head`: the base stays frozen; `whole`: everything
    (the result is as large as the encoder and stays out of git)."""
    rank: int = Field(default=32, ge=1)
    """Of the adapter."""
    epochs: int = Field(default=3, ge=1)
    learning_rate: float = Field(default=5e-5, gt=0, allow_inf_nan=False)
    batch: int = Field(default=32, ge=1)
    seed: Seed = 0
    bar: float = Field(default=0.7, ge=0, le=1)
    """Accuracy below which its card marks the model."""
