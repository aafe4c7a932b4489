import math
from collections.abc import Sequence
from dataclasses import asdict, astuple, replace
from itertools import combinations

import numpy as np
import pandas as pd
import pytest

from evenruler.measurement.references import (
    DECLARED,
    OTHER_CUTS,
    Cut,
    SameTest,
    compute_draws,
    group_themes,
    rate_same_test,
    theme_percentile,
)

ONE_EACH = Cut(fewest_nouns=1)


def fill_theme(
    prefix: str, n_nouns: int, theme: str = "t", subtheme: str = "", **columns: float
) -> pd.DataFrame:
    """Nouns of a theme that are declared, where `columns` do not say otherwise."""
    nouns = [f"{prefix}{number:02d}" for number in range(n_nouns)]
    table = pd.DataFrame({"noun": nouns, "theme": theme, "subtheme": subtheme})
    return table.assign(**{"count": 1, "gendered": 0, "gendered_form": 0, "slope": 0.0, **columns})


def themes_with(means: list[float], n_nouns: int = 4) -> pd.DataFrame:
    """Themes with these mean slopes: their nouns lie evenly about them."""
    themes = []
    for number, mean in enumerate(means):
        theme = fill_theme(f"{number:02d} ", n_nouns, f"theme {number}")
        themes.append(theme.assign(slope=mean + np.linspace(-1, 1, n_nouns)))
    return pd.concat(themes, ignore_index=True)


def names_in(nouns: pd.DataFrame, cut: Cut) -> list[str]:
    return group_themes(nouns, cut)["noun"].tolist()


def sizes_in(nouns: pd.DataFrame, cut: Cut = DECLARED) -> dict[object, int]:
    return group_themes(nouns, cut)["theme"].value_counts().to_dict()


@pytest.mark.parametrize(
    ("changes", "names"),
    [
        ({}, ["form00", "tagged00"]),
        ({"fewest_tags": 0}, ["form00", "never00", "tagged00"]),
        ({"fewest_tags": 2}, ["form00"]),
        ({"with_gendered": True}, ["form00", "gloss00", "tagged00"]),
        ({"with_gendered_form": False}, ["tagged00"]),
        ({"fewest_nouns": 4}, []),  # two are fewer than four
    ],
)
def test_which_nouns_are_declared(changes: dict[str, int], names: list[str]) -> None:
    kinds = [
        fill_theme("tagged", 1),
        fill_theme("never", 1, count=0),
        fill_theme("gloss", 1, count=9, gendered=1),
        fill_theme("form", 1, count=9, gendered_form=1),
    ]
    assert names_in(pd.concat(kinds), replace(ONE_EACH, **changes)) == names


def test_a_theme_is_split_once_above_25_nouns_and_counts_from_four() -> None:
    first = fill_theme("a", 17, subtheme="first")
    second, third = fill_theme("b", 4, subtheme="second"), fill_theme("c", 3, subtheme="third")
    small = pd.concat([first, second, third, fill_theme("t", 1)])
    large = pd.concat([small, fill_theme("z", 1, subtheme="first")])
    assert sizes_in(small) == {"t": 25}
    in_two = {"t/first": 18, "t/second": 4}
    assert sizes_in(large) == in_two
    assert sizes_in(large, Cut(fewest_nouns=3)) == {**in_two, "t/third": 3}
    assert sizes_in(large, Cut(largest_theme=None)) == {"t": 26}
    assert sizes_in(small, Cut(largest_theme=0)) == {"t/first": 17, "t/second": 4}


def test_halves_are_every_other_noun_of_a_theme() -> None:
    large, small = fill_theme("a", 5), fill_theme("b", 3, "u")
    nouns = pd.concat([large[::-1], small])
    first, second = (names_in(nouns, replace(ONE_EACH, half=half)) for half in (0, 1))
    assert first == ["a00", "a02", "a04", "b00", "b02"]
    assert second == ["a01", "a03", "b01"]


def test_percentile_by_hand() -> None:
    # Means 0, 1, 3, 7: differences 1, 3, 7, 2, 6, 4.
    rows = themes_with([0, 1, 3, 7])
    assert theme_percentile(3.5, rows).value == pytest.approx(50)
    assert theme_percentile(-3.5, rows).value == pytest.approx(50)
    assert theme_percentile(0.5, rows).value == 0
    assert theme_percentile(7.5, rows).value == 100
    four = theme_percentile(3.5, rows)
    assert math.isnan(four.low)  # of fewer than five themes
    assert math.isnan(theme_percentile(1, themes_with([2])).value)


def test_interval_is_of_themes_and_leaves_a_theme_out_beside_itself() -> None:
    means = [0.0, 1.0, 3.0, 7.0, 7.0]
    interval = theme_percentile(3.5, themes_with(means), resamples=4000, seed=3)
    rng = np.random.default_rng(0)  # of few themes there are few shares, so ends are the same
    shares = []
    for drawn in rng.integers(0, 5, (4000, 5)):
        themes = [pair for pair in combinations(drawn, 2) if pair[0] != pair[1]]
        pairs = [(means[first], means[second]) for first, second in themes]
        below = [abs(first - second) < 3.5 for first, second in pairs]
        if below:
            shares.append(100 * sum(below) / len(below))
    low, high = np.quantile(shares, [0.025, 0.975])
    assert (interval.low, interval.high) == pytest.approx((low, high))
    # 0 apart are two of the five; of the ten pairs 1, 3, 2 and 0 are below 3.5.
    assert interval.value == pytest.approx(40)


