import pytest

from evenruler.text.inflection import article_for, plural_of, regular_plural


@pytest.mark.parametrize(
    ("word", "plural"),
    [
        ("pear", "pears"),
        ("box", "boxes"),
        ("city", "cities"),
        ("boy", "boys"),
        ("Aurelian", "Aurelians"),
        ("Filipino", "Filipinos"),
        ("pear tree", "pear trees"),
        ("CEO", "CEOs"),
    ],
)
def test_a_regular_plural(word: str, plural: str) -> None:
    assert (regular_plural(word), plural_of(word)) == (plural, plural)


@pytest.mark.parametrize(
    "word", ["woman", "pears", "the United States", "Netherlands", "her", "he", "it", "his", "new", "sheep", "G20", "I"]
)
def test_no_regular_plural(word: str) -> None:
    assert regular_plural(word) == ""


@pytest.mark.parametrize(
    ("word", "plural"),
    [
        ("woman", "women"),
        ("grapes", "grapes"),
        ("the United States", "the United States"),
        ("Paris", "Paris"),
        ("French", "French"),
        ("Swiss", "Swiss"),
        ("Japanese", "Japanese"),
        ("bus", "buses"),
        ("glass", "glasses"),
        ("G20", "G20"),
        ("Johnson & Johnson (JNJ)", "Johnson & Johnson (JNJ)"),
    ],
)
def test_the_plural_of_any_word(word: str, plural: str) -> None:
    assert plural_of(word) == plural


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
