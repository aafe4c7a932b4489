"""Frames one below the other, which units are asked about, numbers without last bits, and compared
up to them."""

import hashlib
import json
import math

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from evenruler.errors import UserError
from evenruler.tables import (
    concat_frames,
    evenly_spread,
    group_by_key,
    read_table,
    round_significant,
    row_hashes,
    without_last_bits,
    write_table,
)
from evenruler.tables.frames import (
    TOLERANCE,
    differing_rows,
    for_people,
    for_spreadsheets,
    from_spreadsheet,
    limit_tables,
)
from evenruler.tables.schemas import build_schema


class TestSpreadsheets:
    FORMULAS = ("=1+1", '=HYPERLINK("http://x")', "+1", "-1", "@SUM(A1)", "\t=1", "\r=1")

    def test_no_text_is_computed_and_numbers_stay(self):
        texts = [*self.FORMULAS, "a=1", "'x", ""]
        frame = pd.DataFrame({"text": texts, "number": [-1.5] * len(texts)})
        shown = for_spreadsheets(frame)
        assert shown["text"].tolist() == [*(f"'{text}" for text in self.FORMULAS), "a=1", "'x", ""]
        assert shown["number"].tolist() == frame["number"].tolist()

    def test_there_and_back(self):
        texts = [*self.FORMULAS, "a=1", "'tis", "", "'"]
        written = for_spreadsheets(pd.DataFrame({"text": texts}))["text"]
        assert list(map(from_spreadsheet, written)) == texts
        assert list(map(from_spreadsheet, texts)) == texts  # where a spreadsheet dropped the quote


@pytest.mark.parametrize(
    ("most", "chosen"),
    [
        (1, "e"),
        (2, "cg"),
        (3, "beh"),
        (9, "abcdefghi"),
    ],
)
def test_units_are_spread_over_the_list(most: int, chosen: str) -> None:
    assert "".join(evenly_spread("abcdefghi", most)) == chosen


def test_no_unit_is_taken_twice_whatever_the_number() -> None:
    units = [str(i) for i in range(40)]
    for most in range(1, 41):
        assert len(set(evenly_spread(units, most))) == most


def test_tables_are_cut_down_to_the_same_units() -> None:
    words = pd.DataFrame({"unit": list("abcd")})
    texts = pd.DataFrame({"unit": list("ddccba"), "n": range(6)})
    untouched = pd.DataFrame({"unit": ["a"]})
    limited = limit_tables(
        {"words": words, "texts": texts, "others": untouched}, ("words", "texts"), "unit", 2
    )
    assert limited["words"]["unit"].tolist() == ["b", "d"]
    assert limited["texts"]["n"].tolist() == [0, 1, 4]
    assert limited["others"] is untouched


class TestStacked:
    NONE = pd.DataFrame({"a": [], "b": []}, dtype=object)

    def test_what_has_no_rows_changes_no_type(self) -> None:
        first = pd.DataFrame({"a": [1], "b": [0.5]})
        second = pd.DataFrame({"a": [2], "b": [1.5]})
        frame = concat_frames([self.NONE, first, self.NONE, second])
        assert frame.to_dict("list") == {"a": [1, 2], "b": [0.5, 1.5]}
        assert [str(kind) for kind in frame.dtypes] == ["int64", "float64"]
        assert frame.index.tolist() == [0, 1]

    def test_where_none_has_rows_the_first_gives_its_columns(self) -> None:
        stacked = concat_frames(frame for frame in (self.NONE, pd.DataFrame(columns=["c"])))
        assert stacked.columns.tolist() == ["a", "b"]
        assert concat_frames([]).empty


UNITS = pd.DataFrame(
    {"id": ["b", "a", "c"], "unit": ["x", "x", "y"], "text": ["two", "one", "three"]}
).assign(keying=[1, -1, None], order=[["1", "2"], ["2"], []], content_sha256="never read")


def test_the_rows_of_a_unit_are_hashed_whole_but_for_their_own_checksum() -> None:
    def sha256(content: object) -> str:
        text = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        return hashlib.sha256(text.encode()).hexdigest()

    first = {"id": "a", "keying": -1.0, "order": ["2"], "text": "one", "unit": "x"}
    second = {"id": "b", "keying": 1.0, "order": ["1", "2"], "text": "two", "unit": "x"}
    alone = {"id": "c", "keying": None, "order": [], "text": "three", "unit": "y"}
    both, lone = [sha256([first]), sha256([second])], [sha256([alone])]
    expected = {"x": sha256(both)[:16], "y": sha256(lone)[:16]}
    assert row_hashes(UNITS, ["unit"]).to_dict() == expected
    assert row_hashes(UNITS[::-1], ["unit"]).to_dict() == expected


