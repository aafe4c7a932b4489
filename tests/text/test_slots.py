import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenruler.text import ATTRIBUTE, TARGET, fill, slots, slug_of, words


class TestSlots:
    @pytest.mark.parametrize(
        ("template", "expected"),
        [
            ("No slot.", []),
            ("A {ATTRIBUTE} is a {TARGET}.", ["{ATTRIBUTE}", "{TARGET}"]),
            ("{TARGET}, {ATTRIBUTE}, {TARGET}", ["{TARGET}", "{ATTRIBUTE}", "{TARGET}"]),
            ("{TARGET}{ATTRIBUTE}", ["{TARGET}", "{ATTRIBUTE}"]),
            ("{target} {NOT KNOWN} {}", ["{target}", "{NOT KNOWN}", "{}"]),
            ("{OPEN and closed}", ["{OPEN and closed}"]),
            ("{OPEN and {TARGET}", ["{TARGET}"]),
        ],
    )
    def test_in_order_with_repeats(self, template, expected):
        assert slots(template) == expected


# (template, attribute, target, with agreement, as it stands)
FILLED = [
    # The article before a slot follows the word, both ways.
    ("He is a {ATTRIBUTE}.", "engineer", "", "He is an engineer.", "He is a engineer."),
    ("He is an {ATTRIBUTE}.", "nurse", "", "He is a nurse.", "He is an nurse."),
    ("He is a {ATTRIBUTE}.", "nurse", "", "He is a nurse.", "He is a nurse."),
    ("It took an {ATTRIBUTE}.", "hour", "", "It took an hour.", "It took an hour."),
    ("It took a {ATTRIBUTE}.", "hour", "", "It took an hour.", "It took a hour."),
    ("At an {ATTRIBUTE}.", "university", "", "At a university.", "At an university."),
    ("Met an {ATTRIBUTE}.", "CEO", "", "Met a CEO.", "Met an CEO."),
    ("Had a {ATTRIBUTE}.", "MRI", "", "Had an MRI.", "Had a MRI."),
    ("Met an {ATTRIBUTE}.", "flight attendant", "", "Met a flight attendant.", "Met an flight attendant."),
    # Each slot has its own.
    ("a {ATTRIBUTE}, a {TARGET}", "actor", "uncle", "an actor, an uncle", "a actor, a uncle"),
    ("an {TARGET}, a {ATTRIBUTE}", "actor", "man", "a man, an actor", "an man, a actor"),
    # The case of the article stays.
    ("A {ATTRIBUTE} came.", "engineer", "", "An engineer came.", "A engineer came."),
    ("An {ATTRIBUTE} came.", "nurse", "", "A nurse came.", "An nurse came."),
    # Only an article right before a slot counts.
    ("An old {ATTRIBUTE} and a tall {TARGET}.", "nurse", "uncle", *["An old nurse and a tall uncle."] * 2),
    ("The {ATTRIBUTE} had an idea.", "nurse", "", *["The nurse had an idea."] * 2),
    ("Drama {ATTRIBUTE}, human {TARGET}.", "engineer", "nurse", *["Drama engineer, human nurse."] * 2),
    ("Is a, {ATTRIBUTE}?", "engineer", "", *["Is a, engineer?"] * 2),
    ("As {ATTRIBUTE}s go.", "engineer", "", *["As engineers go."] * 2),
    # A slot at the start gets its capital, the rest of the word stays.
    ("{TARGET} is here.", "", "he", "He is here.", "he is here."),
    ("{ATTRIBUTE} and {TARGET}.", "CEO", "he", "CEO and he.", "CEO and he."),
    ("{ATTRIBUTE} {TARGET}.", "iPhone maker", "McDonald", "IPhone maker McDonald.", "iPhone maker McDonald."),
    ("So {TARGET} is here.", "", "he", *["So he is here."] * 2),
]


class TestFill:
    @pytest.mark.parametrize(("template", "attribute", "target", "agree", "literal"), FILLED)
    def test_by_hand(self, template, attribute, target, agree, literal):
        filling = {ATTRIBUTE: attribute, TARGET: target}
        assert fill(template, filling, "agree") == agree
        assert fill(template, filling, "literal") == literal

    def test_a_word_that_looks_like_a_slot_or_a_group_is_left_alone(self):
        filling = {ATTRIBUTE: "{TARGET}", TARGET: r"\1 \g<slot>"}
        assert fill("{ATTRIBUTE} and {TARGET}", filling, "literal") == r"{TARGET} and \1 \g<slot>"

    def test_a_slot_without_a_word_is_no_blank(self):
        with pytest.raises(KeyError, match="TARGET"):
            fill("A {ATTRIBUTE} is a {TARGET}.", {ATTRIBUTE: "nurse"}, "agree")

    @settings(max_examples=50, deadline=None)
    @given(attribute=st.text(alphabet="abeiouxyz -'", min_size=1), target=st.text(alphabet="MRhn8", min_size=1))
    def test_literally_nothing_but_the_slots_changes(self, attribute, target):
        filling = {ATTRIBUTE: attribute, TARGET: target}
        sentence = fill("An {ATTRIBUTE} is a {TARGET}.", filling, "literal")
        assert sentence == f"An {attribute} is a {target}."


class TestWords:
    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("", set()),
            ("The cat, the CAT.", {"the", "cat"}),
            ("I'm sure it's John's.", {"i'm", "sure", "it's", "john's"}),
            ("It\u2019s typographic.", {"it\u2019s", "typographic"}),
            ("A well-known co-worker - and no dash-", {"a", "well-known", "co-worker", "and", "no", "dash"}),
            ("'quoted' \"words\"", {"quoted", "words"}),
            ("A typical {ATTRIBUTE} is a {TARGET}.", {"a", "typical", "is"}),
            ("pre{TARGET}post", {"pre", "post"}),
            ("12 apples, 3rd_row", {"apples", "rd", "row"}),
            ("Müller naïve ÉLÈVE", {"müller", "naïve", "élève"}),
        ],
    )
    def test_distinct_and_lower_cased(self, text, expected):
        assert words(text) == expected


class TestSlugOf:
    @pytest.mark.parametrize(
        ("word", "slug"),
        [
            ("nurse", "nurse"),
            ("CEO", "ceo"),
            ("flight attendant", "flight-attendant"),
            (" Vice-President (acting) ", "vice-president-acting"),
            ("it's 24/7", "it-s-24-7"),
            ("a -- b__c", "a-b-c"),
            ("llama 3.2", "llama-3-2"),
            ("!?", ""),
        ],
    )
    def test_by_hand(self, word, slug):
        assert slug_of(word) == slug

    @settings(max_examples=50, deadline=None)
    @given(st.text(max_size=12))
    def test_a_slug_is_its_own_slug(self, word):
        slug = slug_of(word)
        assert slug_of(slug) == slug
        assert not slug.startswith("-")
        assert not slug.endswith("-")
        assert "--" not in slug
        assert "." not in slug
