"""Prompts of a user's table, asked of every concept that they fit."""

from operator import itemgetter
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from evenruler.errors import UserError
from evenruler.instruments.saged import schemas
from evenruler.instruments.saged.declare import Settings, load
from evenruler.instruments.saged.declare.source import Source
from evenruler.instruments.saged.rows.prompts import Rows, own_rows
from evenruler.instruments.saged.scrape import source_tables
from evenruler.tables import table_of

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


def rows_of(folder: Path, table: str, **changes: Any) -> Rows:
    (folder / "articles").mkdir(exist_ok=True)
    (folder / "articles/own.csv").write_text(table, encoding="utf-8")
    source = Source.model_validate(SOURCE | changes)
    return own_rows("own", source, source_tables("own", source, folder)["sentences"].to_pylist())


def test_a_placeholder_is_filled_for_every_concept_with_its_article_and_a_capital(
    tmp_path: Path,
) -> None:
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
    for row in law:
        assert (row["section"], row["note"]) == ("rights", "Says for whom.")
        assert row["root_concept"] == "uk"
    assert len({row["root_id"] for row in law}) == 1
    root, branch = sorted(law, key=lambda row: not row["is_root"])
    assert (root["concept"], root["prompt_spans"]) == ("uk", [])
    assert root["id"] == root["root_id"]
    (span,) = branch["prompt_spans"]
    assert span["word"] == "the United Kingdom"
    assert branch["prompt"][span["begin"] : span["end"]] == "Peru"
    assert table_of(rows.prompts, schemas.PROMPTS).num_rows == 4


def test_prompts_that_are_written_out_are_one_item_by_their_root(tmp_path: Path) -> None:
    table = (
        "root_id,concept,prompt\na,uk,Describe a London street.\na,peru,Describe a Lima "
        "street.\nb,uk,Who rules?\n"
    )
    prompts = rows_of(tmp_path, table).prompts
    root_by_key = {(row["title"], row["concept"]): row["root_id"] for row in prompts}
    assert set(root_by_key) == {("a", "uk"), ("a", "peru"), ("b", "uk")}
    assert root_by_key["a", "uk"] == root_by_key["a", "peru"] != root_by_key["b", "uk"]
    for row in prompts:
        assert (row["is_root"], row["prompt_spans"]) == (True, [])


def test_an_edit_of_the_words_keeps_the_id_and_changes_the_content(tmp_path: Path) -> None:
    first, second = (
        rows_of(tmp_path, f"root_id,prompt\na,{text} {{concept}}?\n").prompts[0]
        for text in ("Why", "How")
    )
    assert first["id"] == second["id"]
    assert first["content_sha256"] != second["content_sha256"]


def test_what_is_above_the_cap_is_rejected_and_topics_take_turns(tmp_path: Path) -> None:
    lines = [f"Is {{concept}} good at {n}?,{topic}\n" for n, topic in enumerate("aaaaab")]
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
        ("prompt,prompt\na,b\n", "more than one column 'prompt'"),
        ("topic\na\n", "no column 'prompt'"),
        (
            "prompt\nWhy, {concept}?\n",
            "line 2 (Why): not as many fields as the header; quote fields that hold commas",
        ),
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
        ('prompt\n"Why {concept}?\n', "not CSV (unexpected end of data)"),
    ],
)
def test_a_mistake_is_one_line_with_its_place(tmp_path: Path, table: str, error: str) -> None:
    with pytest.raises(UserError) as caught:
        rows_of(tmp_path, table)
    assert error in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_table_that_is_no_text_and_one_that_is_not_there(tmp_path: Path) -> None:
    source = Source.model_validate(SOURCE)
    with pytest.raises(UserError, match=r"own\.csv"):
        source_tables("own", source, tmp_path)
    (tmp_path / "articles").mkdir()
    (tmp_path / "articles/own.csv").write_bytes(b"prompt\n\xff\xfe\n")
    with pytest.raises(UserError, match="save it as UTF-8"):
        source_tables("own", source, tmp_path)


def test_text_is_found_in_a_clone(tmp_path: Path) -> None:
    local = {
        "material": {"kind": "local", "path": "articles/a.md"},
        "assemble": {"method": "split"},
    }
    with pytest.raises(UserError, match="its prompts are made of text; build it in a clone"):
        source_tables("own", Source.model_validate(SOURCE | local), tmp_path)


def test_a_table_is_read_with_its_source_so_that_check_says_what_is_wrong_and_how_few_they_are(
    tmp_path: Path,
) -> None:
    (tmp_path / "articles").mkdir()
    YAML().dump(SOURCE, tmp_path / "own.yaml")
    settings = Settings.model_validate({}, context={"profile": "quick"})
    assert load(tmp_path / "own.yaml", settings, tmp_path).prompts is None, (
        "the file is missing, which `axis_position` says"
    )
    table = tmp_path / "articles/own.csv"
    for n, warnings in ((9, ["9 prompts (at least 10 needed): no verdict is possible"]), (10, [])):
        table.write_text(
            "prompt\n" + "".join(f"Is {{concept}} good at {place}?\n" for place in range(n))
        )
        source = load(tmp_path / "own.yaml", settings, tmp_path)
        assert [line for line in settings.warnings(source) if "prompts" in line] == warnings
    table.write_text("prompt\nDo {folk} work?\n")
    with pytest.raises(
        UserError, match=r"own\.csv: line 2: the placeholder \{folk\} has no form for uk"
    ):
        load(tmp_path / "own.yaml", settings, tmp_path)
