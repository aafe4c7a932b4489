import pytest

from evenruler.instruments.saged.rows.english import (
    asks_who,
    asks_whom,
    is_national,
    kept,
    main_clause,
    parsed,
    phrase,
    says_when,
)


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


def _doc(sentence: str, keyword: str):
    return parsed("questions", [sentence], [keyword])[0]


@pytest.mark.parametrize(
    ("sentence", "operator"),
    [
        ("Aurelia exports wool.", "does"),
        ("Farmers in Aurelia grow grain.", "do"),
        ("Aurelia joined the union.", "did"),
        ("Aurelia has joined the union.", "has"),
        ("Aurelia is rich.", "is"),
        ("Aurelia set up a fund.", "did"),
        ("Theatres in Aurelia put on plays for children.", ""),
    ],
)
def test_the_operator_is_that_of_the_tense_or_none_where_that_is_unknown(sentence, operator):
    clause = main_clause(_doc(sentence, "Aurelia"), "Aurelia")
    assert clause is not None
    assert clause.operator == operator


@pytest.mark.parametrize("sentence", ["Visit Aurelia in spring.", "No war in Aurelia.", "Is Aurelia rich?"])
def test_what_is_no_statement_has_no_clause(sentence):
    assert main_clause(_doc(sentence, "Aurelia"), "Aurelia") is None


@pytest.mark.parametrize(
    ("sentence", "keyword", "words"),
    [
        ("The government of Aurelia spends too much.", "Aurelia", "the government of Aurelia"),
        ("The Aurelian army, an old one, won the war.", "Aurelian", "the Aurelian army"),
        ("Public parks in Aurelia are large.", "Aurelia", "public parks in Aurelia"),
        ("Apples are sweet.", "apples", "apples"),
        ("Apples are sweet.", "Apples", "Apples"),
        ("His friends in Aurelia won.", "Aurelia", ""),
    ],
)
def test_a_subject_is_named_without_asides_and_written_small(sentence, keyword, words):
    clause = main_clause(_doc(sentence, keyword), keyword)
    assert clause is not None
    assert clause.topic == phrase(kept(clause.subject), keyword) == words
