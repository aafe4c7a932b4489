import pytest

from evenruler.instruments.saged.rows.english import is_national, is_person, parsed


@pytest.mark.parametrize(("noun", "person"), [("poet", True), ("tourist", True), ("shortlist", False), ("mill", False)])
def test_nouns_of_people(noun, person):
    assert is_person(noun) is person


def test_a_family_may_be_of_languages():
    assert not is_person("family")


@pytest.mark.parametrize("word", ["Aurelian", "Chinese", "Iraqi", "French", "British", "Icelandic", "Hungarian"])
def test_adjectives_of_nations_keep_their_capital(word):
    assert is_national(word)


@pytest.mark.parametrize("word", ["Public", "Foolish", "Human", "Urban", "Rich", "Vegetarian", "Historic", "Young"])
def test_other_adjectives_do_not(word):
    assert not is_national(word)


def test_a_name_that_the_parser_does_not_know_leaves_the_verb_a_verb():
    (doc,) = parsed(["Aurelia exports wool."], ["Aurelia"])
    assert [(token.text, token.tag_, token.dep_) for token in doc][:2] == [
        ("Aurelia", "NNP", "nsubj"),
        ("exports", "VBZ", "ROOT"),
    ]
