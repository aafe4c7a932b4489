"""Probes: scores with planted gains, through the jackknives, placebo lists and verdicts of the
family."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from evenruler.instruments.probes.declare.settings import (
    OF_LISTS,
    OF_TEMPLATES,
    OF_WORDS,
    QUANTILES,
)
from evenruler.instruments.probes.diagnose.gain import Scores, gain_headline
from evenruler.measurement.figures import Verdict
from evenruler.measurement.verdicts import HeadlineTest
from evenruler.tables.frames import evenly_spread
from studies.planted.populations import (
    DENIALS,
    JUDGED,
    Case,
    Family,
    Random,
    Row,
    Truth,
    judge_figures,
    nothing,
)

Floats = NDArray[np.float64]

MEASURED = 0.35
"""SD of the gain of a list on SmolLM2, beyond its words."""


@dataclass(frozen=True)
class Words:
    """A population of probes: what words, lists and templates do to scores, nats."""

    attributes: int = 43
    keyed: bool = False
    """By halves, in place of a criterion."""
    templates: int = 8
    words: int = 6
    """Of each group."""
    pairs: int = 1
    """Lists of each group."""
    gain: float = 0.0
    """Over 80 points of the criterion."""
    of_lists: float = MEASURED
    """SD of the gain of a list, beyond its words."""
    of_placebos: float | None = None
    """The same of a placebo list, where it is another."""
    placebos: int = 12
    """Lists, of three nouns each."""
    of_words: float = 0.2
    of_nouns: float = 0.6
    """SD of the gain of a placebo noun within its list."""
    of_templates: float = 0.4
    of_attributes: float = 0.3
    """SD of what attributes do to a group beside the criterion."""
    of_cells: float = 0.4
    """SD of an attribute in a template, for a group."""
    of_matches: float = 0.3
    """SD of an attribute with a word."""
    noise: float = 0.55
    n_with_placebos: int = 43
    """Attributes, evenly spread along the axis, that are asked with placebo nouns."""

    @property
    def typical(self) -> float:
        """What a placebo does in truth: SD of as many differences of two lists of three nouns as
        there are pairs."""
        of_placebos = self.of_lists if self.of_placebos is None else self.of_placebos
        return float(np.sqrt(2 / self.pairs * (of_placebos**2 + self.of_nouns**2 / 3)))

    def draw(self, random: Random) -> tuple[HeadlineTest, float]:
        """The headline of one draw, and what it is on these lists, were there no other noise."""
        if self.keyed:
            axis = np.repeat([1.0, -1.0], self.attributes // 2)
            place = axis / 2
        else:
            axis = random.uniform(2, 98, self.attributes)
            place = (axis - axis.mean()) / 80
        poles = np.repeat([1, -1], self.words)
        lists = np.tile(
            np.repeat(
                np.arange(self.pairs),
                self.words // self.pairs,
            ),
            2,
        )
        shifts = random.normal(0, self.of_lists, 2 * self.pairs)
        slopes = poles * self.gain / 2 + shifts[lists + self.pairs * (poles < 0)]
        truth = float(slopes[poles == 1].mean() - slopes[poles == -1].mean())
        slopes = slopes + random.normal(0, self.of_words, len(slopes))
        scores = self._draw_scores(place, slopes, poles, random)
        real = Scores(
            scores,
            axis,
            poles.astype(np.int8),
            [str(number) for number in lists],
        )
        return gain_headline(real, self._draw_placebos(axis, place, random)), truth

    def _draw_placebos(self, axis: Floats, place: Floats, random: Random) -> Scores:
        """Scores of placebo nouns, three a list, for attributes evenly spread along the axis."""
        numbers = np.repeat(np.arange(self.placebos), 3)
        of_placebos = self.of_lists if self.of_placebos is None else self.of_placebos
        slopes = random.normal(0, of_placebos, self.placebos)[numbers]
        slopes = slopes + random.normal(0, self.of_nouns, len(numbers))
        scores = self._draw_scores(place, slopes, numbers, random)
        ordered = [str(number) for number in np.argsort(axis, kind="stable")]
        along = [int(number) for number in evenly_spread(ordered, self.n_with_placebos)]
        no_pole = np.zeros(len(numbers), dtype=np.int8)
        return Scores(
            scores[along],
            axis[along],
            no_pole,
            [str(number) for number in numbers],
        )

    def _draw_scores(
        self, place: Floats, slopes: Floats, groups: NDArray[np.int_], random: Random
    ) -> Floats:
        """[attributes, templates, words]: lines along the criterion, and what crosses them."""
        n, t, w = self.attributes, self.templates, len(slopes)
        of_group = np.unique(groups, return_inverse=True)[1]
        kinds = of_group.max() + 1
        axis = place[:, None, None]
        scores: Floats = axis * slopes
        by_group = axis * random.normal(0, self.of_templates, (t, kinds))
        by_group = by_group + random.normal(
            0,
            self.of_attributes,
            (n, 1, kinds),
        )
        by_group = by_group + random.normal(
            0,
            self.of_cells,
            (n, t, kinds),
        )
        scores = scores + by_group[:, :, of_group]
        scores = scores + random.normal(
            0,
            self.of_matches,
            (n, 1, w),
        )
        scores = scores + random.normal(
            0,
            self.noise,
            (n, t, w),
        )
        return scores + random.normal(0, 1, (n, t, 1))


def _make_case(
    name: str, population: Words, truth: Truth, several: int = 1, share: float = 2.0
) -> Case:
    """Several figures of one instrument, of which the first has the truth and in the others is
    nothing."""
    return Case(
        f"probes, {name}",
        partial(_judge_draw, population, truth, several),
        share,
    )


def _judge_draw(population: Words, truth: Truth, several: int, seed: int) -> Row:
    random = np.random.default_rng(seed)
    figure, on_these = population.draw(random)
    figures = [(figure, replace(truth, effect=on_these))]
    for _ in range(several - 1):
        figures.append(
            (
                replace(population, gain=0.0).draw(random)[0],
                Truth(None, None, None),
            )
        )
    return judge_figures(figures)


DENIED = Truth(None, 0, Verdict.NOT_SPECIFIC, (Verdict.EFFECT,))
"""One more pair of lists such as placebos are."""


def _plant_gain(name: str, population: Words, several: int = 1, share: float = 2.0) -> Case:
    """A gain that is there: `not specific` is false of it where placebos do less than half."""
    wrong = DENIALS if population.typical < population.gain / 2 else (Verdict.NO_EFFECT,)
    specific = population.gain if population.of_placebos is None else None
    truth = Truth(None, specific, Verdict.EFFECT, wrong)
    return _make_case(name, population, truth, several, share)


def _size_lists(size: float, of_nouns: float) -> float:
    """SD of placebo lists whose pairs are so large, nouns included."""
    return float(np.sqrt(size**2 / 2 - of_nouns**2 / 3))


def _key_words(population: Words, n: int = 24) -> Words:
    """The same of attributes by halves."""
    return replace(population, attributes=n, keyed=True, n_with_placebos=n)


def _list_cases() -> Iterable[Case]:
    nil = Words(of_lists=0)
    held = Words(gain=1.34, of_lists=0, of_attributes=0.15)
    yield _make_case("43 x 8 x 12, nothing", nil, nothing())
    yield _make_case("24 keyed, nothing", _key_words(nil), nothing())
    yield _plant_gain("r .8 (gain 1.34)", held)
    yield _plant_gain("r .8, one of three figures", held, several=3, share=1.0)
    yield _plant_gain("r .8, 24 keyed", _key_words(held))
    for sd in (0.3, 0.354, 0.5):
        yield _make_case(
            f"any two lists do it (list SD {sd:.2g})",
            Words(of_lists=sd),
            DENIED,
        )
    as_large = replace(held, of_placebos=_size_lists(1.34, 0.6))
    name = "placebo pairs as large as the gain"
    yield _make_case(name, as_large, replace(DENIED, specific=None))
    near = replace(held, of_placebos=_size_lists(0.66, 0.1), of_nouns=0.1)
    yield _plant_gain("placebo pairs just below half of the gain", near)
    factor_two = float(np.log(2))
    bound = Words(gain=factor_two, of_lists=0, of_words=0.05)
    yield _plant_gain("gain at the bound, little noise", bound)
    for sd, size in (
        (0.3, 1.34),
        (MEASURED, 1.34),
        (MEASURED, 2.0),
        (0.5, 2.0),
    ):
        yield _plant_gain(
            f"gain {size}, list SD {sd}",
            Words(gain=size, of_lists=sd),
        )
    wide = Words(templates=16, words=12, pairs=4)
    yield _plant_gain("4 pairs x 16 templates, factor 2", replace(wide, gain=factor_two), share=0.5)
    yield _make_case("4 pairs x 16 templates, nothing", wide, DENIED, share=0.5)
    yield from _list_detected()


def _list_detected() -> Iterable[Case]:
    """The gain that `Settings.detects` states, of six words a group in eight templates.

    Lists vary by `OF_LISTS` as they are estimated, to which attributes and templates add .04 a
    list.
    """
    variance = OF_LISTS + OF_TEMPLATES / 8 + OF_WORDS / 6
    size = QUANTILES * float(np.sqrt(variance))
    of_lists = float(np.sqrt(OF_LISTS / 2 - 0.042))
    stated = Words(gain=size, of_lists=of_lists, of_words=0.23)
    name = f"what the plan detects (factor {np.exp(size):.1f})"
    yield _plant_gain(f"{name}, 43 attributes", stated)
    for n in (24, 16):
        yield _plant_gain(
            f"{name}, {n} keyed",
            _key_words(stated, n),
        )
    yield _plant_gain(f"{name}, lists of SD .5", replace(stated, of_lists=0.33))


PROBES = Family("probes", JUDGED, _list_cases)
