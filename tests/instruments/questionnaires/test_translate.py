"""`evenruler translate`: what rules make of items, what is doubtful, and how near the paper's
scales come."""

import re
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from evenruler.instruments.questionnaires.declare.source import load_questionnaire, load_scale
from evenruler.instruments.questionnaires.translate import (
    REPLIES,
    SAMPLING,
    Draft,
    as_yaml,
    draft_items,
    paraphrase_prompt,
    read_scale,
    reversed_rows,
)
from evenruler.instruments.questionnaires.translate.statements import (
    OPPOSITES,
    WORDS,
    item_to_templates,
)
from evenruler.models import catalogue
from tests.documents.pages import blocks

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


def distance(first: Sequence[str], second: Sequence[str]) -> int:
    """Words to put in, take out or replace (Levenshtein 1966)."""
    row = list(range(len(second) + 1))
    for row_number, first_word in enumerate(first, start=1):
        above, row = row, [row_number]
        for column, second_word in enumerate(second, start=1):
            replaced = above[column - 1] + (first_word != second_word)
            row.append(min(above[column] + 1, row[-1] + 1, replaced))
    return row[-1]


def words(wording: Mapping[str, Any]) -> list[str]:
    text = f"{wording['premise']} {wording['hypothesis']}"
    return re.findall(r"[\w'-]+", text.lower())


def shipped_items(name: str) -> list[dict[str, Any]]:
    """The items of a shipped questionnaire, as they are written."""
    source = YAML(typ="safe").load(SOURCES / f"{name}.yaml")
    return list(source["items"].values())


class TestPaper:
    """The three scales of the paper, and two that the rules were not written for, beside what
    ships."""

    @staticmethod
    def counts_beside(name: str, drafts: Sequence[Draft]) -> tuple[int, int, int, int]:
        """Rows with an item; items within three words of what ships; source and inverse terms that
        ship, too."""
        near = source = inverse = 0
        for draft, published in zip(drafts, shipped_items(name), strict=True):
            assert draft.row.item == published["original"].strip()
            near += draft.passes and distance(words(draft.wording), words(published)) <= 3
            terms, published_terms = draft.wording["terms"], published["terms"]
            source += len({*terms["source"]} & {*published_terms["source"]})
            inverse += len({*terms["inverse"]} & {*published_terms["inverse"]})
        return sum(draft.passes for draft in drafts), near, source, inverse

    @pytest.mark.parametrize(
        ("name", "counts"),
        [("gad-7", (7, 6, 11, 10)), ("phq-9", (7, 4, 6, 7)), ("soc-13", (6, 2, 3, 3))],
    )
    def test_the_scales_as_csv(self, name, counts) -> None:
        """The counts of docs/questionnaires.md."""
        facts, rows = read_scale(PAPER / f"{name}.csv")
        assert self.counts_beside(name, [*draft_items(facts, rows, SCALE).values()]) == counts
        shipped = shipped_items(name)
        assert [row.reverse for row in rows.values()] == [
            published.get("keying", 1) < 0 for published in shipped
        ]
        assert [row.subscale for row in rows.values()] == [
            published.get("subscale") for published in shipped
        ]

    def test_a_scale_that_rules_were_not_written_for(self, written) -> None:
        name = "ipip-extraversion"
        originals = [published["original"].strip() for published in shipped_items(name)]
        path = written(*(f'"{original}",' for original in originals))
        facts, rows = read_scale(path)
        assert self.counts_beside(name, [*draft_items(facts, rows, SCALE).values()]) == (
            10,
            3,
            6,
            4,
        )


