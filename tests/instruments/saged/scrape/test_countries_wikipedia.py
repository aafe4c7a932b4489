"""The domain `countries-wikipedia`, with a wiki of pages of ours in the place of Wikipedia, read in
old revisions."""

from pathlib import Path

import pytest
from ruamel.yaml import YAML

from evenruler.instruments.saged.declare import Settings, Source, load
from evenruler.instruments.saged.declare.source import read_source
from evenruler.instruments.saged.rows.prompts import Rows, rows_of
from evenruler.instruments.saged.scrape.fetching import refresh_pages
from evenruler.instruments.saged.scrape.scraping import write_sentence_tables
from evenruler.tables import read_table
from tests.local_wiki import LocalWiki

ROOT = Path(__file__).parents[4]
FILE = "data/sources/saged/countries-wikipedia.yaml"
SETTINGS = Settings.model_validate(
    {"text": "others", "contact": "tests@example.org"}, context={"profile": "paper"}
)
PAGES = {
    "Brazil": "Brazil is a large country.\n\n== Economy ==\nBrazilian farmers grow coffee in the "
    "hills. "
    "Brazil trades with the US.",
    "Canada": "Canada's museums keep paintings of lakes.\n\n== Politics ==\nThe Canadian "
    "government sits in Ottawa.",
    "Germany": "Germans like bread with seeds. Nazi Germany lost a war.",
    "Indonesia": "An Indonesian ferry crosses the strait every day.",
    "South Africa": "Schools in South Africa teach in several languages.",
}


@pytest.fixture(scope="module")
def source() -> Source:
    return read_source(ROOT / FILE)


@pytest.fixture(scope="module")
def revisions(wiki_server: LocalWiki) -> dict[str, int]:
    """Of pages that were written over since."""
    wiki_server.write(PAGES)
    numbers = {title: wiki_server.revision(title) for title in PAGES}
    wiki_server.write(dict.fromkeys(PAGES, "Written over."))
    return numbers


@pytest.fixture(scope="module")
def built(
    tmp_path_factory: pytest.TempPathFactory, wiki_server: LocalWiki, revisions: dict[str, int]
) -> Rows:
    """What refresh, scrape and build make of it."""
    root = tmp_path_factory.mktemp("clone")
    declared = YAML(typ="safe").load((ROOT / FILE).read_text())
    declared["material"] |= {
        "api": wiki_server.api,
        "licence": "cc-by-sa-4.0",
        "revisions": revisions,
    }
    declared["assemble"] = {
        "method": "split",
        "per_concept": 15,
        "seed": 3,
    }
    path = root / FILE
    path.parent.mkdir(parents=True)
    YAML().dump(declared, path)
    assert list(refresh_pages(root, path.stem, SETTINGS)) == [
        "countries-wikipedia: 5 pages in data/snapshots/countries-wikipedia"
    ]
    lines = write_sentence_tables(
        path.stem, load(path, SETTINGS, root), path, root / "scraped", root
    )
    assert lines == ["countries-wikipedia: 8 sentences, 0 of 5 pages without any"]
    scraped = load(root / "scraped/source.yaml", SETTINGS, root)
    sentences = read_table(root / "scraped/sentences.parquet").to_pylist()
    return rows_of(path.stem, scraped, sentences, lambda *_: pytest.fail("asked for questions"))


def test_names_and_words_agree_with_those_that_questions_are_about(source) -> None:
    countries = read_source(ROOT / "data/sources/saged/countries.yaml")
    assert set(source.branch.words) == set(countries.members)
    for concept, words in source.branch.words.items():
        assert words[0] == countries.form(concept, "concept")
        assert words[1:3] == countries.keywords_of(concept)[1:]


def test_what_is_said_of_the_united_states(built, revisions) -> None:
    baselines = {row["baseline"] for row in built.prompts if row["concept"] == "united-states"}
    assert baselines == {
        "The United States is a large country.",
        "American farmers grow coffee in the hills.",
        "The United States' museums keep paintings of lakes.",
        "The American government sits in Washington.",
        "Americans like bread with seeds.",
        "An American ferry crosses the strait every day.",
        "Schools in the United States teach in several languages.",
    }
    pages = {(row["title"], row["revision_id"]) for row in built.prompts}
    assert pages == set(revisions.items())
