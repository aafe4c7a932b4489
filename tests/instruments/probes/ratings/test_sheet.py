"""Sheets: whole, and blind."""

import re
from io import StringIO

import pandas as pd
import pytest

from evenruler.instruments.probes.ratings import Construct, as_page, as_sheet, blind
from tests.instruments.probes.ratings.conftest import CONSTRUCTS, SECRET, TEXTS

TOLD = [Construct(name, ["able"], ["elder", "youth"], "Mind <this>.") for name in CONSTRUCTS.values()]


def test_a_text_of_two_sets_is_rated_once_and_counts_in_both(blinded) -> None:
    assert len(blinded.rows) == 5
    key = blinded.key.set_index("template")
    assert len(key) == 6
    assert key.loc["g4-slug", "id"] == key.loc["plain-slug", "id"]
    assert key["id"].nunique() == 5
    assert key.loc["g4-slug", "text"] == "The {ATTRIBUTE} is a {TARGET}."


def test_the_same_text_under_two_constructs_is_two_probes(templates) -> None:
    twice = pd.concat([templates.assign(construct=name) for name in CONSTRUCTS.values()])
    assert len(blind(twice, SECRET, 3).rows) == 10


def test_the_sheet_is_what_is_rated(blinded) -> None:
    sheet = pd.read_csv(StringIO(as_sheet(blinded.rows)))
    assert [*sheet] == ["id", "text", "construct", "clarity", "relevance", "naturalness", "subtlety", "rater"]
    assert sheet.iloc[:, 3:].isna().all(axis=None)
    assert set(sheet["text"]) == {" ".join(text.split()) for text in TEXTS.values()}
    of = blinded.key.drop_duplicates("id").set_index("id")
    assert sheet.set_index("id")["text"].eq(of["text"]).all()


def test_the_same_seed_and_secret_give_the_same_sheet_and_others_another(templates, blinded) -> None:
    again = blind(templates, SECRET, 3)
    pd.testing.assert_frame_equal(again.rows, blinded.rows)
    pd.testing.assert_frame_equal(again.key, blinded.key)
    for secret, seed in ((SECRET, 4), ("0" * 64, 3)):
        other = blind(templates, secret, seed)
        assert set(other.rows["id"]).isdisjoint(blinded.rows["id"])


def test_orders_are_as_chance_has_them(templates) -> None:
    """Over 150 secrets each of five probes is first about 30 times (sd 5)."""
    first = pd.Series([blind(templates, f"{i:064x}", 3).rows["text"].iloc[0] for i in range(150)])
    assert first.value_counts().between(10, 50).all()
    assert first.nunique() == 5


def test_where_a_probe_comes_from_cannot_reach_the_sheet(templates, blinded) -> None:
    """Other sets, slugs, keying and order of the table: the same sheet to the byte."""
    moved = templates.assign(set=[*templates["set"][1:], "new"], template=[f"x{i}" for i in range(6)])[::-1]
    rows = blind(moved, SECRET, 3).rows
    assert as_sheet(rows) == as_sheet(blinded.rows)
    assert as_page(rows, TOLD) == as_page(blinded.rows, TOLD)


def test_of_the_key_only_ids_and_texts_are_on_the_sheet(blinded) -> None:
    for sheet in (as_sheet(blinded.rows), as_page(blinded.rows, TOLD)):
        for column in ("set", "template", "secret"):
            for value in blinded.key[column]:
                assert value not in sheet
        words = set(re.findall(r"[a-z]+", sheet.lower()))
        assert words.isdisjoint({"seed", "evolved", "human", "validation", "generation", "version", "template"})
        assert all(id_ in sheet for id_ in blinded.rows["id"])


def test_an_id_is_a_word_to_no_spreadsheet(templates) -> None:
    """Digits with an e among them would be read as a number; 12 of 16 letters tell a billion probes apart."""
    ids = [id_ for i in range(20) for id_ in blind(templates, f"{i:064x}", 3).rows["id"]]
    assert all(re.fullmatch("[bcdfghjkmnpqrstv]{12}", id_) for id_ in ids)
    assert len(set(ids)) == 100
    assert set("".join(ids)) == set("bcdfghjkmnpqrstv")


def test_the_page_is_whole_escaped_and_fetches_nothing(blinded) -> None:
    page = as_page(blinded.rows, TOLD)
    assert "a {ATTRIBUTE} &lt;b&gt;is&lt;/b&gt; a {TARGET} &amp; that is it." in page
    assert "Mind &lt;this&gt;." in page
    assert "elder, youth" in page
    assert "default-src 'none'" in page
    assert not re.search(r"https?:|src=|href=|@import|url\(", page)
    for name in CONSTRUCTS.values():
        assert page.count(f"Construct: {name}") == 1 + sum(blinded.rows["construct"] == name)
    assert page.count('type="radio"') == 5 * 4 * 6
    assert page.count("<fieldset") == page.count("<legend>") == 5 * 4


def test_one_construct_is_named_once(blinded) -> None:
    rows = blinded.rows[blinded.rows["construct"] == CONSTRUCTS["trades"]]
    assert as_page(rows, TOLD[1:]).count("Construct: ") == 1


@pytest.mark.parametrize("criterion", ["clarity", "relevance", "naturalness", "subtlety"])
def test_every_rating_is_described_by_its_sentence_and_its_criterion(blinded, criterion) -> None:
    page = as_page(blinded.rows, TOLD)
    for id_ in blinded.rows["id"]:
        assert f'<fieldset aria-describedby="text-{id_} about-{criterion}">' in page
        assert page.count(f'id="text-{id_}"') == 1
    assert page.count(f'id="about-{criterion}"') == 1
