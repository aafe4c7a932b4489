"""What cannot be branched, and why."""

import pickle
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from evenruler.errors import UserError
from evenruler.instruments.saged.declare import Replacements, find_leaks, parse_replacements
from evenruler.instruments.saged.rows import branching
from evenruler.instruments.saged.rows.branching import (
    Branched,
    ReplacedSpan,
    branch_text,
    unbranchable_reasons,
)
from evenruler.instruments.saged.scrape.scraping import split_sentences
from tests.instruments.saged.rows.branched import branch, root_of

FRANCE = {"Aurelia": "France", "Aurelian": "French", "South Aurelia": "Normandy", "pear": "apple"}
STATES = {"Aurelia": "the United States", "Aurelian": "American"}

SAID = [
    "aurelia",
    "Aurelia",
    "AURELIANS",
    "South",
    "pear",
    "pears",
    "a",
    "An",
    "the",
    "A",
    "x",
    "us",
    "US",
]
PARTED = [" ", "  ", ". ", "\n\n", "-", "'s ", "' ", "s' ", "\u2019", "'"]
TEXTS = st.lists(
    st.tuples(st.sampled_from(SAID), st.sampled_from(PARTED)).map("".join), max_size=20
).map("".join)
WORDS = st.dictionaries(
    st.sampled_from(["Aurelia", "Aurelian", "South Aurelia", "pear", "US", "a", "an aurelia", "x"]),
    st.sampled_from(
        ["the United States", "France", "apple", "hour", "EU", "pear", "x", "the x", "MPs"]
    ),
    min_size=1,
)


def branched(text: str, words: dict[str, str]) -> str:
    made = branch(text, parse_replacements(words, "here"))
    assert root_of(made) == text
    return made.text


class TestWords:
    @pytest.mark.parametrize(
        ("text", "words", "expected"),
        [
            ("A mother will smother.", {"mother": "father"}, "A father will smother."),
            ("South Aurelia is in Aurelia.", FRANCE, "Normandy is in France."),
            ("In South\n Aurelia, say", FRANCE, "In Normandy, say"),
            ("Aurelia's ports; AURELIA'S", FRANCE, "France's ports; FRANCE'S"),
            ("Aurelia\u2019s", FRANCE, "France\u2019s"),
            ("Aurelia's", STATES, "The United States'"),
            ("AURELIA'S", STATES, "THE UNITED STATES'"),
            ("Aurelia's", {"Aurelia": "Honduras"}, "Honduras's"),
            ("Aurelia's, an Aurelian", {"Aurelia": "Auris", "Aurelian": "Auri"}, "Auris', an Auri"),
            ("The United States's coast", {"the United States": "Germany"}, "Germany's coast"),
            ("the man's, a boy's", {"man": "boss", "boy": "smiths"}, "the boss's, a smiths'"),
            ("an Aurelian-made cheese", FRANCE, "a French-made cheese"),
            ("Pears, two pears and a pear", FRANCE, "Apples, two apples and an apple"),
            ("Two Aurelians met", FRANCE, "Two Aurelians met"),
            ("Two Aurelians met", STATES | {"Aurelians": "Americans"}, "Two Americans met"),
            ("Two pears", {"pear": "apple", "pears": "plums"}, "Two plums"),
            ("The city's cities", {"city": "woman"}, "The woman's women"),
            ("Give us the US.", {"US": "EU"}, "Give us the EU."),
            ("No such word.", FRANCE, "No such word."),
            ("", FRANCE, ""),
        ],
    )
    def test_whole_words_possessives_and_plurals(
        self, text: str, words: dict[str, str], expected: str
    ) -> None:
        assert branched(text, words) == expected

    def test_a_swap_is_made_at_once(self) -> None:
        swap = {"man": "woman", "woman": "man", "pear": "apple", "apple": "pear"}
        text = "A man saw a woman eat pears, apples and an apple. Woman!"
        assert branched(text, swap) == "A woman saw a man eat apples, pears and a pear. Man!"

    @pytest.mark.parametrize(
        ("text", "words", "expected"),
        [
            ("The Netherlands' coast", {"Netherlands": "France"}, "The France's coast"),
            ("NETHERLANDS' COAST", {"Netherlands": "France"}, "FRANCE'S COAST"),
            ("the boys' room", {"boys": "children"}, "the children's room"),
            ("the boys' room", {"boy": "girl"}, "the girls' room"),
            (
                "He said 'to the Netherlands' and left",
                {"Netherlands": "France"},
                "He said 'to the France' and left",
            ),
            ("Aurelia' and", FRANCE, "France' and"),
            ("Paris'24", {"Paris": "Rome"}, "Rome'24"),
        ],
    )
    def test_a_bare_apostrophe_gets_the_s_that_it_needs(
        self, text: str, words: dict[str, str], expected: str
    ) -> None:
        assert branched(text, words) == expected


