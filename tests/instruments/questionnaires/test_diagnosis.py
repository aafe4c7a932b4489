import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from scipy.special import softmax
from sklearn.metrics import silhouette_score

from evenruler.instruments.questionnaires import schemas
from evenruler.instruments.questionnaires.ask.item_scores import Scoring, score_items, silhouette
from evenruler.instruments.questionnaires.diagnose import evidence
from evenruler.instruments.questionnaires.diagnose.figures import population_figures
from evenruler.measurement import Resampling
from evenruler.tables import write_table
from tests.instruments.questionnaires.doors import diagnose
from tests.later import Later

pingouin = Later("pingouin")

RESAMPLING = Resampling(level=0.9, resamples=60, seed=3)

SCALE = {"never": (1, -4.0), "rarely": (2, -2.0), "often": (3, 2.0), "always": (4, 4.0)}
WEIGHTS = np.array([-4.0, -2.0, 2.0, 4.0])
TERMS = {"tense": "source", "uneasy": "source", "calm": "inverse"}

ITEMS = pd.DataFrame(
    [
        ("fear", "one", "body", 1, "Are you tense?", "held"),
        ("fear", "two", "body", -1, "Are you at rest?", "held"),
        ("fear", "three", None, 1, "Do you worry?", "held"),
        ("joy", "only", None, 1, "Are you glad?", "paraphrased"),
    ],
    columns=["questionnaire", "item", "subscale", "keying", "original", "wording"],
).assign(twin=0)
PROMPTS = pd.DataFrame(
    [
        {
            "id": f"{item.item}-{term}-{word}",
            "questionnaire": item.questionnaire,
            "item": item.item,
            "twin": 0,
            "term": term,
            "polarity": polarity,
            "intensifier": word,
            "level": level,
            "weight": weight,
            "premise": f"In {item.item} I am {term}.",
            "hypothesis": f"It {word} happens.",
        }
        for item in ITEMS.itertuples()
        for term, polarity in TERMS.items()
        for word, (level, weight) in SCALE.items()
    ]
)

# Of tense, uneasy, calm: by never, rarely, often, always.
BY_HAND = np.array([[0.1, 0.1, 0.4, 0.6], [0.2, 0.1, 0.2, 0.3], [0.7, 0.2, 0.2, 0.1]])
# Columns sum to 1, .4, .8 and 1; the rows are then 1.45, 1 and 1.55 long.
PSS_BY_HAND = np.array([[0.1, 0.25, 0.5, 0.6], [0.2, 0.25, 0.25, 0.3], [0.7, 0.5, 0.25, 0.1]]) / [
    [1.45],
    [1.0],
    [1.55],
]
# (-.4 - .5 + 1 + 2.4) / 1.45 of tense and (-.8 - .5 + .5 + 1.2) / 1 of uneasy, over 2 terms x 4
# intensifiers.
SCORE_BY_HAND = (2.5 / 1.45 + 0.4) / 8

Matrices = dict[str, np.ndarray]
"""By item: [3 terms, 4 intensifiers] entailment scores."""


def drawn(seed: int) -> Matrices:
    rng = np.random.default_rng(seed)
    lean = rng.uniform(-1, 1) * np.array([1, 1, -1])[:, None] * np.array([-1.5, -1, 1, 1.5])
    return {
        item: 1
        / (1 + np.exp(-(lean * (-1 if item == "two" else 1) + rng.normal(scale=0.5, size=(3, 4)))))
        for item in ITEMS["item"]
    }


MODELS: dict[str, Matrices] = {f"m{i}": drawn(i) for i in range(6)}
MODELS["m0"] |= {"one": BY_HAND, "two": BY_HAND}
LINEAGES = {**{name: name for name in MODELS}, "m4": "shared", "m5": "shared"}


def answers(
    models: Mapping[str, Matrices], lineages: Mapping[str, str], neutral: float
) -> pd.DataFrame:
    """Logits whose two-way share is that score: of entailment log(p / (1 - p)), of contradiction
    0."""
    shared = {"kind": "nli", "configuration": "head", "framing": "bare"}
    frames = []
    for model, matrices in models.items():
        p = np.array(
            [
                matrices[row.item][list(TERMS).index(row.term), row.level - 1]
                for row in PROMPTS.itertuples()
            ]
        )
        values = {
            "entailment": np.log(p / (1 - p)),
            "neutral": np.full(len(p), neutral),
            "contradiction": 0 * p,
        }
        for measure, value in values.items():
            of_measure = {
                "id": PROMPTS["id"],
                "model": model,
                "lineage": lineages[model],
                "measure": measure,
            }
            frames.append(pd.DataFrame({**of_measure, "value": value, **shared}))
    return pd.concat(frames, ignore_index=True)


