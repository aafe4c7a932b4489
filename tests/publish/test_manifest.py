import hashlib
import json

import pyarrow as pa
import pytest

from evenruler.publish.manifest import Manifest, as_json, columns_of, content_sha256, read_manifest
from evenruler.tables.schemas import columns


def table(*rows: tuple[str, str]) -> pa.Table:
    """A table of id and content hash, with one more column."""
    ids, contents = ([row[index] for row in rows] for index in (0, 1))
    return pa.table({"text": ["any"] * len(rows), "id": ids, "content_sha256": contents})


def sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def by_hand(configs: dict[str, list[tuple[str, str]]]) -> str:
    lines = [f"{config}\t{id_}\t{content}\n" for config, rows in configs.items() for id_, content in rows]
    return sha256("".join(sorted(lines)))


PROBES = (("1", "aa"), ("2", "bb"), ("3", "cc"))
TABLES = {"probes": table(*PROBES), "templates": table(("4", "dd"))}
SUM = sha256("probes\t1\taa\nprobes\t2\tbb\nprobes\t3\tcc\ntemplates\t4\tdd\n")


class TestContentSha256:
    def test_by_hand(self):
        # `printf 'probes\t1\taa\nprobes\t2\tbb\nprobes\t3\tcc\ntemplates\t4\tdd\n' | sha256sum`
        assert content_sha256(TABLES) == SUM == "cd21b10e52517444610aad017300bf54cfc8dd70dedfb08d1b7fab58994e9cb8"

    def test_no_rows(self):
        assert content_sha256({"probes": table().cast(TABLES["probes"].schema)}) == sha256("")

    def test_ids_are_ordered_as_text(self):
        # "10" goes before "9", "Z" before "a", and "é" after both.
        rows = [("é", "1"), ("a", "2"), ("Z", "3"), ("9", "4"), ("10", "5")]
        expected = "".join(f"probes\t{id_}\t{content}\n" for id_, content in rows[::-1])
        assert content_sha256({"probes": table(*rows)}) == sha256(expected)

    def test_more_rows_than_one_batch(self):
        rows = [(f"{i:06x}", f"{i * 7919 % 1_000_003:x}") for i in range(70_000)]
        assert content_sha256({"probes": table(*rows[::-1])}) == by_hand({"probes": rows})

    @pytest.mark.parametrize(
        "tables",
        [
            pytest.param(TABLES | {"probes": TABLES["probes"].take([2, 0, 1])}, id="order-of-rows"),
            pytest.param(dict(reversed(TABLES.items())), id="order-of-configs"),
            pytest.param(TABLES | {"probes": pa.concat_tables([table(*PROBES[1:]), table(PROBES[0])])}, id="in-pieces"),
            pytest.param(TABLES | {"probes": table(*PROBES).select(["content_sha256", "id"])}, id="other-columns"),
            pytest.param(
                TABLES
                | {
                    "probes": table(*PROBES).cast(
                        pa.schema([(n, pa.large_string()) for n in TABLES["probes"].schema.names])
                    )
                },
                id="large-strings",
            ),
        ],
    )
    def test_is_the_same(self, tables):
        assert content_sha256(tables) == SUM

    @pytest.mark.parametrize(
        "tables",
        [
            pytest.param(TABLES | {"probes": table(("0", "aa"), *PROBES[1:])}, id="id"),
            pytest.param(TABLES | {"probes": table(("1", "ab"), *PROBES[1:])}, id="content"),
            pytest.param(TABLES | {"probes": table(("1", "bb"), ("2", "aa"), PROBES[2])}, id="contents-swapped"),
            pytest.param(TABLES | {"probes": table(*PROBES[:2])}, id="row-gone"),
            pytest.param(TABLES | {"probes": table(*PROBES, PROBES[2])}, id="row-twice"),
            pytest.param({"sentences": TABLES["probes"], "templates": TABLES["templates"]}, id="name-of-a-config"),
            pytest.param({"probes": table(*PROBES[:2]), "templates": table(PROBES[2], ("4", "dd"))}, id="row-moved"),
            pytest.param({"probes": TABLES["probes"]}, id="config-gone"),
        ],
    )
    def test_differs(self, tables):
        found = content_sha256(tables)
        assert found != SUM
        assert found == by_hand(
            {
                name: list(zip(rows["id"].to_pylist(), rows["content_sha256"].to_pylist(), strict=True))
                for name, rows in tables.items()
            }
        )


def test_columns_of():
    schema = columns("id: str; pole: int8?; notes: [float]?")
    assert columns_of(schema) == {"id": "string", "pole": "int8", "notes": "list<item: double>"}


CONTENT = {
    "name": "probes-jobs",
    "version": "1.2.3",
    "location": ".",
    "content_sha256": SUM,
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
        assert error_of(read_manifest, path) == f"{path}: no manifest.json here; name a folder of a benchmark"

    def test_not_utf_8(self, path, error_of):
        path.write_bytes(b'{"name": "S\x9cur"}')
        assert error_of(read_manifest, path.parent) == f"{path}: not UTF-8; get the file again"

    def test_not_json(self, path, error_of):
        path.write_text('{"name": \n', encoding="utf-8")
        expected = f"{path}: not JSON (EOF while parsing a value at line 2 column 0); get the file again"
        assert error_of(read_manifest, path.parent) == expected

    @pytest.mark.parametrize(
        ("content", "message"),
        [
            ([], ": found list, expected keys; see README"),
            (CONTENT | {"row": {}}, ": row: unknown key 'row'; did you mean 'rows'?; rename or remove it"),
            (
                {key: value for key, value in CONTENT.items() if key != "rejected"},
                ": rejected: missing; add the key 'rejected'",
            ),
            (CONTENT | {"version": "1.2"}, ": version: found '1.2', expected MAJOR.MINOR.PATCH; mend it"),
            (
                CONTENT | {"rows": {"probes": "3"}},
                ": rows.probes: found '3': input should be a valid integer; mend it",
            ),
        ],
        ids=["list", "unknown-key", "key-missing", "version", "rows"],
    )
    def test_not_a_manifest(self, path, error_of, content, message):
        path.write_text(json.dumps(content), encoding="utf-8")
        assert error_of(read_manifest, path.parent) == f"{path}{message}"


def test_json_has_one_form():
    assert as_json({"b": "œ", "a": [1.5, None]}) == '{\n  "a": [\n    1.5,\n    null\n  ],\n  "b": "œ"\n}\n'


def test_json_holds_no_nan():
    with pytest.raises(ValueError, match="JSON"):
        as_json({"value": float("nan")})
