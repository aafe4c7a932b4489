"""Which items need work, and how far fits agree."""

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest

from evenruler.instruments.questionnaires import schemas
from evenruler.instruments.questionnaires.diagnose.quality import (
    THRESHOLDS,
    of_content,
    of_silhouettes,
    over_fits,
    refuse_poor,
    threshold_verdict,
)
from evenruler.measurement.reliability import icc_agreement
from evenruler.tables import read_frame, write_table
from tests.instruments.questionnaires.doors import subject

CLOSER = "stay closer to the original question: fix the templates, or the source terms"
PLAINER = (
    "source and inverse terms get the same answers: choose clearer opposites, or refer to "
    "the term in the hypothesis"
)

ITEMS = pd.DataFrame(
    [
        ("fear", "one", "m0", 0.9),
        ("fear", "one", "m1", -0.2),
        ("fear", "two", "m0", 0.3),
        ("fear", "two", "m1", None),
    ],
    columns=["questionnaire", "item", "model", "silhouette"],
).assign(score=1.0, subscale=None)
CONTENT = pd.DataFrame(
    [
        ("fear", "one", "similarity", 0.7, 12),
        ("fear", "two", "similarity", 0.4, 12),
        ("joy", "only", "similarity_to_paraphrase", 0.1, 8),
        ("fear", "one", "slor", -0.3, 7),
        ("fear", "two", "acceptability", 0.2, 7),
    ],
    columns=["questionnaire", "item", "measure", "value", "n"],
)


def quality(items: pd.DataFrame, content: pd.DataFrame) -> pd.DataFrame:
    """Of no model, then of models."""
    return pd.concat([of_content(content), of_silhouettes(items)], ignore_index=True)


def row_of(found: pd.DataFrame, item: str, measure: str, model: str | None = None) -> pd.Series:
    chosen = found["model"].isna() if model is None else found["model"] == model
    (row,) = [
        row
        for _, row in found[
            chosen & (found["item"] == item) & (found["measure"] == measure)
        ].iterrows()
    ]
    return row


class TestVerdict:
    @pytest.mark.parametrize(
        ("measure", "value", "expected"),
        [
            ("similarity", 1.0, "good"),
            ("similarity", 0.5, "good"),  # at least .5
            ("similarity", math.nextafter(0.5, 0), "poor"),
            ("similarity", -1.0, "poor"),
            ("silhouette", 1.0, "good"),
            ("silhouette", 0.6, "good"),  # at least .6
            ("silhouette", math.nextafter(0.6, 0), "weak"),
            ("silhouette", math.nextafter(0.0, 1), "weak"),  # above 0
            ("silhouette", 0.0, "poor"),
            ("silhouette", -1.0, "poor"),
            ("silhouette", math.nan, "told"),
            ("similarity", math.nan, "told"),
            ("similarity_to_paraphrase", 0.1, "told"),
            ("slor", -5.0, "told"),
            ("acceptability", 0.01, "told"),
        ],
    )
    def test_at_the_borders(self, measure, value, expected) -> None:
        assert threshold_verdict(measure, value) == expected

    def test_two_measures_have_a_threshold(self) -> None:
        assert {name: threshold.good for name, threshold in THRESHOLDS.items()} == {
            "similarity": 0.5,
            "silhouette": 0.6,
        }


