"""Tables in the words of a family's YAML."""

from evenruler.report.page import Table, make_tables

WRITTEN = {
    "title": "Moved by {name}",
    "caption": "Over {n} fits.",
    "columns": ["model", "...", "why"],
    "most": 2,
    "more": "in moved.parquet",
}


def test_columns_of_the_data_stand_where_the_dots_are_and_long_tables_are_cut() -> None:
    rows = [[model, "0.1", "0.2", ""] for model in "abc"]
    (table,) = make_tables(WRITTEN, rows, ["one", "two"], name="gloom", n=5)
    caption = "Over 5 fits. 1 more: in moved.parquet."
    assert table == Table(["model", "one", "two", "why"], rows[:2], "Moved by gloom", caption)


def test_without_dots_they_stand_last_and_nothing_else_has_to_be_written() -> None:
    assert make_tables({"columns": ["model"]}, [["a", "1"]], ["n"]) == [
        Table(["model", "n"], [["a", "1"]])
    ]


def test_without_rows_there_is_no_table() -> None:
    assert make_tables(WRITTEN, [], ["one"], name="gloom", n=5) == []
