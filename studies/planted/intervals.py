"""How often intervals of 95% hold the true value, at the n at which they ship.

Prints one Markdown table. Each kind is drawn with normal numbers and with those of Student's t with
5 degrees of freedom, which have heavy tails, both scaled to the same variance. So the true value is
the same, and is worked out on paper; but Spearman's rho of heavy tails is that of a very large
draw. Statistics and scales are those of the diagnosis. An interval without ends counts as one that
misses the value.
"""

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import chain, product

import numpy as np
import typer
from scipy.stats import norm

from evenruler.instruments.probes.diagnose.quality import (
    RELIABILITY,
    alpha_at_common_length,
    correlation,
)
from evenruler.measurement import Interval, pearson, spearman
from evenruler.measurement.facets import difference_of_groups
from evenruler.measurement.inputs import Floats
from evenruler.measurement.resampling import (
    CORRELATION,
    PLAIN,
    SHARE,
    Transformation,
    jackknife,
    logit_transformation,
)
from studies.tables import print_head, print_row

LOW, HIGH = 0.92, 0.98
"""Between them a nominal 95% is as it should be."""

FREEDOM = 5
"""Of the heavy tails."""

LOADINGS, NOISE = (0.4, 0.9), (0.5, 1.0)
"""Of the first and of the last template of a set; those between lie evenly."""

SIZES_OF_SETS = ((50, 8), (50, 4), (24, 8))
"""Attributes and templates."""

GROUPS = np.repeat([1, -1], 6)
"""By target word, its group."""

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
    true: float | Callable[[type[Normal]], float]
    """The true value, or that of a distribution."""
    draw: Callable[[Normal], Interval]

    def find_true(self, distribution: type[Normal]) -> float:
        """Return the true value."""
        return self.true(distribution) if callable(self.true) else self.true

    def count_covered(self, distribution: type[Normal], draws: int) -> float:
        """Return the share of the intervals that hold the true value."""
        true, random = self.find_true(distribution), distribution(1)
        n_held = 0
        with np.errstate(all="ignore"):
            for _ in range(draws):
                interval = self.draw(random)
                n_held += interval.low <= true <= interval.high
        return n_held / draws


def load_templates(k: int) -> tuple[Floats, Floats]:
    """[k] loadings on the one thing that templates have in common, and SD of their noise."""
    return np.linspace(*LOADINGS, k), np.linspace(*NOISE, k)


def covary_templates(k: int) -> Floats:
    """[k, k] covariances of the templates of a set."""
    loadings, noise = load_templates(k)
    return np.outer(loadings, loadings) + np.diag(noise**2)


def correlate_templates(k: int) -> Floats:
    """[k, k] correlations of the templates of a set."""
    covariance = covary_templates(k)
    sd = np.sqrt(np.diag(covariance))
    return covariance / np.outer(sd, sd)


def draw_biases(draw: Normal, n: int, k: int, factor: Floats | None = None) -> Floats:
    """[n, k] biases of attributes in templates that have one thing in common."""
    loadings, noise = load_templates(k)
    common = draw(n, 1) if factor is None else factor
    return common * loadings + draw(n, k) * noise


def find_alpha(k: int) -> float:
    covariance = covary_templates(k)
    return float(k / (k - 1) * (1 - np.trace(covariance) / covariance.sum()))


def find_inter_item(k: int) -> float:
    return float(correlate_templates(k)[np.triu_indices(k, 1)].mean())


def find_alpha_at_eight(k: int) -> float:
    r = find_inter_item(k)
    return 8 * r / (1 + 7 * r)


def find_first_component(k: int) -> float:
    return float(np.linalg.eigvalsh(correlate_templates(k))[-1] / k)


TRUE = (find_alpha, find_inter_item, find_alpha_at_eight, find_first_component)
"""Of each figure of `RELIABILITY`, of a set of k templates and attributes without end."""

Statistic = Callable[[Floats], float]


