"""The labelled pairs that ship: balanced, in no fit of ours, of no shipped questionnaire's wording;
and corpora."""

import hashlib
import re
from pathlib import Path
from typing import Any

import pytest

from evenruler.declaration.params_file import ParamsFile
from evenruler.instruments.questionnaires.declare.shared import (
    ControlMatching,
    LabelledPair,
    control_mismatches,
    first_pairs,
    load_corpus,
    load_facts,
    load_pairs,
    profile_sentences,
)
from evenruler.instruments.questionnaires.declare.source import load_questionnaire
from tests.stages.conftest import ROOT

SOURCES = ROOT / "data/sources/questionnaires"
FOLDER = SOURCES / "shared/pairs"
PAIRS = load_pairs(FOLDER / "entailment-pairs.csv")
HEADER = "set,label,premise,hypothesis,genre,source,licence"
ROW = "mnli,neutral,It rains.,I am late.,,s,cc0-1.0"


def pairs_of(name: str) -> list[LabelledPair]:
    return [pair for pair in PAIRS if pair.set == name]


class TestShipped:
    def test_no_fit_of_ours_sees_them(self) -> None:
        """Rows are held out in the order of this hash; 2,000 of 18,000 reach to a ninth of its
        range, or near."""
        for pair in pairs_of("mnli"):
            digest = hashlib.sha256(f"held out {pair.premise}".encode()).hexdigest()
            assert int(digest[:8], 16) / 16**8 < 0.06
        for name, model in ParamsFile(ROOT / "params.yaml").catalogue.models.items():
            fit = model.finetune
            if fit is not None and "mnli-dev" in fit.data:
                assert fit.validation == "mnli-dev", name
                assert fit.held_out >= 2000, name

    def test_the_readme_names_the_file(self) -> None:
        checksum = hashlib.sha256((FOLDER / "entailment-pairs.csv").read_bytes()).hexdigest()
        assert f"sha256 `{checksum}`" in (FOLDER / "README.md").read_text()

    def test_a_fact_without_its_slots_is_refused(self, tmp_path, error_of) -> None:
        (tmp_path / "facts.csv").write_text(
            "template,right,wrong,source,licence\nFire is {t}.,hot,cold,s,cc0-1.0\n"
        )
        assert "'Fire is {t}.' does not hold {i} and {t} once each" in error_of(
            load_facts, tmp_path / "facts.csv"
        )

    def test_no_words_of_a_shipped_questionnaire(self) -> None:
        """No term of one stands in a statement, and no sentence is an item's but for its term."""
        pairs = pairs_of("statements")
        statements = [pair.premise for pair in pairs] + [pair.hypothesis for pair in pairs]
        for path in SOURCES.glob("*.yaml"):
            source, _ = load_questionnaire(path, SOURCES / "shared/scales")
            for shipped in source.items.values():
                assert shipped.original not in statements
                for word in shipped.terms.words:
                    pattern = re.compile(rf"\b{re.escape(word)}\b", re.IGNORECASE)
                    holding = [text for text in statements if pattern.search(text)]
                    assert len(word) <= 4 or not holding, (path.stem, word)


class TestLoading:
    def read(self, folder: Path, *rows: str) -> list[LabelledPair]:
        (folder / "pairs.csv").write_text("\n".join([HEADER, *rows]) + "\n")
        return load_pairs(folder / "pairs.csv")

    @pytest.mark.parametrize(
        ("rows", "complaint"),
        [
            ([ROW, ROW], "'It rains.' stands twice with 'I am late.'; drop one"),
            (
                [ROW.replace("mnli", "own")],
                "no pair of the set mnli, which accuracy is judged by; add some",
            ),
        ],
    )
    def test_what_is_wrong_is_said(
        self, rows: list[str], complaint: str, tmp_path: Path, error_of: Any
    ) -> None:
        assert complaint in error_of(self.read, tmp_path, *rows)


