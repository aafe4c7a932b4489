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

Floats = NDArray[np.float64]

POLES = np.repeat(np.array([1, -1], dtype=np.int8), 6)
AXIS = np.linspace(2, 98, 25)
PLACE = (AXIS - AXIS.mean()) / 80
NOUNS = [str(number // 3) for number in range(36)]


def lines(
    slopes: Floats, seed: int = 0, noise: float = 0.0, place: Floats = PLACE, templates: int = 4
) -> Floats:
    """[attributes, templates, words] of lines along the criterion, sharp where attributes lie
    apart."""
    random = np.random.default_rng(seed)
    shape = (len(place), templates, len(slopes))
    plausible = np.random.default_rng(99).normal(0, 1, (len(place), 1, 1))
    return place[:, None, None] * slopes + plausible + random.normal(0, noise, shape)


def targets(values: Floats, axis: Floats = AXIS) -> Scores:
    return Scores(values, axis, POLES, ["nouns"] * 12)


def placebos(values: Floats, axis: Floats = AXIS, lists: list[str] = NOUNS) -> Scores:
    return Scores(values, axis, np.zeros(len(lists), dtype=np.int8), lists)


def found(difference: float, of_lists: float, seed: int = 1, axis: Floats = AXIS) -> HeadlineTest:
    """Of groups so far apart, and placebo lists whose slopes scatter so much."""
    random = np.random.default_rng(seed)
    place = axis if len(set(axis)) == 2 else (axis - axis.mean()) / 80
    own = lines(
        np.where(POLES == 1, 0.5, -0.5) * difference + random.normal(0, 0.05, 12), seed, 0.05, place
    )
    slopes = np.repeat(random.normal(0, of_lists, 12), 3) + random.normal(0, 0.05, 36)
    return gain_headline(targets(own, axis), placebos(lines(slopes, seed + 1, 0.05, place), axis))


def verdict(figure: HeadlineTest) -> str | None:
    return judge([(figure, ValidityCheck())])[0].verdict


def test_slopes_without_noise_come_back_exactly() -> None:
    of_words = np.array([1.0, 1.2, 0.8, 1.1, 0.9, 1.0, -0.3, -0.4, -0.2, -0.3, -0.35, -0.25])
    nouns = lines(np.repeat(np.arange(12.0), 3))
    figure = gain_headline(targets(lines(of_words)), placebos(nouns))
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
    """In every draw, and to either side: r is 1, and words of the two groups have slopes that lie
    apart."""
    verdicts = {
        verdict(found(sign * 1.34, of_lists=0.1, seed=seed))
        for seed in range(10)
        for sign in (1, -1)
    }
    assert verdicts == {Verdict.EFFECT}


def test_lists_that_any_two_lists_are_like_are_no_finding() -> None:
    """Two lists drawn as the placebos were: of 200 draws ten at most are an effect."""
    false = 0
    for seed in range(200):
        first, second = np.random.default_rng(seed).normal(0, 0.5, 2)
        false += (
            verdict(found(first - second, of_lists=0.5, seed=seed, axis=AXIS[::2]))
            == Verdict.EFFECT
        )
    assert false <= 10


def test_placebo_lists_with_as_large_slopes_refute_it() -> None:
    for seed in range(10):
        assert verdict(found(1.34, of_lists=1.34, seed=seed)) != Verdict.EFFECT


def test_twice_the_scores_change_no_p() -> None:
    figure = found(1.0, of_lists=0.2)
    random = np.random.default_rng(1)
    own = lines(np.where(POLES == 1, 0.5, -0.5) + random.normal(0, 0.05, 12), 1, 0.05)
    slopes = np.repeat(random.normal(0, 0.2, 12), 3) + random.normal(0, 0.05, 36)
    twice = gain_headline(targets(2 * own), placebos(2 * lines(slopes, 2, 0.05)))
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
    assert few.lacking == "5 attributes of one key (at least 8 needed)"
    assert verdict(few) == Verdict.INCONCLUSIVE


def test_a_design_says_what_it_lacks() -> None:
    own = lines(np.where(POLES == 1, 0.5, -0.5))
    assert gain_headline(targets(own)).lacking == "no placebo"
    few = gain_headline(targets(own), placebos(lines(np.ones(9)), lists=NOUNS[:9]))
    assert few.lacking == "3 placebo lists (at least 12 needed)"


def test_placebos_of_half_the_attributes_give_the_same_on_average() -> None:
    """Evenly spread along the axis: the typical size of placebos is that of all attributes, but for
    noise."""
    half = np.arange(0, 25, 2)
    sizes = []
    for seed in range(30):
        slopes = np.repeat(np.random.default_rng(seed).normal(0, 0.5, 12), 3)
        nouns = lines(slopes, seed, 0.05)
        of_half = placebos(nouns[half], AXIS[half])
        own = targets(lines(np.where(POLES == 1, 0.5, -0.5)))
        found = [gain_headline(own, each).placebo for each in (placebos(nouns), of_half)]
        assert found[0] is not None
        assert found[1] is not None
        sizes.append(found[1] / found[0])
    assert np.mean(sizes) == pytest.approx(1, abs=0.03)


def beside_rival(of_rival: float, own: float = 1.0, seed: int = 1) -> HeadlineTest:
    """A keyed gain of 2 times `own`, and one of `of_rival` times 2 of attributes off the
    construct."""
    keys = np.repeat([1.0, -1.0], 10)
    random = np.random.default_rng(seed)
    slopes, words = np.where(POLES == 1, 0.5, -0.5), random.normal(0, 0.05, 12)
    rows = [
        lines(slopes * size + words, seed + at, 0.1, keys)
        for at, size in enumerate((own, of_rival))
    ]
    nouns = lines(np.repeat(random.normal(0, 0.05, 12), 3), seed + 2, 0.05, keys)
    return gain_headline(targets(rows[0], keys), placebos(nouns, keys), targets(rows[1], keys))


class TestRival:
    def test_a_gain_that_attributes_off_the_construct_lack_is_an_effect(self) -> None:
        figure = beside_rival(0.0)
        assert verdict(figure) == Verdict.EFFECT
        assert figure.note is not None
        numbers = re.findall(r"-?\d[\d.e+-]*\d|-?\d", figure.note)
        off, low, high = (float(number) for number in numbers)
        assert off == pytest.approx(0, abs=0.15)
        assert low - 0.1 < 2 < high + 0.1  # rounded to two digits

    def test_one_that_they_have_as_well_is_none(self) -> None:
        for seed in range(5):
            figure = beside_rival(1.0, seed=seed)
            assert figure.effect is not None
            assert figure.effect.value == pytest.approx(2, abs=0.15)
            assert verdict(figure) == Verdict.INCONCLUSIVE

    def test_nor_one_that_they_have_more_of(self) -> None:
        assert verdict(beside_rival(2.0)) == Verdict.INCONCLUSIVE

    def test_rivals_that_gain_alike_are_hardly_ever_told_apart(self) -> None:
        """Attributes, templates and words add to both what they add: of 40 draws four at most."""
        random, false = np.random.default_rng(3), 0
        for seed in range(40):
            keys = np.repeat([1.0, -1.0], 8)
            words = np.where(POLES == 1, 0.5, -0.5) + random.normal(0, 0.2, 12)
            own, off = (
                lines(words, seed + at, 0.1, keys)
                + random.normal(0, 0.3, (16, 1, 1)) * POLES
                + random.normal(0, 0.1, (1, 4, 1)) * keys[:, None, None] * POLES
                for at in (0, 500)
            )
            nouns = placebos(lines(np.zeros(36), seed, 0.05, keys), keys)
            false += (
                verdict(gain_headline(targets(own, keys), nouns, targets(off, keys)))
                == Verdict.EFFECT
            )
        assert false <= 4

    def test_without_placebos_it_is_told_all_the_same(self) -> None:
        keys = np.repeat([1.0, -1.0], 10)
        own = lines(np.where(POLES == 1, 0.5, -0.5), place=keys)
        figure = gain_headline(targets(own, keys), rival=targets(own, keys))
        assert figure.note == "Rival words gain 2; beyond them it is [0, 0]."


class TestDetectable:
    def test_at_its_own_length_it_is_what_the_variance_says(self) -> None:
        random = np.random.default_rng(7)
        scores = lines(np.where(POLES == 1, 0.5, -0.5), 3, 0.3, templates=8)
        scores = (
            scores + random.normal(0, 0.4, (25, 1, 12)) + random.normal(0, 0.3, (25, 8, 1)) * POLES
        )
        figure = gain_headline(targets(scores))
        assert figure.effect is not None
        found = detectable_at_common_length(targets(scores))
        assert found is not None
        # An interval is .975 of t, what is found in 80 of 100 the .8 more: 2.8 to 3.3 for 1.96 to
        # 2.3.
        half = (figure.effect.high - figure.effect.low) / 2
        assert 1.35 < found / half < 1.45

    def test_of_more_templates_less_is_wanted_and_it_does_not_hang_on_how_many_there_are(
        self,
    ) -> None:
        """Templates that vary alone: four and sixteen of them say the same of eight, on average."""
        random, means = np.random.default_rng(9), {}
        for templates in (4, 16):
            each = []
            for _ in range(20):
                slopes = 0.5 + random.normal(0, 0.2, (1, templates, 1))
                scores = PLACE[:, None, None] * slopes * np.where(POLES == 1, 1, -1)
                each.append(detectable_at_common_length(targets(scores)))
            means[templates] = np.mean([value for value in each if value is not None])
        assert means[4] / means[16] == pytest.approx(
            1, abs=0.35
        )  # with fewer, t has fewer degrees of freedom

    def test_a_single_template_has_none(self) -> None:
        scores = lines(np.where(POLES == 1, 0.5, -0.5), templates=1)
        assert detectable_at_common_length(targets(scores)) is None
        assert detectable_at_common_length(targets(lines(np.ones(12)), np.ones(25))) is None

    def test_an_attribute_alone_with_its_key_has_none(self) -> None:
        both = np.random.default_rng(2).normal(0, 1, (25, 6, 2))
        for alone, is_told in ((2, True), (1, False)):
            keys = np.array([1] * alone + [-1] * (25 - alone))
            found = detectable_at_common_length(
                Scores(both, keys, np.array([1, -1], dtype=np.int8), ["nouns"] * 2)
            )
            assert (found is not None) is is_told

    def test_a_word_alone_in_its_group_is_fixed(self) -> None:
        x = np.random.default_rng(2).normal(0, 1, (25, 6))
        both = np.stack([x, np.zeros_like(x)], axis=2)
        found = detectable_at_common_length(
            Scores(both, AXIS, np.array([1, -1], dtype=np.int8), ["nouns"] * 2)
        )
        # Words that are alike add nothing, either.
        alike, poles = np.repeat(both, 2, axis=2), np.repeat(np.array([1, -1], dtype=np.int8), 2)
        assert found == pytest.approx(
            detectable_at_common_length(Scores(alike, AXIS, poles, ["nouns"] * 4)), rel=0.01
        )


def long(
    scores: Floats, words: list[str], lists: list[str], poles: NDArray[np.int8]
) -> pd.DataFrame:
    """Rows as `tables.schemas.HEADLINES` has them."""
    _, t, w = scores.shape
    units = [(str(unit), at) for unit, at in enumerate(AXIS)]
    rows = [
        (
            unit,
            str(template),
            words[word],
            lists[word],
            poles[word],
            at,
            scores[int(unit), template, word],
        )
        for unit, at in units
        for template in range(t)
        for word in range(w)
    ]
    return pd.DataFrame(rows, columns=["unit", "at", "word", "group", "pole", "beside", "value"])


def asked(slopes: float, seed: int, sharper: float = 1.0, noise: float = 0.05) -> pd.DataFrame:
    """What a model's gain is made of: words draw from seed 1 whoever is asked, noise from
    `seed`."""
    words = np.where(POLES == 1, 0.5, -0.5) * slopes + np.random.default_rng(1).normal(0, 0.05, 12)
    nouns = np.repeat(np.random.default_rng(2).normal(0, 0.2, 12), 3)
    own, beside = (sharper * lines(of, seed + at, noise) for at, of in enumerate((words, nouns)))
    targets = long(own, [f"target-{number}" for number in range(12)], ["words"] * 12, POLES)
    placebos = long(
        beside, [f"noun-{number}" for number in range(36)], NOUNS, np.zeros(36, dtype=np.int8)
    )
    return pd.concat([targets, placebos]).assign(part="seed", figure="gain", model=str(seed))


def test_an_array_is_made_of_rows_whatever_their_order() -> None:
    rows = asked(1.0, 5)
    real = rows[rows["pole"] != 0]
    found = Scores.of(real.sample(frac=1, random_state=1))
    assert found.values.shape == (25, 4, 12)
    unit, word = list(found.units).index("7"), sorted(set(real["word"])).index("target-10")
    row = real[(real["unit"] == "7") & (real["at"] == "2") & (real["word"] == "target-10")]
    assert found.values[unit, 2, word] == row["value"].item()
    assert (found.axis[unit], found.poles[word], found.lists[word]) == (AXIS[7], -1, "words")
    lacking = Scores.of(real.iloc[1:])
    assert lacking.values.shape == (24, 4, 12)
    assert "0" not in lacking.units


def compared(first: pd.DataFrame, second: pd.DataFrame) -> HeadlineTest:
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
        assert (
            compared(more[more["unit"] == "none"], less).lacking
            == "no sentence that both were asked"
        )

    def test_models_that_differ_by_noise_alone_are_not_told_apart(self) -> None:
        pairs = [
            (asked(1.0, 2 * seed, 1.4, 0.6), asked(1.0, 999 - 2 * seed, 1.0, 0.6))
            for seed in range(6)
        ]
        assert Verdict.EFFECT not in {verdict(compared(*pair)) for pair in pairs}
