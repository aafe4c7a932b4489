"""Files that others made, within limits; hostile folders as a whole are in
tests/faults/downloads.py."""

import os
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from evenruler.tables import contents
from evenruler.tables.contents import is_file, json_of, schema_of, table_in


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "rows.parquet"


def repeated(text: str, n: int) -> pa.Array:
    """One text n times, written once."""
    return pa.DictionaryArray.from_arrays(pa.array([0] * n, pa.int32()), [text])


MAP = pa.map_(pa.string(), pa.string())
WEIGHED = {
    "texts written once": (repeated("x" * 1_000, 100), 100 * (1_000 + 8)),
    "lists of them": (
        pa.ListArray.from_arrays([0, 50, 100], repeated("x" * 1_000, 100)),
        100 * (1_000 + 8) + 2 * 8,
    ),
    "numbers": (pa.array([0.5] * 100), 100 * 8 + 13),
}
"""Column, and bytes in memory: of a text its letters and 8 for where it lies; of numbers also a bit
for each."""


@pytest.mark.parametrize(("column", "weight"), WEIGHED.values(), ids=WEIGHED)
def test_rows_are_weighed_as_they_lie_in_memory(
    path, error_of, monkeypatch, column, weight
) -> None:
    pq.write_table(pa.table({"a": column}), path)
    monkeypatch.setattr(contents, "MOST_UNPACKED", weight)
    assert schema_of(path)[1] == len(column)
    monkeypatch.setattr(contents, "MOST_UNPACKED", weight - 1)
    assert error_of(schema_of, path).startswith(
        f"{path}: no readable Parquet (more than {weight - 1:,} bytes"
    )


@pytest.mark.parametrize(
    ("table", "reason"),
    [
        (pa.table({"a": pa.array([b"x" * 2_000], pa.binary(2_000))}), "values of 2,000 bytes each"),
        (pa.table({"a": pa.array([[("k", "v")]], MAP)}), "a column of map"),
    ],
    ids=["fixed", "map"],
)
def test_what_no_benchmark_has_is_refused(path, error_of, table, reason) -> None:
    pq.write_table(table, path)
    assert f"no readable Parquet ({reason}" in error_of(schema_of, path)


def test_more_rows_than_are_read(path, error_of, monkeypatch) -> None:
    pq.write_table(pa.table({"a": [1, 2, 3]}), path)
    monkeypatch.setattr(contents, "MOST_ROWS", 2)
    assert "3 rows of 1 columns, more than are read" in error_of(schema_of, path)


def test_text_that_is_not_utf_8(path, error_of) -> None:
    broken = pa.Array.from_buffers(
        pa.string(), 1, [None, pa.py_buffer(b"\0\0\0\0\2\0\0\0"), pa.py_buffer(b"\xff\xfe")]
    )
    pq.write_table(pa.table({"a": broken}), path)
    assert "no readable Parquet (" in error_of(table_in, path)


def test_a_folder_with_an_equal_sign_brings_no_column(tmp_path) -> None:
    path = tmp_path / "model=x/rows.parquet"
    path.parent.mkdir()
    pq.write_table(pa.table({"a": [1]}), path)
    assert table_in(path).column_names == ["a"]


def test_only_files_that_end_are_files(tmp_path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "file").touch()
    names = ["pipe", "loop", "a" * 300, "\0", ".", "file"]
    assert [name for name in names if is_file(tmp_path / name)] == ["file"]


@pytest.mark.parametrize("text", ["[" * 100_000, '"\\ud800"', "NaN", "9" * 5_000, ""])
def test_no_json(tmp_path, error_of, text) -> None:
    (tmp_path / "x.json").write_text(text)
    assert error_of(json_of, tmp_path / "x.json").startswith(f"{tmp_path / 'x.json'}: not JSON (")
