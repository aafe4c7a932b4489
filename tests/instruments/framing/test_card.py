"""What the card of a contrast says, and what it says that it does not show, by how it is asked."""

from typing import Any

import pandas as pd

from evenruler.evaluate.session import limit_warnings
from evenruler.instruments.framing import card
from evenruler.instruments.framing.card import card as card_of
from evenruler.instruments.framing.declare import headings
from evenruler.instruments.framing.declare.source import ContrastSource, Settings
from evenruler.measurement.figures import figure_rows
from evenruler.measurement.headings import find_heading
from tests.instruments.framing.hair import (
    GRAMMAR,
    built,
    declaration,
    hair,
    settings,
    with_alternatives,
)
from tests.instruments.framing.recording import record
from tests.text_tables import table_of_text, yaml_of_text

MANY = settings(stimuli=10)


def limits(source: ContrastSource, settings: Settings) -> list[str]:
    """Where there are six orders of options."""
    return card.contrast_limits(source, settings, 6)


def of_variant(limits: list[str]) -> list[str]:
    return [
        text for text in limits if text.startswith(("It was built in the variant", "In the task"))
    ]


def test_the_example_is_a_prompt_with_a_cue() -> None:
    declared = declaration()
    tables, plan = built(declared)
    shown = card_of(declared, tables, plan, []).example
    row = tables["prompts"].set_index("id").loc[shown.id]
    assert row["framing"] != "bare"
    assert pd.isna(row["alternative"])


def test_headlines_go_first_and_every_factor_has_its_mean() -> None:
    _, plan = built(declaration(with_alternatives(headlines=["salience, choice", "instruction"])))
    columns = headings(plan)
    *of_cues, probability, coverage = columns
    cues = [f"{column.figure} {column.dimensions['cue']}" for column in of_cues]
    assert cues == [
        *("change salience", "change instruction"),
        *("any_sentence salience", "raw_change salience"),
        *("any_sentence instruction", "raw_change instruction"),
        *("nonresponse_change salience", "nonresponse_change instruction"),
        *("effect salience", "effect instruction"),
    ]
    assert [column.figure_type for column in of_cues[:3]] == ["headline", "headline", "descriptive"]
    about = [(column.dimensions["task"], column.dimensions["outcome"]) for column in of_cues[:2]]
    assert about == [("choice", "he"), (None, "he")]
    assert (probability.figure, probability.dimensions) == ("shift_probability", {})
    assert (coverage.figure, coverage.dimensions) == ("coverage", {"cell": None})


def test_low_coverage_is_warned_of_below_the_floor_of_the_settings() -> None:
    _, plan = built(declaration(least_coverage=0.25))
    coverage = headings(plan)[-1]
    assert (coverage.figure_type, coverage.least) == ("validity", None)
    parts = table_of_text("""\
prompt_format|readout|value
plain|token|0.24
chat|token|0.26
plain|choice|0.39
chat|choice|0.41
""")
    figures = parts.assign(figure="coverage", model="m").to_dict("records")
    warnings = limit_warnings(figures, headings(plan))
    assert [line.partition(":")[0] for line in warnings] == ["plain, token", "plain, choice"]
    assert coverage.warning.format(value=0.034) == (
        "only 3.4% of the answers name an option; figures describe only these"
    )


STUDY = {
    "factors": {"salience": "the prompt names gender"},
    "tasks": {
        "one": {
            "title": "One",
            "cells": {"bare": "Of {STIMULUS}: {ANSWER}", "salience": "Sex of {STIMULUS}: {ANSWER}"},
        }
    },
}


def test_a_replicated_study_shows_its_measures_before_and_what_changes() -> None:
    groups = yaml_of_text("{a: {text: a, group: x}, b: {text: b, group: y}}")
    expected = {
        "p-at": "s before, s change, h before, h change, as change",
        "indirect-probing": "gas before, gas change, gld before, gld change, add before, "
        "add change, as change, as_of_gld_and_add change",
    }
    for study, measures in expected.items():
        _, plan = built(declaration(hair(replicates=study, stimuli=groups, **STUDY)))
        effect, probability, *shown, coverage = headings(plan)
        assert (
            ", ".join(f"{column.figure} {column.dimensions['phase']}" for column in shown)
            == measures
        )
        assert shown[1].heading == f"{shown[0].heading.removesuffix(' before')} change"
        around = [column.figure for column in (effect, probability, coverage)]
        assert around == ["effect", "shift_probability", "coverage"]


