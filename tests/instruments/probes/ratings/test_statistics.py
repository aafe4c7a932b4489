"""Statistics of ratings against published examples, scipy, and paper and pencil."""

from io import StringIO

import numpy as np
import pandas as pd
import pytest

from evenruler.instruments.probes.ratings import (
    CRITERIA,
    as_markdown,
    fleiss_kappa,
    rating_statistics,
)
from evenruler.measurement import Resampling
from evenruler.measurement.reliability import icc_agreement
from tests.text_tables import read_columns

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
            key.append((probe, name))
            raters = enumerate(np.atleast_1d(rated))
            ratings += [(f"r{rater}", probe, rating) for rater, rating in raters]
    table = pd.DataFrame(ratings, columns=["rater", "id", "rating"]).astype({"rating": "Float64"})
    criteria = pd.DataFrame({"criterion": list(CRITERIA)})
    return table.merge(criteria, how="cross"), pd.DataFrame(key, columns=["id", "set"])


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
    expected = read_columns("""
        first  second  value  low     high    p
        g0     g1      -4.6   -8.249  -0.951  0.014
        g0     g2      -0.26  -3.909  3.389   0.980
        g1     g2      4.34   0.691   7.989   0.020
    """)
    for first, second, *figures in expected.itertuples(index=False, name=None):
        row = rows["tukey_difference", first, second]
        shown = row[["value", "low", "high", "p"]].astype(float).round(3)
        assert shown.tolist() == figures
        assert row["n"] == 10


def test_anova_of_hand_made_sets() -> None:
    """Between 26 on 2, within 6 on 6: F = 13, and for two degrees of freedom p = (1 + 2 F / 6) **
    -3."""
    ratings_by_set = {
        "a": [1, 2, 3],
        "b": [2, 3, 4],
        "c": [5, 6, 7],
    }
    rows = rows_by_set(ratings_by_set)
    anova = rows["anova_f", "a, b, c"]
    assert anova["value"] == pytest.approx(13)
    assert anova["p"] == pytest.approx((16 / 3) ** -3)
    assert anova["n"] == 9
    mean = rows["mean", "c"]
    assert (mean["value"], mean["sd"], mean["n"]) == (6, 1, 3)
    assert (mean["low"], mean["high"]) == pytest.approx((3.515862, 8.484138))


def test_what_is_missing_is_left_out_and_counted() -> None:
    complete = [[3, 3, 4], [5, 4, 4], [2, 2, 1], [2, 2, 5]]
    first, last = [1, 2, 3], [4, 4, 2]
    *of_a, of_b = complete
    ratings, key = long({"a": [first, *of_a], "b": [of_b, last]})
    is_gone = "(id == 'a0' and rater != 'r2') or (id == 'b1' and rater == 'r0')"
    gone = ratings.query(f"criterion == 'clarity' and ({is_gone})").index
    ratings.loc[gone, "rating"] = pd.NA
    table = rating_statistics(ratings, key, RESAMPLING)
    rows, together = rows_of(table), rows_of(table, "all")
    assert rows["mean", "a"]["value"] == pytest.approx(37 / 12)  # of 3, 10 / 3, 13 / 3 and 5 / 3
    of_equal_probes = rows["mean", "b"][["value", "low", "high"]]
    assert of_equal_probes.tolist() == [3, 3, 3]
    icc, kappa = rows["icc",], rows["fleiss_kappa",]
    assert (icc["n"], kappa["n"]) == (4, 4)
    assert together["icc",]["n"] == 22
    assert icc["value"] == pytest.approx(icc_agreement(complete).value)
    assert kappa["value"] == pytest.approx(fleiss_kappa(np.array(complete)))
    assert icc["low"] < icc["value"] < icc["high"]
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


# Fourteen raters put ten subjects in five categories: the example on Wikipedia's page on Fleiss'
# kappa.
PSYCHIATRISTS = """
0 0 0 0 14
0 2 6 4 2
0 0 3 5 6
0 3 9 2 0
2 2 8 1 1
7 7 0 0 0
3 2 6 3 0
2 5 3 2 2
6 5 2 1 0
0 2 2 3 7
"""


def test_kappa_of_the_published_example() -> None:
    counts = np.loadtxt(StringIO(PSYCHIATRISTS), dtype=int)
    categories = np.arange(1, 6)
    units = np.array([np.repeat(categories, of_subject) for of_subject in counts])
    assert round(fleiss_kappa(units), 3) == 0.210
