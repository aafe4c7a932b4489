"""Statistics of ratings against published examples, statsmodels, and paper and pencil."""

import math
from itertools import permutations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, strategies
from hypothesis.extra.numpy import arrays
from statsmodels.stats.multicomp import pairwise_tukeyhsd
from statsmodels.stats.oneway import anova_oneway

from evenruler.instruments.probes.ratings import (
    CRITERIA,
    as_markdown,
    fleiss_kappa,
    krippendorff_alpha,
    rating_statistics,
)
from evenruler.measurement import Resampling

RESAMPLING = Resampling(0.95, 100, 1)

# The example of scipy's documentation of tukey_hsd.
DOCUMENTED = {
    "g0": [24.5, 23.5, 26.4, 27.1, 29.9],
    "g1": [28.4, 34.2, 29.5, 32.2, 30.1],
    "g2": [26.1, 28.3, 24.3, 26.2, 27.8],
}


def long(by_set, criteria=tuple(CRITERIA)):
    """Ratings and key of probes: by set, then probe, then rater (one number: a single rater)."""
    ratings, key = [], []
    for name, probes in by_set.items():
        for i, rated in enumerate(probes):
            key.append({"id": f"{name}{i}", "set": name})
            for j, rating in enumerate(np.atleast_1d(rated)):
                ratings += [(f"r{j}", f"{name}{i}", criterion, rating) for criterion in criteria]
    table = pd.DataFrame(ratings, columns=["rater", "id", "criterion", "rating"])
    return table.astype({"rating": "Float64"}), pd.DataFrame(key)


def rows_of(table, criterion="clarity"):
    """Rows of a criterion, by statistic and the sets it compares."""
    rows = (
        table[table["criterion"] == criterion]
        .astype(object)
        .where(lambda frame: frame.notna(), None)
    )
    row_by_key = {}
    for _, row in rows.iterrows():
        key = filter(None, row[["statistic", "set", "other"]])
        row_by_key[tuple(key)] = row
    return row_by_key


def values_in(table, criterion="clarity"):
    """Values of a criterion, by statistic and the sets it compares."""
    return {key: row["value"] for key, row in rows_of(table, criterion).items()}


def test_tukey_of_the_documented_example() -> None:
    rows = rows_of(rating_statistics(*long(DOCUMENTED), RESAMPLING))
    expected = {
        ("g0", "g1"): (-4.6, -8.249, -0.951, 0.014),
        ("g0", "g2"): (-0.26, -3.909, 3.389, 0.980),
        ("g1", "g2"): (4.34, 0.691, 7.989, 0.020),
    }
    for pair, figures in expected.items():
        row = rows["tukey_difference", *pair]
        assert tuple(row[["value", "low", "high"]].astype(float).round(3)) == figures[:3]
        assert round(rows["tukey_p", *pair]["value"], 3) == figures[3]
        assert row["n"] == 10
        assert row["reason"] is None


def test_anova_of_hand_made_sets() -> None:
    """Between 26 on 2, within 6 on 6: F = 13, and for two degrees of freedom p = (1 + 2 F / 6) **
    -3."""
    ratings, key = long({"a": [1, 2, 3], "b": [2, 3, 4], "c": [5, 6, 7]})
    table = rating_statistics(ratings, key, RESAMPLING)
    values = values_in(table)
    assert values["anova_f",] == pytest.approx(13)
    assert values["anova_p",] == pytest.approx((16 / 3) ** -3)
    assert (values["mean", "c"], values["sd", "c"]) == (6, 1)
    mean = rows_of(table)["mean", "c"]
    assert (mean["low"], mean["high"]) == pytest.approx((3.515862, 8.484138))


def test_sets_of_unequal_size_are_as_statsmodels_has_them() -> None:
    """As in the paper: 3, 12 and 3 probes of three raters; the unit is the probe, so F(2, 15)."""
    rng = np.random.default_rng(5)
    by_set = {
        name: rng.integers(1, 6, size=(n, 3))
        for name, n in (("evolved", 3), ("human", 12), ("seed", 3))
    }
    table = rating_statistics(*long(by_set), RESAMPLING)
    rows = rows_of(table, "subtlety")
    values = np.concatenate([scores.mean(axis=1) for scores in by_set.values()])
    names = np.repeat([*by_set], [len(scores) for scores in by_set.values()])
    anova = anova_oneway(values, names, use_var="equal")
    figures = values_in(table, "subtlety")
    assert figures["anova_f",] == pytest.approx(anova.statistic)
    assert figures["anova_p",] == pytest.approx(anova.pvalue)
    assert (figures["anova_df_between",], figures["anova_df_within",]) == (2, 15)
    tukey = pairwise_tukeyhsd(values, names)
    pairs = [("evolved", "human"), ("evolved", "seed"), ("human", "seed")]
    for i, pair in enumerate(pairs):
        row = rows["tukey_difference", *pair]
        # statsmodels subtracts the other way round.
        assert row["value"] == pytest.approx(-tukey.meandiffs[i])
        high, low = -tukey.confint[i]
        assert (row["low"], row["high"]) == pytest.approx((low, high), rel=1e-4)
        assert figures["tukey_p", *pair] == pytest.approx(tukey.pvalues[i], rel=1e-4)


