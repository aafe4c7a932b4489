"""How much there is to read: README, CONTRIBUTING and docs, without tables, code and what scripts
write."""

import re

from tests.documents.pages import ROOT, pages

MOST_WORDS = 20_000
GENERATED = {"docs/papers.md", "docs/rulers.md", "docs/weights.md"}
"""Pages that scripts write."""

FRONT_MATTER = re.compile(r"\A---\n.*?\n---\n", re.S)
FENCED_BLOCK = re.compile(r"^```.*?^```$", re.M | re.S)
COMMENT = re.compile(r"<!--.*?-->", re.S)
TABLE_ROW = re.compile(r"^\s*\|.*$", re.M)


def count_words(page: str) -> int:
    """Words of a page outside its front matter, blocks of code, comments and tables."""
    for left_out in (FRONT_MATTER, FENCED_BLOCK, COMMENT, TABLE_ROW):
        page = left_out.sub("", page)
    return sum(bool(re.search(r"\w", token)) for token in page.split())


def test_the_prose_is_short() -> None:
    counts = {}
    for path in {"CONTRIBUTING.md", *pages()} - GENERATED:
        page = (ROOT / path).read_text(encoding="utf-8")
        counts[path] = count_words(page)
    longest = sorted(counts, key=counts.__getitem__, reverse=True)[:5]
    assert sum(counts.values()) <= MOST_WORDS, longest


def test_words_outside_code_comments_and_tables_are_counted() -> None:
    page = (
        "---\ntitle: A page\n---\n# A page\nTwo words, `code` - and [a link](b.md).\n\n"
        "| a | table |\n| --- | --- |\n\n<!-- a comment\nof two lines -->\n"
        "```console\necho no prose\n```\nThe end.\n"
    )
    assert count_words(page) == 2 + 6 + 2
