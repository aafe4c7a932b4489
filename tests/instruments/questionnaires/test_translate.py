"""`evenruler translate`: what rules make of items, what is doubtful, and how near the paper's
scales come."""

import re
import shutil
import sys
from collections.abc import Callable
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from evenruler.evaluate.benchmark import open_benchmark
from evenruler.instruments.item_table import reversed_rows
from evenruler.instruments.questionnaires.declare.source import load_questionnaire, load_scale
from evenruler.instruments.questionnaires.translate import (
    Draft,
    as_yaml,
    draft_items,
    read_scale,
    says_how_often,
)
from evenruler.instruments.questionnaires.translate.statements import OPPOSITES, item_to_templates
from tests.documents.pages import blocks
from tests.text_tables import read_cells

ROOT = Path(__file__).parents[3]
SOURCES = ROOT / "data/sources/questionnaires"
SCALES = SOURCES / "shared/scales"
SCALE = load_scale(SCALES / "frequency.yaml")
PAPER = Path(__file__).parent / "scales"

HEAD = "item,reverse,title,construct,licence,reference,responses,stem\n"
FACTS = ",Moods,low mood,cc-by-4.0,ours,never|often,"


@pytest.fixture
def written(tmp_path: Path) -> Callable[..., Path]:
    """A CSV file of items, with `reverse` where it is given."""

    def write(*items: str, facts: str = FACTS) -> Path:
        first, *rest = (line if "," in line else f"{line}," for line in items)
        lines = [first + facts, *(f"{line},,,,,," for line in rest)]
        path = tmp_path / "moods.csv"
        path.write_text(HEAD + "\n".join(lines) + "\n")
        return path

    return write


@pytest.fixture
def drafted(written) -> Callable[..., dict[str, Draft]]:
    """The drafts of items, by slug."""

    def draft(*items: str, facts: str = FACTS) -> dict[str, Draft]:
        return draft_items(*read_scale(written(*items, facts=facts)), SCALE)

    return draft


def shipped_items(name: str) -> list[dict[str, Any]]:
    """The items of a shipped questionnaire, as they are written."""
    source = YAML(typ="safe").load(SOURCES / f"{name}.yaml")
    return list(source["items"].values())


@pytest.mark.parametrize(("name", "n_passing"), [("gad-7", 7), ("phq-9", 7), ("soc-13", 6)])
def test_the_scales_of_the_paper_beside_what_ships(name, n_passing) -> None:
    """So many rows have an item."""
    facts, rows = read_scale(PAPER / f"{name}.csv")
    drafts = draft_items(facts, rows, SCALE).values()
    assert sum(draft.passes for draft in drafts) == n_passing
    for row, published in zip(rows.values(), shipped_items(name), strict=True):
        assert row.item == published["original"].strip()
        assert row.reverse == (published.get("keying") == -1)
        assert row.subscale == published.get("subscale")


def test_a_scale_that_rules_were_not_written_for(drafted) -> None:
    originals = [published["original"].strip() for published in shipped_items("ipip-extraversion")]
    drafts = drafted(*(f'"{original}",' for original in originals))
    assert all(draft.passes for draft in drafts.values())


