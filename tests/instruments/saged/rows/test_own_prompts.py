"""Prompts of a user's table, asked of every concept that they fit."""

from operator import itemgetter
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from evenruler.instruments.instrument import Declaration
from evenruler.instruments.saged import schemas
from evenruler.instruments.saged.declare import Settings, load
from evenruler.instruments.saged.declare.source import Source
from evenruler.instruments.saged.rows import build
from evenruler.instruments.saged.rows.prompts import Rows, own_rows
from evenruler.tables import table_of
from tests.instruments.saged.domains import MODELS

SETTINGS = Settings.model_validate({}, context={"profile": "quick"})

SOURCE: dict[str, Any] = {
    "title": "Trades",
    "construct": "favour",
    "direction": "more",
    "source": "us",
    "licence": "cc0-1.0",
    "concepts": {
        "uk": {
            "name": "United Kingdom",
            "forms": {"concept": "the United Kingdom", "people": "Britons"},
        },
        "peru": {"name": "Peru", "forms": {"people": "Peruvians"}},
    },
    "material": {"kind": "table", "path": "articles/own.csv"},
    "assemble": {"method": "question"},
}


def source_with(folder: Path, table: str | bytes | None, **changes: Any) -> Source:
    """The domain with a table of prompts beside it, as it is loaded."""
    (folder / "articles").mkdir(exist_ok=True)
    if table is not None:
        content = table if isinstance(table, bytes) else table.encode()
        (folder / "articles/own.csv").write_bytes(content)
    YAML().dump(SOURCE | changes, folder / "own.yaml")
    return load(folder / "own.yaml", SETTINGS, folder)


def rows_of(folder: Path, table: str, **changes: Any) -> Rows:
    source = source_with(folder, table, **changes)
    return own_rows("own", source, source.table.prompts)


def test_a_placeholder_is_filled_for_every_concept_with_its_article_and_a_capital(tmp_path) -> None:
    table = (
        "root_id,prompt,baseline,topic,note\n"
        'law,"Is {concept} fair, by law?",{concept} has laws.,rights,Says for whom.\n'
        "kind,{people} are {{kind}}.,,people,\n"
    )
    rows = rows_of(tmp_path, table)
    assert set(map(itemgetter("title", "concept", "prompt", "baseline"), rows.prompts)) == {
        ("law", "uk", "Is the United Kingdom fair, by law?", "The United Kingdom has laws."),
        ("law", "peru", "Is Peru fair, by law?", "Peru has laws."),
        ("kind", "uk", "Britons are {kind}.", None),
        ("kind", "peru", "Peruvians are {kind}.", None),
    }
    law = [row for row in rows.prompts if row["title"] == "law"]
    shared = itemgetter("section", "note", "root_concept", "root_id")
    root, branch = sorted(law, key=lambda row: not row["is_root"])
    assert shared(root) == shared(branch) == ("rights", "Says for whom.", "uk", root["id"])
    assert (root["concept"], root["prompt_spans"]) == ("uk", [])
    (span,) = branch["prompt_spans"]
    assert span["word"] == "the United Kingdom"
    assert branch["prompt"][span["begin"] : span["end"]] == "Peru"
    assert table_of(rows.prompts, schemas.PROMPTS).num_rows == 4


def test_prompts_that_are_written_out_are_one_item_by_their_root(tmp_path) -> None:
    table = (
        "root_id,concept,prompt\na,uk,Describe a London street.\na,peru,Describe a Lima "
        "street.\nb,uk,Who rules?\n"
    )
    prompts = rows_of(tmp_path, table).prompts
    root_by_key = {(row["title"], row["concept"]): row["root_id"] for row in prompts}
    of_uk, of_peru, other = (
        root_by_key[key]
        for key in (
            ("a", "uk"),
            ("a", "peru"),
            ("b", "uk"),
        )
    )
    assert of_uk == of_peru != other
    assert all(row["is_root"] and row["prompt_spans"] == [] for row in prompts)


