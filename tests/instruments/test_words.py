"""Words and texts that a model reads are spelled so that a reader sees what it reads: in every
family, at every key."""

import csv
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, get_type_hints

import pytest

from evenruler.errors import UserError
from evenruler.instruments.framing.declare.grammars import read_shared_grammars
from evenruler.instruments.questionnaires.declare.source import QuestionnaireSource
from evenruler.instruments.registry import family_module
from evenruler.strict import number_of, read_yaml, validate
from evenruler.training.plants import PlantDeclaration
from tests.conftest import ROOT
from tests.text_tables import yaml_of_text

SOURCES = ROOT / "data/sources"

KEYS: dict[str, tuple[str, list[list[Any]]]] = yaml_of_text("""
probes:
- occupation-gender
- - [targets, men, FIRST]
  - [attributes, FIRST]
  - [written, pronouns, men, 0]
  - [written, known, women, 0]
  - [prefixes, salience]
  - [prefixes, placebos, 0]
  - [sets, seed, templates, FIRST]
framing:
- age
- - [stimuli, FIRST]
  - [outcomes, young, 0]
  - [tasks, FIRST, cells, bare]
questionnaires:
- gad-7
- - [items, FIRST, premise]
  - [items, FIRST, hypothesis]
  - [items, FIRST, terms, source, 0]
  - [items, FIRST, twins, 0, terms, inverse, 0]
saged:
- countries
- - [concepts, FIRST]
  - [concepts, argentina, keywords, 0]
  - [concepts, united-kingdom, forms, FIRST]
""")
"""By family: a shipped source, and the keys of words and texts in it; `FIRST`: the first key."""


def model_of(family: str) -> Any:
    model = get_type_hints(family_module(family, "declare").load)["return"]
    return QuestionnaireSource if family == "questionnaires" else model


def with_text(declared: Any, keys: Sequence[Any], change: Callable[[str], str]) -> None:
    """Change one text of a declaration in place."""
    place, *rest = keys
    if place == "FIRST":
        place = next(iter(declared)) if isinstance(declared, dict) else 0
    part = declared[place]
    if rest:
        with_text(part, rest, change)
    elif isinstance(part, str):
        declared[place] = change(part)
    else:
        with_text(part, ["text" if "text" in part else "FIRST"], change)


def read_source(family: str) -> tuple[Any, Path]:
    """A declaration with the grammars that contrasts share, and its path."""
    path = SOURCES / family / f"{KEYS[family][0]}.yaml"
    declared = read_yaml(path)
    if family == "framing":
        declared["grammars"] = read_shared_grammars(path.parent / "shared")
    return declared, path


def refused(family: str, keys: list[Any], change: Callable[[str], str]) -> str:
    declared, path = read_source(family)
    with_text(declared, keys, change)
    with pytest.raises(UserError) as error:
        validate(model_of(family), declared, path)
    return str(error.value)


CASES = [
    pytest.param(
        family,
        keys,
        id=f"{family}-{'-'.join(map(str, keys))}",
    )
    for family in KEYS
    for keys in KEYS[family][1]
]


@pytest.mark.parametrize(("family", "keys"), CASES)
def test_no_text_of_a_family_takes_a_character_that_its_reader_does_not_see(family, keys) -> None:
    line = refused(
        family,
        keys,
        lambda text: f"{text[0]}\u200b{text[1:]}",
    )
    assert "U+200B" in line, line


@pytest.mark.parametrize(
    ("family", "keys"),
    [
        case
        for case in CASES
        if not {"cells", "templates", "premise", "hypothesis"} & {*case.values[1]}
    ],
)
def test_no_word_takes_a_brace_or_a_line_break(family, keys) -> None:
    for more in ("{TARGET}", "{ANSWER}", "}", "{x"):
        assert "holds the brace" in refused(
            family, keys, lambda text, added=more: f"{text} {added}"
        )
    assert "U+000A, a line break" in refused(family, keys, lambda text: f"{text}\nmore")


@pytest.mark.parametrize(("family", "keys"), CASES)
def test_outer_spaces_are_no_part_of_a_text(family, keys) -> None:
    declared, path = read_source(family)
    unchanged, _ = read_source(family)
    with_text(declared, keys, lambda text: f"  {text} \n")
    with_spaces = validate(model_of(family), declared, path)
    assert with_spaces == validate(model_of(family), unchanged, path)


