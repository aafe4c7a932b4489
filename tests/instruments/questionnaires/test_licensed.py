"""Wording that is not to be published: it says how near prompts are to the original, and stands
nowhere."""

import json
import re
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow.parquet as pq
import pytest

from evenruler.instruments.instrument import Declaration
from evenruler.instruments.questionnaires.ask.item_scores import (
    content_figures,
    embedding_request,
    source_prompts,
)
from evenruler.instruments.questionnaires.ask.questions import split_by_placebo
from evenruler.instruments.questionnaires.card import card
from evenruler.instruments.questionnaires.declare import Settings, load
from evenruler.instruments.questionnaires.rows import build
from evenruler.models.declarations import Catalogue
from evenruler.publish.folder import write_benchmark
from tests.folders import benchmark_folder
from tests.instruments.questionnaires.doors import no_answers
from tests.text_tables import table_of_text

LICENSED = {"rest": "Do slumbering walruses yodel?", "alone": "Quokkas greeting an aardvark?"}

WRITTEN = """\
title: Moods
construct: moods
direction: positive means calm
original: {name: M-2, licence: sold by its publisher, reference: "Somebody, 1990", wording: paraphrased, file: FILE}
source: by hand
licence: cc-by-4.0
scale: two
items:
  rest:
    original: How often do you rest?
    premise: In the evening I am {TERM}.
    hypothesis: I am {INTENSIFIER} like that.
    terms: {source: [calm, quiet], inverse: [restless, loud]}
  alone:
    original: How often are you alone?
    premise: At noon I am {TERM}.
    hypothesis: I am {INTENSIFIER} like this.
    terms: {source: [alone, lonely], inverse: [in company, among friends]}
"""
TWO = (
    "title: Two\nsource: by hand\nlevels:\n  - {weight: -1, words: [never]}\n  - {weight: 1, "
    "words: [always]}\n"
)
PAIRS = (
    "set,label,premise,hypothesis,genre,source,licence\nmnli,entailment,A dog runs.,A dog "
    "moves.,,ours,cc-by-4.0\n"
)


@pytest.fixture
def wording(tmp_path: Path) -> Path:
    """The user's file, which lies outside of everything."""
    path = tmp_path / "elsewhere" / "moods.txt"
    path.parent.mkdir()
    path.write_text("\n".join(LICENSED.values()) + "\n")
    return path


@pytest.fixture
def declaration(tmp_path: Path, wording: Path) -> Declaration:
    shared = tmp_path / "shared"
    (shared / "scales").mkdir(parents=True)
    (shared / "scales" / "two.yaml").write_text(TWO)
    (shared / "pairs").mkdir()
    (shared / "pairs" / "entailment-pairs.csv").write_text(PAIRS)
    (shared / "pairs" / "facts.csv").write_text("template,right,wrong,source,licence\n")
    (tmp_path / "moods.yaml").write_text(WRITTEN.replace("FILE", str(wording)))
    settings = Settings.model_validate({"embedder": "e"}, context={"profile": "quick"})
    return Declaration(
        "moods", "questionnaires", settings, load(tmp_path / "moods.yaml", settings, shared)
    )


def built(declaration: Declaration) -> tuple[dict[str, pd.DataFrame], dict[str, Any]]:
    benchmark = build(declaration, Catalogue(models={}))
    return {name: table.to_pandas() for name, table in benchmark.tables.items()}, dict(
        benchmark.plan
    )


