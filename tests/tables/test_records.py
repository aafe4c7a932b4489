"""Tables of users: the same rows from every kind of file, and one line where it is none."""

from pathlib import Path

import pandas as pd
import pytest

from evenruler.tables.records import (
    parse_records,
    parse_text_table,
    read_records,
    read_text_table,
    rename_columns,
)

TABLE = 'word,text\na,"one, two"\nb,three\n'
CELLS = [{"word": "a", "text": "one, two"}, {"word": "b", "text": "three"}]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_rows_with_the_lines_that_they_end_in(tmp_path: Path, encoding: str, end: str) -> None:
    path = tmp_path / "table.csv"
    path.write_bytes(TABLE.replace("\n", end).encode(encoding))
    columns, rows = read_text_table(path)
    assert columns == ["word", "text"]
    assert rows == [(2, CELLS[0]), (3, CELLS[1])]


def test_every_kind_of_file_holds_the_same_rows(tmp_path: Path) -> None:
    """Whatever a file is called."""
    table = pd.DataFrame(CELLS)
    table.to_csv(tmp_path / "commas", index=False)
    table.to_csv(tmp_path / "tabs", index=False, sep="\t")
    table.to_csv(tmp_path / "semicolons", index=False, sep=";")
    table.to_json(tmp_path / "lines", orient="records", lines=True)
    table.to_json(tmp_path / "list", orient="records")
    table.to_parquet(tmp_path / "parquet")
    kinds = {path.name: read_records(path).kind for path in sorted(tmp_path.iterdir())}
    assert kinds == {
        "commas": "CSV",
        "lines": "JSON lines",
        "list": "JSON",
        "parquet": "Parquet",
        "semicolons": "CSV",
        "tabs": "tab-separated text",
    }
    for path in tmp_path.iterdir():
        columns, rows = read_text_table(path)
        assert columns == ["word", "text"]
        assert [cells for _, cells in rows] == CELLS, path.name


def test_numbers_of_rows() -> None:
    """A line of text, or of JSON lines with an empty one between; an entry of a list."""
    lines = '{"a": 1}\n\n{"a": 2}\n'
    assert [number for number, _ in parse_text_table(lines, "here")[1]] == [1, 3]
    assert [number for number, _ in parse_text_table('[{"a": 1},\n\n{"a": 2}]', "here")[1]] == [
        1,
        2,
    ]


def test_cells_of_json_are_text_as_csv_has_it(tmp_path: Path) -> None:
    row = '{"n": 1.0, "half": 0.5, "none": null, "yes": true, "list": ["ä", 1], "text": " a "}'
    _, rows = parse_text_table(row, "here")
    (cells,) = (cells for _, cells in rows)
    assert [*cells.values()] == ["1", "0.5", "", "true", '["ä", 1]', " a "]
    path = tmp_path / "t.parquet"
    pd.DataFrame({"n": [1.0, None], "text": ["a", None]}).to_parquet(path)
    assert [cells for _, cells in read_text_table(path)[1]] == [
        {"n": "1", "text": "a"},
        {"n": "", "text": ""},
    ]


def test_a_path_leads_into_an_object() -> None:
    rows = '{"doc": {"more": "a"}, "of": [["", "b"]]}\n{"doc": {}, "of": []}\n'
    _, cells = parse_text_table(rows, "here", ["doc.more", "of.0.1"])
    named = rename_columns(cells, {"first": "doc.more", "second": "of.0.1"})
    assert named[0] == (1, {"first": "a", "second": "b"})
    assert named[1] == (2, {"first": "", "second": ""})


def test_texts_by_group_and_name() -> None:
    grouped = '{"Bakers": {"A": ["x is a", "y"]}, "Smiths": {"B": ["z"]}}'
    records = parse_records(grouped, "here")
    assert records.columns == ["group", "name", "text"]
    rows = ["/".join(cells.values()) for _, cells in records.as_text()]
    assert rows == ["Bakers/A/x is a", "Bakers/A/y", "Smiths/B/z"]
    words = parse_records('{"targ1": {"examples": ["tea"]}}', "here")
    assert words.columns == ["targ1"]


