from itertools import product

import pytest

from evenruler.errors import UserError
from evenruler.instruments.saged.scrape import scraping as module
from evenruler.instruments.saged.scrape.pages import file_sections
from evenruler.instruments.saged.scrape.scraping import (
    KeywordMatch,
    match_keywords,
    split_sentences,
)
from evenruler.text import english
from evenruler.text.english import spacy_pipeline


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # Abbreviations.
        (
            "Its capital, St. Marlow, is on the coast. The U.S. and the U.K. recognised it. Dr. A. "
            "Lind led it.",
            [
                "Its capital, St. Marlow, is on the coast.",
                "The U.S. and the U.K. recognised it.",
                "Dr. A. Lind led it.",
            ],
        ),
        (
            "Exports rose by 3.5 per cent, i.e. faster than expected. Prof. Smith et al. (2010) "
            "said so.",
            [
                "Exports rose by 3.5 per cent, i.e. faster than expected.",
                "Prof. Smith et al. (2010) said so.",
            ],
        ),
        (
            "It was founded c. 1200 by St. Oda. The No. 1 export is wool; timber is no. 2. The "
            "vote was close.",
            [
                "It was founded c. 1200 by St. Oda.",
                "The No. 1 export is wool; timber is no. 2.",
                "The vote was close.",
            ],
        ),
        (
            "In Jan. 1950 it joined the U.N. The vote was close.",
            ["In Jan. 1950 it joined the U.N.", "The vote was close."],
        ),
        (
            "It costs $5.20 vs. $4. See Fig. 3 for more.",
            ["It costs $5.20 vs. $4.", "See Fig. 3 for more."],
        ),
        # Quotes.
        (
            '"Who are we?" asked the king. Nobody answered! "We are Aurelians."',
            ['"Who are we?" asked the king.', "Nobody answered!", '"We are Aurelians."'],
        ),
        # Titles and entries of lists, footnotes.
        ("Politics and law\nIt has a king.\n\u2022 wool from the hills", ["It has a king."]),
        ("\u2022 A first point. It has two parts.", ["A first point.", "It has two parts."]),
        # White space.
        ("It is small.\nIt is  old.", ["It is small.", "It is old."]),
        ("", []),
        (" \n\n...\n", []),
    ],
)
def test_a_text_becomes_clean_sentences(text, expected):
    assert split_sentences(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # Titles, rules, tables, code.
        ("# Aurelia\n\nIt is old.\n\n## Wool\nIt sells.", ["It is old.", "It sells."]),
        ("== Economy ==\nIt sells wool.", ["It sells wool."]),
        (
            "Economy\n=======\nIt sells wool.\n\n* * *\n\nThe end comes.",
            ["It sells wool.", "The end comes."],
        ),
        ("| a | b |\n|---|---|\n| 1 | 2 |\n\nIt sells wool.", ["It sells wool."]),
        ("```\nIt is code.\n```\nIt sells wool.", ["It sells wool."]),
        # Lists and quotations.
        (
            "- wool is of hills.\n* timber\n1. A first point. It has two parts.\n2. A second item "
            "about\n  Aurelia.",
            [
                "wool is of hills.",
                "A first point.",
                "It has two parts.",
                "A second item about Aurelia.",
            ],
        ),
        ("> We are free,\n> said the king.", ["We are free, said the king."]),
        # Emphasis, links, footnotes, tags.
        (
            "**Aurelia** is *old* and _rich_ and ~~poor~~ `wide`.",
            ["Aurelia is old and rich and poor wide."],
        ),
        (
            'A [country](http://x.y "t")[1] of the north.[2][3][citation needed]',
            ["A country of the north."],
        ),
        ("![map](map.png) It is a <b>land</b>.[^1]", ["It is a land."]),
        ("[1]: http://foo.bar\n[^2]: A footnote on wool.", ["A footnote on wool."]),
        (
            "The file is name_of_it and 2 * 3 * 4 is 24.",
            ["The file is name_of_it and 2 * 3 * 4 is 24."],
        ),
        # Lines that are wrapped or set in.
        (
            "It lies on the northern coast of the  Lind\nSea, where\twinters are mild\r\nand "
            "summers short.",
            [
                "It lies on the northern coast of the Lind Sea, where winters are mild and summers "
                "short."
            ],
        ),
        ("    It is small.\n    It is old.", ["It is small.", "It is old."]),
    ],
)
def test_marks_are_taken_off_when_a_file_is_read(text, expected):
    sentences = []
    for _, body in file_sections(text.encode(), "a.txt"):
        sentences += split_sentences(body)
    assert sentences == expected


