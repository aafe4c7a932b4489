"""Compares two versions of a benchmark: changes, the required version bump, reports as JSON and
Markdown.
"""

import re
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from evenruler.errors import UserError
from evenruler.files import jinja_environment
from evenruler.measurement.figures import figure_in_words, figure_name
from evenruler.publish import locate
from evenruler.publish.locate import open_place
from evenruler.publish.manifest import (
    KIND,
    PLAN,
    SCHEMA,
    data_file,
    identity_of,
    markdown_cell,
    read_manifest,
)
from evenruler.tables import contents
from evenruler.tables.frames import TOLERANCE, differing_rows, is_nearly_equal
from evenruler.tables.schemas import NUMBERS
from evenruler.versions import BUMPS, Bump, bump_version

SEE = "see `evenruler verify`"

PROVENANCE = frozenset(
    (
        "source",
        "licence",
        "title",
        "url",
        "page_id",
        "revision_id",
        "language",
        "criterion_label",
        "wording",
        "reason",
    )
)
"""Columns about the origin of a row; all others belong to what is asked or to what answers are
compared with."""


FigureRecord = Mapping[str, Any]


@dataclass(frozen=True)
class ConfigDifference:
    """What changed in the rows of one config; rows are matched by id."""

    config: str
    before: int | None
    """Number of rows; None if the config is new."""
    after: int | None
    """Number of rows; None if the config was removed."""
    added: int = 0
    removed: int = 0
    changed: int = 0
    recontented: int = 0
    """Changed rows with different content: a column outside `PROVENANCE` changed, or
    `content_sha256` changed as well (not all hashed content need be published). A row with only a
    new `content_sha256` counts as unchanged: its numbers differ by less than the tolerance."""
    by_column: dict[str, int] = field(default_factory=dict)
    columns_added: list[str] = field(default_factory=list)
    columns_removed: list[str] = field(default_factory=list)
    columns_retyped: list[str] = field(default_factory=list)
    examples: dict[str, list[str]] = field(default_factory=dict)
    """A few ids by kind: added, removed, changed."""

    def reasons(self) -> list[tuple[Bump, str]]:
        """Required bumps with reasons: major if old scores are not comparable, minor for additions,
        else patch.
        """
        name = self.config
        gone = self.columns_removed + self.columns_retyped
        moved = self.changed - self.recontented
        possible_reasons: list[tuple[Bump, object, str]] = [
            ("major", self.after is None, f"the config {name} is gone"),
            ("minor", self.before is None, f"the config {name} is new"),
            ("major", self.removed, f"{self.removed:,} rows of {name} are gone"),
            ("major", self.recontented, f"{self.recontented:,} rows of {name} say something else"),
            ("major", gone, f"columns of {name} are gone or of another type: {', '.join(gone)}"),
            ("minor", self.added, f"{self.added:,} rows of {name} are new"),
            (
                "minor",
                self.columns_added,
                f"columns of {name} are new: {', '.join(self.columns_added)}",
            ),
            ("patch", moved, f"{moved:,} rows of {name} have other provenance"),
        ]
        return [(bump, why) for bump, is_so, why in possible_reasons if is_so]


@dataclass(frozen=True)
class FigureDifference:
    """One quality figure before and after; None if it is absent."""

    figure: str
    before: FigureRecord | None
    after: FigureRecord | None
    differs: bool


