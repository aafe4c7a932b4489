"""The check of English finds what is wrong and leaves alone what is right."""

import pytest

from tests.text.grammar import faults_in


@pytest.mark.parametrize(
    ("text", "faults"),
    [
        ("This person works as an machinist.", [("article", "an machinist")]),
        ("A hour ago an user left.", [("article", "A hour"), ("article", "an user")]),
        ("The he is employed as a nurse.", [("agreement", "The he")]),
        ("They is here.", [("agreement", "They is")]),
        ("I has the the book.", [("agreement", "I has"), ("doubled", "the the")]),
        ("An hour ago a European had had a one-off idea; I know that that is so.", []),
        ("Did he have it? A, B or C. An MRI for an 18-year-old.", []),
    ],
)  # fmt: skip
def test_faults(text: str, faults: list[tuple[str, str]]) -> None:
    assert faults_in(text) == faults
