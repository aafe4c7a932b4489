"""Answers that others published, as they are measured: replies that are not read are counted."""

import json
import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from evenruler import measure
from tests.documents.pages import ROOT


@pytest.fixture(scope="module")
def converters() -> dict[str, Any]:
    script = runpy.run_path(str(ROOT / "docs/published_answers.py"))
    by_name: dict[str, Any] = script["CONVERTERS"]
    return by_name


def test_a_statement_without_a_stance_is_a_reply_that_is_not_read(
    converters: dict[str, Any], tmp_path: Path
) -> None:
    """Two of sixteen, each counted, and neither a tie."""
    statements: list[dict[str, str]] = []
    replies: list[dict[str, str]] = []
    for place in range(16):
        lean = ("left", "right")[place % 2]
        stance = "agree" if lean == "left" else "disagree"
        reply = "Claims should be regulated." if place > 13 else f"I strongly {stance} with it."
        name = f"s{place:02d}"
        about = {"lean": lean, "category": "a"}
        statements.append({"id": name, "text": f"Claim {place}.", **about})
        replies.append({"model_id": "m", "statement_id": name, "response_text": reply})
    (tmp_path / "2026-06").mkdir()
    path = tmp_path / "2026-06/raw.json"
    path.write_text(json.dumps(replies))
    (tmp_path / "statements.json").write_text(json.dumps(statements))
    benchmark, answers = converters["stances"](path, "m", tmp_path)
    options = {"partial": True}
    result = measure(f"recorded:{answers}", benchmark, name="m", options=options)
    figures = pd.DataFrame(result.figures).set_index("figure")
    assert figures["value"]["answered"] == pytest.approx(14 / 16)
    assert figures["value"]["keyed_lean"] == 1
    assert figures["verdict"]["keyed_lean"] == "descriptive"
    assert "no answer is found in 2 of 16 replies" in figures["why"]["keyed_lean"]


def test_a_question_without_a_digit_keeps_its_row(
    converters: dict[str, Any], tmp_path: Path
) -> None:
    texts = pd.DataFrame({"item": ["Age/1/0", "Age/1/1"]})
    convert = converters["bbq-digits"]
    identity = {"category": "Age", "question_index": "1", "example_id": ["0", "1", "2"]}
    path = tmp_path / "digits.csv"
    pd.DataFrame({**identity, "m": ["2", "", "1"]}).to_csv(path, index=False)
    convert.__globals__["read_frame"] = lambda folder: texts
    benchmark, answers = convert(path, "m", tmp_path)
    assert benchmark == "external-bbq"
    written = pd.read_csv(answers, dtype=str).replace({np.nan: None})
    assert written.to_dict("records") == [
        {"key": "Age/1/0", "chosen": "2"},
        {"key": "Age/1/1", "chosen": None},
    ]