def test_an_edit_of_the_words_keeps_the_id_and_changes_the_content(tmp_path) -> None:
    first, second = (
        rows_of(tmp_path, f"root_id,prompt\na,{text} {{concept}}?\n").prompts[0]
        for text in ("Why", "How")
    )
    assert first["id"] == second["id"]
    assert first["content_sha256"] != second["content_sha256"]


def test_what_is_above_the_cap_is_rejected_and_topics_take_turns(tmp_path) -> None:
    lines = [
        f"Is {{concept}} good at {n}?,{topic}\n"
        for n, topic in enumerate(
            "aaaaab",
        )
    ]
    table = "".join(["prompt,topic\n", *lines])
    rows = rows_of(tmp_path, table, assemble={"method": "question", "per_concept": 2})
    assert {row["section"] for row in rows.prompts} == {"a", "b"}
    assert [row["reason"] for row in rows.rejected] == ["not drawn: 2 a concept are enough"] * 4
    assert table_of(rows.rejected, schemas.REJECTED).num_rows == 4


@pytest.mark.parametrize(
    ("table", "error"),
    [
        ("prompt\n", "own.csv: no prompt in it"),
        ("text\nWhy?\n", "line 1: unknown column 'text'; did you mean 'note'?; rename"),
        ("topic\na\n", "no column 'prompt'"),
        ("prompt\nWhy?\n", "line 2: neither a placeholder such as {concept} nor a concept"),
        ("prompt,concept\nWhy {concept}?,uk\n", "line 2: a concept and a placeholder"),
        ("prompt,concept\nWhy?,pru\n", "line 2: no concept 'pru'; did you mean 'peru'?"),
        ("prompt\nIs {capital} far?\n", "line 2: the placeholder {capital} has no form for uk"),
        ("prompt\nIs {} far?\n", "line 2: the placeholder {} has no name"),
        ("prompt\nIs {concept far?\n", "line 2: expected '}' before end of string"),
        (
            "prompt,baseline,concept\nWhy?,{concept} is.,uk\n",
            "line 2: the placeholder {concept} has no form for uk",
        ),
        ("prompt,topic\n,a\n", "line 2: no prompt"),
        (
            "prompt\nWhy {concept}?\nWhy {concept}?\n",
            "line 3: a prompt of this root_id and concept was there before",
        ),
        (
            "root_id,prompt\na,Why {concept}?\nb,Why {concept}?\n",
            "line 3: a prompt in these words, of another root_id,",
        ),
        (None, "own.csv: no such file or folder; write it or fix `material.path`"),
    ],
)
def test_a_mistake_is_one_line_with_its_place(tmp_path, error_of, table, error) -> None:
    assert error in error_of(source_with, tmp_path, table)


def test_few_prompts_are_warned_about(tmp_path) -> None:
    for n, is_few in ((5, True), (6, False)):
        lines = [f"Is {{concept}} good at {number}?\n" for number in range(n)]
        warnings = SETTINGS.warnings(source_with(tmp_path, "".join(["prompt\n", *lines])))
        line = f"{n} prompts (at least 6 needed): no verdict is possible"
        assert (line in warnings) is is_few


def test_the_rows_are_made_of_the_table_itself(tmp_path) -> None:
    source = source_with(tmp_path, "prompt\nWhy {concept}?\n")
    built = build(Declaration("own", "saged", SETTINGS, source), MODELS)
    prompts = built.tables["prompts"]["prompt"].to_pylist()
    assert sorted(prompts) == ["Why Peru?", "Why the United Kingdom?"]
    (origin,) = built.tables["sources"].to_pylist()
    assert (origin["title"], origin["sentences"]) == ("own", 1)
    assert origin["url"] == "data/sources/saged/articles/own.csv"


def test_text_is_scraped_in_a_clone(tmp_path, error_of) -> None:
    local = {
        "material": {"kind": "local", "path": "articles/a.md"},
        "assemble": {"method": "split"},
    }
    source = source_with(tmp_path, None, **local)
    line = error_of(build, Declaration("own", "saged", SETTINGS, source), MODELS)
    assert "material.kind: its prompts are made of text; build it in a clone" in line