RULES = read_cells("""
Feeling nervous, anxious, or on edge | Over the last week I have felt {TERM}. I {INTENSIFIER} \
feel this way. | nervous, anxious, on edge / calm, relaxed, at ease
Not being able to stop or control worrying | I am {TERM} worrying. I am {INTENSIFIER} like that. \
| unable to stop, unable to control / able to stop, able to control
Trouble relaxing | I find it {TERM} to relax. It is {INTENSIFIER} like that. \
| hard, difficult / easy, simple
Low self-esteem or self-respect | I have {TERM}. I am {INTENSIFIER} like that. \
| low self-esteem, low self-respect / high self-esteem, high self-respect
Poor sleep | Over the past month my sleep has been {TERM}. It is {INTENSIFIER} like that. \
| poor, bad / good, fine
I start conversations. | I {TERM}. I {INTENSIFIER} do so. \
| start conversations / do not start conversations
Don't trust strangers. | I {TERM}. I {INTENSIFIER} do so. \
| distrust strangers, mistrust strangers / trust strangers
How often are your plans unclear? | My plans are {TERM}. They are {INTENSIFIER} like that. \
| unclear / not unclear
In the last month, how often have you been upset because of a surprise? | In the last month I \
have been {TERM} because of a surprise. I am {INTENSIFIER} like that. \
| upset, distressed / untroubled, calm
Do you have the feeling that you are being treated unfairly? | I am being {TERM}. I {INTENSIFIER} \
have that feeling. | treated unfairly, treated unjustly / treated fairly, treated justly
Has it happened that your friends disappointed you? | My friends {TERM}. This {INTENSIFIER} \
happens. | disappointed me / did not disappoint me
I\u2019m sad | I'm {TERM}. I am {INTENSIFIER} like that. | sad, down / happy, cheerful
My life isn\u2019t good | My life is {TERM}. It is {INTENSIFIER} like that. \
| bad, awful / good, fine
I can't relax | I can {TERM}. I {INTENSIFIER} do so. | not relax / relax
I feel "on edge" | I feel {TERM}. I {INTENSIFIER} feel this way. | on edge, nervous / calm, relaxed
""")
"""Items with the premise and hypothesis that rules make, and source and inverse terms."""


@pytest.mark.parametrize(("item", "templates", "terms"), RULES)
def test_an_item_is_told_of_oneself(item, templates, terms) -> None:
    since = re.match("(Over|In) the (last|past) [a-z]+", templates)
    wording, _ = item_to_templates(item, since[0] if since else "")
    assert f"{wording['premise']} {wording['hypothesis']}" == templates
    sides = [", ".join(wording["terms"][side]) for side in ("source", "inverse")]
    assert " / ".join(sides) == terms


@pytest.mark.parametrize(
    ("item", "reason"),
    read_cells("""
Thoughts of death | no predicate found
So far, have you lived alone? | a question that rules cannot turn round
\u201cCalm\u201d is what I am | what it says is a clause
I think that I am no good. | more than one verb: which is asked of?
Moving or speaking slowly | more than one verb: which is asked of?
... | nothing is said
"""),
)
def test_what_rules_cannot_says_why(item, reason) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(reason)}$"):
        item_to_templates(item)


def test_opposites_are_told_once_a_row_and_in_lower_case() -> None:
    assert len(OPPOSITES) > 130
    for source, inverse in OPPOSITES:
        both = [*source, *inverse]
        assert len(both) == len({*both})
        assert "".join(both).islower()


@pytest.mark.parametrize(
    ("item", "doubt"),
    read_cells("""
Pain in the back | no item yet: no predicate found
I am not happy | negated
I am unable to relax because my children shout | double-barrelled: more than one clause
Feeling tired or having little energy | double-barrelled: two verbs
Feeling tired or having little energy | 'or having little energy' is left out
I feel weird and queasy | no opposite of 'queasy' is known, a negation stands there
I feel weird | fewer than 2 terms a side
I feel tired | not of the item: 'exhausted'
Ich f\u00fchle mich nerv\u00f6s | not English
I usually feel tired | it says already how often
I often feel tired | no item yet: the intensifier 'often' stands in a template
Politicians are dishonest | about others than oneself
I am not happy,yes | keyed in reverse, too: which way do its source terms point?
I am very very very very very very very very very very very very very very very very very very \
very tired | longer than 20 words
"""),
)
def test_each_doubt_is_named(item, doubt, drafted) -> None:
    (draft,) = drafted(item).values()
    assert doubt in draft.doubts


def test_of_a_frequency_under_a_time_the_tense_is_named(drafted) -> None:
    (draft,) = drafted("I start conversations", facts=f"{FACTS}In the past 3 weeks").values()
    doubt = "'In the past three weeks' goes with another tense than that of 'start'"
    assert doubt in draft.doubts


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ({"responses": ["never", "sometimes", "often"]}, True),
        ({"responses": ["strongly disagree", "agree"]}, False),
        ({"scale": "frequency"}, True),
        ({"scale": "agreement"}, False),
    ],
)
def test_answers_that_say_how_often(content, expected) -> None:
    assert says_how_often(content) == expected


