"""Values by key."""

from evenruler.grouping import grouped


def test_keys_and_values_stay_in_their_order() -> None:
    found = grouped([("b", 2), ("a", 1), ("b", 1), ("b", 2)])
    assert list(found.items()) == [("b", [2, 1, 2]), ("a", [1])]
    assert grouped([]) == {}
