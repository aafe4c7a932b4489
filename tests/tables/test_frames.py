"""Frames one below the other, which units are asked about, and numbers without their last bits."""

import hashlib
import json
import math

import pandas as pd
import pytest

from evenruler.tables import evenly_spread, rounded, rows_of, stacked, without_last_bits
from evenruler.tables.frames import for_people


@pytest.mark.parametrize(("most", "chosen"), [(1, "e"), (2, "cg"), (3, "beh"), (9, "abcdefghi"), (20, "abcdefghi")])
def test_units_are_spread_over_the_list(most: int, chosen: str) -> None:
    assert "".join(evenly_spread("abcdefghi", most)) == chosen


def test_no_unit_is_taken_twice_whatever_the_number() -> None:
    for most in range(1, 41):
        assert len(set(evenly_spread([str(i) for i in range(40)], most))) == most


class TestStacked:
    NONE = pd.DataFrame({"a": pd.Series([], dtype=object), "b": pd.Series([], dtype=object)})

    def test_what_has_no_rows_changes_no_type(self) -> None:
        found = stacked(
            [self.NONE, pd.DataFrame({"a": [1], "b": [0.5]}), self.NONE, pd.DataFrame({"a": [2], "b": [1.5]})]
        )
        assert found.to_dict("list") == {"a": [1, 2], "b": [0.5, 1.5]}
        assert [str(kind) for kind in found.dtypes] == ["int64", "float64"]
        assert found.index.tolist() == [0, 1]

    def test_where_none_has_rows_the_first_gives_its_columns(self) -> None:
        found = stacked(frame for frame in (self.NONE, pd.DataFrame(columns=["c"])))
        assert found.columns.tolist() == ["a", "b"]
        assert stacked([]).empty


ROWS = pd.DataFrame({"id": ["b", "a", "c"], "unit": ["x", "x", "y"], "text": ["two", "one", "three"]}).assign(
    keying=[1, -1, None], order=[["1", "2"], ["2"], []], content_sha256="never read"
)


def test_the_rows_of_a_unit_are_hashed_whole_but_for_their_own_checksum() -> None:
    def sha256(content: object) -> str:
        told = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        return hashlib.sha256(told.encode()).hexdigest()

    one = {"id": "a", "keying": -1.0, "order": ["2"], "text": "one", "unit": "x"}
    other = {"id": "b", "keying": 1.0, "order": ["1", "2"], "text": "two", "unit": "x"}
    alone = {"id": "c", "keying": None, "order": [], "text": "three", "unit": "y"}
    expected = {"x": sha256([sha256([one]), sha256([other])])[:16], "y": sha256([sha256([alone])])[:16]}
    assert rows_of(ROWS, ["unit"]).to_dict() == expected
    assert rows_of(ROWS[::-1], ["unit"]).to_dict() == expected


def test_another_text_under_the_same_checksum_is_another_row() -> None:
    found, before = rows_of(ROWS.assign(text=["two", "One", "three"]), ["unit"]), rows_of(ROWS, ["unit"])
    assert (found["x"] == before["x"], found["y"] == before["y"]) == (False, True)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (0.123456789, 0.123457),
        (-0.0123456789, -0.0123457),
        (123456.789, 123457.0),
        (1234567.0, 1234570.0),
        (1 / 3 + 3e-15, 0.333333),
        (2.7e-15, 0.0),
        (1.234567890e-8, 1.2346e-8),
        (2.0, 2.0),
        (math.inf, math.inf),
    ],
)
def test_six_digits_and_twelve_decimals(value: float, expected: float) -> None:
    assert rounded(value) == expected


@pytest.mark.parametrize("value", [-0.0, -3e-18])
def test_zero_is_never_negative(value: float) -> None:
    assert math.copysign(1, rounded(value)) == 1


def test_not_a_number_stays_one() -> None:
    assert math.isnan(rounded(math.nan))


def test_only_columns_of_floats_are_touched() -> None:
    table = pd.DataFrame({"text": ["a", "b"], "n": [1234567, 2], "value": [1 / 3, None]})
    found = without_last_bits(table)
    assert list(found.columns) == list(table.columns)
    assert (found["text"].tolist(), found["n"].tolist()) == (["a", "b"], [1234567, 2])
    assert found["value"].tolist()[0] == 0.333333
    assert found["value"].isna().tolist() == [False, True]


def test_what_people_read_is_rounded_once() -> None:
    content = {
        "a": {"value": 0.924725, "p": 0.00216, "p_effect": 0.012987, "n": 43, "verdict": "x", "low": -0.0001},
        "list": [1.23456, None, True],
    }
    assert for_people(content) == {
        "a": {"value": 0.925, "p": 0.0022, "p_effect": 0.013, "n": 43, "verdict": "x", "low": 0.0},
        "list": [1.235, None, True],
    }