def unit(angle: float) -> np.ndarray:
    return np.array([math.cos(angle), math.sin(angle)], dtype=np.float32)


def embeddings() -> dict[str, np.ndarray]:
    """Originals along the first axis; prompts with "tense" at 60 degrees to it, with "uneasy" at
    90."""
    found = {original: unit(0) for original in ITEMS["original"]}
    for row in PROMPTS.itertuples():
        found[f"{row.premise} {row.hypothesis}"] = unit(
            math.pi / 3 if row.term == "tense" else math.pi / 2
        )
    return found


@pytest.fixture(scope="module")
def diagnosed() -> Callable[..., Any]:
    def make(
        models: Mapping[str, Matrices] = MODELS,
        lineages: Mapping[str, str] = LINEAGES,
        neutral: float = 7.0,
        change: Callable[[pd.DataFrame], pd.DataFrame] = lambda scores: scores,
        members: list[str] | None = None,
        acceptability: pd.DataFrame | None = None,
        **plans: dict[str, Any],
    ) -> Any:
        chosen = {"fear": {}, "joy": {}, **plans}
        scores = change(answers(models, lineages, neutral))
        return diagnose(
            PROMPTS, ITEMS, scores, embeddings(), chosen, RESAMPLING, members, acceptability
        )

    return make


@pytest.fixture(scope="module")
def of_five(diagnosed) -> Any:
    """m4 and m5 share a lineage, so without m5 there are five models of five lineages."""
    return diagnosed(members=FIVE)


@pytest.fixture(scope="module")
def liked(diagnosed) -> Any:
    return diagnosed(acceptability=LIKED)


@pytest.fixture(scope="module")
def diagnosis() -> Any:
    scores = answers(MODELS, LINEAGES, 7.0)
    return diagnose(PROMPTS, ITEMS, scores, embeddings(), {"fear": {}, "joy": {}}, RESAMPLING)


def pss_of(p: np.ndarray) -> np.ndarray:
    """The two-way normalisation as two divisions."""
    over_terms = p / p.sum(axis=0)
    return over_terms / over_terms.sum(axis=1, keepdims=True)


def score_of(p: np.ndarray, keying: int = 1) -> float:
    return keying * float((pss_of(p)[:2] * WEIGHTS).mean())


KEYING = dict(zip(ITEMS["item"], ITEMS["keying"], strict=True))
SCORES = pd.DataFrame(
    {item: {m: score_of(MODELS[m][item], KEYING[item]) for m in MODELS} for item in KEYING}
)
"""[models, items] expected."""
FEAR = ["one", "two", "three"]


def of_item(diagnosis: Any, item: str, model: str = "m0") -> pd.Series:
    rows = diagnosis.items
    return rows[(rows["item"] == item) & (rows["model"] == model)].iloc[0]


def figure(
    diagnosis: Any,
    name: str,
    model: str | None = None,
    benchmark: str = "fear",
    subscale: str = "all",
) -> pd.Series:
    rows = diagnosis.figures
    rows = rows[rows["model"].isna() if model is None else rows["model"] == model]
    chosen = (
        (rows["figure"] == name) & (rows["benchmark"] == benchmark) & (rows["part"] == subscale)
    )
    (found,) = [row for _, row in rows[chosen].iterrows()]
    return found


