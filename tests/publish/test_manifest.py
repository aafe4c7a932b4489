import hashlib
import json
import struct
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

SPAN = pa.struct([pa.field("begin", pa.int32()), pa.field("word", pa.string())])
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


def by_hand(tables: dict[str, pa.Table], plan: str | None) -> str:
    """The identity by its description, value by value."""
    told = {"plan": plan and sha256(plan.encode())}
    for name, table in tables.items():
        parts = {}
        for column in table.schema:
            for part, content in _by_hand(
                [column.name], column.type, table.column(column.name).to_pylist()
            ):
                parts[json.dumps(part)] = sha256(content)
        told[name] = {"rows": len(table), **parts}
    return f"rows+plan:{sha256((json.dumps(told, indent=2, sort_keys=True, ensure_ascii=False) + chr(10)).encode())}"


def _by_hand(path, kind, values):
    if pa.types.is_list(kind):
        yield [*path, "list"], eights(None if each is None else len(each) for each in values)
        yield from _by_hand(
            [*path, "list"], kind.value_type, [one for each in values for one in each or []]
        )
    elif pa.types.is_struct(kind):
        yield [*path, "struct"], eights(each and 1 for each in values)
        for field in kind:
            yield from _by_hand(
                [*path, "struct", field.name],
                field.type,
                [each and each[field.name] for each in values],
            )
    elif pa.types.is_floating(kind):
        yield [*path, "float"], eights(None if each is None else 1 for each in values)
        yield (
            [*path, "float", "values"],
            b"".join(f"{each}\n".encode() for each in values if each is not None),
        )
    else:
        called = {"string": "text", "bool": "bool"}.get(str(kind), "int")
        texts = [
            None if each is None else str(each).lower() if called == "bool" else str(each)
            for each in values
        ]
        texts = [each if each is None else each.encode() for each in texts]
        yield [*path, called], eights(None if each is None else len(each) for each in texts)
        yield [*path, called, "values"], b"".join(each for each in texts if each is not None)


def eights(numbers) -> bytes:
    return b"".join(struct.pack("<q", -1 if each is None else each) for each in numbers)


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def column(table: pa.Table, name: str, values, kind=None) -> pa.Table:
    index = table.schema.get_field_index(name)
    return table.set_column(index, name, pa.array(values, kind or table.schema.field(name).type))


@pytest.fixture
def identity(tmp_path):
    """Writes tables and a plan into a folder, and says what they are."""

    def of(tables=TABLES, plan=PLAN, **packed):
        with tempfile.TemporaryDirectory(dir=tmp_path) as folder:
            for name, table in tables.items():
                path = Path(folder, data_file(name))
                path.parent.mkdir()
                pq.write_table(table, path, **packed)
            if plan is not None:
                Path(folder, "plan.json").write_text(plan, encoding="utf-8")
            return identity_of(Path(folder), tables)

    return of


def probes(change):
    return TABLES | {"probes": change(TABLES["probes"])}


