"""Sentences of pages, each under its own keyword and concept, with where it is from."""

from operator import itemgetter

from evenruler.instruments.saged.declare.source import Source
from evenruler.instruments.saged.schemas import SENTENCES, SOURCES
from evenruler.instruments.saged.scrape.pages import MissingPage, Page
from evenruler.instruments.saged.scrape.scraping import scrape
from tests.instruments.saged.domains import places

TREES = ["ash", "birch", "cedar", "elm", "fir", "larch", "lime", "oak", "pine", "yew"]


def page(title: str, *sections: tuple[str, str]) -> Page:
    return Page(
        title,
        title.title(),
        f"https://example.org/{title}",
        "en",
        "A wiki",
        "cc-by-sa-4.0",
        sections,
        7,
        70,
    )


def domain(keywords: dict[str, list[str]]) -> Source:
    return places(
        concepts={name: {"name": name, "keywords": words} for name, words in keywords.items()}
    )


OAK = domain({"oak": ["oak"]})
OAK_AND_PINE = domain({"oak": ["oak"], "pine": ["pine"]})


def scraped_rows(
    trees: Source, *read: tuple[list[str], Page | MissingPage]
) -> list[tuple[str, str, str]]:
    scraped = scrape("trees", trees, read)
    return list(map(itemgetter("concept", "keyword", "sentence"), scraped.sentences))


def test_sentences_never_bleed_between_ten_keywords_on_one_page() -> None:
    """One sentence about each tree, others between them, and words that merely hold a keyword."""
    listed = [f"Nobody has ever seen the {tree} fall in that valley." for tree in TREES]
    filler = "The ashtray, the limestone and the pineapple are no trees. Many people walk there."
    text = "\n".join(f"{sentence} {filler}" for sentence in listed)
    trees = domain({"even": TREES[::2], "odd": TREES[1::2]})
    expected = zip(["even", "odd"] * 5, TREES, listed, strict=True)
    rows = scraped_rows(trees, (["even", "odd"], page("trees", ("", text))))
    assert sorted(rows) == sorted(expected)


def test_a_page_is_read_for_its_own_concepts_alone() -> None:
    text = "The oak is tall. The pine is taller."
    rows = scraped_rows(OAK_AND_PINE, (["oak"], page("oak", ("", text))))
    assert rows == [("oak", "oak", "The oak is tall.")]


def test_a_sentence_of_a_concept_counts_once_where_it_stands_first() -> None:
    first = page("oak", ("", "The oak is tall."), ("Uses", "The oak is tall. An oak is useful."))
    second = page("wood", ("", "An oak is useful. The oak burns."))
    scraped = scrape("trees", OAK, [(["oak"], first), (["oak"], second)])
    assert set(map(itemgetter("sentence", "title", "section"), scraped.sentences)) == {
        ("The oak is tall.", "Oak", ""),
        ("An oak is useful.", "Oak", "Uses"),
        ("The oak burns.", "Wood", ""),
    }
    assert len(scraped.sentences) == 3
    assert [*map(itemgetter("source_tag", "sentences", "reason"), scraped.sources)] == [
        ("oak", 2, None),
        ("wood", 1, None),
    ]


def test_pages_that_are_missing_or_of_no_use_are_listed() -> None:
    read = [
        (["oak"], MissingPage("Oak", "no such page")),
        (["oak", "pine"], page("hills", ("", "The hills are bare."))),
    ]
    scraped = scrape("trees", OAK_AND_PINE, read)
    assert scraped.sentences == []
    assert [*map(itemgetter("concept", "source_tag", "reason"), scraped.sources)] == [
        ("oak", "Oak", "no such page"),
        ("oak", "hills", "no new sentence holds a keyword"),
        ("pine", "hills", "no new sentence holds a keyword"),
    ]
    assert all(set(row) == set(SOURCES.names) for row in scraped.sources)


def test_provenance_travels_with_a_sentence() -> None:
    scraped = scrape("trees", OAK, [(["oak"], page("oak", ("Lead", "An oak.")))])
    (row,) = scraped.sentences
    assert set(row) == set(SENTENCES.names)
    origin = itemgetter("url", "revision_id", "page_id", "section", "source", "licence")
    where = ("https://example.org/oak", 70, 7, "Lead", "A wiki", "cc-by-sa-4.0")
    assert origin(row) == where
