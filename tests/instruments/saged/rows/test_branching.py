"""What cannot be branched, and why."""

from itertools import pairwise, product
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from ruamel.yaml import YAML

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

GERMANY = {"Germany": "the Netherlands", "German": "Dutch", "Germans": "Dutch people"}
NATIONS = {"the United States": "Germany", "American": "German", "Americans": "Germans"}
FRENCH = {"France": "America", "French": "American"}
SMITH = {"smith": "weaver", "engineer": "nurse"}
MAPS = {
    "FRANCE": FRANCE,
    "STATES": STATES,
    "GERMANY": GERMANY,
    "NATIONS": NATIONS,
    "FRENCH": FRENCH,
    "SMITH": SMITH,
}


def words_in(written: str) -> dict[str, str]:
    """A map by its name here, or in YAML."""
    if written in MAPS:
        return MAPS[written]
    words: dict[str, str] = YAML(typ="safe").load(written)
    return words


def branched(text: str, words: dict[str, str]) -> str:
    branched_text = branch(text, parse_replacements(words, "here"))
    assert root_of(branched_text) == text
    return branched_text.text


BRANCHED = [
    "South Aurelia is in Aurelia. ~ FRANCE ~ Normandy is in France.",
    "Aurelia's ports; AURELIA'S ~ FRANCE ~ France's ports; FRANCE'S",
    "Aurelia\u2019s ~ FRANCE ~ France\u2019s",
    "Aurelia's ~ STATES ~ The United States'",
    "AURELIA'S ~ STATES ~ THE UNITED STATES'",
    "Aurelia's ~ {Aurelia: Honduras} ~ Honduras's",
    "Aurelia's, an Aurelian ~ {Aurelia: Auris, Aurelian: Auri} ~ Auris', an Auri",
    "The United States's coast ~ {the United States: Germany} ~ Germany's coast",
    "the man's, a boy's ~ {man: boss, boy: smiths} ~ the boss's, a smiths'",
    "an Aurelian-made cheese ~ FRANCE ~ a French-made cheese",
    "Pears, two pears and a pear ~ FRANCE ~ Apples, two apples and an apple",
    (
        "Two Aurelians met ~ {Aurelia: the United States, Aurelian: American, Aurelians: "
        "Americans} ~ Two Americans met"
    ),
    "The city's cities ~ {city: woman} ~ The woman's women",
    "The Netherlands' coast ~ {Netherlands: France} ~ The France's coast",
    "the boys' room ~ {boys: children} ~ the children's room",
    "the boys' room ~ {boy: girl} ~ the girls' room",
    (
        "He said 'to the Netherlands' and left ~ {Netherlands: France} ~ He said 'to the "
        "France' and left"
    ),
    "Aurelia' and ~ FRANCE ~ France' and",
    "Paris'24 ~ {Paris: Rome} ~ Rome'24",
    "Aurelia is in Aurelia. ~ STATES ~ The United States is in the United States.",
    (
        "It is so. Aurelia is old! (Aurelia \u201cAurelia ~ STATES ~ It is so. The United "
        "States is old! (The United States \u201cthe United States"
    ),
    (
        "He said, \u201cGo.\u201d Aurelia went ~ STATES ~ He said, \u201cGo.\u201d The "
        "United States went"
    ),
    "One\n\nAurelia ~ STATES ~ One\n\nThe United States",
    "One\nAurelia ~ STATES ~ One\nthe United States",
    "Ask Mr. Aurelia, e.g. Aurelia ~ STATES ~ Ask Mr. Aurelia, e.g. the United States",
    "IN AURELIA ~ STATES ~ IN THE UNITED STATES",
    "Pear juice, Pear tart, PEARS ~ FRANCE ~ Apple juice, Pear tart, APPLES",
    "Aurelia won. Aurelia ~ {Aurelia: eSwatini} ~ eSwatini won. eSwatini",
    "THE EU; the EU ~ {EU: Mercosur} ~ THE Mercosur; the Mercosur",
    "www.Aurelia.org ~ STATES ~ www.the United States.org",
    "An x. X ~ {x: zed} ~ A zed. Zed",
    "An Aurelian law, an  Aurelian law ~ FRANCE ~ A French law, a  French law",
    "AN AURELIAN LAW ~ FRANCE ~ A FRENCH LAW",
    "AN Aurelian law ~ STATES ~ AN American law",
    "A pear ~ FRANCE ~ An apple",
    "a European law ~ {European: Aurelian} ~ an Aurelian law",
    "an old pear ~ FRANCE ~ an old apple",
    "grade A pears ~ FRANCE ~ grade A apples",
    "the Aurelia plan, an Aurelia plan ~ STATES ~ the United States plan, a United States plan",
    "an a pear ~ {a pear: plum} ~ a plum",
    "a pear ~ {a: the, pear: the apple} ~ the the apple",
    (
        "A man saw a woman eat pears, apples and an apple. Woman! ~ {man: woman, woman: man, "
        "pear: apple, apple: pear} ~ A woman saw a man eat apples, pears and a pear. Man!"
    ),
]
"""Texts, words, and what becomes of them: whole words, possessives and plurals, swaps, capitals,
articles."""


