import pytest

from evenruler.text.articles import article_for


@pytest.mark.parametrize(
    ("word", "article"),
    [
        ("nurse", "a"),
        ("engineer", "an"),
        ("actor", "an"),
        ("hour", "an"),
        ("honest man", "an"),
        ("heir", "an"),
        ("housekeeper", "a"),
        ("university", "a"),
        ("European", "a"),
        ("unionist", "a"),
        ("one-time actor", "a"),
        ("unemployed man", "an"),
        ("umpire", "an"),
        ("CEO", "a"),
        ("MRI", "an"),
        ("MP", "an"),
        ("HR manager", "an"),
        ("FBI agent", "an"),
        ("NASA engineer", "a"),
        ("US citizen", "a"),
        ("X-ray", "an"),
        ("flight attendant", "a"),
        ("office clerk", "an"),
    ],
)
def test_by_sound(word, article):
    assert article_for(word) == article


@pytest.mark.parametrize("word", ["8-year-old", "18-year-old", "80-year-old", "usher"])
def test_words_that_inflect_gets_wrong(word):
    assert article_for(word) == "an"
