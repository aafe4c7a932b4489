import math
from collections.abc import Iterator

import numpy as np
import pandas as pd
import pytest
import scipy.integrate
import scipy.stats
from statsmodels.stats.multitest import multipletests

from evenruler.instruments.saged.declare.settings import Disparities
from evenruler.instruments.saged.diagnose.disparities import metric_values
from evenruler.instruments.saged.diagnose.groups import AT_ONCE, Layout, Places, as_they_are, resampled, shuffled
from evenruler.instruments.saged.diagnose.inference import (
    _log_plausible,
    benjamini_hochberg,
    estimates,
    percentiles,
    permutation_p,
    plausible_truths,
)
from evenruler.instruments.saged.diagnose.statistics import Floats
from evenruler.instruments.saged.diagnose.summaries import Summary
from tests.instruments.saged.diagnose import measured


def noisy(truths: Floats, draws: int = 400, error: float = 1.0, seed: int = 3) -> tuple[Floats, Floats]:
    """Summaries of [groups, series] truths, and resamples of them."""
    draw = np.random.default_rng(seed)
    summaries = truths + draw.normal(0, error, truths.shape)
    return summaries, summaries[:, None] + draw.normal(0, error, (len(truths), draws, truths.shape[1]))


@pytest.mark.parametrize("spread", [0.7, 1.5, 6.0])
def test_truths_are_spread_as_groups_are(spread) -> None:
    truths = np.random.default_rng(1).normal(0, spread, (60, 40))
    summaries, resampled = noisy(truths)
    found = plausible_truths(summaries, resampled)
    assert found.var(axis=0, ddof=1).mean() == pytest.approx(spread**2, rel=0.1)
    assert summaries.var(axis=0, ddof=1).mean() == pytest.approx(spread**2 + 1, rel=0.1)
    assert resampled.var(axis=0, ddof=1).mean() == pytest.approx(spread**2 + 2, rel=0.1)


def test_a_lone_outlier_stays_where_it_is_and_the_others_move_together() -> None:
    truths = np.zeros((21, 40))
    truths[0] = -12
    summaries, resampled = noisy(truths)
    found = plausible_truths(summaries, resampled)
    assert found[0].mean(axis=0) == pytest.approx(summaries[0], abs=0.2)
    assert found[0].std(axis=0) == pytest.approx(np.ones(40), abs=0.15)
    assert found[1:].std(axis=0, ddof=1).mean() < 0.4
    assert summaries[1:].std(axis=0, ddof=1).mean() > 0.9


def test_groups_in_two_clumps_move_within_theirs() -> None:
    truths = np.zeros((20, 40))
    truths[:8] = 10
    summaries, resampled = noisy(truths)
    found = plausible_truths(summaries, resampled)
    assert (found[:8].mean(axis=0) - found[8:].mean(axis=0)).mean() == pytest.approx(10, abs=0.2)
    assert found[:8].std(axis=0, ddof=1).mean() < 0.5
    assert found[8:].std(axis=0, ddof=1).mean() < 0.5


def test_without_noise_summaries_are_the_truth() -> None:
    summaries = np.array([[0.25], [0.5], [0.5], [1.0]])
    np.testing.assert_array_equal(
        plausible_truths(summaries, np.repeat(summaries[:, None], 7, axis=1))[:, 3], summaries
    )


def test_what_groups_have_in_common_is_left_whole() -> None:
    summaries, resampled = noisy(np.random.default_rng(2).normal(0, 2, (9, 5)))
    common = np.random.default_rng(4).normal(0, 3, (400, 5))
    common -= common.mean(axis=0)
    # Wider ends by far, so that nothing is cut.
    wide = np.concatenate([resampled, np.full((1, 400, 5), np.nan)])
    wide[-1, :2] = [[-99] * 5, [99] * 5]
    missing = np.concatenate([summaries, np.full((1, 5), np.nan)])
    with_common = plausible_truths(missing, wide + common)[:9, 2:]
    without = plausible_truths(missing, wide)[:9, 2:]
    np.testing.assert_allclose(with_common, without + common[2:], atol=1e-9)


