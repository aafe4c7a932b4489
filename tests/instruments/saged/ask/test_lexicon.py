"""VADER's compound score, against the authors' package called by itself."""

import pytest
from vaderSentiment.vaderSentiment import SentimentIntensityAnalyzer

from evenruler.instruments.saged.ask.lexicon import compound

TEXTS = [
    "VADER is smart, handsome, and funny!",
    "VADER is not smart, handsome, nor funny.",
    "The book was only kind of good.",
    "Today SUX!",
    "Catch utf-8 emoji such as \U0001f498 and \U0001f481",
    "The river is 300 km long.",
    "Not bad at all",
]


def test_equals_the_package() -> None:
    analyzer = SentimentIntensityAnalyzer()
    assert compound(TEXTS).tolist() == [analyzer.polarity_scores(text)["compound"] for text in TEXTS]


def test_published_scores() -> None:
    """Those of the package's own page, from "smart, handsome, and funny" on."""
    assert compound(TEXTS[:4]) == pytest.approx([0.8439, -0.7424, 0.3832, -0.5461])


def test_a_text_without_a_word_of_the_lexicon_is_neutral() -> None:
    assert compound([TEXTS[5]]).tolist() == [0.0]
    assert compound([]).shape == (0,)


def test_order_does_not_matter() -> None:
    assert compound(TEXTS[::-1]).tolist() == compound(TEXTS)[::-1].tolist()
