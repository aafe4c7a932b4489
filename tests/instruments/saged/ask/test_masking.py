from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from evenruler.instruments.saged.ask.extracting import extract
from evenruler.instruments.saged.ask.masking import masked, names_of
from evenruler.instruments.saged.declare.features import Feature
from tests.instruments.saged.ask.test_extracting import PROMPTS, Doubles, generations, numbers

ROOT = Path(__file__).parents[4]


@pytest.fixture(scope="module")
def names() -> tuple[str, ...]:
    return names_of(pd.read_parquet(ROOT / "benchmarks/saged-countries/prompts/test-00000-of-00001.parquet"))


def test_names_are_keywords_replacements_and_concepts_without_articles(names: tuple[str, ...]) -> None:
    assert {"Aurelia", "Aurelians", "Germany", "United States", "Japanese people", "saudi arabia"} <= set(names)
    assert not [name for name in names if name.lower().startswith(("a ", "an ", "the "))]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Italy is lovely, and Italy's wine is Italian.", "it is lovely, and it's wine is it."),
        ("The United States and the people of south korea", "The it and the people of it"),
        ("Itinerant Germanic tribes told us so.", "Itinerant Germanic tribes told us so."),
        ("", ""),
    ],
)
def test_names_are_masked_as_whole_words(names: tuple[str, ...], text: str, said: str) -> None:
    assert masked([text], names) == [said]


def test_without_names_texts_stay() -> None:
    assert masked(["Italy"], []) == ["Italy"]


def test_two_replies_that_differ_in_the_name_alone_are_one_to_an_embedder() -> None:
    """Distances and clusters read masked texts; `mask: false` reads names."""
    vectors = {
        "it is lovely.": [1, 0],
        "France is lovely.": [0, 1],
        "Spain is lovely.": [1, 1],
        "Apples are awful.": [2, 1],
    }
    replies = generations(("p1", "Spain is lovely."), ("p2", "France is lovely."))
    for mask, expected in ((True, [0.0, 0.0]), (False, [1 - 0.5**0.5, 1 - 0.5**0.5])):
        features = {"d": Feature(kind="distance", metric="cosine", mask=mask)}
        found = extract(PROMPTS, replies, features, Doubles(vectors=vectors), ("France", "Spain"))
        assert numbers(found.features) == pytest.approx(expected)
    clusters = {"t": Feature(kind="clusters", form="label", k=2, seed=0)}
    found = extract(PROMPTS, replies, clusters, Doubles(vectors=vectors), ("France", "Spain"))
    assert found.topics["n"].tolist() == [2]
    assert not {"france", "spain"} & set(np.concatenate(found.topics["words"].tolist()))