def test_noise_is_inflated() -> None:
    # Groups so far apart that everything is kept.
    summaries, resampled = noisy(np.linspace(0, 3000, 12)[:, None])
    plain, inflated = (plausible_truths(summaries, resampled, by) for by in (1.0, 1.25))
    inner = slice(1, -1)
    off = resampled - resampled.mean(axis=1, keepdims=True)
    np.testing.assert_allclose((plain - summaries[:, None])[inner], off[inner], atol=0.02)
    np.testing.assert_allclose((inflated - summaries[:, None])[inner], 1.25 * off[inner], atol=0.02)


def test_truths_stay_within_what_was_resampled() -> None:
    draw = np.random.default_rng(5)
    shares = draw.binomial(12, 0.06, (6, 30)) / 12
    resampled = draw.binomial(12, shares[:, None], (6, 300, 30)) / 12
    found = plausible_truths(shares, resampled, 1.05)
    assert found.min() == 0
    assert (found <= resampled.max(axis=(0, 1))).all()


def test_groups_without_a_summary_count_for_nothing() -> None:
    summaries, resampled = noisy(np.random.default_rng(6).normal(0, 1, (7, 20)))
    summaries[[2, 5]], resampled[[2, 5]] = np.nan, np.nan
    found = plausible_truths(summaries, resampled)
    kept = [0, 1, 3, 4, 6]
    np.testing.assert_allclose(found[kept], plausible_truths(summaries[kept], resampled[kept]), rtol=1e-9, atol=1e-12)
    assert np.isnan(found[[2, 5]]).all()


def test_a_group_that_a_resample_lacks_is_missing_there_alone() -> None:
    summaries, resampled = noisy(np.random.default_rng(6).normal(0, 1, (7, 20)))
    resampled[3, ::5] = np.nan
    found = plausible_truths(summaries, resampled)
    np.testing.assert_array_equal(np.isnan(found), np.isnan(resampled))


def likelihood(low: Floats, high: Floats, spread: float) -> float:
    """Of summaries in two clumps, or in one: integrated over where the low one lies, and how far above it the other."""
    deviation = math.sqrt(1 + spread**2)
    place, apart = np.linspace(-15, 15, 901)[:, None], np.linspace(0, 30, 901)
    found = np.prod(scipy.stats.norm.pdf(low[:, None, None], place, deviation), axis=0)
    if len(high):
        found = found * np.prod(scipy.stats.norm.pdf(high[:, None, None], place + apart, deviation), axis=0)
        found = found * scipy.stats.halfcauchy.pdf(apart, scale=3 * deviation)
        found = scipy.integrate.trapezoid(found, apart, axis=1)
    return float(scipy.integrate.trapezoid(found.ravel(), place.ravel()))


def test_spreads_and_splits_are_as_plausible_as_integrals_say() -> None:
    summaries = np.array([-1.3, -0.9, 0.2, 6.1, 7.0])
    low = np.arange(5)[:, None]
    clumps = [(summaries, summaries[:0]), *((summaries[:size], summaries[size:]) for size in range(1, 5))]
    within = np.array([[sum(((each - each.mean()) ** 2).sum() for each in own if len(each))] for own in clumps])
    apart = np.array([[own[1].mean() - own[0].mean() if len(own[1]) else 0] for own in clumps])
    log = _log_plausible(low, 5 - low, within, apart)[:, :, 0]
    # Spreads 0, 0.4 and 2, the prior of each the half-Cauchy mass nearer to it than to its neighbours.
    places, spreads, ends = [0, 1, 5], [0.0, 0.4, 2.0], [(0, 0.2), (0.2, 0.6), (1.8, 2.5)]
    mass = np.array([math.atan(end) - math.atan(begin) for begin, end in ends])
    # One over all sizes of 1 / a + 1 / b, and one over the choices of that size: of 1 and 4, 5; of 2 and 3, 10.
    total = 2 * (1 + 1 / 2 + 1 / 3 + 1 / 4)
    prior = [1, 1.25 / total / 5, (1 / 2 + 1 / 3) / total / 10, (1 / 2 + 1 / 3) / total / 10, 1.25 / total / 5]
    expected = np.array([[likelihood(*own, spread) for own in clumps] for spread in spreads]) * mass[:, None] * prior
    plausible = np.exp(log[places])
    assert plausible[:, 0] / plausible[0, 0] == pytest.approx(expected[:, 0] / expected[0, 0], rel=1e-6)
    # Of two clumps the density of how far they lie apart is taken as even within its error.
    assert plausible[:, 3] / plausible[0, 0] == pytest.approx(expected[:, 3] / expected[0, 0], rel=0.15)
    assert plausible.argmax(axis=1).tolist() == expected.argmax(axis=1).tolist() == [3, 3, 3]