class TestCells:
    def test_scores_and_pss_of_one_item_on_paper(self, diagnosis) -> None:
        rows = diagnosis.cells.query("model == 'm0' and item == 'one'")
        for column, expected in (("p", BY_HAND), ("pss", PSS_BY_HAND)):
            matrix = rows.pivot(index="term", columns="intensifier", values=column).loc[
                list(TERMS), list(SCALE)
            ]
            assert matrix.to_numpy() == pytest.approx(expected, abs=1e-12)

    def test_one_row_per_prompt_and_model(self, diagnosis) -> None:
        assert len(diagnosis.cells) == len(PROMPTS) * 6
        assert diagnosis.cells.groupby(["model", "item", "term"])[
            "pss"
        ].sum().to_numpy() == pytest.approx(1)

    def test_the_order_of_scores_does_not_matter(self, diagnosis, diagnosed) -> None:
        shuffled = diagnosed(
            {"m0": MODELS["m0"]}, change=lambda scores: scores.sample(frac=1, random_state=1)
        ).items
        expected = diagnosis.items.query("model == 'm0'")
        pd.testing.assert_frame_equal(
            *(rows.sort_values("item", ignore_index=True) for rows in (shuffled, expected))
        )

    def test_three_way_takes_neutral_in(self, diagnosed) -> None:
        found = diagnosed({"m1": MODELS["m1"]}, neutral=0.5, joy={"three_way": True}).cells
        p = MODELS["m1"]["only"][0, 3]
        logits = [math.log(p / (1 - p)), 0.5, 0.0]
        cell = found.query("term == 'tense' and intensifier == 'always'").set_index("item")["p"]
        assert cell["only"] == pytest.approx(softmax(logits)[0], abs=1e-12)
        assert cell["three"] == pytest.approx(MODELS["m1"]["three"][0, 3], abs=1e-12)

    def test_temperature_is_that_of_the_questionnaire(self, diagnosed) -> None:
        found = diagnosed({"m0": MODELS["m0"]}, fear={"temperature": 2.0})
        # T = 2 takes roots before each of the divisions.
        over_terms = np.sqrt(BY_HAND) / np.sqrt(BY_HAND).sum(axis=0)
        pss = np.sqrt(over_terms) / np.sqrt(over_terms).sum(axis=1, keepdims=True)
        assert of_item(found, "one")["score"] == pytest.approx(
            (pss[:2] * WEIGHTS).mean(), abs=1e-12
        )
        assert of_item(found, "only")["score"] == pytest.approx(SCORES.loc["m0", "only"], abs=1e-12)

    def test_a_missing_prompt_is_an_error_that_names_the_model(self, diagnosed) -> None:
        def without(scores: pd.DataFrame) -> pd.DataFrame:
            lost = (scores["model"] == "m3") & scores["id"].isin(
                ["one-calm-never", "only-tense-often"]
            )
            return scores[~lost]

        with pytest.raises(ValueError, match=r"^m3: 1 prompts have no score$"):
            diagnosed(change=without)

    def test_a_missing_logit_is_an_error(self, diagnosed) -> None:
        with pytest.raises(ValueError, match="a logit is not a number"):
            diagnosed(change=lambda scores: scores.drop(index=0))


class TestItems:
    def test_one_item_on_paper(self, diagnosis) -> None:
        row = of_item(diagnosis, "one")
        assert row["score"] == pytest.approx(SCORE_BY_HAND, abs=1e-12)
        assert (row["subscale"], row["keying"], row["n"]) == ("body", 1, 8)

    def test_keying_turns_the_sign(self, diagnosis) -> None:
        one, two = of_item(diagnosis, "one"), of_item(diagnosis, "two")
        assert two["score"] == pytest.approx(-SCORE_BY_HAND, abs=1e-12)
        assert two["silhouette"] == pytest.approx(one["silhouette"], abs=1e-12)

    def test_every_item_and_model_has_its_own(self, diagnosis) -> None:
        found = diagnosis.items.pivot(index="model", columns="item", values="score")
        pd.testing.assert_frame_equal(
            found[list(SCORES)], SCORES, check_names=False, rtol=0, atol=1e-12
        )

    def test_silhouette_is_that_of_sklearn(self, diagnosis) -> None:
        expected = silhouette_score(PSS_BY_HAND, [True, True, False], metric="correlation")
        assert 0 < expected < 1
        assert of_item(diagnosis, "one")["silhouette"] == pytest.approx(expected, abs=1e-12)


