"""Paths of the pipeline's files, and functions that read and write them."""

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, TypedDict

import pandas as pd

from evenruler.declaration.params_file import ParamsFile
from evenruler.declaration.profiles import folder_in_use
from evenruler.errors import UserError
from evenruler.files import write_text_atomically
from evenruler.instruments.instrument import (
    AnyDeclaration,
    Declaration,
    Evidence,
    ModelMeta,
    Plan,
    Tables,
    plan_at_size,
)
from evenruler.instruments.registry import family_module
from evenruler.tables import read_frame, read_table
from evenruler.tables.frames import RESTORE

PIPELINE = folder_in_use()
"""The folder of the pipeline whose stage runs, seen from the top: outputs lie in it, sources at the
top."""

BUILT, ANSWERS, DIAGNOSIS = (
    PIPELINE / "data/built",
    PIPELINE / "data/answers",
    PIPELINE / "data/diagnosis",
)
AGREED = PIPELINE / "data/agreement/agreement.parquet"
SOURCES, REPORT, BENCHMARKS = (
    Path("data/sources"),
    PIPELINE / "data/report",
    PIPELINE / "benchmarks",
)

RECORDED = Path("data/recorded/release.json")
"""Described in `evenruler.models.replay`."""
KNOWN = Path("data/sources/external/shared/known.csv")
"""Written by `docs/known.py`: what published answers say of models that people know."""
PLANTED = Path("data/weights/figures.csv")
"""Written by `evenruler.evaluate.weigh`."""

SOURCE, PLAN, SUBJECT = "source.yaml", "plan.json", "model_meta.json"
TABLES, EVIDENCE, METRICS, PLOTS = "tables", "evidence", "metrics.json", "tables/plots"
"""Names in the folder of a family's diagnosis."""


def path_from_top(path: str) -> Path:
    """A path of `active.yaml`, which starts from the folder of its pipeline, seen from the top."""
    return Path(os.path.normpath(PIPELINE / path))


def read_declaration(params: ParamsFile, name: str) -> AnyDeclaration:
    """An instrument in use: settings, source, and the tables next to a generated source; UserError
    if missing.
    """
    entry = params.active.entry("instruments", name)
    path, settings = path_from_top(entry.source), params.settings(name)
    tables = {file.stem: read_table(file) for file in sorted(path.glob("*.parquet"))}
    written = path
    if name in params.active.scrape or name in params.active.evolve:
        written = path / SOURCE
        _require_built(written)
    source = family_module(entry.family, "declare").load(
        written, settings, SOURCES / entry.family / "shared"
    )
    if settings.source_of:  # its source has the title of another instrument
        source = source.model_copy(update={"title": f"{source.title} ({name})"})
    return Declaration(name, entry.family, settings, source, tables, sizes=params.sizes(name))


class LazyTables(Mapping[str, pd.DataFrame]):
    """The tables of an instrument as frames, each read on first access."""

    def __init__(self, family: str, name: str) -> None:
        """The tables of one instrument in the folder of built rows; lists the files, reads none."""
        self._paths = {
            path.stem: path for path in sorted((BUILT / family / name).glob("*.parquet"))
        }

    def __getitem__(self, table: str) -> pd.DataFrame:
        """One table, read from its file once more at every access; KeyError if there is no such
        table.
        """
        return read_frame(self._paths[table])

    def __iter__(self) -> Iterator[str]:
        return iter(self._paths)

    def __len__(self) -> int:
        return len(self._paths)


def read_tables(family: str, name: str) -> Tables:
    """The tables of an instrument as frames, all read."""
    return dict(LazyTables(family, name))


def plan_of(family: str, name: str) -> Plan:
    """The plan of an instrument: what it asks."""
    plan: Plan = read_json(BUILT / family / name / PLAN)
    return plan


def read_tables_and_plans(family: str, names: Iterable[str]) -> dict[str, tuple[Tables, Plan]]:
    """Tables and plan of each instrument that the pipeline asks."""
    plans = {name: plan_at_size(plan_of(family, name)) for name in names}
    return {
        name: (read_tables(family, name), plan)
        for name, plan in plans.items()
        if plan.get("asked", True)
    }


class EvidenceFile(TypedDict):
    """Evidence from the diagnosis of an instrument."""

    models: dict[str, str]
    """Origins."""
    figures: Evidence


def evidence_of(family: str, name: str) -> EvidenceFile:
    """Evidence from the diagnosis of an instrument: origins of models, and figures."""
    evidence: EvidenceFile = read_json(DIAGNOSIS / family / EVIDENCE / f"{name}.json")
    return evidence


class ReleaseMetadata(TypedDict):
    """What of a release of recorded answers is shown; described in `evenruler.models.replay`."""

    release: str
    models: dict[str, Any]
    files: dict[str, dict[str, Any]]


def read_release_metadata() -> ReleaseMetadata:
    """Metadata of the release of recorded answers; an empty release where the repository has
    none.
    """
    if not RECORDED.exists():
        return {"release": "none", "models": {}, "files": {}}
    release: ReleaseMetadata = read_json(RECORDED)
    return release


def read_planted_results(benchmark: str) -> list[dict[str, Any]]:
    """Results on planted associations, from `evenruler planted test --record`: one record per
    headline and plant.
    """
    if not PLANTED.exists():
        return []
    rows = pd.read_csv(PLANTED)
    benchmark_rows = rows[rows["benchmark"] == benchmark].drop(columns="benchmark")
    plain_rows = benchmark_rows.astype(object).where(benchmark_rows.notna(), None)
    records: list[dict[str, Any]] = []
    for row in plain_rows.to_dict("records"):
        record = {str(key): value for key, value in row.items()}
        records.append({**record, "planted": json.loads(record["planted"])})
    return records


def read_json(path: Path) -> Any:
    """Read JSON that a stage wrote; UserError where there is no such file, or it is damaged."""
    _require_built(path)
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:  # also of bytes that are not UTF-8
        raise UserError(f"no readable JSON ({error})", where=str(path), remedy=RESTORE) from None


def _require_built(path: Path) -> None:
    """UserError, with the advice to run `make repro`, if no stage has written the path yet."""
    if not path.exists():
        raise UserError("not built yet", where=str(path), remedy="run `make repro`")


def write_json(content: object, path: Path, sort_keys: bool = True) -> None:
    """Write JSON atomically: the same bytes for the same content."""
    path.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(content, indent=2, sort_keys=sort_keys, ensure_ascii=False, allow_nan=False)
    write_text_atomically(path, f"{text}\n")


def write_model_meta(subject: ModelMeta, folder: Path) -> None:
    """Write who was asked, next to the answers."""
    write_json({**asdict(subject), "operations": sorted(subject.operations)}, folder / SUBJECT)


def read_model_meta(folder: Path) -> ModelMeta:
    """Read who gave the answers in a folder."""
    content = read_json(folder / SUBJECT)
    lists = {"operations": frozenset(content["operations"]), "methods": tuple(content["methods"])}
    return ModelMeta(**{**content, **lists})
