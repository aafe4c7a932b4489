"""The labelled pairs that ship: balanced, in no fit of ours, of no shipped questionnaire's wording;
and corpora."""

import hashlib
import re
from collections import Counter
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


def of(name: str) -> list[LabelledPair]:
    return [pair for pair in PAIRS if pair.set == name]


class TestShipped:
    def test_labels_are_even(self) -> None:
        assert Counter((pair.set, pair.label) for pair in PAIRS) == {
            **{("mnli", label): 167 for label in ("entailment", "neutral", "contradiction")},
            **{("statements", label): 20 for label in ("entailment", "neutral", "contradiction")},
        }
        assert len({pair.premise for pair in PAIRS}) == len(PAIRS)

    def test_no_fit_of_ours_sees_them(self) -> None:
        """Rows are held out in the order of this hash; 2,000 of 18,000 reach to a ninth of its
        range, or near."""
        hashes = (
            hashlib.sha256(f"held out {pair.premise}".encode()).hexdigest() for pair in of("mnli")
        )
        places = [int(own[:8], 16) / 16**8 for own in hashes]
        assert max(places) < 0.06
        for name, entry in ParamsFile(ROOT / "params.yaml").catalogue.models.items():
            if entry.finetune is not None and "mnli-dev" in entry.finetune.data:
                assert (entry.finetune.validation, entry.finetune.held_out >= 2000) == (
                    "mnli-dev",
                    True,
                ), name

    def test_licences(self) -> None:
        assert {(pair.set, pair.licence) for pair in PAIRS} == {
            ("mnli", "OANC"),
            ("statements", "cc-by-4.0"),
        }
        assert "fiction" not in {pair.genre for pair in PAIRS}

    def test_the_readme_names_the_file(self) -> None:
        checksum = hashlib.sha256((FOLDER / "entailment-pairs.csv").read_bytes()).hexdigest()
        assert f"sha256 `{checksum}`" in (FOLDER / "README.md").read_text()

    def test_facts_are_distinct_and_their_terms_differ(self) -> None:
        facts = load_facts(FOLDER / "facts.csv")
        assert (len(facts), len({fact.template for fact in facts})) == (143, 143)
        assert all(fact.right != fact.wrong for fact in facts)

    def test_a_fact_without_its_slots_is_refused(self, tmp_path, error_of) -> None:
        (tmp_path / "facts.csv").write_text(
            "template,right,wrong,source,licence\nFire is {t}.,hot,cold,s,cc0-1.0\n"
        )
        assert "'Fire is {t}.' does not hold {i} and {t} once each" in error_of(
            load_facts, tmp_path / "facts.csv"
        )

    def test_negation_tells_nothing(self) -> None:
        negation = re.compile(r"\b(not|never|no|seldom|rarely)\b")
        told = Counter(pair.label for pair in of("statements") if negation.search(pair.hypothesis))
        assert set(told.values()) == {8}

    def test_no_words_of_a_shipped_questionnaire(self) -> None:
        """No term of one stands in a statement, and no sentence is an item's but for its term."""
        statements = [text for pair in of("statements") for text in (pair.premise, pair.hypothesis)]
        for path in SOURCES.glob("*.yaml"):
            source, _ = load_questionnaire(path, SOURCES / "shared/scales")
            for item in source.items.values():
                words = [*item.terms.source.values(), *item.terms.inverse.values()]
                for word in (own for own in words if len(own) > 4):
                    pattern = re.compile(rf"\b{re.escape(word)}\b", re.IGNORECASE)
                    assert not [text for text in statements if pattern.search(text)], (
                        path.stem,
                        word,
                    )
                assert item.original not in statements


