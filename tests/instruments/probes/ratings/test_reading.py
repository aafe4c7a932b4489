"""Filled sheets: what is read, and what is refused with file and row."""

from io import StringIO

import pandas as pd
import pytest

from evenruler.instruments.probes.ratings import CRITERIA, as_sheet, collect, read_key

FULL = dict.fromkeys(CRITERIA, "4")


@pytest.fixture
def key(blinded) -> pd.DataFrame:
    return read_key(blinded.key.to_csv(index=False), "key.csv")


@pytest.fixture
def filled(blinded):
    """A sheet as a rater sends it back, with some cells changed: (row of the spreadsheet, column) to text."""

    def fill(rater: str, cells: dict[tuple[int, str], str] | None = None, sep: str = ",") -> str:
        frame = pd.read_csv(StringIO(as_sheet(blinded.rows)), dtype=str).assign(rater=rater, **FULL)
        for (row, column), text in (cells or {}).items():
            frame.loc[row - 2, column] = text
        return frame.to_csv(index=False, sep=sep)

    return fill


def test_ratings_come_back_long_with_what_is_missing(filled, key, blinded) -> None:
    first, second = blinded.rows["id"][:2]
    ben = filled("Ben", {(2, "clarity"): "1", (2, "subtlety"): "", (3, "clarity"): " 5 ", (3, "relevance"): "2.0"})
    ratings = collect({"a.csv": ben, "b.csv": filled(" ana  b")}, key)
    assert len(ratings) == 2 * 5 * 4
    assert [*ratings["rater"].unique()] == ["ana b", "ben"]
    of = ratings.set_index(["rater", "id", "criterion"])["rating"]
    assert of["ben", first].dropna().to_dict() == {"clarity": 1, "relevance": 4, "naturalness": 4}
    assert of["ben", second].tolist() == [5, 2, 4, 4]
    assert (of["ana b"] == 4).all()
    assert of.isna().sum() == 1


def test_a_probe_that_a_rater_left_out_is_missing(filled, key, blinded) -> None:
    lines = filled("ana").splitlines(keepends=True)
    ratings = collect({"a.csv": "".join(lines[:3])}, key)
    assert len(ratings) == 5 * 4
    assert set(ratings.dropna()["id"]) == set(blinded.rows["id"][:2])


@pytest.mark.parametrize("sep", [";", "\t"])
def test_spreadsheets_of_other_languages(filled, key, sep) -> None:
    sheet = filled("ana", {(4, "clarity"): "2"})
    other = filled("ana", {(4, "clarity"): "2"}, sep).replace("\n", "\r\n") + sep * 7 + "\r\n\r\n"
    pd.testing.assert_frame_equal(collect({"a": other}, key), collect({"a": sheet}, key))


def test_several_raters_in_one_file(filled, key) -> None:
    both = filled("ana") + "".join(filled("ben").splitlines(keepends=True)[1:])
    assert collect({"a": both}, key).groupby("rater").size().to_dict() == {"ana": 20, "ben": 20}


@pytest.mark.parametrize("rating", ["0", "6", "3.5", "-1", "five", "nan", "3,5"])
def test_a_rating_out_of_range_is_refused(filled, key, error_of, rating) -> None:
    line = error_of(collect, {"a.csv": filled("ana", {(4, "relevance"): rating})}, key)
    assert line.startswith(f"a.csv: row 4: relevance is {rating!r}; write a whole number from 1 to 5")


def test_a_huge_cell_is_not_printed(filled, key, error_of) -> None:
    assert len(error_of(collect, {"a.csv": filled("ana", {(4, "relevance"): "9" * 100_000})}, key)) < 200


@pytest.mark.parametrize(
    ("cells", "said"),
    [
        ({(3, "id"): "bbbbbbbbbbbb"}, "a.csv: row 3: 'bbbbbbbbbbbb' is no id of the key;"),
        ({(5, "rater"): "  "}, "a.csv: row 5: no rater;"),
        ({(3, "text"): "Something {else}."}, "a.csv: row 3: the text is not that of "),
    ],
)
def test_what_does_not_fit_the_key_is_refused(filled, key, error_of, cells, said) -> None:
    assert error_of(collect, {"a.csv": filled("ana", cells)}, key).startswith(said)


def test_an_id_twice_for_one_rater_is_refused(filled, key, error_of) -> None:
    sheet = filled("ana") + filled("Ana ").splitlines()[3] + "\n"
    line = error_of(collect, {"a.csv": sheet}, key)
    assert line.startswith("a.csv: row 7: ")
    assert "stands twice for the rater 'ana'" in line


def test_a_rater_in_two_files_is_refused(filled, key, error_of) -> None:
    line = error_of(collect, {"a.csv": filled("ana"), "b.csv": filled(" ANA")}, key)
    assert line == "b.csv: row 2: the rater 'ana' is in a.csv, too; give each sheet of a rater once"


@pytest.mark.parametrize("column", ["id", "text", *CRITERIA, "rater"])
def test_a_missing_column_is_refused(filled, key, error_of, column) -> None:
    sheet = pd.read_csv(StringIO(filled("ana"))).drop(columns=column).to_csv(index=False)
    assert error_of(collect, {"a.csv": sheet}, key).startswith(f"a.csv: no column '{column}';")


@pytest.mark.parametrize(
    ("sheet", "said"),
    [
        ("", "a.csv: no column 'id'; there is none;"),
        ("id,text,clarity,relevance,naturalness,subtlety,rater\n", "a.csv: no rows;"),
        ("id,text,clarity,relevance,naturalness,subtlety,rater\na,b\n", "a.csv: row 2: 2 fields, the header has 7;"),
        ('id,text,clarity,relevance,naturalness,subtlety,rater\n"a"b,c\n', "a.csv: no CSV ("),
        ("id,id,text,clarity,relevance,naturalness,subtlety,rater\n", "a.csv: more than one column 'id';"),
    ],
)
def test_what_is_no_sheet_is_refused(key, error_of, sheet, said) -> None:
    assert error_of(collect, {"a.csv": sheet}, key).startswith(said)


def test_what_is_no_key_is_refused(filled, error_of) -> None:
    assert error_of(read_key, filled("ana"), "sheet.csv").startswith("sheet.csv: no column 'set';")