METRIC_NAMES = Disparities(permutations=1, headline_permutations=1, resamples=1).metrics


def layout(values: Floats, prompts: pd.DataFrame, baselines: Floats | None = None) -> Layout:
    """Series of values, [series, prompts in order of ids], of one repetition."""
    ordered = prompts.sort_values("id", ignore_index=True).assign(repetition=0)
    return Layout(
        "fruit",
        ordered,
        pd.DataFrame(),
        values,
        values if baselines is None else baselines,
        np.ones(values.shape, dtype=bool),
    )


def p_of(values: Floats, prompts: pd.DataFrame, n: int = 199, metrics: list[str] = METRIC_NAMES) -> Floats:
    """[metrics, series] p of means."""
    of = layout(values, prompts)
    groups = of.groups(["concept"])
    draws = shuffled(of, groups, n, seed=5)
    return permutation_p([Summary.of("mean", values)], metrics, as_they_are(groups), draws)[0].p


def times(places: Places, total: int) -> np.ndarray:
    """[draws, groups, replies] how often each reply counts in each group."""
    return (places[..., None] == np.arange(total)).sum(axis=2)


def labels(draws: Iterator[Places], total: int) -> np.ndarray:
    """[draws, replies] the group in which each reply counts, once."""
    found = np.concatenate([times(places, total) for places in draws])
    assert (found.sum(axis=1) == 1).all()
    return found.argmax(axis=1)


# Draws


def test_labels_are_shuffled_within_root_items_and_every_order_is_as_probable() -> None:
    prompts = measured.prompts(2, ["fig", "kiwi", "lime"])
    of = layout(np.zeros((1, 6)), prompts)
    found = labels(shuffled(of, of.groups(["concept"]), 6000, seed=1), 6)
    for root in ("root-000", "root-001"):
        own = found[:, of.replies["root_id"] == root]
        assert (np.sort(own, axis=1) == [0, 1, 2]).all()
        _, counts = np.unique(own, axis=0, return_counts=True)
        assert len(counts) == 6
        assert scipy.stats.chisquare(counts).pvalue > 0.001


def test_without_branches_labels_are_shuffled_within_the_domain() -> None:
    prompts = measured.prompts(3, ["fig", "kiwi"], branched=False)
    of = layout(np.zeros((1, 6)), prompts)
    found = labels(shuffled(of, of.groups(["concept"]), 8000, seed=1), 6)
    assert (found.sum(axis=1) == 3).all()
    _, counts = np.unique(found, axis=0, return_counts=True)
    assert len(counts) == 20
    assert scipy.stats.chisquare(counts).pvalue > 0.001


def test_groups_that_root_items_do_not_mix_are_shuffled_root_by_root() -> None:
    prompts = measured.prompts(4, ["fig", "kiwi"])
    prompts["section"] = prompts["root_id"].map(lambda root: "a" if root < "root-002" else "b")
    of = layout(np.zeros((1, 8)), prompts)
    found = labels(shuffled(of, of.groups(["section"]), 600, seed=1), 8)
    by_root = of.replies.groupby("root_id").indices
    for own in by_root.values():
        assert (found[:, own] == found[:, own[:1]]).all()
    assert len(np.unique(found, axis=0)) == 6