@dataclass(frozen=True)
class VersionDifference:
    """All differences between two versions of a benchmark."""

    name: str
    before: str
    after: str
    configs: list[ConfigDifference]
    figures: list[FigureDifference]
    files: list[str]
    """Other files that were added, removed or changed; a different location alone does not
    count."""
    parameters: list[str]
    altered: list[str]
    """Folders whose content is not what their own manifest says."""

    @property
    def reasons(self) -> list[tuple[Bump, str]]:
        """All required bumps with reasons, largest first."""
        bump_reasons: list[tuple[Bump, str]] = []
        for config in self.configs:
            bump_reasons += config.reasons()
        figures = [figure for figure in self.figures if figure.differs]
        if figures:
            bump_reasons.append(("patch", f"{len(figures)} figures of quality differ"))
        bump_reasons += [("patch", f"the parameter {name} changed") for name in self.parameters]
        plan_reason: tuple[Bump, str] = ("major", f"{PLAN} changed: something else is asked")
        bump_reasons += [
            plan_reason if name == PLAN else ("patch", f"{name} changed") for name in self.files
        ]
        return sorted(bump_reasons, key=lambda reason: -BUMPS.index(reason[0]))

    @property
    def needs(self) -> Bump:
        """The smallest version bump that covers the changes."""
        reasons = self.reasons
        return reasons[0][0] if reasons else "none"

    @property
    def next_version(self) -> str:
        """The smallest version that the changed benchmark may have."""
        return bump_version(self.before, self.needs)


def compare(old: Path, new: Path, tolerance: float = TOLERANCE) -> VersionDifference:
    """Compare two folders of one benchmark; numbers, in rows and figures, are equal up to
    `tolerance`.
    """
    before, after = read_manifest(old), read_manifest(new)
    if before.name != after.name:
        what = f"{before.name} and {after.name} are two benchmarks, not two versions of one"
        raise UserError(what, where=str(new), remedy="name the same benchmark twice")
    configs: list[ConfigDifference] = []
    for name in before.rows | after.rows:
        old_folder = old if name in before.rows else None
        new_folder = new if name in after.rows else None
        configs.append(_compare_config(name, old_folder, new_folder, tolerance))
    old_figures, new_figures = _read_evidence(old), _read_evidence(new)
    altered: list[str] = []
    for folder, folder_manifest in ((old, before), (new, after)):
        declared_identity = folder_manifest.content_sha256
        identity = identity_of(folder, folder_manifest.rows, SEE)
        if declared_identity.startswith(KIND) and declared_identity != identity:
            altered.append(str(folder))
    figures: list[FigureDifference] = []
    for name in sorted(old_figures.keys() | new_figures.keys()):
        old_figure, new_figure = old_figures.get(name), new_figures.get(name)
        differs = has_figure_changed(old_figure, new_figure, tolerance)
        figures.append(FigureDifference(name, old_figure, new_figure, differs))
    tables = {data_file(config) for config in before.rows.keys() | after.rows.keys()}
    all_files = before.files.keys() | after.files.keys()
    files = [
        name
        for name in sorted(all_files - tables - {"evidence.json"})
        if _read_normalised_text(old, name) != _read_normalised_text(new, name)
    ]
    was, now = before.parameters, after.parameters
    parameters: list[str] = []
    for name in was | now:
        is_in_both = name in was and name in now
        if not is_in_both or was[name] != now[name]:
            parameters.append(name)
    return VersionDifference(
        name=after.name,
        before=before.version,
        after=after.version,
        configs=configs,
        figures=figures,
        files=files,
        parameters=sorted(parameters),
        altered=altered,
    )


