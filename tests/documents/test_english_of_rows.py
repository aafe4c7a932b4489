"""Every row of our benchmarks that a model reads goes once through a check of its English; and the
first rows, which a viewer shows, stand for the whole.
"""

from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest

from evenruler.tables import read_frame
from tests.conftest import ROOT
from tests.text.grammar import faults_in

OURS = [path for path in sorted(ROOT.glob("benchmarks/*")) if path.is_dir()]
OURS = [path for path in OURS if not path.name.startswith("external-")]
"""What others wrote, they wrote: published texts are asked as they are."""
READ_BY_MODELS = ("text", "prompt", "premise", "hypothesis")
NOT_ASKED = {"tries", "history", "population", "rejected", "terms"}
"""What an operator wrote, and what was refused."""
LITERAL = {"validation", "validation-negated"}
"""Sets with the paper's own articles, for replication; the headline is another set's."""


def read_rows(table: Path) -> pd.DataFrame:
    """All rows of a table of a benchmark."""
    return pd.concat([read_frame(file) for file in sorted(table.glob("*.parquet"))])


def sentences(folder: Path) -> Iterator[tuple[str, str, str]]:
    """Texts of a benchmark that models read, each once: its set, the target that fills it, and
    itself.
    """
    for table in sorted(folder.iterdir()):
        if table.name in NOT_ASKED or not list(table.glob("*.parquet")):
            continue
        rows = read_rows(table)
        for column in set(READ_BY_MODELS) & set(rows):
            is_text = [isinstance(content, str) for content in rows[column]]
            texts = rows.loc[is_text].drop_duplicates(column)
            unnamed = pd.Series("", texts.index)
            sets, targets = texts.get("set", unnamed), texts.get("target", unnamed)
            yield from zip(sets, targets, texts[column], strict=True)


@pytest.mark.parametrize("folder", OURS, ids=lambda folder: folder.name)
def test_sentences_are_as_a_person_would_write_them(folder: Path) -> None:
    """Of the paper: articles of its templates, and he and she among its words for people."""
    faults: list[tuple[str, str]] = []
    n_texts = 0
    for name, target, text in sentences(folder):
        n_texts += 1
        for kind, words in faults_in(text):
            of_paper = kind == "article" and name in LITERAL
            of_paper |= kind == "agreement" and target in ("he", "she") and words.endswith(target)
            if not of_paper:
                faults.append((words, text))
    assert n_texts >= 10
    assert faults == []


def test_the_headline_of_the_flagship_has_no_fault_at_all() -> None:
    stems = read_rows(ROOT / "benchmarks/probes-occupation-gender/stems")
    assert len(stems) == 944
    assert [text for text in stems["text"] if faults_in(text)] == []


def test_the_first_rows_stand_for_the_whole() -> None:
    """Rows lie in the order of their digests: of ten, most are about another unit."""
    for table, columns in {
        "probes-occupation-gender/stems": ["sentence", "word"],
        "framing-gender/prompts": ["stimulus", "task"],
        "saged-countries/prompts": ["concept", "prompt_type"],
        "questionnaires-gad-7/prompts": ["item"],
    }.items():
        rows = read_rows(ROOT / "benchmarks" / table)
        for column in columns:
            n_first = rows.head(10)[column].nunique()
            assert n_first >= min(rows[column].nunique(), 3), (table, column)
