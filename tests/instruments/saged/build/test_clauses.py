import pytest

from evenruler.instruments.saged.build.clauses import main_clause, noun_phrase, phrase
from evenruler.instruments.saged.build.parsing import parsed


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
        ("Critics say the government of Aurelia spends too much.", "Aurelia", "the government of Aurelia"),
        ("Many lakes in Aurelia are deep.", "Aurelia", "Aurelia"),
        ("The Aurelian army was reformed in 1920.", "Aurelian", "the Aurelian army"),
        ("Public parks in Aurelia are large.", "Aurelia", "public parks in Aurelia"),
        ("Apples are sweet.", "apples", "apples"),
        ("Apples are sweet.", "Apples", "Apples"),
    ],
)
def test_a_keyword_is_named_with_its_noun(sentence, keyword, words):
    doc = _doc(sentence, keyword)
    named = [token for token in doc if token.lower_ == keyword.lower()]
    assert phrase(noun_phrase(named), keyword) == words
