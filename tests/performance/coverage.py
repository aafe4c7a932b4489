"""How often intervals of 95% hold the true value: every kind that ships, at the n at which it
ships.

Run by hand: `python -m tests.performance.coverage`, with `--draws N` and `--kinds WORD ...` (those
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
from typing import Any

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
    at: str
    true: Callable[[type[Normal]], float]
    found: Callable[[Normal], list[tuple[Interval, float]]]
    """Intervals of one draw, each with what is to be added to the true value there."""


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


TRUE: dict[str, Callable[[int], float]] = {
    "alpha": lambda k: k / (k - 1) * (1 - np.trace(covariance(k)) / covariance(k).sum()),
    "alpha_at_8": at_eight,
    "inter_item_correlation": inter_item,
    "first_component_share": lambda k: float(np.linalg.eigvalsh(correlations(k))[-1] / k),
}
"""By figure, of a set of k templates and attributes without end."""


STATISTICS = RELIABILITY


def one(interval: Any) -> list[tuple[Interval, float]]:
    return [(interval, 0.0)]


def of_sets() -> Iterator[Kind]:
    for name, (statistic, scale) in STATISTICS.items():
        for n, k in ((50, 8), (50, 4), (24, 8)):
            yield Kind(
                f"{name}, jackknife",
                f"{n} attributes x {k} templates",
                lambda _, name=name, k=k: TRUE[name](k),
                lambda draw, statistic=statistic, scale=scale, n=n, k=k: one(
                    jackknife(statistic, matrix(draw, n, k), scale=scale)
                ),
            )


def between_sets() -> Iterator[Kind]:
    def found(draw: Normal, n: int, k: int) -> list[tuple[Interval, float]]:
        factor = draw(n, 1)
        sets = matrix(draw, n, 8, factor), matrix(draw, n, k, factor)
        return one(
            jackknife(
                lambda x, y: alpha_at_common_length(x) - alpha_at_common_length(y),
                *sets,
                scale=PLAIN,
            )
        )

    for n, k in ((50, 8), (50, 4), (24, 8)):
        yield Kind(
            "difference of alpha_at_8 between two sets, jackknife",
            f"{n} attributes x 8 and {k} templates",
            lambda _, k=k: at_eight(8) - at_eight(k),
            lambda draw, n=n, k=k: found(draw, n, k),
        )


def paired(draw: Normal, n: int, r: float) -> tuple[Floats, Floats]:
    """Biases and a criterion, both of variance 1."""
    criterion = draw(n)
    return r * criterion + math.sqrt(1 - r**2) * draw(n), criterion


def rho(of: type[Normal], r: float) -> float:
    """Spearman's, where Pearson's is r."""
    if of is Normal:
        return 6 / math.pi * math.asin(r / 2)
    return spearman(*paired(of(99), 2_000_000, r)).value


def of_criterion() -> Iterator[Kind]:
    for n in (43, 21):
        for r in (0.0, 0.8):
            at = f"{n} attributes, true r {r:g}"
            yield Kind(
                "r against a criterion, jackknife",
                at,
                lambda _, r=r: r,
                lambda draw, n=n, r=r: one(
                    jackknife(correlation, *paired(draw, n, r), scale=CORRELATION)
                ),
            )
            yield Kind(
                "r against a criterion, Fisher's z",
                at,
                lambda _, r=r: r,
                lambda draw, n=n, r=r: one(pearson(*paired(draw, n, r))),
            )
            yield Kind(
                "rho against a criterion, Fieller's z",
                at,
                lambda of, r=r: rho(of, r),
                lambda draw, n=n, r=r: one(spearman(*paired(draw, n, r))),
            )


def of_groups() -> Iterator[Kind]:
    """The mean difference where attributes, templates and words all could have been others."""
    offset = 0.3

    def scores(
        draw: Normal, n: int, k: int, own: dict[str, float], of_words: dict[str, float]
    ) -> Floats:
        m = len(WORDS)
        bias = (
            own["unit"] * draw(n, 1, 1)
            + own["template"] * draw(1, k, 1)
            + own["both"] * draw(n, k, 1)
        )
        of_word = of_words["word"] * draw(1, 1, m) + of_words["unit-word"] * draw(n, 1, m)
        of_word = (
            of_word + of_words["template-word"] * draw(1, k, m) + of_words["rest"] * draw(n, k, m)
        )
        common = draw(n, 1, 1) + 2 * draw(1, k, 1) + 0.5 * draw(n, k, 1)
        return common + (offset + bias) / 2 * WORDS + of_word

    cases = {
        "all vary": (OF_BIAS, OF_WORDS),
        "words alone vary": (dict.fromkeys(OF_BIAS, 0.0), OF_WORDS),
        "words do not vary": (OF_BIAS, dict.fromkeys(OF_WORDS, 0.0)),
    }
    for n, k in ((50, 8), (24, 8), (50, 4)):
        for case, (own, of_words) in cases.items():
            yield Kind(
                "offset, Satterthwaite's t",
                f"{n} attributes x {k} templates x 12 words, {case}",
                lambda _: offset,
                lambda draw, n=n, k=k, own=own, of_words=of_words: one(
                    difference_of_groups(scores(draw, n, k, own, of_words), WORDS).interval()
                ),
            )


def of_attributes() -> Iterator[Kind]:
    def found(draw: Normal, n: int) -> list[tuple[Interval, float]]:
        own = draw(n)
        biases = own[:, None] + 2 * draw(1, 8) + draw(n, 8)
        beyond = biases - biases.mean(axis=0)
        return [
            (mean_interval(row, 0.95), value)
            for row, value in zip(beyond, own - own.mean(), strict=True)
        ]

    for n in (50, 24):
        yield Kind(
            "centred bias of an attribute, t",
            f"8 templates, {n} attributes",
            lambda _: 0.0,
            lambda draw, n=n: found(draw, n),
        )


def of_items() -> Iterator[Kind]:
    def true(item: int) -> float:
        whole, rest = covariance(8), [other for other in range(8) if other != item]
        return float(
            whole[item, rest].sum() / math.sqrt(whole[item, item] * whole[np.ix_(rest, rest)].sum())
        )

    def found(draw: Normal, n: int, item: int) -> list[tuple[Interval, float]]:
        x = matrix(draw, n, 8)
        return one(pearson(x[:, item], x.sum(axis=1) - x[:, item]))

    for n in (50, 24):
        for item in (0, 7):
            yield Kind(
                "item-rest correlation, Fisher's z",
                f"{n} attributes x 8 templates, true r {true(item):.2f}",
                lambda _, item=item: true(item),
                lambda draw, n=n, item=item: found(draw, n, item),
            )


def of_prefixes() -> Iterator[Kind]:
    yield Kind(
        "size of placebos, chi-square",
        "5 placebos",
        lambda _: 0.7,
        lambda draw: one(rms_placebo_shift(0.7 * draw(5))),
    )


def of_pairs() -> Iterator[Kind]:
    """Of questionnaires: items beside their twins, and fits to a corpus beside those to its
    control."""
    for name, unit, sizes in (("beyond_twins", "items", (6, 7, 9, 13)), ("moved_by", "fits", (6,))):
        for n in sizes:
            yield Kind(
                f"{name}, t",
                f"{n} {unit}",
                lambda _: 0.0,
                lambda draw, n=n: one(jackknife(np.mean, draw(n), scale=PLAIN)),
            )


def replies(draw: Normal, n: int, k: int, shares: Sequence[float]) -> Floats:
    """[stimuli, sides] shares of k replies that hang together by stimulus."""
    drawn = draw(n, 1, 1) * math.sqrt(OF_STIMULI) + draw(n, len(shares), k) * math.sqrt(
        1 - OF_STIMULI
    )
    return np.asarray((drawn < norm.ppf(shares)[:, None]).mean(axis=2))


def of_all_replies(
    of: type[Normal], statistic: Callable[[Floats], float], shares: Sequence[float]
) -> float:
    """Of normal numbers on paper, of heavy tails that of a very large draw."""
    return statistic(np.array([shares]) if of is Normal else replies(of(0), 100_000, 4, shares))


def of_shares() -> Iterator[Kind]:
    """Of replicated studies: a share of replies, and its change, each with an interval in its
    range."""
    for n, k in ((12, 4), (16, 40)):
        for shares, name, statistic, scale in (
            ((0.1,), "share of replies", share_of, SHARE),
            ((0.5,), "share of replies", share_of, SHARE),
            ((0.1, 0.4), "change of a share of replies", change_of, logit_transformation(-1, 1)),
            ((0.1, 0.9), "change of a share of replies", change_of, logit_transformation(-1, 1)),
        ):
            yield Kind(
                f"{name}, jackknife in its range",
                f"{n} stimuli, {k} replies each, {' to '.join(map(str, shares))}",
                lambda of, statistic=statistic, shares=shares: of_all_replies(
                    of, statistic, shares
                ),
                lambda draw, n=n, k=k, statistic=statistic, shares=shares, scale=scale: printed(
                    jackknife(statistic, replies(draw, n, k, shares), scale=scale)
                ),
            )


def share_of(x: Floats) -> float:
    return float(x.mean())


def change_of(x: Floats) -> float:
    return float(x[:, 1].mean() - x[:, 0].mean())


def printed(interval: Interval) -> list[tuple[Interval, float]]:
    """None where a value stands at the end of its range."""
    return [] if math.isnan(interval.low) else one(interval)


def covered(kind: Kind, of: type[Normal], draws: int) -> float:
    """Share of the intervals that hold the true value."""
    true, draw = kind.true(of), of(1)
    held: list[bool] = []
    with np.errstate(all="ignore"):
        for _ in range(draws):
            held += [
                interval.low <= true + more <= interval.high for interval, more in kind.found(draw)
            ]
    return float(np.mean(held))


def in_words(share: float) -> str:
    told = f"{share:.3f}"
    return told if LOW <= share <= HIGH else f"**{told}**"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=1000)
    parser.add_argument("--kinds", nargs="*", default=[""])
    arguments = parser.parse_args()
    start = time.perf_counter()
    every = (
        of_sets,
        between_sets,
        of_criterion,
        of_groups,
        of_attributes,
        of_items,
        of_prefixes,
        of_pairs,
        of_shares,
    )
    kinds = [
        kind
        for made in every
        for kind in made()
        if any(word in kind.name for word in arguments.kinds)
    ]
    print(
        "| interval | at | true value | covers: normal | covers: t(5) |\n| --- | --- | --- | --- | "
        "--- |",
        flush=True,
    )
    for kind in kinds:
        shares = [in_words(covered(kind, of, arguments.draws)) for of in (Normal, Heavy)]
        print(
            f"| {kind.name} | {kind.at} | {kind.true(Normal):.3f} | {' | '.join(shares)} |",
            flush=True,
        )
    seconds = time.perf_counter() - start
    print(
        f"\n{arguments.draws:,} draws each, {seconds / 60:.1f} minutes; bold: outside {LOW:g} to "
        f"{HIGH:g}"
    )


if __name__ == "__main__":
    main()