def test_lists_have_columns_by_place() -> None:
    records = parse_records('[["nurse", -0.5], ["smith", 1.0]]', "here")
    first, second = records.as_text()
    assert first == (1, {"1": "nurse", "2": "-0.5"})
    assert second == (2, {"1": "smith", "2": "1"})


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (f"{TABLE}c,caf\xe9\n".encode("latin-1"), "not UTF-8 (line 4); save it as UTF-8"),
        (b"PK\x03\x04\xff\xfe", "a workbook or archive, expected text; save it as CSV UTF-8"),
        (f"{TABLE}c\n".encode(), "line 4 (c): not as many fields as the header"),
        (b"\na,b\n", "line 2 (a): not as many fields as the header"),
        (
            f"{TABLE}c,{'x' * 200_000}\n".encode(),
            "line 4: not CSV (field larger than field limit (131072))",
        ),
        (b'{"a": 1}\n{"a": ', "line 2: not JSON, or cut off (Expecting value: line 1"),
        (b'[{"a": 1},', "not JSON, or cut off (Expecting value: line 1"),
        (b"[1, 2]", "JSON whose row 1 is no object, expected a table; write a table: "),
        (b"PAR1 and no more", "no readable Parquet ("),
    ],
)
def test_what_is_no_table_is_one_line(
    tmp_path: Path, error_of, content: bytes, message: str
) -> None:
    path = tmp_path / "table.csv"
    path.write_bytes(content)
    assert message in error_of(read_text_table, path, "put it there")


@pytest.mark.parametrize("empty", ["", ",,,", " , "])
def test_a_row_without_text_is_skipped_wherever_it_stands(empty: str) -> None:
    text = f"word,text\n{empty}\na,b\n{empty}\nc,d\n{empty}\n{empty}"
    _, rows = parse_text_table(text, "here")
    first, second = rows
    assert first == (3, {"word": "a", "text": "b"})
    assert second == (5, {"word": "c", "text": "d"})


def test_the_delimiter_is_the_one_of_the_header_outside_quotes() -> None:
    columns, rows = parse_text_table('"a; b; c","d"\n1,"2;3"\n', "here")
    assert columns == ["a; b; c", "d"]
    assert rows == [(2, {"a; b; c": "1", "d": "2;3"})]


@pytest.mark.parametrize(
    ("header", "message"),
    [
        ("word,txt", "here: no column 'text'; did you mean 'txt'?"),
        ("text,text", "here: more than one column 'text';"),
    ],
)
def test_a_column_that_is_needed_is_there_once(error_of, header: str, message: str) -> None:
    assert error_of(parse_text_table, f"{header}\na,b\n", "here", ["text"]).startswith(message)


def test_with_tabs_quotes_are_letters_where_they_enclose_no_field() -> None:
    for quotes in (None, False):
        _, rows = parse_text_table('word\ttext\na\t"b\n', "here", ["text"], quotes=quotes)
        assert rows == [(2, {"word": "a", "text": '"b'})]
    enclosed = 'word\ttext\na\t"b ""c"""\n'
    assert parse_text_table(enclosed, "here")[1] == [(2, {"word": "a", "text": 'b "c"'})]
    literal = parse_text_table(enclosed, "here", quotes=False)[1]
    assert literal == [(2, {"word": "a", "text": '"b ""c"""'})]


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
    known_columns = ["word", "text"]
    line = error_of(
        lambda: parse_text_table(f"{header}\na,b\n", "here", known_columns=known_columns)
    )
    assert line.startswith(message)
    _, rows = parse_text_table("word\na\n", "here", known_columns=known_columns)
    assert rows == [(2, {"word": "a"})]
