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
                ratings += [
                    {"rater": f"r{j}", "id": f"{name}{i}", "criterion": c, "rating": rating}
                    for c in criteria
                ]
    return pd.DataFrame(ratings).astype({"rating": "Float64"}), pd.DataFrame(key)


def found_in(table, criterion="clarity"):
    rows = (
        table[table["criterion"] == criterion]
        .astype(object)
        .where(lambda frame: frame.notna(), None)
    )
    return {
        tuple(filter(None, (row["statistic"], row["set"], row["other"]))): row
        for _, row in rows.iterrows()
    }


def test_tukey_of_the_documented_example() -> None:
    found = found_in(rating_statistics(*long(DOCUMENTED), RESAMPLING))
    expected = {
        ("g0", "g1"): (-4.6, -8.249, -0.951, 0.014),
        ("g0", "g2"): (-0.26, -3.909, 3.389, 0.980),
        ("g1", "g2"): (4.34, 0.691, 7.989, 0.020),
    }
    for pair, figures in expected.items():
        row = found["tukey_difference", *pair]
        assert [round(row[name], 3) for name in ("value", "low", "high")] == list(figures[:3])
        assert round(found["tukey_p", *pair]["value"], 3) == figures[3]
        assert row["n"] == 10
        assert row["reason"] is None


def test_anova_of_hand_made_sets() -> None:
    """Between 26 on 2, within 6 on 6: F = 13, and for two degrees of freedom p = (1 + 2 F / 6) **
    -3."""
    found = found_in(
        rating_statistics(*long({"a": [1, 2, 3], "b": [2, 3, 4], "c": [5, 6, 7]}), RESAMPLING)
    )
    values = [found[f"anova_{part}",]["value"] for part in ("f", "df_between", "df_within", "p")]
    assert values == pytest.approx([13, 2, 6, (16 / 3) ** -3])
    assert found["anova_f",]["n"] == 9
    assert [found[name, "c"]["value"] for name in ("mean", "sd")] == [6, 1]
    assert found["mean", "c"]["high"] == pytest.approx(6 + 4.302653 / 3**0.5)
    assert found["mean", "c"]["low"] == pytest.approx(6 - 4.302653 / 3**0.5)


def test_sets_of_unequal_size_are_as_statsmodels_has_them() -> None:
    """As in the paper: 3, 12 and 3 probes of three raters; the unit is the probe, so F(2, 15)."""
    rng = np.random.default_rng(5)
    by_set = {
        name: rng.integers(1, 6, size=(n, 3))
        for name, n in (("evolved", 3), ("human", 12), ("seed", 3))
    }
    found = found_in(rating_statistics(*long(by_set), RESAMPLING), "subtlety")
    values = np.concatenate([given.mean(axis=1) for given in by_set.values()])
    names = np.repeat([*by_set], [len(given) for given in by_set.values()])
    anova = anova_oneway(values, names, use_var="equal")
    assert found["anova_f",]["value"] == pytest.approx(anova.statistic)
    assert found["anova_p",]["value"] == pytest.approx(anova.pvalue)
    assert (found["anova_df_between",]["value"], found["anova_df_within",]["value"]) == (2, 15)
    tukey = pairwise_tukeyhsd(values, names)
    pairs = [("evolved", "human"), ("evolved", "seed"), ("human", "seed")]
    for i, pair in enumerate(pairs):
        row = found["tukey_difference", *pair]
        # statsmodels subtracts the other way round.
        assert row["value"] == pytest.approx(-tukey.meandiffs[i])
        assert (row["low"], row["high"]) == pytest.approx(
            (-tukey.confint[i, 1], -tukey.confint[i, 0]), rel=1e-4
        )
        assert found["tukey_p", *pair]["value"] == pytest.approx(tukey.pvalues[i], rel=1e-4)
    matrix = np.concatenate([*by_set.values()]).astype(float)
    assert found["fleiss_kappa",]["value"] == pytest.approx(fleiss_kappa(matrix))
    assert found["krippendorff_alpha",]["value"] == pytest.approx(krippendorff_alpha(matrix))
    assert found["krippendorff_alpha",]["low"] < found["krippendorff_alpha",]["value"]
    assert found["fleiss_kappa",]["n"] == 18


