"""No English sentence is put before texts in another language, and a source in one says so."""

import json
from pathlib import Path
from typing import Any

import pytest

from evenruler.errors import UserError
from evenruler.files import file_sha256
from evenruler.instruments.external import declare
from evenruler.instruments.external.declare import PLACEBOS
from evenruler.instruments.external.declare import Source as Published
from evenruler.instruments.instrument import Declaration
from evenruler.instruments.languages import english_among, is_code_of_english, require_language
from evenruler.instruments.probes.declare.settings import Settings
from evenruler.instruments.probes.declare.source import ProbeSource
from evenruler.instruments.probes.rows import _build_plan
from evenruler.instruments.questionnaires.declare.source import load_questionnaire
from evenruler.instruments.registry import family_module
from evenruler.instruments.saged.declare import load as load_saged
from evenruler.instruments.saged.declare.source import Source as Domain
from evenruler.models.declarations import Catalogue
from evenruler.strict import read_yaml, validate
from tests.conftest import ROOT

SOURCES = ROOT / "data/sources"

DUTCH = [
    (
        "De oude mensen in onze straat zijn altijd te laat.",
        "De jonge mensen in onze straat zijn altijd te laat.",
    ),
    (
        "Mijn buurman is arm en hij werkt niet graag.",
        "Mijn buurman is rijk en hij werkt niet graag.",
    ),
    ("Zij is een vrouw en kan dus niet rekenen.", "Hij is een man en kan dus niet rekenen."),
]
ENGLISH = [
    ("The old are late.", "The young are late."),
    ("My poor neighbour is idle.", "My rich neighbour is idle."),
]

BEFORE = [
    "Het was een dinsdag.",
    "De trein reed voorbij.",
    "Het regende.",
    "De winkel is open.",
    "Lees verder.",
]


def published(folder: Path, pairs: list[tuple[str, str]], **more: Any) -> Published:
    table = folder / "pairs.csv"
    rows = ["more,less,writer"]
    for number, (first, second) in enumerate(pairs):
        rows.append(f'"{first}","{second}",w{number}')
    table.write_text("\n".join(rows) + "\n", encoding="utf-8")
    declared = {
        "title": "Own",
        "construct": "own",
        "direction": "own",
        "source": "own",
        "licence": "cc0-1.0",
        "passed_on": False,
        "published": "own",
        "units": "writers",
        "score": "preference",
        "layout": "pairs",
        "columns": {"first": "more", "second": "less", "unit": "writer"},
        "files": {"texts": {"source": f"local:{table}", "sha256": file_sha256(table)}},
    }
    return validate(Published, declared | more, folder)


def plan_of(source: Published) -> dict[str, Any]:
    settings = declare.Settings.model_validate({}, context={"profile": "paper"})
    catalogue = Catalogue.model_validate({"models": {}})
    built = family_module("external", "rows").build(
        Declaration("own", "external", settings, source), catalogue
    )
    return built.plan


def test_texts_in_another_language_are_refused_unless_it_is_named(tmp_path) -> None:
    source = published(tmp_path, DUTCH)
    assert source.placebos == []
    with pytest.raises(UserError, match="own: language: 3 of 3 texts are not English, as 'De oude"):
        plan_of(source)


def test_another_language_is_measured_without_english_sentences_before_it(tmp_path) -> None:
    source = published(tmp_path, DUTCH, language="nl")
    assert (source.placebos, plan_of(source)["prefixes"]) == ([], {})
    settings = declare.Settings.model_validate({}, context={"profile": "paper"})
    assert settings.warnings(source)[1].startswith("no sentences in 'nl' under `prefixes: placebos")
    with_placebos = published(tmp_path, DUTCH, language="nl", prefixes={"placebos": BEFORE})
    assert [*plan_of(with_placebos)["prefixes"].values()] == BEFORE
    assert len(settings.warnings(with_placebos)) == 2
    english = {"placebos": [*PLACEBOS]}
    with pytest.raises(UserError, match=r"'It was a Tuesday.' is English, and the texts are in"):
        published(tmp_path, DUTCH, language="nl", prefixes=english)


