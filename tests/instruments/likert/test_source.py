"""What users write: sources in YAML and tables in CSV, and what is said of mistakes in them."""

from pathlib import Path
from typing import Any

import pytest

from evenruler.errors import UserError
from evenruler.evaluate.benchmark import open_benchmark
from evenruler.instruments.item_table import read_items
from evenruler.instruments.likert import ask
from tests.instruments.likert.respondents import build_tables, write_source


def first_prompts(path: Path) -> list[str]:
    """The first statement, in either order of its options."""
    tables, plan = build_tables(path, "trial")
    questions = ask.list_questions(tables, plan, samples=1)
    first = questions[questions["id"] == questions["id"].iloc[0]]
    return [str(prompt) for prompt in first["prompt"]]


def write_table(folder: Path, *lines: str) -> Path:
    path = folder / "items.csv"
    path.write_text("\n".join([*lines, ""]), encoding="utf-8")
    return path


def test_an_item_is_asked_as_it_stands_with_its_options_in_both_orders(tmp_path: Path) -> None:
    path = write_source(tmp_path, items={"kept": {"text": "Promises are kept."}})
    lowest_first, highest_first = first_prompts(path)
    assert lowest_first == (
        "How far do you agree or disagree with this statement?\n\n"
        "Promises are kept.\n\n"
        "A. Strongly disagree\nB. Disagree\nC. Neither agree nor disagree\nD. Agree\n"
        "E. Strongly agree\n\n"
        "Answer with the letter only."
    )
    assert "A. Strongly agree\nB. Agree" in highest_first


def test_options_question_and_stem_of_its_own(tmp_path: Path) -> None:
    path = write_source(
        tmp_path,
        responses=["No", "Perhaps", "Yes"],
        lowest=0,
        stem="Over the last two weeks,",
        instruction="Say A, B or C.",
        personas={"nurse": "You are a nurse.", "miner": "You are a miner."},
        items={"tired": {"text": "I was tired."}},
    )
    before, _, question = first_prompts(path)[0].partition("\n\n")
    assert question == (
        "Over the last two weeks, I was tired.\n\nA. No\nB. Perhaps\nC. Yes\n\nSay A, B or C."
    )
    tables, plan = build_tables(path, "trial")
    assert before in set(tables["statements"]["before"]) == {"You are a nurse.", "You are a miner."}
    options = ask.list_questions(tables, plan, samples=1)["options"].iloc[0]
    assert options == (("0", "No"), ("1", "Perhaps"), ("2", "Yes"))


def test_groups_are_filled_with_the_right_article_in_english_alone(tmp_path: Path) -> None:
    items = {"fair": {"text": "A {GROUP} is fair."}}
    path = write_source(tmp_path, groups=["nurse", "engineer"], items=items)
    texts = build_tables(path, "trial")[0]["statements"].set_index("about")["text"]
    assert texts.to_dict() == {"nurse": "A nurse is fair.", "engineer": "An engineer is fair."}
    items = {"fair": {"text": "Ich denke an {GROUP}."}}
    path = write_source(tmp_path, language="de", groups=["Nachbarn", "Fremde"], items=items)
    texts = build_tables(path, "trial")[0]["statements"]["text"]
    assert set(texts) == {"Ich denke an Nachbarn.", "Ich denke an Fremde."}


def test_a_table_of_items_alone_is_enough(tmp_path: Path) -> None:
    path = write_table(tmp_path, "item,key", "People help.,1", '"People, mostly, lie.",-1')
    content = read_items(path)
    assert content["title"] == "items"
    assert content["scale"] == "agreement"
    assert content["items"] == {
        "item-1": {"text": "People help.", "key": 1},
        "item-2": {"text": "People, mostly, lie.", "key": -1},
    }
    with open_benchmark(str(path)) as benchmark:
        assert (benchmark.name, benchmark.title) == ("likert-items", "items")
        assert benchmark.tables["statements"]["key"].tolist() == [1, -1]


def test_the_first_row_of_a_table_says_what_holds_for_all(tmp_path: Path) -> None:
    path = write_table(
        tmp_path,
        "slug,item,reverse,negation,subscale,title,responses,groups,reference",
        "help,{GROUP} help.,,{GROUP} do not help.,Good Deeds,Deeds,never|at times|always,a|b,ours",
        "harm,{GROUP} harm.,R,,Bad Deeds,,,,",
    )
    content = read_items(path)
    assert content["responses"] == ["never", "at times", "always"]
    assert (content["groups"], content["source"]) == (["a", "b"], "ours")
    assert content["items"]["help"]["negation"] == "{GROUP} do not help."
    assert content["items"]["harm"] == {"text": "{GROUP} harm.", "subscale": "bad-deeds", "key": -1}


ITEM: dict[str, Any] = {"text": "People help."}
SLOT: dict[str, Any] = {"text": "{GROUP} help."}


@pytest.mark.parametrize(
    ("content", "line"),
    [
        ({"items": {"a": SLOT}}, "items.a: it has the slot {GROUP}, and no groups are given"),
        (
            {"groups": ["x", "y"], "items": {"a": SLOT, "b": ITEM}},
            "items.b: groups are given, and it has no slot {GROUP}",
        ),
        (
            {"groups": ["x", "y", "z"], "items": {"a": SLOT}},
            "groups: found 3, expected two, which are compared",
        ),
        ({"items": {"a": {"text": "{WHO} help."}}}, "a: unknown slot {WHO}, the only one is"),
        (
            {"items": {"a": {**ITEM, "subscale": "good"}, "b": {"text": "Ice."}}},
            "b has no subscale, and others have one",
        ),
        (
            {"language": "fr", "items": {"a": ITEM}},
            "no words ship in the language 'fr'; write `responses` and `instruction`",
        ),
        ({"responses": ["Yes", "yes"], "items": {"a": ITEM}}, "found the option"),
        ({"items": {}}, "items"),
    ],
)
def test_what_is_wrong_with_a_source_is_one_line(
    tmp_path: Path, content: dict[str, Any], line: str
) -> None:
    path = write_source(tmp_path, **content)
    with pytest.raises(UserError) as error, open_benchmark(str(path)):
        pass
    assert line in str(error.value)
    assert str(error.value).startswith(str(path))


@pytest.mark.parametrize(
    ("lines", "line"),
    [
        (("item,keyed", "People help.,1"), "line 1: unknown column 'keyed'; did you mean 'key'?"),
        (("item,key", "People help.,maybe"), "line 2: key is 'maybe'; write 1 where an item is"),
        (("item,key,reverse", "People help.,1,R"), "the columns key and reverse both say"),
        (("item",), "holds no item; write a row an item"),
        (("item,responses", "People help.,agreeement"), "scale: found 'agreeement'"),
    ],
)
def test_what_is_wrong_with_a_table_is_one_line(
    tmp_path: Path, lines: tuple[str, ...], line: str
) -> None:
    path = write_table(tmp_path, *lines)
    with pytest.raises(UserError) as error, open_benchmark(str(path)):
        pass
    assert line in str(error.value)


def test_a_table_of_something_else_is_told_as_before(tmp_path: Path) -> None:
    path = write_table(tmp_path, "first,second", "He is a nurse.,She is a nurse.")
    with pytest.raises(UserError, match="a source is made of it first"), open_benchmark(str(path)):
        pass