class TestRules:
    @pytest.mark.parametrize(
        ("item", "since", "premise", "hypothesis", "source", "inverse"),
        [
            (
                "Feeling nervous, anxious, or on edge",
                "Over the last week",
                "Over the last week I have felt {TERM}.",
                "I {INTENSIFIER} feel this way.",
                ["nervous", "anxious", "on edge"],
                ["calm", "relaxed", "at ease"],
            ),
            (
                "Not being able to stop or control worrying",
                "",
                "I am {TERM} worrying.",
                "I am {INTENSIFIER} like that.",
                ["unable to stop", "unable to control"],
                ["able to stop", "able to control"],
            ),
            (
                "Trouble relaxing",
                "",
                "I find it {TERM} to relax.",
                "It is {INTENSIFIER} like that.",
                ["hard", "difficult"],
                ["easy", "simple"],
            ),
            (
                "Low self-esteem or self-respect",
                "",
                "I have {TERM}.",
                "I am {INTENSIFIER} like that.",
                ["low self-esteem", "low self-respect"],
                ["high self-esteem", "high self-respect"],
            ),
            (
                "Poor sleep",
                "Over the past month",
                "Over the past month my sleep has been {TERM}.",
                "It is {INTENSIFIER} like that.",
                ["poor", "bad"],
                ["good", "fine"],
            ),
            (
                "I start conversations.",
                "",
                "I {TERM}.",
                "I {INTENSIFIER} do so.",
                ["start conversations"],
                ["do not start conversations"],
            ),
            (
                "Don't trust strangers.",
                "",
                "I {TERM}.",
                "I {INTENSIFIER} do so.",
                ["distrust strangers", "mistrust strangers"],
                ["trust strangers"],
            ),
            (
                "How often are your plans unclear?",
                "",
                "My plans are {TERM}.",
                "They are {INTENSIFIER} like that.",
                ["unclear"],
                ["not unclear"],
            ),
            (
                "In the last month, how often have you been upset because of a surprise?",
                "In the last month",
                "In the last month I have been {TERM} because of a surprise.",
                "I am {INTENSIFIER} like that.",
                ["upset", "distressed"],
                ["untroubled", "calm"],
            ),
            (
                "Do you have the feeling that you are being treated unfairly?",
                "",
                "I am being {TERM}.",
                "I {INTENSIFIER} have that feeling.",
                ["treated unfairly", "treated unjustly"],
                ["treated fairly", "treated justly"],
            ),
            (
                "Has it happened that your friends disappointed you?",
                "",
                "My friends {TERM}.",
                "This {INTENSIFIER} happens.",
                ["disappointed me"],
                ["did not disappoint me"],
            ),
        ],
    )
    def test_an_item_is_told_of_oneself(
        self, item, since, premise, hypothesis, source, inverse
    ) -> None:
        wording, _ = item_to_templates(item, since)
        assert wording == {
            "premise": premise,
            "hypothesis": hypothesis,
            "terms": {"source": source, "inverse": inverse},
        }

    @pytest.mark.parametrize(
        ("item", "reason"),
        [
            ("Thoughts of death", "no predicate found"),
            ("So far, have you lived alone?", "a question that rules cannot turn round"),
            ("\u201cCalm\u201d is what I am", "what it says is a clause"),
            ("I think that I am no good.", "more than one verb: which is asked of?"),
            ("Moving or speaking slowly", "more than one verb: which is asked of?"),
        ],
    )
    def test_what_rules_cannot_says_why(self, item, reason) -> None:
        with pytest.raises(ValueError, match=f"^{re.escape(reason)}$"):
            item_to_templates(item)

    @pytest.mark.parametrize(
        ("item", "premise", "source"),
        [
            ("I\u2019m sad", "I'm {TERM}.", ["sad", "down"]),
            ("My life isn\u2019t good", "My life is {TERM}.", ["bad", "awful"]),
            ("I can't relax", "I can {TERM}.", ["not relax"]),
            ('I feel "on edge"', "I feel {TERM}.", ["on edge", "nervous"]),
        ],
    )
    def test_apostrophes_contractions_and_quotes(self, item, premise, source) -> None:
        wording, _ = item_to_templates(item)
        assert (wording["premise"], wording["terms"]["source"]) == (premise, source)

    def test_opposites_are_told_once_a_row_and_in_lower_case(self) -> None:
        assert len(OPPOSITES) > 130
        for row in OPPOSITES:
            one_side, other_side = row
            both = [*one_side, *other_side]
            assert len(both) == len({*both})
            assert "".join(both).islower()