def test_a_probe_of_two_sets_counts_in_both_and_its_raters_once() -> None:
    ratings, key = long({"a": [[1, 2], [3, 3], [5, 4]], "b": [[2, 2], [4, 4]]})
    both = pd.concat([key, pd.DataFrame([{"id": "a0", "set": "b"}, {"id": "a0", "set": "b"}])])
    found = found_in(rating_statistics(ratings, both, RESAMPLING))
    assert found["mean", "b"]["value"] == pytest.approx((2 + 4 + 1.5) / 3)
    assert (found["mean", "a"]["n"], found["mean", "b"]["n"], found["anova_f",]["n"]) == (3, 3, 6)
    assert found["krippendorff_alpha",]["n"] == 5
    table = as_markdown(rating_statistics(ratings, both, RESAMPLING), ratings, both)
    assert "In more than one set, rated once and counted in each: 1 probes." in table


def test_what_is_missing_is_left_out_and_counted() -> None:
    ratings, key = long(
        {"a": [[1, 2, 3], [3, 3, 4], [5, 4, 4], [2, 2, 1]], "b": [[2, 2, 5], [4, 4, 2]]}
    )
    gone = (ratings["criterion"] == "clarity") & (
        ratings["id"].isin(["a0", "b1"]) & (ratings["rater"] == "r0")
        | (ratings["id"] == "a0") & (ratings["rater"] == "r1")
    )
    ratings.loc[gone, "rating"] = pd.NA
    table = rating_statistics(ratings, key, RESAMPLING)
    found, rest, together = (found_in(table, name) for name in ("clarity", "relevance", "all"))
    assert (found["missing",]["value"], found["missing",]["n"]) == (3, 18)
    assert found["mean", "a"]["value"] == pytest.approx((3 + 10 / 3 + 13 / 3 + 5 / 3) / 4)
    assert (found["fleiss_kappa",]["n"], found["fleiss_left_out",]["value"]) == (4, 2)
    assert (found["krippendorff_alpha",]["n"], found["krippendorff_left_out",]["value"]) == (5, 1)
    complete = [[3, 3, 4], [5, 4, 4], [2, 2, 1], [2, 2, 5]]
    assert found["fleiss_kappa",]["value"] == pytest.approx(fleiss_kappa(complete))
    two = [*complete, [np.nan, 4, 2]]
    assert found["krippendorff_alpha",]["value"] == pytest.approx(krippendorff_alpha(two))
    every = [[1, 2, 3], *complete, [4, 4, 2]]
    assert (rest["missing",]["value"], rest["fleiss_left_out",]["value"]) == (0, 0)
    assert together["fleiss_kappa",]["value"] == pytest.approx(fleiss_kappa(complete + 3 * every))
    assert (together["fleiss_kappa",]["n"], together["missing",]["n"]) == (22, 72)


def test_null_has_a_reason() -> None:
    one_rater = found_in(rating_statistics(*long(DOCUMENTED), RESAMPLING))
    assert (
        one_rater["fleiss_kappa",]["reason"]
        == one_rater["krippendorff_alpha",]["reason"]
        == "fewer than two raters"
    )
    equal = found_in(
        rating_statistics(*long({"a": [[3, 3], [3, 3]], "b": [[3, 3], [3, 3]]}), RESAMPLING)
    )
    assert (
        equal["anova_f",]["reason"]
        == equal["tukey_p", "a", "b"]["reason"]
        == "no spread within the sets"
    )
    assert equal["fleiss_kappa",]["reason"] == "all ratings are equal"
    alone = found_in(rating_statistics(*long({"a": [[3, 4], [1, 2]]}), RESAMPLING))
    assert alone["anova_f",]["reason"] == "fewer than two sets with two rated probes"
    few = found_in(rating_statistics(*long({"a": [[3, 4]]}), RESAMPLING))
    assert (
        few["krippendorff_alpha",]["reason"] == "fewer than two probes rated by two raters or more"
    )
    assert (few["mean", "a"]["value"], few["sd", "a"]["value"]) == (3.5, None)
    assert few["sd", "a"]["reason"] == "a single value has no spread"