def _compare_config(
    name: str, old: Path | None, new: Path | None, tolerance: float
) -> ConfigDifference:
    """Compare column by column, so that at most two columns are in memory."""
    path = data_file(name)
    if old is None or new is None:
        before = contents.schema_of(old / path, SEE)[1] if old else None
        after = contents.schema_of(new / path, SEE)[1] if new else None
        return ConfigDifference(name, before, after)
    old_schema, before = contents.schema_of(old / path, SEE)
    new_schema, after = contents.schema_of(new / path, SEE)
    old_ids = _read_ids(old, name, old_schema)
    new_ids = _read_ids(new, name, new_schema)
    place = pc.index_in(old_ids, value_set=new_ids)
    old_rows = pc.indices_nonzero(place.is_valid())
    new_rows = place.drop_null()
    removed = old_ids.filter(place.is_null())
    added = new_ids.filter(pc.index_in(new_ids, value_set=old_ids).is_null())
    del new_ids
    changed = np.zeros(len(old_rows), dtype=bool)
    has_new_content = np.zeros(len(old_rows), dtype=bool)
    hashes = np.zeros(len(old_rows), dtype=bool)
    by_column: dict[str, int] = {}
    shared = [column for column in old_schema.names if column in new_schema.names]
    retyped = [
        column
        for column in shared
        if old_schema.field(column).type != new_schema.field(column).type
    ]
    for column in shared:
        if column == "id" or column in retyped:
            continue
        was = _read_column(old, name, column).take(old_rows)
        now = _read_column(new, name, column).take(new_rows)
        apart = differing_rows(was, now, tolerance)
        if column == "content_sha256":
            hashes = apart
            continue
        count = int(apart.sum())
        if count:
            by_column[column] = count
        changed |= apart
        if column not in PROVENANCE:
            has_new_content |= apart
    rehashed = hashes & changed
    n_rehashed = int(rehashed.sum())
    if n_rehashed:
        by_column = {"content_sha256": n_rehashed, **by_column}
    changed_ids = old_ids.take(old_rows).filter(pa.array(changed))
    ids_by_kind = {"added": added, "removed": removed, "changed": changed_ids}
    examples: dict[str, list[str]] = {}
    for kind, ids in ids_by_kind.items():
        if len(ids):
            examples[kind] = ids.slice(0, 5).to_pylist()
    new_columns = [column for column in new_schema.names if column not in old_schema.names]
    old_columns = [column for column in old_schema.names if column not in new_schema.names]
    n_changed = int(changed.sum())
    return ConfigDifference(
        config=name,
        before=before,
        after=after,
        added=len(added),
        removed=len(removed),
        changed=n_changed,
        recontented=int((has_new_content | rehashed).sum()),
        by_column=by_column,
        columns_added=new_columns,
        columns_removed=old_columns,
        columns_retyped=retyped,
        examples=examples,
    )


def _read_column(folder: Path, config: str, column: str) -> pa.Array:
    """One column of a config's rows as a single array; UserError if the file cannot be read."""
    table = contents.table_in(folder / data_file(config), [column], SEE)
    return table.column(0).combine_chunks()


def _read_ids(folder: Path, config: str, schema: pa.Schema) -> pa.Array:
    """The column `id` of a config's rows; UserError if there is none, it is not of strings, or an
    id is repeated.
    """
    where = str(folder / data_file(config))
    string_types = (pa.string(), pa.large_string())
    if "id" not in schema.names or schema.field("id").type not in string_types:
        raise UserError("no column id of strings", where=where, remedy=SEE)
    ids = _read_column(folder, config, "id").cast(pa.string())
    if len(ids.unique()) != len(ids):
        raise UserError("an id stands twice", where=where, remedy=SEE)
    return ids


def _read_evidence(folder: Path) -> dict[str, FigureRecord]:
    """The figures of a version, by name and model."""
    path = folder / "evidence.json"
    evidence = contents.json_of(path, SEE)
    if not isinstance(evidence, dict) or evidence.get("schema") != SCHEMA:
        what = f"no `schema: {SCHEMA}`, which says how its figures are written"
        remedy = "compare versions that one evenruler built"
        raise UserError(what, where=str(path), remedy=remedy)
    rows = evidence.get("figures")
    if not isinstance(rows, list) or not all(map(_is_row, rows)):
        raise UserError("figures are no list of rows", where=str(path), remedy=SEE)
    figures: dict[str, FigureRecord] = {}
    for row in rows:
        name = figure_name(row)
        if row.get("model"):
            name = f"{name}, {row['model']}"
        fault = f"{name} stands twice" if name in figures else _find_fault(row, name)
        if fault:
            raise UserError(fault, where=str(path), remedy=SEE)
        figures[name] = row
    return figures