class TestDoubts:
    def doubts(self, path: Path) -> list[str]:
        facts, rows = read_scale(path)
        (draft,) = draft_items(facts, rows, SCALE).values()
        return [doubt.removeprefix("no item yet: ") for doubt in [*facts.doubts, *draft.doubts]]

    @pytest.mark.parametrize(
        ("item", "named"),
        [
            ("Pain in the back", "no predicate found"),
            ("...", "nothing is said"),
            ("I am not happy", "negated"),
            (
                "I am unable to relax because my children shout",
                "double-barrelled: more than one clause",
            ),
            ("Feeling tense or worried", None),
            ("Feeling tired or having little energy", "double-barrelled: two verbs"),
            ("Feeling tired or having little energy", "'or having little energy' is left out"),
            (
                "I feel weird and queasy",
                "no opposite of 'queasy' is known, a negation stands there",
            ),
            ("I feel weird", "fewer than 2 terms a side"),
            ("I feel tired", "not of the item: 'exhausted'"),
            ("Ich f\u00fchle mich nerv\u00f6s", "not English"),
            ("I usually feel tired", "it says already how often"),
            ("I often feel tired", "the intensifier 'often' stands in a template"),
            ("My neighbours are lazy", None),
            ("Politicians are dishonest", "about others than oneself"),
            ("It is pleasant for me at home", None),
            ("I am not happy,yes", "keyed in reverse, too: which way do its source terms point?"),
            ("I feel tired when" + " very" * 18 + " late", "longer than 20 words"),
        ],
    )
    def test_each_is_named(self, item, named, written) -> None:
        doubts = self.doubts(written(item))
        assert (
            named in doubts
            if named
            else {*doubts} <= {"not of the item: 'idle'", "not of the item: 'enjoyable'"}
        )

    def test_of_a_frequency_under_a_time_the_tense_is_named(self, written) -> None:
        path = written("I start conversations", facts=f"{FACTS}In the past 3 weeks")
        assert (
            "'In the past three weeks' goes with another tense than that of 'start'"
            in self.doubts(path)
        )

    def test_answers_that_say_no_frequency(self, written) -> None:
        doubts = self.doubts(
            written("I feel tired", facts=FACTS.replace("never|often", "agree|disagree"))
        )
        assert (
            doubts[0]
            == "items are asked by how often, which the answers do not say (agree|disagree)"
        )

    def test_two_items_that_ask_the_same(self, written) -> None:
        facts, rows = read_scale(written("I feel calm", "I feel nervous"))
        first, second = draft_items(facts, rows, SCALE).values()
        assert (first.passes, second.passes) == (True, False)
        assert "no item yet: another item asks the same of 'nervous'" in second.doubts


