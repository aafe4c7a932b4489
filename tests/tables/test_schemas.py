"""The notation of columns, and the files that declare tables in it."""

import ast
from importlib import import_module
from itertools import chain, product
from pathlib import Path

import pyarrow as pa
import pytest

from evenruler.tables.schemas import COMMON, build_schema, schema_getattr

ROOT = Path(__file__).parents[2]


def test_every_kind_required_and_nullable() -> None:
    schema = build_schema(
        "a b: str; c: bool?; d: int; g: int8?; h: float?; i: float32",
        "k: [str]?; l: [{begin end: int32; word: str?}]",
    )
    span = [
        ("begin", pa.int32(), False),
        ("end", pa.int32(), False),
        ("word", pa.string(), True),
    ]
    expected = [
        ("a", pa.string(), False),
        ("b", pa.string(), False),
        ("c", pa.bool_(), True),
        ("d", pa.int64(), False),
        ("g", pa.int8(), True),
        ("h", pa.float64(), True),
        ("i", pa.float32(), False),
        ("k", pa.list_(pa.string()), True),
        ("l", pa.list_(pa.struct([pa.field(*field) for field in span])), False),
    ]
    assert schema.equals(pa.schema([pa.field(*field) for field in expected]), check_metadata=True)


def test_columns_of_another_schema_keep_their_place() -> None:
    middle = build_schema("id: str; n: int?")
    assert build_schema("first: str", middle, "last: bool").equals(
        pa.schema([build_schema("first: str")[0], *middle, *build_schema("last: bool")])
    )
    assert build_schema(middle).equals(middle)


@pytest.mark.parametrize(
    "text",
    [
        *("", "a", "a:", ": str", "a: text", "a: str;", "a: str b: int", "a?: str"),
        *("a: [str", "a: {b: str; b: int}", "a: [str?]", "a: str; a: int"),
    ],
)
def test_what_is_not_written_so_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"column|expected"):
        build_schema(text)


class TestDeclared:
    def test_names_stand_for_shared_tables_and_those_above(self, tmp_path: Path) -> None:
        path = tmp_path / "schemas.toml"
        path.write_text(
            '# One.\n_N = ["n: int?"]\nROWS = ["COMMON", "_N", "last: bool"]\nLESS = ["ROWS", '
            '"why: str"]'
        )
        rows = build_schema(COMMON, "n: int?; last: bool")
        find = schema_getattr(path)
        assert find("ROWS").equals(rows, check_metadata=True)
        assert find("LESS").equals(build_schema(rows, "why: str"), check_metadata=True)
        assert find("COMMON").equals(COMMON, check_metadata=True)

    def test_a_table_that_is_nowhere(self, tmp_path: Path) -> None:
        (tmp_path / "schemas.toml").write_text('LATER = ["id: str"]')
        with pytest.raises(AttributeError, match=r"schemas\.toml has no table 'PAGES'"):
            schema_getattr(tmp_path / "schemas.toml")("PAGES")

    def test_a_table_below_is_not_known_yet(self, tmp_path: Path) -> None:
        (tmp_path / "schemas.toml").write_text('ROWS = ["LATER"]\nLATER = ["id: str"]')
        with pytest.raises(ValueError, match="found 'LATER'"):
            schema_getattr(tmp_path / "schemas.toml")

    def test_every_name_that_modules_use_is_declared(self) -> None:
        """Type checkers cannot tell, as they ask `__getattr__`."""
        used = set()
        for path in chain((ROOT / "evenruler").rglob("*.py"), (ROOT / "stages").rglob("*.py")):
            text = path.read_text(encoding="utf-8")
            if "schemas" in text:
                used |= names_of_schemas(ast.parse(text))
        assert len(used) > 100
        for module, name in used:
            assert hasattr(import_module(module), name), (module, name)


def is_of_schemas(node: ast.AST) -> bool:
    """Whether it is `schemas.SOMETHING`."""
    is_attribute = isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)
    return is_attribute and node.value.id == "schemas"


def names_of_schemas(tree: ast.Module) -> set[tuple[str, str]]:
    """Modules of schemas that a module imports, each with a name that is used of it."""
    nodes = list(ast.walk(tree))
    attributes = {node.attr for node in nodes if is_of_schemas(node)}
    used = set()
    for node in nodes:
        if not isinstance(node, ast.ImportFrom) or not node.module:
            continue
        names = {alias.name for alias in node.names}
        if node.module.endswith(".schemas"):
            used |= set(product([node.module], names))
        if "schemas" in names:
            used |= set(product([f"{node.module}.schemas"], attributes))
    return used
