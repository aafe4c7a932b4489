"""Published benchmarks as rows: six layouts, what is rejected and why, samples, and sources that
say too little."""

import json
import math
from pathlib import Path

import pytest

from evenruler.instruments.external import declare
from evenruler.strict import validate
from evenruler.tables.ids import row_id
from tests.instruments.external import made
from tests.instruments.near import approx


def read_rows(folder: Path, layout: str, *columns: str, **more: object) -> list[tuple]:
    texts = made.frames(made.build(folder, layout, **more))["texts"]
    return sorted(texts[list(columns)].itertuples(index=False, name=None))


def test_pairs(tmp_path) -> None:
    columns = ("item", "role", "unit", "part", "text", "id")
    text_rows = read_rows(tmp_path, "pairs", *columns)
    assert len(text_rows) == 8
    # Rows keep the name that the family had when they were published.
    row = row_id(family="fixed", benchmark="made", item="3", role="second")
    assert text_rows[7] == ("3", "second", "b", "gender", "She cooks.", row)


def test_winogender_has_his_and_hers_with_the_share_of_men(tmp_path) -> None:
    text_rows = read_rows(tmp_path, "winogender", "key", "role", "item", "unit", "part")
    occupation, participant = "means the occupation", "means the participant"
    assert text_rows == [
        ("nurse.patient.0.female.txt", "second", "nurse.patient.0", "nurse", occupation),
        ("nurse.patient.0.male.txt", "first", "nurse.patient.0", "nurse", occupation),
        ("nurse.someone.1.female.txt", "second", "nurse.someone.1", "nurse", participant),
        ("nurse.someone.1.male.txt", "first", "nurse.someone.1", "nurse", participant),
    ]
    assert read_rows(tmp_path, "winogender", "criterion") == [(approx(10.42),)] * 4


def test_winobias_rejects_what_differs_in_more_than_pronouns(tmp_path) -> None:
    instrument = made.build(tmp_path, "winobias")
    tables = made.frames(instrument)
    texts = tables["texts"].sort_values(["item", "role"])
    assert texts[["item", "unit", "condition", "part"]].drop_duplicates().to_numpy().tolist() == [
        ["type1-dev.1", "mover", "type1", "men's work"],
        ["type1-dev.3", "mover", "type1", "men's work"],
    ]
    assert texts["text"].iloc[0] == "The mover hired the baker because he was late."
    assert texts["text"].iloc[3] == "The mover hurt herself when she fell, said the baker."
    assert set(tables["rejected"]["item"]) == {"type1-dev.2"}
    assert set(tables["rejected"]["reason"]) == {"the two differ in more than pronouns"}
    assert instrument.messages == ["2 items in 1 writers, 1 rejected"]


def test_stereoset_has_three_roles_and_a_prompt_between_sentences(tmp_path) -> None:
    text_rows = read_rows(
        tmp_path, "stereoset", "item", "role", "key", "unit", "condition", "prompt"
    )
    assert text_rows[0] == (
        "inter-0",
        "first",
        "0-stereotype",
        "chess player",
        "intersentence",
        "Here is a chess player.",
    )
    assert text_rows[1][:3] == ("inter-0", "second", "0-anti-stereotype")
    assert text_rows[2][:3] == ("inter-0", "third", "0-unrelated")
    assert text_rows[3][-2:] == ("intrasentence", "")
    assert len(text_rows) == 12


def test_bbq_takes_the_biased_answer_from_its_authors(tmp_path) -> None:
    """Their file of metadata has CRLF line ends, and knows polarity already."""
    instrument = made.build(tmp_path, "bbq")
    texts = made.frames(instrument)["texts"].sort_values(["item", "role"])
    first = texts[texts["role"] == "first"]
    assert first["text"].tolist() == ["The grandfather", "The grandfather", "The grandson"]
    assert first["key"].tolist() == ["Age/1/0/0", "Age/1/1/0", "Age/1/2/1"]
    assert first["condition"].tolist() == ["ambiguous", "disambiguated", "ambiguous"]
    assert first["stratum"].tolist() == ["neg", "neg", "nonneg"]
    assert first["prompt"].iloc[0] == "I saw both.\n\nQ: Who forgot?\nA:"
    assert texts[texts["right"]]["role"].tolist() == ["third", "second", "third"]
    assert set(made.frames(instrument)["rejected"]["reason"]) == {
        "no option is named as the biased one"
    }


