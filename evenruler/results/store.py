"""Store results in folders: atomic write, find, read, and one table of all figures."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pandas as pd
import pyarrow as pa

from evenruler.errors import UserError, suggest_nearest
from evenruler.files import file_sha256, replace_folder
from evenruler.instruments.registry import FAMILIES, family_module
from evenruler.measurement.figures import figure_name
from evenruler.publish.manifest import KIND, as_json
from evenruler.results.record import (
    FORMAT,
    HEADLINES_FILE,
    NUMERIC,
    RESULT,
    Result,
    as_frame,
)
from evenruler.strict import validate
from evenruler.tables.contents import is_number, json_of, schema_of, table_in
from evenruler.tables.frames import table_of, without_last_bits, write_whole

OF_THE_COMPUTER: Final = {"attention", "device", "dtype", "libraries", "logits"}
"""Engine keys of the computer rather than the model; a model measured elsewhere counts as the
same."""


@dataclass(frozen=True)
class StoredResult:
    """A result with the rows behind its headlines, and its folder."""

    result: Result
    folder: Path

    def with_label(self) -> "StoredResult":
        """The same for readers: with the label of the model in place of its name."""
        model = self.result.model
        if model.label is None:
            return self
        figures: list[dict[str, Any]] = []
        for row in self.result.figures:
            is_of_model = row["model"] == model.name
            figures.append({**row, "model": model.label} if is_of_model else row)
        named = model.model_copy(update={"name": model.label})
        result = self.result.model_copy(update={"model": named, "figures": figures})
        return StoredResult(result, self.folder)


def write_result(
    result: Result, root: Path, tables: Mapping[str, pd.DataFrame | pa.Table] | None = None
) -> Path:
    """Write a result into its folder, `root / result.folder`, atomically; replaces an earlier
    result of the same model.

    The rows behind its headlines and further `tables` are stored with it, floats of frames rounded
    to six significant digits. UserError where the folder holds a result of another model, or of a
    benchmark with other content.
    """
    folder = root / result.folder
    rows = table_of(without_last_bits(result.headlines), headlines_schema(result))
    refuse_another(result, root)
    with replace_folder(folder) as working:
        write_whole(rows, working / HEADLINES_FILE)
        for name, table in (tables or {}).items():
            if isinstance(table, pd.DataFrame):
                table = pa.Table.from_pandas(without_last_bits(table), preserve_index=False)
            write_whole(
                table.replace_schema_metadata(None), working / f"{name}.parquet"
            )  # none of pandas' own
        sums = {path.name: file_sha256(path) for path in sorted(working.iterdir())}
        result_with_sums = result.model_copy(update={"tables_sha256": sums})
        text = as_json(result_with_sums.model_dump(mode="json"), sort_keys=False)
        (working / RESULT).write_text(text, encoding="utf-8")
    return folder


def refuse_another(result: Result, root: Path) -> None:
    """UserError where the folder holds a result of another model, or of a benchmark with other
    content.
    """
    folder = root / result.folder
    if not (folder / RESULT).exists():
        return
    before = read_result(folder / RESULT)
    _require_same_label(before, result)
    old = before.model.engine
    new = json.loads(json.dumps(result.model.engine))
    engine_keys = (old.keys() | new.keys()) - OF_THE_COMPUTER
    differing_keys = sorted(key for key in engine_keys if old.get(key) != new.get(key))
    if differing_keys:
        what = f"{result.model.name} is another model there ({', '.join(differing_keys)} differ)"
        raise UserError(what, where=str(folder), remedy="give it another name with --name")
    if (
        before.benchmark.origin == result.benchmark.origin == "file"
    ):  # the source is still being edited
        return
    if not before.benchmark.content_sha256.startswith(KIND):
        what = (
            f"an older evenruler says there in another way what {result.benchmark.name} held "
            "(content_sha256)"
        )
        raise UserError(what, where=str(folder), remedy="move that folder away")
    was, now = (
        (compared_result.benchmark.content_sha256, compared_result.benchmark.plan_sha256)
        for compared_result in (before, result)
    )
    if was != now:
        what = f"{result.benchmark.name} {result.benchmark.version} has other content there"
        raise UserError(
            what,
            where=str(folder),
            remedy="move that folder away, or give the benchmark another version",
        )


def _require_same_label(first: Result, second: Result) -> None:
    """UserError where two models have one name by two labels."""
    label = first.model.label or first.model.name
    other_label = second.model.label or second.model.name
    if first.model.name == second.model.name and label != other_label:
        what = f"{label} and {other_label} have one name, {second.model.name}"
        raise UserError(what, where=second.folder, remedy="give one of them another --name")


def find_results(*places: str | Path) -> list[Path]:
    """The `result.json` files in places: folders of results, such files, or folders above them;
    without duplicates.

    In the order of the places, each sorted by path. UserError where a place holds none.
    """
    path_by_resolved_path: dict[Path, Path] = {}
    for place in map(Path, places):
        if place.name == RESULT and place.is_file():
            below = [place]
        else:
            below = sorted(place.rglob(RESULT))
        # Folders that begin with a dot are left over from killed writes.
        of_place = [path for path in below if path == place or not path.parent.name.startswith(".")]
        if not of_place:
            what = "no result in this folder" if place.is_dir() else f"no folder, and no {RESULT}"
            raise UserError(
                what,
                where=str(place),
                remedy="name what `evenruler measure` wrote, or a folder above it",
            )
        for path in of_place:
            path_by_resolved_path.setdefault(path.resolve(), path)
    return list(path_by_resolved_path.values())


def read_stored_result(path: Path) -> StoredResult:
    """Read a result with the rows behind its headlines; UserError where a file is missing or
    damaged.
    """
    result = read_result(path)
    headlines = table_in_result(path.with_name(HEADLINES_FILE), headlines_schema(result))
    return StoredResult(result.with_tables(headlines, {}), path.parent)


def headlines_schema(result: Result) -> pa.Schema:
    """The columns of the rows behind a result's headlines, with the dimensions of its family."""
    family = result.benchmark.family
    if family not in FAMILIES:
        raise UserError(
            f"no family {family!r}",
            where=result.folder,
            remedy=suggest_nearest(family, FAMILIES),
        )
    return family_module(family, "schemas").HEADLINES


