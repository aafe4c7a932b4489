import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from scipy.special import softmax

from evenruler.instruments.questionnaires.ask.item_scores import Scoring, score_items, silhouette
from evenruler.instruments.questionnaires.diagnose import evidence
from evenruler.measurement import Resampling
from tests.instruments.questionnaires.doors import diagnose, figure_table, matrix_of_text
from tests.later import Later

pingouin = Later("pingouin")

RESAMPLING = Resampling(level=0.9, resamples=60, seed=3)

WORDS = pd.DataFrame(
    {
        "intensifier": ["never", "rarely", "often", "always"],
        "level": [1, 2, 3, 4],
        "weight": [-4.0, -2.0, 2.0, 4.0],
    }
)
TERMS = pd.DataFrame(
    {"term": ["tense", "uneasy", "calm"], "polarity": ["source", "source", "inverse"]}
)
ITEMS = pd.DataFrame(
    [
        ("fear", "one", "body", 1, "Are you tense?", "held"),
        ("fear", "two", "body", -1, "Are you at rest?", "held"),
        ("fear", "three", None, 1, "Do you worry?", "held"),
        ("joy", "only", None, 1, "Are you glad?", "paraphrased"),
    ],
    columns=["questionnaire", "item", "subscale", "keying", "original", "wording"],
).assign(twin=0)
PROMPTS = ITEMS[["questionnaire", "item", "twin"]].merge(TERMS, how="cross")
PROMPTS = PROMPTS.merge(WORDS, how="cross").assign(
    id=lambda rows: rows["item"] + "-" + rows["term"] + "-" + rows["intensifier"],
    premise=lambda rows: "In " + rows["item"] + " I am " + rows["term"] + ".",
    hypothesis=lambda rows: "It " + rows["intensifier"] + " happens.",
)

# Of tense, uneasy, calm: by never, rarely, often, always.
BY_HAND = matrix_of_text("0.1 0.1 0.4 0.6; 0.2 0.1 0.2 0.3; 0.7 0.2 0.2 0.1")
# Columns sum to 1, .4, .8 and 1; the rows are then 1.45, 1 and 1.55 long.
OVER_TERMS = matrix_of_text("0.1 0.25 0.5 0.6; 0.2 0.25 0.25 0.3; 0.7 0.5 0.25 0.1")
PSS_BY_HAND = OVER_TERMS / matrix_of_text("1.45; 1; 1.55")
# (-.4 - .5 + 1 + 2.4) / 1.45 of tense and (-.8 - .5 + .5 + 1.2) / 1 of uneasy, over 2 terms x 4
# intensifiers.
SCORE_BY_HAND = (2.5 / 1.45 + 0.4) / 8

Matrices = dict[str, np.ndarray]
"""By item: [3 terms, 4 intensifiers] entailment scores."""


def drawn(seed: int) -> Matrices:
    rng = np.random.default_rng(seed)
    of_words = matrix_of_text("-1.5 -1 1 1.5")
    lean = rng.uniform(-1, 1) * np.vstack([of_words, of_words, -of_words])
    matrices = {}
    for slug in ITEMS["item"]:
        logits = -lean if slug == "two" else lean
        noise = rng.normal(scale=0.5, size=(3, 4))
        matrices[slug] = 1 / (1 + np.exp(-(logits + noise)))
    return matrices


MODELS: dict[str, Matrices] = {f"m{seed}": drawn(seed) for seed in range(6)}
MODELS["m0"] |= {"one": BY_HAND, "two": BY_HAND}
LINEAGES = {**{name: name for name in MODELS}, "m4": "shared", "m5": "shared"}


def answers(
    models: Mapping[str, Matrices], lineages: Mapping[str, str], neutral: float
) -> pd.DataFrame:
    """Logits whose two-way share is that score: of entailment log(p / (1 - p)), of contradiction
    0."""
    frames = []
    for model, matrices in models.items():
        # Prompts are in the order of items, terms and intensifiers, as the cells of the matrices.
        p = np.concatenate([matrices[slug].ravel() for slug in ITEMS["item"]])
        logits = {"entailment": np.log(p / (1 - p)), "neutral": neutral, "contradiction": 0.0}
        of_model = pd.DataFrame({"id": PROMPTS["id"], **logits})
        frames.append(of_model.assign(model=model, lineage=lineages[model]))
    wide = pd.concat(frames).assign(kind="nli", method="head", framing="bare")
    return wide.melt(["id", "model", "lineage", "kind", "method", "framing"], var_name="measure")


