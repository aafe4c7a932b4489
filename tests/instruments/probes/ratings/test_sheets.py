"""Sheets: whole, blind, and read back."""

import re
from io import StringIO

import pandas as pd
import pytest

from evenruler.instruments.probes.ratings import (
    CRITERIA,
    Construct,
    as_sheet,
    blind_templates,
    join_ratings,
    rater_instructions,
    read_key,
)
from tests.instruments.probes.ratings.conftest import CONSTRUCTS, SECRET, TEXTS

TOLD = [
    Construct(name, ["able"], ["elder", "youth"], "Mind <this>.") for name in CONSTRUCTS.values()
]


def test_a_text_of_two_sets_is_rated_once_and_counts_in_both(blinded) -> None:
    assert len(blinded.rows) == 5
    key = blinded.key.set_index("template")
    assert len(key) == 6
    assert key.loc["g4-slug", "id"] == key.loc["plain-slug", "id"]
    assert key["id"].nunique() == 5
    assert key.loc["g4-slug", "text"] == "The {ATTRIBUTE} is a {TARGET}."


def test_the_sheet_is_what_is_rated(blinded) -> None:
    sheet = pd.read_csv(StringIO(as_sheet(blinded.rows)))
    assert [*sheet] == ["id", "text", "construct", *CRITERIA, "rater"]
    assert sheet[[*CRITERIA, "rater"]].isna().all(axis=None)
    texts = {" ".join(text.split()) for text in TEXTS["text"]}
    assert set(sheet["text"]) == texts
    key = blinded.key.drop_duplicates("id").set_index("id")
    assert sheet.set_index("id")["text"].eq(key["text"]).all()


def test_where_a_probe_comes_from_cannot_reach_the_sheet(templates, blinded) -> None:
    """Other sets, slugs, keying and order of the table: the same sheet to the byte."""
    sets = [*templates["set"][1:], "new"]
    renamed = templates.assign(set=sets, template=list("uvwxyz"))
    rows = blind_templates(renamed[::-1], SECRET, 3).rows
    assert as_sheet(rows) == as_sheet(blinded.rows)


def test_of_the_key_only_ids_and_texts_are_on_the_sheet(blinded) -> None:
    sheet = as_sheet(blinded.rows)
    for column in ("set", "template", "secret"):
        for value in blinded.key[column]:
            assert value not in sheet
    assert all(probe in sheet for probe in blinded.rows["id"])


def test_orders_are_drawn_and_an_id_is_a_word_to_no_spreadsheet(templates) -> None:
    """Digits with an e among them would be read as a number; 12 of 16 letters tell a billion probes
    apart."""
    secrets = [f"{number:064x}" for number in range(20)]
    sheets = [blind_templates(templates, secret, 3).rows for secret in secrets]
    assert len({rows["text"].iloc[0] for rows in sheets}) >= 3
    ids = pd.concat(sheets)["id"]
    assert all(re.fullmatch("[bcdfghjkmnpqrstv]{12}", id_) for id_ in ids)
    assert len(set(ids)) == 100
    assert set("".join(ids)) == set("bcdfghjkmnpqrstv")


def test_instructions_tell_what_is_rated_of_which_construct_and_what_to_mind() -> None:
    blocks = rater_instructions(TOLD).split("\n\n")[1:]
    for block, construct in zip(blocks, CONSTRUCTS.values(), strict=True):
        for part in (construct, "able", "elder, youth", "Mind <this>."):
            assert part in block


FULL = dict.fromkeys(CRITERIA, "4")


@pytest.fixture
def key(blinded) -> pd.DataFrame:
    return read_key(blinded.key.to_csv(index=False), "key.csv")


@pytest.fixture
def filled(blinded):
    """A sheet as a rater sends it back, with some cells changed: (row of the spreadsheet, column)
    to text."""

    def fill(rater: str, cells: dict[tuple[int, str], str] | None = None, sep: str = ",") -> str:
        sheet = StringIO(as_sheet(blinded.rows))
        frame = pd.read_csv(sheet, dtype=str).assign(rater=rater, **FULL)
        for (row, column), text in (cells or {}).items():
            frame.loc[row - 2, column] = text
        return frame.to_csv(index=False, sep=sep)

    return fill