def test_a_probe_of_two_sets_counts_in_both_and_its_raters_once() -> None:
    ratings, key = long({"a": [[1, 2], [3, 3], [5, 4]], "b": [[2, 2], [4, 4]]})
    twice = pd.DataFrame({"id": ["a0", "a0"], "set": "b"})
    both = pd.concat([key, twice])
    rows = rows_of(rating_statistics(ratings, both, RESAMPLING))
    assert rows["mean", "b"]["value"] == pytest.approx(2.5)  # of 2, 4 and 1.5
    assert rows["mean", "a"]["n"] == 3
    assert rows["mean", "b"]["n"] == 3
    assert rows["anova_f",]["n"] == 6
    assert rows["krippendorff_alpha",]["n"] == 5


def test_what_is_missing_is_left_out_and_counted() -> None:
    ratings, key = long(
        {"a": [[1, 2, 3], [3, 3, 4], [5, 4, 4], [2, 2, 1]], "b": [[2, 2, 5], [4, 4, 2]]}
    )
    gone = ratings.query("criterion == 'clarity'").query(
        "id == 'a0' and rater != 'r2' or id == 'b1' and rater == 'r0'"
    )
    ratings.loc[gone.index, "rating"] = pd.NA
    table = rating_statistics(ratings, key, RESAMPLING)
    rows, together = (rows_of(table, name) for name in ("clarity", "all"))
    values = values_in(table)
    assert (values["missing",], rows["missing",]["n"]) == (3, 18)
    assert values["mean", "a"] == pytest.approx(37 / 12)  # of 3, 10 / 3, 13 / 3 and 5 / 3
    assert (rows["fleiss_kappa",]["n"], values["fleiss_left_out",]) == (4, 2)
    assert (rows["krippendorff_alpha",]["n"], values["krippendorff_left_out",]) == (5, 1)
    complete = [[3, 3, 4], [5, 4, 4], [2, 2, 1], [2, 2, 5]]
    assert values["fleiss_kappa",] == pytest.approx(fleiss_kappa(complete))
    two = [*complete, [np.nan, 4, 2]]
    assert values["krippendorff_alpha",] == pytest.approx(krippendorff_alpha(two))
    every = [[1, 2, 3], *complete, [4, 4, 2]]
    kappa = together["fleiss_kappa",]
    assert kappa["value"] == pytest.approx(fleiss_kappa(complete + 3 * every))
    assert kappa["n"] == 22
    assert together["missing",]["n"] == 72


def test_a_set_of_one_probe_has_no_part_in_comparisons_and_that_is_said() -> None:
    by_set = {"a": [1, 2, 3], "b": [2, 3, 5], "one": [5]}
    rows = rows_of(rating_statistics(*long(by_set), RESAMPLING))
    del by_set["one"]
    without = rows_of(rating_statistics(*long(by_set), RESAMPLING))
    assert rows["anova_f",]["value"] == without["anova_f",]["value"]
    assert rows["anova_f",]["reason"] == "left out, with fewer than two rated probes: one"
    both = ("tukey_p", "a", "b")
    assert rows[both]["value"] == without[both]["value"]
    assert rows["tukey_p", "a", "one"]["value"] is None
    assert rows["tukey_p", "a", "one"]["reason"] == "fewer than two rated probes in a set"


@pytest.mark.parametrize(
    ("by_set", "reasons"),
    [
        (
            DOCUMENTED,
            {
                ("fleiss_kappa",): "fewer than two raters",
                ("krippendorff_alpha",): "fewer than two raters",
            },
        ),
        (
            {"a": [[3, 3], [3, 3]], "b": [[3, 3], [3, 3]]},
            {
                ("anova_f",): "no spread within the sets",
                ("tukey_p", "a", "b"): "no spread within the sets",
                ("fleiss_kappa",): "all ratings are equal",
            },
        ),
        (
            {"a": [[3, 4]]},
            {
                ("anova_f",): "fewer than two sets with two rated probes",
                ("krippendorff_alpha",): ("fewer than two probes rated by two raters or more"),
                ("sd", "a"): "a single value has no spread",
            },
        ),
    ],
)
def test_null_has_a_reason(by_set, reasons) -> None:
    table = rating_statistics(*long(by_set), RESAMPLING)
    rows = rows_of(table)
    assert {name: rows[name]["reason"] for name in reasons} == reasons
    assert {rows[name]["value"] for name in reasons} == {None}
    assert table.loc[table["value"].isna(), "reason"].notna().all()


def test_no_null_is_without_reason_and_every_row_has_its_place() -> None:
    ratings, key = long({"a": [[1, 2], [3, 3], [5, 4]], "b": [[2, 2], [4, 4]], "c": [[1, 1]]})
    ratings.loc[ratings["criterion"] == "subtlety", "rating"] = pd.NA
    table = rating_statistics(ratings, key, RESAMPLING)
    assert table.loc[table["value"].isna(), "reason"].notna().all()
    assert not table.duplicated(["criterion", "statistic", "set", "other"]).any()
    assert {*table["criterion"]} == {*CRITERIA, "all"}
    assert "| subtlety | none (no rated probe) |" in as_markdown(table, ratings, key)


