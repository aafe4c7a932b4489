"""The gain of probes: known slopes come back, and verdicts follow from what was planted."""

import math

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray
from scipy import stats

from evenruler.instruments.probes.diagnose.cubes import Cube
from evenruler.instruments.probes.diagnose.gain import Placebos, along_criterion, cells, contrast, gain, placebo_lists
from evenruler.measurement.verdicts import Confirmatory, Fitness, Verdict, judge

Floats = NDArray[np.float64]

POLES = np.repeat(np.array([1, -1], dtype=np.int8), 6)
AXIS = np.linspace(2, 98, 25)
PLACE = (AXIS - AXIS.mean()) / 80
NOUNS = [str(number // 3) for number in range(36)]


def lines(slopes: Floats, seed: int = 0, noise: float = 0.0, place: Floats = PLACE, templates: int = 4) -> Floats:
    """[attributes, templates, words] of lines along the criterion, sharp where attributes lie apart."""
    random = np.random.default_rng(seed)
    shape = (len(place), templates, len(slopes))
    plausible = np.random.default_rng(99).normal(0, 1, (len(place), 1, 1))
    return place[:, None, None] * slopes + plausible + random.normal(0, noise, shape)


def cube(scores: Floats) -> Cube:
    names = [str(number) for number in range(99)]
    n, t, w = scores.shape
    return Cube(scores, names[:n], names[:t], names[:w], POLES, np.zeros(w))


def found(difference: float, of_lists: float, seed: int = 1, axis: Floats = AXIS) -> Confirmatory:
    """Of groups so far apart, and placebo lists whose slopes scatter so much."""
    random = np.random.default_rng(seed)
    place = axis if len(set(axis)) == 2 else (axis - axis.mean()) / 80
    own = lines(np.where(POLES == 1, 0.5, -0.5) * difference + random.normal(0, 0.05, 12), seed, 0.05, place)
    slopes = np.repeat(random.normal(0, of_lists, 12), 3) + random.normal(0, 0.05, 36)
    return gain(cube(own), axis, ["nouns"] * 12, Placebos(lines(slopes, seed + 1, 0.05, place), axis, NOUNS))


def verdict(figure: Confirmatory) -> str | None:
    return judge([(figure, Fitness())])[0].verdict


def test_slopes_without_noise_come_back_exactly() -> None:
    of_words = np.array([1.0, 1.2, 0.8, 1.1, 0.9, 1.0, -0.3, -0.4, -0.2, -0.3, -0.35, -0.25])
    nouns = lines(np.repeat(np.arange(12.0), 3))
    figure = gain(cube(lines(of_words)), AXIS, ["nouns"] * 12, Placebos(nouns, AXIS, NOUNS))
    assert figure.effect is not None
    assert figure.effect.value == pytest.approx(1.3)
    of_each = [of_words[:6].var(ddof=1), of_words[6:].var(ddof=1)]
    half = (figure.effect.high - figure.effect.low) / 2
    assert half == pytest.approx(stats.t.ppf(0.975, 10) * math.sqrt(sum(of_each) / 6))
    lists = placebo_lists(nouns, along_criterion(AXIS), NOUNS, 1)
    # What attributes are like without any word is common to all lists.
    assert np.diff(lists.values) == pytest.approx(np.ones(11))
    assert lists.of_words == pytest.approx(0)
    assert figure.placebo == pytest.approx(math.sqrt(2) * np.std(np.arange(12.0), ddof=1))
    assert figure.levels == {"attributes": 25, "templates": 4, "words": 12}


def test_a_flawless_ruler_finds_what_it_measures() -> None:
    """In every draw, and to either side: r is 1, and words of the two groups have slopes that lie apart."""
    verdicts = {verdict(found(sign * 1.34, of_lists=0.1, seed=seed)) for seed in range(10) for sign in (1, -1)}
    assert verdicts == {Verdict.EFFECT}


def test_lists_that_any_two_lists_are_like_are_no_finding() -> None:
    """Two lists drawn as the placebos were: of 200 draws ten at most are an effect."""
    false = 0
    for seed in range(200):
        first, second = np.random.default_rng(seed).normal(0, 0.5, 2)
        false += verdict(found(first - second, of_lists=0.5, seed=seed, axis=AXIS[::2])) == Verdict.EFFECT
    assert false <= 10


def test_placebo_lists_with_as_large_slopes_refute_it() -> None:
    for seed in range(10):
        assert verdict(found(1.34, of_lists=1.34, seed=seed)) != Verdict.EFFECT


def test_twice_the_scores_change_no_p() -> None:
    figure = found(1.0, of_lists=0.2)
    random = np.random.default_rng(1)
    own = lines(np.where(POLES == 1, 0.5, -0.5) + random.normal(0, 0.05, 12), 1, 0.05)
    slopes = np.repeat(random.normal(0, 0.2, 12), 3) + random.normal(0, 0.05, 36)
    twice = gain(cube(2 * own), AXIS, ["nouns"] * 12, Placebos(2 * lines(slopes, 2, 0.05), AXIS, NOUNS))
    assert figure.p is not None
    assert twice.p is not None
    assert (twice.p_null, twice.p.effect) == pytest.approx((figure.p_null, figure.p.effect))


def test_keyed_attributes_are_two_groups() -> None:
    keys = np.repeat([1.0, -1.0], [10, 15])
    figure = found(1.0, of_lists=0.1, axis=keys)
    assert figure.effect is not None
    assert figure.effect.value == pytest.approx(2.0, abs=0.15)  # from -1 to 1
    assert figure.lacking is None
    few = found(1.0, of_lists=0.1, axis=np.repeat([1.0, -1.0], [20, 5]))
    assert few.lacking == "5 attributes of one key, of at least 8"
    assert verdict(few) == Verdict.INCONCLUSIVE


def test_a_design_says_what_it_lacks() -> None:
    own = lines(np.where(POLES == 1, 0.5, -0.5))
    assert gain(cube(own), AXIS, ["nouns"] * 12).lacking == "no placebo"
    few = gain(cube(own), AXIS, ["nouns"] * 12, Placebos(lines(np.ones(9)), AXIS, NOUNS[:9]))
    assert few.lacking == "3 placebo lists, of at least 12"


def test_placebos_of_half_the_attributes_give_the_same_on_average() -> None:
    """Evenly spread along the axis: the typical size of placebos is that of all attributes, but for noise."""
    half = np.arange(0, 25, 2)
    sizes = []
    for seed in range(30):
        slopes = np.repeat(np.random.default_rng(seed).normal(0, 0.5, 12), 3)
        nouns = lines(slopes, seed, 0.05)
        of_half = Placebos(nouns[half], AXIS[half], NOUNS)
        own = cube(lines(np.where(POLES == 1, 0.5, -0.5)))
        found = [gain(own, AXIS, ["nouns"] * 12, each).placebo for each in (Placebos(nouns, AXIS, NOUNS), of_half)]
        assert found[0] is not None
        assert found[1] is not None
        sizes.append(found[1] / found[0])
    assert np.mean(sizes) == pytest.approx(1, abs=0.03)


def asked(slopes: float, seed: int, sharper: float = 1.0, noise: float = 0.05) -> pd.DataFrame:
    """What a model's gain is made of: words draw from seed 1 whoever is asked, noise from `seed`."""
    words = np.where(POLES == 1, 0.5, -0.5) * slopes + np.random.default_rng(1).normal(0, 0.05, 12)
    nouns = np.repeat(np.random.default_rng(2).normal(0, 0.2, 12), 3)
    own, beside = (sharper * lines(of, seed + at, noise) for at, of in enumerate((words, nouns)))
    names = [f"noun-{number}" for number in range(36)]
    placebos = Placebos(beside, AXIS, NOUNS)
    rows = cells(cube(own), AXIS, names, placebos, [str(number) for number in range(len(AXIS))])
    return rows.assign(part="seed", figure="gain", model=str(seed))


def compared(first: pd.DataFrame, second: pd.DataFrame) -> Confirmatory:
    return contrast(first, second, math.log(2))


class TestTwoModels:
    def test_one_that_says_the_same_twice_as_sharply_says_no_more(self) -> None:
        figure = compared(asked(1.34, 5, sharper=2.0), asked(1.34, 7))
        assert figure.effect is not None
        assert figure.effect.value == pytest.approx(0, abs=0.1)
        assert verdict(figure) == Verdict.NO_EFFECT
        assert figure.levels == {"attributes": 25, "templates": 4, "words": 12, "placebo lists": 12}

    def test_one_that_is_more_biased_is_found_whichever_stands_first(self) -> None:
        more, less = asked(3.0, 5, sharper=0.7), asked(1.0, 7)
        several = [compared(more, less), compared(less, more)]
        assert [verdict(figure) for figure in several] == [Verdict.EFFECT] * 2
        values = [figure.effect.value for figure in several if figure.effect is not None]
        assert values[0] == pytest.approx(-values[1])
        # At the mean sharpness of both, .85 of the second's: 3 - 1 nats times that.
        assert values[0] == pytest.approx(2 * 0.85, abs=0.15)

    def test_what_was_asked_of_one_alone_is_left_out(self) -> None:
        more, less = asked(3.0, 5), asked(1.0, 7)
        few = compared(more[more["at"] != "3"], less[less["unit"] != "0"])
        assert few.levels == {"attributes": 24, "templates": 3, "words": 12, "placebo lists": 12}

    def test_without_placebos_nothing_is_said(self) -> None:
        more, less = asked(3.0, 5), asked(1.0, 7)
        assert compared(more[more["pole"] != 0], less).lacking == "no placebo"
        assert compared(more[more["unit"] == "none"], less).lacking == "no sentence that both were asked"

    def test_models_that_differ_by_noise_alone_are_not_told_apart(self) -> None:
        pairs = [(asked(1.0, 2 * seed, 1.4, 0.6), asked(1.0, 999 - 2 * seed, 1.0, 0.6)) for seed in range(6)]
        assert Verdict.EFFECT not in {verdict(compared(*pair)) for pair in pairs}