LOOKS = "\u0441\u043e\u0441\u043e"
"""Four Cyrillic letters that look like "coco"."""


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        (
            {"targets": {"young": ["teen", "coco"], "old": {"cafe": LOOKS}}},
            "'coco' (also written '\\u0441\\u043e\\u0441\\u043e') stands in both groups",
        ),
        (
            {"targets": {"young": {"one": "teen", "two": "TEEN"}, "old": ["elder"]}},
            "found the word 'teen' twice",
        ),
        (
            {
                "written": {
                    "pronouns": {"young": ["he"], "old": ["HE"]},
                    "known": {"young": ["a"], "old": ["b"]},
                }
            },
            "'he' stands there twice",
        ),
    ],
)
def test_words_that_look_alike_are_one_word(tmp_path, changes, reason) -> None:
    declared: dict[str, Any] = dict.fromkeys(("title", "construct", "direction", "source"), "x")
    declared |= {"licence": "cc0-1.0", "attributes": ["wise"]}
    declared |= {"targets": {"young": ["teen"], "old": ["elder"]}}
    declared |= {"sets": {"seed": {"title": "S", "templates": {"a": "A {TARGET} is {ATTRIBUTE}."}}}}
    validate(model_of("probes"), declared, tmp_path)
    with pytest.raises(UserError, match=re.escape(reason)):
        validate(model_of("probes"), declared | changes, tmp_path)


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"young": "Old", "old": "old"}, "two options are alike, 'Old'"),
        ({"young": "coco", "other": LOOKS}, "two options are alike, 'coco' (also written"),
        ({"young": "Young", "other": "Unknown", "more": "unknown"}, None),
    ],
)
def test_two_options_of_which_one_is_a_class_differ(options, reason) -> None:
    from evenruler.instruments.framing.declare.tasks import TaskEntry, task_faults

    declared = {"title": "T", "option": "{LETTER}: {OPTION}", "options": options}
    declared["cells"] = {"bare": "Who is {STIMULUS}? {OPTIONS} {ANSWER}"}
    faults = task_faults("ask", TaskEntry.model_validate(declared), [], ["young", "old"], [])
    alike = [line for line in faults if "alike" in line]
    assert [reason in line for line in alike] == ([] if reason is None else [True])


def test_a_prompt_of_a_table_and_a_word_of_a_criterion_are_checked(tmp_path) -> None:
    from evenruler.instruments.probes.declare.source import CriterionEntry, _read_criterion
    from evenruler.instruments.saged.declare import read_prompts

    source = validate(
        model_of("saged"),
        read_yaml(SOURCES / "saged/countries.yaml"),
        tmp_path,
    )
    table = tmp_path / str(source.material.path)
    table.parent.mkdir()
    table.write_text("root_id,prompt\none,Is {concept} o\u200bld?\n", encoding="utf-8")
    with pytest.raises(
        UserError,
        match=r"line 2: .* holds U\+200B \(ZERO WIDTH SPACE\), which no reader sees; take it out",
    ):
        read_prompts("countries", source, tmp_path)
    criterion = CriterionEntry.model_validate(
        {"file": "c.csv", "column": "share", "label": "share"}
    )
    for word, share, reason in [
        ("wi\u0455e", "5.5", "U\\+0455"),
        ("wise", "5_5", "'5_5' is no number; write it in digits 0 to 9"),
    ]:
        with (tmp_path / "c.csv").open("w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows([("attribute", "match", "share"), (word, "exact", share)])
        with pytest.raises(UserError, match=reason):
            _read_criterion(criterion, {"wise": "wise"}, tmp_path)


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("-5.5", -5.5),
        ("+1e3", 1000.0),
        (" .5 ", 0.5),
    ],
)
def test_numbers_of_tables(text, number) -> None:
    assert number_of(text) == number


@pytest.mark.parametrize(
    "text",
    ["", "5_5", "\uff15\uff15", "nan", "1e999", "5,5"],
)
def test_what_is_no_number_of_a_table(text) -> None:
    with pytest.raises(ValueError, match="number"):
        number_of(text)


def test_a_plant_and_texts_for_people() -> None:
    path = SOURCES / "plants/occupation-gender.yaml"
    plant = read_yaml(path)
    with pytest.raises(UserError, match=r"holds U\+202E"):
        validate(PlantDeclaration, {**plant, "warning": "T\u202ex"}, path)
    pole = next(iter(plant["poles"]))
    plant["poles"][pole][0] += "\u200b"
    with pytest.raises(UserError, match=r"U\+200B"):
        validate(PlantDeclaration, plant, path)