def test_repetitions_stay_with_their_prompt() -> None:
    prompts = measured.prompts(3, ["fig", "kiwi"])
    twice = pd.concat([prompts.assign(repetition=i) for i in range(2)]).sort_values(["id", "repetition"])
    of = Layout("fruit", twice.reset_index(drop=True), pd.DataFrame(), *[np.zeros((1, 12))] * 2, np.ones((1, 12), bool))
    found = labels(shuffled(of, of.groups(["concept"]), 50, seed=1), 12)
    assert (found[:, ::2] == found[:, 1::2]).all()
    assert len(np.unique(found, axis=0)) == 8


def test_a_root_item_is_drawn_with_all_its_prompts() -> None:
    prompts = measured.prompts(5, ["fig", "kiwi", "lime"])
    of = layout(np.zeros((1, 15)), prompts)
    groups = of.groups(["concept"])
    drawn = next(resampled(of, groups, 200, seed=1))
    found = times(drawn, 15).reshape(200, 3, 3, 5)  # draws, groups, concept and root of the prompt
    assert (found.sum(axis=(2, 3)) == 5).all()
    np.testing.assert_array_equal(found[:, 0, 0], found[:, 1, 1])
    np.testing.assert_array_equal(found[:, 0, 0], found[:, 2, 2])
    assert not found[:, 0, 1].any()
    assert found[:, 0, 0].mean(axis=0) == pytest.approx(np.ones(5), abs=0.2)


def test_without_branches_each_group_draws_from_its_own() -> None:
    prompts = measured.prompts(4, ["fig", "kiwi"], branched=False).iloc[:-1]
    of = layout(np.zeros((1, 7)), prompts)
    drawn = next(resampled(of, of.groups(["concept"]), 100, seed=1))
    sizes = times(drawn, 7).sum(axis=2)
    assert set(sizes[:, 0]) == {4}
    assert set(sizes[:, 1]) == {3}


def test_more_draws_begin_with_the_same_ones() -> None:
    of = layout(np.zeros((1, 12)), measured.prompts(4, ["fig", "kiwi", "lime"]))
    groups = of.groups(["concept"])
    few, many = (labels(shuffled(of, groups, n, seed=3), 12) for n in (AT_ONCE, 2 * AT_ONCE + 7))
    np.testing.assert_array_equal(many[:AT_ONCE], few)
    assert len(many) == 2 * AT_ONCE + 7


# Permutation tests


@pytest.mark.parametrize("branched", [True, False])
def test_p_is_uniform_where_groups_are_exchangeable(branched) -> None:
    draw = np.random.default_rng(7)
    prompts = measured.prompts(12, ["fig", "kiwi", "lime", "pear"], branched)
    values = draw.exponential(size=(600, len(prompts)))
    values[draw.random(values.shape) < 0.1] = np.nan
    if branched:
        values += np.tile(draw.normal(0, 3, (600, 12)), 4)  # ids are in order of concepts, then of root items
    metrics = ["range", "std", "max_z", "min_z", "dixon_high", "dixon_low"]
    for metric, p in zip(metrics, p_of(values, prompts, metrics=metrics), strict=True):
        assert scipy.stats.kstest(p, "uniform").pvalue > 0.001, metric


@pytest.mark.parametrize("branched", [True, False])
def test_a_planted_effect_is_found(branched) -> None:
    draw = np.random.default_rng(8)
    prompts = measured.prompts(30, ["fig", "kiwi", "lime", "pear", "plum"], branched)
    values = 2 + draw.normal(0, 0.2, (100, len(prompts)))
    values[:, prompts.sort_values("id")["concept"] == "lime"] -= 0.4
    p = dict(zip(METRIC_NAMES, p_of(values, prompts), strict=True))
    for metric in ("range", "std", "min_max_ratio", "min_z", "dixon_low"):
        assert (p[metric] <= 0.05).mean() > 0.8, metric
    assert p["range"].min() == pytest.approx(1 / 200)
    assert (p["dixon_high"] <= 0.05).mean() < 0.1


