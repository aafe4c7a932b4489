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
from evenruler.instruments.probes.diagnose.gain import (
    GAIN,
    SMALLEST,
    UNIT,
    Scores,
    along_criterion,
    between_keys,
    gain_headline,
    placebo_lists,
)
from evenruler.measurement.facets import Estimate, Facet, UnitMask, jackknife_crossed
from evenruler.measurement.figures import Verdict
from evenruler.measurement.verdicts import HeadlineTest, build_headline_test
from evenruler.tables.frames import evenly_spread
from tests.performance.planted import (
    DENIALS,
    JUDGED,
    SEEDS,
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
    beside: int = 43
    """Attributes, evenly spread along the axis, that are asked with placebo nouns."""

    @property
    def typical(self) -> float:
        """What a placebo does in truth: SD of as many differences of two lists of three nouns as
        there are pairs."""
        of_placebos = self.of_lists if self.of_placebos is None else self.of_placebos
        return float(np.sqrt(2 / self.pairs * (of_placebos**2 + self.of_nouns**2 / 3)))

    def drawn(self, random: Random, verify: bool = False) -> tuple[HeadlineTest, float]:
        """The headline of one draw, and what it is on these lists, were there no other noise."""
        axis = random.uniform(2, 98, self.attributes)
        if self.keyed:
            axis = np.repeat([1.0, -1.0], self.attributes // 2)
        place = axis / 2 if self.keyed else (axis - axis.mean()) / 80
        poles = np.repeat([1, -1], self.words)
        slopes = np.where(poles == 1, 0.5, -0.5) * self.gain
        lists = np.tile(np.repeat(np.arange(self.pairs), self.words // self.pairs), 2)
        of_lists = random.normal(0, self.of_lists, 2 * self.pairs)
        slopes = slopes + of_lists[lists + self.pairs * (poles < 0)]
        truth = float(slopes[poles == 1].mean() - slopes[poles == -1].mean())
        slopes = slopes + random.normal(0, self.of_words, len(slopes))
        scores = self._scores(place, slopes, poles, random)
        k = self.placebos
        of_placebos = self.of_lists if self.of_placebos is None else self.of_placebos
        nouns = np.repeat(random.normal(0, of_placebos, k), 3)
        nouns = nouns + random.normal(0, self.of_nouns, 3 * k)
        placebos = self._scores(place, nouns, np.repeat(np.arange(k), 3), random)
        ordered = [str(number) for number in np.argsort(axis, kind="stable")]
        along = [int(number) for number in evenly_spread(ordered, self.beside)]
        list_names = [str(number) for number in lists]
        placebo_names = [str(number // 3) for number in range(3 * k)]
        no_pole = np.zeros(3 * k, dtype=np.int8)
        placebo_scores = Scores(placebos[along], axis[along], no_pole, placebo_names)
        figure = _figure(scores, axis, poles, list_names, placebo_scores)
        if verify:
            real_scores = Scores(scores, axis, poles.astype(np.int8), list_names)
            _require_as_gain(figure, real_scores, placebo_scores)
        return figure, truth

    def _scores(
        self, place: Floats, slopes: Floats, groups: NDArray[np.int_], random: Random
    ) -> Floats:
        """[attributes, templates, words]: lines along the criterion, and what crosses them."""
        n, t, w = self.attributes, self.templates, len(slopes)
        of_group = np.unique(groups, return_inverse=True)[1]
        kinds = of_group.max() + 1
        axis = place[:, None, None]
        scores: Floats = axis * slopes
        by_group = axis * random.normal(0, self.of_templates, (t, kinds))
        by_group = by_group + random.normal(0, self.of_attributes, (n, 1, kinds))
        by_group = by_group + random.normal(0, self.of_cells, (n, t, kinds))
        scores = scores + by_group[:, :, of_group]
        scores = scores + random.normal(0, self.of_matches, (n, 1, w))
        scores = scores + random.normal(0, self.noise, (n, t, w))
        return scores + random.normal(0, 1, (n, t, 1))


def _figure(
    scores: Floats, axis: Floats, poles: NDArray[np.int_], lists: list[str], placebos: Scores
) -> HeadlineTest:
    """As `gain`, of any number of placebo lists: its values with levels left out are computed all
    at once."""
    keyed = set(axis) == {1.0, -1.0}
    weights = between_keys if keyed else along_criterion
    words = [f"{pole} {name}" for pole, name in zip(poles, lists, strict=True)]
    keys = [int(key) for key in axis] if keyed else [0] * len(axis)
    facets = [Facet(keys), Facet.of(scores.shape[1]), Facet(words)]
    of_attributes, of_templates, of_words = map(_masks, scores.shape)
    along = np.zeros(of_attributes.shape)
    for row, mask in zip(along, of_attributes, strict=True):
        row[mask] = weights(axis[mask])
    templates = _shares(of_templates)
    between = _shares(of_words & (poles == 1)) - _shares(of_words & (poles == -1))
    values = np.einsum("ai,itw,bt,cw->abc", along, scores, templates, between, optimize=True)

    def gain_of(*masks: UnitMask) -> float:
        place = tuple(0 if mask.all() else 1 + int(mask.argmin()) for mask in masks)
        return float(values[place])

    effect: Estimate = jackknife_crossed(gain_of, facets)
    placebo_weights = weights(placebos.axis)
    placebo = placebo_lists(placebos.values, placebo_weights, placebos.lists, len(set(lists)))
    levels = dict(zip(("attributes", "templates", "words"), scores.shape, strict=True))
    return build_headline_test(GAIN, UNIT, levels, effect, effect.p(), placebo, SMALLEST[GAIN])


def _masks(n: int) -> NDArray[np.bool_]:
    """[1 + n, n] all units, then all but one."""
    return np.vstack([np.ones(n, bool), ~np.eye(n, dtype=bool)])


def _shares(masks: NDArray[np.bool_]) -> Floats:
    """Weights of units, alike within a mask."""
    return masks / masks.sum(axis=1, keepdims=True)


def _require_as_gain(figure: HeadlineTest, scores: Scores, placebos: Scores) -> None:
    """What is computed at once is what the family computes."""
    numbers = []
    for test in (gain_headline(scores, placebos), figure):
        assert test.effect is not None
        assert test.p is not None
        numbers.append((test.effect.low, test.p.effect, test.p.denial))
    assert np.allclose(*numbers), numbers


def _case(name: str, population: Words, truth: Truth, several: int = 1, share: float = 2.0) -> Case:
    """Several figures of one instrument, of which the first has the truth and in the others is
    nothing."""
    return Case(f"probes, {name}", partial(_judge_draw, population, truth, several), share)


def _judge_draw(population: Words, truth: Truth, several: int, seed: int) -> Row:
    random = np.random.default_rng(seed)
    figure, on_these = population.drawn(random, verify=seed % SEEDS == 0)
    figures = [(figure, replace(truth, effect=on_these))]
    for _ in range(several - 1):
        figures.append((replace(population, gain=0.0).drawn(random)[0], Truth(None, None, None)))
    return judge_figures(figures)


DENIED = Truth(None, 0, Verdict.NOT_SPECIFIC, (Verdict.EFFECT,))
"""One more pair of lists such as placebos are."""


def _real(name: str, population: Words, several: int = 1, share: float = 2.0) -> Case:
    """A gain that is there: `not specific` is false of it where placebos do less than half."""
    wrong = DENIALS if population.typical < population.gain / 2 else (Verdict.NO_EFFECT,)
    specific = population.gain if population.of_placebos is None else None
    return _case(name, population, Truth(None, specific, Verdict.EFFECT, wrong), several, share)


def _pairs(size: float, of_nouns: float) -> float:
    """SD of placebo lists whose pairs are so large, nouns included."""
    return float(np.sqrt(size**2 / 2 - of_nouns**2 / 3))


def _cases() -> Iterable[Case]:
    nil = Words(of_lists=0)
    wide = Words(templates=16, words=12, pairs=4)
    two = float(np.log(2))
    held = Words(gain=1.34, of_lists=0, of_attributes=0.15)
    keyed = partial(replace, attributes=24, keyed=True, axis_position=24)
    yield _case("43 x 8 x 12, nothing", nil, nothing())
    yield _case("50 x 8 x 12, nothing", replace(nil, attributes=50, axis_position=50), nothing())
    yield _case("24 keyed, nothing", keyed(nil), nothing())
    yield _real("r .8 (gain 1.34)", held)
    yield _real("r .8, one of three figures", held, several=3, share=1.0)
    yield _real("r .8, 24 keyed", keyed(held))
    level = replace(held, of_templates=0.0, of_attributes=0.0, of_cells=0.0, of_matches=0.0)
    yield _real("flawless (r 1)", replace(level, of_words=0.1, of_nouns=0.1, noise=0.05))
    for sd, pair in ((0.3, ""), (0.354, ": one more placebo pair, SD .5"), (0.5, "")):
        yield _case(f"any two lists do it (list SD {sd:.2g}{pair})", Words(of_lists=sd), DENIED)
    for k in (6, 12, 20):
        same = replace(held, of_placebos=_pairs(1.34, 0.6), placebos=k)
        yield _case(
            f"placebo pairs as large as the gain, {k} lists", same, replace(DENIED, specific=None)
        )
    yield _real(
        "placebo pairs just below half of the gain",
        replace(held, of_placebos=_pairs(0.66, 0.1), of_nouns=0.1),
    )
    yield _real("gain at the bound, little noise", Words(gain=two, of_lists=0, of_words=0.05))
    for sd in (0.15, 0.3):
        for k in (6, 12, 20):
            yield _real(
                f"gain 1.34, list SD {sd}, {k} lists", Words(gain=1.34, of_lists=sd, placebos=k)
            )
    for sd in (MEASURED, 0.5):
        for size in (1.34, 2.0):
            yield _real(f"gain {size}, list SD {sd}", Words(gain=size, of_lists=sd))
    yield _case(
        f"22 attributes with placebos, nothing, list SD {MEASURED}", Words(axis_position=22), DENIED
    )
    yield _real(
        f"22 attributes with placebos, gain 2.0, list SD {MEASURED}",
        Words(gain=2.0, axis_position=22),
    )
    for sd in (0.15, 0.3, MEASURED):
        yield _real(
            f"4 pairs x 16 templates, factor 2, list SD {sd}",
            replace(wide, gain=two, of_lists=sd),
            share=1.0,
        )
    for sd in (0.15, MEASURED):
        yield _case(
            f"4 pairs x 16 templates, nothing, list SD {sd}",
            replace(wide, of_lists=sd),
            DENIED,
            share=1.0,
        )
    # The gain that `Settings.detects` states, of six words a group in eight templates. Lists vary
    # by `OF_LISTS` as they are estimated, to which attributes and templates add .04 a list.
    variance = OF_LISTS + OF_TEMPLATES / 8 + OF_WORDS / 6
    size = QUANTILES * float(np.sqrt(variance))
    of_lists = float(np.sqrt(OF_LISTS / 2 - 0.042))
    stated = Words(gain=size, of_lists=of_lists, of_words=0.23)
    name = f"what the plan detects (factor {np.exp(size):.1f})"
    for n in (43, 24, 16):
        keyed_words = replace(stated, attributes=n, keyed=True, axis_position=n)
        words, kind = (stated, "attributes") if n == 43 else (keyed_words, "keyed")
        yield _real(f"{name}, {n} {kind}", words)
    yield _real(
        f"{name}, lists as far apart as on the seed set (SD .5)", replace(stated, of_lists=0.33)
    )


PROBES = Family("probes", JUDGED, _cases)
