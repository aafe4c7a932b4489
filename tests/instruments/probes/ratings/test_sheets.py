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


def test_the_same_text_under_two_constructs_is_two_probes(templates) -> None:
    twice = pd.concat([templates.assign(construct=name) for name in CONSTRUCTS.values()])
    assert len(blind_templates(twice, SECRET, 3).rows) == 10


def test_the_sheet_is_what_is_rated(blinded) -> None:
    sheet = pd.read_csv(StringIO(as_sheet(blinded.rows)))
    assert [*sheet] == [
        "id",
        "text",
        "construct",
        "clarity",
        "relevance",
        "naturalness",
        "subtlety",
        "rater",
    ]
    assert sheet.iloc[:, 3:].isna().all(axis=None)
    assert set(sheet["text"]) == {" ".join(text.split()) for text in TEXTS.values()}
    of = blinded.key.drop_duplicates("id").set_index("id")
    assert sheet.set_index("id")["text"].eq(of["text"]).all()


def test_the_same_seed_and_secret_give_the_same_sheet_and_others_another(
    templates, blinded
) -> None:
    again = blind_templates(templates, SECRET, 3)
    pd.testing.assert_frame_equal(again.rows, blinded.rows)
    pd.testing.assert_frame_equal(again.key, blinded.key)
    for secret, seed in ((SECRET, 4), ("0" * 64, 3)):
        other = blind_templates(templates, secret, seed)
        assert set(other.rows["id"]).isdisjoint(blinded.rows["id"])


def test_orders_are_as_chance_has_them(templates) -> None:
    """Over 150 secrets each of five probes is first about 30 times (sd 5)."""
    first = pd.Series(
        [blind_templates(templates, f"{i:064x}", 3).rows["text"].iloc[0] for i in range(150)]
    )
    assert first.value_counts().between(10, 50).all()
    assert first.nunique() == 5


def test_where_a_probe_comes_from_cannot_reach_the_sheet(templates, blinded) -> None:
    """Other sets, slugs, keying and order of the table: the same sheet to the byte."""
    moved = templates.assign(
        set=[*templates["set"][1:], "new"], template=[f"x{i}" for i in range(6)]
    )[::-1]
    rows = blind_templates(moved, SECRET, 3).rows
    assert as_sheet(rows) == as_sheet(blinded.rows)


def test_of_the_key_only_ids_and_texts_are_on_the_sheet(blinded) -> None:
    sheet = as_sheet(blinded.rows)
    for column in ("set", "template", "secret"):
        for value in blinded.key[column]:
            assert value not in sheet
    words = set(re.findall(r"[a-z]+", sheet.lower()))
    assert words.isdisjoint(
        {"seed", "evolved", "human", "validation", "generation", "version", "template"}
    )
    assert all(id_ in sheet for id_ in blinded.rows["id"])


def test_an_id_is_a_word_to_no_spreadsheet(templates) -> None:
    """Digits with an e among them would be read as a number; 12 of 16 letters tell a billion probes
    apart."""
    ids = [id_ for i in range(20) for id_ in blind_templates(templates, f"{i:064x}", 3).rows["id"]]
    assert all(re.fullmatch("[bcdfghjkmnpqrstv]{12}", id_) for id_ in ids)
    assert len(set(ids)) == 100
    assert set("".join(ids)) == set("bcdfghjkmnpqrstv")


def test_instructions_tell_what_is_rated_of_which_construct_and_what_to_mind() -> None:
    first, second = (block.splitlines() for block in rater_instructions(TOLD).split("\n\n")[1:])
    assert first == [
        f"Construct: {CONSTRUCTS['ages']}.",
        "For {ATTRIBUTE} stand words such as able.",
        "For {TARGET} stand words such as elder, youth.",
        "Mind <this>.",
    ]
    assert second[0] == f"Construct: {CONSTRUCTS['trades']}."
    told = rater_instructions([Construct("ages", ["able"], ["elder"])]).splitlines()
    assert told[-1] == "For {TARGET} stand words such as elder."
    assert [line for line in told if line.startswith("- ")] == [
        f"- {name}: {asked}" for name, asked in CRITERIA.items()
    ]
    assert "from 1 (not at all) to 5 (fully)" in told[1]


FULL = dict.fromkeys(CRITERIA, "4")


@pytest.fixture
def key(blinded) -> pd.DataFrame:
    return read_key(blinded.key.to_csv(index=False), "key.csv")


@pytest.fixture
def filled(blinded):
    """A sheet as a rater sends it back, with some cells changed: (row of the spreadsheet, column)
    to text."""

    def fill(rater: str, cells: dict[tuple[int, str], str] | None = None, sep: str = ",") -> str:
        frame = pd.read_csv(StringIO(as_sheet(blinded.rows)), dtype=str).assign(rater=rater, **FULL)
        for (row, column), text in (cells or {}).items():
            frame.loc[row - 2, column] = text
        return frame.to_csv(index=False, sep=sep)

    return fill


def test_ratings_come_back_long_with_what_is_missing(filled, key, blinded) -> None:
    first, second = blinded.rows["id"][:2]
    ben = filled(
        "Ben",
        {(2, "clarity"): "1", (2, "subtlety"): "", (3, "clarity"): " 5 ", (3, "relevance"): "2.0"},
    )
    ratings = join_ratings({"a.csv": ben, "b.csv": filled(" ana  b")}, key)
    assert len(ratings) == 2 * 5 * 4
    assert [*ratings["rater"].unique()] == ["ana b", "ben"]
    of = ratings.set_index(["rater", "id", "criterion"])["rating"]
    assert of["ben", first].dropna().to_dict() == {"clarity": 1, "relevance": 4, "naturalness": 4}
    assert of["ben", second].tolist() == [5, 2, 4, 4]
    assert (of["ana b"] == 4).all()
    assert of.isna().sum() == 1


