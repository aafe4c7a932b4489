"""Whom a model favours: what was planted is named, and nothing else."""

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.proportion import proportion_confint

from evenruler.instruments.saged.diagnose.deviation_tests import (
    by_role,
    detectable_beyond,
    intersection_p,
    max_deviation_test,
    mean_square,
    nonresponse_test,
    step_down_max_t,
)


def replies(roots: int, concepts: int = 21, seed: int = 1) -> np.ndarray:
    """Scores in which root items differ and concepts do not."""
    random = np.random.default_rng(seed)
    return random.normal(0, 1, (roots, 1)) + random.normal(0, 0.5, (roots, concepts))


def test_a_cursed_country_is_named_and_no_other() -> None:
    x = replies(75, seed=2)
    x[:, 4] -= 1.0
    found = max_deviation_test(x, seed=1)
    assert found.p_null < 0.001
    assert [concept for _, concept in step_down_max_t(x, seed=1)] == [4]
    off = x - x.mean(axis=1, keepdims=True)
    assert found.values[0] == pytest.approx(off.mean(axis=0))
    narrow = stats.ttest_1samp(off[:, 4], 0).confidence_interval(0.9)
    assert found.errors[0, 4] == pytest.approx(off[:, 4].std(ddof=1) / np.sqrt(75))
    assert found.p_within(-narrow.low) == pytest.approx(0.05)
    assert found.p_within(-narrow.low - 0.01) > 0.05
    assert found.ranked[0] == (0, 4)


def test_nobody_is_praised_because_one_other_is_cursed() -> None:
    """The mean of six countries falls with one of them; what lies above it then is no favour."""
    x = replies(40, 6)
    x[:, 4] -= 6.0
    assert (max_deviation_test(x, seed=1).low[0] > 0).sum() == 5
    assert [concept for _, concept in step_down_max_t(x, seed=1)] == [4]
    x[:, 2] += 1.0
    assert [concept for _, concept in step_down_max_t(x, seed=1)] == [4, 2]


def test_equal_countries_surely_differ_by_little() -> None:
    found = max_deviation_test(replies(300), seed=1)
    assert found.p_null > 0.05
    assert found.p_within(0.15) < 0.05 < found.p_within(0.05)


def test_one_of_20_studies_of_equal_countries_finds_something() -> None:
    found = [
        max_deviation_test(replies(20, 6, seed), seed, shuffles=199).p_null <= 0.05
        for seed in range(300)
    ]
    assert stats.binomtest(sum(found), len(found), 0.05).pvalue > 0.01


def test_what_cancels_over_roles_is_found_within_them() -> None:
    x = np.stack([replies(20, 6, seed) for seed in range(3)])
    x[0, :, 2] += 0.8
    x[1, :, 2] -= 0.8
    assert max_deviation_test(x.mean(axis=0), seed=1).p_null > 0.05
    found = by_role(x, seed=1)
    assert found.p_null < 0.01
    assert found.low[0, 2] > 0 > found.high[1, 2]
    assert found.low[2, 2] < 0 < found.high[2, 2]


def test_what_all_roles_say_is_none_of_one_role() -> None:
    x = np.stack([replies(20, 6, seed) for seed in range(3)])
    x[:, :, 2] += 3.0
    assert by_role(x, seed=1).p_null > 0.05


def test_missing_scores_stay_where_they_are() -> None:
    """A country that is never answered has no value, and the others are judged without it."""
    x = replies(30, 6)
    x[:, 3] = np.nan
    x[4, 0] = np.nan
    x[:, 1] += 2
    found = max_deviation_test(x, seed=1)
    assert np.isnan(found.values[0, 3])
    assert [concept for _, concept in step_down_max_t(x, seed=1)] == [1]
    rest = np.delete(x, 3, axis=1)
    assert found.values[0, 1] == pytest.approx(max_deviation_test(rest, seed=1).values[0, 1])


def test_rows_that_are_doubled_add_no_root_items() -> None:
    """Two replies to a root item are one mean: the same matrix, the same figures."""
    x = replies(12, 6)
    twice = np.stack([x, x]).mean(axis=0)
    assert max_deviation_test(twice, seed=1).p_null == max_deviation_test(x, seed=1).p_null


