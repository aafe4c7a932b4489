"""The labelled pairs that ship: balanced, in no fit of ours, of no shipped questionnaire's wording."""

import hashlib
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from evenruler.declared import Declared
from evenruler.instruments.questionnaires.declare.shared import LabelledPair, first_pairs, load_pairs
from evenruler.instruments.questionnaires.declare.source import load_questionnaire
from evenruler.training.data import _place
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
        """Rows are held out in the order of this hash; 2,000 of 18,000 reach to a ninth of its range, or near."""
        places = [int(_place(pair.premise)[:8], 16) / 16**8 for pair in of("mnli")]
        assert max(places) < 0.06
        for name, entry in Declared(ROOT / "params.yaml").catalogue.models.items():
            if entry.finetune is not None and "mnli-dev" in entry.finetune.data:
                assert (entry.finetune.validation, entry.finetune.held_out >= 2000) == ("mnli-dev", True), name

    def test_licences(self) -> None:
        assert {(pair.set, pair.licence) for pair in PAIRS} == {("mnli", "OANC"), ("statements", "cc-by-4.0")}
        assert "fiction" not in {pair.genre for pair in PAIRS}

    def test_the_readme_names_the_file(self) -> None:
        checksum = hashlib.sha256((FOLDER / "entailment-pairs.csv").read_bytes()).hexdigest()
        assert f"sha256 `{checksum}`" in (FOLDER / "README.md").read_text()

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
                    assert not [text for text in statements if pattern.search(text)], (path.stem, word)
                assert item.original not in statements


class TestLoading:
    def read(self, folder: Path, *rows: str) -> list[LabelledPair]:
        (folder / "pairs.csv").write_text("\n".join([HEADER, *rows]) + "\n")
        return load_pairs(folder / "pairs.csv")

    def test_it_reads_what_was_written(self, tmp_path: Path) -> None:
        (pair,) = self.read(tmp_path, ROW)
        assert (pair.label, pair.premise, pair.hypothesis, pair.genre) == ("neutral", "It rains.", "I am late.", "")

    @pytest.mark.parametrize(
        ("rows", "said"),
        [
            ([ROW, ROW], "'It rains.' stands twice with 'I am late.'; drop one"),
            ([ROW.replace("mnli", "own")], "no pair of the set mnli, which accuracy is judged by; add some"),
            ([ROW.replace("neutral", "maybe")], "label"),
        ],
    )
    def test_what_is_wrong_is_said(self, rows: list[str], said: str, tmp_path: Path, error_of: Any) -> None:
        assert said in error_of(self.read, tmp_path, *rows)

    def test_no_file(self, tmp_path: Path, error_of: Any) -> None:
        assert error_of(load_pairs, tmp_path / "none.csv").startswith(f"{tmp_path}/none.csv: no such file; ")


class TestFirstPairs:
    @pytest.mark.parametrize("n", [3, 30, 60, 501])
    def test_labels_stay_even(self, n: int) -> None:
        counted = Counter((pair.set, pair.label) for pair in first_pairs(PAIRS, n))
        for name, there in (("mnli", 501), ("statements", 60)):
            own = [count for (of_set, _), count in counted.items() if of_set == name]
            assert (sum(own), max(own) - min(own)) == (min(n, there), 0)

    def test_fewer_are_the_first_of_more(self) -> None:
        assert {pair.premise for pair in first_pairs(PAIRS, 30)} <= {pair.premise for pair in first_pairs(PAIRS, 90)}