def test_a_long_paragraph_is_parsed_in_parts_without_loss(monkeypatch):
    text = " ".join(f"The people of town {number} keep sheep." for number in range(40))
    whole = split_sentences(text)
    monkeypatch.setattr(module, "_PARSED_AT_ONCE", 100)
    assert split_sentences(text) == whole
    assert len(whole) == 40
    words = ["x" * 250, "y" * 120 + "."]
    parts = split_sentences(" ".join(words))
    assert "".join(parts).replace(" ", "") == "".join(words)


CONCEPTS = {
    "France": ["French", "Paris", "New York"],
    "Lindia": ["Lindia", "U.S.", "York", "Côte d'Or"],
}


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("Paris' bridges and paris's towers.", [("France", "Paris")]),
        ("Paris\u2019s towers.", [("France", "Paris")]),
        ("Frenchmen and Parisians and Lindian.", []),
        ("A French-speaking town.", [("France", "French")]),
        # The longest counts.
        (
            "New and York are words, NEW YORK is a town.",
            [("Lindia", "York"), ("France", "New York")],
        ),
        ("The new york, the Duke of York and York Street.", []),
        # Marks within keywords.
        ("The U.S. agreed.", [("Lindia", "U.S.")]),
        ("The U.S.A agreed, the XU.S. too.", []),
        ("The C\u00f4te d\u2019Or shines.", [("Lindia", "Côte d'Or")]),
        ("The Co\u0302te d'Or shines.", [("Lindia", "Côte d'Or")]),
        # Each concept once, with its first keyword.
        ("Lindia met Paris, the French met York.", [("Lindia", "Lindia"), ("France", "Paris")]),
    ],
)
def test_keywords_are_whole_words(sentence, expected):
    assert match_keywords([sentence], CONCEPTS) == [
        KeywordMatch(sentence, *pair) for pair in expected
    ]


def test_a_keyword_of_two_concepts_counts_for_both_and_a_repeated_sentence_once() -> None:
    sentences = ["Wool sells.", "It rains.", "Wool sells."]
    matches = match_keywords(sentences, {"a": ["wool"], "b": ["timber", "wool"]})
    assert matches == [("Wool sells.", "a", "wool"), ("Wool sells.", "b", "wool")]


def test_the_trie_finds_what_a_pattern_for_each_keyword_finds() -> None:
    words = [
        f"{begin}{end}"
        for begin in ("ka", "lo", "mi")
        for end in (
            "na",
            "ru",
            "st",
            "n",
        )
    ]
    lines: list[str] = []
    for step in range(60):
        picked = [words[step * place % 12] for place in range(1, 9)]
        lines.append(" ".join(picked))
    keywords = words[::2]
    matches = match_keywords(lines, {word: [word] for word in keywords})
    assert {(match.sentence, match.keyword) for match in matches} == {
        (line, word) for line, word in product(lines, keywords) if word in line.split()
    }


def test_an_empty_keyword_matches_nothing():
    assert match_keywords(["Wool  sells."], {"a": [" "]}) == []


def test_a_missing_model_is_said_in_one_line(monkeypatch):
    monkeypatch.setattr(english, "PACKAGE", "no-such-model")
    spacy_pipeline.cache_clear()
    with pytest.raises(
        UserError, match=r"the package 'no-such-model' is not installed; run `make setup`"
    ):
        split_sentences("It rains.")
    spacy_pipeline.cache_clear()