def list_reliabilities() -> Iterator[Kind]:
    """Of sets of templates."""

    def draw_interval(
        statistic: Statistic, scale: Transformation, n: int, k: int, draw: Normal
    ) -> Interval:
        return jackknife(statistic, draw_biases(draw, n, k), scale=scale)

    for (_, _, statistic, scale), find_true in zip(RELIABILITY, TRUE, strict=True):
        name = f"{statistic.__name__}, jackknife"
        for n, k in SIZES_OF_SETS:
            draw = partial(draw_interval, statistic, scale, n, k)
            yield Kind(
                name,
                f"{n} attributes x {k} templates",
                find_true(k),
                draw,
            )


def list_differences() -> Iterator[Kind]:
    """Of alpha, between two sets of the same attributes."""

    def subtract_alpha(first: Floats, second: Floats) -> float:
        return alpha_at_common_length(first) - alpha_at_common_length(second)

    def draw_interval(n: int, k: int, draw: Normal) -> Interval:
        factor = draw(n, 1)
        sets = draw_biases(draw, n, 8, factor), draw_biases(draw, n, k, factor)
        return jackknife(subtract_alpha, *sets, scale=PLAIN)

    for n, k in SIZES_OF_SETS:
        size = f"{n} attributes x 8 and {k} templates"
        true = find_alpha_at_eight(8) - find_alpha_at_eight(k)
        name = "difference of alpha_at_8 between two sets, jackknife"
        yield Kind(name, size, true, partial(draw_interval, n, k))


def draw_pairs(draw: Normal, n: int, r: float) -> tuple[Floats, Floats]:
    """Biases and a criterion, both of variance 1."""
    criterion = draw(n)
    return r * criterion + math.sqrt(1 - r**2) * draw(n), criterion


def find_rho(r: float, distribution: type[Normal]) -> float:
    """Return Spearman's, where Pearson's is r."""
    if distribution is Normal:
        return 6 / math.pi * math.asin(r / 2)
    return spearman(*draw_pairs(distribution(99), 2_000_000, r)).value


def list_correlations() -> Iterator[Kind]:
    """With a criterion."""

    def draw_interval(
        interval_of: Callable[..., Interval], n: int, r: float, draw: Normal
    ) -> Interval:
        return interval_of(*draw_pairs(draw, n, r))

    jackknife_r = partial(jackknife, correlation, scale=CORRELATION)
    for n, r in product((43, 21), (0.0, 0.8)):
        size = f"{n} attributes, true r {r:g}"
        for name, true, interval_of in (
            ("r against a criterion, jackknife", r, jackknife_r),
            ("r against a criterion, Fisher's z", r, pearson),
            ("rho against a criterion, Fieller's z", partial(find_rho, r), spearman),
        ):
            yield Kind(name, size, true, partial(draw_interval, interval_of, n, r))


def list_offsets() -> Iterator[Kind]:
    """Of the mean difference of groups, where attributes, templates and words all could have been
    others."""
    offset, m = 0.3, len(GROUPS)

    def draw_interval(n: int, k: int, draw: Normal) -> Interval:
        bias = offset + 0.2 * draw(n, 1, 1) + 0.4 * draw(1, k, 1) + 0.1 * draw(n, k, 1)
        of_word = 0.5 * draw(1, 1, m) + 0.3 * draw(n, 1, m) + 0.4 * draw(1, k, m)
        common = draw(n, 1, 1) + 2 * draw(1, k, 1) + 0.5 * draw(n, k, 1)
        scores = common + bias / 2 * GROUPS + of_word + 0.3 * draw(n, k, m)
        return difference_of_groups(scores, GROUPS).interval()

    for n, k in SIZES_OF_SETS:
        size = f"{n} attributes x {k} templates x 12 words"
        yield Kind("offset, Satterthwaite's t", size, offset, partial(draw_interval, n, k))


