"""What groups may be in truth, given noisy summaries of them."""

import numpy as np
from numpy.typing import NDArray

from evenruler.instruments.saged.diagnose.blocks import Floats, ratio

_SPREADS = np.concatenate([np.linspace(0, 2, 6), 2 * 1.5 ** np.arange(1, 18)])
"""Standard deviations of groups within a clump, in standard errors."""

_APART = 3.0
"""Scale of the Cauchy distribution of how far clumps lie apart, in standard deviations of summaries within them."""


def plausible_truths(summaries: Floats, resampled: Floats, inflation: float = 1.0) -> Floats:
    """What the groups may be without noise, once for every resample.

    Noise drives summaries apart, and resampled ones twice as much. So groups are taken to be drawn from one normal
    distribution, or from two of the same spread: clumps, an outlier being a clump of one. Which spread and which split
    are plausible, the summaries say. Every resample gets its own: there, summaries move towards the mean of their
    clump, to the share of their deviation that is kept, spread^2 / (spread^2 + error^2), and the noise of the resample
    is added, that within a clump times the root of that share.

    The standard error is of contrasts, and taken to be the same for all groups. A priori the spread is half-Cauchy with
    the standard error as its scale; one clump is as probable as two; sizes a and b of two are as probable as 1/a + 1/b
    says, and every choice of groups of these sizes is as probable as any other.

    Args:
        summaries: [groups, series]; NaN where a group has none, and so in every draw.
        resampled: [groups, draws, series], of root items drawn anew; NaN stays.
        inflation: Of noise. Resamples of n root items deviate too little, by the root of 1 - 1 / n.

    Returns:
        [groups, draws, series], nowhere beyond what was resampled of any group of the series.

    Source: Laird & Louis (1987), Empirical Bayes confidence intervals based on bootstrap samples; Gelman (2006), Prior
    distributions for variance parameters in hierarchical models (half-Cauchy). Clumps are ours.
    """
    there = ~np.isnan(summaries)
    groups = there.sum(axis=0)
    centre = np.where(there, summaries, 0).sum(axis=0) / np.maximum(groups, 1)
    noise, common = _noise(resampled, there[:, None] & ~np.isnan(resampled), inflation)
    error = np.sqrt(ratio(np.einsum("gds,gds->s", noise, noise) / resampled.shape[1], groups - 1.0))
    usable = np.where(error > 0, error, np.inf)
    spread, low, means = _picked((summaries - centre) / usable, groups, resampled.shape[1])
    # Without noise there is nothing to take off.
    kept = np.where(error > 0, spread**2 / (1 + spread**2), 1.0)
    root = np.sqrt(kept)
    is_low = np.argsort(np.argsort(summaries, axis=0), axis=0)[:, None] < low
    of_low = np.where(is_low, noise, 0).sum(axis=0)
    # Contrasts sum to zero, so that those of the others are the low ones' with the sign changed.
    own = of_low / np.maximum(low, 1), -of_low / np.maximum(groups - low, 1)
    below, above = (
        (1 - kept) * (centre + mean * np.where(error > 0, error, 0)) + (1 - root) * shared + common
        for mean, shared in zip(means, own, strict=True)
    )
    found: Floats = np.where(is_low, below, above)
    found += kept * summaries[:, None]
    noise *= root
    found += noise
    ends = (of.reduce(resampled, axis=(0, 1)) for of in (np.fmin, np.fmax))
    np.clip(found, *ends, out=found)
    np.copyto(found, np.nan, where=np.isnan(resampled))
    return found


def _noise(resampled: Floats, there: NDArray[np.bool_], inflation: float) -> tuple[Floats, Floats]:
    """What resamples deviate by: each group beside the others [groups, draws, series], and all of them [draws, series].

    About the mean of the resamples, since a statistic that is no mean has a bias there, of which it has enough already.
    """
    filled = np.where(there, resampled, 0)
    noise: Floats = (filled - (filled.sum(axis=1) / np.maximum(there.sum(axis=1), 1))[:, None]) * inflation
    np.copyto(noise, 0, where=~there)
    common: Floats = noise.sum(axis=0) / np.maximum(there.sum(axis=0), 1)
    noise -= common
    np.copyto(noise, 0, where=~there)
    return noise, common


def _picked(
    deviations: Floats, groups: NDArray[np.intp], draws: int
) -> tuple[Floats, NDArray[np.intp], tuple[Floats, Floats]]:
    """A spread, the size of the low clump (0: there is one clump) and the means of both, each [draws, series].

    Each spread and split as often as it is plausible; deviations are in standard errors.
    """
    low = np.arange(len(deviations))[:, None]
    high = groups - low
    ordered = np.nan_to_num(np.sort(deviations, axis=0))
    sums = np.cumsum(ordered, axis=0) - ordered
    rest = ordered.sum(axis=0) - sums
    means = sums / np.maximum(low, 1), rest / np.maximum(high, 1)
    within = np.maximum((ordered**2).sum(axis=0) - sums * means[0] - rest * means[1], 0)
    log = _log_plausible(low, high, within, means[1] - means[0]).reshape(-1, len(groups))
    share = np.cumsum(np.exp(log - log.max(axis=0)), axis=0).T
    share /= share[:, -1:]
    # All series in one search: those of each are one above those of the last.
    series = np.arange(len(groups))[:, None]
    wanted = (np.arange(draws) + 0.5) / draws
    place = np.searchsorted((share + series).ravel(), (wanted + series).ravel()).reshape(-1, draws)
    spread, split = np.divmod((place - share.shape[1] * series).T, len(deviations))
    chosen = tuple(np.take_along_axis(each, split, axis=0) for each in means)
    return _SPREADS[spread], split, (chosen[0], chosen[1])


def _log_plausible(low: NDArray[np.intp], high: NDArray[np.intp], within: Floats, apart: Floats) -> Floats:
    """[spreads, splits, series] the logarithm of how plausible each is, but for a constant.

    Args:
        low: [splits, 1] groups in the low clump.
        high: [splits, series] all others.
        within: [splits, series] sums of squares within clumps, in squared standard errors.
        apart: [splits, series] how far their means lie apart.
    """
    edges = np.concatenate([[0], (_SPREADS[1:] + _SPREADS[:-1]) / 2, [np.inf]])
    log: Floats = np.log(np.diff(np.arctan(edges)))[:, None, None]
    variance = (1 + _SPREADS**2)[:, None, None]
    groups = low + high
    log = log - (groups - 1) / 2 * np.log(variance) - within / (2 * variance)
    numbers = np.arange(len(low)) + 1
    factorial, harmonic = (np.concatenate([[0], np.cumsum(each)]) for each in (np.log(numbers), 1 / numbers))
    with np.errstate(divide="ignore", invalid="ignore"):
        small = 1 / low + 1 / high
        choices = factorial[groups] - factorial[low] - factorial[np.maximum(high, 0)]
        prior = np.log(small) - np.log(2 * harmonic[np.maximum(groups - 1, 0)]) - choices
        # How far clumps lie apart is integrated over; its density hardly changes within the error of their means.
        density = -np.log(np.pi / 2 * _APART) - np.log1p(apart**2 / (_APART**2 * variance))
        two = prior + density + np.log(2 * np.pi * small) / 2
    log += np.where(low == 0, 0, np.where(high > 0, two, -np.inf))
    return log
