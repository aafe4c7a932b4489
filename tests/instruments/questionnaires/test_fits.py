from typing import Any

import numpy as np
import pandas as pd
import pytest

from evenruler.instruments.questionnaires.diagnose.quality import over_fits
from evenruler.measurement.agreement import icc_agreement, icc_of_mean, mean_spearman
from evenruler.measurement.multitrait import shared_changes
from tests.instruments.questionnaires.doors import subject

ITEMS = {"fear": 7, "joy": 6}


def fit(name: str, seed: int, lineage: str = "base", **recipe: Any) -> Any:
    return subject(name, lineage=lineage, recipe={"seed": seed, "epochs": 3, **recipe})


FITS = [fit("a", 1), fit("b", 2), fit("c", 3)]


def scores(models: list[str], seed: int) -> pd.DataFrame:
    """Item scores of models."""
    rng = np.random.default_rng(seed)
    rows = []
    for name, n in ITEMS.items():
        level = rng.normal(size=n)
        for model in models:
            own = level + rng.normal() + rng.normal(scale=0.5, size=n)
            rows += [{"questionnaire": name, "model": model, "item": f"i{i}", "score": x} for i, x in enumerate(own)]
    return pd.DataFrame(rows)


def found(subjects: list[Any], members: list[str] | None = None, twins: bool = True) -> pd.DataFrame:
    names = [who.name for who in subjects]
    items, beside = scores(names, 1), scores(names, 2)
    return over_fits(subjects, items, beside if twins else beside.head(0), members or names, 0.95)


def matrix(seed: int, name: str) -> np.ndarray:
    own = scores(["a", "b", "c"], seed).query("questionnaire == @name")
    return own.pivot(index="item", columns="model", values="score").to_numpy()