def test_a_probe_that_a_rater_left_out_is_missing(filled, key, blinded) -> None:
    lines = filled("ana").splitlines(keepends=True)
    ratings = join_ratings({"a.csv": "".join(lines[:3])}, key)
    assert len(ratings) == 5 * 4
    assert set(ratings.dropna()["id"]) == set(blinded.rows["id"][:2])


@pytest.mark.parametrize("sep", [";", "\t"])
def test_spreadsheets_of_other_languages(filled, key, sep) -> None:
    sheet = filled("ana", {(4, "clarity"): "2"})
    other = filled("ana", {(4, "clarity"): "2"}, sep).replace("\n", "\r\n") + sep * 7 + "\r\n\r\n"
    pd.testing.assert_frame_equal(join_ratings({"a": other}, key), join_ratings({"a": sheet}, key))


def test_several_raters_in_one_file(filled, key) -> None:
    both = filled("ana") + "".join(filled("ben").splitlines(keepends=True)[1:])
    assert join_ratings({"a": both}, key).groupby("rater").size().to_dict() == {
        "ana": 20,
        "ben": 20,
    }


@pytest.mark.parametrize("rating", ["0", "6", "3.5", "-1", "five", "nan", "3,5"])
def test_a_rating_out_of_range_is_refused(filled, key, error_of, rating) -> None:
    line = error_of(join_ratings, {"a.csv": filled("ana", {(4, "relevance"): rating})}, key)
    assert line.startswith(
        f"a.csv: row 4: relevance is {rating!r}; write a whole number from 1 to 5"
    )


def test_a_huge_cell_is_not_printed(filled, key, error_of) -> None:
    assert (
        len(
            error_of(join_ratings, {"a.csv": filled("ana", {(4, "relevance"): "9" * 100_000})}, key)
        )
        < 200
    )


@pytest.mark.parametrize(
    ("cells", "said"),
    [
        ({(3, "id"): "bbbbbbbbbbbb"}, "a.csv: row 3: 'bbbbbbbbbbbb' is no id of the key;"),
        ({(5, "rater"): "  "}, "a.csv: row 5: no rater;"),
        ({(3, "text"): "Something {else}."}, "a.csv: row 3: the text is not that of "),
    ],
)
def test_what_does_not_fit_the_key_is_refused(filled, key, error_of, cells, said) -> None:
    assert error_of(join_ratings, {"a.csv": filled("ana", cells)}, key).startswith(said)


def test_an_id_twice_for_one_rater_is_refused(filled, key, error_of) -> None:
    sheet = filled("ana") + filled("Ana ").splitlines()[3] + "\n"
    line = error_of(join_ratings, {"a.csv": sheet}, key)
    assert line.startswith("a.csv: row 7: ")
    assert "stands twice for the rater 'ana'" in line


def test_a_rater_in_two_files_is_refused(filled, key, error_of) -> None:
    line = error_of(join_ratings, {"a.csv": filled("ana"), "b.csv": filled(" ANA")}, key)
    assert line == "b.csv: row 2: the rater 'ana' is in a.csv, too; give each sheet of a rater once"


def test_blanks_in_the_header_and_columns_of_raters_are_let_through(filled, key) -> None:
    head, *rows = filled("ana").splitlines()
    spaced = "\n".join([head.replace(",", ", ") + ",Row", *(f"{row},x" for row in rows)]) + "\n"
    pd.testing.assert_frame_equal(
        join_ratings({"a.csv": spaced}, key), join_ratings({"a.csv": filled("ana")}, key)
    )


@pytest.mark.parametrize("last", [",", ",,,,,,", ",,,,,,,,", "  "])
def test_an_empty_last_row_is_skipped_however_many_fields_it_has(filled, key, last) -> None:
    sheet = filled("ana")
    pd.testing.assert_frame_equal(
        join_ratings({"a.csv": f"{sheet}{last}\n"}, key), join_ratings({"a.csv": sheet}, key)
    )


@pytest.mark.parametrize("column", ["id", "text", *CRITERIA, "rater"])
def test_a_missing_column_is_refused(filled, key, error_of, column) -> None:
    sheet = pd.read_csv(StringIO(filled("ana"))).drop(columns=column).to_csv(index=False)
    assert error_of(join_ratings, {"a.csv": sheet}, key).startswith(f"a.csv: no column '{column}';")


@pytest.mark.parametrize(
    ("sheet", "said"),
    [
        ("", "a.csv: no column 'id'; there is none;"),
        ("id,text,clarity,relevance,naturalness,subtlety,rater\n", "a.csv: no rows;"),
        (
            "id,text,clarity,relevance,naturalness,subtlety,rater\na,b\n",
            "a.csv: line 2 (a): not as many fields as the header;",
        ),
        (
            'id,text,clarity,relevance,naturalness,subtlety,rater\n"a"b,c\n',
            "a.csv: line 2: not CSV (",
        ),
        (
            "id,id,text,clarity,relevance,naturalness,subtlety,rater\n",
            "a.csv: more than one column 'id';",
        ),
    ],
)
def test_what_is_no_sheet_is_refused(key, error_of, sheet, said) -> None:
    assert error_of(join_ratings, {"a.csv": sheet}, key).startswith(said)


def test_what_is_no_key_is_refused(filled, error_of) -> None:
    assert error_of(read_key, filled("ana"), "sheet.csv").startswith("sheet.csv: no column 'set';")
