"""Texts and tables of users; YAML is tried in `tests/faults/declarations.py`."""

from pathlib import Path

import pytest
from pydantic import Field

from evenruler.strict import Slug, StrictModel, Text, csv_of, read_csv, read_yaml, validate

TABLE = 'word,text\na,"one, two"\nb,three\n'


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig"])
def test_rows_with_the_lines_that_they_end_in(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "table.csv"
    path.write_text(TABLE, encoding=encoding)
    assert read_csv(path, "put it there") == (
        ["word", "text"],
        [(2, {"word": "a", "text": "one, two"}), (3, {"word": "b", "text": "three"})],
    )


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (f"{TABLE}c,caf\xe9\n".encode("latin-1"), "not UTF-8 (line 4); save it as UTF-8"),
        (b"PK\x03\x04\xff\xfe", "a workbook or archive, expected text; save it as CSV UTF-8"),
        (b"word;text\na;one, two\n", "line 1: no commas between fields; save it with commas"),
        (f"{TABLE}c\n".encode(), "line 4 (c): not as many fields as the header"),
        (b"\na,b\n", "line 2 (a): not as many fields as the header"),
        (
            f"{TABLE}c,{'x' * 200_000}\n".encode(),
            "line 4: not CSV (field larger than field limit (131072))",
        ),
    ],
)
def test_what_is_no_table_is_one_line(
    tmp_path: Path, error_of, content: bytes, message: str
) -> None:
    path = tmp_path / "table.csv"
    path.write_bytes(content)
    assert message in error_of(read_csv, path, "put it there")


@pytest.mark.parametrize("empty", ["", ",,,", " , "])
def test_a_row_without_text_is_skipped_wherever_it_stands(empty: str) -> None:
    text = f"word,text\n{empty}\na,b\n{empty}\nc,d\n{empty}\n{empty}"
    _, rows = csv_of(text, "here")
    assert rows == [(3, {"word": "a", "text": "b"}), (5, {"word": "c", "text": "d"})]


@pytest.mark.parametrize("delimiter", [";", "\t"])
def test_the_delimiter_is_the_one_of_the_header(delimiter: str) -> None:
    text = f"word{delimiter}text\na{delimiter}b\n"
    columns, rows = csv_of(text, "here", ["text"], ",;\t")
    assert columns == ["word", "text"]
    assert rows == [(2, {"word": "a", "text": "b"})]


@pytest.mark.parametrize(
    ("header", "message"),
    [
        ("word,txt", "here: no column 'text'; did you mean 'txt'?"),
        ("text,text", "here: more than one column 'text';"),
    ],
)
def test_a_column_that_is_needed_is_there_once(error_of, header: str, message: str) -> None:
    assert error_of(csv_of, f"{header}\na,b\n", "here", ["text"]).startswith(message)


def test_with_tabs_alone_quotes_are_letters() -> None:
    _, rows = csv_of('word\ttext\na\t"b\n', "here", ["text"], "\t")
    assert rows == [(2, {"word": "a", "text": '"b'})]


@pytest.mark.parametrize(
    ("header", "message"),
    [
        (
            "word,txt",
            "here: line 1: unknown column 'txt'; did you mean 'text'?; rename or remove it",
        ),
        ("word,word", "here: more than one column 'word'; "),
    ],
)
def test_where_columns_are_known_others_are_refused(error_of, header: str, message: str) -> None:
    line = error_of(lambda: csv_of(f"{header}\na,b\n", "here", known_columns=["word", "text"]))
    assert line.startswith(message)
    assert csv_of("word\na\n", "here", known_columns=["word", "text"])[1] == [(2, {"word": "a"})]


class Told(StrictModel):
    """A source in small."""

    title: Text = "A title"
    control: bool = False
    words: list[Text] = Field(default_factory=list)
    parts: dict[Slug, Text] = Field(default_factory=dict)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "empty, expected keys; write `key: value`"),
        ("a title\n", "found str, expected keys; write `key: value`"),
        ("title: 2026\n", "title: found 2026, expected text; put it in quotes"),
        ("title: {TARGET}\n", "title: found {'TARGET': None}, expected text; put it in quotes"),
        ("title:\n", "title: found nothing, expected text; write it"),
        ("title: FILL me\n", "title: found 'FILL me', expected your text in place of FILL; fix it"),
        ("control: yes\n", "control: found 'yes', expected true or false; write one of them"),
        ("words: one, two\n", "words: found 'one, two', expected a list; write [one, two]"),
        ("parts: one, two\n", "parts: found 'one, two', expected keys; write `key: value`"),
        ("title: a\ntitle: []\n", 'line 2: found duplicate key "title"; keep one of the two'),
        (
            "title: Age: x\n",
            "line 1: mapping values are not allowed here; "
            "fix the YAML there; a text that begins with { or holds a colon stands in quotes",
        ),
    ],
)
def test_yaml_that_is_refused_says_what_to_write(
    tmp_path: Path, error_of, text: str, message: str
) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(text)
    assert error_of(lambda: validate(Told, read_yaml(path), path)) == f"{path}: {message}"


def test_a_text_that_holds_fill_in_another_word_is_read() -> None:
    assert Told(title="FILLED, refill and fill").title == "FILLED, refill and fill"
