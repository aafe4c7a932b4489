"""The notation of columns."""

import pyarrow as pa
import pytest

from evenruler.tables.schemas import columns


def test_every_kind_required_and_nullable() -> None:
    found = columns(
        "a b: str; c: bool?; d: int; e: int32; f: int16; g: int8?; h: float?; i: float32",
        "j: [str]; k: [float32]?; l: [{begin end: int32; word: str?}]",
    )
    span = [("begin", pa.int32(), False), ("end", pa.int32(), False), ("word", pa.string(), True)]
    expected = [
        ("a", pa.string(), False),
        ("b", pa.string(), False),
        ("c", pa.bool_(), True),
        ("d", pa.int64(), False),
        ("e", pa.int32(), False),
        ("f", pa.int16(), False),
        ("g", pa.int8(), True),
        ("h", pa.float64(), True),
        ("i", pa.float32(), False),
        ("j", pa.list_(pa.string()), False),
        ("k", pa.list_(pa.float32()), True),
        ("l", pa.list_(pa.struct([pa.field(*field) for field in span])), False),
    ]
    assert found.equals(pa.schema([pa.field(*field) for field in expected]), check_metadata=True)


def test_columns_of_another_schema_keep_their_place() -> None:
    own = columns("id: str; n: int?")
    assert columns("first: str", own, "last: bool").equals(
        pa.schema([columns("first: str")[0], *own, *columns("last: bool")])
    )
    assert columns(own).equals(own)


@pytest.mark.parametrize(
    "text",
    [
        *(
            "",
            "a",
            "a:",
            ": str",
            "a: text",
            "a: str,",
            "a: str;",
            "a, b: str",
            "a  b: str",
            "a:: str",
            "a: str b: int",
        ),
        *("a: str ?", "a: ?", "a: str??", "a?: str", "a: []", "a: [str", "a: {b}", "a: {b: str; b: int}", "a: [str?]"),
        *("a: str; a: int", "1a: str", "a: Str"),
    ],
)
def test_what_is_not_written_so_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"column|expected"):
        columns(text)


def test_a_name_may_stand_once_whatever_it_comes_with() -> None:
    with pytest.raises(ValueError, match="'id' stands twice"):
        columns(columns("id: str"), "n id: int")
