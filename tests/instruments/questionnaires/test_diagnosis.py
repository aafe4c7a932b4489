"""From answers to cells, scores of items and their similarity, by hand."""

import math

import numpy as np
import pandas as pd
import pytest
from scipy.special import softmax

from evenruler.instruments.questionnaires.ask.item_scores import (
    Scoring,
    cells_of,
    item_scores,
    score_items,
    silhouette,
    similarity_figures,
)
from evenruler.instruments.questionnaires.diagnose import evidence
from tests.instruments.questionnaires.doors import matrix_of_text
from tests.text_tables import table_of_text

WORDS = table_of_text("""\
intensifier|level|weight
never|1|-4
rarely|2|-2
often|3|2
always|4|4
""")
TERMS = table_of_text("term|polarity\ntense|source\nuneasy|source\ncalm|inverse\n")
ITEMS = table_of_text("""\
id|item|subscale|keying|wording
1|one|body|1|held
2|two|body|-1|held
3|three||1|paraphrased
""").assign(twin=0, questionnaire="fear")
PROMPTS = ITEMS[["questionnaire", "item", "twin"]].merge(TERMS, how="cross")
PROMPTS = PROMPTS.merge(WORDS, how="cross")
PROMPTS["id"] = PROMPTS[["item", "term", "intensifier"]].agg("-".join, axis=1)

# Of tense, uneasy, calm: by never, rarely, often, always.
BY_HAND = matrix_of_text("0.1 0.1 0.4 0.6; 0.2 0.1 0.2 0.3; 0.7 0.2 0.2 0.1")
# Columns sum to 1, .4, .8 and 1; the rows are then 1.45, 1 and 1.55 long.
OVER_TERMS = matrix_of_text("0.1 0.25 0.5 0.6; 0.2 0.25 0.25 0.3; 0.7 0.5 0.25 0.1")
PSS_BY_HAND = OVER_TERMS / matrix_of_text("1.45; 1; 1.55")
# (-.4 - .5 + 1 + 2.4) / 1.45 of tense and (-.8 - .5 + .5 + 1.2) / 1 of uneasy, over 2 terms x 4
# intensifiers.
SCORE_BY_HAND = (2.5 / 1.45 + 0.4) / 8
# In the third item the terms are turned: calm, tense, uneasy; (-2.8 - 1 + .5 + .4) / 1.55 and 2.1 /
# 1.45 in place of the sums above.
TURNED = BY_HAND[[2, 0, 1]]
SCORE_TURNED = (-2.9 / 1.55 + 2.5 / 1.45) / 8


def answers(neutral: float = 7.0, model: str = "m0") -> pd.DataFrame:
    """Logits whose two-way share is the entailment score: of entailment log(p / (1 - p)), of
    contradiction 0."""
    # Prompts are in the order of items, terms and intensifiers, as the cells of the matrices.
    p = np.concatenate([BY_HAND.ravel(), BY_HAND.ravel(), TURNED.ravel()])
    logits = {"entailment": np.log(p / (1 - p)), "neutral": neutral, "contradiction": 0.0}
    wide = pd.DataFrame({"id": PROMPTS["id"], **logits})
    identity = {"model": model, "lineage": model, "kind": "nli"}
    wide = wide.assign(method="head", framing="bare", **identity)
    return wide.melt(["id", *identity, "method", "framing"], var_name="measure")


CELLS = cells_of(PROMPTS, answers(), Scoring())


