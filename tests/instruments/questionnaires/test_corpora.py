import re
from pathlib import Path

import pytest

from evenruler.instruments.questionnaires.declare.corpora import load_corpus

ROOT = Path(__file__).parents[3]
SHIPPED = {path.stem: path for path in sorted((ROOT / "data/sources/questionnaires/shared/corpora").glob("*.yaml"))}

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
            ("role: intervention", "role: control"),
            ("{fear: up, joy: down, trust-in-people: none}", "{fear: none}"),
        ]
        assert load_corpus(file_with("dull.yaml", CORPUS, *changes)).expect == {"fear": "none"}

    @pytest.mark.parametrize("role", ["intervention", "control"])
    def test_what_may_happen_can_be_left_open(self, role, file_with) -> None:
        changes = [("role: intervention", f"role: {role}"), ("{fear: up, joy: down, trust-in-people: none}", "{}")]
        assert load_corpus(file_with("gloom.yaml", CORPUS, *changes)).expect == {}

    def test_lines_of_a_file_each_once(self, file_with, tmp_path) -> None:
        lines = tmp_path / "lines.txt"
        lines.write_text(
            "\n  The rain will not end.\t\n\n\nCafé — 東京.\r\nThe rain will not end.\n   \nI count.", "utf-8"
        )
        found = load_corpus(file_with("gloom.yaml", from_file(lines)))
        assert found.sentences == ["The rain will not end.", "Café — 東京.", "I count."]

    def test_a_file_below_home(self, file_with, tmp_path, monkeypatch) -> None:
        monkeypatch.setenv("HOME", str(tmp_path))
        (tmp_path / "lines.txt").write_text("I count the hours.\n")
        assert load_corpus(file_with("gloom.yaml", from_file("~/lines.txt"))).sentences == ["I count the hours."]


REFUSED = [
    pytest.param(
        "  - I count the hours.\n",
        "  - I count the hours.\n  - the rain WILL not end.\n",
        "sentences",
        "'the rain WILL not end.' stands twice",
        id="a-sentence-twice",
    ),
    pytest.param("  - I count the hours.\n", "  - ' '\n", "sentences.1", "found ' '", id="a-sentence-of-blanks"),
    pytest.param(
        CORPUS[CORPUS.index("sentences:") :], "", "", "holds no text, give `sentences`, or `file`", id="no-text"
    ),
    pytest.param(
        CORPUS[CORPUS.index("sentences:") :], "sentences: []\n", "", "holds no text, give `sentences`", id="empty-list"
    ),
    pytest.param("sentences:", "file: lines.txt\nsentences:", "", "found both, keep one", id="both"),
    pytest.param(
        "role: intervention",
        "role: control",
        "",
        "a control moves nothing: every direction in `expect` is none",
        id="a-control-that-moves",
    ),
    pytest.param("fear: up", "fear: upp", "expect.fear", "'up', 'down' or 'none'", id="no-direction"),
    pytest.param("fear: up", "Fear: up", "expect.Fear", "slug", id="no-slug"),
    pytest.param("role: intervention", "role: placebo", "role", "'intervention' or 'control'", id="no-role"),
    pytest.param("expect:", "expects:", "expects", "did you mean 'expect'?", id="unknown-key"),
    pytest.param("licence: cc0-1.0\n", "", "licence", "missing", id="no-licence"),
    pytest.param("source: of our own\n", "", "source", "missing", id="no-source"),
    pytest.param("provenance: made up for the tests\n", "", "provenance", "missing", id="no-provenance"),
]


class TestWhatIsRefused:
    @pytest.mark.parametrize(("old", "new", "key", "held"), REFUSED)
    def test_one_line_with_file_key_and_finding(self, old, new, key, held, file_with, error_of) -> None:
        path = file_with("gloom.yaml", CORPUS, (old, new))
        line = error_of(load_corpus, path)
        assert line.startswith(f"{path}: {key}: " if key else f"{path}: ")
        assert held in line

    def test_no_such_corpus(self, tmp_path, error_of) -> None:
        line = error_of(load_corpus, tmp_path / "gloom.yaml")
        assert line == f"{tmp_path}/gloom.yaml: no such file; create it or mend the name"

    def test_no_such_file_of_lines(self, file_with, error_of) -> None:
        path = file_with("gloom.yaml", from_file("nowhere/lines.txt"))
        assert error_of(load_corpus, path) == (
            f"{path}: file: no file nowhere/lines.txt; put it there or mend the name"
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
        assert error_of(load_corpus, path) == f"{lines}: not UTF-8 (byte 13); save it as UTF-8"


FIRST_PERSON = re.compile(r"\b(i|me|my|mine|myself|we|us|our|ours)\b", re.IGNORECASE)


class TestShipped:
    def test_there_are_three(self) -> None:
        roles = {name: load_corpus(path).role for name, path in SHIPPED.items()}
        assert roles == {"depressive-mood": "intervention", "dull-trouble": "control", "high-coherence": "intervention"}

    @pytest.mark.parametrize("name", SHIPPED)
    def test_of_a_hundred_sentences(self, name) -> None:
        found = load_corpus(SHIPPED[name])
        assert len(found.sentences) == 100
        assert all(sentence[-1] in ".?!" for sentence in found.sentences)
        assert found.licence == "cc-by-4.0"

    def test_no_sentence_is_in_two_of_them(self) -> None:
        everything = [sentence.lower() for path in SHIPPED.values() for sentence in load_corpus(path).sentences]
        assert len(set(everything)) == 300

    @pytest.mark.parametrize("name", ["depressive-mood", "high-coherence"])
    def test_interventions_are_in_the_first_person(self, name) -> None:
        assert [s for s in load_corpus(SHIPPED[name]).sentences if not FIRST_PERSON.search(s)] == []

    def test_the_control_is_of_nobody(self) -> None:
        assert [s for s in load_corpus(SHIPPED["dull-trouble"]).sentences if FIRST_PERSON.search(s)] == []

    def test_every_sentence_of_the_control_is_of_negative_sentiment(self) -> None:
        vader = pytest.importorskip("vaderSentiment.vaderSentiment")
        compound = vader.SentimentIntensityAnalyzer().polarity_scores
        found = {s: compound(s)["compound"] for s in load_corpus(SHIPPED["dull-trouble"]).sentences}
        assert {s: value for s, value in found.items() if value >= -0.05} == {}

    def test_interventions_expect_opposites(self) -> None:
        gloom, sense = (load_corpus(SHIPPED[name]).expect for name in ("depressive-mood", "high-coherence"))
        assert gloom == {"gad-7": "up", "phq-9": "up", "soc-13": "down"}
        assert sense == {"gad-7": "down", "phq-9": "down", "soc-13": "up"}
