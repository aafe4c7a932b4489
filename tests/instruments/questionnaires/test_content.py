"""How acceptable the sentences of items are."""

import math

import numpy as np
import pandas as pd
import pytest

from evenruler.instruments.questionnaires.ask.item_scores import (
    acceptability_figures,
    distinct_sentences,
    probability_of_acceptable,
)
from tests.instruments.questionnaires.doors import matrix_of_text
from tests.text_tables import table_of_text

BY_TEXT = {
    "I am tense.": 1.0,
    "I am uneasy.": 2.0,
    "I am calm.": 6.0,
    "It never happens.": 0.5,
    "It often happens.": 0.25,
    "She is glad.": -3.0,
    "This never is so.": 4.0,
    "This often is so.": 5.0,
}
PROMPTS = table_of_text("""\
questionnaire|item|polarity|premise|hypothesis
fear|one|source|I am tense.|It never happens.
fear|one|source|I am tense.|It often happens.
fear|one|source|I am uneasy.|It never happens.
fear|one|source|I am uneasy.|It often happens.
fear|one|inverse|I am calm.|It never happens.
fear|one|inverse|I am calm.|It often happens.
joy|one|source|She is glad.|This never is so.
joy|one|source|She is glad.|This often is so.
fear|two|source|I am calm.|It never happens.
""")


def test_sentences_are_those_of_both_sides_each_once() -> None:
    assert distinct_sentences(PROMPTS) == sorted(BY_TEXT)
    assert distinct_sentences(PROMPTS[:0]) == []


def test_an_item_has_the_mean_over_its_sentences_in_whatever_order_prompts_stand() -> None:
    figures = acceptability_figures(PROMPTS.sample(frac=1, random_state=1), BY_TEXT, "slor")

    # Sentences of source and inverse terms, each once.
    expected = table_of_text("""\
questionnaire|item|measure|value|n
fear|one|slor|1.95|5
fear|two|slor|3.25|2
joy|one|slor|2.0|3
""")
    pd.testing.assert_frame_equal(figures, expected, check_exact=False)


class TestClassifier:
    @pytest.mark.parametrize(
        ("labels", "place"),
        [
            (["Acceptable", "Unacceptable"], 0),
            (["no", " ACCEPTABLE "], 1),
        ],
    )
    def test_it_is_the_probability_of_the_label_wherever_that_stands(self, labels, place) -> None:
        logits = np.array([[0.0, math.log(3)], [1000.0, -1000.0], [2.0, 2.0]])

        probabilities = probability_of_acceptable(logits, labels, "cola")

        expected = matrix_of_text("0.25 0.75; 1 0; 0.5 0.5")[:, place]
        assert probabilities == pytest.approx(expected, abs=1e-12)

    @pytest.mark.parametrize(
        "labels_listed",
        ["LABEL_0, LABEL_1", "entailment, neutral, acceptable", "acceptable, acceptable"],
    )
    def test_a_classifier_of_something_else_is_refused_in_one_line(
        self, labels_listed, error_of
    ) -> None:
        labels = labels_listed.split(", ")
        line = error_of(probability_of_acceptable, np.zeros((3, len(labels))), labels, "cola")

        assert line == (
            f"params.yaml: models.cola: cola has the labels {labels_listed}, expected two labels "
            "of which one is 'acceptable'; "
            "name a classifier fitted on CoLA whose configuration (id2label) says which label that "
            "is"
        )
