from typing import Any

import numpy as np
import pandas as pd
import pytest

from evenruler.instruments.questionnaires.diagnose.fits import over_fits
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
        assert set(rows.loc[rows["figure"] == "spearman_over_fits", "model"]) == {"a", "b"}

    def test_two_fits_agree_but_have_no_shared_changes(self) -> None:
        rows = found(FITS[:2]).query("benchmark == 'fear' and model == 'a'").set_index("figure")
        assert rows.loc["icc_over_fits", "value"] > 0
        assert rows.loc["shared_changes_over_fits", "reason"] == "2 fits, of at least 3"

    def test_without_twins_there_is_no_control(self) -> None:
        rows = found(FITS, twins=False).query("benchmark == 'fear' and model == 'a'").set_index("figure")
        assert pd.isna(rows.loc["icc_over_fits", "control"])
        assert rows.loc["shared_changes_over_fits", "reason"] == "its items have no twins"

    def test_nothing_of_models_that_were_not_fitted_here(self) -> None:
        assert found([subject("a"), subject("b")]).empty
