"""What families share of the checklist: counts of amounts, units, values by model."""

from dataclasses import fields
from typing import Any

import pandas as pd
import pytest

from evenruler.instruments.card import (
    RECOMMENDATIONS,
    Validity,
    amounts,
    by_model,
    by_source,
    judged,
    span,
)
from evenruler.instruments.card import tested as units_of


def amount(verdict: str, n: int, unit: str = "items", low: float | None = 0.0) -> dict[str, Any]:
    return {"value": 0.5, "low": low, "n": n, "unit": unit, "verdict": verdict, "control": 0.25}


EVIDENCE = {
    "one": {
        "any-model": {"similarity": {"value": 0.625, "n": 3, "unit": "items"}},
        "tiny": {"r": amount("effect", 43), "alpha": {"value": 0.9}, "items": {"a": {"mean": 1.0}}},
        "small": {"r": amount("inconclusive", 40), "alpha": {"value": None, "reason": "no"}},
    },
    "two": {"tiny": {"r": amount("invalid on this model", 1, "fits", None), "alpha": {"value": 0.7499}}},
}


def test_there_is_an_answer_to_each_of_the_eight_in_the_order_of_the_paper() -> None:
    assert [field.name for field in fields(Validity)] == list(RECOMMENDATIONS)
    assert list(RECOMMENDATIONS.values()) == [
        "Define the phenomenon",
        "Measure the phenomenon and only the phenomenon",
        "Construct a representative dataset for the task",
        "Acknowledge limitations of reusing datasets",
        "Prepare for contamination",
        "Use statistical methods to compare models",
        "Conduct an error analysis",
        "Justify construct validity",
    ]


def test_amounts_are_what_has_a_verdict() -> None:
    assert [(model, name) for _, model, name, _ in amounts(EVIDENCE)] == [("tiny", "r"), ("small", "r"), ("tiny", "r")]


def test_effects_are_counted_by_model() -> None:
    assert judged(EVIDENCE) == "Headlines that show an effect beyond placebos, by model: tiny 1 of 2, small 0 of 1."
    assert judged({}).startswith("No headline has a verdict")


def test_units_intervals_and_verdicts_are_counted() -> None:
    assert units_of(EVIDENCE) == (
        "2 of 3 headlines have a 95% interval over all sampled units; they rest on fits (1), items "
        "(40 to 43). p is adjusted within each model (Holm), separately for effects and their absence. Verdicts: "
        "1 effect, 1 "
        "inconclusive, 1 invalid on this model. `evenruler compare` tests differences of models."
    )
    assert units_of({}).startswith("Not done: no figure has a verdict.")


def test_a_figure_by_model_over_parts() -> None:
    assert by_model(EVIDENCE, "alpha") == "tiny 0.75 to 0.90"
    assert by_model(EVIDENCE, "r", "control") == "tiny 0.25, small 0.25"
    assert by_model(EVIDENCE, "alpha", decimals=0) == "tiny 1"
    assert by_model(EVIDENCE, "nothing") == ""


@pytest.mark.parametrize(
    ("values", "told"), [([0.5], "0.50"), ([0.1, -0.2, 0.3], "-0.20 to 0.30"), ([-0.001, 0.001], "0.00")]
)
def test_spans(values: list[float], told: str) -> None:
    assert span(values) == told


def test_rows_by_source() -> None:
    table = pd.DataFrame({"source": ["b", "a", "b"]})
    assert by_source(table) == "1 rows: a; 2 rows: b"