class TestScale:
    @pytest.mark.parametrize("mark", ["Y", "reversed", "-1.0"])
    def test_marks_of_reverse_items(self, mark, written) -> None:
        assert read_scale(written(f"I feel tired,{mark}"))[1][2].reverse

    @pytest.mark.parametrize("mark", ["", "0.0", "forward"])
    def test_marks_of_others(self, mark, written) -> None:
        assert not read_scale(written(f"I feel tired,{mark}"))[1][2].reverse

    @pytest.mark.parametrize(
        ("column", "marks", "expected"),
        [
            (
                "reverse",
                ["1", "1", "-1", "-1"],
                [False, False, True, True],
            ),  # the table of the IPIP
            ("reverse", ["1.0", "-1.0"], [False, True]),
            ("reverse", ["1", "\N{MINUS SIGN}1"], [False, True]),
            ("reverse", ["", "1"], [False, True]),
            ("reverse", ["R", "1"], [True, True]),
            ("key", ["1", "-1"], [False, True]),
            ("key", ["1", "1"], [False, False]),  # called a key, it is one
            ("keying", ["plus", "minus", "+"], [False, True, False]),
        ],
    )
    def test_the_column_says_whether_it_is_a_key(self, column, marks, expected) -> None:
        is_reversed = reversed_rows(dict(enumerate(marks, start=2)), column, "x.csv")
        assert [*is_reversed.items()] == [*enumerate(expected, start=2)]

    @pytest.mark.parametrize(
        ("column", "marks", "complaint"),
        [
            (
                "reverse",
                ["1", "1"],
                "x.csv: every row has 1 under 'reverse': as a key it is forward, as a mark it is "
                "reversed; "
                "call the column key if 1 is forward; write R in its place if every item is "
                "reversed",
            ),
            (
                "reverse",
                ["1", "-1", ""],
                "x.csv: line 4: reverse is '' in a column of 1 and -1; "
                "write 1 where the item is forward, -1 where it is reversed",
            ),
            ("key", ["1", "0"], "x.csv: line 3: key is '0' in a column of 1 and -1"),
            (
                "reverse",
                ["", "2"],
                "x.csv: line 3: reverse is '2', expected 1 or -1 in every row, or R where",
            ),
        ],
    )
    def test_what_a_column_does_not_tell_is_asked(self, column, marks, complaint, error_of) -> None:
        assert error_of(reversed_rows, dict(enumerate(marks, start=2)), column, "x.csv").startswith(
            complaint
        )

    def test_two_columns_of_keys(self, tmp_path, error_of) -> None:
        path = tmp_path / "moods.csv"
        path.write_text("item,key,reverse,title\nI feel tired,1,,Moods\n")
        line = error_of(read_scale, path)
        assert (
            line
            == f"{path}: line 1: the columns key and reverse both say how items are keyed; keep "
            "one of them"
        )

    @pytest.mark.parametrize(
        ("text", "kind"),
        [
            ('[\n    {"name": "Own", "questions": {"1": "I feel tense."}}\n]', "JSON"),
            ('{"item": "I feel tense."}\n{"item": "I feel calm."}\n', "JSON lines"),
        ],
    )
    def test_a_scale_in_json_is_called_so(self, text, kind, tmp_path, error_of) -> None:
        path = tmp_path / "scale.json"
        path.write_text(text)
        assert error_of(read_scale, path) == (
            f"{path}: {kind}, expected CSV; write a table: a line of names, then a row each, with "
            "commas between fields"
        )

    def test_what_spreadsheets_add(self, tmp_path) -> None:
        """Rows of commas alone, blanks within an item, what the first row says of the scale said of
        every row."""
        path = tmp_path / "moods.csv"
        path.write_text(f'{HEAD},,,,,,,\n"I feel\n tired",{FACTS}\nI feel calm,R{FACTS}\n,,,,,,,\n')
        _, rows = read_scale(path)
        assert {line: (row.item, row.reverse) for line, row in rows.items()} == {
            4: ("I feel tired", False),
            5: ("I feel calm", True),
        }

    def test_a_slug_has_no_hyphen_at_its_end(self, written) -> None:
        facts, rows = read_scale(written("\u6211\u611f\u5230\u7d27\u5f20"))
        assert [*draft_items(facts, rows, SCALE)] == ["item-1"]

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            (HEAD, "holds no item; write a row an item, in the column `item`"),
            (
                HEAD + f"I feel tired,x{FACTS}\n",
                "line 2: reverse is 'x', expected 1 or -1 in every row, or R where an item is "
                "keyed in reverse; ",
            ),
            (
                HEAD + f"I feel tired,{FACTS}\na,,Others,,,,,\n",
                "line 3.title: unknown key 'title'; ",
            ),
        ],
    )
    def test_a_mistake_is_one_line_with_its_place(self, text, message, tmp_path, error_of) -> None:
        path = tmp_path / "moods.csv"
        path.write_text(text)
        complaint = error_of(read_scale, path)
        assert complaint.startswith(f"{path}: {message}")
        assert "\n" not in complaint


def filled(text: str) -> str:
    """A draft whose twins, author and licence a person wrote."""
    content = YAML(typ="safe").load(text)
    del content["unread"]
    content |= {"source": "A. Author, 2026", "licence": "cc0-1.0"}
    for slug, written in content["items"].items():
        for number, twin in enumerate(written["twins"]):
            machine = f"Pump {number} of {slug}"
            twin["premise"], twin["hypothesis"] = (
                f"{machine} is {{TERM}}.",
                "It {INTENSIFIER} works like that.",
            )
            for side, terms in twin["terms"].items():
                n_terms = len(terms)
                assert {*terms} == {"FILL"}
                assert n_terms == len(written["terms"][side])
                twin["terms"][side] = [f"{side} quality {n}" for n in range(n_terms)]
    stream = StringIO()
    YAML().dump(content, stream)
    return stream.getvalue()