def list_item_rests() -> Iterator[Kind]:
    """Of the correlation of a template with the sum of the others."""

    def find_r(item: int) -> float:
        whole, is_rest = covary_templates(8), np.arange(8) != item
        variance_of_rest = whole[is_rest][:, is_rest].sum()
        return float(whole[item, is_rest].sum() / math.sqrt(whole[item, item] * variance_of_rest))

    def draw_interval(n: int, item: int, draw: Normal) -> Interval:
        biases = draw_biases(draw, n, 8)
        of_item = biases[:, item]
        return pearson(of_item, biases.sum(axis=1) - of_item)

    for n, item in product((50, 24), (0, 7)):
        size = f"{n} attributes x 8 templates, true r {find_r(item):.2f}"
        draw = partial(draw_interval, n, item)
        yield Kind("item-rest correlation, Fisher's z", size, find_r(item), draw)


def list_means() -> Iterator[Kind]:
    """Of questionnaires: items beside their twins."""

    def draw_interval(n: int, draw: Normal) -> Interval:
        return jackknife(np.mean, draw(n), scale=PLAIN)

    for n in (7, 13):
        yield Kind(
            "beyond_twins, t",
            f"{n} items",
            0.0,
            partial(draw_interval, n),
        )


def draw_replies(draw: Normal, n: int, k: int, shares: tuple[float, ...]) -> Floats:
    """[stimuli, sides] shares of k replies that hang together by stimulus."""
    drawn = draw(n, 1, 1) * math.sqrt(OF_STIMULI)
    drawn = drawn + draw(n, len(shares), k) * math.sqrt(1 - OF_STIMULI)
    return np.asarray((drawn < norm.ppf(shares)[:, None]).mean(axis=2))


def change_share(shares: Floats) -> float:
    """Return the mean of the last side, less that of the first where there are two."""
    means = shares.mean(axis=0)
    return float(means[-1] - means[0] if len(means) > 1 else means[0])


def list_shares() -> Iterator[Kind]:
    """Of replicated studies: a share of replies, and its change, in its range."""

    def find_true(shares: tuple[float, ...], distribution: type[Normal]) -> float:
        if distribution is Normal:
            return change_share(np.array([shares]))
        return change_share(draw_replies(distribution(0), 100_000, 4, shares))

    def draw_interval(n: int, k: int, shares: tuple[float, ...], draw: Normal) -> Interval:
        scale = SHARE if len(shares) == 1 else logit_transformation(-1, 1)
        return jackknife(change_share, draw_replies(draw, n, k, shares), scale=scale)

    for n, k in ((12, 4), (16, 40)):
        for shares in ((0.1,), (0.5,), (0.1, 0.4), (0.1, 0.9)):
            name = "share of replies" if len(shares) == 1 else "change of a share of replies"
            size = f"{n} stimuli, {k} replies each, {' to '.join(map(str, shares))}"
            draw = partial(draw_interval, n, k, shares)
            yield Kind(
                f"{name}, jackknife in its range",
                size,
                partial(find_true, shares),
                draw,
            )


LISTS = (
    *(list_reliabilities, list_differences, list_correlations, list_offsets),
    *(list_item_rests, list_means, list_shares),
)


def describe_share(share: float) -> str:
    """Return a share, bold where it is not as it should be."""
    return f"{share:.3f}" if LOW <= share <= HIGH else f"**{share:.3f}**"


def main(draws: int = 1000, only: str = "") -> None:
    """Print the table, of kinds whose name has some words."""
    start = time.perf_counter()
    print_head("interval", "at", "true value", "covers: normal", "covers: t(5)")
    for kind in chain.from_iterable(make() for make in LISTS):
        if only in kind.name:
            covers = [kind.count_covered(drawn, draws) for drawn in (Normal, Heavy)]
            true = f"{kind.find_true(Normal):.3f}"
            print_row(kind.name, kind.size, true, *map(describe_share, covers))
    minutes = (time.perf_counter() - start) / 60
    print(f"\n{draws:,} draws each, {minutes:.1f} minutes; bold: outside {LOW:g} to {HIGH:g}")


if __name__ == "__main__":
    typer.run(main)
