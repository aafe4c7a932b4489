"""Figures of questionnaires of small tables, by hand."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from evenruler.instruments.questionnaires.diagnose.figures import model_figures, population_figures
from evenruler.measurement import Resampling
from evenruler.measurement.verdicts import ValidityCheck
from tests.instruments.questionnaires.doors import figure_table
from tests.later import Later

pingouin = Later("pingouin")

RESAMPLING = Resampling(level=0.9, resamples=60, seed=3)
MEMBERS = [f"m{seed}" for seed in range(8)]
NO_CONTENT = pd.DataFrame(columns=["questionnaire", "measure", "value"])
NO_ACCURACY = pd.DataFrame(columns=["method", "set"])


def records(figure_rows: pd.DataFrame, *columns: str) -> list[tuple[Any, ...]]:
    return list(figure_rows[list(columns)].itertuples(index=False, name=None))


# Five items, so that a mean has an interval: their scores have the mean 1, and the median 0.
SCORES = [0.0, 0.0, 0.0, 1.0, 4.0]
ITEMS = pd.DataFrame(
    {
        "questionnaire": "fear",
        "model": "m0",
        "method": "head",
        "item": [f"i{n}" for n in range(5)],
        "subscale": ["body", None, None, None, "body"],
        "keying": [1, 1, 1, 1, -1],
        "score": SCORES,
        "silhouette": [np.nan, 0.5, 0.1, 0.1, 0.1],
        "pss_low": 0.1,
        "pss_high": [0.2, 0.3, 0.4, 0.5, 1.0],
    }
)
TWINS = ITEMS.head(2).assign(score=[0.25, 0.5], silhouette=np.nan, pss_low=0.0, pss_high=[0.5, 0.7])

# By polarity and intensifier, what terms take in each item.
TAKEN = {
    ("source", "never"): [0.1, 0.1, 0.1, 0.1, -0.9],
    ("source", "often"): [0.2, 0.2, 0.2, 0.2, -0.2],
    ("source", "always"): [0.3, 0.3, 0.3, 0.3, -0.3],
    ("inverse", "never"): [0.0] * 5,
    ("inverse", "often"): [0.0] * 5,
    ("inverse", "always"): [0.2, 0.2, 0.2, 0.2, -0.2],
}
CELLS = pd.DataFrame(
    [
        {"item": f"i{n}", "polarity": polarity, "intensifier": word, "pss": pss}
        for (polarity, word), values in TAKEN.items()
        for n, pss in enumerate(values)
    ]
).assign(questionnaire="fear", model="m0", method="head")
CELLS["level"] = CELLS["intensifier"].map({"never": 1, "often": 2, "always": 3})


def of_one(
    items: pd.DataFrame = ITEMS, cells: pd.DataFrame = CELLS, fit: ValidityCheck | None = None
) -> pd.DataFrame:
    fits = {"head": fit or ValidityCheck()}
    return figure_table(model_figures(items, TWINS, cells, NO_ACCURACY, fits, 0.9))


class TestOfOneModel:
    def test_means_over_items_beside_those_of_twins(self) -> None:
        columns = ("benchmark", "subscale", "model", "method", "figure", "n", "unit")
        assert records(of_one().head(3), *columns) == [
            ("fear", "", "m0", "", "mean_response", 5, "items"),
            ("fear", "", "m0", "", "silhouette", 4, "items"),
            ("fear", "", "m0", "", "pss_range", 5, "items"),
        ]
        values = of_one().set_index(["subscale", "figure"]).loc["", ["value", "control"]]
        # Three intensifiers; the silhouette of one item is not known; twins have none.
        assert values.loc["mean_response"].tolist() == pytest.approx([3.0, 1.125])
        assert values.loc["silhouette"].tolist() == pytest.approx([0.2, np.nan], nan_ok=True)
        assert values.loc["pss_range"].tolist() == pytest.approx([0.38, 0.6])

    def test_the_interval_of_five_items_is_that_of_t_and_of_four_there_is_none(self) -> None:
        figure_rows = of_one().set_index(["subscale", "figure"]).loc[""]
        half = stats.t.ppf(0.95, 4) * 3 * stats.sem(SCORES)
        assert (
            figure_rows.loc["mean_response", "low"],
            figure_rows.loc["mean_response", "high"],
        ) == pytest.approx((3 - half, 3 + half))
        assert pd.isna(figure_rows.loc["mean_response", "reason"])
        assert figure_rows.loc["silhouette", "reason"] == "no interval: fewer than 5 items"

    def test_a_subscale_has_the_answer_of_its_items_alone_also_beside_their_twins(self) -> None:
        figure_rows = (
            of_one(items=ITEMS.assign(subscale=["body", "body", None, None, "body"]))
            .set_index("subscale")
            .loc[["body"]]
        )
        assert records(figure_rows, "benchmark", "model", "figure", "value", "n", "unit") == [
            ("fear", "m0", "mean_response", pytest.approx(4.0), 3, "items"),
        ]
        assert figure_rows["control"].tolist() == pytest.approx([3 * 0.25])

    def test_models_forms_and_subscales_come_in_order_each_with_its_own(self) -> None:
        parts = [("m1", "nli"), ("m1", "head"), ("m0", "mlm")]
        subscales = ["mind", "mind", "body", "body", None]
        items = [
            ITEMS.assign(model=model, method=method, subscale=subscales, score=score)
            for score, (model, method) in enumerate(parts)
        ]
        cells = [CELLS.assign(model=model, method=method) for model, method in parts]
        accuracy = {
            "set": "mnli",
            "n": 9,
            "accuracy": [0.5, 0.75],
            "low": 0.25,
            "high": 1.0,
            "chance": 1 / 3,
        }
        rows = model_figures(
            pd.concat(items),
            TWINS.assign(model="m1", method="nli"),
            pd.concat(cells),
            pd.DataFrame({"method": ["nli", "head"], "auc": np.nan, **accuracy}),
            {
                "nli": ValidityCheck(),
                "head": ValidityCheck(failure="it guesses"),
                "mlm": ValidityCheck(),
            },
            0.9,
        )
        figure_rows = figure_table(rows)
        answers = figure_rows[figure_rows["figure"] == "mean_response"]
        answer_by_model = {("m0", "mlm"): 6, ("m1", "nli"): 3, ("m1", "head"): 0}
        assert records(answers, "model", "method", "subscale", "value") == [
            (model, method if method == "mlm" else "", subscale, answer)
            for (model, method), answer in answer_by_model.items()
            for subscale in ("", "body", "mind")
        ]
        assert answers["control"].tolist() == pytest.approx(
            [np.nan] * 6 + [1.125, 0.75, np.nan], nan_ok=True
        )
        guesses = answers["why"].str.contains("it guesses").eq(True)
        assert guesses.tolist() == [False] * 3 + [True] * 3 + [False] * 3
        accuracies = figure_rows[figure_rows["figure"] == "accuracy"]
        assert records(accuracies, "model", "item_set", "value") == [
            ("m1", "pairs", 0.75),
            ("m1", "pairs", 0.5),
        ]

    def test_no_item_has_a_value(self) -> None:
        silhouette = of_one(ITEMS.assign(silhouette=np.nan)).set_index("figure").loc["silhouette"]
        assert (silhouette["n"], silhouette["unit"], silhouette["reason"]) == (
            0,
            "items",
            "no item has a value",
        )
        assert pd.isna(silhouette["value"])

    def test_the_order_of_intensifiers_is_of_means_over_items(self) -> None:
        fourth = CELLS.query("level == 1").assign(level=4, intensifier="ever")
        four = pd.concat([CELLS, fourth])
        order = of_one(cells=four).set_index("figure").loc["intensifier_order"]
        # Item five is keyed the other way round: means .26, .2, .3 less .2, and .26, by their
        # levels.
        expected = stats.spearmanr([1, 2, 3, 4], [0.26, 0.2, 0.1, 0.26])
        assert (order["value"], order["n"], order["unit"]) == (
            pytest.approx(expected.statistic),
            4,
            "intensifiers",
        )


def answered(values: np.ndarray, lineages: list[str], **more: Any) -> pd.DataFrame:
    """Scores of models [models, items], each with its lineage."""
    rows = []
    for (number, place), score in np.ndenumerate(values):
        rows.append((f"m{number}", lineages[number], f"i{place}", score))
    return pd.DataFrame(rows, columns=["model", "lineage", "item", "score"]).assign(
        **{"questionnaire": "fear", "subscale": None, "method": "head", **more}
    )


# Of eight models, four share a lineage.
LINEAGES = ["a", "b", "c", "d", "e", "e", "e", "e"]
DRAWN = np.random.default_rng(5).normal(size=(8, 3)) + np.arange(8)[:, None]
DRAWN[7] += [9, -8, 30]
BY_LINEAGE = np.vstack([DRAWN[:4], DRAWN[4:].mean(axis=0)])
NO_SCALES = pd.DataFrame(
    columns=["questionnaire", "subscale", "model", "lineage", "score", "method"]
)


def over_models(*tables: Any) -> pd.DataFrame:
    """Figures over models, without those of single items."""
    figure_rows = figure_table(population_figures(*tables)).astype(object)
    figure_rows = figure_rows[figure_rows["figure"] != "item_rest"].reset_index(drop=True)
    return figure_rows.where(figure_rows.notna(), None)


class TestOverModels:
    def test_alpha_is_of_the_means_of_lineages(self) -> None:
        items = answered(DRAWN, LINEAGES)
        (row,) = over_models(items, NO_SCALES, NO_CONTENT, RESAMPLING, MEMBERS).to_dict("records")
        alpha, interval = pingouin.cronbach_alpha(pd.DataFrame(BY_LINEAGE), ci=0.9)
        assert (row["n"], row["unit"], row["reason"]) == (5, "lineages", None)
        assert row["value"] == pytest.approx(alpha)
        assert (row["low"], row["high"]) == pytest.approx(tuple(interval), abs=6e-4)

    def test_an_item_is_correlated_with_the_rest_over_lineages(self) -> None:
        rows = population_figures(
            answered(DRAWN, LINEAGES), NO_SCALES, NO_CONTENT, RESAMPLING, MEMBERS
        )
        item_rest = figure_table(rows).query("figure == 'item_rest'").set_index("item")
        assert set(item_rest["method"]) == {"head"}
        rest = BY_LINEAGE[:, [0, 2]].sum(axis=1)
        assert item_rest.loc["i1", "value"] == pytest.approx(
            np.corrcoef(BY_LINEAGE[:, 1], rest)[0, 1]
        )
        assert item_rest.loc["i1", ["n", "unit"]].tolist() == [5, "lineages"]
        assert len(item_rest) == 3

    def test_subscales_and_configurations_have_their_own_in_order(self) -> None:
        parts = [
            answered(DRAWN[:5], LINEAGES, method="tuned"),
            answered(DRAWN, LINEAGES, subscale="ability", silhouette=np.nan),
        ]
        figure_rows = over_models(pd.concat(parts), NO_SCALES, NO_CONTENT, RESAMPLING, MEMBERS)
        assert records(figure_rows, "subscale", "figure", "method", "n") == [
            ("", "alpha", "head", 5),
            ("ability", "alpha", "head", 5),
            ("", "alpha", "tuned", 5),
        ]

    def test_alpha_of_two_items(self) -> None:
        (row,) = over_models(
            answered(DRAWN[:, :2], LINEAGES), NO_SCALES, NO_CONTENT, RESAMPLING, MEMBERS
        ).to_dict("records")
        assert row["value"] == pytest.approx(
            pingouin.cronbach_alpha(pd.DataFrame(BY_LINEAGE[:, :2]))[0]
        )

    @pytest.mark.parametrize(
        ("values", "reason"),
        [
            (DRAWN[:, :1], "a scale of one item has no internal consistency"),
            (DRAWN * [1, 0, 1], "an item has the same score on all models"),
            (np.column_stack([DRAWN[:, 0], -DRAWN[:, 0]]), "undefined for these values"),
        ],
    )
    def test_alpha_that_has_no_meaning_is_null_with_the_reason(
        self, values: np.ndarray, reason: str
    ) -> None:
        figure_rows = over_models(
            answered(values, LINEAGES), NO_SCALES, NO_CONTENT, RESAMPLING, MEMBERS
        )
        assert records(figure_rows, "figure", "value", "n", "unit", "reason") == [
            ("alpha", None, 5, "lineages", reason)
        ]

    def test_where_nobody_counts_every_scale_still_says_why_there_is_none(self) -> None:
        scales = answered(DRAWN, LINEAGES).assign(
            questionnaire=lambda rows: rows["item"], subscale="all"
        )
        figure_rows = over_models(answered(DRAWN, LINEAGES), scales, NO_CONTENT, RESAMPLING, [])
        assert figure_rows["figure"].tolist() == ["alpha", "rho", "rho", "rho"]
        assert figure_rows["other"].tolist() == ["", "i1", "i2", "i2"]
        columns = ["method", "n", "unit", "reason"]
        (shared,) = set(records(figure_rows, *columns))
        assert shared == ("head", 0, "lineages", "fewer than 5 lineages of models")
        assert figure_rows["value"].isna().all()

    def test_content_has_a_mean_of_each_measure_without_a_model(self) -> None:
        rows = [("acceptability_of_twins", 0.1), ("similarity_to_paraphrase", 0.2), ("slor", 0.5)]
        rows += [("similarity", value) for value in (0.1, 0.1, 0.7)]
        content = pd.DataFrame(rows, columns=["measure", "value"]).assign(questionnaire="fear")
        tables = (answered(DRAWN, LINEAGES), NO_SCALES, content)
        figure_rows = over_models(*tables, RESAMPLING, MEMBERS).tail(4)
        columns = ("figure", "item_set", "reference", "value", "n")
        assert records(figure_rows, *columns) == [
            ("acceptability", "twins", "", pytest.approx(0.1), 1),
            ("similarity", "", "", pytest.approx(0.3), 3),
            ("similarity", "", "paraphrase", pytest.approx(0.2), 1),
            ("slor", "items", "", pytest.approx(0.5), 1),
        ]
        assert set(figure_rows["reason"]) == {"no interval: fewer than 5 items"}

    def test_rho_is_over_means_of_lineages_of_each_pair_of_scales_and_of_subscales(self) -> None:
        whole = answered(DRAWN, LINEAGES).assign(
            questionnaire=lambda rows: rows["item"], subscale="all"
        )
        parts = [
            answered(-DRAWN, LINEAGES, questionnaire=name).assign(
                subscale=lambda rows: rows["item"]
            )
            for name in ("joy", "fear")
        ]
        scales = pd.concat([whole.assign(method="tuned"), whole, *parts])
        figure_rows = over_models(
            answered(DRAWN, LINEAGES), scales, NO_CONTENT, RESAMPLING, MEMBERS
        ).iloc[1:]
        pairs = [(0, 1), (0, 2), (1, 2)]
        rho = {
            (a, b): stats.spearmanr(BY_LINEAGE[:, a], BY_LINEAGE[:, b]).statistic for a, b in pairs
        }
        assert len({round(rho_of_pair, 6) for rho_of_pair in rho.values()}) > 1
        columns = ("other", "value", "n")
        values = []
        for (_, other), value in rho.items():
            values.append((f"i{other}", pytest.approx(value), 5))
        assert records(figure_rows, *columns) == 4 * values
        scales = figure_rows[["benchmark", "subscale"]].to_numpy().tolist()
        firsts = ["i0", "i0", "i1"]
        whole_scales = [[first, ""] for first in firsts]
        subscales = [[name, first] for name in ("fear", "joy") for first in firsts]
        assert scales == [*whole_scales, *subscales, *whole_scales]
        assert figure_rows["method"].tolist() == 9 * ["head"] + 3 * ["tuned"]
        assert set(figure_rows["figure"]) == {"rho"}

    def test_a_lineage_that_lacks_one_of_two_scales_is_left_out(self) -> None:
        scales = answered(DRAWN[:, :2], LINEAGES).assign(
            questionnaire=lambda rows: rows["item"], subscale="all"
        )
        lacking = scales[(scales["lineage"] != "a") | (scales["item"] != "i1")]
        figure_row = over_models(
            answered(DRAWN, LINEAGES), lacking, NO_CONTENT, RESAMPLING, MEMBERS
        ).iloc[-1]
        columns = ["benchmark", "figure", "other", "n"]
        assert figure_row[columns].tolist() == ["i0", "rho", "i1", 4]
        assert (figure_row["unit"], figure_row["reason"]) == (
            "lineages",
            "fewer than 5 lineages of models",
        )
        assert pd.isna(figure_row["value"])
