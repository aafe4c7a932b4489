import pytest

from evenruler.instruments.saged.rows.english import asks_who, asks_whom, is_national, says_when


@pytest.mark.parametrize(
    ("nouns", "counted", "word"),
    [
        (["wool"], "", "What"),
        (["patient"], "", "Whom"),
        (["tourist"], "", "Whom"),
        (["shortlist"], "", "What"),
        (["buyer", "inventor"], "", "Whom"),
        (["buyer", "mill"], "", "Whom or what"),
        (["mill", "buyer"], "", "What"),
        (["thousand"], "people", "Whom"),
        (["thousand"], "mill", "What"),
        (["song"], "people", "What"),
    ],
)
def test_people_are_asked_for_with_whom(nouns, counted, word):
    assert asks_whom(nouns, counted) == word


def test_a_family_is_asked_for_as_people_but_may_be_of_languages():
    assert (asks_whom(["family"]), asks_who("family"), asks_who("poet")) == ("Whom", "What", "Who")


@pytest.mark.parametrize("word", ["Aurelian", "Chinese", "Iraqi", "French", "British", "Icelandic", "Hungarian"])
def test_adjectives_of_nations_keep_their_capital(word):
    assert is_national(word)


@pytest.mark.parametrize("word", ["Public", "Foolish", "Human", "Urban", "Rich", "Vegetarian", "Historic", "Young"])
def test_other_adjectives_do_not(word):
    assert not is_national(word)


@pytest.mark.parametrize(("noun", "when"), [("year", True), ("1902", True), ("90210", False), ("wool", False)])
def test_some_nouns_and_years_say_when(noun, when):
    assert says_when(noun) is when
