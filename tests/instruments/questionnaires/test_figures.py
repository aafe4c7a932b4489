"""Figures of questionnaires of small tables, by hand."""

from collections.abc import Sequence
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
from tests.text_tables import table_of_text

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

# What terms take in the first four items, and in the last, which is keyed the other way round.
TAKEN = table_of_text("""\
polarity|intensifier|level|pss|of_last
source|never|1|0.1|-0.9
source|often|2|0.2|-0.2
source|always|3|0.3|-0.3
inverse|never|1|0.0|0.0
inverse|often|2|0.0|0.0
inverse|always|3|0.2|-0.2
""")
CELLS = TAKEN.merge(ITEMS[["questionnaire", "model", "method", "item"]], how="cross")
CELLS["pss"] = CELLS["pss"].where(CELLS["item"] != "i4", CELLS["of_last"])


def of_one(
    items: pd.DataFrame = ITEMS, cells: pd.DataFrame = CELLS, fit: ValidityCheck | None = None
) -> pd.DataFrame:
    fits = {"head": fit or ValidityCheck()}
    return figure_table(model_figures(items, TWINS, cells, NO_ACCURACY, fits, 0.9))


class TestOfOneModel:
    def test_means_over_items_beside_those_of_twins(self) -> None:
        columns = ("benchmark", "subscale", "model", "method", "figure", "n", "unit")
        figure_rows = of_one()
        assert records(figure_rows.head(3), *columns) == [
            ("fear", "", "m0", "", "mean_response", 5, "items"),
            ("fear", "", "m0", "", "silhouette", 4, "items"),
            ("fear", "", "m0", "", "pss_range", 5, "items"),
        ]
        # Three intensifiers; the silhouette of one item is not known; twins have none.
        whole = figure_rows.head(3)
        assert whole["value"].tolist() == pytest.approx([3.0, 0.2, 0.38])
        assert whole["control"].tolist() == pytest.approx([1.125, np.nan, 0.6], nan_ok=True)

    def test_the_interval_of_five_items_is_that_of_t_and_of_four_there_is_none(self) -> None:
        answer, silhouette = of_one().head(2).to_dict("records")
        half = stats.t.ppf(0.95, 4) * 3 * stats.sem(SCORES)
        assert (answer["low"], answer["high"]) == pytest.approx((3 - half, 3 + half))
        assert pd.isna(answer["reason"])
        assert silhouette["reason"] == "no interval: fewer than 5 items"

    def test_a_subscale_has_the_answer_of_its_items_alone_also_beside_their_twins(self) -> None:
        parts = ITEMS.assign(subscale=["body", "body", None, None, "body"])
        (row,) = of_one(parts).query("subscale == 'body'").to_dict("records")
        assert (row["figure"], row["n"], row["unit"]) == ("mean_response", 3, "items")
        assert (row["value"], row["control"]) == pytest.approx((4.0, 3 * 0.25))

    def test_models_and_forms_come_in_order_each_with_its_own(self) -> None:
        """Answers are three times the scores; one method was asked of twins, too."""
        parts = [("m1", "nli", 1), ("m1", "head", 0), ("m0", "mlm", 2)]
        items = pd.concat(
            ITEMS.assign(model=model, method=method, score=score) for model, method, score in parts
        )
        cells = pd.concat(CELLS.assign(model=model, method=method) for model, method, _ in parts)
        twins = TWINS.assign(model="m1", method="nli")
        fits = {"nli": ValidityCheck(), "head": ValidityCheck("it guesses"), "mlm": ValidityCheck()}
        figure_rows = figure_table(model_figures(items, twins, cells, NO_ACCURACY, fits, 0.9))
        answers = figure_rows.query("figure == 'mean_response' and subscale == ''")
        assert answers["model"].tolist() == ["m0", "m1", "m1"]
        assert answers["value"].tolist() == [6, 0, 3]
        is_unfit = answers["why"].str.contains("it guesses").eq(True)
        assert is_unfit.tolist() == [False, True, False]
        assert answers["control"].tolist() == pytest.approx([np.nan, np.nan, 1.125], nan_ok=True)

    def test_the_order_of_intensifiers_is_of_means_over_items(self) -> None:
        fourth = CELLS.query("level == 1").assign(level=4, intensifier="ever")
        four = pd.concat([CELLS, fourth])
        (order,) = of_one(cells=four).query("figure == 'intensifier_order'").to_dict("records")
        # Item five is keyed the other way round: means .26, .2, .3 less .2, and .26, by their
        # levels.
        expected = stats.spearmanr([1, 2, 3, 4], [0.26, 0.2, 0.1, 0.26])
        assert order["value"] == pytest.approx(expected.statistic)
        assert (order["n"], order["unit"]) == (4, "intensifiers")


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
MEANS = np.arange(8)[:, None]
DRAWN = MEANS + np.random.default_rng(5).normal(size=(8, 3))
DRAWN[7] += [9, -8, 30]
BY_LINEAGE = np.vstack([DRAWN[:4], DRAWN[4:].mean(axis=0)])
NO_SCALES = pd.DataFrame(
    columns=["questionnaire", "subscale", "model", "lineage", "score", "method"]
)


