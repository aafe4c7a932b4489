"""Which sentences become items."""

from collections import Counter

from evenruler.instruments.saged.rows.sampling import balanced_sample

KEYWORDS = ["French"] * 10 + ["Paris"] * 3 + ["Seine"]
ITEMS = list(range(len(KEYWORDS)))


def drawn(most: int, seed: int = 0) -> Counter:
    return Counter(KEYWORDS[item] for item in balanced_sample(ITEMS, KEYWORDS, most, seed))


def test_keywords_take_turns_until_one_has_no_more() -> None:
    assert drawn(3) == {"French": 1, "Paris": 1, "Seine": 1}
    assert drawn(7) == {"French": 3, "Paris": 3, "Seine": 1}
    assert drawn(12) == {"French": 8, "Paris": 3, "Seine": 1}


def test_where_there_are_fewer_all_are_taken_once() -> None:
    assert sorted(balanced_sample(ITEMS, KEYWORDS, 100, 0)) == ITEMS
    assert balanced_sample([], [], 5, 0) == []


def test_more_keep_what_fewer_gave_and_another_seed_draws_others() -> None:
    few, many = (balanced_sample(ITEMS, KEYWORDS, most, 1) for most in (5, 9))
    assert many[:5] == few
    assert balanced_sample(ITEMS, KEYWORDS, 5, 2) != few