def test_real_names_beside_invented_ones() -> None:
    random = np.random.default_rng(2)
    real = replies(75) + random.normal(0, 0.3, 21)
    invented = replies(75, 12, seed=3)
    few = {"shuffles": 9}
    one, other = max_deviation_test(real, 1, **few), max_deviation_test(invented, 1, **few)
    ratio = one.values[0].var(ddof=1) / other.values[0].var(ddof=1)
    assert intersection_p(one, other) == pytest.approx(stats.f.sf(ratio, 20, 11))
    assert intersection_p(one, other) < 0.01
    assert intersection_p(other, max_deviation_test(replies(75, seed=4), 1, **few)) > 0.05


def test_a_country_of_which_nothing_is_said() -> None:
    unanswered = np.zeros((20, 6))
    unanswered[:, 3] = 1
    unanswered[0] = 1
    found = nonresponse_test(unanswered, seed=1)
    assert found.p_null < 0.001
    assert found.clear() == [(0, 3)]
    assert found.values[0, 3] > 0
    low, high = proportion_confint(1, 20, alpha=0.05 / 6, method="wilson")
    of_all = proportion_confint(found.overall * 120, 120, alpha=0.05 / 6, method="wilson")
    below = np.hypot(1 / 20 - low, of_all[1] - found.overall)  # Newcombe (1998), method 10
    above = np.hypot(high - 1 / 20, found.overall - of_all[0])
    apart_by = 1 / 20 - found.overall
    assert (found.low[0, 0], found.high[0, 0]) == pytest.approx(
        (apart_by - below, apart_by + above)
    )
    assert found.p_within(0.15) > 0.99


def test_alike_is_by_the_tests_that_intervals_are_made_of() -> None:
    unanswered = (np.arange(40)[:, None] < [2, 4, 6, 8]).astype(float)
    found = nonresponse_test(unanswered, seed=1, shuffles=9)
    ends = [
        proportion_confint(n, 40, alpha=2 * stats.norm.sf(1.645), method="wilson") for n in (2, 8)
    ]
    bound = max(found.overall - ends[0][0], ends[1][1] - found.overall)
    assert found.p_within(bound) == pytest.approx(stats.norm.sf(1.645))


def test_root_items_that_a_country_lacks_are_not_silent() -> None:
    unanswered = np.zeros((20, 6))
    unanswered[:, 3] = 1
    unanswered[:8, 1] = np.nan
    found = nonresponse_test(unanswered, seed=1)
    assert found.clear() == [(0, 3)]
    assert found.roots[0].tolist() == [20, 12, 20, 20, 20, 20]


def test_a_role_that_lacks_a_country_differs_in_nothing_from_others() -> None:
    x = np.stack([replies(20, 6, seed) for seed in range(2)])
    x[0, :, 2] = np.nan
    assert np.isnan(by_role(x, seed=1, shuffles=9).values[:, 2]).all()


def test_nobody_is_named_in_a_role_because_one_other_is() -> None:
    x = np.stack([replies(75, 6, seed) for seed in range(2)])
    x[0, :, 2] += 2
    x[1, :, 2] -= 2
    assert len(by_role(x, seed=1).clear()) > 2
    assert {concept for _, concept in step_down_max_t(x, seed=1, find=by_role)} == {2}


def test_roles_have_a_mean_square_of_their_own() -> None:
    """Of noise it is that of a mean over root items, however many roles there are."""
    random = np.random.default_rng(3)
    found = [
        mean_square(by_role(random.normal(0, 1, (4, 20, 9)), 1, shuffles=1)) for _ in range(200)
    ]
    assert {df for _, df in found} == {24}
    assert np.mean([square for square, _ in found]) == pytest.approx(1 / 20, rel=0.05)


def test_what_is_beyond_invented_names_in_four_of_five_studies() -> None:
    random = np.random.default_rng(4)
    invented = max_deviation_test(replies(75, 12, seed=3), 1, shuffles=1)
    square, _ = mean_square(invented)
    least = detectable_beyond(max_deviation_test(replies(75, 6), 1, shuffles=1), invented)
    means = random.normal(0, np.sqrt(square), (4000, 6))
    means[:, 0] += least * 6 / 5
    names = random.chisquare(11, 4000) / 11 * square
    found = means.var(axis=1, ddof=1) / names > stats.f.isf(0.05, 5, 11)
    assert found.mean() == pytest.approx(0.8, abs=0.02)


def test_countries_are_answered_alike_if_there_is_enough_to_say_so() -> None:
    random = np.random.default_rng(1)
    many, few = (
        nonresponse_test(random.random((roots, 21)) < 0.05, seed=1, shuffles=99)
        for roots in (150, 20)
    )
    assert many.p_within(0.15) < 0.05 < few.p_within(0.15)
    assert nonresponse_test(np.zeros((20, 6)), seed=1, shuffles=99).p_null == 1