class TestYaml:
    def test_what_is_written(self, written) -> None:
        facts, rows = read_scale(written("I feel nervous and tense", "I am not happy,1", "Pain"))
        text = as_yaml(facts, draft_items(facts, rows, SCALE))
        lines = text.splitlines()
        assert lines[0] == (
            "# Proposed by `evenruler translate`; not read by a person yet. "
            "2 of 3 rows have an item that passes the linter."
        )
        begin = lines.index("  item-2-down: # line 3")
        assert lines[begin : begin + 5] == [
            "  item-2-down: # line 3",
            "    # doubtful: negated",
            "    # doubtful: keyed in reverse, too: which way do its source terms point?",
            "    # doubtful: not of the item: 'cheerful'",
            '    original: "I am not happy"',
        ]
        assert "    keying: -1" in lines
        assert (
            lines[lines.index("  # item-3: # line 4") + 1]
            == "  #   # doubtful: no item yet: no predicate found"
        )

    def test_it_loads_once_it_was_read_and_filled_and_not_before(self, tmp_path, error_of) -> None:
        facts, rows = read_scale(PAPER / "soc-13.csv")
        drafts = draft_items(facts, rows, SCALE)
        path, text = tmp_path / "mine.yaml", as_yaml(facts, drafts)
        path.write_text(text)
        assert error_of(load_questionnaire, path, SCALES).startswith(
            f"{path}: `unread` stands in it: a draft by "
        )
        path.write_text(text.replace("unread: true\n", ""))
        complaint = error_of(load_questionnaire, path, SCALES)
        assert complaint.startswith(
            f"{path}: source: found 'FILL', expected your text in place of FILL; fix it (and "
        )
        path.write_text(filled(text).replace("is {TERM}.", "FILL {TERM}."))
        complaint = error_of(load_questionnaire, path, SCALES)
        assert ".twins.0.premise: found 'Pump 0 of " in complaint
        assert "FILL {TERM}.', expected your text in place of FILL; fix it (and " in complaint
        path.write_text(filled(text))
        source, _ = load_questionnaire(path, SCALES)
        assert [*source.items] == [slug for slug, draft in drafts.items() if draft.passes]
        assert source.original.stem == facts.stem
        assert [shipped.keying for shipped in source.items.values()] == [
            -1 if draft.row.reverse else 1 for draft in drafts.values() if draft.passes
        ]

    def test_where_nothing_passes_it_is_yaml_still(self, written) -> None:
        facts, rows = read_scale(written("Pain"))
        text = as_yaml(facts, draft_items(facts, rows, SCALE))
        assert YAML(typ="safe").load(text)["items"] == {}


class Writer:
    """No model: says what a test wrote down, by seed; else nothing."""

    name = "scripted"

    def __init__(self, replies: Sequence[str] = ()) -> None:
        """Take what it says to every item."""
        self.replies = replies
        self.require = ("loglikelihood", "generate").index
        self.asked: list[tuple[object, ...]] = []

    def generate(
        self, prompts: Sequence[str], *, sampling: Any, seeds: Sequence[int], chat: bool
    ) -> list[str]:
        self.asked += [
            (text, sampling, seed, chat) for text, seed in zip(prompts, seeds, strict=True)
        ]
        return [self.replies[seed] if seed < len(self.replies) else "" for seed in seeds]


