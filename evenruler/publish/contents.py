"""What a benchmark folder is made from."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from evenruler.publish.versions import Changelog

HERE = "."
"""Where a benchmark lies until it is published: in its own folder, wherever that is."""


@dataclass(frozen=True)
class Config:
    """One table of a benchmark."""

    name: str
    what: str
    """What one row is, for the card."""
    table: pa.Table
    described: Mapping[str, str] = field(default_factory=dict)
    """What the columns hold, for the card."""


@dataclass(frozen=True)
class Quality:
    """A figure of quality that the card shows."""

    figure: str
    heading: str
    meaning: str
    decimals: int = 2


@dataclass(frozen=True)
class Benchmark:
    """All that a benchmark folder is made from."""

    name: str
    title: str
    version: str
    language: str
    task_categories: list[str]
    """Names that the Hub knows."""
    tags: list[str]
    construct: str
    warning: str | None
    reading: str
    """How a score is read, its direction in words."""
    limits: list[str]
    """What it does not show, a sentence each."""
    citations: list[str]
    """BibTeX."""
    configs: list[Config]
    """The first is the default."""
    n_rejected: int
    parameters: Mapping[str, Any]
    """What it was built with."""
    plan: Mapping[str, Any]
    """What is asked of its rows, for `plan.json`."""
    quality: list[Quality]
    """Of each model."""
    listed: list[Quality]
    """Of each model, a row each below the others."""
    quality_of_any: list[Quality]
    """That do not depend on a model."""
    compared: list[Quality]
    """What is shown of a part beside others (`compared` in the evidence of a model)."""
    evidence: Mapping[str, Any]
    """Figures of quality by part (a set of templates, a subscale), model and figure."""
    models: Mapping[str, str]
    """Where the models of the evidence come from."""
    command: str
    """What rebuilds it."""
    harness: Mapping[str, str]
    """The files of `lm_eval/`."""
    harness_task: str | None
    """The task (or group) that runs all of them; None where there are none."""
    changelog: Changelog

    @property
    def tables(self) -> dict[str, pa.Table]:
        """By config."""
        return {config.name: config.table for config in self.configs}

    def distinct(self, column: str) -> list[str]:
        """Every value of a column over all tables, sorted."""
        return sorted({value for table in self.tables.values() for value in table.column(column).unique().to_pylist()})


def data_file(config: str) -> str:
    """Where the rows of a config lie in a benchmark folder."""
    return f"{config}/test-00000-of-00001.parquet"