def test_differences_between_root_items_hide_nothing() -> None:
    draw = np.random.default_rng(9)
    prompts = measured.prompts(15, ["fig", "kiwi", "lime"]).sort_values("id", ignore_index=True)
    values = draw.normal(0, 0.1, (1, 45)) + 0.1 * (prompts["concept"] == "fig").to_numpy()
    apart = values + 5 * prompts["root_id"].str[-3:].astype(int).to_numpy()
    assert p_of(apart, prompts, metrics=["range"]) == pytest.approx(p_of(values, prompts, metrics=["range"]))
    assert p_of(apart, prompts, metrics=["range"])[0, 0] < 0.05


def test_p_counts_what_is_at_least_as_extreme_on_paper() -> None:
    # One root item of two: half of all permutations are the groups themselves, the others have the same range.
    prompts = measured.prompts(1, ["fig", "kiwi"])
    assert p_of(np.array([[0.1, 0.7]]), prompts, metrics=["range"]) == pytest.approx(1.0)
    # Three root items: the range is largest where all three stand the same way, 2 of 8.
    prompts = measured.prompts(3, ["fig", "kiwi"])
    p = p_of(np.array([[0.1] * 3 + [0.7] * 3]), prompts, n=20000, metrics=["range", "min_max_ratio"])
    assert p == pytest.approx(0.25, abs=0.01)


def test_a_group_of_zeros_has_a_mean_of_exactly_zero() -> None:
    # As features of clusters have: a mean of -1e-17 would leave a ratio undefined, and break ties.
    prompts = measured.prompts(6, ["fig", "kiwi", "lime"])
    of = layout(np.array([[1.0, 0, 0, 0, 0, 0] * 2 + [0.0] * 6]), prompts)
    groups = of.groups(["concept"])
    draws = shuffled(of, groups, 60, seed=1)
    found = permutation_p([Summary.of("mean", of.values)], ["min_max_ratio"], as_they_are(groups), draws)[0]
    assert (found.p[0, 0], found.n[0, 0]) == (1, 60)


def test_no_disparity_to_test_is_no_p() -> None:
    prompts = measured.prompts(4, ["fig", "kiwi"])
    of = layout(np.full((1, 8), -1.0), prompts)
    groups = of.groups(["concept"])
    draws = shuffled(of, groups, 50, seed=1)
    found = permutation_p(
        [Summary.of("mean", of.values)], ["min_max_ratio", "max_z", "range"], as_they_are(groups), draws
    )[0]
    assert np.isnan(found.p[:2]).all()
    assert found.p[2, 0] == 1
    assert found.n[:, 0].tolist() == [0, 0, 50]


# Intervals


def simulated(truths: Floats, roots: int, branched: bool = True) -> tuple[Summary, Places, list[Places], Floats]:
    """Means of groups that lie as [series, groups] truths say, in standard errors about 2; and those true means."""
    draw = np.random.default_rng(11)
    prompts = measured.prompts(roots, [f"c{i:02d}" for i in range(truths.shape[1])], branched)
    of_group = prompts.sort_values("id")["concept"].str[1:].astype(int).to_numpy()
    means = 2 + truths * 0.3 / np.sqrt(roots)
    values = means[:, of_group] + draw.normal(0, 0.3, (len(truths), len(prompts)))
    of = layout(values, prompts)
    groups = of.groups(["concept"])
    draws = list(resampled(of, groups, 300, seed=1))
    return Summary.of("mean", values), as_they_are(groups), draws, means


@pytest.mark.parametrize("branched", [True, False])
@pytest.mark.parametrize(
    ("case", "roots", "groups"),
    [("outlier", 75, 21), ("outlier", 20, 6), ("1", 75, 21), ("1", 20, 6), ("3", 20, 6), ("3", 10, 6)],
)
def test_intervals_cover_what_is_true(case, roots, groups, branched) -> None:
    truths = np.zeros((400, groups))
    if case == "outlier":
        truths[:, 0] = -8
    else:
        truths = np.random.default_rng(12).normal(0, float(case), (400, groups))
    means_of, observed, draws, means = simulated(truths, roots, branched)
    metrics = ["range", "std", "min_max_ratio", "min_z"]
    found_of = estimates(means_of, metrics, observed, draws, 0.95)
    low, high = found_of.low, found_of.high
    true = np.stack([metric_values(metric, means) for metric in metrics])
    covered = ((low <= true + 1e-9) & (true - 1e-9 <= high)).mean(axis=1)
    assert (covered > 0.88).all()
    assert (covered < 0.995).all()
    # Noise is in the disparity once already: basic intervals take too little of it off, percentiles add more.
    found, noisy = (
        np.concatenate([metric_values("range", means_of(each)) for each in of], axis=1) for of in ([observed], draws)
    )
    ends = percentiles(noisy, 0.95)
    for lower, upper in (ends, (2 * found[:, 0] - ends[1], 2 * found[:, 0] - ends[0])):
        assert ((lower <= true[0]) & (true[0] <= upper)).mean() < covered[0] - 0.015
    assert (high[0] - low[0]).mean() < 1.3 * (ends[1] - ends[0]).mean()