class TestSilhouette:
    def test_by_hand(self) -> None:
        # Within each group correlation 1, so distance 0; between them -1, so 2: (2 - 0) / 2.
        pss = np.array([[0.1, 0.3, 0.6], [0.2, 0.3, 0.45], [0.6, 0.4, 0.1], [0.5, 0.3, 0.0]])
        assert silhouette(pss, np.array([True, True, False, False])) == pytest.approx(1, abs=1e-12)
        # Each with one of the other: a = 2, b = (0 + 2) / 2 = 1, (1 - 2) / 2.
        assert silhouette(pss, np.array([True, False, False, True])) == pytest.approx(
            -0.5, abs=1e-12
        )

    def test_nan_where_a_term_is_constant(self) -> None:
        pss = np.array([[0.1, 0.3, 0.6], [1 / 3, 1 / 3, 1 / 3], [0.6, 0.3, 0.1]])
        assert math.isnan(silhouette(pss, np.array([True, True, False])))

    @pytest.mark.parametrize("is_source", [[True] * 3, [False] * 3, [True, False]])
    def test_nan_where_nothing_can_be_told_apart(self, is_source) -> None:
        pss = np.array([[0.1, 0.3, 0.6], [0.2, 0.2, 0.6], [0.6, 0.3, 0.1]])[: len(is_source)]
        assert math.isnan(silhouette(pss, np.array(is_source)))

    def test_a_constant_term_is_null_in_the_table(self, diagnosed) -> None:
        # Every intensifier in the same ratio to the others: PSS is even for each term.
        flat = {**MODELS["m1"], "three": np.array([[0.2] * 4, [0.4] * 4, [0.6] * 4])}
        found = diagnosed({"m1": flat})
        row = of_item(found, "three", "m1")
        assert math.isnan(row["silhouette"])
        assert row["score"] == pytest.approx(0, abs=1e-12)
        assert figure(found, "silhouette", "m1")["n"] == 2


class TestScales:
    def test_scores_are_means_of_items(self, diagnosis) -> None:
        found = diagnosis.scales.set_index(["questionnaire", "subscale", "model"])["score"]
        expected = {
            ("fear", "all"): FEAR,
            ("fear", "body"): ["one", "two"],
            ("joy", "all"): ["only"],
        }
        assert len(found) == len(expected) * 6
        for (questionnaire, subscale), items in expected.items():
            for model in MODELS:
                mean = SCORES.loc[model, items].mean()
                assert found[questionnaire, subscale, model] == pytest.approx(mean, abs=1e-12)

    def test_z_is_over_the_population(self, diagnosis) -> None:
        found = diagnosis.scales.query("questionnaire == 'fear' and subscale == 'all'").set_index(
            "model"
        )
        expected = stats.zscore(SCORES[FEAR].mean(axis=1).to_numpy(), ddof=1)
        assert found.loc[list(SCORES.index), "z"].to_numpy() == pytest.approx(expected, abs=1e-9)


class TestContent:
    def test_similarity_is_the_mean_cosine_with_source_prompts(self, diagnosis) -> None:
        # cos 60 and cos 90, over 4 intensifiers each; "calm" at 90 as well would pull it to 1/6.
        rows = diagnosis.content.set_index("item")
        assert rows["value"].to_dict() == pytest.approx(dict.fromkeys(KEYING, 0.25), abs=1e-6)
        assert rows["n"].to_dict() == dict.fromkeys(KEYING, 8)
        measures = {
            "one": "similarity",
            "two": "similarity",
            "three": "similarity",
            "only": "similarity_to_paraphrase",
        }
        assert rows["measure"].to_dict() == measures

    def test_and_a_figure_of_no_model(self, diagnosis) -> None:
        found = figure(diagnosis, "similarity")
        assert (found["value"], found["n"], found["unit"]) == (
            pytest.approx(0.25, abs=1e-6),
            3,
            "items",
        )
        paraphrase = figure(diagnosis, "similarity_to_paraphrase", benchmark="joy")
        assert paraphrase["value"] == pytest.approx(0.25, abs=1e-6)
        assert paraphrase["reason"] == "no interval: fewer than 5 items"


