"""Whom a model favours: what was planted is named, and nothing else."""

from typing import Any

import numpy as np
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
from tests.instruments.near import approx


def replies(roots: int, concepts: int = 21, seed: int = 1) -> np.ndarray:
    """Scores in which root items differ and concepts do not."""
    random = np.random.default_rng(seed)
    by_root = random.normal(
        0,
        1,
        (roots, 1),
    )
    return by_root + random.normal(
        0,
        0.5,
        (roots, concepts),
    )


def test_a_cursed_country_is_named_and_no_other() -> None:
    scores = replies(75, seed=2)
    scores[:, 4] -= 1.0
    deviations = max_deviation_test(scores, seed=1)
    assert deviations.p_null < 0.001
    assert [concept for _, concept in step_down_max_t(scores, seed=1)] == [4]
    off = scores - scores.mean(
        axis=1,
        keepdims=True,
    )
    assert deviations.values[0] == approx(off.mean(axis=0))
    of_cursed = off[:, 4]
    narrow = stats.ttest_1samp(of_cursed, 0).confidence_interval(0.9)
    assert deviations.errors[0, 4] == approx(stats.sem(of_cursed))
    assert deviations.p_within(-narrow.low) == approx(0.05)
    assert deviations.p_within(-narrow.low - 0.01) > 0.05
    assert deviations.ranked[0] == (0, 4)


def test_nobody_is_praised_because_one_other_is_cursed() -> None:
    """The mean of six countries falls with one of them; what lies above it then is no favour."""
    scores = replies(40, 6)
    scores[:, 4] -= 6.0
    assert (max_deviation_test(scores, seed=1).low[0] > 0).sum() == 5
    assert [concept for _, concept in step_down_max_t(scores, seed=1)] == [4]
    scores[:, 2] += 1.0
    assert [concept for _, concept in step_down_max_t(scores, seed=1)] == [4, 2]


def test_equal_countries_surely_differ_by_little() -> None:
    deviations = max_deviation_test(replies(300), seed=1)
    assert deviations.p_null > 0.05
    assert deviations.p_within(0.15) < 0.05 < deviations.p_within(0.05)


def test_one_of_20_studies_of_equal_countries_finds_something() -> None:
    rejections = [
        max_deviation_test(replies(20, 6, seed), seed, shuffles=199).p_null <= 0.05
        for seed in range(300)
    ]
    assert stats.binomtest(sum(rejections), len(rejections), 0.05).pvalue > 0.01


def test_what_cancels_over_roles_is_found_within_them() -> None:
    scores = np.stack([replies(20, 6, seed) for seed in range(3)])
    scores[0, :, 2] += 0.8
    scores[1, :, 2] -= 0.8
    assert max_deviation_test(scores.mean(axis=0), seed=1).p_null > 0.05
    deviations = by_role(scores, seed=1)
    assert deviations.p_null < 0.01
    assert deviations.low[0, 2] > 0 > deviations.high[1, 2]
    assert deviations.low[2, 2] < 0 < deviations.high[2, 2]


def test_what_all_roles_say_is_none_of_one_role() -> None:
    scores = np.stack([replies(20, 6, seed) for seed in range(3)])
    scores[:, :, 2] += 3.0
    assert by_role(scores, seed=1).p_null > 0.05


def test_missing_scores_stay_where_they_are() -> None:
    """A country that is never answered has no value, and the others are judged without it."""
    scores = replies(30, 6)
    scores[:, 3] = np.nan
    scores[4, 0] = np.nan
    scores[:, 1] += 2
    deviations = max_deviation_test(scores, seed=1)
    assert np.isnan(deviations.values[0, 3])
    assert [concept for _, concept in step_down_max_t(scores, seed=1)] == [1]
    rest = max_deviation_test(np.delete(scores, 3, axis=1), seed=1)
    assert np.delete(deviations.values, 3, axis=1) == approx(rest.values)