def test_ss_is_of_the_licensed_wording_and_of_the_paraphrase(declaration) -> None:
    tables, plan = built(declaration)
    request = embedding_request(tables, plan)
    assert (request.by, request.of_instrument) == ("e", True)
    axes = {
        "How often do you rest?": [1.0, 0.0],
        "How often are you alone?": [0.0, -1.0],
        LICENSED["rest"]: [0.6, 0.8],
        LICENSED["alone"]: [0.0, 1.0],
    }
    # Every prompt lies along the first axis.
    vectors = [axes.get(text, [1.0, 0.0]) for text in request.inputs["text"]]
    embedded = request.rows.assign(vector=vectors)

    tables["items"] = tables["items"].assign(questionnaire="moods")
    specific, twins = split_by_placebo(tables)
    answers = {**no_answers(), "embeddings": embedded}
    figures = content_figures(specific, twins, plan, answers)

    values = figures.pivot(index="item", columns="measure", values="value")
    assert values["similarity_to_paraphrase"].to_dict() == pytest.approx({"rest": 1, "alone": 0})
    assert values["similarity"].to_dict() == pytest.approx({"rest": 0.6, "alone": 0})
    prompts = source_prompts(tables["prompts"])
    assert set(figures["n"]) == {len(prompts) // 2}


def test_who_measures_without_the_file_does_without_the_figure(declaration, wording) -> None:
    tables, plan = built(declaration)
    wording.unlink()
    request = embedding_request(tables, plan)
    assert set(request.rows["id"]) == {
        *tables["items"]["id"],
        *source_prompts(tables["prompts"])["id"],
    }


def texts_below(folder: Path) -> str:
    """Everything that the files of a folder say, tables read."""
    texts = []
    for path in folder.rglob("*"):
        if path.suffix == ".parquet":
            table = pq.read_table(path)
            texts += [json.dumps(table.to_pylist()), str(table.schema.metadata)]
        elif path.is_file():
            texts.append(path.read_bytes().decode("utf-8", errors="replace"))
    return "\n".join(texts)


def test_the_card_says_how_to_get_the_wording(declaration) -> None:
    withheld = card(declaration, *built(declaration), []).withheld
    assert f"`data/sources/questionnaires/{declaration.name}.yaml` (`file: PATH`)" in withheld
    assert f"`evenruler repro card@{declaration.name}`" in withheld


def test_validity_is_told_from_the_evidence(declaration) -> None:
    rows = table_of_text("""\
model|figure|subscale|method|other|reference|item_set|corpus|value|low|n|unit|verdict|reason
|alpha||head||||||||||fewer than 5 lineages of models
|alpha|rest|head|||||0.5|||||
|rho||head|phq-9||||0.5||6|||
|similarity|||||||0.5|||||
|similarity||||paraphrase|||0.25|||||
m|accuracy|||||pairs||0.8|0.72||||
m|accuracy|||||statements||0.3|0.2||||
m|silhouette|||||||0.25|||||
m|intensifier_order|||||||-0.5|||||
m|moved||||||x|0.57||1|fits|inconclusive|
m|moved||mlm||||x|0.5||1|fits|inconclusive|
""").astype(object)
    always = ["figure", "model", "value"]
    evidence: list[Any] = []
    for row in rows.where(rows.notna(), None).to_dict("records"):
        evidence.append(
            {name: row[name] for name in row if row[name] is not None or name in always}
        )
    validity = card(declaration, *built(declaration), evidence).validity
    assert (
        "Models whose accuracy on labelled pairs has a 95% interval above 0.7: 1 of 1."
        in validity.only_the_phenomenon
    )
    assert validity.errors.startswith(
        "Separation of source and inverse terms (SC, -1 to 1): m 0.25; order of intensifiers (-1 "
        "to 1): m -0.50."
    )
    assert validity.construct == (
        "rho with phq-9 (head): 0.50. Not done, fewer than 5 lineages of models: alpha (head). "
        "Answers after "
        "adaptation to a corpus about it less those after its control: x, m 0.57 "
        "(inconclusive); x, m (mlm) 0.50 (inconclusive). A criterion outside the models: not done."
    )


def test_no_published_file_holds_any_of_it(declaration, tmp_path) -> None:
    benchmark = build(declaration, Catalogue(models={}))
    tables, plan = built(declaration)
    words = card(declaration, tables, plan, [])
    published_tables = {config.name: benchmark.tables[config.name] for config in words.configs}
    folder = benchmark_folder(
        declaration.benchmark, declaration.source, published_tables, plan, words
    )
    write_benchmark(folder, tmp_path / "published")

    published = texts_below(tmp_path / "published").lower()

    assert "how often do you rest?" in published
    assert "withheld for copyright (sold by its publisher)" in published
    assert "measured against the licensed wording" in published
    long_words = set(re.findall(r"[a-z]{5,}", " ".join(LICENSED.values()).lower()))
    assert {word for word in long_words if word in published} == set()


def test_no_source_that_is_read_holds_any_of_it(declaration) -> None:
    declared = declaration.source.model_dump_json()
    assert not [question for question in LICENSED.values() if question in declared]


def test_another_number_of_lines_is_refused_unsaid(
    declaration, wording, tmp_path, error_of
) -> None:
    wording.write_text("Secret?")
    complaint = error_of(load, tmp_path / "moods.yaml", declaration.settings, tmp_path / "shared")
    remedy = "write a line an item, in the order of `items`"
    assert complaint == f"{wording}: 1 different lines, expected 2; {remedy}"


def test_a_file_beside_wording_that_is_held_is_refused(declaration, tmp_path, error_of) -> None:
    path = tmp_path / "moods.yaml"
    path.write_text(path.read_text().replace("wording: paraphrased", "wording: held"))
    complaint = error_of(load, path, declaration.settings, tmp_path / "shared")
    assert complaint.startswith(f"{path}: original: `file` is for wording that is not held: ")