def test_a_set_of_one_probe_has_no_part_in_comparisons_and_that_is_said() -> None:
    by_set = {"a": [1, 2, 3], "b": [2, 3, 5], "one": [5]}
    rated = long(by_set)
    table = rating_statistics(*rated, RESAMPLING)
    found = found_in(table)
    without = found_in(rating_statistics(*long({"a": by_set["a"], "b": by_set["b"]}), RESAMPLING))
    assert found["anova_f",]["value"] == without["anova_f",]["value"]
    assert found["anova_f",]["reason"] == "left out, with fewer than two rated probes: one"
    assert f"p = {found['anova_p',]['value']:.3f} (left out, with fewer" in as_markdown(
        table, *rated
    )
    assert found["tukey_p", "a", "b"]["value"] == without["tukey_p", "a", "b"]["value"]
    assert found["tukey_p", "a", "one"]["value"] is None
    assert found["tukey_p", "a", "one"]["reason"] == "fewer than two rated probes in a set"


def test_no_null_is_without_reason_and_every_row_has_its_place() -> None:
    ratings, key = long({"a": [[1, 2], [3, 3], [5, 4]], "b": [[2, 2], [4, 4]], "c": [[1, 1]]})
    ratings.loc[ratings["criterion"] == "subtlety", "rating"] = pd.NA
    table = rating_statistics(ratings, key, RESAMPLING)
    assert [*table] == [
        "criterion",
        "statistic",
        "set",
        "other",
        "value",
        "low",
        "high",
        "n",
        "reason",
    ]
    assert table.loc[table["value"].isna(), "reason"].notna().all()
    assert not table.duplicated(["criterion", "statistic", "set", "other"]).any()
    assert {*table["criterion"]} == {*CRITERIA, "all"}
    shown = as_markdown(table, ratings, key)
    assert (
        "| subtlety | none (no rated probe) | none (no rated probe) | none (no rated probe) | none "
        "(" in shown
    )


def test_the_tables_are_of_the_statistics() -> None:
    by_set = {
        "a": [[1, 2], [2, 2], [3, 4]],
        "b": [[2, 2], [3, 3], [4, 4]],
        "c": [[5, 5], [4, 5], [5, 5]],
    }
    ratings, key = long(by_set)
    table = rating_statistics(ratings, key, RESAMPLING)
    shown = as_markdown(table, ratings, key)
    assert "# Ratings of 9 probes by 2 raters" in shown
    assert "0 of 72 ratings are missing." in shown
    found = found_in(table)
    f, p = found["anova_f",]["value"], found["anova_p",]["value"]
    assert f"F(2, 6) = {f:.2f}, p = {p:.3f} |" in shown
    row = found["tukey_difference", "a", "c"]
    in_words = f"{row['value']:.2f} [{row['low']:.2f}, {row['high']:.2f}], n = 6"
    assert f"| clarity | a - c | {in_words} | {found['tukey_p', 'a', 'c']['value']:.3f} |" in shown
    assert f"| all | {found_in(table, 'all')['fleiss_kappa',]['value']:.2f} [" in shown


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

