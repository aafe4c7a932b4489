import math

import numpy as np
import pytest
import scipy.integrate
import scipy.stats

from evenruler.instruments.saged.diagnose.blocks import Floats
from evenruler.instruments.saged.diagnose.truths import _log_plausible, plausible_truths


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