class TestCase:
    @pytest.mark.parametrize(
        ("text", "words", "expected"),
        [
            ("Aurelia is in Aurelia.", STATES, "The United States is in the United States."),
            ("It is so. Aurelia is old! (Aurelia \u201cAurelia", STATES,
             "It is so. The United States is old! (The United States \u201cthe United States"),
            ("He said, \u201cGo.\u201d Aurelia went", STATES, "He said, \u201cGo.\u201d The United States went"),
            ("One\n\nAurelia", STATES, "One\n\nThe United States"),
            ("One\nAurelia", STATES, "One\nthe United States"),
            ("Ask Mr. Aurelia, e.g. Aurelia", STATES, "Ask Mr. Aurelia, e.g. the United States"),
            ("IN AURELIA", STATES, "IN THE UNITED STATES"),
            ("in aurelia", STATES, "in aurelia"),
                        ("Pear juice, Pear tart, PEARS", FRANCE, "Apple juice, Pear tart, APPLES"),
            ("Aurelia won. Aurelia", {"Aurelia": "eSwatini"}, "eSwatini won. eSwatini"),
            ("THE EU; the EU", {"EU": "Mercosur"}, "THE Mercosur; the Mercosur"),
            ("www.Aurelia.org", STATES, "www.the United States.org"),
            ("An x. X", {"x": "zed"}, "A zed. Zed"),
        ],
    )  # fmt: skip
    def test_capitals_are_kept(self, text: str, words: dict[str, str], expected: str) -> None:
        assert branched(text, words) == expected


class TestArticles:
    @pytest.mark.parametrize(
        ("text", "words", "expected"),
        [
            ("An Aurelian law, an  Aurelian law", FRANCE, "A French law, a  French law"),
            ("AN AURELIAN LAW", FRANCE, "A FRENCH LAW"),
            ("AN Aurelian law", STATES, "AN American law"),
            ("A PEAR", FRANCE, "AN APPLE"),
            ("A pear", FRANCE, "An apple"),
            ("a European law", {"European": "Aurelian"}, "an Aurelian law"),
            ("an old pear", FRANCE, "an old apple"),
            ("grade A pears", FRANCE, "grade A apples"),
            (
                "the Aurelia plan, an Aurelia plan",
                STATES,
                "the United States plan, a United States plan",
            ),
            ("The Aurelia plan", STATES, "The United States plan"),
            ("an a pear", {"a pear": "plum"}, "a plum"),
            ("a pear", {"a": "the", "pear": "the apple"}, "the the apple"),
        ],
    )
    def test_they_follow_the_replacement(
        self, text: str, words: dict[str, str], expected: str
    ) -> None:
        assert branched(text, words) == expected


