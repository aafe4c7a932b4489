"""How large a value is beside values of a reference set, which nobody chose word by word.

A reference set is a table of nouns: `noun, theme, subtheme, count, gendered, gendered_form`, and
`slope`, what the noun gains along the criterion. A headline is a difference of two groups of words;
it is compared with the differences of two themes. Files are
read elsewhere (`evenruler/reference_sets/`).

Source: controls.md of the specification, section 2, rules 6 to 8, and section 3, Probes.
"""

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from evenruler.measurement.inputs import Floats
from evenruler.measurement.resampling import FEWEST_UNITS, Interval, bootstrap

Themes = NDArray[np.intp]
"""The number of each theme, by which one that is drawn twice is known."""


@dataclass(frozen=True)
class Cut:
    """Which nouns of a reference set count, and how they are grouped into themes."""

    name: str = "as declared"
    fewest_tags: int = 1
    """Least tagged count of a noun."""
    largest_theme: int | None = 25
    """Nouns above which a theme is split, once; None never splits."""
    fewest_nouns: int = 4
    """Nouns below which a theme does not count."""
    with_gendered: bool = False
    """Whether nouns stay that have a gendered word in a gloss."""
    with_gendered_form: bool = True
    """Whether nouns stay that end in man, boy, lord ..."""
    half: int | None = None
    """0 or 1: every other noun of a theme, in the order of the alphabet, from the first or the
    second on.
    """


DECLARED = Cut()

_OTHER_COUNTS = (
    Cut("nouns tagged twice", fewest_tags=2),
    Cut("nouns tagged three times", fewest_tags=3),
    Cut("nouns tagged five times", fewest_tags=5),
)
_OTHER_SPLITS = (
    Cut("themes split above 15 nouns", largest_theme=15),
    Cut("all themes split", largest_theme=0),
    Cut("no theme split", largest_theme=None),
)
_OTHER_SIZES = (
    Cut("themes of three nouns, too", fewest_nouns=3),
    Cut("themes of six nouns", fewest_nouns=6),
)
_OTHER_FILTERS = (
    Cut("gendered glosses, too", with_gendered=True),
    Cut("without nouns in man, boy, lord", with_gendered_form=False),
)
_HALVES = (
    Cut("first half of the nouns", half=0),
    Cut("second half of the nouns", half=1),
)
OTHER_CUTS = (*_OTHER_COUNTS, *_OTHER_SPLITS, *_OTHER_SIZES, *_OTHER_FILTERS, *_HALVES)
"""Twelve other cuts of a reference set: how far a percentile depends on the declared one."""


@dataclass(frozen=True)
class SameTest:
    """How often a headline's test says `detected` of pairs of themes: the triviality rate."""

    share: float
    """From 0 to 1; NaN without a pair."""
    pairs: int


def group_themes(nouns: pd.DataFrame, cut: Cut = DECLARED) -> pd.DataFrame:
    """Select the nouns of a cut and group them into themes.

    A theme with more nouns than `cut.largest_theme` is split once, by `subtheme`; its nouns without
    one stay together. Sizes are those after all other nouns have left.

    Args:
        nouns: The reference set, a row a noun, with those alone that a model can be asked about.
        cut: What is selected, and how it is grouped.

    Returns:
        The selected rows in alphabetical order, with `theme` as grouped.
    """
    stays = nouns["count"] >= cut.fewest_tags
    if not cut.with_gendered:
        stays &= nouns["gendered"] == 0
    if not cut.with_gendered_form:
        stays &= nouns["gendered_form"] == 0
    rows = nouns[stays].sort_values("noun", kind="stable")
    if cut.half is not None:
        rows = rows[rows.groupby("theme").cumcount() % 2 == cut.half]
    theme, subtheme = rows["theme"], rows["subtheme"].fillna("")
    if cut.largest_theme is not None:
        is_split = theme.groupby(theme).transform("size") > cut.largest_theme
        theme = theme.mask(is_split & (subtheme != ""), theme + "/" + subtheme)
    rows = rows.assign(theme=theme)
    sizes = theme.groupby(theme).transform("size")
    return rows[sizes >= cut.fewest_nouns].reset_index(drop=True)


def theme_means(rows: pd.DataFrame) -> "pd.Series[float]":
    """The mean slope of each theme, by theme; `rows`: noun, theme, slope.

    Themes stand in the order of their first nouns, so that names of themes change nothing.
    """
    in_order = rows.sort_values("noun", kind="stable")
    means: pd.Series[float] = in_order.groupby("theme", sort=False)["slope"].mean()
    return means