def unit(angle: float) -> np.ndarray:
    return np.array([math.cos(angle), math.sin(angle)], dtype=np.float32)


def embeddings() -> dict[str, np.ndarray]:
    """Originals along the first axis; prompts with "tense" at 60 degrees to it, with "uneasy" at
    90."""
    vector_by_text = {original: unit(0) for original in ITEMS["original"]}
    texts = PROMPTS["premise"] + " " + PROMPTS["hypothesis"]
    for text, term in zip(texts, PROMPTS["term"], strict=True):
        angle = 60 if term == "tense" else 90
        vector_by_text[text] = unit(math.radians(angle))
    return vector_by_text


@pytest.fixture(scope="module")
def diagnosed() -> Callable[..., Any]:
    def make(
        models: Mapping[str, Matrices] = MODELS,
        lineages: Mapping[str, str] = LINEAGES,
        neutral: float = 7.0,
        members: list[str] | None = None,
        **plans: dict[str, Any],
    ) -> Any:
        chosen = {"fear": {}, "joy": {}, **plans}
        scores = answers(models, lineages, neutral)
        return diagnose(PROMPTS, ITEMS, scores, embeddings(), chosen, RESAMPLING, members)

    return make


@pytest.fixture(scope="module")
def of_five(diagnosed) -> Any:
    """m4 and m5 share a lineage, so without m5 there are five models of five lineages."""
    return diagnosed(members=FIVE)


@pytest.fixture(scope="module")
def diagnosis(diagnosed) -> Any:
    return diagnosed()


def pss_of(p: np.ndarray) -> np.ndarray:
    """The two-way normalisation as two divisions."""
    over_terms = p / p.sum(axis=0)
    return over_terms / over_terms.sum(axis=1, keepdims=True)


def score_of(p: np.ndarray, keying: int = 1) -> float:
    of_source = pss_of(p)[:2]
    return keying * float((of_source * WORDS["weight"].to_numpy()).mean())


KEYING = dict(zip(ITEMS["item"], ITEMS["keying"], strict=True))
SCORES = pd.DataFrame(index=list(MODELS))
"""[models, items] expected."""
for slug, keying in KEYING.items():
    SCORES[slug] = [score_of(matrices[slug], keying) for matrices in MODELS.values()]
FEAR = ["one", "two", "three"]


def of_item(diagnosis: Any, slug: str, model: str = "m0") -> pd.Series:
    return diagnosis.items.query("item == @slug and model == @model").iloc[0]


def figure(
    diagnosis: Any,
    name: str,
    model: str | None = None,
    benchmark: str = "fear",
    **dimensions: str,
) -> pd.Series:
    rows = figure_table(diagnosis.figures).query("figure == @name and benchmark == @benchmark")
    for dimension, word in {"subscale": "", **dimensions}.items():
        rows = rows[rows[dimension] == word]
    of_model = rows["model"].isna() if model is None else rows["model"] == model
    ((_, figure_row),) = rows[of_model].iterrows()
    return figure_row


class TestCells:
    def test_scores_and_pss_of_one_item_on_paper(self, diagnosis) -> None:
        rows = diagnosis.cells.query("model == 'm0' and item == 'one'")
        for column, expected in (("p", BY_HAND), ("pss", PSS_BY_HAND)):
            matrix = rows.pivot(index="term", columns="intensifier", values=column)
            in_order = matrix.loc[TERMS["term"], WORDS["intensifier"]]
            assert in_order.to_numpy() == pytest.approx(expected, abs=1e-12)

    def test_three_way_and_temperature_are_those_of_the_questionnaire(self, diagnosed) -> None:
        changed = diagnosed(
            {"m0": MODELS["m0"]}, neutral=0.5, fear={"temperature": 2.0}, joy={"three_way": True}
        )
        p = MODELS["m0"]["only"][0, 3]
        cells = changed.cells.query("item == 'only' and term == 'tense'").set_index("intensifier")
        share = softmax([math.log(p / (1 - p)), 0.5, 0.0])[0]
        assert cells.loc["always", "p"] == pytest.approx(share, abs=1e-12)
        # T = 2 takes roots before each of the divisions.
        over_terms = np.sqrt(np.sqrt(BY_HAND) / np.sqrt(BY_HAND).sum(axis=0))
        pss = over_terms / over_terms.sum(axis=1, keepdims=True)
        score = (pss[:2] * WORDS["weight"].to_numpy()).mean()
        assert of_item(changed, "one")["score"] == pytest.approx(score, abs=1e-12)


