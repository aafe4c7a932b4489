"""How often intervals of 95% hold the true value: every kind that ships, at the n at which it
ships.

Run by hand: `python -m studies.planted.intervals`, with `--draws N` and `--kinds WORD ...` (those
whose name holds one of the words). Prints one Markdown table. Each kind is drawn with normal
numbers and with those of Student's t with 5 degrees of freedom, which have heavy tails, both scaled
to the same variance. So the true value is the same, and is worked out on paper; but Spearman's rho
of heavy tails is that of a very large draw. Statistics and scales are those of the diagnosis. An
interval without ends counts as one that misses the value.
"""

import argparse
import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm

from evenruler.instruments.probes.diagnose.quality import (
    RELIABILITY,
    alpha_at_common_length,
    correlation,
    mean_interval,
)
from evenruler.measurement import Interval, pearson, spearman
from evenruler.measurement.facets import difference_of_groups
from evenruler.measurement.resampling import (
    CORRELATION,
    PLAIN,
    SHARE,
    jackknife,
    logit_transformation,
)
from evenruler.measurement.shifts import rms_placebo_shift
from studies.tables import print_head, print_row

Floats = NDArray[np.float64]

LOW, HIGH = 0.92, 0.98
"""Between them a nominal 95% is as it should be."""

FREEDOM = 5
"""Of the heavy tails."""

LOADINGS, NOISE = (0.4, 0.9), (0.5, 1.0)
"""Of the first and of the last template of a set; those between lie evenly."""

WORDS = np.array([1] * 6 + [-1] * 6)
"""By target word, its group."""

OF_BIAS = {"unit": 0.2, "template": 0.4, "both": 0.1}
OF_WORDS = {"word": 0.5, "unit-word": 0.3, "template-word": 0.4, "rest": 0.3}
"""Standard deviations in scores of attributes x templates x words."""

OF_STIMULI = 0.3
"""Share of the variance of what brings a reply that is of its stimulus."""


class Normal:
    """Draws of mean 0 and variance 1."""

    def __init__(self, seed: int) -> None:
        self._random = np.random.default_rng(seed)

    def __call__(self, *size: int) -> Floats:
        return self._random.normal(size=size)


class Heavy(Normal):
    """The same with the tails of Student's t."""

    def __call__(self, *size: int) -> Floats:
        return self._random.standard_t(FREEDOM, size=size) / math.sqrt(FREEDOM / (FREEDOM - 2))


@dataclass(frozen=True)
class Kind:
    """One kind of interval at one n."""

    name: str
    size: str
    true: Callable[[type[Normal]], float]
    found: Callable[[Normal], list[tuple[Interval, float]]]
    """Intervals of one draw, each with what is to be added to the true value there."""


def true_value(number: float, _: type[Normal]) -> float:
    """The true value, whatever the distribution."""
    return number


def one_factor(k: int) -> tuple[Floats, Floats]:
    return np.linspace(*LOADINGS, k), np.linspace(*NOISE, k)


def covariance(k: int) -> Floats:
    """Of the templates of a set."""
    loadings, noise = one_factor(k)
    return np.outer(loadings, loadings) + np.diag(noise**2)


def matrix(draw: Normal, n: int, k: int, factor: Floats | None = None) -> Floats:
    """Biases of n attributes x k templates that have one thing in common."""
    loadings, noise = one_factor(k)
    return (draw(n, 1) if factor is None else factor) * loadings + draw(n, k) * noise


def correlations(k: int) -> Floats:
    sd = np.sqrt(np.diag(covariance(k)))
    return covariance(k) / np.outer(sd, sd)


def inter_item(k: int) -> float:
    return float(correlations(k)[np.triu_indices(k, 1)].mean())


def at_eight(k: int) -> float:
    return 8 * inter_item(k) / (1 + 7 * inter_item(k))


def alpha(k: int) -> float:
    matrix_of_set = covariance(k)
    return float(k / (k - 1) * (1 - np.trace(matrix_of_set) / matrix_of_set.sum()))


def first_component_share(k: int) -> float:
    return float(np.linalg.eigvalsh(correlations(k))[-1] / k)


TRUE: dict[str, Callable[[int], float]] = {
    "alpha": alpha,
    "alpha_at_8": at_eight,
    "inter_item_correlation": inter_item,
    "first_component_share": first_component_share,
}
"""By figure, of a set of k templates and attributes without end."""

SIZES_OF_SETS = ((50, 8), (50, 4), (24, 8))
"""Attributes and templates."""


def single(interval: Interval) -> list[tuple[Interval, float]]:
    return [(interval, 0.0)]


def of_sets() -> Iterator[Kind]:
    def intervals(name: str, n: int, k: int, draw: Normal) -> list[tuple[Interval, float]]:
        statistic, scale = RELIABILITY[name]
        return single(jackknife(statistic, matrix(draw, n, k), scale=scale))

    for name in RELIABILITY:
        for n, k in SIZES_OF_SETS:
            size = f"{n} attributes x {k} templates"
            true = partial(true_value, TRUE[name](k))
            yield Kind(f"{name}, jackknife", size, true, partial(intervals, name, n, k))


