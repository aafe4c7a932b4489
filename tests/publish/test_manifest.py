import hashlib
import json
import tempfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from evenruler.publish.manifest import (
    Manifest,
    as_json,
    columns_of,
    data_file,
    identity_of,
    read_manifest,
)
from evenruler.tables.schemas import build_schema
from tests.text_tables import yaml_of_text

CATEGORIES = pa.dictionary(pa.int32(), pa.string())
SPAN = pa.struct({"begin": pa.int32(), "word": pa.string()})
TABLES = {
    "probes": pa.table(
        {
            "id": ["1", "2", "3"],
            "text": ["He said “no”.", None, ""],
            "content_sha256": ["aa", "bb", "cc"],
            "source": ["Paper", "Paper", "Other"],
            "keying": pa.array([1, -1, None], pa.int8()),
            "control": [False, None, True],
            "criterion": pa.array([0.1, None, 2.0], pa.float64()),
            "order": pa.array([["a", "bc"], None, []], pa.list_(pa.string())),
            "spans": pa.array(
                [[{"begin": 3, "word": "é"}, None], [], [{"begin": None, "word": ""}]],
                pa.list_(SPAN),
            ),
        }
    ),
    "templates": pa.table({"id": ["4", "5"], "text": ["A {ATTRIBUTE}.", "ab"]}),
}
PLAN = '{\n  "prefixed": 0\n}\n'


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def column(table: pa.Table, name: str, values, kind=None) -> pa.Table:
    index = table.schema.get_field_index(name)
    kind = kind or table.schema.field(name).type
    return table.set_column(index, name, pa.array(values, kind))


@pytest.fixture
def identity(tmp_path):
    """Writes tables and a plan into a folder, and says what they are."""

    def identify(tables=TABLES, plan=PLAN, **packed):
        with tempfile.TemporaryDirectory(dir=tmp_path) as folder:
            for name, table in tables.items():
                path = Path(folder, data_file(name))
                path.parent.mkdir()
                pq.write_table(table, path, **packed)
            if plan is not None:
                Path(folder, "plan.json").write_text(plan, encoding="utf-8")
            return identity_of(Path(folder), tables)

    return identify


def probes(change):
    return TABLES | {"probes": change(TABLES["probes"])}


IDENTITY = "rows+plan:d2e43dfa5d8bbfdd3ea69aab0bda989af4bd0a785324cc6ed08c4077b62e0c42"
"""Of `TABLES` and `PLAN`; it stays from version to version."""


class TestIdentity:
    @pytest.mark.parametrize("packed", [{}, {"store_schema": False}, {"version": "1.0"}], ids=str)
    def test_is_that_of_other_versions_however_it_is_packed(self, identity, packed):
        assert identity(**packed) == IDENTITY
        assert len({IDENTITY, identity(plan=None), identity({}), identity({}, None)}) == 4

    def test_many_rows_in_whatever_pieces(self, identity):
        n = 140_000
        numbers = [i * 7919 % 1_000_003 / 7 for i in range(n)]
        lists = [["a"] * (i % 3) for i in range(n)]
        columns = {
            "id": [f"{i:06x}" for i in range(n)],
            "x": numbers,
            "y": lists,
        }
        many = {"probes": pa.table(columns)}
        cut = {"row_group_size": 1_001, "use_dictionary": False, "compression": "gzip"}
        assert identity(many, **cut) == identity(many)

    @pytest.mark.parametrize(
        "tables",
        [
            pytest.param(dict(reversed(TABLES.items())), id="order-of-tables"),
            pytest.param(probes(lambda t: t.select(t.column_names[::-1])), id="order-of-columns"),
            pytest.param(
                probes(lambda t: column(t, "text", t["text"].to_pylist(), CATEGORIES)),
                id="categories",
            ),
            pytest.param(
                probes(
                    lambda t: column(
                        t, "order", t["order"].to_pylist(), pa.large_list(pa.large_string())
                    )
                ),
                id="large-lists",
            ),
        ],
    )
    def test_is_the_same(self, identity, tables):
        assert identity(tables) == identity()

    def test_zero_is_never_negative(self, identity):
        zero = pa.table({"x": [0.0]})
        negative = pa.table({"x": [-0.0]})
        assert identity({"probes": zero}) == identity({"probes": negative})

    @pytest.mark.parametrize(
        "tables",
        [
            pytest.param(
                probes(lambda t: column(t, "text", ["He said “no”.", "", None])),
                id="null-and-empty",
            ),
            pytest.param(
                TABLES
                | {"templates": column(TABLES["templates"], "text", ["A {ATTRIBUTE}.a", "b"])},
                id="moved",
            ),
            pytest.param(
                probes(lambda t: column(t, "keying", ["1", "-1", None], pa.string())),
                id="a-number-as-text",
            ),
            pytest.param(
                probes(lambda t: column(t, "order", [["a"], ["bc"], []])), id="lists-cut-elsewhere"
            ),
            pytest.param(
                probes(lambda t: column(t, "order", [["a", "bc"], [], None])), id="no-list"
            ),
            pytest.param(probes(lambda t: t.take([1, 0, 2])), id="order-of-rows"),
            pytest.param(
                {"sentences": TABLES["probes"], "templates": TABLES["templates"]},
                id="name-of-a-table",
            ),
        ],
    )
    def test_differs(self, identity, tables):
        assert identity(tables) != identity()

    def test_of_a_type_that_no_benchmark_has(self, identity, error_of):
        when = pa.array([0], pa.timestamp("s"))
        tables = {"probes": pa.table({"when": when})}
        assert "column when is of timestamp" in error_of(identity, tables)


def test_columns_of():
    schema = build_schema("id: str; pole: int8?; notes: [float]?")
    assert columns_of(schema) == {"id": "string", "pole": "int8", "notes": "list<item: double>"}


CONTENT = yaml_of_text("""\
name: probes-jobs
version: 1.2.3
location: .
content_sha256: rows+plan:ab
rows: {probes: 3}
rejected: 5
columns:
  probes: {id: string}
sources: [Sœur]
licences: [mit]
parameters: {article: agree}
files: {README.md: ab, probes/test-00000-of-00001.parquet: cd}
""")


class TestReading:
    @pytest.fixture
    def path(self, tmp_path):
        return tmp_path / "manifest.json"

    def test_comes_back_as_it_was_written(self, path):
        path.write_text(as_json(CONTENT), encoding="utf-8")
        assert read_manifest(path.parent) == Manifest(**CONTENT)

    def test_no_manifest(self, path, error_of):
        expected = f"{path.parent}: no manifest.json here; name a folder of a benchmark"
        assert error_of(read_manifest, path.parent) == expected

    @pytest.mark.parametrize(
        ("content", "message"),
        [
            (
                CONTENT | {"row": {}},
                ": row: unknown key 'row'; did you mean 'rows'?; rename or remove it",
            ),
            (
                CONTENT | {"version": "1.2"},
                ": version: found '1.2', expected MAJOR.MINOR.PATCH; fix it",
            ),
        ],
        ids=["unknown-key", "version"],
    )
    def test_not_a_manifest(self, path, error_of, content, message):
        path.write_text(json.dumps(content), encoding="utf-8")
        assert error_of(read_manifest, path.parent) == f"{path}{message}"


def test_json_holds_no_nan():
    with pytest.raises(ValueError, match="JSON"):
        as_json({"value": float("nan")})
