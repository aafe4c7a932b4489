import pytest

from evenruler.instruments.saged.rows.clauses import kept, main_clause, phrase
from evenruler.instruments.saged.rows.parsing import parsed


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
