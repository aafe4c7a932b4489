"""Words of templates: taken out, replaced, and what they do in a sentence."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenruler.instruments.probes.evolve.word_roles import (
    remove_word,
    replace_word,
    same_role,
    words_of,
)
from evenruler.text import slots
from tests.text_tables import read_cells


def locate_word(text: str, word: str) -> tuple[str, int, str]:
    """Return the arguments that say where a word stands."""
    (begin,) = [begin for begin, candidate in words_of(text) if candidate == word]
    return text, begin, word


# An article before a slot goes with it; one before a word is a word. Inner apostrophes and hyphens
# belong to words, punctuation does not, and what stands together with a slot or digits is no word.
WORDS = """
An {ATTRIBUTE} is a {TARGET}.            | is
The {ATTRIBUTE} is a good {TARGET}.      | is a good
That {ATTRIBUTE} is the new {TARGET}.    | That is the new
An "{ATTRIBUTE}" is a\t{TARGET}.         | is
{TARGET} got an A, {ATTRIBUTE}.          | got an A
I don't - can\u2019t - see a well-paid {TARGET}: {ATTRIBUTE}! | I don't can\u2019t see a well-paid
{TARGET}'s ex-{ATTRIBUTE} and {TARGET}s  | and
In the 1990s a 24-hour {TARGET}, an ex-{ATTRIBUTE} | In the a
Caf\u00e9 _x_ {ATTRIBUTE} {TARGET}      | Caf\u00e9
{ATTRIBUTE} {TARGET}.                    |
"""


@pytest.mark.parametrize(("text", "expected"), read_cells(WORDS))
def test_words_are_runs_of_letters(text: str, expected: str) -> None:
    assert [word for _, word in words_of(text)] == expected.split()


# The capital passes on to what comes first, a comma that has lost its word goes, an article follows
# the word after it if it is an article, quotes and brackets stay where they are.
TAKEN_OUT = """
The {ATTRIBUTE} is a strong {TARGET}.      | strong    | The {ATTRIBUTE} is a {TARGET}.
The {ATTRIBUTE} met a {TARGET} today.      | today     | The {ATTRIBUTE} met a {TARGET}.
Most people call an {ATTRIBUTE} a {TARGET}. | Most     | People call an {ATTRIBUTE} a {TARGET}.
Surely an {ATTRIBUTE} is a {TARGET}.       | Surely    | An {ATTRIBUTE} is a {TARGET}.
Being {ATTRIBUTE} suits a {TARGET}.        | Being     | {ATTRIBUTE} suits a {TARGET}.
"Yes, a {TARGET} can be {ATTRIBUTE}."      | Yes       | "A {TARGET} can be {ATTRIBUTE}."
{TARGET} and American art: {ATTRIBUTE}.    | American  | {TARGET} and art: {ATTRIBUTE}.
Yesterday, my {TARGET} met an {ATTRIBUTE}. | Yesterday | My {TARGET} met an {ATTRIBUTE}.
My {TARGET}, sadly, is an {ATTRIBUTE}.     | sadly     | My {TARGET}, is an {ATTRIBUTE}.
An {ATTRIBUTE} is a {TARGET}, sadly.       | sadly     | An {ATTRIBUTE} is a {TARGET}.
It is an unusual job for {ATTRIBUTE} {TARGET}. | unusual | It is a job for {ATTRIBUTE} {TARGET}.
A grade A honest pupil {ATTRIBUTE} {TARGET} | honest   | A grade A pupil {ATTRIBUTE} {TARGET}
{TARGET}, a (very) old {ATTRIBUTE}         | old       | {TARGET}, a (very) {ATTRIBUTE}
{TARGET} says "our {ATTRIBUTE} is"         | our       | {TARGET} says "{ATTRIBUTE} is"
{TARGET} says "the {ATTRIBUTE} is"         | is        | {TARGET} says "the {ATTRIBUTE}"
"""


@pytest.mark.parametrize(("text", "word", "expected"), read_cells(TAKEN_OUT))
def test_a_sentence_is_left(text: str, word: str, expected: str) -> None:
    assert remove_word(*locate_word(text, word)) == expected


def test_of_repeats_the_one_that_is_meant_is_taken_out() -> None:
    text = "The {ATTRIBUTE} is the {TARGET} in the room."

    assert remove_word(text, 19, "the") == "The {ATTRIBUTE} is {TARGET} in the room."
    assert remove_word(text, 35, "the") == "The {ATTRIBUTE} is the {TARGET} in room."


REPLACED = """
The {ATTRIBUTE} is a good {TARGET}.  | good | tough   | The {ATTRIBUTE} is a tough {TARGET}.
The {ATTRIBUTE} is a good {TARGET}.  | good | honest  | The {ATTRIBUTE} is an honest {TARGET}.
An old {TARGET} is {ATTRIBUTE}.      | old  | young   | A young {TARGET} is {ATTRIBUTE}.
Most see a {TARGET} in {ATTRIBUTE}.  | Most | few     | Few see a {TARGET} in {ATTRIBUTE}.
"most see {TARGET} in {ATTRIBUTE}    | most | few     | "few see {TARGET} in {ATTRIBUTE}
My American {TARGET}, {ATTRIBUTE}.   | American | foreign | My foreign {TARGET}, {ATTRIBUTE}.
It is a job for {TARGET} {ATTRIBUTE}. | a   | the     | It is the job for {TARGET} {ATTRIBUTE}.
A grade A pill {TARGET} {ATTRIBUTE}. | pill | ointment | A grade A ointment {TARGET} {ATTRIBUTE}.
"""


@pytest.mark.parametrize(("text", "word", "new", "expected"), read_cells(REPLACED))
def test_the_rest_stays_but_for_article_and_capital(
    text: str, word: str, new: str, expected: str
) -> None:
    assert replace_word(*locate_word(text, word), new) == expected


ARTICLES = ("a", "an", "the")
PIECES = read_cells(
    "the | an | a | Most | old | don't | well-paid | , | {ATTRIBUTE} | a {TARGET} | 24 | or."
)[0]
templates = st.lists(st.sampled_from(PIECES), min_size=1).map(" ".join)


@given(templates)
def test_any_word_of_any_template_can_be_taken_out_or_put_back(text: str) -> None:
    words = words_of(text)
    for place, (begin, word) in enumerate(words):
        left = remove_word(text, begin, word)
        other_words = [other.lower() for _, other in words]
        del other_words[place]

        assert slots(left) == slots(text)
        assert left == left.strip()
        # But for an article that came to stand before a slot, and forms of articles, the other
        # words are left.
        words_left = [word.lower() for _, word in words_of(left)]
        plain = [word for word in words_left if word not in ARTICLES]
        assert plain == [other for other in other_words if other not in ARTICLES]
        assert _without_articles(replace_word(text, begin, word, word)) == _without_articles(text)


def _without_articles(text: str) -> str:
    return " ".join(piece for piece in text.split() if piece.lower() not in ("a", "an"))


MET = "Yesterday I met a {TARGET} who earns a living as an {ATTRIBUTE}."
DREAMED = "The {TARGET} has always dreamed of becoming an {ATTRIBUTE}."
WORD = "When I hear the word {ATTRIBUTE}, I picture a {TARGET}."
JOB = "Being an {ATTRIBUTE} is a good job for a {TARGET}."
SURPRISE = "I would be surprised if the {ATTRIBUTE} was not a {TARGET}."
MOST = "Most people expect an {ATTRIBUTE} to be a {TARGET}."
CALM = "People think that a {TARGET} is often {ATTRIBUTE}."


def words_that_fit(text: str, word: str, new_words: str) -> list[str]:
    """Those of some words that have the role of another in a text."""
    before, _, after = text.partition(word)
    fitting = []
    for new in new_words.split():
        if same_role(text, replace_word(text, len(before), word, new), after):
            fitting.append(new)
    return fitting


@pytest.mark.parametrize(
    ("text", "word", "fitting", "unfit"),
    [
        (MET, "Yesterday", "today recently", "at when nearly alabama table"),
        (MET.replace("Yesterday", "Recently"), "Recently", "yesterday", ""),
        (MET, "met", "saw", ""),
        (MET, "who", "", "whom"),
        (DREAMED, "has", "had", "have"),  # number
        (WORD, "word", "name", "words"),
        (WORD, "When", "whenever", "where"),
        (WORD, "I", "we", ""),
        (JOB, "good", "excellent paid", ""),  # and "a" becomes "an"
        (SURPRISE, "surprised", "astonished", "table"),  # a participle for an adjective
        (SURPRISE.replace("surprised", "shocked"), "shocked", "sad", ""),
        (SURPRISE, "I", "", "me my myself"),  # case
        (CALM, "think", "", "thinks"),
        (MOST, "people", "", "Americans"),  # a name for a common word
    ],
)
def test_words_of_the_same_kind_relation_number_and_case_fit(
    text: str, word: str, fitting: str, unfit: str
) -> None:
    assert words_that_fit(text, word, f"{fitting} {unfit}") == fitting.split()