class TestItems:
    def test_one_item_on_paper(self, diagnosis) -> None:
        row = of_item(diagnosis, "one")
        assert row["score"] == pytest.approx(SCORE_BY_HAND, abs=1e-12)
        assert (row["subscale"], row["keying"], row["n"]) == ("body", 1, 8)

    def test_every_item_and_model_has_its_own(self, diagnosis) -> None:
        scores = diagnosis.items.pivot(index="model", columns="item", values="score")
        pd.testing.assert_frame_equal(
            scores[list(SCORES)], SCORES, check_names=False, rtol=0, atol=1e-12
        )


class TestSilhouette:
    def test_by_hand(self) -> None:
        # Within each group correlation 1, so distance 0; between them -1, so 2: (2 - 0) / 2.
        pss = matrix_of_text("0.1 0.3 0.6; 0.2 0.3 0.45; 0.6 0.4 0.1; 0.5 0.3 0")
        like_terms = np.array([True, True, False, False])
        assert silhouette(pss, like_terms) == pytest.approx(1, abs=1e-12)
        # Each with one of the other: a = 2, b = (0 + 2) / 2 = 1, (1 - 2) / 2.
        unlike_terms = np.array([True, False, False, True])
        assert silhouette(pss, unlike_terms) == pytest.approx(-0.5, abs=1e-12)

    def test_nan_where_a_term_is_constant(self) -> None:
        pss = matrix_of_text("0.1 0.3 0.6; 1/3 1/3 1/3; 0.6 0.3 0.1")
        assert math.isnan(silhouette(pss, np.array([True, True, False])))

    @pytest.mark.parametrize("is_source", [[True] * 3, [True, False]])
    def test_nan_where_nothing_can_be_told_apart(self, is_source) -> None:
        pss = matrix_of_text("0.1 0.3 0.6; 0.2 0.2 0.6; 0.6 0.3 0.1")[: len(is_source)]
        assert math.isnan(silhouette(pss, np.array(is_source)))


class TestContent:
    def test_similarity_is_the_mean_cosine_with_source_prompts(self, diagnosis) -> None:
        # cos 60 and cos 90, over 4 intensifiers each; "calm" at 90 as well would pull it to 1/6.
        rows = diagnosis.content.set_index("item")
        assert rows["value"].to_dict() == pytest.approx(dict.fromkeys(KEYING, 0.25), abs=1e-6)
        assert rows["n"].to_dict() == dict.fromkeys(KEYING, 8)
        measures = dict.fromkeys(FEAR, "similarity")
        assert rows["measure"].to_dict() == measures | {"only": "similarity_to_paraphrase"}


FIVE = [f"m{seed}" for seed in range(5)]


class TestMembers:
    def test_figures_over_models_rest_on_members_alone(self, of_five) -> None:
        without = SCORES.drop(index="m5")
        assert figure(of_five, "alpha", method="head")["value"] == pytest.approx(
            pingouin.cronbach_alpha(without[FEAR])[0], abs=1e-12
        )
        expected = stats.spearmanr(without[FEAR].mean(axis=1), without["only"])
        rho = figure(of_five, "rho", other="joy", method="head")
        assert rho["value"] == pytest.approx(expected.statistic, abs=1e-12)
        assert rho["n"] == 5


def test_a_missing_prompt_is_an_error() -> None:
    scores = answers({"m3": MODELS["m3"]}, LINEAGES, 7.0)
    with pytest.raises(ValueError, match=r"^m3: 1 prompts have no score$"):
        score_items(PROMPTS, ITEMS, scores[scores["id"] != "one-calm-never"], Scoring())


def test_figures_become_metrics(diagnosis) -> None:
    rows_by_questionnaire = evidence(vars(diagnosis))
    (alpha,) = [row for row in rows_by_questionnaire["joy"] if row["figure"] == "alpha"]
    assert alpha == {
        "figure": "alpha",
        "model": None,
        "method": "head",
        "value": None,
        "n": 5,
        "unit": "lineages",
        "reason": "a scale of one item has no internal consistency",
    }
    assert evidence({"figures": pd.DataFrame()}) == {}