class TestFirstPairs:
    def test_fewer_are_the_first_of_more(self) -> None:
        assert {pair.premise for pair in first_pairs(PAIRS, 30)} <= {
            pair.premise for pair in first_pairs(PAIRS, 90)
        }


ROOT = Path(__file__).parents[3]
SHIPPED = {
    path.stem: path
    for path in sorted((ROOT / "data/sources/questionnaires/shared/corpora").glob("*.yaml"))
}

CORPUS = """\
title: Gloom
about: sentences that are sad
role: intervention
expect: {fear: up, joy: down, trust-in-people: none}
source: of our own
licence: cc0-1.0
provenance: made up for the tests
sentences:
  - The rain will not end.
  - I count the hours.
"""


def from_file(lines: Path | str) -> str:
    """The corpus with its sentences in a file."""
    return CORPUS[: CORPUS.index("sentences:")] + f"file: {lines}\n"


class TestWhatIsRead:
    def test_values(self, file_with) -> None:
        corpus = load_corpus(file_with("gloom.yaml", CORPUS))
        assert (corpus.title, corpus.role) == ("Gloom", "intervention")
        assert corpus.expect == {"fear": "up", "joy": "down", "trust-in-people": "none"}
        assert corpus.sentences == ["The rain will not end.", "I count the hours."]

    def test_a_control_that_moves_nothing(self, file_with) -> None:
        changes = [
            ("role: intervention", "role: control\nmatched: {to: grief, words: 2}"),
            ("{fear: up, joy: down, trust-in-people: none}", "{fear: none}"),
        ]
        corpus = load_corpus(file_with("dull.yaml", CORPUS, *changes))
        assert corpus.expect == {"fear": "none"}
        assert corpus.matched == ControlMatching(
            to="grief", valence=0.1, words=2, first_person=0.05
        )

    def test_lines_of_a_file_each_once(self, file_with, tmp_path) -> None:
        lines = tmp_path / "lines.txt"
        lines.write_text(
            "\n  The rain will not end.\t\n\n\nCafé — 東京.\r\nThe rain will not end.\n   \nI count.",
            "utf-8",
        )
        corpus = load_corpus(file_with("gloom.yaml", from_file(lines)))
        assert corpus.sentences == ["The rain will not end.", "Café — 東京.", "I count."]

    def test_a_file_below_home(self, file_with, tmp_path, monkeypatch) -> None:
        monkeypatch.setenv("HOME", str(tmp_path))
        (tmp_path / "lines.txt").write_text("I count the hours.\nIt rains.\n")
        corpus = load_corpus(file_with("gloom.yaml", from_file("~/lines.txt")))
        assert corpus.sentences == ["I count the hours.", "It rains."]


LAST = "  - I count the hours.\n"
ROLE = "role: intervention"
EXPECT = "expect: {fear: up, joy: down, trust-in-people: none}"
REFUSED = [
    (LAST, f"{LAST}  - the rain WILL not end.\n", "sentences: ", "not end.' stands twice"),
    (LAST, "  - ' '\n", "sentences.1: ", "found ' '"),
    (CORPUS[CORPUS.index("sentences:") :], "", "", "holds no text, give `sentences`, or `file`"),
    ("sentences:", "file: lines.txt\nsentences:", "", "found both, keep one"),
    (ROLE, "role: control\nmatched: {to: grief}", "", "a control moves nothing: every direction"),
    (f"{ROLE}\n{EXPECT}", "role: control\nexpect: {}", "", "a control, which needs it"),
    (ROLE, f"{ROLE}\nmatched: {{to: grief}}", "", "`matched` belongs to a control"),
    (LAST, "", "", "holds one sentence; give at least two: a part is held out"),
]