def test_intervals_of_equal_groups_begin_where_there_is_no_disparity() -> None:
    means_of, observed, draws, _ = simulated(np.zeros((300, 12)), 30)
    found_of = estimates(means_of, ["range", "min_max_ratio"], observed, draws, 0.95)
    low, high = found_of.low, found_of.high
    assert (low[0] == 0).mean() > 0.95
    assert (high[1] == 1).mean() > 0.95
    assert (high[0] > low[0]).all()


def test_intervals_of_few_root_items_are_as_wide_as_noise_is() -> None:
    # Far apart, so that a range is a difference of two means. Resamples of 5 deviate too little, by the root of 4 / 5.
    means_of, observed, draws, _ = simulated(np.tile([0.0, 200.0, 400.0], (50, 1)), 5)
    found_of = estimates(means_of, ["range"], observed, draws, 0.95)
    low, high = found_of.low, found_of.high
    noisy = np.concatenate([metric_values("range", means_of(each)) for each in draws], axis=1)
    below, above = percentiles(noisy, 0.95)
    assert ((high - low)[0] / (above - below)).mean() == pytest.approx((4 / 5) ** -0.5, abs=0.02)


def test_intervals_end_where_metrics_do() -> None:
    prompts = measured.prompts(6, ["fig", "kiwi"])
    values = np.random.default_rng(3).random((50, 12))
    of = layout(values, prompts)
    groups = of.groups(["concept"])
    draws = list(resampled(of, groups, 100, seed=1))
    found_of = estimates(Summary.of("mean", values), ["range", "min_max_ratio"], as_they_are(groups), draws, 0.9)
    low, high = found_of.low, found_of.high
    assert low[0].min() == 0
    assert high[1].max() == 1
    assert (low <= high).all()


def test_percentiles_equal_numpys_and_leave_undefined_resamples_out() -> None:
    x = np.random.default_rng(4).random((3, 41))
    x[1, :10] = np.nan
    x[2, :21] = np.nan
    low, high = percentiles(x, 0.9)
    assert (low[0], high[0]) == pytest.approx(tuple(np.quantile(x[0], [0.05, 0.95])))
    assert (low[1], high[1]) == pytest.approx(tuple(np.quantile(x[1, 10:], [0.05, 0.95])))
    assert np.isnan([low[2], high[2]]).all()


# Benjamini-Hochberg


@pytest.mark.parametrize("n", [1, 2, 17, 300])
def test_benjamini_hochberg_equals_statsmodels_and_scipy(n) -> None:
    p = np.random.default_rng(n).random(n) ** 3
    p[n // 2 :: 7] = p[0]
    adjusted = benjamini_hochberg(p)
    np.testing.assert_allclose(adjusted, multipletests(p, method="fdr_bh")[1], rtol=1e-12)
    np.testing.assert_allclose(adjusted, scipy.stats.false_discovery_control(p), rtol=1e-12)


def test_benjamini_hochberg_leaves_out_what_is_no_test() -> None:
    p = np.array([0.01, np.nan, 0.04, 0.03, np.nan])
    adjusted = benjamini_hochberg(p)
    assert np.isnan(adjusted[[1, 4]]).all()
    assert adjusted[[0, 2, 3]] == pytest.approx([0.03, 0.04, 0.04])
    assert np.isnan(benjamini_hochberg(np.full(2, np.nan))).all()