def theme_percentile(
    value: float,
    rows: pd.DataFrame,
    *,
    level: float = 0.95,
    resamples: int = 500,
    seed: int = 0,
) -> Interval:
    """The percentile of |value| among the absolute differences of all pairs of themes.

    The interval is that of a bootstrap of themes, as the nouns of one are alike; pairs of a theme
    with itself are left out.

    Args:
        value: A difference of two groups of words, in the unit of the slopes.
        rows: Noun, theme, slope, as `group_themes` gives them.
        level: Coverage of the interval.
        resamples: Number of resamples of themes.
        seed: Seed of the draws.

    Returns:
        The percentage of pairs, from 0 to 100, whose difference is smaller than |value|. NaN with
        fewer than two themes; without an interval with fewer than `FEWEST_UNITS`.

    Raises:
        ValueError: The value or a slope is not finite.
    """
    means = np.asarray(theme_means(rows), dtype=np.float64)
    if not math.isfinite(value) or not np.isfinite(means).all():
        raise ValueError("the value and all slopes must be finite")

    def percentile_among(drawn_means: Floats, drawn_themes: Themes) -> float:
        """The percentile of the value among pairs of themes with these means; `drawn_themes` says
        which are the same theme.
        """
        return _mean_percentile(value, drawn_means, drawn_themes)

    themes = np.arange(len(means))
    if len(means) < FEWEST_UNITS:
        return Interval(percentile_among(means, themes), math.nan, math.nan)
    return bootstrap(percentile_among, means, themes, level=level, n=resamples, seed=seed)


def _mean_percentile(value: float, means: Floats, themes: Themes) -> float:
    """The percentage of pairs of different themes whose means differ by less than |value|."""
    first, second = np.triu_indices(len(means), 1)
    differs = themes[first] != themes[second]
    if not differs.any():
        return math.nan
    differences = np.abs(means[first] - means[second])[differs]
    return 100 * float(np.mean(differences < abs(value)))


def compute_draws(
    value: float, nouns: pd.DataFrame, cuts: Sequence[Cut] = OTHER_CUTS
) -> pd.DataFrame:
    """The figure `draws`: the percentile of |value| over other cuts of the reference set.

    Args:
        value: As in `theme_percentile`.
        nouns: The reference set with slopes, before any cut.
        cuts: The cuts.

    Returns:
        A row a cut: `name`, `percentile` (0 to 100), and the numbers `themes` and `nouns`.
    """
    draws = []
    for cut in cuts:
        rows = group_themes(nouns, cut)
        means = np.asarray(theme_means(rows), dtype=np.float64)
        n_themes = len(means)
        percentile = _mean_percentile(value, means, np.arange(n_themes))
        draws.append((cut.name, percentile, n_themes, len(rows)))
    return pd.DataFrame(draws, columns=["name", "percentile", "themes", "nouns"])


def rate_same_test(
    test: Callable[[Sequence[str], Sequence[str]], bool],
    rows: pd.DataFrame,
    *,
    most_pairs: int = 100,
    most_words: int | None = None,
    seed: int = 0,
) -> SameTest:
    """The figure `same_test`: how often a test says `detected` of two themes.

    Args:
        test: Takes the nouns of two themes, paired in order, as many of each.
        rows: Noun and theme, as `group_themes` gives them.
        most_pairs: Pairs of themes at most; where there are more, so many are drawn.
        most_words: Pairs of words at most, such as the headline has; as many as the smaller theme
            has where it has fewer.
        seed: Seed of which pairs are drawn, and of which words are paired.
    """
    rng = np.random.default_rng(seed)
    in_order = rows.sort_values("noun")
    words_by_theme = [words.tolist() for _, words in in_order.groupby("theme", sort=False)["noun"]]
    pairs = list(itertools.combinations(words_by_theme, 2))
    if len(pairs) > most_pairs:
        drawn = rng.choice(len(pairs), most_pairs, replace=False)
        pairs = [pairs[index] for index in np.sort(drawn)]
    detected = []
    for first, second in pairs:
        n_words = min(len(first), len(second), most_words or len(first))
        first_words = rng.permutation(first)[:n_words].tolist()
        second_words = rng.permutation(second)[:n_words].tolist()
        detected.append(test(first_words, second_words))
    share = float(np.mean(detected)) if detected else math.nan
    return SameTest(share, len(detected))