def between_sets() -> Iterator[Kind]:
    def difference(first: Floats, second: Floats) -> float:
        return alpha_at_common_length(first) - alpha_at_common_length(second)

    def intervals(n: int, k: int, draw: Normal) -> list[tuple[Interval, float]]:
        factor = draw(n, 1)
        sets = matrix(draw, n, 8, factor), matrix(draw, n, k, factor)
        return single(jackknife(difference, *sets, scale=PLAIN))

    for n, k in SIZES_OF_SETS:
        yield Kind(
            "difference of alpha_at_8 between two sets, jackknife",
            f"{n} attributes x 8 and {k} templates",
            partial(true_value, at_eight(8) - at_eight(k)),
            partial(intervals, n, k),
        )


def paired(draw: Normal, n: int, r: float) -> tuple[Floats, Floats]:
    """Biases and a criterion, both of variance 1."""
    criterion = draw(n)
    return r * criterion + math.sqrt(1 - r**2) * draw(n), criterion


def rho(r: float, distribution: type[Normal]) -> float:
    """Spearman's, where Pearson's is r."""
    if distribution is Normal:
        return 6 / math.pi * math.asin(r / 2)
    return spearman(*paired(distribution(99), 2_000_000, r)).value


def of_criterion() -> Iterator[Kind]:
    jackknifed = partial(jackknife, correlation, scale=CORRELATION)

    def intervals(
        interval_of: Callable[..., Interval], n: int, r: float, draw: Normal
    ) -> list[tuple[Interval, float]]:
        return single(interval_of(*paired(draw, n, r)))

    for n in (43, 21):
        for r in (0.0, 0.8):
            size, true = f"{n} attributes, true r {r:g}", partial(true_value, r)
            for name, true_of, interval_of in (
                ("r against a criterion, jackknife", true, jackknifed),
                ("r against a criterion, Fisher's z", true, pearson),
                ("rho against a criterion, Fieller's z", partial(rho, r), spearman),
            ):
                yield Kind(name, size, true_of, partial(intervals, interval_of, n, r))


def of_groups() -> Iterator[Kind]:
    """The mean difference where attributes, templates and words all could have been others."""
    offset = 0.3

    def intervals(
        n: int, k: int, of_bias: dict[str, float], of_words: dict[str, float], draw: Normal
    ) -> list[tuple[Interval, float]]:
        m = len(WORDS)
        bias = of_bias["unit"] * draw(n, 1, 1)
        bias = bias + of_bias["template"] * draw(1, k, 1)
        bias = bias + of_bias["both"] * draw(n, k, 1)
        of_word = of_words["word"] * draw(1, 1, m)
        of_word = of_word + of_words["unit-word"] * draw(n, 1, m)
        of_word = of_word + of_words["template-word"] * draw(1, k, m)
        of_word = of_word + of_words["rest"] * draw(n, k, m)
        common = draw(n, 1, 1) + 2 * draw(1, k, 1)
        common = common + 0.5 * draw(n, k, 1)
        scores = common + (offset + bias) / 2 * WORDS + of_word
        return single(difference_of_groups(scores, WORDS).interval())

    cases = {
        "all vary": (OF_BIAS, OF_WORDS),
        "words alone vary": (dict.fromkeys(OF_BIAS, 0.0), OF_WORDS),
        "words do not vary": (OF_BIAS, dict.fromkeys(OF_WORDS, 0.0)),
    }
    for n, k in SIZES_OF_SETS:
        for case, (of_bias, of_words) in cases.items():
            yield Kind(
                "offset, Satterthwaite's t",
                f"{n} attributes x {k} templates x 12 words, {case}",
                partial(true_value, offset),
                partial(intervals, n, k, of_bias, of_words),
            )


def of_attributes() -> Iterator[Kind]:
    def intervals(n: int, draw: Normal) -> list[tuple[Interval, float]]:
        true_biases = draw(n)
        biases = true_biases[:, None] + 2 * draw(1, 8) + draw(n, 8)
        centred = biases - biases.mean(axis=0)
        true_centred = true_biases - true_biases.mean()
        spans = [mean_interval(row, 0.95) for row in centred]
        return list(zip(spans, true_centred, strict=True))

    for n in (50, 24):
        yield Kind(
            "centred bias of an attribute, t",
            f"8 templates, {n} attributes",
            partial(true_value, 0.0),
            partial(intervals, n),
        )