class TestQuality:
    def test_every_figure_of_every_item_has_a_row(self) -> None:
        found = quality(ITEMS, CONTENT)
        assert len(found) == len(CONTENT) + len(ITEMS)
        assert found["measure"].value_counts().to_dict() == {
            "silhouette": 4,
            "similarity": 2,
            "similarity_to_paraphrase": 1,
            "slor": 1,
            "acceptability": 1,
        }

    @pytest.mark.parametrize(
        ("item", "measure", "model", "value", "threshold", "said", "advice"),
        [
            ("one", "similarity", None, 0.7, 0.5, "good", None),
            ("two", "similarity", None, 0.4, 0.5, "poor", CLOSER),
            ("one", "silhouette", "m0", 0.9, 0.6, "good", None),
            ("one", "silhouette", "m1", -0.2, 0.6, "poor", PLAINER),
            ("two", "silhouette", "m0", 0.3, 0.6, "weak", PLAINER),
            ("two", "silhouette", "m1", None, 0.6, "told", None),
            ("only", "similarity_to_paraphrase", None, 0.1, None, "told", None),
            ("one", "slor", None, -0.3, None, "told", None),
            ("two", "acceptability", None, 0.2, None, "told", None),
        ],
    )
    def test_with_a_verdict_and_advice_where_it_is_not_good(
        self, item, measure, model, value, threshold, said, advice, tmp_path
    ) -> None:
        """As it is read back, where what is not there is null."""
        write_table(quality(ITEMS, CONTENT), schemas.QUALITY, tmp_path / "quality.parquet")
        row = row_of(read_frame(tmp_path / "quality.parquet"), item, measure, model)
        plain = {
            name: None if pd.isna(row[name]) else row[name]
            for name in ("value", "threshold", "verdict", "advice")
        }
        assert plain == {"value": value, "threshold": threshold, "verdict": said, "advice": advice}
        assert row["questionnaire"] == ("joy" if item == "only" else "fear")

    def test_where_all_is_well_no_advice_is_given(self, tmp_path) -> None:
        """The columns that hold nothing keep their kind."""
        found = quality(ITEMS[:1], CONTENT[:1])
        write_table(found, schemas.QUALITY, tmp_path / "quality.parquet")
        read = read_frame(tmp_path / "quality.parquet")
        assert list(read.columns) == schemas.QUALITY.names
        assert (read["verdict"].tolist(), read["advice"].isna().tolist()) == (
            ["good", "good"],
            [True, True],
        )

    def test_silhouettes_that_are_all_null_are_told(self, tmp_path) -> None:
        found = quality(ITEMS.assign(silhouette=math.nan), CONTENT[:0])
        write_table(found, schemas.QUALITY, tmp_path / "quality.parquet")
        read = read_frame(tmp_path / "quality.parquet")
        assert (set(read["verdict"]), read["value"].isna().all()) == ({"told"}, True)


class TestStopping:
    def test_a_poor_item_of_a_questionnaire_that_asks_for_it_is_one_line(self, error_of) -> None:
        assert error_of(refuse_poor, quality(ITEMS, CONTENT), ["fear"]) == (
            f"fear, item two: similarity is 0.40; {CLOSER}; or take `stop_below` out of params.yaml"
        )

    def test_others_and_weak_ones_pass(self) -> None:
        refuse_poor(quality(ITEMS, CONTENT), ["joy"])
        refuse_poor(quality(ITEMS[2:], CONTENT[2:]), ["fear"])


SCORES = {"fear": 7, "joy": 6}


def fit(name: str, seed: int, lineage: str = "base", **recipe: Any) -> Any:
    return subject(name, lineage=lineage, recipe={"seed": seed, "epochs": 3, **recipe})


FITS = [fit("a", 1), fit("b", 2), fit("c", 3)]


def scores(models: list[str], seed: int) -> pd.DataFrame:
    """Item scores of models."""
    rng = np.random.default_rng(seed)
    rows = []
    for name, n in SCORES.items():
        level = rng.normal(size=n)
        for model in models:
            own = level + rng.normal() + rng.normal(scale=0.5, size=n)
            rows += [
                {"questionnaire": name, "model": model, "item": f"i{i}", "score": x}
                for i, x in enumerate(own)
            ]
    return pd.DataFrame(rows)


def found(
    subjects: list[Any], members: list[str] | None = None, twins: bool = True
) -> pd.DataFrame:
    names = [who.name for who in subjects]
    items, beside = scores(names, 1), scores(names, 2)
    return over_fits(subjects, items, beside if twins else beside.head(0), members or names, 0.95)


