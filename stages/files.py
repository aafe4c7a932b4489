"""Where everything lies, and how it is read."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path

import pandas as pd
import pyarrow as pa

from evenruler.declared import Declared
from evenruler.files import replace
from evenruler.instruments.instrument import Declaration, Plan, Subject, Tables
from evenruler.instruments.registry import room
from evenruler.tables import read_frame, read_table

BUILT, ANSWERS, DIAGNOSIS = Path("data/built"), Path("data/answers"), Path("data/diagnosis")
SOURCES, REPORT, BENCHMARKS = Path("data/sources"), Path("data/report"), Path("benchmarks")

SOURCE, PLAN, SUBJECT = "source.yaml", "plan.json", "subject.json"
TABLES, EVIDENCE, METRICS, PLOTS = "tables", "evidence", "metrics.json", "plots"
"""In the folder of a family's diagnosis."""


def declaration(params: Declared, name: str) -> Declaration:
    """An instrument in use: its settings, its source, and the tables that lie beside a source that a stage made.

    Raises:
        UserError: Something that users wrote is wrong.
    """
    entry = params.active.instruments[name]
    path, settings = Path(entry.source), params.settings(name)
    made = {file.stem: read_table(file) for file in sorted(path.glob("*.parquet"))}
    written = path / SOURCE if path.is_dir() else path
    source = room(entry.family, "declare").load(written, settings, SOURCES / entry.family / "shared")
    return Declaration(name, entry.family, settings, source, made)


def built_tables(family: str, name: str) -> dict[str, pa.Table]:
    """The tables of an instrument."""
    return {path.stem: read_table(path) for path in sorted((BUILT / family / name).glob("*.parquet"))}


class BuiltFrames(Mapping[str, pd.DataFrame]):
    """The tables of an instrument as frames, each read when it is asked for."""

    def __init__(self, family: str, name: str) -> None:
        """Say whose."""
        self._paths = {path.stem: path for path in sorted((BUILT / family / name).glob("*.parquet"))}

    def __getitem__(self, table: str) -> pd.DataFrame:
        return read_frame(self._paths[table])

    def __iter__(self) -> Iterator[str]:
        return iter(self._paths)

    def __len__(self) -> int:
        return len(self._paths)


def frames(family: str, name: str) -> Tables:
    """The tables of an instrument as frames, all read."""
    return dict(BuiltFrames(family, name))


def plan_of(family: str, name: str) -> Plan:
    """What is asked of an instrument."""
    found: Plan = json.loads((BUILT / family / name / PLAN).read_text(encoding="utf-8"))
    return found


def write_json(content: object, path: Path) -> None:
    """The same bytes for the same content."""
    path.parent.mkdir(parents=True, exist_ok=True)
    replace(path, json.dumps(content, indent=2, sort_keys=True, ensure_ascii=False, allow_nan=False) + "\n")


def write_subject(subject: Subject, folder: Path) -> None:
    """Who was asked, beside the answers."""
    write_json({**asdict(subject), "operations": sorted(subject.operations)}, folder / SUBJECT)


def read_subject(folder: Path) -> Subject:
    """Who gave the answers in a folder."""
    content = json.loads((folder / SUBJECT).read_text(encoding="utf-8"))
    lists = {"operations": frozenset(content["operations"]), "forms": tuple(content["forms"])}
    return Subject(**{**content, **lists})
