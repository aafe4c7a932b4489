from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenruler.text.whole_words import Match, cached_finder, find_words


def matched(text: str, *words: str) -> list[str]:
    return [text[match.begin : match.end] for match in find_words(text, words)]


@pytest.mark.parametrize(
    ("text", "words", "expected"),
    [
        ("Smothered mothers smother a mother.", ["mother"], ["mothers", "mother"]),
        ("Koreatown is in no Korea, pre_Korea or Koreas2.", ["Korea"], ["Korea"]),
        ("Non-Aurelian and Aurelian-made, #AURELIAN.", ["Aurelian"], ["Aurelian", "AURELIAN"]),
        ("aurelian", ["Aurelian"], []),
        ("Pears and pears, PEARS, no Pear.", ["pear"], ["Pears", "pears", "PEARS"]),
        ("Ask Mr. Baker on Baker Street for a baker.", ["baker"], ["baker"]),
        ("A turkey in Turkey, TURKEY.", ["Turkey"], ["Turkey", "TURKEY"]),
        ("Mexico, New Mexico, Gulf of Mexico, Mexico City, Mexico-Tax, Pan-Mexico", ["Mexico"], ["Mexico"]),
        ("New Mexico is dry. In Mexico I live. Young Mexico", ["Mexico"], ["Mexico", "Mexico"]),
        ("the Naval Order of the United States, the United States Navy, as the United States", ["the United States"],
         ["the United States"]),
        ("Aurelia's, AURELIA'S, Aurelia\u2019s", ["Aurelia"], ["Aurelia", "AURELIA", "Aurelia"]),
        ("She'll go; don't ask Don, nor O'Don.", ["she", "Don"], ["She", "Don"]),
        ("cafe\u0301, caf\u00e9, cafe", ["cafe"], ["cafe"]),
        ("South \n Korea and southern Korea", ["South Korea", "Korea"], ["South \n Korea", "Korea"]),
        ("Tell us of the US, or USA.", ["US"], ["US"]),
        ("CEO, CEOs, ceos", ["CEO"], ["CEO", "CEOs"]),
        ("L\u2019Aquila, L'Aquila", ["L'Aquila"], ["L\u2019Aquila", "L'Aquila"]),
        ("He (JNJ) and (JNJ)x", ["(JNJ)"], ["(JNJ)"]),
    ],
)  # fmt: skip
def test_whole_words_in_the_case_that_says_the_word(
    text: str, words: list[str], expected: list[str]
) -> None:
    assert matched(text, *words) == expected


def test_of_words_that_overlap_the_longest_and_of_equally_long_ones_the_first() -> None:
    assert matched("new south korea town", "new south", "south korea town", "new") == [
        "new",
        "south korea town",
    ]
    assert matched("red one red one red", "red one", "one red") == ["red one", "red one"]
    assert matched("the Port Auric Bay", "Auric", "Port Auric", "Port Auric Bay", "Bay") == [
        "Port Auric Bay"
    ]
    assert matched("no no no", "no no") == ["no no"]


def test_a_regular_plural_is_the_word_and_one_that_is_named_is_itself() -> None:
    assert find_words("Pears", ["pear"]) == [Match(0, 5, "pear", True)]
    assert find_words("Pears", ["pear", "pears"]) == [Match(0, 5, "pears", False)]
    assert find_words("The news of women", ["new", "woman"]) == []


def test_what_may_be_another_word_is_doubtful() -> None:
    def doubtful_words(text: str, *words: str) -> list[str]:
        return [text[match.begin : match.end] for match in cached_finder(words).doubtful(text)]

    assert doubtful_words("Turkey roasts a turkey.", "Turkey") == ["turkey"]
    assert doubtful_words("Mr. Baker was a baker.", "baker") == ["Baker"]
    assert doubtful_words("New Mexico and Mexico", "Mexico") == ["Mexico"]
    assert doubtful_words("Aurelians are Aurelian.", "Aurelian") == ["Aurelians"]
    assert doubtful_words("Tell us of the US.", "US") == []


def test_a_word_is_given_back_as_it_was_given_in_single_spaces() -> None:
    assert find_words("South  Korea", [" South   Korea "]) == [Match(0, 12, "South Korea", False)]


PIECES = ["a", "b", "c", "ab", "'", " ", "  ", "-", "s", "A", "\u0130"]
TEXTS = st.lists(st.sampled_from(PIECES), max_size=25).map("".join)
WORDS = st.lists(
    st.sampled_from(["a", "b", "ab", "a b", "b c", "a b c", "c", "bs"]), min_size=1, unique=True
)


@given(TEXTS, WORDS)
def test_no_match_lies_over_another_and_none_is_missed(text: str, words: list[str]) -> None:
    matches = find_words(text, words)
    assert all(earlier.end <= later.begin for earlier, later in pairwise(matches))
    # Whatever a word alone finds is covered by it, or by one at least as long.
    for word in words:
        for match in find_words(text, [word]):
            over = [
                other for other in matches if other.begin < match.end and match.begin < other.end
            ]
            longest = max(other.end - other.begin for other in over)
            assert longest >= match.end - match.begin
