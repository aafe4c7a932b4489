"""Which items need work, and how far fits agree."""

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest

from evenruler.instruments.questionnaires.diagnose.quality import (
    of_content,
    of_silhouettes,
    over_fits,
    threshold_verdict,
)
from evenruler.measurement.reliability import icc_agreement
from tests.instruments.questionnaires.doors import figure_table, subject
from tests.text_tables import table_of_text

CLOSER = "stay closer to the original question: fix the templates, or the source terms"
PLAINER = (
    "source and inverse terms get the same answers: choose clearer opposites, or refer to "
    "the term in the hypothesis"
)

ITEMS = table_of_text("""\
questionnaire|item|model|silhouette
fear|one|m0|0.9
fear|one|m1|-0.2
fear|two|m0|0.3
fear|two|m1|
""").assign(score=1.0, subscale=None)
CONTENT = table_of_text("""\
questionnaire|item|measure|value|n
fear|one|similarity|0.7|12
fear|two|similarity|0.4|12
joy|only|similarity_to_paraphrase|0.1|8
fear|one|slor|-0.3|7
fear|two|acceptability|0.2|7
""")


def quality(items: pd.DataFrame, content: pd.DataFrame) -> pd.DataFrame:
    """Of no model, then of models."""
    return pd.concat([of_content(content), of_silhouettes(items)], ignore_index=True)


class TestVerdict:
    @pytest.mark.parametrize(
        ("measure", "figure", "expected"),
        [
            ("similarity", 0.5, "good"),  # at least .5
            ("similarity", math.nextafter(0.5, 0), "poor"),
            ("silhouette", 0.6, "good"),  # at least .6
            ("silhouette", math.nextafter(0.6, 0), "weak"),
            ("silhouette", 0.0, "poor"),
            ("silhouette", math.nan, "told"),
        ],
    )
    def test_at_the_borders(self, measure, figure, expected) -> None:
        assert threshold_verdict(measure, figure) == expected


class TestQuality:
    def test_with_a_verdict_and_advice_where_it_is_not_good(self) -> None:
        expected = table_of_text(f"""\
questionnaire|item|measure|model|value|threshold|verdict|advice
fear|one|similarity||0.7|0.5|good|
fear|two|similarity||0.4|0.5|poor|{CLOSER}
joy|only|similarity_to_paraphrase||0.1||told|
fear|one|silhouette|m0|0.9|0.6|good|
fear|one|silhouette|m1|-0.2|0.6|poor|{PLAINER}
fear|two|silhouette|m0|0.3|0.6|weak|{PLAINER}
fear|two|silhouette|m1||0.6|told|
""")
        rows = quality(ITEMS, CONTENT)[list(expected)]
        rows = rows[rows["measure"].isin(expected["measure"])].reset_index(drop=True)
        plain, written = (table.astype(object).fillna("") for table in (rows, expected))
        pd.testing.assert_frame_equal(plain, written)


SCORES = {"fear": 7, "joy": 6}


def fit(name: str, seed: int, lineage: str = "base", **recipe: Any) -> Any:
    return subject(
        name,
        lineage=lineage,
        recipe={"seed": seed, "epochs": 3, **recipe},
    )


FITS = [
    fit("a", 1),
    fit("b", 2),
    fit("c", 3),
]


def scores(models: list[str], seed: int) -> pd.DataFrame:
    """Item scores of models."""
    rng = np.random.default_rng(seed)
    tables = []
    for name, n in SCORES.items():
        level = rng.normal(size=n)
        for model in models:
            noisy = level + rng.normal() + rng.normal(scale=0.5, size=n)
            table = pd.DataFrame({"item": [f"i{number}" for number in range(n)], "score": noisy})
            tables.append(table.assign(questionnaire=name, model=model))
    return pd.concat(tables, ignore_index=True)


def agreement_of(
    subjects: list[Any], members: list[str] | None = None, twins: bool = True
) -> pd.DataFrame:
    names = [who.name for who in subjects]
    items, twin_scores = scores(names, 1), scores(names, 2)
    twin_scores = twin_scores if twins else twin_scores.head(0)
    return figure_table(over_fits(subjects, items, twin_scores, members or names, 0.95))


def matrix(seed: int, name: str) -> np.ndarray:
    score_rows = scores(["a", "b", "c"], seed).query("questionnaire == @name")
    return score_rows.pivot(index="item", columns="model", values="score").to_numpy()


class TestOverFits:
    def test_is_that_of_shrout_and_fleiss_and_the_control_is_of_the_twins(self) -> None:
        rows = agreement_of(FITS).query("figure == 'icc_over_fits'")
        for name in SCORES:
            expected, of_twins = (icc_agreement(matrix(seed, name)) for seed in (1, 2))
            of_scale = rows[rows["benchmark"] == name].set_index("model")
            assert list(of_scale.index) == ["a", "b", "c"]
            for _, row in of_scale.iterrows():
                figures = row[["value", "low", "high", "control"]].tolist()
                ends = [expected.low, expected.high]
                assert figures == pytest.approx([expected.value, *ends, of_twins.value])

    @pytest.mark.parametrize(
        "other",
        [
            fit("b", 2, half=1),
            fit("b", 2, "another"),
            subject("b", lineage="base"),
        ],
    )
    def test_another_recipe_or_lineage_is_no_fit_of_the_same(self, other) -> None:
        rows = agreement_of([fit("a", 1), other]).query("model == 'a'")
        assert rows["reason"].unique().tolist() == [
            "no model in use differs from it in the seed of its fit alone"
        ]
        assert set(rows["figure"]) == {"icc_over_fits"}

    def test_models_that_do_not_count_are_no_fits(self) -> None:
        rows = agreement_of(FITS, ["a", "b"])
        lacking = rows[rows["value"].isna()]
        assert set(rows.dropna(subset="value")["model"]) == {"a", "b"}
        assert set(lacking["model"]) == {"c"}
        assert set(lacking["reason"]) == {"the interval of its accuracy is not above the threshold"}

    def test_without_twins_there_is_no_control(self) -> None:
        assert agreement_of(FITS, twins=False)["control"].isna().all()

    @pytest.mark.parametrize(
        ("n_items", "score", "reason"),
        [
            (1, None, "agreement of fits needs at least two items"),
            (6, 2.0, "all items have the same score"),
        ],
    )
    def test_items_that_have_no_agreement(self, n_items, score, reason) -> None:
        items = scores(["a", "b", "c"], 1).query("questionnaire == 'joy'")
        items = items.groupby("model").head(n_items)
        items["score"] = items["score"] if score is None else score
        rows = figure_table(over_fits(FITS, items, items.head(0), ["a", "b", "c"], 0.95))
        assert set(rows["reason"]) == {reason}
        assert set(rows["n"]) == {n_items}
        assert rows["value"].isna().all()

    def test_nothing_of_models_that_were_not_fitted_here(self) -> None:
        assert agreement_of([subject("a"), subject("b")]).empty
