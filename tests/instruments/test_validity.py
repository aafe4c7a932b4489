"""What families share of the checklist: counts of amounts, units, values by model."""

from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest

from evenruler.instruments.card import (
    RECOMMENDATIONS,
    assemble_card,
    by_model,
    by_source,
    count_detected_by_model,
    range_text,
    render_templates,
)
from evenruler.instruments.card import describe_tests as units_of
from evenruler.instruments.instrument import Declaration
from tests.text_tables import yaml_of_text

EVIDENCE = yaml_of_text("""
- {figure: alpha, model: small, set: one, value: null, reason: "no", unit: items}
- {figure: alpha, model: tiny, set: one, value: 0.9, unit: items}
- {figure: alpha, model: tiny, set: two, value: 0.7499, unit: items}
- {figure: r, model: tiny, set: one, n: 43, unit: items, verdict: "detected, below",
   value: 0.5, low: 0.0, control: 0.25, bound: 0.2}
- {figure: r, model: small, set: one, n: 40, unit: items, verdict: inconclusive,
   value: 0.5, low: 0.0, control: 0.25, bound: 0.2}
- {figure: r, model: tiny, set: two, n: 1, unit: fits, verdict: invalid,
   value: 0.5, low: null, control: 0.25, bound: 0.2}
- {figure: alpha, model: tiny, set: three, value: 0.1, unit: items, verdict: invalid}
- {figure: similarity, model: null, set: one, value: 0.625, n: 3, unit: items}
""")


def test_what_is_detected_is_counted_by_model() -> None:
    assert (
        count_detected_by_model(EVIDENCE)
        == "Headlines that are detected, by model: tiny 1 of 2, small 0 of 1."
    )
    assert count_detected_by_model([]).startswith("No headline has a verdict")


def test_units_intervals_and_verdicts_are_counted() -> None:
    counted = units_of(EVIDENCE)
    assert counted.startswith(
        "2 of 3 headlines have a 95% interval over all sampled units; they rest on fits (1), items "
        "(40 to 43)."
    )
    assert "Verdicts: 1 detected, below; 1 inconclusive; 1 invalid." in counted
    assert units_of([]).startswith("Not done: no figure has a verdict.")


def test_a_figure_by_model_over_dimensions() -> None:
    assert by_model(EVIDENCE, "alpha") == "tiny 0.10 to 0.90"
    assert by_model(EVIDENCE, "alpha", set="one", readout=None) == "tiny 0.90"
    assert by_model(EVIDENCE, "alpha", set=None) == ""
    assert by_model(EVIDENCE, "r", "control") == "tiny 0.25, small 0.25"
    assert by_model(EVIDENCE, "alpha", decimals=0) == "tiny 0 to 1"
    assert by_model(EVIDENCE, "similarity") == "0.62"  # of any model
    assert by_source(pd.DataFrame({"source": ["b", "a", "b"]})) == "1 rows: a; 2 rows: b"


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ([0.5], "0.50"),
        ([0.1, -0.2, 0.3], "-0.20 to 0.30"),
        ([-0.001, 0.001], "0.00"),
    ],
)
def test_spans(values, text) -> None:
    assert range_text(values) == text


def test_values_that_are_no_texts_are_left_as_they_are_and_empty_ones_leave_lists() -> None:
    words = {"a": ["{{ one }}", "{% if not one %}no{% endif %}"], "b": True, "c": "{ONE}"}
    assert render_templates(words, one=1) == {
        "a": ["1"],
        "b": True,
        "c": "{ONE}",
    }


WORDS: dict[str, Any] = yaml_of_text("""
task_categories: [text-generation]
tags: [bias]
papers: [{words: "{{ source.author }}"}]
reading: "{{ construct }} of {{ of }}."
limits: [Of all.]
own_limits: ["{% if of %}Of {{ of }}.{% endif %}", "{% if not of %}Never.{% endif %}"]
published: {rows: {what: a row, first: [text]}}
withheld: "{% if not of %}Ask them.{% endif %}"
example: Read {{ of }}.
""")
SECTIONS = ("uses", "biases", "social_impact", "personal", "made")
WORDS["responsible"] = dict.fromkeys(SECTIONS, "{{ of }}")
WORDS["validity"] = dict.fromkeys(RECOMMENDATIONS, "{{ public }}")
WORDS["validity"]["errors"] = '{{ told("alpha") }}'


def test_a_card_is_made_of_the_words_of_a_family() -> None:
    source: Any = SimpleNamespace(construct_="taste", limits=["Own: {{ of }}."], author="Someone")
    declaration = Declaration("name", "family", SimpleNamespace(), source)
    arguments = (WORDS, declaration, {}, {}, EVIDENCE)
    card = assemble_card(
        *arguments, facts={"of": "pears"}, quality=[], example="7", synthetic=False
    )
    assert (card.reading, card.withheld) == ("Taste of pears.", None)
    assert card.papers[0].words == "Someone"
    # What users write is no template.
    assert card.limits == ["Of all.", "Own: {{ of }}.", "Of pears."]
    assert (card.example.id, card.example.usage) == ("7", "Read pears.")
    assert (card.responsible.made, card.responsible.synthetic) == ("pears", False)
    assert card.validity.errors == "tiny 0.10 to 0.90"
    (config,) = card.configs
    assert (config.name, config.what, config.first) == ("rows", "a row", ["text"])
    other = assemble_card(*arguments, facts={"of": ""}, quality=[], limits=["One."])
    assert (other.withheld, other.limits, other.example) == ("Ask them.", ["One."], None)
    assert other.responsible.synthetic
