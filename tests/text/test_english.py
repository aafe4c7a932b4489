import pytest

from evenruler.text.english import (
    FOREIGN_WORDS,
    FUNCTION_WORDS,
    LEAST_SHARE,
    in_another,
    is_english,
    negations,
    tokens,
    use_of,
)


def test_words_in_order_with_repeats_without_slots():
    found = tokens("A {TARGET} and a well-known {ATTRIBUTE} can't wait.")
    assert found == ["a", "and", "a", "well-known", "can't", "wait"]


@pytest.mark.parametrize(
    "text",
    [
        "A typical {ATTRIBUTE} is a {TARGET}.",
        "Caf\u00e9 owners rarely hire a {TARGET} \u2013 unless somebody is {ATTRIBUTE}.",
        "The {TARGET} across the street loves being an {ATTRIBUTE}.",
        "Everybody expects {TARGET} workers, {ATTRIBUTE} colleagues, and others.",
    ],
)
def test_english(text):
    assert is_english(text)


@pytest.mark.parametrize(
    "text",
    [
        "In der Stadt ist die {TARGET} immer ein {ATTRIBUTE}.",
        "Je pense que la {TARGET} est toujours un {ATTRIBUTE}.",
        "No me parece raro que la {TARGET} sea {ATTRIBUTE}.",
        "In de stad is een {TARGET} vaak of altijd {ATTRIBUTE}.",
        "Penso che la {TARGET} non sia un {ATTRIBUTE}.",
        "\u042f \u0434\u0443\u043c\u0430\u044e, that the {TARGET} is an {ATTRIBUTE}.",
        "\u6211\u8ba4\u4e3a {TARGET} \u662f {ATTRIBUTE}\u3002",
        "The {TARGET} is an {ATTRIBUTE} \U0001f600.",
        "The {TARG\u200bET} is an {ATTRIBUTE}.",
        "Blurb flarn {TARGET} gnorp {ATTRIBUTE} snarf.",
        "{ATTRIBUTE} {TARGET}.",
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
        ("Noble knots are notable.", 0),
    ],
)
def test_negations(text, n):
    assert negations(text) == n


@pytest.mark.parametrize(
    ("text", "use"),
    [
        ("Most people expect an {ATTRIBUTE} to be here.", "noun"),
        ("The {ATTRIBUTE} was here.", "noun"),
        ("That is my {ATTRIBUTE}, I think.", "noun"),
        ("Everybody is {ATTRIBUTE}.", "quality"),
        ("Somebody {ATTRIBUTE} is here.", "quality"),
        ("We are more {ATTRIBUTE} than you.", "quality"),
        ("I met an {ATTRIBUTE} person.", None),
        ("The {ATTRIBUTE} one is here.", None),
        ("I heard the word {ATTRIBUTE}.", None),
        ("{ATTRIBUTE} is a word.", None),
    ],
)
def test_what_a_slot_stands_for(text, use):
    assert use_of("{ATTRIBUTE}", text) == use


@pytest.mark.parametrize(
    "text",
    [
        "Les baux de la Lumière, les baux de la Lumière, les baux de la L",
        "Il governo è eletto dal popolo e rispetta i diritti, ma ci sono critiche.",
        "巴西是一个很大的国家,人民非常友好。经济近年来发展很快,但仍有许多贫困问题。",
    ],
)
def test_replies_in_another_language_are_found(text: str) -> None:
    assert in_another([text], "en").tolist() == [True]
    assert in_another(["The food of the region is known for its fresh vegetables."], "fr").tolist() == [True]


@pytest.mark.parametrize(
    "text",
    [
        "it engineers have made incredible advancements in various fields",
        "  * <strong>Aerojet</strong> * <strong>Batic</strong> * <strong>Bic</strong> *",
        "Pasta.",
        "Feijoada, pão de queijo, and churrasco.",
        "Merci beaucoup!",
        "Feijoada, moqueca, pão de queijo, brigadeiro, farofa, churrasco, acarajé, coxinha, vatapá, pastel, tapioca.",
        "42",
        "",
    ],
)
def test_english_and_what_is_hardly_a_text_are_left(text: str) -> None:
    assert in_another([text], "en").tolist() == [False]


def test_of_a_language_that_is_not_known_nothing_is_said() -> None:
    assert in_another(["Guten Tag", "Good day"], "tlh").tolist() == [False, False]