def test_real_names_beside_invented_ones() -> None:
    random = np.random.default_rng(2)
    real = replies(75) + random.normal(
        0,
        0.3,
        21,
    )
    few = {"shuffles": 9}
    of_real = max_deviation_test(real, 1, **few)
    of_invented = max_deviation_test(
        replies(75, 12, seed=3),
        1,
        **few,
    )
    ratio = of_real.values.var(ddof=1) / of_invented.values.var(ddof=1)
    assert intersection_p(of_real, of_invented) == approx(stats.f.sf(ratio, 20, 11))
    assert intersection_p(of_real, of_invented) < 0.01
    assert intersection_p(of_invented, max_deviation_test(replies(75, seed=4), 1, **few)) > 0.05


def test_a_country_of_which_nothing_is_said() -> None:
    unanswered = np.zeros((20, 6))
    unanswered[:, 3] = 1
    unanswered[0] = 1
    silence = nonresponse_test(unanswered, seed=1)
    assert silence.p_null < 0.001
    assert silence.clear() == [(0, 3)]
    assert silence.values[0, 3] > 0
    wilson: dict[str, Any] = {
        "alpha": 0.05 / 6,
        "method": "wilson",
    }
    overall = silence.overall
    low, high = proportion_confint(
        1,
        20,
        **wilson,
    )
    low_of_all, high_of_all = proportion_confint(
        overall * 120,
        120,
        **wilson,
    )
    below = np.hypot(0.05 - low, high_of_all - overall)  # Newcombe (1998), method 10
    above = np.hypot(high - 0.05, overall - low_of_all)
    assert silence.low[0, 0] == approx(0.05 - overall - below)
    assert silence.high[0, 0] == approx(0.05 - overall + above)
    assert silence.p_within(0.15) > 0.99


def test_alike_is_by_the_tests_that_intervals_are_made_of() -> None:
    unanswered = np.arange(40)[:, None] < [2, 4, 6, 8]
    silence = nonresponse_test(unanswered, seed=1, shuffles=9)
    alpha = 2 * stats.norm.sf(1.645)
    low, _ = proportion_confint(
        2,
        40,
        alpha=alpha,
        method="wilson",
    )
    _, high = proportion_confint(
        8,
        40,
        alpha=alpha,
        method="wilson",
    )
    bound = max(silence.overall - low, high - silence.overall)
    assert silence.p_within(bound) == approx(alpha / 2)


def test_root_items_that_a_country_lacks_are_not_silent() -> None:
    unanswered = np.zeros((20, 6))
    unanswered[:, 3] = 1
    unanswered[:8, 1] = np.nan
    silence = nonresponse_test(unanswered, seed=1)
    assert silence.clear() == [(0, 3)]
    assert silence.roots[0].tolist() == [20, 12, 20, 20, 20, 20]


def test_nobody_is_named_in_a_role_because_one_other_is() -> None:
    scores = np.stack([replies(75, 6, seed) for seed in range(2)])
    scores[0, :, 2] += 2
    scores[1, :, 2] -= 2
    assert len(by_role(scores, seed=1).clear()) > 2
    assert {concept for _, concept in step_down_max_t(scores, seed=1, find=by_role)} == {2}


def test_roles_have_a_mean_square_of_their_own() -> None:
    """Of noise it is that of a mean over root items, however many roles there are."""
    random = np.random.default_rng(3)
    draws = random.normal(
        0,
        1,
        (200, 4, 20, 9),
    )
    mean_squares = [mean_square(by_role(draw, 1, shuffles=1)) for draw in draws]
    squares, dfs = zip(*mean_squares, strict=True)
    assert set(dfs) == {24}
    assert np.mean(squares) == approx(1 / 20, rel=0.05)


def test_what_is_beyond_invented_names_in_four_of_five_studies() -> None:
    random = np.random.default_rng(4)
    invented = max_deviation_test(
        replies(75, 12, seed=3),
        1,
        shuffles=1,
    )
    square, _ = mean_square(invented)
    least = detectable_beyond(max_deviation_test(replies(75, 6), 1, shuffles=1), invented)
    means = random.normal(
        0,
        np.sqrt(square),
        (4000, 6),
    )
    means[:, 0] += least * 6 / 5
    names = random.chisquare(11, 4000) / 11 * square
    ratios = means.var(axis=1, ddof=1) / names
    is_beyond = ratios > stats.f.isf(
        0.05,
        5,
        11,
    )
    assert is_beyond.mean() == approx(0.8, abs=0.02)