def test_the_tables_are_of_the_statistics() -> None:
    by_set = {
        "a": [[1, 2], [2, 2], [3, 4]],
        "b": [[2, 2], [3, 3], [4, 4]],
        "c": [[5, 5], [4, 5], [5, 5]],
    }
    ratings, key = long(by_set)
    table = rating_statistics(ratings, key, RESAMPLING)
    shown = as_markdown(table, ratings, key)
    values = values_in(table)
    f, p = values["anova_f",], values["anova_p",]
    assert f"F(2, 6) = {f:.2f}, p = {p:.3f} |" in shown
    row = rows_of(table)["tukey_difference", "a", "c"]
    in_words = "{value:.2f} [{low:.2f}, {high:.2f}], n = 6".format(**row)
    p_of_tukey = values["tukey_p", "a", "c"]
    assert f"| clarity | a - c | {in_words} | {p_of_tukey:.3f} |" in shown
    kappa = values_in(table, "all")["fleiss_kappa",]
    assert f"| all | {kappa:.2f} [" in shown


# Fourteen raters put ten subjects in five categories: the example on Wikipedia's page on Fleiss'
# kappa.
PSYCHIATRISTS = [
    [0, 0, 0, 0, 14],
    [0, 2, 6, 4, 2],
    [0, 0, 3, 5, 6],
    [0, 3, 9, 2, 0],
    [2, 2, 8, 1, 1],
    [7, 7, 0, 0, 0],
    [3, 2, 6, 3, 0],
    [2, 5, 3, 2, 2],
    [6, 5, 2, 1, 0],
    [0, 2, 2, 3, 7],
]

NONE = math.nan
# Krippendorff (2011), section C: four observers, twelve units.
OBSERVERS = [
    [1, 2, 3, 3, 2, 1, 4, 1, 2, NONE, NONE, NONE],
    [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, NONE, 3],
    [NONE, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, NONE],
    [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, NONE],
]

shapes = strategies.tuples(strategies.integers(2, 6), strategies.integers(2, 4))
complete = arrays(float, shapes, elements=strategies.integers(1, 5).map(float))
with_gaps = arrays(
    float, shapes, elements=strategies.sampled_from([1.0, 2.0, 3.0, 4.0, 5.0, math.nan])
)


def test_kappa_of_the_published_example() -> None:
    units = np.array([np.repeat(np.arange(1, 6), counts) for counts in PSYCHIATRISTS])
    assert round(fleiss_kappa(units), 3) == 0.210


def test_alpha_of_the_published_example() -> None:
    assert round(krippendorff_alpha(np.transpose(OBSERVERS)), 3) == 0.815


@given(complete)
def test_kappa_is_agreement_of_pairs_beyond_chance(x) -> None:
    agreements = []
    for row in x:
        agreements += [a == b for a, b in permutations(row, 2)]
    _, counts = np.unique(x, return_counts=True)
    chance = np.sum((counts / x.size) ** 2)
    if chance == 1:
        assert math.isnan(fleiss_kappa(x))
    else:
        beyond = np.mean(agreements) - chance
        assert fleiss_kappa(x) == pytest.approx(beyond / (1 - chance))


@given(with_gaps)
def test_alpha_is_disagreement_of_pairs_short_of_chance(x) -> None:
    """By its definition: observed over expected disagreement, pair by pair."""
    units = [row[~np.isnan(row)] for row in x]
    units = [unit for unit in units if len(unit) > 1]
    pool = np.concatenate(units) if units else np.array([])

    def apart(a: float, b: float) -> float:
        if a == b:
            return 0.0
        low, high = min(a, b), max(a, b)
        between = np.count_nonzero((pool >= low) & (pool <= high))
        ends = np.count_nonzero((pool == a) | (pool == b))
        return (between - ends / 2) ** 2

    expected = sum(apart(a, b) for a, b in permutations(pool, 2))
    if expected == 0:
        assert math.isnan(krippendorff_alpha(x))
        return
    observed = 0.0
    for unit in units:
        within = sum(apart(a, b) for a, b in permutations(unit, 2))
        observed += within / (len(unit) - 1)
    alpha = 1 - observed * (len(pool) - 1) / expected
    assert krippendorff_alpha(x) == pytest.approx(alpha)


def test_equal_ratings_have_no_agreement_beyond_chance() -> None:
    assert math.isnan(krippendorff_alpha([[3, 3], [3, 3]]))
    assert math.isnan(fleiss_kappa([[3, 3], [3, 3]]))


@pytest.mark.parametrize("x", [[[1, NONE], [2, 2]], [[1], [2]]])
def test_kappa_asks_for_all_ratings(x) -> None:
    with pytest.raises(ValueError, match="units x raters"):
        fleiss_kappa(x)
