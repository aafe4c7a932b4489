"""Statistics of ratings against published examples, scipy, and paper and pencil."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from evenruler.instruments.probes.ratings import (
    CRITERIA,
    as_markdown,
    fleiss_kappa,
    rating_statistics,
)
from evenruler.measurement import Resampling
from evenruler.measurement.reliability import icc_agreement

RESAMPLING = Resampling(0.95, 100, 1)

# The example of scipy's documentation of tukey_hsd.
DOCUMENTED = {
    "g0": [24.5, 23.5, 26.4, 27.1, 29.9],
    "g1": [28.4, 34.2, 29.5, 32.2, 30.1],
    "g2": [26.1, 28.3, 24.3, 26.2, 27.8],
}


def long(by_set):
    """Ratings and key of probes: by set, then probe, then rater (one number: a single rater)."""
    ratings, key = [], []
    for name, probes in by_set.items():
        for number, rated in enumerate(probes):
            probe = f"{name}{number}"
            key.append({"id": probe, "set": name})
            for rater, rating in enumerate(np.atleast_1d(rated)):
                ratings += [(f"r{rater}", probe, criterion, rating) for criterion in CRITERIA]
    table = pd.DataFrame(ratings, columns=["rater", "id", "criterion", "rating"])
    return table.astype({"rating": "Float64"}), pd.DataFrame(key)


SETS = {"a": [[1, 2], [3, 3], [5, 4]], "b": [[2, 2], [4, 4]]}


def rows_of(table, criterion="clarity"):
    """Rows of a criterion, by statistic and the sets it compares."""
    row_by_key = {}
    for _, row in table[table["criterion"] == criterion].iterrows():
        names = row[["statistic", "set", "other"]].dropna()
        row_by_key[tuple(names)] = row
    return row_by_key


def rows_by_set(by_set):
    return rows_of(rating_statistics(*long(by_set), RESAMPLING))


def test_tukey_of_the_documented_example() -> None:
    rows = rows_by_set(DOCUMENTED)
    expected = {
        ("g0", "g1"): (-4.6, -8.249, -0.951, 0.014),
        ("g0", "g2"): (-0.26, -3.909, 3.389, 0.980),
        ("g1", "g2"): (4.34, 0.691, 7.989, 0.020),
    }
    for pair, figures in expected.items():
        row = rows["tukey_difference", *pair]
        shown = row[["value", "low", "high", "p"]].astype(float).round(3)
        assert tuple(shown) == figures
        assert row["n"] == 10


def test_anova_of_hand_made_sets() -> None:
    """Between 26 on 2, within 6 on 6: F = 13, and for two degrees of freedom p = (1 + 2 F / 6) **
    -3."""
    rows = rows_by_set({"a": [1, 2, 3], "b": [2, 3, 4], "c": [5, 6, 7]})
    anova = rows["anova_f", "a, b, c"]
    assert anova["value"] == pytest.approx(13)
    assert anova["p"] == pytest.approx((16 / 3) ** -3)
    assert anova["n"] == 9
    mean = rows["mean", "c"]
    assert (mean["value"], mean["sd"], mean["n"]) == (6, 1, 3)
    assert (mean["low"], mean["high"]) == pytest.approx((3.515862, 8.484138))


def test_sets_of_unequal_size_are_as_scipy_has_them() -> None:
    """As in the paper: 3, 12 and 3 probes of three raters; the unit is the probe."""
    rng = np.random.default_rng(5)
    sizes = {"evolved": 3, "human": 12, "seed": 3}
    by_set = {name: rng.integers(1, 6, size=(n, 3)) for name, n in sizes.items()}
    rows = rows_of(rating_statistics(*long(by_set), RESAMPLING), "subtlety")
    means = [scores.mean(axis=1) for scores in by_set.values()]
    anova = stats.f_oneway(*means)
    figures = rows["anova_f", "evolved, human, seed"]
    assert figures["value"] == pytest.approx(anova.statistic)
    assert figures["p"] == pytest.approx(anova.pvalue)
    tukey = stats.tukey_hsd(*means)
    ends = tukey.confidence_interval(0.95)
    names = list(sizes)
    for pair in ((0, 1), (0, 2), (1, 2)):
        row = rows["tukey_difference", names[pair[0]], names[pair[1]]]
        expected = [tukey.statistic[pair], ends.low[pair], ends.high[pair], tukey.pvalue[pair]]
        assert row[["value", "low", "high", "p"]].tolist() == pytest.approx(expected, rel=1e-4)


def test_a_probe_of_two_sets_counts_in_both_and_its_raters_once() -> None:
    ratings, key = long(SETS)
    twice = pd.DataFrame({"id": ["a0", "a0"], "set": "b"})
    rows = rows_of(rating_statistics(ratings, pd.concat([key, twice]), RESAMPLING))
    assert rows["mean", "b"]["value"] == pytest.approx(2.5)  # of 2, 4 and 1.5
    n_by_row = {("mean", "a"): 3, ("mean", "b"): 3, ("anova_f", "a, b"): 6, ("icc",): 5}
    assert {name: rows[name]["n"] for name in n_by_row} == n_by_row


def test_what_is_missing_is_left_out_and_counted() -> None:
    complete = [[3, 3, 4], [5, 4, 4], [2, 2, 1], [2, 2, 5]]
    first, last = [1, 2, 3], [4, 4, 2]
    ratings, key = long({"a": [first, *complete[:3]], "b": [complete[3], last]})
    of_first = "id == 'a0' and rater != 'r2'"
    of_last = "id == 'b1' and rater == 'r0'"
    gone = ratings.query(f"criterion == 'clarity' and ({of_first} or {of_last})").index
    ratings.loc[gone, "rating"] = pd.NA
    table = rating_statistics(ratings, key, RESAMPLING)
    rows, together = rows_of(table), rows_of(table, "all")
    assert rows["mean", "a"]["value"] == pytest.approx(37 / 12)  # of 3, 10 / 3, 13 / 3 and 5 / 3
    of_equal_probes = rows["mean", "b"][["value", "low", "high"]]
    assert of_equal_probes.tolist() == [3, 3, 3]
    kappa, icc = rows["fleiss_kappa",], rows["icc",]
    assert (kappa["n"], icc["n"]) == (4, 4)
    assert kappa["value"] == pytest.approx(fleiss_kappa(np.array(complete)))
    assert icc["value"] == pytest.approx(icc_agreement(complete).value)
    assert icc["low"] < icc["value"] < icc["high"]
    units = complete + 3 * [first, *complete, last]
    kappa = together["fleiss_kappa",]
    assert kappa["value"] == pytest.approx(fleiss_kappa(np.array(units)))
    assert kappa["n"] == 22
    assert "3 of 72 ratings are missing" in as_markdown(table, ratings, key)


def test_a_set_of_one_probe_has_no_part_in_comparisons_and_that_is_said() -> None:
    by_set = {"a": [1, 2, 3], "b": [2, 3, 5]}
    rows = rows_by_set({**by_set, "one": [5]})
    without = rows_by_set(by_set)
    for name in (("anova_f", "a, b"), ("tukey_difference", "a", "b")):
        assert rows[name]["value"] == without[name]["value"]
        assert rows[name]["n"] == 6
    mean = rows["mean", "one"]
    assert (mean["value"], mean["n"]) == (5, 1)
    assert mean["reason"] == "one rated probe has no interval and is in no comparison"


@pytest.mark.parametrize(
    ("by_set", "reasons"),
    [
        (DOCUMENTED, {("fleiss_kappa",): "fewer than two raters"}),
        (
            {"a": [[3, 3], [3, 3]], "b": [[4, 4], [4, 4]]},
            {("anova_f", "a, b"): "no spread within the sets"},
        ),
        ({"a": [[3, 3], [3, 3]]}, {("icc",): "all ratings are equal"}),
        (
            {"a": [[3, 4]]},
            {
                ("anova_f", ""): "fewer than two sets with two rated probes",
                ("icc",): "fewer than two probes that every rater rated",
            },
        ),
    ],
)
def test_null_has_a_reason(by_set, reasons) -> None:
    rows = rows_by_set(by_set)
    assert {name: rows[name]["reason"] for name in reasons} == reasons
    assert all(pd.isna(rows[name]["value"]) for name in reasons)


def test_the_tables_are_of_the_statistics() -> None:
    ratings, key = long(
        {
            "a": [[1, 2], [2, 2], [3, 4]],
            "b": [[2, 2], [3, 3], [4, 4]],
            "c": [[5, 5], [4, 5], [5, 5]],
        }
    )
    table = rating_statistics(ratings, key, RESAMPLING)
    shown = as_markdown(table, ratings, key)
    rows = rows_of(table)
    anova = rows["anova_f", "a, b, c"]
    of_anova = "| anova_f | a, b, c | {value:.2f}, n = 9 |  | {p:.3f} |"
    pair = rows["tukey_difference", "a", "c"]
    of_pair = "| a - c | {value:.2f} [{low:.2f}, {high:.2f}], n = 6 |  | {p:.3f} |"
    of_mean = "| mean | a | {value:.2f} [{low:.2f}, {high:.2f}], n = 3 | {sd:.2f} |  |"
    of_kappa = "| fleiss_kappa |  | {value:.2f} ["
    assert of_anova.format(**anova) in shown
    assert of_pair.format(**pair) in shown
    assert of_mean.format(**rows["mean", "a"]) in shown
    assert of_kappa.format(**rows["fleiss_kappa",]) in shown


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


def test_kappa_of_the_published_example() -> None:
    units = np.array([np.repeat(np.arange(1, 6), counts) for counts in PSYCHIATRISTS])
    assert round(fleiss_kappa(units), 3) == 0.210