class TestCells:
    def test_scores_and_pss_of_one_item_on_paper(self) -> None:
        rows = CELLS.query("item == 'one'")
        for column, expected in (("p", BY_HAND), ("pss", PSS_BY_HAND)):
            matrix = rows.pivot(index="term", columns="intensifier", values=column)
            in_order = matrix.loc[TERMS["term"], WORDS["intensifier"]]
            assert in_order.to_numpy() == pytest.approx(expected, abs=1e-12)

    def test_neutral_counts_where_there_are_three_ways(self) -> None:
        cells = cells_of(PROMPTS, answers(neutral=0.5), Scoring(three_way=True))
        (p,) = cells.query("item == 'one' and term == 'tense' and level == 4")["p"]
        share = softmax([math.log(0.6 / 0.4), 0.5, 0.0])[0]
        assert p == pytest.approx(share, abs=1e-12)

    def test_a_temperature_takes_roots_before_each_of_the_divisions(self) -> None:
        over_terms = np.sqrt(np.sqrt(BY_HAND) / np.sqrt(BY_HAND).sum(axis=0))
        pss = over_terms / over_terms.sum(axis=1, keepdims=True)
        score = (pss[:2] * WORDS["weight"].to_numpy()).mean()
        items = score_items(PROMPTS, ITEMS, answers(), Scoring(temperature=2.0))
        assert items.set_index("item").loc["one", "score"] == pytest.approx(score, abs=1e-12)

    def test_a_missing_prompt_is_an_error(self) -> None:
        scores = answers()
        with pytest.raises(ValueError, match=r"^m0: 1 prompts have no score$"):
            cells_of(PROMPTS, scores[scores["id"] != "one-calm-never"], Scoring())
        with pytest.raises(ValueError, match=r"^all 36 prompts have no score$"):
            cells_of(PROMPTS, scores[:0], Scoring())


def test_scores_of_items_of_every_model_on_paper() -> None:
    both = pd.concat([CELLS, CELLS.assign(model="m1", lineage="m1")])
    rows = item_scores(both, ITEMS).set_index(["model", "item"])
    for model in ("m0", "m1"):
        of_model = rows.loc[model]
        expected = {"one": SCORE_BY_HAND, "two": -SCORE_BY_HAND, "three": SCORE_TURNED}
        assert of_model["score"].to_dict() == pytest.approx(expected, abs=1e-12)
        described = of_model.loc["one", ["subscale", "keying", "n"]].tolist()
        assert described == ["body", 1, 8]


class TestSilhouette:
    def test_by_hand(self) -> None:
        # Within each group correlation 1, so distance 0; between them -1, so 2: (2 - 0) / 2.
        pss = matrix_of_text("0.1 0.3 0.6; 0.2 0.3 0.45; 0.6 0.4 0.1; 0.5 0.3 0")
        like_terms = np.array([True, True, False, False])
        assert silhouette(pss, like_terms) == pytest.approx(1, abs=1e-12)
        # Each with one of the other: a = 2, b = (0 + 2) / 2 = 1, (1 - 2) / 2.
        unlike_terms = np.array([True, False, False, True])
        assert silhouette(pss, unlike_terms) == pytest.approx(-0.5, abs=1e-12)

    @pytest.mark.parametrize(
        ("pss", "is_source"),
        [
            ("0.1 0.3 0.6; 1/3 1/3 1/3; 0.6 0.3 0.1", [True, True, False]),  # a constant term
            ("0.1 0.3 0.6; 0.2 0.2 0.6; 0.6 0.3 0.1", [True] * 3),
            ("0.1 0.3 0.6; 0.2 0.2 0.6", [True, False]),
        ],
    )
    def test_nan_where_nothing_can_be_told_apart(self, pss, is_source) -> None:
        assert math.isnan(silhouette(matrix_of_text(pss), np.array(is_source)))


def test_similarity_is_the_mean_cosine_with_source_prompts() -> None:
    """Prompts with "tense" at 60 degrees to their question, with others at 90."""
    prompts = PROMPTS.assign(premise="", hypothesis="")
    vectors = {number: np.array([1.0, 0.0]) for number in ITEMS["id"]}
    for prompt, term in zip(prompts["id"], prompts["term"], strict=True):
        angle = math.radians(60 if term == "tense" else 90)
        vectors[prompt] = np.array([math.cos(angle), math.sin(angle)])
    rows = similarity_figures(prompts, ITEMS, vectors).set_index("item")
    # cos 60 and cos 90, over 4 intensifiers each; "calm" at 90 as well would pull it to 1/6.
    assert rows["value"].to_dict() == pytest.approx({"one": 0.25, "two": 0.25, "three": 0.25})
    assert set(rows["n"]) == {8}
    assert rows["measure"].tolist() == [*["similarity"] * 2, "similarity_to_paraphrase"]


def test_without_figures_there_is_no_evidence() -> None:
    assert evidence({"figures": pd.DataFrame()}) == {}