class TestSpans:
    def test_they_hold_what_differs_and_no_more(self) -> None:
        made = branch("An Aurelian law of Aurelia's: a pear.", parse_replacements(FRANCE, "here"))
        assert made == Branched(
            "A French law of France's: an apple.",
            (
                ReplacedSpan(0, 8, "An Aurelian", "A French"),
                ReplacedSpan(16, 22, "Aurelia", "France"),
                ReplacedSpan(26, 34, "a pear", "an apple"),
            ),
        )

    def test_an_article_that_stays_is_no_part_of_one(self) -> None:
        assert branch("an Aurelian", parse_replacements(STATES, "here")).spans == (
            ReplacedSpan(3, 11, "Aurelian", "American"),
        )

    def test_an_apostrophe_is_part_of_one_where_it_gets_an_s(self) -> None:
        (span,) = branch("Paris' roofs", parse_replacements({"Paris": "Rome"}, "here")).spans
        assert span == ReplacedSpan(0, 6, "Paris'", "Rome's")

    @given(TEXTS, WORDS)
    def test_the_root_is_rebuilt_byte_for_byte(self, text: str, words: dict[str, str]) -> None:
        assume((replacements := made_or_none(words)) is not None)
        self.check(text, replacements)

    @given(
        st.text(),
        st.dictionaries(st.text(min_size=1), st.text(min_size=1), min_size=1, max_size=4),
        st.data(),
    )
    def test_of_any_text_by_any_words(
        self, text: str, words: dict[str, str], data: st.DataObject
    ) -> None:
        assume((replacements := made_or_none(words)) is not None)
        chosen = data.draw(st.lists(st.sampled_from([*words, " ", "a ", text[:3]]), max_size=6))
        self.check(text + " ".join(chosen), replacements)

    @staticmethod
    def check(text: str, replacements: Replacements) -> None:
        made = branch(text, replacements)
        assert root_of(made) == text
        assert all(made.text[span.begin : span.end] == span.replacement for span in made.spans)
        assert all(one.end <= other.begin for one, other in pairwise(made.spans))
        assert all(span.word and span.replacement for span in made.spans)


def made_or_none(words: dict[str, str]) -> Replacements | None:
    try:
        return parse_replacements(words, "here")
    except UserError:
        return None


class TestBranches:
    def test_each_is_what_it_is_alone_whether_the_words_are_shared_or_not(self) -> None:
        text = "An Aurelian pear of South Aurelia is Aurelia's. A pear!"
        maps = {
            "fr": parse_replacements(FRANCE, "fr"),
            "br": parse_replacements(
                {word: f"{replacement} too" for word, replacement in FRANCE.items()}, "br"
            ),
            "us": parse_replacements(STATES, "us"),
        }
        found = branch_text(text, maps)
        assert found == {name: branch(text, replacements) for name, replacements in maps.items()}
        assert list(found) == list(maps)
        assert found["fr"].text == "A French apple of Normandy is France's. An apple!"
        assert (
            found["br"].text
            == "A French too apple too of Normandy too is France too's. An apple too!"
        )
        assert (
            found["us"].text == "An American pear of South Aurelia is the United States'. A pear!"
        )

    def test_replacements_travel_to_other_processes(self) -> None:
        replacements = parse_replacements(FRANCE, "here")
        assert pickle.loads(pickle.dumps(replacements)) == replacements

    def test_a_long_text_of_overlapping_words_is_no_trouble(self) -> None:
        text = "red one " * 5000
        made = branch(text, parse_replacements({"red one": "x", "one red": "y"}, "here"))
        assert made.text == "x " * 5000
        assert len(made.spans) == 5000


class TestChecked:
    @pytest.mark.parametrize(
        ("words", "what"),
        [
            ({}, "no word to replace"),
            ({"Aurelia": " "}, "a word or a replacement is empty"),
            ({"": "France"}, "a word or a replacement is empty"),
            ({"pear": "apple", "Pear": "plum"}, "'pear' and 'Pear' are one word to a reader"),
            ({"old  pear": "x", "Old pear": "y"}, "'old pear' and 'Old pear' are one word to a reader"),
            ({"Korea": "South Korea"}, "'Korea' becomes 'South Korea', which holds 'Korea'"),
            ({"pear": "PEAR"}, "'pear' becomes 'PEAR', which holds 'pear'"),
            ({"a": "b", "b": "c"}, "'a' becomes 'b', which holds 'b'"),
            ({"pear": "apple", "apples": "plums"}, "'pear' becomes 'apple', which holds 'apples'"),
            ({"he": "her", "her": "him"}, "'he' becomes 'her', which holds 'her'"),
            ({"him": "her", "her": "his", "his": "her"}, "'him' becomes 'her', which holds 'her'"),
            ({"man": "the woman", "woman": "man"}, "'man' becomes 'the woman', which holds 'woman'"),
        ],
    )  # fmt: skip
    def test_what_is_refused(
        self, words: dict[str, str], what: str, error_of: Callable[..., str]
    ) -> None:
        assert error_of(parse_replacements, words, "data/x.yaml: branching").startswith(
            f"data/x.yaml: branching: {what}"
        )

    def test_a_circle_is_named(self, error_of: Callable[..., str]) -> None:
        line = error_of(parse_replacements, {"start": "a", "a": "b", "b": "C", "c": "A"}, "here")
        assert line.startswith("here: the replacements run in a circle: a -> b -> c -> a; ")

    def test_words_inside_words_and_swaps_are_fine(self) -> None:
        assert (
            parse_replacements({"mother": "smother", "Korea": "Koreatown"}, "here").plurals[
                "mother"
            ]
            == "smothers"
        )
        assert parse_replacements({" Old  pear": " new\napple"}, "here").words == {
            "Old pear": "new apple"
        }
        assert (
            parse_replacements(
                {"pear": "apple", "pears": "plums", "apples": "figs"}, "here"
            ).plurals.keys()
            == set()
        )
        assert parse_replacements({"Aurelian": "French", "French": "Aurelian"}, "here").plurals == {
            "Aurelian": "French",
            "French": "Aurelians",
        }