def test_two_items_that_ask_the_same(drafted) -> None:
    first, second = drafted("I feel calm", "I feel nervous").values()
    assert (first.passes, second.passes) == (True, False)
    assert "no item yet: another item asks the same of 'nervous'" in second.doubts


@pytest.mark.parametrize(
    ("column", "marks", "expected"),
    [
        ("reverse", ["Y", "reversed", "1.0"], True),
        ("reverse", ["", "0.0", "forward"], False),
        ("key", ["-1", "-1.0", "\N{MINUS SIGN}1"], True),
        ("keying", ["1", "plus", "+"], False),
    ],
)
def test_marks_of_reversed_items_and_of_others(column, marks, expected) -> None:
    is_reversed = reversed_rows(dict(enumerate(marks)), column, "x.csv")
    assert is_reversed == dict.fromkeys(range(3), expected)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (HEAD, "holds no item; write a row an item, in the column `item`"),
        (
            f"{HEAD}I feel tired,-1{FACTS}\n",
            "line 2: reverse is '-1'; write R where an item is reversed, else nothing; call a "
            "column of 1 and -1 `key`",
        ),
        (
            "item,keying\nI feel tired,R\n",
            "line 2: keying is 'R'; write 1 where an item is forward, -1 where it is reversed",
        ),
        (
            "item,key,reverse,title\nI feel tired,1,,Moods\n",
            "line 1: the columns key and reverse both say how items are keyed; keep one of them",
        ),
        (f"{HEAD}I feel tired,{FACTS}\na,,Others,,,,,\n", "line 3.title: unknown key 'title'; "),
        ('[\n    {"name": "Mine", "questions": {"1": "Tense."}}\n]', "whole scales in a row each "),
        ('{"item": "Tense."}\n{"item": "Calm."}\n', "line 1.title: missing; add the key "),
    ],
)
def test_a_mistake_is_one_line_with_its_place(text, complaint, tmp_path, error_of) -> None:
    path = tmp_path / "moods.csv"
    path.write_text(text)
    assert error_of(read_scale, path).startswith(f"{path}: {complaint}")


def test_what_spreadsheets_add(tmp_path) -> None:
    """Rows of commas alone, blanks within an item, what the first row says of the scale said of
    every row."""
    path = tmp_path / "moods.csv"
    path.write_text(f'{HEAD},,,,,,,\n"I feel\n tired",{FACTS}\nI feel calm,R{FACTS}\n,,,,,,,\n')
    _, rows = read_scale(path)
    assert {line: (row.item, row.reverse) for line, row in rows.items()} == {
        4: ("I feel tired", False),
        5: ("I feel calm", True),
    }


def test_a_slug_has_no_hyphen_at_its_end(drafted) -> None:
    assert [*drafted("\u6211\u611f\u5230\u7d27\u5f20")] == ["item-1"]


def filled(text: str) -> str:
    """A draft whose twins, author and licence a person wrote."""
    content = YAML(typ="safe").load(text)
    content |= {"read": True, "source": "A. Author, 2026", "licence": "cc0-1.0"}
    for slug, written in content["items"].items():
        for number, twin in enumerate(written["twins"]):
            twin["premise"] = f"Pump {number} of {slug} is {{TERM}}."
            twin["hypothesis"] = "It {INTENSIFIER} works like that."
            for side, terms in twin["terms"].items():
                assert terms == ["FILL"] * len(written["terms"][side])
                twin["terms"][side] = [f"{side} quality {n}" for n in range(len(terms))]
    stream = StringIO()
    YAML().dump(content, stream)
    return stream.getvalue()


def test_doubts_stand_at_their_rows(written) -> None:
    facts, rows = read_scale(written("I feel nervous and tense", "I am not happy,1", "Pain"))
    text = as_yaml(facts, draft_items(facts, rows, SCALE))
    assert text.startswith("# Proposed by `evenruler translate`; not read by a person yet. 2 of 3 ")
    second = """
  item-2-down: # line 3
    # doubtful: negated
    # doubtful: keyed in reverse, too: which way do its source terms point?
    # doubtful: not of the item: 'cheerful'
    original: "I am not happy"
    keying: -1
"""
    third = """
  # item-3: # line 4
  #   # doubtful: no item yet: no predicate found
"""
    assert second in text
    assert third in text


