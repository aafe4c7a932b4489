from operator import itemgetter

from evenruler.instruments.saged.scrape.pages import (
    Page,
    html_sections,
    known_pages,
    sections_of,
)


def page(requested: str, *sections: tuple[str, str]) -> Page:
    return Page(requested, "Title", "https://example.org", "en", "Testers", "cc0-1.0", sections, 3)


def test_pages_come_back_from_their_rows() -> None:
    first = page("one", ("", "Lead."), ("A", "First."), ("A", "Second."))
    second = page("two", ("B", "Third."))
    rows = first.rows("x") + second.rows("x") + first.rows("y")
    keys = itemgetter("concept", "source_tag", "section", "text")
    assert [keys(row) for row in rows[:3]] == [
        ("x", "one", "", "Lead."),
        ("x", "one", "A", "First."),
        ("x", "one", "A", "Second."),
    ]
    assert known_pages(rows) == {"one": first, "two": second}
    assert known_pages([]) == {}


def test_headings_of_any_level_and_equal_signs_that_are_none() -> None:
    extract = (
        "Lead with a = b.\n\n\n== One ==\n\n\n=== Two = 2 ===\nText\u00a0 here.\n\n\n== "
        "Three ==\n= x\n== Last =="
    )
    assert sections_of(extract) == [
        ("", "Lead with a = b."),
        ("Two = 2", "Text here."),
        ("Three", "= x"),
    ]
    assert sections_of("") == []


def test_a_paragraph_of_eleven_megabytes_is_read_whole() -> None:
    """By default the parser drops text nodes from ten megabytes on, and says nothing."""
    text = "wool " * 2_200_000
    assert html_sections(f"<h2>One</h2><p>{text}</p>", "//table") == [("One", text.rstrip())]
