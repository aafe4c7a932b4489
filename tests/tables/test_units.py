"""Which units are asked about."""

import pytest

from evenruler.tables import evenly_spread


@pytest.mark.parametrize(("most", "chosen"), [(1, "e"), (2, "cg"), (3, "beh"), (9, "abcdefghi"), (20, "abcdefghi")])
def test_units_are_spread_over_the_list(most: int, chosen: str) -> None:
    assert "".join(evenly_spread("abcdefghi", most)) == chosen


def test_no_unit_is_taken_twice_whatever_the_number() -> None:
    for most in range(1, 41):
        assert len(set(evenly_spread([str(i) for i in range(40)], most))) == most