def test_a_draft_loads_once_it_was_read_and_filled_and_not_before(tmp_path, error_of) -> None:
    facts, rows = read_scale(PAPER / "soc-13.csv")
    drafts = draft_items(facts, rows, SCALE)
    path, text = tmp_path / "mine.yaml", as_yaml(facts, drafts)
    whole = filled(text)
    unfinished = {
        text: f"{path}: `read: false` stands in it: a draft by ",
        text.replace(
            "read: false", "read: true"
        ): f"{path}: source: found 'FILL', expected your text",
        whole.replace(
            "is {TERM}.", "FILL {TERM}."
        ): f"{path}: items.item-03-let-down.twins.0.premise: ",
    }
    for written, complaint in unfinished.items():
        path.write_text(written)
        assert error_of(load_questionnaire, path, SCALES).startswith(complaint)
    path.write_text(whole)
    source, _ = load_questionnaire(path, SCALES)
    passed = {slug: draft.row.reverse for slug, draft in drafts.items() if draft.passes}
    assert {slug: item.keying == -1 for slug, item in source.items.items()} == passed
    assert source.original.stem == facts.stem


class TestCommand:
    @pytest.fixture
    def folder(self, tmp_path: Path) -> Path:
        """Outside any clone."""
        shutil.copy(PAPER / "gad-7.csv", tmp_path)
        return tmp_path

    @pytest.fixture
    def run(self, folder, monkeypatch, capsys) -> Callable[..., tuple[int, str, str]]:
        from evenruler import cli

        def called(*words: str) -> tuple[int, str, str]:
            monkeypatch.chdir(folder)
            monkeypatch.setattr(sys, "argv", ["evenruler", "translate", *words])
            with pytest.raises(SystemExit) as ended:
                cli.main()
            out, err = capsys.readouterr()
            return int(ended.value.code or 0), out, err

        return called

    def test_it_writes_one_file_where_it_is_called_and_never_over_another(
        self, run, folder
    ) -> None:
        status, out, err = run("gad-7.csv")
        assert (status, err) == (0, "")
        assert out.splitlines()[0] == "gad-7.csv: line 3 (item-2-unable-to-stop): negated"
        assert out.endswith(
            "gad-7.draft.yaml: 7 of 7 rows have an item that passes the linter; read every word, "
            "fill twins\n"
            "then say `read: true` in it, and name it gad-7.yaml: `evenruler measure MODEL --with "
            "gad-7.yaml`\n"
        )
        assert sorted(path.name for path in folder.glob("gad-7*")) == [
            "gad-7.csv",
            "gad-7.draft.yaml",
        ]
        assert run("gad-7.csv") == (
            2,
            "",
            "error: gad-7.draft.yaml: it is there already; name the table otherwise, or move it\n",
        )

    def test_the_page_shows_what_is_written_and_said(self, run, folder) -> None:
        scale, printed, drafted = (
            block.text
            for block in blocks("docs/adding-a-questionnaire.md")
            if block.language in ("csv", "text")
        )
        (folder / "moods.csv").write_text(scale)
        assert run("moods.csv") == (0, printed, "")
        assert drafted in (folder / "moods.draft.yaml").read_text()

    def test_a_mistake_is_one_line_and_status_two(self, run) -> None:
        status, out, err = run("mine.csv")
        assert (status, out, err.count("\n")) == (2, "", 1)
        assert err.startswith("error: ")
        assert "mine.csv: no such file; write the scale there, a row an item" in err

    def test_agreement_becomes_items_for_chats(self, run, folder) -> None:
        (folder / "trust.csv").write_text("item,key\nPeople help.,1\nPeople lie.,-1\n")
        status, out, err = run("trust.csv")
        assert (status, err) == (0, "")
        assert out == (
            "trust.yaml: items for chats, as they stand: `evenruler measure endpoint:NAME --with "
            "trust.yaml`\n"
        )
        with open_benchmark(str(folder / "trust.yaml")) as written:
            from_yaml = written.tables["statements"]
        with open_benchmark(str(folder / "trust.csv")) as table:
            assert from_yaml.equals(table.tables["statements"])
        assert from_yaml["text"].tolist() == ["People help.", "People lie."]