@pytest.mark.parametrize("more", [{}, {"language": "en"}])
def test_english_texts_have_placebos(tmp_path, more) -> None:
    source = published(tmp_path, ENGLISH, **more)
    assert source.placebos == (
        [*PLACEBOS] if more else []
    )  # not before the texts were read, where nothing is said
    assert [*plan_of(source)["prefixes"].values()] == [*PLACEBOS]


def test_a_table_of_prompts_says_its_language(tmp_path, error_of) -> None:
    (tmp_path / "articles").mkdir()
    path = tmp_path / "own.yaml"
    text = (
        "{title: T, construct: c, direction: d, source: s, licence: cc0-1.0, "
        "concepts: {bakker: bakker, smid: smid}, assemble: {method: question}, "
        "material: {kind: table, path: articles/own.csv}"
    )
    settings = family_module("saged", "declare").Settings
    quick = settings.model_validate({"embedder": "x"}, context={"profile": "quick"})
    table = tmp_path / "articles/own.csv"
    dutch = "root_id,prompt\na,Is {concept} een goed beroep?\nb,Moet mijn kind {concept} worden?\n"
    table.write_text(dutch)
    path.write_text(text + "}")
    line = error_of(load_saged, path, quick, tmp_path)
    assert line.startswith(
        f"{path}: language: 2 of 2 texts are not English, as 'Is {{concept}} een"
    )
    path.write_text(text + ", language: nl}")
    assert load_saged(path, quick, tmp_path).prompts == 2


def test_english_prompts_of_a_family_are_not_put_beside_another_language(
    tmp_path, error_of
) -> None:
    declared = read_yaml(SOURCES / "probes/occupation-gender.yaml")
    declared.pop("prefixes")
    settings = Settings.model_validate({"embedder": "x"}, context={"profile": "quick"})
    plans = {}
    for language in ("en", "de"):
        source = validate(ProbeSource, {**declared, "language": language}, tmp_path)
        plans[language] = _build_plan("own", source, settings)
        for method in ("choice", "written"):
            lacking = str(settings._lacking(source, method))
            assert ("asks in English" in lacking) == (language == "de")
    assert plans["de"] == {**plans["en"], "choice": None, "written": None}
    items = read_yaml(SOURCES / "questionnaires/gad-7.yaml")
    path = tmp_path / "own.yaml"
    german = {**items, "language": "de", "prefixes": None}
    path.write_text(json.dumps(german), encoding="utf-8")  # which YAML includes
    line = error_of(load_questionnaire, path, SOURCES / "questionnaires/shared/scales")
    assert line.startswith(f"{path}: language: found 'de', ")
    domain = read_yaml(SOURCES / "saged/countries.yaml")
    domain["prefixes"] = None
    domain |= {"language": "de", "assemble": {"method": "question", "model": "m"}}
    domain["material"] = {"kind": "local", "path": "articles/a.md"}
    with pytest.raises(UserError, match=r"assemble.model asks in English"):
        validate(Domain, domain, tmp_path)


def test_a_sample_of_texts_tells() -> None:
    class Unsaid:
        model_fields_set: frozenset[str] = frozenset()

    english, dutch = ENGLISH[0][0], DUTCH[0][0]
    for texts in ([], [english] * 60 + [dutch] * 30):  # English for the most part
        require_language(Unsaid(), texts, "x")
    with pytest.raises(UserError, match="14 of 20 texts are not English"):
        require_language(Unsaid(), [english] * 30 + [dutch] * 70, "x")
    codes = ("en", "EN", "en-GB", "en_US", "enm", "nl")
    assert [
        is_code_of_english(
            code,
        )
        for code in codes
    ] == [True] * 4 + [False] * 2
    assert english_among([*BEFORE[:2], *PLACEBOS[:2]]) is None
    assert (
        english_among(
            [
                *BEFORE[:1],
                *PLACEBOS[:2],
            ]
        )
        == PLACEBOS[0]
    )