def read_all(*places: str | Path) -> list[StoredResult]:
    """All results in places, by `find` and `read`; UserError where two models have one name."""
    stored_results = [read_stored_result(path) for path in find_results(*places)]
    result_by_name: dict[str, Result] = {}
    for stored_result in stored_results:
        result = stored_result.result
        _require_same_label(result_by_name.setdefault(result.model.name, result), result)
    return stored_results


def read_result(path: Path) -> Result:
    """Read a `result.json`; UserError where it is not JSON, has another format, or is no valid
    `Result`.
    """
    content = json_of(path, "measure again")
    if not isinstance(content, dict) or "format" not in content:
        raise UserError(
            "no result of Even Ruler", where=str(path), remedy="name what `evenruler measure` wrote"
        )
    if content["format"] != FORMAT:
        what = f"format {content['format']!r}, expected {FORMAT}"
        remedy = "measure again (answers are kept), or use the evenruler that wrote it"
        raise UserError(what, where=str(path), remedy=remedy)
    result = validate(Result, content, path)
    for row in result.figures:
        fault = _find_fault(row)
        if fault is not None:
            raise UserError(fault, where=str(path), remedy="measure again")
    return result


def _find_fault(row: Mapping[str, Any]) -> str | None:
    """What is wrong with the row of a figure, None where nothing is."""
    texts = [key for key in row if key not in NUMERIC]
    malformed_texts = [
        key for key in ("figure", "model", *texts) if not isinstance(row.get(key), str)
    ]
    if malformed_texts:
        key = malformed_texts[0]
        return f"{key} of a figure is {row.get(key)!r:.60}, expected words"
    name = figure_name(row)
    for key in NUMERIC & row.keys():
        if not is_number(row[key]):
            return f"{key} of {name} is {row[key]!r:.60}, expected a number"
    if "value" not in row:
        return f"{name} lacks value"
    for key in ("n", "unit"):
        if row.get(key) is None:
            return f"{name} lacks {key}"
    return None


def table_in_result(path: Path, schema: pa.Schema) -> pd.DataFrame:
    """Read a table of a result by its schema; UserError where it is damaged or has duplicate rows.

    A column that may be null, and that an earlier evenruler did not write, is null.
    """
    schema_of(path, "measure again")
    try:
        rows = table_in(path, remedy="measure again")
        for field in schema:
            if field.nullable and field.name not in rows.schema.names:
                rows = rows.append_column(field, pa.nulls(len(rows), field.type))
        table: pd.DataFrame = rows.select(schema.names).cast(schema).to_pandas()
    except (KeyError, ValueError, pa.ArrowException) as error:
        reason = str(error).splitlines()[0]
        raise UserError(
            f"no table of {path.stem} ({reason})", where=str(path), remedy="measure again"
        ) from None
    if table.duplicated([name for name in schema.names if name != "value"]).any():
        raise UserError("a row stands twice", where=str(path), remedy="measure again")
    return table


def load_results(*places: str | Path) -> pd.DataFrame:
    """All figures of results, one row each.

    Args:
        *places: Each a folder of a result, its `result.json`, or any folder above it.

    Returns:
        In the order of `find_results`, then of figures. The dimensions of figures (cue, task, set,
            subscale, method, ...) have a column each, null where one does not apply; `figure_type`
            is `headline`, `descriptive` or `validity` for figures with a heading, else null.
            Numbers have three decimals, as in `result.json`.

    Raises:
        UserError: A place holds no result, or a file is damaged.
    """
    return as_frame(map(read_result, find_results(*places)))
