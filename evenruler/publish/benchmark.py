"""A benchmark: what its folder is made from, and how it is cited."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from evenruler.instruments.card import Card, Published
from evenruler.versions import Changelog, Release

PROJECT = "Even Ruler"

AUTHORS = "The Even Ruler developers"

URL: str | None = None
"""Of the repository, as pyproject.toml has it (`Repository` under `project.urls`); None as long as it has none."""

COMMIT = "COMMIT"
"""Stands for the commit: no file can hold the name of the commit that it is part of."""

LAST = ("variant", "framing", "source", "licence", "id", "content_sha256")
"""The columns that every published row carries, as they stand at the end of a table."""


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

    @property
    def bibtex(self) -> list[str]:
        """Entries of what is to be cited: the benchmark itself, with version and commit, then what it rests on."""
        fields = {
            "title": f"{{{_escaped(self.title)}}}",
            "author": f"{{{AUTHORS}}}",
            "howpublished": f"Benchmark data set {_escaped(self.name)}, built with {PROJECT}",
            "version": self.version,
            "note": f"Commit {COMMIT}",
            **({"year": str(self.release.date.year)} if self.release else {}),
            **({"url": URL} if URL else {}),
        }
        lines = ",\n".join(f"  {name} = {{{value}}}" for name, value in fields.items())
        return [f"@misc{{evenruler-{self.name},\n{lines}\n}}", *(entry.strip() for entry in self.citations)]

    @property
    def commit(self) -> str:
        """The command that prints the commit."""
        return f"git rev-parse {self.name}@v{self.version}^{{commit}}" if self.release else "git rev-parse HEAD"


def _escaped(text: str) -> str:
    """A text as BibTeX takes it."""
    return "".join(f"\\{character}" if character in "&%$#_" else character for character in text)