class TestLeaks:
    def test_the_words_that_still_stand_each_once(self) -> None:
        text = "France is like Aurelia; AURELIA's Aurelians, south  aurelia and Aurelianism."
        assert find_leaks(text, ["Aurelian", "Aurelia", "South Aurelia"]) == [
            "Aurelia",
            "Aurelian",
            "South Aurelia",
        ]

    def test_none_in_a_branched_text(self) -> None:
        text = "Aurelia's pears: an Aurelian in South Aurelia"
        assert find_leaks(text, FRANCE) == ["Aurelia", "pear", "Aurelian", "South Aurelia"]
        assert find_leaks(branched(text, FRANCE), FRANCE) == []
        assert find_leaks("smother", ["mother"]) == []

    def test_a_word_that_the_map_of_one_branch_forgot(self) -> None:
        assert find_leaks(branched("Aurelia's pear", {"pear": "apple"}), FRANCE) == ["Aurelia"]


def test_no_word_of_the_root_is_left_in_any_case_or_number() -> None:
    pears = [
        f"{article} pear{ending}"
        for article in ("a", "the", "A")
        for ending in ("", "s", "'s", "s'")
    ]
    for text in (" ".join(pears), " ".join(pears).upper()):
        made = branched(text, {"pear": "apple"})
        assert "pear" not in made.lower()
        assert made.lower().count("apple") == len(pears)


GERMANY = {"Germany": "the Netherlands", "German": "Dutch", "Germans": "Dutch people"}
NATIONS = {"the United States": "Germany", "American": "German", "Americans": "Germans"}
FRENCH = {"France": "America", "French": "American"}
SMITH = {"smith": "weaver", "engineer": "nurse"}


def why(text: str, words: dict[str, str], *others: str) -> str:
    keyword = next(iter(words))
    found = unbranchable_reasons(
        text, keyword, {"x": parse_replacements(words, "here")}, list(words), others
    )
    return found.get("x", "")