def _is_row(row: object) -> bool:
    """Whether it can be the row of a figure: named, and without objects or lists in it."""
    if not isinstance(row, dict) or "figure" not in row:
        return False
    return not any(isinstance(content, dict | list) for content in row.values())


def _find_fault(row: FigureRecord, name: str) -> str | None:
    """What is wrong with the row of a figure; None where nothing is."""
    for key in (*NUMBERS, "n"):
        if row.get(key) is not None and not contents.is_number(row[key]):
            return f"{key} of {name} is {row[key]!r:.60}, expected a number"
    if row.get("value") is None and not isinstance(row.get("reason"), str):
        return f"{name} has neither a value nor a reason"
    if (row.get("low") is None) != (row.get("high") is None):
        return f"the interval of {name} has one end"
    return None


def has_figure_changed(
    old: FigureRecord | None, new: FigureRecord | None, tolerance: float = TOLERANCE
) -> bool:
    """Whether two figures differ, numbers by more than the tolerance."""
    return not is_nearly_equal(_clear_why_text(old), _clear_why_text(new), tolerance)


def _clear_why_text(figure: FigureRecord | None) -> FigureRecord | None:
    """The figure with an empty `why`, so that two figures are compared by their numbers; None stays
    None.
    """
    if not figure:
        return figure
    # `why` repeats the verdict's numbers in words.
    return {key: "" if key == "why" else content for key, content in figure.items()}


def _read_normalised_text(folder: Path, name: str) -> str | None:
    """A text file with its location normalised and without row checksums, since rows are compared
    separately.
    """
    if not contents.is_file(folder / name):
        return None
    text = locate.replace_location(name, contents.text_of(folder / name, SEE), "USER/REPO")
    if name != "croissant.json":
        return text
    return re.sub('"sha256": "[0-9a-f]{64}"', '"sha256": ""', text)


def as_json(difference: VersionDifference) -> dict[str, Any]:
    """The difference as JSON, with the required version and the reasons."""
    reasons = [reason for _, reason in difference.reasons]
    return asdict(difference) | {
        "needs": difference.needs,
        "next_version": difference.next_version,
        "reasons": reasons,
    }


def as_markdown(difference: VersionDifference) -> str:
    """The difference as Markdown: required version and reasons, rows, columns, figures."""
    environment = jinja_environment("evenruler.publish")
    environment.filters |= {"cell": markdown_cell, "figure": partial(figure_in_words, decimals=3)}
    return environment.get_template("difference.md.j2").render(found=difference)


def compare_with_head(root: Path) -> Iterator[tuple[str, str, bool]]:
    """Compare benchmarks with git's HEAD: name, difference in words, whether it needs a new
    version.
    """
    command = ["git", "ls-tree", "-r", "-z", "--name-only", "HEAD", "--", "benchmarks"]
    done = subprocess.run(
        command, cwd=root, capture_output=True, text=True, encoding="utf-8", check=False
    )
    if done.returncode:
        raise UserError(
            f"git cannot list HEAD ({done.stderr.strip()})",
            where="benchmarks",
            remedy="commit first",
        )
    here = {
        path.name
        for path in (root / "benchmarks").iterdir()
        if path.is_dir() and not path.name.startswith(".")
    }
    held: set[str] = set()
    for name in done.stdout.split("\0"):
        parts = Path(name).parts
        if len(parts) > 2:
            held.add(parts[1])
    for name in sorted(here | held):
        if name not in held:
            yield name, "skipped: not in git's HEAD", False
        elif name not in here:
            yield name, "not built", True
        else:
            with open_place(f"HEAD:benchmarks/{name}", root) as before:
                difference = compare(before, root / "benchmarks" / name)
            why = "; ".join(reason for _, reason in difference.reasons)
            reasons = f": {why}" if why else ""
            yield name, f"needs {difference.needs}{reasons}", difference.needs != "none"
