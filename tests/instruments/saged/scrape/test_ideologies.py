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


def test_every_page_is_there_and_holds_a_keyword(scraped: Scraped) -> None:
    assert not [row for row in scraped.sources if row["reason"]]


def test_every_concept_gets_its_items_but_for_those_that_the_file_names(
    built: Rows, source: Source
) -> None:
    items = Counter(row["concept"] for row in built.prompts)
    assert len(items) == 10
    assert {concept: n for concept, n in items.items() if n != 10} == {
        "environmentalism": 6,
        "capitalism": 7,
        "conservatism": 6,
        "liberalism": 8,
        "communism": 9,
    }
    assert any(
        "Environmentalism, conservatism, capitalism, liberalism and communism have fewer items"
        in limit
        for limit in source.limits
    )


def test_no_sentence_stands_for_two_concepts(scraped: Scraped) -> None:
    counts = Counter(row["sentence"] for row in scraped.sentences)
    assert max(counts.values()) == 1


def test_the_source_and_licence_of_its_text_are_those_of_the_pages(
    scraped: Scraped, source: Source
) -> None:
    assert {(row["source"], row["licence"]) for row in scraped.sentences} == {
        (source.source, source.licence)
    }