class TestLoading:
    def read(self, folder: Path, *rows: str) -> list[LabelledPair]:
        (folder / "pairs.csv").write_text("\n".join([HEADER, *rows]) + "\n")
        return load_pairs(folder / "pairs.csv")

    def test_it_reads_what_was_written(self, tmp_path: Path) -> None:
        (pair,) = self.read(tmp_path, ROW)
        assert (pair.label, pair.premise, pair.hypothesis, pair.genre) == (
            "neutral",
            "It rains.",
            "I am late.",
            "",
        )

    @pytest.mark.parametrize(
        ("rows", "said"),
        [
            ([ROW, ROW], "'It rains.' stands twice with 'I am late.'; drop one"),
            (
                [ROW.replace("mnli", "own")],
                "no pair of the set mnli, which accuracy is judged by; add some",
            ),
            ([ROW.replace("neutral", "maybe")], "label"),
        ],
    )
    def test_what_is_wrong_is_said(
        self, rows: list[str], said: str, tmp_path: Path, error_of: Any
    ) -> None:
        assert said in error_of(self.read, tmp_path, *rows)

    def test_no_file(self, tmp_path: Path, error_of: Any) -> None:
        assert error_of(load_pairs, tmp_path / "none.csv").startswith(
            f"{tmp_path}/none.csv: no such file; "
        )


class TestFirstPairs:
    @pytest.mark.parametrize("n", [3, 30, 60, 501])
    def test_labels_stay_even(self, n: int) -> None:
        counted = Counter((pair.set, pair.label) for pair in first_pairs(PAIRS, n))
        for name, there in (("mnli", 501), ("statements", 60)):
            own = [count for (of_set, _), count in counted.items() if of_set == name]
            assert (sum(own), max(own) - min(own)) == (min(n, there), 0)

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
        found = load_corpus(file_with("gloom.yaml", CORPUS))
        assert (found.title, found.role) == ("Gloom", "intervention")
        assert found.expect == {"fear": "up", "joy": "down", "trust-in-people": "none"}
        assert found.sentences == ["The rain will not end.", "I count the hours."]

    def test_a_control_that_moves_nothing(self, file_with) -> None:
        changes = [
            ("role: intervention", "role: control\nmatched: {to: grief, words: 2}"),
            ("{fear: up, joy: down, trust-in-people: none}", "{fear: none}"),
        ]
        found = load_corpus(file_with("dull.yaml", CORPUS, *changes))
        assert found.expect == {"fear": "none"}
        assert found.matched == ControlMatching(to="grief", valence=0.1, words=2, first_person=0.05)

    @pytest.mark.parametrize("role", ["intervention", "control"])
    def test_what_may_happen_can_be_left_open(self, role, file_with) -> None:
        matched = "" if role == "intervention" else "\nmatched: {to: grief}"
        changes = [
            ("role: intervention", f"role: {role}{matched}"),
            ("{fear: up, joy: down, trust-in-people: none}", "{}"),
        ]
        assert load_corpus(file_with("gloom.yaml", CORPUS, *changes)).expect == {}

    def test_lines_of_a_file_each_once(self, file_with, tmp_path) -> None:
        lines = tmp_path / "lines.txt"
        lines.write_text(
            "\n  The rain will not end.\t\n\n\nCafé — 東京.\r\nThe rain will not end.\n   \nI count.",
            "utf-8",
        )
        found = load_corpus(file_with("gloom.yaml", from_file(lines)))
        assert found.sentences == ["The rain will not end.", "Café — 東京.", "I count."]

    def test_a_file_below_home(self, file_with, tmp_path, monkeypatch) -> None:
        monkeypatch.setenv("HOME", str(tmp_path))
        (tmp_path / "lines.txt").write_text("I count the hours.\nIt rains.\n")
        found = load_corpus(file_with("gloom.yaml", from_file("~/lines.txt")))
        assert found.sentences == ["I count the hours.", "It rains."]