def matrix(seed: int, name: str) -> np.ndarray:
    own = scores(["a", "b", "c"], seed).query("questionnaire == @name")
    return own.pivot(index="item", columns="model", values="score").to_numpy()


class TestOverFits:
    def test_is_that_of_shrout_and_fleiss_and_the_control_is_of_the_twins(self) -> None:
        one = (
            found(FITS)
            .set_index(["benchmark", "model", "figure"])
            .loc[("fear", "b", "icc_over_fits")]
        )
        expected = icc_agreement(matrix(1, "fear"))
        assert (one["value"], one["low"], one["high"]) == pytest.approx(
            tuple(vars(expected).values())
        )
        assert one["control"] == pytest.approx(icc_agreement(matrix(2, "fear")).value)

    def test_every_fit_has_the_same(self) -> None:
        rows = found(FITS).query("figure == 'icc_over_fits' and benchmark == 'joy'")
        assert rows["model"].tolist() == ["a", "b", "c"]
        assert rows["value"].nunique() == 1

    @pytest.mark.parametrize(
        "other",
        [
            fit("b", 2, half=1),
            fit("b", 2, epochs=2),
            fit("b", 2, "another"),
            subject("b", lineage="base"),
        ],
    )
    def test_another_recipe_or_lineage_is_no_fit_of_the_same(self, other) -> None:
        rows = found([fit("a", 1), other]).query("model == 'a'")
        assert rows["reason"].unique().tolist() == [
            "no model in use differs from it in the seed of its fit alone"
        ]
        assert set(rows["figure"]) == {"icc_over_fits"}

    def test_models_that_do_not_count_are_no_fits(self) -> None:
        rows = found(FITS, ["a", "b"])
        assert rows.loc[rows["model"] == "c", "reason"].unique().tolist() == [
            "the interval of its accuracy is not above the bar"
        ]
        assert rows.loc[rows["model"] == "c", "value"].isna().all()
        assert rows.loc[rows["model"] == "c", ["n", "unit"]].to_numpy().tolist() == [
            [7, "items"],
            [6, "items"],
        ]
        assert set(rows.loc[rows["value"].notna(), "model"]) == {"a", "b"}

    def test_without_twins_there_is_no_control(self) -> None:
        rows = (
            found(FITS, twins=False)
            .query("benchmark == 'fear' and model == 'a'")
            .set_index("figure")
        )
        assert pd.isna(rows.loc["icc_over_fits", "control"])

    def test_one_item_is_no_sample(self) -> None:
        items = scores(["a", "b", "c"], 1).query("item == 'i0'")
        rows = over_fits(FITS, items, items.head(0), ["a", "b", "c"], 0.95)
        assert rows["figure"].tolist() == ["icc_over_fits"] * 6
        assert set(zip(rows["n"], rows["unit"], rows["reason"], strict=True)) == {
            (1, "items", "agreement of fits needs at least two items")
        }

    def test_items_of_one_score_have_no_agreement(self) -> None:
        items = scores(["a", "b", "c"], 1).assign(score=2.0)
        rows = over_fits(FITS, items, scores(["a", "b", "c"], 2), ["a", "b", "c"], 0.95)
        row = (
            rows.query("benchmark == 'fear' and model == 'a'")
            .set_index("figure")
            .loc["icc_over_fits"]
        )
        assert (pd.isna(row["value"]), row["n"], row["unit"]) == (True, 7, "items")
        assert row["reason"] == "all items have the same score"
        assert row["control"] == pytest.approx(icc_agreement(matrix(2, "fear")).value)

    def test_questionnaires_are_in_the_alphabet(self) -> None:
        items, twins = scores(["a", "b", "c"], 1)[::-1], scores(["a", "b", "c"], 2)[::-1]
        assert over_fits(FITS, items, twins, ["a", "b", "c"], 0.95)[
            "benchmark"
        ].unique().tolist() == ["fear", "joy"]

    def test_nothing_of_models_that_were_not_fitted_here(self) -> None:
        assert found([subject("a"), subject("b")]).empty
