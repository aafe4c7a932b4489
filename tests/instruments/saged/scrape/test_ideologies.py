"""The domain `ideologies` with the packaged extracts."""

from collections import Counter
from pathlib import Path

import pytest

from evenruler.instruments.saged.declare.source import Source, read_source
from evenruler.instruments.saged.rows.prompts import Rows, rows_of
from evenruler.instruments.saged.scrape.pages import PackagedExtracts
from evenruler.instruments.saged.scrape.scraping import Scraped, scrape

ROOT = Path(__file__).parents[4]


@pytest.fixture(scope="module")
def source() -> Source:
    return read_source(ROOT / "data/sources/saged/ideologies.yaml")


@pytest.fixture(scope="module")
def scraped(source: Source) -> Scraped:
    extracts = PackagedExtracts()
    read = []
    for concept in source.concepts:
        read += [([concept], extracts.read_page(title)) for title in source.pages_of(concept)]
    return scrape("ideologies", source, read)


@pytest.fixture(scope="module")
def built(source: Source, scraped: Scraped) -> Rows:
    return rows_of(
        "ideologies", source, scraped.sentences, lambda *_: pytest.fail("asked for questions")
    )


def test_every_page_holds_a_keyword_and_no_sentence_stands_for_two_concepts(
    scraped, source
) -> None:
    assert not [row for row in scraped.sources if row["reason"]]
    sentences = [row["sentence"] for row in scraped.sentences]
    assert len(set(sentences)) == len(sentences)
    origins = {(row["source"], row["licence"]) for row in scraped.sentences}
    assert origins == {(source.source, source.licence)}


def test_every_concept_gets_its_items_but_for_those_that_the_file_names(built, source) -> None:
    items = Counter(row["concept"] for row in built.prompts)
    assert len(items) == 10
    assert {concept: n for concept, n in items.items() if n != 10} == {
        "environmentalism": 6,
        "capitalism": 7,
        "conservatism": 6,
        "liberalism": 8,
        "communism": 9,
    }
    named = "Environmentalism, conservatism, capitalism, liberalism and communism have fewer items"
    assert named in " ".join(source.limits)