REFUSED = [
    pytest.param(
        "  - I count the hours.\n",
        "  - I count the hours.\n  - the rain WILL not end.\n",
        "sentences",
        "'the rain WILL not end.' stands twice",
        id="a-sentence-twice",
    ),
    pytest.param(
        "  - I count the hours.\n",
        "  - ' '\n",
        "sentences.1",
        "found ' '",
        id="a-sentence-of-blanks",
    ),
    pytest.param(
        CORPUS[CORPUS.index("sentences:") :],
        "",
        "",
        "holds no text, give `sentences`, or `file`",
        id="no-text",
    ),
    pytest.param(
        CORPUS[CORPUS.index("sentences:") :],
        "sentences: []\n",
        "",
        "holds no text, give `sentences`",
        id="empty-list",
    ),
    pytest.param(
        "sentences:", "file: lines.txt\nsentences:", "", "found both, keep one", id="both"
    ),
    pytest.param(
        "role: intervention",
        "role: control\nmatched: {to: grief}",
        "",
        "a control moves nothing: every direction in `expect` is none",
        id="a-control-that-moves",
    ),
    pytest.param(
        "role: intervention\nexpect: {fear: up, joy: down, trust-in-people: none}",
        "role: control\nexpect: {}",
        "",
        "`matched` belongs to a control, which needs it",
        id="a-control-of-nothing",
    ),
    pytest.param(
        "role: intervention",
        "role: intervention\nmatched: {to: grief}",
        "",
        "`matched` belongs to a control",
        id="an-intervention-as-control",
    ),
    pytest.param(
        "  - I count the hours.\n",
        "",
        "",
        "holds one sentence; give at least two: a part is held out",
        id="one-sentence",
    ),
    pytest.param(
        "fear: up", "fear: upp", "expect.fear", "'up', 'down' or 'none'", id="no-direction"
    ),
    pytest.param("fear: up", "Fear: up", "expect.Fear", "slug", id="no-slug"),
    pytest.param(
        "role: intervention", "role: placebo", "role", "'intervention' or 'control'", id="no-role"
    ),
    pytest.param("expect:", "expects:", "expects", "did you mean 'expect'?", id="unknown-key"),
    pytest.param("licence: cc0-1.0\n", "", "licence", "missing", id="no-licence"),
    pytest.param("source: of our own\n", "", "source", "missing", id="no-source"),
    pytest.param(
        "provenance: made up for the tests\n", "", "provenance", "missing", id="no-provenance"
    ),
]


class TestWhatIsRefused:
    @pytest.mark.parametrize(("old", "new", "key", "held"), REFUSED)
    def test_one_line_with_file_key_and_finding(
        self, old, new, key, held, file_with, error_of
    ) -> None:
        path = file_with("gloom.yaml", CORPUS, (old, new))
        line = error_of(load_corpus, path)
        assert line.startswith(f"{path}: {key}: " if key else f"{path}: ")
        assert held in line

    def test_no_such_corpus(self, tmp_path, error_of) -> None:
        line = error_of(load_corpus, tmp_path / "gloom.yaml")
        assert line == f"{tmp_path}/gloom.yaml: no such file; create it or check the name"

    def test_no_such_file_of_lines(self, file_with, error_of) -> None:
        path = file_with("gloom.yaml", from_file("nowhere/lines.txt"))
        assert error_of(load_corpus, path) == (
            f"{path}: file: no file nowhere/lines.txt; put it there or check the name"
        )

    def test_a_folder_is_no_file_of_lines(self, file_with, tmp_path, error_of) -> None:
        path = file_with("gloom.yaml", from_file(tmp_path))
        assert f"no file {tmp_path}; " in error_of(load_corpus, path)

    @pytest.mark.parametrize("text", ["", "\n \n\t\n"])
    def test_a_file_of_no_line(self, text, file_with, tmp_path, error_of) -> None:
        lines = tmp_path / "lines.txt"
        lines.write_text(text)
        path = file_with("gloom.yaml", from_file(lines))
        assert error_of(load_corpus, path) == f"{lines}: holds no sentence; write a sentence a line"

    def test_a_file_that_is_no_text(self, file_with, tmp_path, error_of) -> None:
        lines = tmp_path / "lines.txt"
        lines.write_bytes(b"I am in a caf\xe9.\n")
        path = file_with("gloom.yaml", from_file(lines))
        assert error_of(load_corpus, path) == f"{lines}: not UTF-8 (line 1); save it as UTF-8"


