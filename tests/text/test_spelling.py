"""Characters that no reader sees, letters of two alphabets, and words that look alike."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenruler.text.spelling import (
    alphabet,
    describe_duplicates,
    find_duplicates,
    find_flaw,
    fold_text,
    invisible_character_flaw,
)

CYRILLIC_E = "r\u0435tiree"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (CYRILLIC_E, "U+0435 '\u0435' (CYRILLIC SMALL LETTER IE) in a word that is Latin"),
        (
            "\u0421\u0442ol",
            "U+0421 '\u0421' (CYRILLIC CAPITAL LETTER ES) in a word that is Latin",
        ),  # two of each: Latin wins
        ("cafe\u0301", "is not composed (NFC): U+0065 U+0301 in place of U+00E9"),
        ("old\u200bman", "U+200B (ZERO WIDTH SPACE), which no reader sees"),
        ("old\x00man", "U+0000, a control character"),
        ("old\u2028man", "U+2028 (LINE SEPARATOR), a line break"),
        ("old\u00a0man", "U+00A0 (NO-BREAK SPACE), another space than the usual one"),
        ("old\ud800", "U+D800, half of a character"),
        ("old\u0378", f"U+0378, which Unicode {unicodedata.unidata_version} does not have"),
        ("old\u3164man", "U+3164 'ㅤ' (HANGUL FILLER), which shows nothing"),
    ],
)
def test_what_is_refused_is_named_with_its_code_point(text: str, message: str) -> None:
    flaw = find_flaw(text)
    assert flaw is not None
    assert message in flaw.what
    assert find_flaw(f"It is {text} here.") is not None


@pytest.mark.parametrize(
    "text",
    [
        "café",
        "β-carotene",
        "нянька",
        "Tシャツ",
        "I \u2764\ufe0f it",
    ],
)
def test_words_of_one_alphabet_pass(text: str) -> None:
    assert find_flaw(text) is None


def test_line_breaks_pass_where_they_are_meant() -> None:
    assert find_flaw("One.\n\nTwo.", lines=True) is None
    assert find_flaw("One.\r\nTwo.", lines=True) is not None
    assert invisible_character_flaw("One.\nTwo\u00a0three.") is None
    assert invisible_character_flaw("One\x1b[2J") is not None


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("straße", "STRASSE"),
        ("nurse", "\uff4eurse"),  # fullwidth
        ("ﬁre", "fire"),
        ("coco", "\u0441\u043e\u0441\u043e"),  # Cyrillic alone
        ("\u2764", "\u2764\ufe0f"),
    ],
)
def test_what_a_reader_takes_for_one(first: str, second: str) -> None:
    assert find_duplicates(["doctor", first, "baker", second]) == (first, second)
    assert find_duplicates([second, first]) == (second, first)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("m", "rn"),
        ("O", "0"),
        (
            "\u03c3\u03b9",
            "\u03bf\u03b9",
        ),  # both Greek: its readers tell them apart, though sigma has the look of o
        ("н\u0435т", "het"),  # small letters, which do not look alike
        ("cafe", "café"),
    ],
)
def test_what_a_reader_tells_apart(first: str, second: str) -> None:
    assert find_duplicates([first, second]) is None


def test_the_second_is_named_by_its_codes_where_a_reader_cannot_tell() -> None:
    assert describe_duplicates("nurse", "Nurse") == "'nurse'"
    assert (
        describe_duplicates("coco", "\u0441\u043e\u0441\u043e")
        == "'coco' (also written '\\u0441\\u043e\\u0441\\u043e')"
    )


@given(st.text())
def test_a_text_is_the_same_as_itself_in_any_form_and_case(text: str) -> None:
    assert fold_text(fold_text(text)) == fold_text(text)
    assert find_duplicates([text, unicodedata.normalize("NFD", text)]) is not None
    assert find_duplicates([text, unicodedata.normalize("NFKC", text)]) is not None


@given(st.text())
def test_what_passes_has_no_hidden_character_and_is_composed(text: str) -> None:
    if find_flaw(text) is None:
        assert text.isprintable()
        assert unicodedata.is_normalized("NFC", text)
        assert all(unicodedata.category(character)[0] != "C" for character in text)


def test_every_look_alike_of_the_table_is_of_another_alphabet_than_its_letter() -> None:
    from evenruler.text.spelling import _look_alike_letters

    table = _look_alike_letters()
    assert table[ord("\u0435")] == "e"
    assert table[ord("\u03bf")] == "o"
    assert len(table) == 150
    for letter, latin in table.items():
        assert alphabet(chr(letter)) != alphabet(latin)
