"""Which texts are in another language: replies of small models, as they wrote them."""

import pytest

from evenruler.text.language import in_another


@pytest.mark.parametrize(
    "text",
    [
        "Les baux de la Lumière, les baux de la Lumière, les baux de la L",
        "Brasil, así! Brasil, así! Uno de los pobres de la Europa,",
        "Il sforza di migra...Il sforza di migra...Il sforza di migra...",
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
        "42",
        "",
    ],
)
def test_english_and_what_is_hardly_a_text_are_left(text: str) -> None:
    assert in_another([text], "en").tolist() == [False]


def test_of_a_language_that_is_not_known_nothing_is_said() -> None:
    assert in_another(["Guten Tag", "Good day"], "tlh").tolist() == [False, False]