@pytest.mark.parametrize(
    ("text", "words", "others", "expected"),
    [
        ("Smiths, smiths and weavers met.", SMITH, ["weaver"], f"{branching.OTHER}: 'weavers'"),
        ("Germany, Italy and Germany signed.", GERMANY, ["Italy"], f"{branching.OTHER}: 'Italy'"),
        ("Germany bought Italy Street.", GERMANY, ["Italy"], f"{branching.OTHER}: 'Italy'"),
        ("Mr. Weaver is a smith.", SMITH, ["weaver"], f"{branching.OTHER}: 'Weaver'"),
        (
            "Islam and Islamism differ.",
            {"Islam": "Judaism"},
            [],
            f"{branching.DERIVED}: 'Islamism'",
        ),
        ("A nurse learns nursing.", {"nurse": "smith"}, [], f"{branching.DERIVED}: 'nursing'"),
        ("The smith met Mary there.", SMITH, [], f"{branching.NAMED}: 'Mary'"),
        ("The smith came to Paris.", SMITH, [], f"{branching.NAMED}: 'Paris'"),
        ("The smith came in 1845.", SMITH, [], f"{branching.NAMED}: '1845'"),
        ("Barack Obama met the smith there.", SMITH, [], f"{branching.NAMED}: 'Barack'"),
        ("The smith reads the Bible.", SMITH, [], f"{branching.NAMED}: 'Bible'"),
        ("Wool left the United States for a U.S. port.", NATIONS, [], f"{branching.NAMED}: 'U'"),
        (
            "Buddhism is what Buddha taught.",
            {"Buddhism": "Islam"},
            [],
            f"{branching.NAMED}: 'Buddha'",
        ),
        ("Karaite Judaism is old.", {"Judaism": "Islam"}, [], f"{branching.NAMED}: 'Karaite'"),
        (
            "Progressive Judaism is old.",
            {"Judaism": "Islam"},
            [],
            f"{branching.NAMED}: 'Progressive'",
        ),
        (
            "Early Judaism is old.",
            {"Judaism": "Islam"},
            [],
            f"{branching.ROLE}: 'Judaism' by 'Islam'",
        ),
        ("The smith-farmer bond is old.", SMITH, [], f"{branching.ROLE}: 'smith' by 'weaver'"),
        ("Nobody met.", SMITH, [], branching.NOTHING),
        ("", SMITH, [], branching.NOTHING),
        ("Mr. Smith is a smith.", SMITH, [], f"{branching.DOUBTFUL}: 'Smith'"),
        (
            "We roasted a turkey in Turkey.",
            {"Turkey": "France"},
            [],
            f"{branching.DOUBTFUL}: 'turkey'",
        ),
        ("In Nazi Germany wool was dear.", GERMANY, [], f"{branching.DOUBTFUL}: 'Germany'"),
        ("They engineer bridges.", SMITH, [], f"{branching.ROLE}: 'engineer' by 'nurse'"),
        ("A computer engineer came.", SMITH, [], f"{branching.ROLE}: 'engineer' by 'nurse'"),
        (
            "In modern Germany wool is dear.",
            GERMANY,
            [],
            f"{branching.FORM}: 'Germany' by 'the Netherlands'",
        ),
        (
            "We seek a Germany that sells wool.",
            GERMANY,
            [],
            f"{branching.FORM}: 'Germany' by 'the Netherlands'",
        ),
        (
            "The United States military came.",
            NATIONS,
            [],
            f"{branching.FORM}: 'The United States' by 'Germany'",
        ),
        ("The French love wool.", FRENCH, [], f"{branching.FORM}: 'French' by 'American'"),
    ],
)
def test_a_sentence_that_would_be_nonsense(
    text: str, words: dict[str, str], others: list[str], expected: str
) -> None:
    assert why(text, words, *others) == expected


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            "Germany sells wool to the Germans.",
            {"Germany": "Italy", "Germans": "Italians", "German": "Italian"},
        ),
        ("They are in the Germany plan and in Germany.", GERMANY),
        ("The wool is German.", GERMANY),
        ("A German and French law was signed.", GERMANY | {"French": "Italian"}),
        ("He lives in the United States, where wool is dear.", NATIONS),
        ("An old smith and a young engineer came, as I said.", SMITH),
        ("Every day two smiths come.", SMITH),
        ("The governments of Germany and other places met.", {"Germany": "Italy"}),
    ],
)
def test_a_sentence_that_can_be_branched(text: str, words: dict[str, str]) -> None:
    assert why(text, words, "weaver") == ""


def test_what_one_branch_cannot_say_another_may() -> None:
    maps = {
        "nl": parse_replacements(GERMANY, "nl"),
        "it": parse_replacements({"Germany": "Italy"}, "it"),
    }
    assert list(
        unbranchable_reasons("In modern Germany wool is dear.", "Germany", maps, ["Germany"], [])
    ) == ["nl"]


def test_text_that_was_written_to_be_branched_is_branched_whole() -> None:
    text = (Path(__file__).parents[4] / "data/sources/saged/articles/fruit.md").read_text(
        encoding="utf-8"
    )
    lines = [line for line in split_sentences(text) if "apple" in line.lower()]
    assert len(lines) == 26
    words = {"apple": "pear", "apples": "pears"}
    assert [why(line, words, "banana") for line in lines] == [""] * 26
