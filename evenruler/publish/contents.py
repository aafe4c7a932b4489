"""What a benchmark folder is made from."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from evenruler.versions import Changelog, Release

if TYPE_CHECKING:
    from evenruler.instruments.card import Example, Paper, Responsible

HERE = "."
"""Where a benchmark lies until it is published: in its own folder, wherever that is."""

NO_TAG = " No tag names this version yet, so that there is no `revision` to give."
"""What the card of a version that is not released says of loading it."""

LAST = ("variant", "framing", "source", "licence", "id", "content_sha256")
"""The columns that every published row carries, as they stand at the end of a table."""

PROVENANCE = frozenset(
    ("source", "licence", "title", "url", "page_id", "revision_id", "language", "criterion_label", "wording", "reason")
)
"""Columns that say where a row is from and why it is there; all others are what is asked or what answers are held
against."""


@dataclass(frozen=True)
class Config:
    """One table of a benchmark."""

    name: str
    what: str
    """What one row is, for the card."""
    table: pa.Table
    described: Mapping[str, str] = field(default_factory=dict)
    """What the columns hold, for the card."""
    first: Sequence[str] = ()
    """The columns that people read."""

    @property
    def as_read(self) -> pa.Table:
        """The table in the order of a reader: the columns of `first`, its others, then what every table has."""
        first = [name for name in self.first if name in self.table.column_names]
        last = [name for name in LAST if name in self.table.column_names and name not in first]
        others = [name for name in self.table.column_names if name not in {*first, *last}]
        return self.table.select([*first, *others, *last])


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
    example: "Example | None" = None
    """A row of the first config."""
    papers: Sequence["Paper"] = ()
    """Whose method it is."""
    responsible: "Responsible | None" = None
    """What it says about its use."""
    validity: Mapping[str, str] = field(default_factory=dict)
    """What was done for each recommendation of the checklist, in its order."""
    checklist: "Paper | None" = None
    """Whose recommendations these are."""
    withheld: str | None = None
    """How to get text of others that is not in the rows, or not in git."""
    of_others: bool = False
    """Whether its rows hold text that others wrote, so that no package brings them."""

    @property
    def release(self) -> Release | None:
        """Of this version; None before there is one."""
        return self.changelog.releases.get(self.version)

    @property
    def tables(self) -> dict[str, pa.Table]:
        """By config, columns in the order of a reader."""
        return {config.name: config.as_read for config in self.configs}

    def distinct(self, column: str) -> list[str]:
        """Every value of a column over all tables, sorted."""
        return sorted({value for table in self.tables.values() for value in table.column(column).unique().to_pylist()})


def data_file(config: str) -> str:
    """Where the rows of a config lie in a benchmark folder."""
    return f"{config}/test-00000-of-00001.parquet"
