"""What a benchmark folder is made from."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from evenruler.instruments.card import Card, Published
from evenruler.versions import Changelog, Release

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
class Config(Published):
    """One table of a benchmark, with its rows."""

    table: pa.Table = field(kw_only=True)

    @property
    def as_read(self) -> pa.Table:
        """The table in the order of a reader: the columns of `first`, its others, then what every table has."""
        first = [name for name in self.first if name in self.table.column_names]
        last = [name for name in LAST if name in self.table.column_names and name not in first]
        others = [name for name in self.table.column_names if name not in {*first, *last}]
        return self.table.select([*first, *others, *last])


@dataclass(frozen=True, kw_only=True)
class Benchmark(Card):
    """All that a benchmark folder is made from: what its card says, and the rest."""

    name: str
    title: str
    version: str
    language: str
    construct: str
    warning: str | None
    citations: list[str]
    """BibTeX."""
    configs: Sequence[Config]
    n_rejected: int
    plan: Mapping[str, Any]
    """What is asked of its rows, for `plan.json`."""
    evidence: Mapping[str, Any]
    """Figures of quality by part (a set of templates, a subscale), model and figure."""
    models: Mapping[str, str]
    """Where the models of the evidence come from."""
    command: str
    """What rebuilds it."""
    changelog: Changelog
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