def all_over_models(
    items: pd.DataFrame,
    scales: pd.DataFrame = NO_SCALES,
    content: pd.DataFrame = NO_CONTENT,
    members: Sequence[str] = MEMBERS,
) -> pd.DataFrame:
    return figure_table(population_figures(items, scales, content, RESAMPLING, members))


def over_models(items: pd.DataFrame, *tables: Any) -> pd.DataFrame:
    """Figures over models, without those of single items."""
    figure_rows = all_over_models(items, *tables).astype(object)
    figure_rows = figure_rows[figure_rows["figure"] != "item_rest"].reset_index(drop=True)
    return figure_rows.where(figure_rows.notna(), None)


OF_DRAWN = answered(DRAWN, LINEAGES)


class TestOverModels:
    def test_alpha_is_of_the_means_of_lineages(self) -> None:
        (row,) = over_models(OF_DRAWN).to_dict("records")
        of_lineages = pd.DataFrame(BY_LINEAGE)
        alpha, interval = pingouin.cronbach_alpha(of_lineages, ci=0.9)
        assert (row["n"], row["unit"], row["reason"]) == (5, "lineages", None)
        assert row["value"] == pytest.approx(alpha)
        assert (row["low"], row["high"]) == pytest.approx(tuple(interval), abs=6e-4)

    def test_an_item_is_correlated_with_the_rest_over_lineages(self) -> None:
        item_rest = all_over_models(OF_DRAWN).query("figure == 'item_rest'").set_index("item")
        assert set(item_rest["method"]) == {"head"}
        rest = BY_LINEAGE[:, [0, 2]].sum(axis=1)
        assert item_rest.loc["i1", "value"] == pytest.approx(
            np.corrcoef(BY_LINEAGE[:, 1], rest)[0, 1]
        )
        assert item_rest.loc["i1", ["n", "unit"]].tolist() == [5, "lineages"]
        assert len(item_rest) == 3

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
        figure_rows = over_models(answered(values, LINEAGES))
        assert records(figure_rows, "figure", "value", "n", "unit", "reason") == [
            ("alpha", None, 5, "lineages", reason)
        ]

    def test_where_nobody_counts_every_scale_still_says_why_there_is_none(self) -> None:
        scales = OF_DRAWN.assign(questionnaire=OF_DRAWN["item"], subscale="all")
        figure_rows = over_models(OF_DRAWN, scales, NO_CONTENT, [])
        assert figure_rows["figure"].tolist() == ["alpha", "rho", "rho", "rho"]
        assert figure_rows["other"].tolist() == ["", "i1", "i2", "i2"]
        columns = ["method", "value", "n", "unit", "reason"]
        (shared,) = set(records(figure_rows, *columns))
        assert shared == ("head", None, 0, "lineages", "fewer than 5 lineages of models")

    def test_content_has_a_mean_of_each_measure_without_a_model(self) -> None:
        content = table_of_text("""\
questionnaire|measure|value
fear|acceptability_of_twins|0.1
fear|similarity_to_paraphrase|0.2
fear|slor|0.5
fear|similarity|0.1
fear|similarity|0.1
fear|similarity|0.7
""")
        figure_rows = over_models(OF_DRAWN, NO_SCALES, content).tail(4)
        columns = ("figure", "item_set", "reference", "value", "n")
        assert records(figure_rows, *columns) == [
            ("acceptability", "twins", "", pytest.approx(0.1), 1),
            ("similarity", "", "", pytest.approx(0.3), 3),
            ("similarity", "", "paraphrase", pytest.approx(0.2), 1),
            ("slor", "items", "", pytest.approx(0.5), 1),
        ]
        assert set(figure_rows["reason"]) == {"no interval: fewer than 5 items"}

    def test_rho_is_over_means_of_lineages_of_each_pair_of_scales_and_of_subscales(self) -> None:
        whole = OF_DRAWN.assign(questionnaire=OF_DRAWN["item"], subscale="all")
        turned = answered(-DRAWN, LINEAGES, subscale=OF_DRAWN["item"])
        scales = pd.concat([whole.assign(method="tuned"), whole, turned])
        figure_rows = over_models(OF_DRAWN, scales)[1:]
        assert set(figure_rows["figure"]) == {"rho"}
        rho = stats.spearmanr(BY_LINEAGE).statistic
        of_pairs = [rho[0, 1], rho[0, 2], rho[1, 2]]
        assert figure_rows["value"].tolist() == pytest.approx(3 * of_pairs)
        firsts, seconds = ["i0", "i0", "i1"], ["i1", "i2", "i2"]
        assert figure_rows["benchmark"].tolist() == [*firsts, *["fear"] * 3, *firsts]
        none = [""] * 3
        assert figure_rows["subscale"].tolist() == [*none, *firsts, *none]
        assert figure_rows["other"].tolist() == 3 * seconds
        assert figure_rows["method"].tolist() == 6 * ["head"] + 3 * ["tuned"]