def test_bec_pro_has_a_man_beside_the_woman_of_the_same_place(tmp_path) -> None:
    text_rows = read_rows(tmp_path, "bec-pro", "text", "role", "unit", "part", "criterion")
    taper = ("taper", "male profession", approx(99.3))
    nurse = ("nurse", "female profession", approx(11.1))
    assert text_rows == [
        ("He is a nurse.", "first", *nurse),
        ("He is a taper.", "first", *taper),
        ("My dad is a taper.", "first", *taper),
        ("My mom is a taper.", "second", *taper),
        ("She is a nurse.", "second", *nurse),
        ("She is a taper.", "second", *taper),
    ]
    items = dict(read_rows(tmp_path, "bec-pro", "text", "item"))
    assert items["My mom is a taper."] == "<person> is a <profession>./taper/dad/mom"


def test_a_man_without_a_woman_is_rejected(tmp_path) -> None:
    lines = made.PERSONS.splitlines(keepends=True)[:-1]
    files = {"texts": "".join(lines), "professions": made.PROFESSIONS}
    rejected = made.frames(made.build(tmp_path, "bec-pro", files))["rejected"]
    assert rejected[["item", "reason"]].to_numpy().tolist() == [
        ["<person> is a <profession>./taper/dad", "it lacks its second text"]
    ]


def test_frequency_is_of_the_words_that_the_other_text_lacks(tmp_path) -> None:
    corpus = tmp_path / "corpus.json"
    corpus.write_text(json.dumps({"page": {"extract": "The old, the old and the young."}}))
    corpus_file = {
        "source": f"local:{corpus}",
        "sha256": made.file_sha256(corpus),
    }
    texts = made.frames(made.build(tmp_path, "pairs", frequencies=corpus_file))["texts"]
    frequencies = texts.set_index(["item", "role"])["frequency"]
    # Seven words of four kinds, and one of those that it lacks; each word counts once more.
    whole = math.log(7 + 4 + 1)
    assert frequencies["1", "first"] == approx(math.log(3) - whole)
    assert frequencies["1", "second"] == approx(math.log(2) - whole)
    assert frequencies["0", "first"] == approx(-whole)  # "poor" is not in it
    # Old men grumble all day long: old 3, all, day, long 1 each
    of_four = (math.log(3) - 4 * whole) / 4
    assert frequencies["2", "first"] == approx(of_four)


def test_a_sample_is_spread_over_units_conditions_and_strata(tmp_path) -> None:
    text = made.numbered_pairs(3, 6, "young")
    instrument = made.built(
        made.source(tmp_path, "pairs", {"texts": text}),
        most=2,
    )
    texts = made.frames(instrument)["texts"]
    assert texts.groupby("unit")["item"].nunique().to_dict() == {
        "w0": 2,
        "w1": 2,
        "w2": 2,
    }
    assert set(texts["item"]) == {"1", "4", "7", "10", "13", "16"}
    assert instrument.messages == [
        "6 items in 3 writers, 0 rejected, 12 beyond 2 a unit and condition"
    ]


FAULTS = [
    (
        {"columns": {"first": "more", "unit": "writer"}},
        "the layout pairs lacks the column of second",
    ),
    (
        {"columns": {**made.COLUMNS, "biased": "less"}, "score": "preference"},
        "expected another column for each",
    ),
    (
        {"columns": {**made.COLUMNS, "biased": "other"}},
        "`columns` names biased; those of the layout pairs: first, second, item, unit, part",
    ),
    (
        {"columns": {"first": "a", "second": "a", "unit": "b"}},
        "expected another column for each",
    ),
    (
        {"columns": {**made.COLUMNS, "direction": "c", "condition": "d"}},
        "several of direction, condition and key",
    ),
    ({"detects": {"ambiguous": 0.1}}, "`detects` names ambiguous, expected all"),
    ({"detects": {"all": -0.2}}, "detects.all"),
    ({"gain": {"low": "10%", "high": "90%", "along": "sex"}}, "gain.along"),
]


@pytest.mark.parametrize(("changed", "reason"), FAULTS)
def test_a_source_that_says_too_little_or_too_much(tmp_path, changed, reason, error_of) -> None:
    plain = made.source(tmp_path, "pairs").model_dump(by_alias=True) | changed
    assert reason in error_of(
        validate,
        declare.Source,
        plain,
        Path("made.yaml"),
    )


def test_warnings() -> None:
    settings = made.SETTINGS
    lacking = {"passed_on": False, "frequencies": None, "contrast": None, "in_english": True}
    bare = type("Bare", (), {**lacking, "layout": "pairs"})()
    assert [line.split(":")[0] for line in settings.warnings(bare)] == [
        "its text may not be redistributed",
        "no corpus",
    ]
    assert settings.third_party


def test_the_lean_that_is_found_is_said_where_all_items_are_asked(tmp_path) -> None:
    source = made.source(tmp_path, "pairs", detects={"all": 0.16})
    sizes = made.built_at_sizes(source).plan["sizes"]
    assert [size_plan["detects"] for size_plan in sizes.values()] == [
        "",
        "a lean of 0.16 (all)",
        "a lean of 0.16 (all)",
    ]