@pytest.mark.parametrize("case", BRANCHED)
def test_words_are_replaced_as_english_has_it(case) -> None:
    text, words, expected = case.split(" ~ ")
    assert branched(text, words_in(words)) == expected


class TestSpans:
    def test_they_hold_what_differs_and_no_more(self) -> None:
        branched_text = branch(
            "An Aurelian law of Aurelia's: a pear.", parse_replacements(FRANCE, "here")
        )
        assert branched_text == Branched(
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

    @given(
        st.text(),
        st.dictionaries(st.text(min_size=1), st.text(min_size=1), min_size=1, max_size=4),
        st.data(),
    )
    def test_of_any_text_by_any_words(self, text, words, draws) -> None:
        replacements = made_or_none(words)
        assume(replacements is not None)
        pieces = st.sampled_from([*words, " ", "a ", text[:3]])
        chosen = draws.draw(st.lists(pieces, max_size=6))
        self.check(text + " ".join(chosen), replacements)

    @staticmethod
    def check(text: str, replacements: Replacements) -> None:
        branched_text = branch(text, replacements)
        assert root_of(branched_text) == text
        assert all(
            branched_text.text[span.begin : span.end] == span.replacement
            for span in branched_text.spans
        )
        assert all(earlier.end <= later.begin for earlier, later in pairwise(branched_text.spans))
        assert all(span.word and span.replacement for span in branched_text.spans)


def made_or_none(words: dict[str, str]) -> Replacements | None:
    try:
        return parse_replacements(words, "here")
    except UserError:
        return None


class TestBranches:
    def test_each_is_what_it_is_alone_whether_the_words_are_shared_or_not(self) -> None:
        text = "An Aurelian pear of South Aurelia is Aurelia's. A pear!"
        brazil = {word: f"{replacement} too" for word, replacement in FRANCE.items()}
        maps = {
            "fr": parse_replacements(FRANCE, "fr"),
            "br": parse_replacements(brazil, "br"),
            "us": parse_replacements(STATES, "us"),
        }
        branches = branch_text(text, maps)
        assert branches == {name: branch(text, replacements) for name, replacements in maps.items()}
        assert list(branches) == list(maps)


class TestChecked:
    @pytest.mark.parametrize(
        ("words", "what"),
        [
            ({}, "no word to replace"),
            ({"Aurelia": " "}, "a word or a replacement is empty"),
            ({"old  pear": "x", "Old pear": "y"}, "'old pear' and 'Old pear' are one word to a reader"),
            ({"Korea": "South Korea"}, "'Korea' becomes 'South Korea', which holds 'Korea'"),
            ({"pear": "apple", "apples": "plums"}, "'pear' becomes 'apple', which holds 'apples'"),
            ({"him": "her", "her": "his", "his": "her"}, "'him' becomes 'her', which holds 'her'"),
        ],
    )  # fmt: skip
    def test_what_is_refused(self, words, what, error_of) -> None:
        assert error_of(parse_replacements, words, "data/x.yaml: branching").startswith(
            f"data/x.yaml: branching: {what}"
        )

    def test_a_circle_is_named(self, error_of) -> None:
        line = error_of(parse_replacements, {"start": "a", "a": "b", "b": "C", "c": "A"}, "here")
        assert line.startswith("here: the replacements run in a circle: a -> b -> c -> a; ")

    @pytest.mark.parametrize(
        ("words", "plurals"),
        [
            ({"mother": "smother", "Korea": "Koreatown"}, {"mother": "smothers"}),
            (
                {"Aurelian": "French", "French": "Aurelian"},
                {"Aurelian": "French", "French": "Aurelians"},
            ),
        ],
    )
    def test_words_inside_words_and_swaps_are_fine(self, words, plurals) -> None:
        assert parse_replacements(words, "here").plurals.items() >= plurals.items()

    def test_plurals_that_are_words_themselves_are_none_and_spaces_are_collapsed(self) -> None:
        words = {"pear": "apple", "pears": "plums", "apples": "figs"}
        assert not parse_replacements(words, "here").plurals
        spaced = parse_replacements({" Old  pear": " new\napple"}, "here")
        assert spaced.words == {"Old pear": "new apple"}


def test_leaks_are_the_words_that_still_stand_each_once() -> None:
    text = "France is like Aurelia; AURELIA's Aurelians, south  aurelia and Aurelianism."
    leaks = ["Aurelia", "Aurelian", "South Aurelia"]
    assert find_leaks(text, ["Aurelian", "Aurelia", "South Aurelia"]) == leaks
    assert find_leaks("smother", ["mother"]) == []


def test_no_word_of_the_root_is_left_in_any_case_or_number() -> None:
    articles, endings = ("a", "the", "A"), ("", "s", "'s", "s'")
    pears = [f"{article} pear{end}" for article, end in product(articles, endings)]
    for text in (" ".join(pears), " ".join(pears).upper()):
        branched_text = branched(text, {"pear": "apple"})
        assert "pear" not in branched_text.lower()
        assert branched_text.lower().count("apple") == len(pears)


def why(text: str, words: dict[str, str], *other_keywords: str) -> str:
    keyword = next(iter(words))
    reasons = unbranchable_reasons(
        text, keyword, {"x": parse_replacements(words, "here")}, list(words), other_keywords
    )
    return reasons.get("x", "")


NONSENSE = [
    "Smiths, smiths and weavers met. ~ SMITH ~ weaver ~ OTHER: 'weavers'",
    "Germany, Italy and Germany signed. ~ GERMANY ~ Italy ~ OTHER: 'Italy'",
    "Germany bought Italy Street. ~ GERMANY ~ Italy ~ OTHER: 'Italy'",
    "Mr. Weaver is a smith. ~ SMITH ~ weaver ~ OTHER: 'Weaver'",
    "A nurse learns nursing. ~ {nurse: smith} ~  ~ DERIVED: 'nursing'",
    "The smith met Mary there. ~ SMITH ~  ~ NAMED: 'Mary'",
    "The smith came in 1845. ~ SMITH ~  ~ NAMED: '1845'",
    "Barack Obama met the smith there. ~ SMITH ~  ~ NAMED: 'Barack'",
    "Wool left the United States for a U.S. port. ~ NATIONS ~  ~ NAMED: 'U'",
    "Buddhism is what Buddha taught. ~ {Buddhism: Islam} ~  ~ NAMED: 'Buddha'",
    "Progressive Judaism is old. ~ {Judaism: Islam} ~  ~ NAMED: 'Progressive'",
    "Early Judaism is old. ~ {Judaism: Islam} ~  ~ ROLE: 'Judaism' by 'Islam'",
    "The smith-farmer bond is old. ~ SMITH ~  ~ ROLE: 'smith' by 'weaver'",
    "Nobody met. ~ SMITH ~  ~ NOTHING",
    "Mr. Smith is a smith. ~ SMITH ~  ~ DOUBTFUL: 'Smith'",
    "We roasted a turkey in Turkey. ~ {Turkey: France} ~  ~ DOUBTFUL: 'turkey'",
    "In Nazi Germany wool was dear. ~ GERMANY ~  ~ DOUBTFUL: 'Germany'",
    "They engineer bridges. ~ SMITH ~  ~ ROLE: 'engineer' by 'nurse'",
    "A computer engineer came. ~ SMITH ~  ~ ROLE: 'engineer' by 'nurse'",
    "In modern Germany wool is dear. ~ GERMANY ~  ~ FORM: 'Germany' by 'the Netherlands'",
    "We seek a Germany that sells wool. ~ GERMANY ~  ~ FORM: 'Germany' by 'the Netherlands'",
    "The United States military came. ~ NATIONS ~  ~ FORM: 'The United States' by 'Germany'",
    "The French love wool. ~ FRENCH ~  ~ FORM: 'French' by 'American'",
]
"""Sentences, words, keywords of other concepts, and why the sentence cannot be branched."""


@pytest.mark.parametrize("case", NONSENSE)
def test_a_sentence_that_would_be_nonsense(case) -> None:
    text, words, keyword, expected = case.split(" ~ ")
    name, mark, word = expected.partition(":")
    reason = f"{getattr(branching, name)}{mark}{word}"
    assert why(text, words_in(words), *filter(None, [keyword])) == reason


FINE = [
    "Germany sells wool to the Germans. ~ {Germany: Italy, Germans: Italians, German: Italian}",
    "They are in the Germany plan and in Germany. ~ GERMANY",
    "The wool is German. ~ GERMANY",
    (
        "A German and French law was signed. ~ {Germany: the Netherlands, German: Dutch, "
        "Germans: Dutch people, French: Italian}"
    ),
    "He lives in the United States, where wool is dear. ~ NATIONS",
    "An old smith and a young engineer came, as I said. ~ SMITH",
    "Every day two smiths come. ~ SMITH",
    "The governments of Germany and other places met. ~ {Germany: Italy}",
]


@pytest.mark.parametrize("case", FINE)
def test_a_sentence_that_can_be_branched(case) -> None:
    text, words = case.split(" ~ ")
    assert why(text, words_in(words), "weaver") == ""


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