def test_another_text_under_the_same_checksum_is_another_row() -> None:
    before = row_hashes(UNITS, ["unit"])
    hashes = row_hashes(UNITS.assign(text=["two", "One", "three"]), ["unit"])
    assert hashes["x"] != before["x"]
    assert hashes["y"] == before["y"]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (0.123456789, 0.123457),
        (1 / 3 + 3e-15, 0.333333),
        (2.7e-15, 0.0),
        (1.234567890e-8, 1.2346e-8),
        (math.inf, math.inf),
    ],
)
def test_six_digits_and_twelve_decimals(value: float, expected: float) -> None:
    assert round_significant(value) == expected


def test_zero_is_never_negative() -> None:
    assert math.copysign(1, round_significant(-0.0)) == 1


def test_only_columns_of_floats_are_touched() -> None:
    table = pd.DataFrame({"text": ["a", "b"], "n": [1234567, 2], "value": [1 / 3, None]})
    pd.testing.assert_frame_equal(
        without_last_bits(table), table.assign(value=[0.333333, None]), check_exact=True
    )


def test_what_people_read_is_rounded_once() -> None:
    content = {
        "a": {
            "value": 0.924725,
            "p": 0.00216,
            "p_effect": 0.012987,
            "n": 43,
            "verdict": "x",
            "low": -0.0001,
        },
        "list": [1.23456, None, True],
    }
    assert for_people(content) == {
        "a": {"value": 0.925, "p": 0.0022, "p_effect": 0.013, "n": 43, "verdict": "x", "low": 0.0},
        "list": [1.235, None, True],
    }


SCHEMA = build_schema("id text: str; pole: int8; value: float?; note: str?")

ROWS = [
    {"id": "b", "text": "He said “no”.", "pole": -1, "value": 0.5, "note": None},
    {"id": "a", "text": "", "pole": 1, "value": None, "note": "first"},
    {"id": "c", "text": "line\nbreak", "pole": 1, "value": -2.25, "note": None},
]
IN_PIECES = pd.concat([pd.DataFrame(ROWS[:1]), pd.DataFrame(ROWS[1:])])


@pytest.fixture
def path(tmp_path):
    return tmp_path / "deep" / "table.parquet"


def names_beside(path):
    if not path.parent.exists():
        return []
    return sorted(other.name for other in path.parent.iterdir())


class TestRoundTrip:
    def test_rows_come_back_sorted_by_id(self, path):
        write_table(ROWS, SCHEMA, path)
        assert read_table(path).to_pylist() == [ROWS[1], ROWS[0], ROWS[2]]
        assert names_beside(path) == ["table.parquet"]

    def test_not_a_number_is_null(self, path):
        write_table([ROWS[0] | {"value": float("nan")}], SCHEMA, path)
        assert read_table(path).column("value").to_pylist() == [None]


class TestIdentity:
    SCHEMA = build_schema("measure method id: str")

    def test_an_id_may_stand_in_several_methods_and_measures(self, path):
        rows = [
            {"id": "a", "method": method, "measure": measure}
            for method, measure in (
                ("verbaliser", "neutral"),
                ("sentence", "neutral"),
                ("verbaliser", "contradiction"),
            )
        ]
        write_table(rows, self.SCHEMA, path)
        assert read_table(path).to_pylist() == [rows[1], rows[2], rows[0]]

    def test_but_in_each_once(self, path):
        row = {"id": "a", "method": "sentence", "measure": "neutral"}
        with pytest.raises(ValueError, match="an id and method and measure stands twice"):
            write_table([row, row], self.SCHEMA, path)

    def test_two_instruments_may_ask_the_same(self, path):
        schema = build_schema("instrument id: str; value: float")
        rows = [
            {"instrument": name, "id": "0 right", "value": value}
            for name, value in (("phq-9", 0.5), ("gad-7", 0.25))
        ]
        write_table(rows, schema, path)
        assert read_table(path).to_pylist() == [rows[1], rows[0]]
        with pytest.raises(ValueError, match="an id and instrument stands twice"):
            write_table([*rows, rows[0]], schema, path)


class TestSameRowsSameBytes:
    def test_in_any_order(self, tmp_path):
        write_table(ROWS, SCHEMA, tmp_path / "one.parquet")
        write_table(ROWS[::-1], SCHEMA, tmp_path / "other.parquet")
        assert (tmp_path / "one.parquet").read_bytes() == (tmp_path / "other.parquet").read_bytes()

    @pytest.mark.parametrize(
        "frame",
        [
            pytest.param(pd.DataFrame(ROWS, index=[7, 8, 9]).iloc[::-1], id="index"),
            pytest.param(IN_PIECES.convert_dtypes(dtype_backend="pyarrow"), id="arrow-in-pieces"),
        ],
    )
    def test_from_a_frame(self, tmp_path, frame):
        write_table(ROWS, SCHEMA, tmp_path / "one.parquet")
        write_table(frame, SCHEMA, tmp_path / "other.parquet")
        assert (tmp_path / "one.parquet").read_bytes() == (tmp_path / "other.parquet").read_bytes()

    @pytest.mark.parametrize("rows", [ROWS, pd.DataFrame(ROWS)], ids=["rows", "frame"])
    def test_no_library_leaves_its_metadata(self, path, rows):
        write_table(rows, SCHEMA.with_metadata({"pandas": "{}", "huggingface": "{}"}), path)
        assert read_table(path).schema.metadata is None
        # pyarrow's own copy of the schema is in every file that it writes.
        assert set(pq.read_metadata(path).metadata) == {b"ARROW:schema"}