class TestOfModels:
    def test_answer_is_the_mean_weight_on_the_scale_itself(self, diagnosis) -> None:
        # Of the item on paper: the mean over two terms, not over their eight cells.
        found = figure(diagnosis, "answer", "m0")
        assert found["value"] == pytest.approx(SCORES.loc["m0", FEAR].mean() * 4, abs=1e-12)
        assert found["reason"] == "no interval: fewer than 5 items"
        one = figure(diagnosis, "answer", "m0", benchmark="joy")
        assert one["value"] == pytest.approx(
            (pss_of(MODELS["m0"]["only"])[:2] * WEIGHTS).sum() / 2, abs=1e-12
        )
        assert (one["n"], one["reason"]) == (1, "no interval: fewer than 5 items")

    def test_silhouette_is_the_mean_over_items(self, diagnosis) -> None:
        expected = np.mean([of_item(diagnosis, item, "m2")["silhouette"] for item in FEAR])
        assert figure(diagnosis, "silhouette", "m2")["value"] == pytest.approx(expected, abs=1e-12)

    @pytest.mark.parametrize(("turn", "rho"), [(1, 1.0), (-1, -1.0)])
    def test_intensifiers_in_order(self, turn, rho, diagnosed) -> None:
        rising = np.array([[0.1, 0.2, 0.5, 0.7], [0.2, 0.3, 0.5, 0.6], [0.7, 0.5, 0.3, 0.1]])[
            :, ::turn
        ]
        found = figure(diagnosed({"m1": dict.fromkeys(KEYING, rising)}), "intensifier_order", "m1")
        assert (found["value"], found["n"], found["unit"]) == (
            pytest.approx(rho),
            4,
            "intensifiers",
        )

    def test_intensifiers_that_stand_in_part_in_order(self, diagnosed) -> None:
        # Contrasts of source and inverse in the order 1 3 2 4: rho = 1 - 6 * 2 / (4 * 15).
        swapped = np.array([[0.1, 0.2, 0.5, 0.7], [0.2, 0.3, 0.5, 0.6], [0.7, 0.5, 0.3, 0.1]])[
            :, [0, 2, 1, 3]
        ]
        found = figure(diagnosed({"m1": dict.fromkeys(KEYING, swapped)}), "intensifier_order", "m1")
        assert found["value"] == pytest.approx(0.8)

    def test_an_item_that_is_keyed_the_other_way_round_is_turned_first(self, diagnosed) -> None:
        # Item two is keyed -1 and answered the other way round, as it should be: with the sign of
        # its keying all agree.
        rising = np.array([[0.1, 0.2, 0.5, 0.7], [0.2, 0.3, 0.5, 0.6], [0.7, 0.5, 0.3, 0.1]])
        steep = np.array(
            [[0.001, 0.1, 0.9, 0.999], [0.001, 0.1, 0.9, 0.999], [0.999, 0.9, 0.1, 0.001]]
        )
        answered = {"one": rising, "two": steep[:, ::-1], "three": rising, "only": rising}
        unkeyed = 2 * (pss_of(rising)[:2].mean(axis=0) - pss_of(rising)[2])
        unkeyed += pss_of(steep)[:2].mean(axis=0)[::-1] - pss_of(steep)[2][::-1]
        assert stats.spearmanr([1, 2, 3, 4], unkeyed).statistic < 1
        found = figure(diagnosed({"m1": answered}), "intensifier_order", "m1")
        assert found["value"] == pytest.approx(1.0)

    def test_what_inverse_terms_take_is_taken_off(self, diagnosed) -> None:
        # Source terms take .28 .22 .34 .15, less what the inverse one takes .21 -.00 .12 -.32:
        # another order.
        p = np.array([[0.7, 0.8, 0.5, 0.1], [0.1, 0.1, 0.8, 0.1], [0.1, 0.4, 0.6, 0.4]])
        pss = pss_of(p)
        sources, contrasts = pss[:2].mean(axis=0), pss[:2].mean(axis=0) - pss[2]
        expected = stats.spearmanr([1, 2, 3, 4], contrasts).statistic
        assert expected != pytest.approx(stats.spearmanr([1, 2, 3, 4], sources).statistic)
        found = figure(diagnosed({"m1": dict.fromkeys(KEYING, p)}), "intensifier_order", "m1")
        assert found["value"] == pytest.approx(expected)


def by_lineage(columns: list[str]) -> pd.DataFrame:
    return SCORES[columns].groupby(LINEAGES).mean()