class TestMatching:
    def test_a_profile_is_of_means(self) -> None:
        found = profile_sentences(["I am sad.", "The pump broke down.", "We lost my key"])
        # VADER gives "I am sad." -.4767, "The pump broke down." -.4215 and "We lost my key" -.3182.
        assert found == {
            "valence": pytest.approx((-0.4767 - 0.4215 - 0.3182) / 3, abs=1e-9),
            "words": pytest.approx(11 / 3),
            "first_person": pytest.approx(2 / 3),
        }

    @pytest.mark.parametrize(
        ("sentences", "told"),
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
    def test_what_differs_by_more_than_is_declared_is_told(self, sentences, told) -> None:
        corpora = {"gloom": ["I am sad.", "It rains on me."], "dull": sentences}
        found = list(control_mismatches(corpora, {"dull": ControlMatching(to="gloom")}))
        assert [
            line.split(": fix")[0].removeprefix("control dull has ")[: len(said)]
            for line, said in zip(found, told, strict=True)
        ] == told

    def test_a_wider_tolerance_is_declared(self) -> None:
        corpora = {"gloom": ["I am sad."], "dull": ["I am a little sad."]}
        assert (
            len(
                list(
                    control_mismatches(corpora, {"dull": ControlMatching(to="gloom", valence=0.5)})
                )
            )
            == 1
        )
        assert (
            list(
                control_mismatches(
                    corpora, {"dull": ControlMatching(to="gloom", valence=0.5, words=2)}
                )
            )
            == []
        )


class TestShippedCorpora:
    def test_every_intervention_has_a_control(self) -> None:
        found = {name: load_corpus(path) for name, path in SHIPPED.items()}
        assert {name: own.matched.to for name, own in found.items() if own.matched} == {
            "everyday-luck": "high-coherence",
            "everyday-trouble": "depressive-mood",
        }
        assert {name for name, own in found.items() if own.role == "intervention"} == {
            "depressive-mood",
            "high-coherence",
        }

    @pytest.mark.parametrize("name", SHIPPED)
    def test_of_a_hundred_sentences(self, name) -> None:
        found = load_corpus(SHIPPED[name])
        assert len(found.sentences) == 100
        assert all(sentence[-1] in ".?!" for sentence in found.sentences)
        assert found.licence == "cc-by-4.0"

    def test_no_sentence_is_in_two_of_them(self) -> None:
        everything = [
            sentence.lower()
            for path in SHIPPED.values()
            for sentence in load_corpus(path).sentences
        ]
        assert len(set(everything)) == 400

    def test_controls_are_like_their_interventions(self) -> None:
        found = {name: load_corpus(path) for name, path in SHIPPED.items()}
        sentences = {name: own.sentences for name, own in found.items()}
        matches = {name: own.matched for name, own in found.items() if own.matched}
        assert list(control_mismatches(sentences, matches)) == []
        assert profile_sentences(sentences["everyday-trouble"])["valence"] < -0.05

    @pytest.mark.parametrize("name", ["everyday-luck", "everyday-trouble"])
    def test_controls_have_no_word_of_the_constructs(self, name) -> None:
        construct = re.compile(
            r"\b(sad|hopeless|tired|weary|anxi\w*|worr\w+|nervous|afraid|fear\w*|depress\w*|guilt\w*|asham\w*|lonel\w+|"
            r"sleep\w*|appetite|cry|cried|tears|despair\w*|dread\w*|calm\w*|cope|coping|meaning\w*|purpose|understand\w*|"
            r"manage\w*|trust\w*|hate\w*)\b",
            re.IGNORECASE,
        )
        assert [s for s in load_corpus(SHIPPED[name]).sentences if construct.search(s)] == []

    def test_interventions_expect_opposites(self) -> None:
        gloom, sense = (
            load_corpus(SHIPPED[name]).expect for name in ("depressive-mood", "high-coherence")
        )
        assert gloom == {"gad-7": "up", "phq-9": "up", "soc-13": "down"}
        assert sense == {"gad-7": "down", "phq-9": "down", "soc-13": "up"}
