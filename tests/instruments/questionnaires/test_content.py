"""How acceptable the sentences of items are."""

import math

import numpy as np
import pandas as pd
import pytest

from evenruler.instruments.questionnaires import schemas
from evenruler.instruments.questionnaires.ask.item_scores import (
    acceptability_figures,
    distinct_sentences,
    probability_of_acceptable,
)
from evenruler.tables import read_frame, write_table

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
PROMPTS = pd.DataFrame(
    [
        (questionnaire, item, polarity, premise, hypothesis)
        for questionnaire, item, filled, hypotheses in (
            (
                "fear",
                "one",
                {"I am tense.": "source", "I am uneasy.": "source", "I am calm.": "inverse"},
                ["It never happens.", "It often happens."],
            ),
            ("joy", "one", {"She is glad.": "source"}, ["This never is so.", "This often is so."]),
            ("fear", "two", {"I am calm.": "source"}, ["It never happens."]),
        )
        for premise, polarity in filled.items()
        for hypothesis in hypotheses
    ],
    columns=["questionnaire", "item", "polarity", "premise", "hypothesis"],
)


def test_sentences_are_those_of_both_sides_each_once() -> None:
    assert distinct_sentences(PROMPTS) == sorted(BY_TEXT)
    assert distinct_sentences(PROMPTS[:0]) == []


@pytest.mark.parametrize("measure", ["slor", "acceptability"])
def test_an_item_has_the_mean_over_its_sentences(measure) -> None:
    found = acceptability_figures(PROMPTS, BY_TEXT, measure)

    expected = pd.DataFrame(
        [
            (
                "fear",
                "one",
                measure,
                (1.0 + 2.0 + 6.0 + 0.5 + 0.25) / 5,
                5,
            ),  # source and inverse, each sentence once
            ("fear", "two", measure, (6.0 + 0.5) / 2, 2),
            ("joy", "one", measure, (-3.0 + 4.0 + 5.0) / 3, 3),
        ],
        columns=["questionnaire", "item", "measure", "value", "n"],
    )
    pd.testing.assert_frame_equal(found, expected)


def test_the_order_of_prompts_does_not_matter() -> None:
    shuffled = PROMPTS.sample(frac=1, random_state=1)

    pd.testing.assert_frame_equal(
        acceptability_figures(shuffled, BY_TEXT, "slor"),
        acceptability_figures(PROMPTS, BY_TEXT, "slor"),
    )


def test_the_table_is_one_of_content(tmp_path) -> None:
    found = acceptability_figures(PROMPTS, BY_TEXT, "slor")
    write_table(found, schemas.CONTENT, tmp_path / "content.parquet")

    pd.testing.assert_frame_equal(
        read_frame(tmp_path / "content.parquet"), found, check_dtype=False
    )
    write_table(
        acceptability_figures(PROMPTS[:0], BY_TEXT, "slor"),
        schemas.CONTENT,
        tmp_path / "none.parquet",
    )
    assert read_frame(tmp_path / "none.parquet").empty


def test_a_sentence_without_a_figure_is_refused() -> None:
    with pytest.raises(KeyError, match=r"She is glad\."):
        acceptability_figures(
            PROMPTS, {text: v for text, v in BY_TEXT.items() if text != "She is glad."}, "slor"
        )


class TestClassifier:
    @pytest.mark.parametrize(
        ("labels", "place"),
        [
            (["unacceptable", "acceptable"], 1),
            (["Acceptable", "Unacceptable"], 0),
            (["no", " ACCEPTABLE "], 1),
        ],
    )
    def test_it_is_the_probability_of_the_label_wherever_that_stands(self, labels, place) -> None:
        logits = np.array([[0.0, math.log(3)], [1000.0, -1000.0], [2.0, 2.0]])

        found = probability_of_acceptable(logits, labels, "cola")

        expected = np.array([[0.25, 0.75], [1.0, 0.0], [0.5, 0.5]])[:, place]
        assert found == pytest.approx(expected, abs=1e-12)

    def test_of_no_sentence_there_is_none(self) -> None:
        found = probability_of_acceptable(np.zeros((0, 2)), ["unacceptable", "acceptable"], "cola")

        assert found.shape == (0,)

    @pytest.mark.parametrize(
        ("labels", "said"),
        [
            (["LABEL_0", "LABEL_1"], "LABEL_0, LABEL_1"),
            (["entailment", "neutral", "acceptable"], "entailment, neutral, acceptable"),
            (["acceptable", "acceptable"], "acceptable, acceptable"),
            (["acceptable"], "acceptable"),
        ],
    )
    def test_a_classifier_of_something_else_is_refused_in_one_line(
        self, labels, said, error_of
    ) -> None:
        line = error_of(probability_of_acceptable, np.zeros((3, len(labels))), labels, "cola")

        assert line == (
            f"params.yaml: models.cola: cola has the labels {said}, expected two labels of which "
            "one is 'acceptable'; "
            "name a classifier fitted on CoLA whose configuration (id2label) says which label that "
            "is"
        )