class TestWhatIsRefused:
    @pytest.mark.parametrize(("old", "new", "key", "held"), REFUSED)
    def test_one_line_with_file_key_and_finding(
        self, old, new, key, held, file_with, error_of
    ) -> None:
        path = file_with("gloom.yaml", CORPUS, (old, new))
        line = error_of(load_corpus, path)
        assert line.startswith(f"{path}: {key}")
        assert held in line

    def test_no_such_corpus(self, tmp_path, error_of) -> None:
        line = error_of(load_corpus, tmp_path / "gloom.yaml")
        assert line == f"{tmp_path}/gloom.yaml: no such file; create it or check the name"

    def test_no_such_file_of_lines(self, file_with, error_of) -> None:
        path = file_with("gloom.yaml", from_file("nowhere/lines.txt"))
        assert error_of(load_corpus, path) == (
            f"{path}: file: no file nowhere/lines.txt; put it there or check the name"
        )

    def test_a_file_of_no_line(self, file_with, tmp_path, error_of) -> None:
        lines = tmp_path / "lines.txt"
        lines.write_text("\n \n\t\n")
        path = file_with("gloom.yaml", from_file(lines))
        assert error_of(load_corpus, path) == f"{lines}: holds no sentence; write a sentence a line"


class TestMatching:
    def test_a_profile_is_of_means(self) -> None:
        profile = profile_sentences(["I am sad.", "The pump broke down.", "We lost my key"])
        # VADER gives "I am sad." -.4767, "The pump broke down." -.4215 and "We lost my key" -.3182.
        assert profile == {
            "valence": pytest.approx((-0.4767 - 0.4215 - 0.3182) / 3, abs=1e-9),
            "words": pytest.approx(11 / 3),
            "first_person": pytest.approx(2 / 3),
        }

    @pytest.mark.parametrize(
        ("sentences", "expected"),
        [
            (["I am sad.", "It rains on me."], []),
            (
                ["I am sad.", "It rains on the roof."],
                ["first_person 0.50, gloom 1.00; they may differ by 0.05"],
            ),
            (
                ["I am sad.", "I saw how it rained on all the grey roofs."],
                ["words 6.50, gloom 3.50; they may"],
            ),
            (
                ["I am glad.", "It rains on me."],
                ["valence 0.23, gloom -0.24; they may differ by 0.1"],
            ),
        ],
    )
    def test_what_differs_by_more_than_is_declared_is_told(self, sentences, expected) -> None:
        corpora = {"gloom": ["I am sad.", "It rains on me."], "dull": sentences}
        mismatches = list(control_mismatches(corpora, {"dull": ControlMatching(to="gloom")}))
        assert [
            line.split(": fix")[0].removeprefix("control dull has ")[: len(begin)]
            for line, begin in zip(mismatches, expected, strict=True)
        ] == expected


class TestShippedCorpora:
    def test_controls_are_like_their_interventions(self) -> None:
        of_a_file = {"hate-speech", "other-tweets"}
        paths = {name: path for name, path in SHIPPED.items() if name not in of_a_file}
        corpora = {name: load_corpus(path) for name, path in paths.items()}
        sentences = {name: corpus.sentences for name, corpus in corpora.items()}
        matches = {name: corpus.matched for name, corpus in corpora.items() if corpus.matched}
        assert list(control_mismatches(sentences, matches)) == []
        assert {name: len(lines) for name, lines in sentences.items()} == {
            "depressive-mood": 200,
            "everyday-trouble": 200,
            "high-coherence": 280,
            "everyday-luck": 280,
        }
        assert profile_sentences(sentences["everyday-trouble"])["valence"] < -0.05

    @pytest.mark.parametrize("name", ["everyday-luck", "everyday-trouble"])
    def test_controls_have_no_word_of_the_constructs(self, name) -> None:
        construct = re.compile(
            r"\b(sad|hopeless|tired|weary|anxi\w*|worr\w+|nervous|afraid|fear\w*|depress\w*|guilt\w*|asham\w*|lonel\w+|"
            r"sleep\w*|appetite|cry|cried|tears|despair\w*|dread\w*|calm\w*|cope|coping|meaning\w*|purpose|understand\w*|"
            r"manage\w*|trust\w*|hate\w*)\b",
            re.IGNORECASE,
        )
        assert [
            sentence
            for sentence in load_corpus(SHIPPED[name]).sentences
            if construct.search(sentence)
        ] == []
