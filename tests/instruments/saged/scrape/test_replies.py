"""Lists in replies of language models."""

import pytest

from evenruler.instruments.saged.scrape.keyword_search import (
    parse_list,
)


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        ("tide, wave , Port Amber", ["tide", "wave", "Port Amber"]),
        ("tide; wave.", ["tide", "wave"]),
        ("tide\nwave\n\ncurrent\n", ["tide", "wave", "current"]),
        ('["tide", "Port Amber"]', ["tide", "Port Amber"]),
        ("Sure! ```python\nwords = ['tide',\n 'wave']\n```", ["tide", "wave"]),
        ("['tide', 'wave'", ["tide", "wave"]),
        ("[tide]", ["tide"]),
        ("1. Tide\n2) wave\n(3) current", ["Tide", "wave", "current"]),
        ("- **Tide**\n- *wave*\n- `current`", ["Tide", "wave", "current"]),
        ("\u2022 tide", ["tide"]),
        ("tide, and wave", ["tide", "wave"]),
        ("Tide, tide, TIDE", ["Tide"]),
        (
            "U.S. law, people's tide, Jean-Luc, A & B",
            ["U.S. law", "people's tide", "Jean-Luc", "A & B"],
        ),
        ("\u201ctide\u201d, \u2018wave\u2019", ["tide", "wave"]),
    ],
)
def test_a_list_is_read_in_many_forms(reply, words) -> None:
    assert parse_list(reply)[0] == words


@pytest.mark.parametrize(
    ("reply", "refused"),
    [
        ("Tides", ("Tides", "no list")),
        ("Here are some of many:\ntide", ("Here are some of many:", "more than 4 words")),
        ("- tide\nI hope that helps", ("I hope that helps", "a sentence")),
        ("- tide\n- wave: it moves", ("- wave: it moves", "marks that no term has")),
        ("tide, I can", ("I can", "a sentence")),
        ("tide, it's wet", ("it's wet", "a sentence")),
        ("tide, etc.", ("etc.", "a sentence")),
        ("tide, one two three four five", ("one two three four five", "more than 4 words")),
        ("tide, " + 41 * "x", (40 * "x", "longer than 40 characters")),
        ("tide, 1990", ("1990", "no word")),
        ("tide, x", ("x", "no word")),
        ("tide, __import__('os')", ("__import__('os')", "marks that no term has")),
    ],
)
def test_what_is_no_entry_is_refused_with_the_reason(reply, refused) -> None:
    words, refusals = parse_list(reply)
    assert refusals == [refused]
    assert words in ([], ["tide"])
