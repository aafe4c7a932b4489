import codecs

import pytest

from evenruler.instruments.saged.scrape import pages
from evenruler.instruments.saged.scrape.pages import file_sections

MARKDOWN = """---
title: not text
---
# Veloria

Veloria is *an invented*
country with [rivers](https://example.org).

Name | Length
--- | ---
Long River | 300 km

## Rivers

- One is long.
- One is `short`.

```python
code = "no prose"
```

Seas
----
There are none &mdash; yet.

## Empty
"""

HTML = """<!DOCTYPE html><html><head><title>Not text</title><style>p {}</style></head>
<body><nav><ul><li>Menu</li></ul></nav>
<p>Before any heading,<br>two lines &amp; more.
<p>An unclosed   paragraph
wrapped.
<h2>Rivers &ndash; <i>and
more</i></h2><div>One<b>word</b>.<div>Nested.</div></div>
<script>var x = "<p>no</p>";</script>
<table><tr><td>Cell one</td><td>Cell two</td></tr></table>
<h3>Nothing</h3><pre>code</pre>
</body></html>"""


def test_plain_text_has_a_line_a_paragraph() -> None:
    text = (
        "A heading\n\nA sentence that is\r\nwrapped. It goes\n  "
        "on\there.\nAnother.\n\n\n\u201cQuoted.\u201d\nLast"
    )
    assert file_sections(text.encode(), "a.txt") == [
        (
            "",
            "A heading\nA sentence that is wrapped. It goes on "
            "here.\nAnother.\n\u201cQuoted.\u201d\nLast",
        )
    ]


def test_letters_in_two_pieces_become_one() -> None:
    assert file_sections("Cafe\u0301".encode(), "a.txt") == [("", "Caf\u00e9")]


def test_markdown_by_sections() -> None:
    assert file_sections(MARKDOWN.encode(), "folder/Veloria.MD") == [
        ("", "Veloria is an invented country with rivers.\nName\nLength\nLong River\n300 km"),
        ("Rivers", "One is long.\nOne is short."),
        ("Seas", "There are none \u2014 yet."),
    ]


def test_a_level_one_heading_is_a_title_only_at_the_beginning() -> None:
    assert file_sections(b"Lead.\n\n# One\n\nFirst.\n\n# Two\n\nSecond.", "a.md") == [
        ("", "Lead."),
        ("One", "First."),
        ("Two", "Second."),
    ]
    assert file_sections(b"## One\n\nFirst.", "a.md") == [("One", "First.")]


def test_html_by_sections() -> None:
    assert file_sections(HTML.encode(), "a.htm") == [
        ("", "Before any heading,\ntwo lines & more.\nAn unclosed paragraph wrapped."),
        ("Rivers \u2013 and more", "Oneword.\nNested.\nCell one\nCell two"),
    ]


def test_html_whose_head_nobody_closed() -> None:
    assert file_sections(b"<head><title>T</title><body><p>Text.", "a.html") == [("", "Text.")]


GERMAN = (
    "Gr\u00f6\u00dfe und \u00c4pfel: Die Stra\u00dfe f\u00fchrt \u00fcber die Br\u00fccke "
    "nach S\u00fcden."
)
RUSSIAN = (
    "\u041f\u0440\u0438\u0432\u0435\u0442, \u043c\u0438\u0440. \u042d\u0442\u043e "
    "\u0442\u0435\u043a\u0441\u0442."
)


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        (GERMAN, "utf-8"),
        (GERMAN, "utf-8-sig"),
        (GERMAN, "utf-16"),
        (GERMAN, "utf-16-le"),
        (GERMAN, "utf-32"),
        (GERMAN, "cp1252"),
        ("He said \u201chello\u201d \u2013 it\u2019s a na\u00efve caf\u00e9.", "cp1252"),
        (RUSSIAN, "cp1251"),
        (RUSSIAN, "koi8-r"),
    ],
)
def test_the_encoding_is_found(text, encoding) -> None:
    assert file_sections(text.encode(encoding), "a.txt") == [("", text)]


@pytest.mark.parametrize(("encoding", "begin"), [("cp1252", 300_000), ("utf-16-le", 1)])
def test_the_encoding_is_found_where_letters_tell_it(encoding, begin) -> None:
    text = "x" * begin + (GERMAN + " ") * 2000
    assert file_sections(text.encode(encoding), "a.txt") == [("", text.strip())]


def test_html_says_its_encoding() -> None:
    markup = f'<meta http-equiv="Content-Type" content="text/html; charset=koi8-r"><p>{RUSSIAN}'
    assert file_sections(markup.encode("koi8-r"), "a.html") == [("", RUSSIAN)]


UNTOLD = "the text's encoding is not known; save it as UTF-8"


@pytest.mark.parametrize(
    ("content", "name", "message"),
    [
        (b"", "x/a.txt", "x/a.txt: an empty file; fill it or take it out"),
        (b" \n\t", "a.md", "a.md: an empty file; fill it or take it out"),
        (b"<script>x</script>", "a.html", "a.html: no text in it; fill it or take it out"),
        (b"# Title", "a.md", "a.md: no text in it; fill it or take it out"),
        (b"%PDF", "a.pdf", "a.pdf: no text file by its ending (.pdf); convert it; "),
        (
            b"text",
            "README",
            "README: no text file by its ending (none); convert it; known: .htm, .html",
        ),
        (
            b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR",
            "a.txt",
            f"a.txt: {UNTOLD}",
        ),
        (bytes(range(128, 256)) * 3, "a.txt", f"a.txt: {UNTOLD}"),
        (codecs.BOM_UTF8 + b"caf\xe9", "a.txt", f"a.txt: {UNTOLD}"),
        (b"<meta charset=utf-8><p>caf\xe9", "a.html", f"a.html: {UNTOLD}"),
        (
            b"<meta charset=nonsense><p>caf\xe9",
            "a.html",
            f"a.html: {UNTOLD}",
        ),
    ],
)
def test_what_is_no_text_is_refused(content, name, message, error_of) -> None:
    assert error_of(file_sections, content, name).startswith(message)


def test_the_limit_of_size(error_of, monkeypatch) -> None:
    content = b"word " * 300_000
    assert len(file_sections(content, "a.txt")[0][1]) == 1_499_999
    monkeypatch.setattr(pages, "MOST_BYTES", 1_000_000)
    assert error_of(file_sections, content, "a.txt") == "a.txt: 1.5 MB, more than 1 MB; split it"