class TestSubscales:
    def test_the_answer_of_a_subscale_is_the_mean_of_its_items(self, diagnosis) -> None:
        found = figure(diagnosis, "answer", "m0", subscale="body")
        # Items one and two are both answered as by hand, and two is keyed -1; times the four
        # intensifiers.
        assert (found["value"], found["n"], found["unit"]) == (
            pytest.approx(0, abs=1e-12),
            2,
            "items",
        )
        assert pd.isna(found["low"])
        own = figure(diagnosis, "answer", "m1", subscale="body")["value"]
        assert own == pytest.approx(4 * SCORES.loc["m1", ["one", "two"]].mean())

    def test_subscales_are_correlated_over_lineages(self) -> None:
        rng = np.random.default_rng(2)
        rows = [
            {
                "questionnaire": "fear",
                "subscale": part,
                "model": f"m{n}",
                "lineage": f"m{n}",
                "score": score,
            }
            for n, scores in enumerate(rng.normal(size=(6, 3)))
            for part, score in zip(("all", "body", "mind"), scores, strict=True)
        ]
        scores = pd.DataFrame(rows).assign(configuration="head")
        items = pd.DataFrame(
            columns=[
                "questionnaire",
                "subscale",
                "item",
                "model",
                "lineage",
                "score",
                "configuration",
            ]
        )
        content = pd.DataFrame(columns=["questionnaire", "measure", "value"])

        found = population_figures(items, scores, content, RESAMPLING, [f"m{n}" for n in range(6)])

        (row,) = found.to_dict("records")
        by_part = scores.pivot(index="model", columns="subscale", values="score")
        expected = stats.spearmanr(by_part["body"], by_part["mind"]).statistic
        assert (row["part"], row["figure"], row["n"]) == ("body", "rho_with_mind (head)", 6)
        assert row["value"] == pytest.approx(expected)


class TestAlpha:
    @pytest.mark.parametrize(("subscale", "columns"), [("all", FEAR), ("body", ["one", "two"])])
    def test_is_that_of_pingouin_over_lineages(self, subscale, columns, diagnosis) -> None:
        alpha, interval = pingouin.cronbach_alpha(by_lineage(columns), ci=0.9)
        found = figure(diagnosis, "alpha (head)", subscale=subscale)
        assert found["value"] == pytest.approx(alpha, abs=1e-12)
        assert (found["low"], found["high"]) == pytest.approx(tuple(interval), abs=6e-4)
        assert (found["n"], found["unit"]) == (5, "lineages")

    def test_models_that_share_a_lineage_count_once(self, diagnosis, diagnosed) -> None:
        apart = figure(diagnosed(lineages={name: name for name in MODELS}), "alpha (head)")
        assert apart["n"] == 6
        assert apart["value"] == pytest.approx(pingouin.cronbach_alpha(SCORES[FEAR])[0], abs=1e-12)
        assert abs(apart["value"] - figure(diagnosis, "alpha (head)")["value"]) > 1e-3

    def test_null_below_five_lineages(self, diagnosed) -> None:
        found = diagnosed({name: MODELS[name] for name in MODELS if name != "m0"})
        for name in ("alpha (head)", "rho_with_joy (head)"):
            row = figure(found, name)
            assert pd.isna(row["value"])
            assert (row["n"], row["reason"]) == (4, "fewer than 5 lineages of models")

    def test_null_of_one_item(self, diagnosis) -> None:
        row = figure(diagnosis, "alpha (head)", benchmark="joy")
        assert pd.isna(row["value"])
        assert row["reason"] == "a scale of one item has no internal consistency"

    def test_null_where_an_item_is_the_same_for_all(self, diagnosed) -> None:
        found = figure(
            diagnosed({name: {**of_model, "three": BY_HAND} for name, of_model in MODELS.items()}),
            "alpha (head)",
        )
        assert pd.isna(found["value"])
        assert found["reason"] == "an item has the same score on all models"

    def test_null_with_a_reason_where_the_total_is_the_same_for_all(self, diagnosed) -> None:
        """Items of opposite keying and the same matrix: their total is 0 for every model."""
        models = {name: {**of_model, "two": of_model["one"]} for name, of_model in MODELS.items()}
        found = figure(diagnosed(models), "alpha (head)", subscale="body")
        assert pd.isna(found["value"])
        assert not pd.isna(found["reason"])


class TestBetweenScales:
    def test_rho_is_that_of_scipy_over_lineages(self, diagnosis) -> None:
        expected = stats.spearmanr(by_lineage(FEAR).mean(axis=1), by_lineage(["only"])["only"])
        found = figure(diagnosis, "rho_with_joy (head)")
        assert found["value"] == pytest.approx(expected.statistic, abs=1e-12)
        assert found["p"] == pytest.approx(expected.pvalue, abs=1e-12)
        assert (found["n"], found["unit"]) == (5, "lineages")

    def test_once_for_each_pair(self, diagnosis) -> None:
        names = diagnosis.figures["figure"]
        assert names[names.str.startswith("rho")].tolist() == ["rho_with_joy (head)"]