complete = strategies.tuples(strategies.integers(2, 6), strategies.integers(2, 4)).flatmap(
    lambda shape: arrays(float, shape, elements=strategies.integers(1, 5).map(float))
)
with_gaps = strategies.tuples(strategies.integers(2, 6), strategies.integers(2, 4)).flatmap(
    lambda shape: arrays(
        float, shape, elements=strategies.sampled_from([1.0, 2.0, 3.0, 4.0, 5.0, math.nan])
    )
)


def test_kappa_of_the_published_example() -> None:
    units = np.array([np.repeat(np.arange(1, 6), counts) for counts in PSYCHIATRISTS])
    assert round(fleiss_kappa(units), 3) == 0.210


def test_alpha_of_the_published_example() -> None:
    assert round(krippendorff_alpha(np.transpose(OBSERVERS)), 3) == 0.815


@given(complete)
def test_kappa_is_agreement_of_pairs_beyond_chance(x) -> None:
    pairs = [row[a] == row[b] for row in x for a, b in permutations(range(x.shape[1]), 2)]
    chance = sum(np.mean(x == value) ** 2 for value in np.unique(x))
    if chance == 1:
        assert math.isnan(fleiss_kappa(x))
    else:
        assert fleiss_kappa(x) == pytest.approx((np.mean(pairs) - chance) / (1 - chance))


@given(with_gaps)
def test_alpha_is_disagreement_of_pairs_short_of_chance(x) -> None:
    """By its definition: observed over expected disagreement, pair by pair."""
    units = [row[~np.isnan(row)] for row in x]
    units = [unit for unit in units if len(unit) > 1]
    pool = np.concatenate(units) if units else np.array([])

    def apart(a: float, b: float) -> float:
        between = np.count_nonzero((pool >= min(a, b)) & (pool <= max(a, b)))
        return (
            (between - (np.count_nonzero(pool == a) + np.count_nonzero(pool == b)) / 2) ** 2
            if a != b
            else 0.0
        )

    expected = sum(apart(a, b) for a, b in permutations(pool, 2))
    if expected == 0:
        assert math.isnan(krippendorff_alpha(x))
        return
    observed = sum(
        sum(apart(a, b) for a, b in permutations(unit, 2)) / (len(unit) - 1) for unit in units
    )
    n = len(pool)
    assert krippendorff_alpha(x) == pytest.approx(1 - (observed / n) / (expected / (n * (n - 1))))


@given(with_gaps, strategies.randoms())
def test_alpha_knows_neither_names_nor_distances(x, random) -> None:
    """The order of raters, of units and what the values are called tell nothing, as long as their
    order stays."""
    shuffled = x[random.sample(range(len(x)), len(x))][
        :, random.sample(range(x.shape[1]), x.shape[1])
    ]
    assert krippendorff_alpha(np.exp(shuffled)) == pytest.approx(krippendorff_alpha(x), nan_ok=True)


def test_a_near_miss_counts_for_less() -> None:
    agreed = [[1, 1], [2, 2], [3, 3], [4, 4], [5, 5], [3, 3]]
    near, far = [*agreed, [4, 5]], [*agreed, [1, 5]]
    assert krippendorff_alpha(far) < krippendorff_alpha(near) < krippendorff_alpha(agreed) == 1
    assert fleiss_kappa(agreed) == 1


def test_a_lone_rating_tells_nothing() -> None:
    x = [[1, 2, NONE], [3, 3, 4], [5, NONE, 5]]
    assert krippendorff_alpha([*x, [NONE, 1, NONE]]) == krippendorff_alpha(x)


def test_equal_ratings_have_no_agreement_beyond_chance() -> None:
    assert math.isnan(krippendorff_alpha([[3, 3], [3, 3]]))
    assert math.isnan(fleiss_kappa([[3, 3], [3, 3]]))


@pytest.mark.parametrize("x", [[[1, NONE], [2, 2]], [[1], [2]], [1, 2], np.empty((0, 3))])
def test_kappa_asks_for_all_ratings(x) -> None:
    with pytest.raises(ValueError, match="units x raters"):
        fleiss_kappa(x)
