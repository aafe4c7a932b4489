"""The gain of probes: known slopes come back, and verdicts follow from what was planted."""

import math
import re

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray
from scipy import stats

from evenruler.instruments.probes.diagnose.gain import (
    Scores,
    along_criterion,
    contrast,
    detectable_at_common_length,
    gain_headline,
    placebo_lists,
)
from evenruler.measurement.figures import Verdict
from evenruler.measurement.verdicts import HeadlineTest, ValidityCheck, judge
from tests.instruments.near import approx

Floats = NDArray[np.float64]

POLES = np.repeat(
    np.array([1, -1], dtype=np.int8),
    6,
)
AXIS = np.linspace(2, 98, 25)
PLACE = (AXIS - AXIS.mean()) / 80
NOUNS = [str(number // 3) for number in range(36)]
HALVES = np.where(
    POLES == 1,
    0.5,
    -0.5,
)
"""What words add to scores for a difference of 1 between the groups."""


def drawn_nouns(random: np.random.Generator, of_lists: float) -> Floats:
    """Slopes of placebo nouns, which scatter over lists and a little within them."""
    return np.repeat(random.normal(0, of_lists, 12), 3) + random.normal(
        0,
        0.05,
        36,
    )


def lines(
    slopes: Floats, seed: int = 0, noise: float = 0.0, place: Floats = PLACE, templates: int = 4
) -> Floats:
    """[attributes, templates, words] of lines along the criterion, sharp where attributes lie
    apart."""
    random = np.random.default_rng(seed)
    shape = (
        len(place),
        templates,
        len(slopes),
    )
    plausible = np.random.default_rng(99).normal(
        0,
        1,
        (len(place), 1, 1),
    )
    return (
        place[:, None, None] * slopes
        + plausible
        + random.normal(
            0,
            noise,
            shape,
        )
    )


def targets(values: Floats, axis: Floats = AXIS) -> Scores:
    return Scores(
        values,
        axis,
        POLES,
        ["nouns"] * 12,
    )


def placebos(values: Floats, axis: Floats = AXIS, lists: list[str] = NOUNS) -> Scores:
    return Scores(
        values,
        axis,
        np.zeros(len(lists), dtype=np.int8),
        lists,
    )


def drawn_gain(
    difference: float, of_lists: float, seed: int = 1, axis: Floats = AXIS
) -> HeadlineTest:
    """Of groups so far apart, and placebo lists whose slopes scatter so much."""
    random = np.random.default_rng(seed)
    place = axis if len(set(axis)) == 2 else (axis - axis.mean()) / 80
    scores = lines(
        HALVES * difference
        + random.normal(
            0,
            0.05,
            12,
        ),
        seed,
        0.05,
        place,
    )
    nouns = lines(
        drawn_nouns(random, of_lists),
        seed + 1,
        0.05,
        place,
    )
    return gain_headline(targets(scores, axis), placebos(nouns, axis))


def verdict(figure: HeadlineTest) -> str | None:
    return judge([(figure, ValidityCheck())])[0].verdict


def test_slopes_without_noise_come_back_exactly() -> None:
    of_words = np.array([1.0, 1.2, 0.8, 1.1, 0.9, 1.0, -0.3, -0.4, -0.2, -0.3, -0.35, -0.25])
    nouns = lines(np.repeat(np.arange(12.0), 3))
    figure = gain_headline(targets(lines(of_words)), placebos(nouns))
    assert figure.effect.value == approx(1.3)
    variances = of_words.reshape(2, 6).var(
        axis=1,
        ddof=1,
    )
    half = (figure.effect.high - figure.effect.low) / 2
    expected = stats.t.ppf(0.975, 10) * math.sqrt(variances.sum() / 6)
    assert half == approx(expected)
    lists = placebo_lists(
        nouns,
        along_criterion(AXIS),
        NOUNS,
        1,
    )
    # What attributes are like without any word is common to all lists.
    assert np.diff(lists.values) == approx(np.ones(11))
    assert lists.of_words == approx(0)
    assert figure.placebo == approx(math.sqrt(26))  # the variance of 0 to 11 is 13
    assert figure.levels == {
        "attributes": 25,
        "templates": 4,
        "words": 12,
    }


def test_a_flawless_ruler_finds_what_it_measures() -> None:
    """To either side: r is 1, and words of the two groups have slopes that lie
    apart."""
    verdicts = {verdict(drawn_gain(difference, of_lists=0.1)) for difference in (1.34, -1.34)}
    assert verdicts == {Verdict.EFFECT}


@pytest.mark.parametrize(
    ("draws", "most"),
    [
        (40, 4),
        pytest.param(
            200,
            10,
            marks=[pytest.mark.slow, pytest.mark.long],
        ),
    ],
)
def test_lists_that_any_two_lists_are_like_are_no_finding(draws: int, most: int) -> None:
    """Two lists drawn as the placebos were: of 200 draws ten at most are an effect."""
    false = 0
    for seed in range(draws):
        first, second = np.random.default_rng(seed).normal(
            0,
            0.5,
            2,
        )
        figure = drawn_gain(
            first - second,
            of_lists=0.5,
            seed=seed,
            axis=AXIS[::2],
        )
        false += verdict(figure) == Verdict.EFFECT
    assert false <= most


def test_placebo_lists_with_as_large_slopes_refute_it() -> None:
    for seed in range(3):
        assert verdict(drawn_gain(1.34, of_lists=1.34, seed=seed)) != Verdict.EFFECT


def test_keyed_attributes_are_two_groups() -> None:
    keys = np.repeat([1.0, -1.0], [10, 15])
    figure = drawn_gain(1.0, of_lists=0.1, axis=keys)
    assert figure.effect.value == approx(2.0, abs=0.15)  # from -1 to 1
    assert figure.lacking is None
    few = drawn_gain(
        1.0,
        of_lists=0.1,
        axis=np.repeat([1.0, -1.0], [20, 5]),
    )
    assert few.lacking == "5 attributes of one key (at least 8 needed)"
    assert verdict(few) == Verdict.INCONCLUSIVE


def test_a_design_says_what_it_lacks() -> None:
    scores = targets(lines(HALVES))
    assert gain_headline(scores).lacking == "no placebo"
    nouns = placebos(
        lines(np.ones(9)),
        lists=NOUNS[:9],
    )
    assert gain_headline(scores, nouns).lacking == "3 placebo lists (at least 12 needed)"


def beside_rival(of_rival: float, ours: float = 1.0, seed: int = 1) -> HeadlineTest:
    """A keyed gain of 2 times `ours`, and one of `of_rival` times 2 of attributes off the
    construct."""
    keys = np.repeat([1.0, -1.0], 10)
    random = np.random.default_rng(seed)
    words = random.normal(0, 0.05, 12)
    of_construct = targets(
        lines(
            HALVES * ours + words,
            seed,
            0.1,
            keys,
        ),
        keys,
    )
    rival = targets(
        lines(
            HALVES * of_rival + words,
            seed + 1,
            0.1,
            keys,
        ),
        keys,
    )
    slopes = np.repeat(random.normal(0, 0.05, 12), 3)
    nouns = placebos(lines(slopes, seed + 2, 0.05, keys), keys)
    return gain_headline(of_construct, nouns, rival)


class TestRival:
    def test_a_gain_that_attributes_off_the_construct_lack_is_an_effect(self) -> None:
        figure = beside_rival(0.0)
        assert verdict(figure) == Verdict.EFFECT
        assert figure.note is not None
        numbers = re.findall(r"-?\d[\d.e+-]*\d|-?\d", figure.note)
        off, low, high = (float(number) for number in numbers)
        assert off == approx(0, abs=0.15)
        assert low - 0.1 < 2 < high + 0.1  # rounded to two digits

    def test_one_that_they_have_as_well_is_none(self) -> None:
        for seed in range(2):
            figure = beside_rival(1.0, seed=seed)
            assert figure.effect is not None
            assert figure.effect.value == approx(2, abs=0.15)
            assert verdict(figure) == Verdict.INCONCLUSIVE
        assert verdict(beside_rival(2.0)) == Verdict.INCONCLUSIVE

    @pytest.mark.slow
    @pytest.mark.long
    def test_rivals_that_gain_alike_are_hardly_ever_told_apart(self) -> None:
        """Attributes, templates and words add to both what they add: of 40 draws four at most."""
        random, false = np.random.default_rng(3), 0
        for seed in range(40):
            keys = np.repeat([1.0, -1.0], 8)
            words = HALVES + random.normal(
                0,
                0.2,
                12,
            )
            both = []
            for offset in (0, 500):
                scores = lines(
                    words,
                    seed + offset,
                    0.1,
                    keys,
                )
                scores = scores + random.normal(0, 0.3, (16, 1, 1)) * POLES
                of_templates = random.normal(
                    0,
                    0.1,
                    (1, 4, 1),
                )
                scores = scores + of_templates * keys[:, None, None] * POLES
                both.append(targets(scores, keys))
            nouns = placebos(
                lines(
                    np.zeros(36),
                    seed,
                    0.05,
                    keys,
                ),
                keys,
            )
            figure = gain_headline(
                both[0],
                nouns,
                both[1],
            )
            false += verdict(figure) == Verdict.EFFECT
        assert false <= 4


class TestDetectable:
    def test_at_its_own_length_it_is_what_the_variance_says(self) -> None:
        random = np.random.default_rng(7)
        scores = lines(HALVES, 3, 0.3, templates=8)
        scores = scores + random.normal(
            0,
            0.4,
            (25, 1, 12),
        )
        scores = scores + random.normal(0, 0.3, (25, 8, 1)) * POLES
        figure = gain_headline(targets(scores))
        detectable = detectable_at_common_length(targets(scores))
        assert detectable is not None
        # An interval is .975 of t, what is found in 80 of 100 the .8 more: 2.8 to 3.3 for 1.96 to
        # 2.3.
        half = (figure.effect.high - figure.effect.low) / 2
        assert 1.35 < detectable / half < 1.45

    def test_a_single_template_has_none(self) -> None:
        of_one = targets(lines(HALVES, templates=1))
        assert detectable_at_common_length(of_one) is None

    def test_a_criterion_that_is_the_same_for_all_has_none(self) -> None:
        same = targets(
            lines(np.ones(12)),
            np.ones(25),
        )
        assert detectable_at_common_length(same) is None


def long(
    scores: Floats, words: list[str], lists: list[str], poles: NDArray[np.int8]
) -> pd.DataFrame:
    """Rows as `tables.schemas.HEADLINES` has them."""
    unit, template, word = np.indices(scores.shape).reshape(3, -1)
    return pd.DataFrame(
        {
            "unit": unit.astype(str),
            "at": template.astype(str),
            "word": np.array(words)[word],
            "group": np.array(lists)[word],
            "pole": poles[word],
            "axis_position": AXIS[unit],
            "value": scores.ravel(),
        }
    )


def model_scores(
    slopes: float, seed: int, sharper: float = 1.0, noise: float = 0.05
) -> pd.DataFrame:
    """What a model's gain is made of: words draw from seed 1 whoever is asked, noise from
    `seed`."""
    words = HALVES * slopes + np.random.default_rng(1).normal(
        0,
        0.05,
        12,
    )
    nouns = np.repeat(
        np.random.default_rng(2).normal(
            0,
            0.2,
            12,
        ),
        3,
    )
    word_scores = sharper * lines(words, seed, noise)
    noun_scores = sharper * lines(
        nouns,
        seed + 1,
        noise,
    )
    target_names = [f"target-{number}" for number in range(12)]
    noun_names = [f"noun-{number}" for number in range(36)]
    of_targets = long(
        word_scores,
        target_names,
        ["words"] * 12,
        POLES,
    )
    of_nouns = long(
        noun_scores,
        noun_names,
        NOUNS,
        np.zeros(36, dtype=np.int8),
    )
    rows = pd.concat([of_targets, of_nouns])
    return rows.assign(part="seed", figure="gain", model=str(seed))


def test_an_array_is_made_of_rows_whatever_their_order() -> None:
    rows = model_scores(1.0, 5)
    real = rows[rows["pole"] != 0]
    scores = Scores.from_rows(real.sample(frac=1, random_state=1))
    unit = list(scores.units).index("7")
    word = sorted(set(real["word"])).index("target-10")
    (value,) = real.query("unit == '7' and at == '2' and word == 'target-10'")["value"]
    assert scores.values[unit, 2, word] == value
    assert scores.axis[unit] == AXIS[7]
    assert (scores.poles[word], scores.lists[word]) == (-1, "words")
    assert "0" not in Scores.from_rows(real.iloc[1:]).units


def compared(first: pd.DataFrame, second: pd.DataFrame) -> HeadlineTest:
    return contrast(first, second, math.log(2))


class TestTwoModels:
    def test_one_that_says_the_same_twice_as_sharply_says_no_more(self) -> None:
        figure = compared(model_scores(1.34, 5, sharper=2.0), model_scores(1.34, 7))
        assert figure.effect.value == approx(0, abs=0.1)
        assert verdict(figure) == Verdict.NO_EFFECT
        assert figure.levels == {
            "attributes": 25,
            "templates": 4,
            "words": 12,
            "placebo lists": 12,
        }

    def test_one_that_is_more_biased_is_found_whichever_stands_first(self) -> None:
        more, less = model_scores(3.0, 5, sharper=0.7), model_scores(1.0, 7)
        several = [
            compared(more, less),
            compared(less, more),
        ]
        assert set(map(verdict, several)) == {Verdict.EFFECT}
        values = [figure.effect.value for figure in several if figure.effect is not None]
        assert values[0] == approx(-values[1])
        # At the mean sharpness of both, .85 of the second's: 3 - 1 nats times that.
        assert values[0] == approx(2 * 0.85, abs=0.15)

    def test_what_was_asked_of_one_alone_is_left_out(self) -> None:
        more, less = model_scores(3.0, 5), model_scores(1.0, 7)
        few = compared(more.query("at != '3'"), less.query("unit != '0'"))
        assert few.levels == {
            "attributes": 24,
            "templates": 3,
            "words": 12,
            "placebo lists": 12,
        }

    def test_without_placebos_nothing_is_said(self) -> None:
        more, less = model_scores(3.0, 5), model_scores(1.0, 7)
        without = more[more["pole"] != 0]
        assert compared(without, less).lacking == "no placebo"
        assert compared(without.head(0), less).lacking == "no sentence that both were asked"

    @pytest.mark.slow
    @pytest.mark.long
    def test_models_that_differ_by_noise_alone_are_not_told_apart(self) -> None:
        for seed in range(6):
            sharp = model_scores(
                1.0,
                2 * seed,
                1.4,
                0.6,
            )
            other = model_scores(
                1.0,
                999 - 2 * seed,
                1.0,
                0.6,
            )
            assert verdict(compared(sharp, other)) != Verdict.EFFECT
