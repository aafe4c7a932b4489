import pytest

from evenruler.text import fill, place

OFTEN, TERM = "{INTENSIFIER}", "{TERM}"


@pytest.mark.parametrize(
    ("template", "word", "term", "article", "expected"),
    [
        ("I {INTENSIFIER} do.", "very rarely", "", "agree", "very rarely"),
        ("{INTENSIFIER} I do.", "often", "", "agree", "Often"),
        ("{INTENSIFIER} I do.", "often", "", "literal", "often"),
        ("So I do {INTENSIFIER}", "never", "", "agree", "never"),
        ("{INTENSIFIER}", "never", "", "agree", "Never"),
        ("A {TERM} man {INTENSIFIER} is a {TERM}.", "often", "honest", "agree", "often"),
        ("A {TERM} man is {INTENSIFIER} an {TERM}.", "always", "calm", "agree", "always"),
        # The article before the word changes its form, and is none of it.
        ("It is a {INTENSIFIER} seen {TERM}.", "often", "x", "agree", "often"),
        ("It is an {INTENSIFIER} seen {TERM}.", "rarely", "x", "agree", "rarely"),
        ("An {INTENSIFIER} seen {TERM}.", "rarely", "x", "agree", "rarely"),
        ("It is an {INTENSIFIER} seen {TERM}.", "rarely", "x", "literal", "rarely"),
        ("{TERM} {INTENSIFIER}", "a bit", "an a", "agree", "a bit"),
        ("The Ana {INTENSIFIER} is.", "a", "", "agree", "a"),
    ],
)
def test_the_word_is_found_where_it_was_filled_in(template, word, term, article, expected) -> None:
    sentence = fill(template, {OFTEN: word, TERM: term}, article)

    begin, end = place(template, OFTEN, {TERM: term}, article, sentence)

    assert sentence[begin:end] == expected
    assert fill(template.split(OFTEN)[1], {TERM: term}, article).lower() == sentence[end:].lower()