class TestWriter:
    def test_it_is_asked_where_rules_fail_alone(self, written) -> None:
        facts, rows = read_scale(written("I feel tired", "Pain in the back"))
        writer = Writer(["Ache", " My back is sore.\nItem: Next", "I feel dull."])
        first, second = draft_items(facts, rows, SCALE, writer).values()
        assert first.refused == []
        assert second.passes
        assert second.wording["premise"] == "My back is {TERM}."
        assert second.refused == ["seed 0: 'Ache': no predicate found"]
        doubt = (
            "a model says 'My back is sore.', as of the item itself rules say: no predicate found"
        )
        assert doubt in second.doubts
        assert writer.asked == [
            (paraphrase_prompt("Pain in the back"), SAMPLING, seed, False)
            for seed in range(REPLIES)
        ]

    def test_all_that_it_says_may_be_refused(self, written) -> None:
        facts, rows = read_scale(written("Pain"))
        drafts = draft_items(facts, rows, SCALE, Writer(["I often feel sore."]))
        assert drafts["item-1"].doubts == ["no item yet: no predicate found"]
        assert len(drafts["item-1"].refused) == REPLIES
        text = as_yaml(facts, drafts)
        line = (
            "  #   # refused, seed 0: 'I often feel sore.': the intensifier 'often' stands in a "
            "template"
        )
        assert line in text.splitlines()

    def test_the_prompt_shows_examples_that_rules_can_translate(self) -> None:
        prompt = paraphrase_prompt("Pain")
        assert prompt.endswith("\n\nItem: Pain\nPlainly:")
        for example in WORDS["examples"]:
            assert f"Item: {example['Item']}\nPlainly: {example['Plainly']}\n\n" in prompt
            assert "{TERM}" in item_to_templates(example["Plainly"])[0]["premise"]


class TestCommand:
    @pytest.fixture
    def repository(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        shutil.copy(ROOT / "params.yaml", tmp_path)
        shutil.copytree(SOURCES / "shared", tmp_path / "data/sources/questionnaires/shared")
        shutil.copy(PAPER / "gad-7.csv", tmp_path / "data")
        monkeypatch.setenv("EVENRULER_CACHE", str(tmp_path / "cache"))
        return tmp_path

    @pytest.fixture
    def run(self, repository, monkeypatch, capsys) -> Callable[..., tuple[int, str, str]]:
        from evenruler import cli

        def called(*words: str) -> tuple[int, str, str]:
            monkeypatch.chdir(repository / "data")
            monkeypatch.setattr(sys, "argv", ["evenruler", "translate", *words])
            with pytest.raises(SystemExit) as ended:
                cli.main()
            out, err = capsys.readouterr()
            return int(ended.value.code or 0), out, err

        return called

    def test_it_writes_one_file_where_it_is_called_and_never_over_another(
        self, run, repository
    ) -> None:
        status, out, err = run("gad-7.csv")
        assert (status, err) == (0, "")
        assert out.splitlines()[0] == "gad-7.csv: line 3 (item-2-unable-to-stop): negated"
        assert out.endswith(
            "gad-7.draft.yaml: 7 of 7 rows have an item that passes the linter; read every word, "
            "fill twins\n"
            "then run `evenruler new questionnaires gad-7`, and replace the source that it writes "
            "by this file,\n"
            "without its first key, `unread`\n"
        )
        assert sorted(path.name for path in (repository / "data").glob("gad-7*")) == [
            "gad-7.csv",
            "gad-7.draft.yaml",
        ]
        assert run("gad-7.csv") == (
            2,
            "",
            "error: gad-7.draft.yaml: it is there already; move what you have edited, or remove "
            "it\n",
        )

    def test_the_page_shows_what_is_written_and_said(self, run, repository) -> None:
        scale, printed, drafted = (
            block.text
            for block in blocks("docs/adding-a-questionnaire.md")
            if block.language in ("csv", "text")
        )
        (repository / "data/moods.csv").write_text(scale)
        assert run("moods.csv") == (0, printed, "")
        assert drafted in (repository / "data/moods.draft.yaml").read_text()

    def test_a_writer_is_asked_by_name(self, run, monkeypatch) -> None:
        loaded = []
        monkeypatch.setattr(
            catalogue, "load_model", lambda name, params: loaded.append(name) or Writer()
        )
        assert run("gad-7.csv", "--model", "gemma-3-270m")[0] == 0
        assert loaded == ["gemma-3-270m"]

    def test_a_mistake_is_one_line_and_status_two(self, run) -> None:
        status, out, err = run("mine.csv")
        assert (status, out, err.count("\n")) == (2, "", 1)
        assert err.startswith("error: ")
        assert "mine.csv: no such file; write the scale there, a row an item" in err