class TestOverFits:
    def test_are_those_of_the_statistics_and_the_control_is_of_the_twins(self) -> None:
        rows = found(FITS).set_index(["benchmark", "model", "figure"])
        x, beside = matrix(1, "fear"), matrix(2, "fear")
        one, mean = (rows.loc[("fear", "b", figure)] for figure in ("icc_over_fits", "icc_of_mean_fit"))
        assert (one["value"], one["low"], one["high"]) == pytest.approx(tuple(vars(icc_agreement(x)).values()))
        assert one["control"] == pytest.approx(icc_agreement(beside).value)
        assert (mean["value"], mean["control"]) == pytest.approx((icc_of_mean(x).value, icc_of_mean(beside).value))
        ranks = rows.loc[("fear", "b", "spearman_over_fits")]
        assert (ranks["value"], ranks["control"]) == pytest.approx((mean_spearman(x), mean_spearman(beside)))
        assert ranks["low"] is None or np.isnan(ranks["low"])
        changes = shared_changes((x - beside).T, [(matrix(1, "joy") - matrix(2, "joy")).T])
        told = rows.loc[("fear", "b", "shared_changes_over_fits")]
        assert (told["value"], told["control"], told["p"]) == pytest.approx((changes.own, changes.other, changes.p))

    def test_every_fit_has_the_same(self) -> None:
        rows = found(FITS).query("figure == 'icc_over_fits' and benchmark == 'joy'")
        assert rows["model"].tolist() == ["a", "b", "c"]
        assert rows["value"].nunique() == 1

    @pytest.mark.parametrize(
        "other", [fit("b", 2, half=1), fit("b", 2, epochs=2), fit("b", 2, "another"), subject("b", lineage="base")]
    )
    def test_another_recipe_or_lineage_is_no_fit_of_the_same(self, other) -> None:
        rows = found([fit("a", 1), other]).query("model == 'a'")
        assert rows["reason"].unique().tolist() == ["no model in use differs from it in the seed of its fit alone"]
        assert set(rows["figure"]) == {"icc_over_fits"}

    def test_models_that_do_not_count_are_no_fits(self) -> None:
        rows = found(FITS, ["a", "b"])
        assert rows.loc[rows["model"] == "c", "reason"].unique().tolist() == [
            "its accuracy is not surely above the bar"
        ]
        assert rows.loc[rows["model"] == "c", "value"].isna().all()
        assert rows.loc[rows["model"] == "c", ["n", "unit"]].to_numpy().tolist() == [[7, "items"], [6, "items"]]
        assert set(rows.loc[rows["figure"] == "spearman_over_fits", "model"]) == {"a", "b"}

    def test_two_fits_agree_but_have_no_shared_changes(self) -> None:
        rows = found(FITS[:2]).query("benchmark == 'fear' and model == 'a'").set_index("figure")
        assert rows.loc["icc_over_fits", "value"] > 0
        assert rows.loc["shared_changes_over_fits", "reason"] == "2 fits, of at least 3"

    def test_without_twins_there_is_no_control(self) -> None:
        rows = found(FITS, twins=False).query("benchmark == 'fear' and model == 'a'").set_index("figure")
        assert pd.isna(rows.loc["icc_over_fits", "control"])
        assert rows.loc["shared_changes_over_fits", "reason"] == "its items have no twins"

    def test_without_another_questionnaire_there_are_no_shared_changes(self) -> None:
        names = ["a", "b", "c"]
        items, twins = (scores(names, seed).query("questionnaire == 'fear'") for seed in (1, 2))
        rows = over_fits(FITS, items, twins, names, 0.95).query("model == 'a'").set_index("figure")
        told = rows.loc["shared_changes_over_fits"]
        assert (pd.isna(told["value"]), told["n"], told["unit"]) == (True, 7, "items")
        assert told["reason"] == "no other questionnaire with twins was asked"

    def test_fits_that_do_not_differ_have_none_either(self) -> None:
        alike = scores(["a"], 1)
        items = pd.concat([alike.assign(model=name) for name in "abc"])
        rows = over_fits(FITS, items, items.assign(score=0.0), ["a", "b", "c"], 0.95)
        told = rows.query("benchmark == 'fear' and model == 'a'").set_index("figure").loc["shared_changes_over_fits"]
        assert (pd.isna(told["value"]), told["reason"]) == (True, "the fits do not differ")
        assert found(FITS).query("figure == 'shared_changes_over_fits'")["reason"].isna().all()

    def test_one_item_is_no_sample(self) -> None:
        items = scores(["a", "b", "c"], 1).query("item == 'i0'")
        rows = over_fits(FITS, items, items.head(0), ["a", "b", "c"], 0.95)
        assert rows["figure"].tolist() == ["icc_over_fits"] * 6
        assert set(zip(rows["n"], rows["unit"], rows["reason"], strict=True)) == {
            (1, "items", "fits cannot be seen to agree about one item")
        }

    def test_items_of_one_score_have_no_agreement(self) -> None:
        items = scores(["a", "b", "c"], 1).assign(score=2.0)
        rows = over_fits(FITS, items, scores(["a", "b", "c"], 2), ["a", "b", "c"], 0.95)
        row = rows.query("benchmark == 'fear' and model == 'a'").set_index("figure").loc["icc_over_fits"]
        assert (pd.isna(row["value"]), row["n"], row["unit"]) == (True, 7, "items")
        assert row["reason"] == "all items have the same score"
        assert row["control"] == pytest.approx(icc_agreement(matrix(2, "fear")).value)

    def test_questionnaires_are_in_the_alphabet(self) -> None:
        items, twins = scores(["a", "b", "c"], 1)[::-1], scores(["a", "b", "c"], 2)[::-1]
        assert over_fits(FITS, items, twins, ["a", "b", "c"], 0.95)["benchmark"].unique().tolist() == ["fear", "joy"]

    def test_nothing_of_models_that_were_not_fitted_here(self) -> None:
        assert found([subject("a"), subject("b")]).empty
