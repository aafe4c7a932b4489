"""Where an intensifier stands in the two sentences of a prompt."""

import pandas as pd
import pytest

from evenruler.instruments.questionnaires.ask.questions import locate_intensifiers
from tests.text_tables import read_cells

PLACES = read_cells("""
I am {TERM}. | It is {INTENSIFIER} so. | I am calm. It is | very rarely | so.
I am {TERM}. | {INTENSIFIER} I am. | I am calm. | Often | I am.
It is an {INTENSIFIER} seen thing. | A {TERM} thing. | It is a | rarely | seen thing. A calm thing.
I am {TERM} {INTENSIFIER} in a room. | So. | I am calm | never | in a room. So.
""")
"""Templates of premise and hypothesis, and what stands before the word, the word, and after it."""


@pytest.mark.parametrize(("premise", "hypothesis", "before", "word", "after"), PLACES)
def test_a_word_stands_where_its_template_has_it(premise, hypothesis, before, word, after) -> None:
    key = {"item": "i", "twin": 0}
    end = len(hypothesis.replace("{TERM}", "calm").replace("{INTENSIFIER}", word))
    text = f"{before} {word} {after}"
    sentences = {"premise": text[: -end - 1], "hypothesis": text[-end:]}
    rows = {
        "prompts": key | {"term": "t", "variant": "agree"} | sentences,
        "items": key | {"premise": premise, "hypothesis": hypothesis},
        "terms": key | {"term": "t", "word": "calm"},
    }
    tables = {name: pd.DataFrame([row]) for name, row in rows.items()}
    located = locate_intensifiers(tables)
    assert located == {"before": [f"{before} "], "word": [word], "after": [f" {after}"]}