FIVE = [f"m{i}" for i in range(5)]


class TestMembers:
    def test_figures_over_models_rest_on_members_alone(self, diagnosis, of_five) -> None:
        found = of_five
        without = SCORES.drop(index="m5")
        assert figure(found, "alpha (head)")["value"] == pytest.approx(
            pingouin.cronbach_alpha(without[FEAR])[0], abs=1e-12
        )
        expected = stats.spearmanr(without[FEAR].mean(axis=1), without["only"])
        assert figure(found, "rho_with_joy (head)")["value"] == pytest.approx(
            expected.statistic, abs=1e-12
        )
        assert figure(found, "rho_with_joy (head)")["n"] == 5
        assert (
            abs(figure(found, "alpha (head)")["value"] - figure(diagnosis, "alpha (head)")["value"])
            > 1e-3
        )
        body = pingouin.cronbach_alpha(without[["one", "two"]])[0]
        assert figure(found, "alpha (head)", subscale="body")["value"] == pytest.approx(
            body, abs=1e-12
        )

    def test_members_are_counted_by_lineage(self, diagnosed) -> None:
        four = diagnosed(members=["m0", "m1", "m4", "m5", "m3"])
        for name in ("alpha (head)", "rho_with_joy (head)"):
            row = figure(four, name)
            assert pd.isna(row["value"])
            assert (row["n"], row["reason"]) == (4, "fewer than 5 lineages of models")

    def test_others_keep_their_own_scores_and_figures(self, diagnosis, of_five) -> None:
        found = of_five
        pd.testing.assert_frame_equal(found.items, diagnosis.items)
        pd.testing.assert_frame_equal(found.cells, diagnosis.cells)
        pd.testing.assert_frame_equal(found.content, diagnosis.content)
        for name in ("silhouette", "answer", "intensifier_order"):
            assert figure(found, name, "m5")["value"] == figure(diagnosis, name, "m5")["value"]
        places = found.scales.query("questionnaire == 'fear' and subscale == 'all'").set_index(
            "model"
        )
        assert pd.isna(places.loc["m5", "z"])
        expected = stats.zscore(SCORES.drop(index="m5")[FEAR].mean(axis=1).to_numpy(), ddof=1)
        assert places.loc[FIVE, "z"].to_numpy() == pytest.approx(expected, abs=1e-9)

    def test_all_are_by_default(self, diagnosis, diagnosed) -> None:
        pd.testing.assert_frame_equal(diagnosed(members=list(MODELS)).figures, diagnosis.figures)

    def test_where_nobody_is_one_every_figure_over_models_is_null_with_a_reason(
        self, diagnosed, tmp_path
    ) -> None:
        found = diagnosed(members=[])
        reason = "fewer than 5 lineages of models"
        for name, benchmark, subscale in (
            ("alpha (head)", "fear", "all"),
            ("alpha (head)", "fear", "body"),
            ("rho_with_joy (head)", "fear", "all"),
        ):
            row = figure(found, name, benchmark=benchmark, subscale=subscale)
            assert pd.isna(row["value"])
            assert (row["n"], row["unit"], row["reason"]) == (0, "lineages", reason)
        assert figure(found, "alpha (head)", benchmark="joy")["n"] == 0
        assert found.scales[["z", "normal"]].isna().all(axis=None)
        assert figure(found, "similarity")["n"] == 3
        write_table(
            found.figures[schemas.FIGURES.names], schemas.FIGURES, tmp_path / "figures.parquet"
        )


LIKED = pd.DataFrame(
    [
        ("fear", "one", 1.0, 7),
        ("fear", "two", 2.0, 7),
        ("fear", "three", 6.0, 7),
        ("joy", "only", -4.0, 5),
    ],
    columns=["questionnaire", "item", "value", "n"],
).assign(measure="slor")


