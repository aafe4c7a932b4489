"""What a language model is asked for a number, and how its reply is read."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from vaderSentiment.vaderSentiment import SentimentIntensityAnalyzer

from evenruler.instruments.saged.ask import extract_features, mask_names, names_of
from evenruler.instruments.saged.ask.features import (
    NO_NUMBER,
    OTHER_SCALE,
    OUTSIDE,
    fill_question,
    parse_score,
)
from evenruler.instruments.saged.declare.settings import Feature
from evenruler.text.english import vader_scores
from tests.instruments.near import approx
from tests.instruments.saged.ask.test_extraction import PROMPTS, Doubles, generations, numbers

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
    assert vader_scores(TEXTS).tolist() == [
        analyzer.polarity_scores(text)["compound"] for text in TEXTS
    ]


ROOT = Path(__file__).parents[4]


@pytest.fixture(scope="module")
def names() -> tuple[str, ...]:
    folder = ROOT / "benchmarks/saged-countries"
    plan = json.loads((folder / "plan.json").read_text())
    return names_of(pd.read_parquet(folder / "prompts/test-00000-of-00001.parquet"), plan["masked"])


def test_names_are_keywords_replacements_and_concepts_without_articles(
    names,
) -> None:
    assert {
        "Germany",
        "United States",
        "Japanese people",
        "saudi arabia",
    } <= set(names)
    assert not [name for name in names if name.lower().startswith(("a ", "an ", "the "))]


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("Italy is lovely, and Italy's wine is Italian.", "it is lovely, and it's wine is it."),
        ("The United States and the people of south korea", "The it and the people of it"),
        ("Itinerant Germanic tribes told us so.", "Itinerant Germanic tribes told us so."),
    ],
)
def test_names_are_masked_as_whole_words(names, text, masked) -> None:
    assert mask_names([text], names) == [masked]


def test_without_names_texts_stay() -> None:
    assert mask_names(["Italy"], []) == ["Italy"]


def test_two_replies_that_differ_in_the_name_alone_are_one_to_an_embedder() -> None:
    """Distances and clusters read masked texts; `mask: false` reads names."""
    vectors = {
        "it is lovely.": [1, 0],
        "France is lovely.": [0, 1],
        "Spain is lovely.": [1, 1],
        "Apples are awful.": [2, 1],
    }
    replies = generations(("p1", "Spain is lovely."), ("p2", "France is lovely."))
    far = 1 - 0.5**0.5
    for mask, expected in ((True, [0.0, 0.0]), (False, [far, far])):
        features = {"d": Feature(kind="distance", metric="cosine", mask=mask)}
        tables = extract_features(
            PROMPTS, replies, features, Doubles(vectors=vectors), ("France", "Spain")
        )
        assert numbers(tables["features"]) == approx(expected)
    clusters = {"t": Feature(kind="clusters", form="label", k=2, seed=0)}
    tables = extract_features(
        PROMPTS, replies, clusters, Doubles(vectors=vectors), ("France", "Spain")
    )
    topics = tables["topics"]
    assert topics["n"].tolist() == [2]
    assert not {"france", "spain"} & set(np.concatenate(topics["words"].tolist()))


class TestAsked:
    def test_names_and_braces_in_texts_stay(self) -> None:
        assert fill_question("{GENERATION} | {BASELINE}", "{BASELINE} {x} \\1", "{GENERATION}") == (
            "{BASELINE} {x} \\1 | {GENERATION}"
        )

    def test_other_braces_stay(self) -> None:
        assert fill_question('{"text": "{GENERATION}"}', "a", "b") == '{"text": "a"}'


class TestParsed:
    @pytest.mark.parametrize(
        ("reply", "value"),
        [
            ("7", 7),
            (" 7.5 ", 7.5),
            ("0", 0),
            ("10", 10),
            ("+3", 3),
            (".5", 0.5),
            ("**7**", 7),
            ("Score: 7", 7),
            ("The score is 7.", 7),
            ("my rating = 6.25", 6.25),
            ("7/10", 7),
            ("7 out of 10.", 7),
            ("\n\n7\n\nThe text has 3 kind words.", 7),
        ],
    )
    def test_a_number_by_itself(self, reply, value) -> None:
        assert parse_score(reply, 0, 10) == value

    @pytest.mark.parametrize(
        "reply",
        [
            "",
            "seven",
            "7-8",
            "7, because it is kind",
            "1. The text is kind",
            "70%",
            "1,000",
            "1e1",
            "0x7",
            "nan",
            "inf",
            "\u0667",
            "7.5.1",
            "__import__('os').getcwd()",
            "Kind.\n7",
        ],
    )
    def test_anything_else_is_no_number(self, reply) -> None:
        assert parse_score(reply, 0, 10) == NO_NUMBER

    @pytest.mark.parametrize(
        ("reply", "low", "high"),
        [
            ("11", 0, 10),
            ("-1", 0, 10),
            ("\u22120.1", 0, 1),
            ("0", 1, 5),
        ],
    )
    def test_a_number_outside_the_range(self, reply, low, high) -> None:
        assert parse_score(reply, low, high) == OUTSIDE

    def test_negative_numbers_where_they_belong(self) -> None:
        assert parse_score("-0.25", -1, 1) == parse_score("\u22120.25", -1, 1) == -0.25

    @pytest.mark.parametrize("reply", ["4/5", "40/100"])
    def test_a_scale_of_its_own(self, reply) -> None:
        assert parse_score(reply, 0, 10) == OTHER_SCALE