def test_names_of_themes_and_order_of_rows_change_nothing() -> None:
    rows = themes_with(np.random.default_rng(0).normal(size=9).tolist())
    swapped = rows.assign(theme=rows["theme"].replace({"theme 1": "theme 7", "theme 7": "theme 1"}))
    expected = theme_percentile(0.8, rows)
    assert expected == theme_percentile(0.8, rows, seed=0)
    assert 20 < expected.low < expected.high
    assert theme_percentile(0.8, swapped) == expected
    for other in (rows.sample(frac=1, random_state=0), pd.concat([rows, rows])):
        assert astuple(theme_percentile(0.8, other)) == pytest.approx(astuple(expected))
    assert compute_draws(0.8, swapped).equals(compute_draws(0.8, rows))


def test_numbers_that_are_none_are_refused() -> None:
    rows = themes_with([0, 1])
    with pytest.raises(ValueError, match="must be finite"):
        theme_percentile(math.nan, rows)
    with pytest.raises(ValueError, match="must be finite"):
        theme_percentile(1.0, rows.assign(slope=math.inf))


def test_other_cuts_differ_from_the_declared_one_in_one_thing() -> None:
    declared = asdict(replace(DECLARED, name=""))
    for cut in OTHER_CUTS:
        changed = asdict(replace(cut, name="")).items() - declared.items()
        assert len(changed) == 1


def test_percentile_themes_and_nouns_of_other_cuts() -> None:
    once = fill_theme("a", 8, "a", "s", slope=0.0, count=1)
    twice = fill_theme("b", 8, "b", "s", slope=1.0, count=2)
    often = fill_theme("c", 8, "c", "s", slope=3.0, count=5)
    gendered = fill_theme("d", 8, "d", "s", slope=7.0, count=9, gendered=1)
    draws = compute_draws(2.5, pd.concat([once, twice, often, gendered])).set_index("name")
    # Differences without the gendered theme are 1, 3, 2; with it also 7, 6, 4.
    expected = {
        "themes of six nouns": (200 / 3, 3, 24),
        "gendered glosses, too": (100 / 3, 4, 32),
        "nouns tagged twice": (100, 2, 16),
        "first half of the nouns": (200 / 3, 3, 12),
        "nouns tagged five times": (math.nan, 1, 8),
    }
    for name, draw in expected.items():
        shown = draws.loc[name, ["percentile", "themes", "nouns"]].tolist()
        assert shown == pytest.approx(draw, nan_ok=True)


def test_same_test_counts_pairs_of_themes() -> None:
    rows = themes_with([0, 1, 3, 7])
    slopes = rows.set_index("noun")["slope"]

    def differ_by_four(first: Sequence[str], second: Sequence[str]) -> bool:
        assert len(first) == len(second) == 4
        assert not {*first} & {*second}
        means = [slopes[list(words)].mean() for words in (first, second)]
        return bool(np.ptp(means) > 3.5)

    assert rate_same_test(differ_by_four, rows) == SameTest(share=0.5, pairs=6)
    alone = rate_same_test(differ_by_four, themes_with([2]))
    assert math.isnan(alone.share)
    assert alone.pairs == 0


def test_same_test_pairs_words_at_random_and_no_more_than_it_may() -> None:
    themes = themes_with([0.0] * 20, n_nouns=6)
    rows = pd.concat([themes, fill_theme("z", 1)])

    def note_pairs(**limits: int) -> list[tuple[Sequence[str], Sequence[str]]]:
        calls: list[tuple[Sequence[str], Sequence[str]]] = []

        def note(first: Sequence[str], second: Sequence[str]) -> bool:
            calls.append((first, second))
            return True

        rate = rate_same_test(note, rows, **limits)
        assert rate == SameTest(1.0, len(calls))
        return calls

    drawn = note_pairs(most_pairs=30, most_words=4, seed=1)
    assert {len(words) for pair in drawn for words in pair} <= {1, 4}
    themes_of_pairs = {(first[0][:2], second[0][:2]) for first, second in drawn}
    assert len(themes_of_pairs) == 30
    assert any(first != sorted(first) for first, _ in drawn)
    assert note_pairs(most_pairs=30, most_words=4, seed=1) == drawn
    assert note_pairs(most_pairs=30, most_words=4, seed=2) != drawn
    # 20 themes and one of a single noun, which is paired with one.
    every_pair = note_pairs(most_pairs=1000)
    assert len(every_pair) == 210
    assert sum(len(first) == len(second) == 1 for first, second in every_pair) == 20


def test_a_pair_that_is_as_far_is_not_below() -> None:
    rows = themes_with([0, 1, 3], n_nouns=1).assign(slope=[0.0, 1.0, 3.0])
    assert theme_percentile(2, rows).value == pytest.approx(100 / 3)


def test_the_size_of_a_theme_is_of_the_nouns_that_stay() -> None:
    stay = fill_theme("a", 25, subtheme="first")
    leave = fill_theme("b", 9, subtheme="second", gendered=1)
    assert sizes_in(pd.concat([stay, leave])) == {"t": 25}
