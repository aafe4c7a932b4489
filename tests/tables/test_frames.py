"""Frames one below the other, and which units are asked about."""

import pandas as pd
import pytest

from evenruler.tables import evenly_spread, stacked


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