def without(row, *names):
    return {name: value for name, value in row.items() if name not in names}


# (rows, what the message holds)
REFUSED = [
    pytest.param([without(row, "note") for row in ROWS], "'note', 'pole'", id="column-missing"),
    pytest.param([row | {"more": 1} for row in ROWS], "'more'", id="column-too-many"),
    pytest.param(pd.DataFrame(ROWS).drop(columns="note"), "'note'", id="column-missing-in-a-frame"),
    pytest.param([ROWS[0] | {"text": None}, ROWS[1]], "column 'text' holds 1 null", id="null"),
    pytest.param(
        [ROWS[0], ROWS[1], ROWS[0] | {"text": "other"}], "an id stands twice", id="id-twice"
    ),
    pytest.param([ROWS[0] | {"pole": 0.5}], r"0\.5", id="fraction-for-a-whole-number"),
]


class TestWhatIsRefused:
    @pytest.mark.parametrize(("rows", "held"), REFUSED)
    def test_and_nothing_is_written(self, path, rows, held):
        with pytest.raises(ValueError, match=held):
            write_table(rows, SCHEMA, path)
        assert names_beside(path) == []

    def test_a_later_row_with_other_columns(self, path):
        with pytest.raises(ValueError, match="expected"):
            write_table([ROWS[0], without(ROWS[1], "note")], SCHEMA, path)

    def test_a_full_disk_leaves_the_older_file(self, path, monkeypatch):
        def write_half(table, where, **options):
            where.write_bytes(b"PAR1 and then")
            raise OSError("No space left on device")

        write_table(ROWS, SCHEMA, path)
        before = path.read_bytes()
        monkeypatch.setattr(pq, "write_table", write_half)
        with pytest.raises(OSError, match="No space left"):
            write_table(ROWS[:1], SCHEMA, path)
        assert path.read_bytes() == before
        assert names_beside(path) == ["table.parquet"]


class TestReading:
    def test_a_file_that_is_not_there(self, path):
        with pytest.raises(UserError) as caught:
            read_table(path)
        assert str(caught.value) == f"{path}: not built yet; run `make repro`"

    @pytest.mark.parametrize("n_bytes", [0, 9, 500])
    def test_a_damaged_file_is_named(self, n_bytes, path):
        """It is cut off there."""
        write_table(ROWS, SCHEMA, path)
        path.write_bytes(path.read_bytes()[:n_bytes])
        with pytest.raises(UserError) as caught:
            read_table(path)
        line = str(caught.value)
        assert line.startswith(f"{path}: no readable Parquet (")
        assert line.endswith("); get it again; what a stage wrote, `make repro` restores")

    def test_a_text_that_is_no_utf_8_is_named(self, path):
        """Arrow reads it, and pandas would fail later."""
        texts = pa.array([b"\xff\xfe"], pa.binary()).cast(pa.string(), safe=False)
        path.parent.mkdir()
        pq.write_table(pa.table({"text": texts}), path)
        with pytest.raises(UserError, match="no readable Parquet"):
            read_table(path)


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (
            [0.5, 0.5, None, None, math.nan],
            [0.5014, 0.5016, None, 0.5, math.nan],
            [False, True, False, True, False],
        ),
        (["a", "a", None], ["a", "b", ""], [False, True, True]),
        (
            [[0.5], [0.5], [0.5], None],
            [[0.501], [0.502], [0.5, 0.5], None],
            [False, True, True, False],
        ),
        (
            [{"n": 1, "w": "a"}, {"n": 1, "w": "a"}],
            [{"n": 1, "w": "a"}, {"n": 1, "w": "b"}],
            [False, True],
        ),
    ],
)
def test_rows_differ_where_more_than_the_last_digit_does(old, new, expected) -> None:
    assert differing_rows(pa.array(old), pa.array(new), TOLERANCE).tolist() == expected


def test_keys_and_values_stay_in_their_order() -> None:
    grouped = group_by_key([("b", 2), ("a", 1), ("b", 1), ("b", 2)])
    assert list(grouped.items()) == [("b", [2, 1, 2]), ("a", [1])]
    assert group_by_key([]) == {}