def test_every_figure_on_the_card_is_one_of_the_table() -> None:
    """Of a contrast with everything, on a model that answers the same to anything."""
    changes = {
        "tasks": with_alternatives().tasks,
        "grammars": {"idle": GRAMMAR},
        "control_outcome": "she",
        "continuation": {"outcome": "he", "keywords": ["she"]},
    }
    recorded = record(**changes)
    declared = declaration(hair(**changes), choices="every")
    hair_card = card_of(declared, recorded.tables, recorded.plan, [])
    rows = figure_rows(recorded.diagnosis["figures"])
    for heading in [*hair_card.quality, *hair_card.listed]:
        assert any(find_heading(row, [heading]) for row in rows), heading


def test_slips_of_a_variant_are_named_where_it_is_built() -> None:
    """As in table 3 of the paper: other classes on offer in either cell, and two options that read
    the same."""
    tasks = {name: task.model_dump(exclude_unset=True) for name, task in hair().tasks.items()}
    balanced, paper = (
        {"he": "He", "she": "She"},
        {
            "instruction": {"he": "He", "the": "The"},
            "salience+instruction": {"he": "He", "she": "She"},
        },
    )
    tasks["choice"]["options"] = {"balanced": balanced, "paper": paper}
    even, twice = (
        'Reply A for "{STIMULUS}: he", B for "{STIMULUS}: ' + last + '". {ANSWER}'
        for last in ("she", "he")
    )
    cells = {"instruction": {"balanced": even, "paper": twice}, "salience+instruction": even}
    source = hair(tasks=tasks | {"sentence": {"title": "Sentence", "cells": cells}})
    assert of_variant(limits(source, settings(variant="paper"))) == [
        "It was built in the variant `paper`; `balanced` would have other prompts.",
        "In the task `Choice`, `she` is no option with instruction: a shift of it is the options' "
        "doing.",
        "In the task `Sentence`, two options read the same with instruction.",
    ]
    assert of_variant(limits(source, MANY)) == [
        "It was built in the variant `balanced`; `paper` would have other prompts."
    ]


LETTERS = "Where options are lettered, a model's preference for a letter is "
TOKEN = (
    "Verdicts are of the probability of words (`token`) where a model supports them, each in "
    "its own form."
)
FEW = (
    "A verdict needs 19 sentences in place of a cue; gender-salience has fewer, and so no verdict."
)


LETTERED = """\
title: Pronouns
construct: choice of pronouns
direction: a shift above 0 says more of it
source: the test
licence: cc0-1.0
factors: {gender-salience: the prompt names gender}
focal_outcome: they
outcomes: {they: [they], he: [he]}
stimuli: {s0: hair 0, s1: hair 1, s2: hair 2, s3: hair 3, s4: hair 4, s5: hair 5, s6: hair 6,
  s7: hair 7}
grammars: {idle: {seed: 0, words: {THING: [rain, tea]}}}
tasks:
  choosing:
    title: Choosing
    cells:
      bare: "On {STIMULUS}: {OPTIONS} {ANSWER}"
      gender-salience: "On gender, {STIMULUS}: {OPTIONS} {ANSWER}"
    option: "{LETTER}: {OPTION}"
    options: {they: They, he: He}
    alternatives:
      gender-salience:
        grammar: idle
        form: "{THING}"
        cells: {gender-salience: "On {ALTERNATIVE}, {STIMULUS}: {OPTIONS} {ANSWER}"}
"""
"""Eight stimuli, one task with letters, two sentences in place of the one cue."""


def limits_of(contrast: ContrastSource, **changes: Any) -> list[str]:
    """Those that hang on how it is asked; there are six orders of options."""
    texts = card.contrast_limits(contrast, settings(**changes), n_orders=6)
    return texts[len(card.WORDS["limits"]) :]


def test_a_sample_says_of_how_many_stimuli_it_is_and_that_two_sentences_are_few() -> None:
    sizes = {
        "stimuli": 6,
        "calibrated": False,
        "generations": 0,
    }
    contrast = ContrastSource.model_validate(yaml_of_text(LETTERED))
    assert limits_of(contrast, **sizes) == [
        "Figures are for 6 of the 8 stimuli, evenly spread over the list: a sample.",
        "6 stimuli are fewer than the 10 that a verdict needs.",
        FEW,
        f"{LETTERS}part of its answers.",
        "A stimulus is asked about in 2 of up to 6 orders of options, other stimuli in others: "
        "letters are "
        "balanced over "
        "stimuli, not for each one.",
        "No replies are sampled, so there are no figures of `choice`.",
        TOKEN,
    ]
