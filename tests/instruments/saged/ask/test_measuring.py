"""What tools answered, looked up by text."""

import numpy as np
import pandas as pd
import pytest

from evenruler.instruments.saged import schemas
from evenruler.instruments.saged.ask.measuring import Answered

ANSWERS = {
    "embeddings": pd.DataFrame(
        [("usual", "a", [1.0, 0.0]), ("usual", "b", [0.0, 1.0]), ("other", "a", [0.5, 0.5])],
        columns=schemas.EMBEDDINGS.names,
    ),
    "classifications": pd.DataFrame(
        [("moods", "a", ["sad", "glad"], [0.2, 0.8]), ("moods", "long", ["sad", "glad"], [np.nan, np.nan])],
        columns=schemas.CLASSIFICATIONS.names,
    ),
    "scored": pd.DataFrame(
        [("judge", "Rate a.", "7", None), ("judge", "Rate b.", None, "content filter")], columns=schemas.SCORED.names
    ),
}


@pytest.fixture
def answered() -> Answered:
    return Answered(ANSWERS, "usual")


def test_each_tool_has_its_own_answers_in_the_order_of_the_texts(answered: Answered) -> None:
    assert answered.embedder(None).embed(["b", "a", "b"]).tolist() == [[0, 1], [1, 0], [0, 1]]
    assert answered.embedder("other").embed(["a"]).tolist() == [[0.5, 0.5]]
    assert answered.embedder("other").name == "other"


def test_a_classifier_tells_its_labels_and_nan_where_a_text_was_too_long(answered: Answered) -> None:
    moods = answered.classifier("moods")
    assert list(moods.labels) == ["sad", "glad"]
    found = moods.probabilities(["long", "a"])
    assert np.isnan(found[0]).all()
    assert found[1].tolist() == [0.2, 0.8]


def test_a_scorer_that_gave_nothing_says_none(answered: Answered) -> None:
    assert answered.scorer("judge")(["Rate b.", "Rate a."]) == [None, "7"]


def test_nothing_was_asked_of_a_tool(answered: Answered) -> None:
    assert answered.classifier("none").labels == []
    assert answered.scorer("none")([]) == []