class TestAcceptability:
    def test_is_content_beside_similarity(self, diagnosis, liked) -> None:
        found = liked.content
        similar = found[found["measure"] != "slor"].reset_index(drop=True)
        pd.testing.assert_frame_equal(similar, diagnosis.content)
        own = found[found["measure"] == "slor"].set_index("item")
        assert own["value"].to_dict() == {"one": 1.0, "two": 2.0, "three": 6.0, "only": -4.0}

    def test_each_measure_has_a_figure_of_its_own(self, diagnosis, liked) -> None:
        found = liked
        row = figure(found, "slor")
        assert (row["value"], row["n"], row["unit"]) == (pytest.approx(3.0), 3, "items")
        assert row["reason"] == "no interval: fewer than 5 items"
        assert figure(found, "similarity")["value"] == figure(diagnosis, "similarity")["value"]
        joy = figure(found, "slor", benchmark="joy")
        assert (joy["value"], joy["n"], joy["reason"]) == (
            -4.0,
            1,
            "no interval: fewer than 5 items",
        )
        assert not (diagnosis.figures["figure"] == "slor").any()

    def test_and_a_row_of_quality_without_a_threshold(self, liked) -> None:
        rows = liked.quality.query("measure == 'slor'")
        assert rows["value"].tolist() == [1.0, 2.0, 6.0, -4.0]
        assert (set(rows["verdict"]), rows["model"].isna().all()) == ({"told"}, True)


class TestQuality:
    def test_items_are_judged_on_every_model(self, diagnosis) -> None:
        found = diagnosis.quality
        of_content = (
            found[found["model"].isna()].set_index(["item", "measure"])["verdict"].to_dict()
        )
        assert of_content == {
            **{(item, "similarity"): "poor" for item in FEAR},  # .25
            ("only", "similarity_to_paraphrase"): "told",
        }
        silhouettes = found.query("item == 'one' and measure == 'silhouette'").set_index("model")
        assert silhouettes.loc["m0", "value"] == of_item(diagnosis, "one")["silhouette"]
        assert list(silhouettes.index) == list(MODELS)


class TestScoreItems:
    def test_are_those_of_the_diagnosis(self, diagnosis) -> None:
        settings = Scoring()
        found = score_items(PROMPTS, ITEMS, answers(MODELS, LINEAGES, 7.0), settings)
        order = ["questionnaire", "model", "item"]
        expected = diagnosis.items.sort_values(order, ignore_index=True)
        pd.testing.assert_frame_equal(
            found.sort_values(order, ignore_index=True), expected, check_dtype=False
        )

    def test_a_missing_prompt_is_an_error_as_there(self) -> None:
        scores = answers({"m3": MODELS["m3"]}, LINEAGES, 7.0)
        with pytest.raises(ValueError, match=r"^m3: 1 prompts have no score$"):
            score_items(PROMPTS, ITEMS, scores[scores["id"] != "one-calm-never"], Scoring())


class TestTables:
    def test_schemas_take_them(self, diagnosis, tmp_path) -> None:
        write_table(diagnosis.cells, schemas.CELLS, tmp_path / "cells.parquet")
        write_table(diagnosis.items, schemas.ITEM_SCORES, tmp_path / "items.parquet")
        write_table(diagnosis.scales, schemas.SCALE_SCORES, tmp_path / "scales.parquet")
        write_table(diagnosis.content, schemas.CONTENT, tmp_path / "content.parquet")
        write_table(diagnosis.quality, schemas.QUALITY, tmp_path / "quality.parquet")
        write_table(
            diagnosis.figures[schemas.FIGURES.names], schemas.FIGURES, tmp_path / "figures.parquet"
        )

    def test_figures_become_metrics(self, diagnosis) -> None:
        metrics = evidence(vars(diagnosis))
        assert metrics["joy"]["all"]["any-model"]["alpha (head)"] == {
            "value": None,
            "n": 5,
            "unit": "lineages",
            "reason": "a scale of one item has no internal consistency",
        }
        assert set(metrics["fear"]["all"]["m0"]) == {
            "accuracy",
            "answer",
            "beyond_twins",
            "auc",
            "intensifier_order",
            "level_shift",
            "pss_range",
            "reordering",
            "silhouette",
        }
        assert set(metrics["fear"]["body"]["m0"]) == {"answer"}

    def test_one_model_is_enough(self, diagnosed, tmp_path) -> None:
        found = diagnosed({"m0": MODELS["m0"]})
        assert found.scales[["z", "normal"]].isna().all(axis=None)
        write_table(
            found.figures[schemas.FIGURES.names], schemas.FIGURES, tmp_path / "figures.parquet"
        )
        assert figure(found, "alpha (head)")["reason"] == "fewer than 5 lineages of models"