def of_items() -> Iterator[Kind]:
    def true(item: int) -> float:
        whole, is_rest = covariance(8), np.arange(8) != item
        variance_of_rest = whole[is_rest][:, is_rest].sum()
        return float(whole[item, is_rest].sum() / math.sqrt(whole[item, item] * variance_of_rest))

    def intervals(n: int, item: int, draw: Normal) -> list[tuple[Interval, float]]:
        biases = matrix(draw, n, 8)
        return single(pearson(biases[:, item], biases.sum(axis=1) - biases[:, item]))

    for n in (50, 24):
        for item in (0, 7):
            yield Kind(
                "item-rest correlation, Fisher's z",
                f"{n} attributes x 8 templates, true r {true(item):.2f}",
                partial(true_value, true(item)),
                partial(intervals, n, item),
            )


def of_prefixes() -> Iterator[Kind]:
    yield Kind(
        "size of placebos, chi-square",
        "5 placebos",
        partial(true_value, 0.7),
        lambda draw: single(rms_placebo_shift(0.7 * draw(5))),
    )


def of_pairs() -> Iterator[Kind]:
    """Of questionnaires: items beside their twins, and fits to a corpus beside those to its
    control."""

    def intervals(n: int, draw: Normal) -> list[tuple[Interval, float]]:
        return single(jackknife(np.mean, draw(n), scale=PLAIN))

    true = partial(true_value, 0.0)
    for n in (6, 7, 9, 13):
        yield Kind("beyond_twins, t", f"{n} items", true, partial(intervals, n))
    yield Kind("moved_by, t", "6 fits", true, partial(intervals, 6))


def replies(draw: Normal, n: int, k: int, shares: Sequence[float]) -> Floats:
    """[stimuli, sides] shares of k replies that hang together by stimulus."""
    drawn = draw(n, 1, 1) * math.sqrt(OF_STIMULI)
    drawn = drawn + draw(n, len(shares), k) * math.sqrt(1 - OF_STIMULI)
    return np.asarray((drawn < norm.ppf(shares)[:, None]).mean(axis=2))


def of_all_replies(
    statistic: Callable[[Floats], float], shares: Sequence[float], distribution: type[Normal]
) -> float:
    """Of normal numbers on paper, of heavy tails that of a very large draw."""
    if distribution is Normal:
        return statistic(np.array([shares]))
    return statistic(replies(distribution(0), 100_000, 4, shares))


def of_shares() -> Iterator[Kind]:
    """Of replicated studies: a share of replies, and its change, each with an interval in its
    range."""

    def intervals(
        n: int, k: int, shares: Sequence[float], draw: Normal
    ) -> list[tuple[Interval, float]]:
        statistic, scale = (share_of, SHARE) if len(shares) == 1 else (change_of, CHANGE)
        interval = jackknife(statistic, replies(draw, n, k, shares), scale=scale)
        # None where a value stands at the end of its range.
        return [] if math.isnan(interval.low) else single(interval)

    for n, k in ((12, 4), (16, 40)):
        for shares in ((0.1,), (0.5,), (0.1, 0.4), (0.1, 0.9)):
            name = "share of replies" if len(shares) == 1 else "change of a share of replies"
            statistic = share_of if len(shares) == 1 else change_of
            yield Kind(
                f"{name}, jackknife in its range",
                f"{n} stimuli, {k} replies each, {' to '.join(map(str, shares))}",
                partial(of_all_replies, statistic, shares),
                partial(intervals, n, k, shares),
            )


CHANGE = logit_transformation(-1, 1)


def share_of(shares: Floats) -> float:
    return float(shares.mean())


def change_of(shares: Floats) -> float:
    return float(shares[:, 1].mean() - shares[:, 0].mean())


def covered(kind: Kind, distribution: type[Normal], draws: int) -> float:
    """Share of the intervals that hold the true value."""
    true, draw = kind.true(distribution), distribution(1)
    held: list[bool] = []
    with np.errstate(all="ignore"):
        for _ in range(draws):
            for interval, more in kind.found(draw):
                held.append(interval.low <= true + more <= interval.high)
    return float(np.mean(held))


def in_words(share: float) -> str:
    number = f"{share:.3f}"
    return number if LOW <= share <= HIGH else f"**{number}**"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=1000)
    parser.add_argument("--kinds", nargs="*", default=[""])
    arguments = parser.parse_args()
    start = time.perf_counter()
    makers = (
        *(of_sets, between_sets, of_criterion, of_groups, of_attributes),
        *(of_items, of_prefixes, of_pairs, of_shares),
    )
    print_head("interval", "at", "true value", "covers: normal", "covers: t(5)")
    for kind in chain.from_iterable(make() for make in makers):
        if not any(word in kind.name for word in arguments.kinds):
            continue
        covers = [covered(kind, drawn, arguments.draws) for drawn in (Normal, Heavy)]
        print_row(kind.name, kind.size, f"{kind.true(Normal):.3f}", *map(in_words, covers))
    seconds = time.perf_counter() - start
    print(
        f"\n{arguments.draws:,} draws each, {seconds / 60:.1f} minutes; bold: outside {LOW:g} to "
        f"{HIGH:g}"
    )


if __name__ == "__main__":
    main()