class TestIdentity:
    @pytest.mark.parametrize("plan", [PLAN, None])
    @pytest.mark.parametrize("tables", [TABLES, probes(lambda table: table.slice(0, 0)), {}])
    def test_by_hand(self, identity, tables, plan):
        assert identity(tables, plan) == by_hand(tables, plan)

    def test_it_stays_from_version_to_version(self, identity):
        expected = "rows+plan:d2e43dfa5d8bbfdd3ea69aab0bda989af4bd0a785324cc6ed08c4077b62e0c42"
        assert identity() == expected

    def test_many_rows_in_whatever_pieces(self, identity):
        n = 140_000
        numbers = [i * 7919 % 1_000_003 / 7 for i in range(n)]
        many = {
            "probes": pa.table(
                {
                    "id": [f"{i:06x}" for i in range(n)],
                    "x": numbers,
                    "y": [["a"] * (i % 3) for i in range(n)],
                }
            )
        }
        whole = identity(many, None)
        assert whole == by_hand(many, None)
        assert (
            identity(many, None, row_group_size=1_001, use_dictionary=False, compression="gzip")
            == whole
        )

    @pytest.mark.parametrize(
        "packed",
        [
            {"row_group_size": 1},
            {"compression": "gzip"},
            {"use_dictionary": False},
            {"store_schema": False},
            {"version": "1.0"},
        ],
        ids=str,
    )
    def test_however_it_is_packed(self, identity, packed):
        assert identity(**packed) == by_hand(TABLES, PLAN)

    @pytest.mark.parametrize(
        "tables",
        [
            pytest.param(dict(reversed(TABLES.items())), id="order-of-tables"),
            pytest.param(probes(lambda t: t.select(t.column_names[::-1])), id="order-of-columns"),
            pytest.param(
                probes(lambda t: pa.concat_tables([t.slice(0, 1), t.slice(1)])), id="in-pieces"
            ),
            pytest.param(
                probes(lambda t: t.replace_schema_metadata({"by": "another"})), id="metadata"
            ),
            pytest.param(
                probes(lambda t: column(t, "text", t["text"].to_pylist(), pa.large_string())),
                id="large-texts",
            ),
            pytest.param(
                probes(lambda t: column(t, "text", t["text"].combine_chunks().dictionary_encode())),
                id="categories",
            ),
            pytest.param(
                probes(lambda t: column(t, "keying", [1, -1, None], pa.int64())), id="wide-numbers"
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
        tables = [{"probes": pa.table({"x": [zero]})} for zero in (0.0, -0.0)]
        assert identity(tables[0]) == identity(tables[1])

    @pytest.mark.parametrize(
        "tables",
        [
            pytest.param(
                probes(lambda t: column(t, "text", ["He said “No”.", None, ""])), id="text"
            ),
            pytest.param(
                probes(lambda t: column(t, "text", ["He said “no”.", "", None])),
                id="null-and-empty",
            ),
            pytest.param(
                probes(lambda t: column(t, "text", [None, "He said “no”.", ""])), id="another-row"
            ),
            pytest.param(
                TABLES
                | {"templates": column(TABLES["templates"], "text", ["A {ATTRIBUTE}.a", "b"])},
                id="moved",
            ),
            pytest.param(
                probes(lambda t: column(t, "source", ["Paper", "Paper", "other"])), id="source"
            ),
            pytest.param(
                probes(lambda t: column(t, "content_sha256", ["aa", "bb", "cd"])),
                id="checksum-of-a-row",
            ),
            pytest.param(probes(lambda t: column(t, "keying", [1, 1, None])), id="number"),
            pytest.param(
                probes(lambda t: column(t, "keying", ["1", "-1", None], pa.string())),
                id="a-number-as-text",
            ),
            pytest.param(
                probes(lambda t: column(t, "keying", [1, -1, None], pa.float64())),
                id="a-whole-number-as-another",
            ),
            pytest.param(
                probes(lambda t: column(t, "criterion", [0.1000001, None, 2.0])), id="float"
            ),
            pytest.param(
                probes(lambda t: column(t, "criterion", [0.1, 2.0, None])),
                id="float-of-another-row",
            ),
            pytest.param(probes(lambda t: column(t, "control", [False, None, None])), id="bool"),
            pytest.param(probes(lambda t: column(t, "order", [["ab", "c"], None, []])), id="list"),
            pytest.param(
                probes(lambda t: column(t, "order", [["a"], ["bc"], []])), id="lists-cut-elsewhere"
            ),
            pytest.param(
                probes(lambda t: column(t, "order", [["a", "bc"], [], None])), id="no-list"
            ),
            pytest.param(
                probes(
                    lambda t: column(
                        t, "spans", [[{"begin": 3, "word": "é"}, {}], [], [{"word": ""}]]
                    )
                ),
                id="no-struct",
            ),
            pytest.param(probes(lambda t: t.take([1, 0, 2])), id="order-of-rows"),
            pytest.param(probes(lambda t: t.slice(0, 2)), id="row-gone"),
            pytest.param(probes(lambda t: pa.concat_tables([t, t.slice(2)])), id="row-twice"),
            pytest.param(probes(lambda t: t.drop_columns("source")), id="column-gone"),
            pytest.param(
                probes(lambda t: t.rename_columns({"source": "sources"})), id="name-of-a-column"
            ),
            pytest.param(
                {"sentences": TABLES["probes"], "templates": TABLES["templates"]},
                id="name-of-a-table",
            ),
            pytest.param({"probes": TABLES["probes"]}, id="table-gone"),
        ],
    )
    def test_differs(self, identity, tables):
        assert identity(tables) != identity()

    @pytest.mark.parametrize("plan", [PLAN.replace("0", "1"), None])
    def test_of_another_plan(self, identity, plan):
        assert identity(plan=plan) != identity()

    def test_of_a_type_that_no_benchmark_has(self, identity, error_of):
        tables = {"probes": pa.table({"when": pa.array([0], pa.timestamp("s"))})}
        assert "column when is of timestamp" in error_of(identity, tables)


def test_columns_of():
    schema = build_schema("id: str; pole: int8?; notes: [float]?")
    assert columns_of(schema) == {"id": "string", "pole": "int8", "notes": "list<item: double>"}


CONTENT = {
    "name": "probes-jobs",
    "version": "1.2.3",
    "location": ".",
    "content_sha256": "rows+plan:ab",
    "rows": {"probes": 3},
    "rejected": 5,
    "columns": {"probes": {"id": "string"}},
    "sources": ["Sœur"],
    "licences": ["mit"],
    "parameters": {"article": "agree"},
    "files": {"README.md": "ab", "probes/test-00000-of-00001.parquet": "cd"},
}


class TestReading:
    @pytest.fixture
    def path(self, tmp_path):
        return tmp_path / "manifest.json"

    def test_comes_back_as_it_was_written(self, path):
        path.write_text(as_json(CONTENT), encoding="utf-8")
        assert read_manifest(path.parent) == Manifest(**CONTENT)
        assert read_manifest(path.parent).model_dump() == CONTENT

    def test_no_manifest(self, path, error_of):
        expected = f"{path.parent}: no manifest.json here; name a folder of a benchmark"
        assert error_of(read_manifest, path.parent) == expected

    def test_no_folder(self, path, error_of):
        expected = f"{path.parent / 'x'}: no manifest.json here; name a folder of a benchmark"
        assert error_of(read_manifest, path.parent / "x") == expected

    def test_a_file_for_a_folder(self, path, error_of):
        path.write_text("{}", encoding="utf-8")
        assert (
            error_of(read_manifest, path)
            == f"{path}: no manifest.json here; name a folder of a benchmark"
        )

    def test_not_utf_8(self, path, error_of):
        path.write_bytes(b'{"name": "S\x9cur"}')
        assert error_of(read_manifest, path.parent) == f"{path}: not UTF-8; get the file again"

    def test_not_json(self, path, error_of):
        path.write_text('{"name": \n', encoding="utf-8")
        expected = (
            f"{path}: not JSON (EOF while parsing a value at line 2 column 0); get the file again"
        )
        assert error_of(read_manifest, path.parent) == expected

    @pytest.mark.parametrize(
        ("content", "message"),
        [
            ([], ": found list, expected keys; write `key: value`"),
            (
                CONTENT | {"row": {}},
                ": row: unknown key 'row'; did you mean 'rows'?; rename or remove it",
            ),
            (
                {key: value for key, value in CONTENT.items() if key != "rejected"},
                ": rejected: missing; add the key 'rejected'",
            ),
            (
                CONTENT | {"version": "1.2"},
                ": version: found '1.2', expected MAJOR.MINOR.PATCH; fix it",
            ),
            (
                CONTENT | {"rows": {"probes": "3"}},
                ": rows.probes: found '3': input should be a valid integer; fix it",
            ),
        ],
        ids=["list", "unknown-key", "key-missing", "version", "rows"],
    )
    def test_not_a_manifest(self, path, error_of, content, message):
        path.write_text(json.dumps(content), encoding="utf-8")
        assert error_of(read_manifest, path.parent) == f"{path}{message}"


def test_json_has_one_form():
    assert (
        as_json({"b": "œ", "a": [1.5, None]})
        == '{\n  "a": [\n    1.5,\n    null\n  ],\n  "b": "œ"\n}\n'
    )


def test_json_holds_no_nan():
    with pytest.raises(ValueError, match="JSON"):
        as_json({"value": float("nan")})