def test_ratings_come_back_long_with_what_is_missing(filled, key, blinded) -> None:
    first, second = blinded.rows["id"][:2]
    of_first = {(2, "clarity"): "1", (2, "subtlety"): ""}
    of_second = {(3, "clarity"): " 5 ", (3, "relevance"): "2.0"}
    sheets = {"a.csv": filled("Ben", of_first | of_second), "b.csv": filled(" ana  b")}
    ratings = join_ratings(sheets, key)
    assert len(ratings) == 2 * 5 * 4
    assert [*ratings["rater"].unique()] == ["ana b", "ben"]
    by_criterion = ratings.set_index(["rater", "id", "criterion"])["rating"]
    rated = by_criterion["ben", first].dropna()
    assert rated.to_dict() == {"clarity": 1, "relevance": 4, "naturalness": 4}
    assert by_criterion["ben", second].tolist() == [5, 2, 4, 4]
    assert (by_criterion["ana b"] == 4).all()


def test_spreadsheets_of_other_languages_and_with_columns_of_raters(filled, key) -> None:
    cells = {(4, "clarity"): "2"}
    expected = join_ratings({"a": filled("ana", cells)}, key)
    german = filled("ana", cells, ";").replace("\n", "\r\n") + ";;;;;;;\r\n\r\n"
    head, *rows = filled("ana", cells).splitlines()
    spaced_head = head.replace(",", ", ")
    spaced = f"{spaced_head},Row\n"
    for row in rows:
        spaced += f"{row},x\n"
    for sheet in (german, spaced):
        pd.testing.assert_frame_equal(join_ratings({"a": sheet}, key), expected)


@pytest.mark.parametrize(
    ("cells", "complaint"),
    [
        *(
            (
                {(4, "relevance"): cell},
                f"row 4: relevance is {cell!r}; write a whole number from 1 to 5",
            )
            for cell in ("0", "6", "3.5", "five", "nan")
        ),
        ({(3, "id"): "bbbbbbbbbbbb"}, "row 3: 'bbbbbbbbbbbb' is no id of the key;"),
        ({(5, "rater"): "  "}, "row 5: no rater;"),
        ({(3, "text"): "Something {else}."}, "row 3: the text is not that of "),
    ],
)
def test_a_row_that_cannot_be_read_is_refused(filled, key, error_of, cells, complaint) -> None:
    line = error_of(join_ratings, {"a.csv": filled("ana", cells)}, key)
    assert line.startswith(f"a.csv: {complaint}")


def test_a_huge_cell_is_not_printed(filled, key, error_of) -> None:
    sheet = filled("ana", {(4, "relevance"): "9" * 100_000})
    assert len(error_of(join_ratings, {"a.csv": sheet}, key)) < 200


def test_an_id_twice_for_one_rater_is_refused(filled, key, blinded, error_of) -> None:
    first, second, *_ = blinded.rows["id"]
    twice = filled("ana") + filled("Ana ").splitlines()[2] + "\n"
    remedy = "stands twice for the rater 'ana'; keep one of the two"
    assert error_of(join_ratings, {"a.csv": twice}, key) == f"a.csv: row 7: {second} {remedy}"
    sheets = {"a.csv": filled("ana"), "b.csv": filled(" ANA")}
    assert error_of(join_ratings, sheets, key) == f"b.csv: row 2: {first} {remedy}"


HEADER = "id,text,clarity,relevance,naturalness,subtlety,rater\n"


@pytest.mark.parametrize(
    ("sheet", "complaint"),
    [
        ("", "no column 'id'; there is none;"),
        (HEADER, "no rows;"),
        (HEADER.replace("clarity,", ""), "no column 'clarity';"),
        (HEADER.replace(",rater", ""), "no column 'rater';"),
    ],
)
def test_what_is_no_sheet_is_refused(key, error_of, sheet, complaint) -> None:
    assert error_of(join_ratings, {"a.csv": sheet}, key).startswith(f"a.csv: {complaint}")


def test_what_is_no_key_is_refused(filled, error_of) -> None:
    assert error_of(read_key, filled("ana"), "sheet.csv").startswith("sheet.csv: no column 'set';")
