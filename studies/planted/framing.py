"""Framing: shifts of replies and of probabilities, through the flips, placebos and verdicts of the
family."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from evenruler.instruments.framing.declare.source import OF_REPLIES, OF_STIMULI, OF_WORDINGS
from evenruler.measurement.facets import pair_placebos
from evenruler.measurement.figures import Verdict
from evenruler.measurement.resampling import sign_flips
from evenruler.measurement.verdicts import HeadlineTest, build_headline_test
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

SMALLEST = 10.0

FLIPS = 499
"""Draws of signs."""


@dataclass(frozen=True)
class Cues:
    """A population of one reply a question: a class before and after cues, points."""

    stimuli: int = 40
    cues: int = 3
    placebos: int = 12
    shift: float = 0.0
    of_placebos: float = 0.0
    """Shift that placebos have, too."""
    of_wordings: float = 5.0
    """SD of the shift of a wording."""
    share: float = 0.3

    def draw(self, random: Random) -> tuple[HeadlineTest, float, float]:
        """The headline of one draw, and what effect and specific part are in truth."""
        base = _draw_base(self.share, self.stimuli, random)
        bare = random.random(self.stimuli) < base

        def changes(count: int, shift: float) -> Floats:
            drawn = random.random((self.stimuli, count))
            after = drawn < _draw_after(base, count, shift, self.of_wordings, random)
            return 100 * (after.astype(float) - bare[:, None])

        true = _find_true_shift(self.share, self.shift, self.of_wordings)
        figure = _judge_shift(
            changes(self.cues, self.shift), changes(self.placebos, self.of_placebos)
        )
        return (
            figure,
            true,
            true
            - _find_true_shift(
                self.share,
                self.of_placebos,
                self.of_wordings,
            ),
        )


def _draw_base(share: float, n: int, random: Random) -> Floats:
    return random.beta(4 * share, 4 * (1 - share), n)


def _draw_after(
    base: Floats, count: int, shift: float, of_wordings: float, random: Random
) -> Floats:
    """[stimuli, wordings] probabilities, which end at 0 and 1."""
    shifts = shift + random.normal(0, of_wordings, count)
    shares: Floats = np.clip(
        base[:, None] + shifts / 100,
        0,
        1,
    )
    return shares


@lru_cache
def _find_true_shift(share: float, shift: float, of_wordings: float) -> float:
    """The mean change in truth, points: of shares that are near 0 or 1 it is not what was
    planted."""
    random = np.random.default_rng(0)
    base = _draw_base(share, 4000, random)
    after = _draw_after(base, 4000, shift, of_wordings, random)
    return float(100 * (after - base[:, None]).mean())


def _judge_shift(real: Floats, placebos: Floats) -> HeadlineTest:
    """[stimuli, wordings] points, as a headline has them."""
    effect, placebo = pair_placebos(real, placebos)
    levels = {
        "stimuli": len(real),
        "wordings": real.shape[1],
        "placebos": placebos.shape[1],
    }
    p_null = sign_flips(real.mean(axis=1), 0, FLIPS)
    return build_headline_test("change", "stimuli", levels, effect, p_null, placebo, SMALLEST)


@dataclass(frozen=True)
class Masses:
    """A population of probabilities of words, points, with the variances that `Settings.detects`
    goes by."""

    stimuli: int
    shift: float
    cues: int = 3
    placebos: int = 12

    def draw(self, random: Random) -> tuple[HeadlineTest, float, float]:
        """As of `Cues`."""
        sd = np.sqrt(OF_WORDINGS)
        of_stimuli = random.normal(
            0,
            np.sqrt(OF_STIMULI),
            (self.stimuli, 1),
        )
        real = self.shift + of_stimuli + random.normal(0, sd, self.cues)
        placebos = np.tile(
            random.normal(0, sd, self.placebos),
            (self.stimuli, 1),
        )
        return _judge_shift(real, placebos), self.shift, self.shift


def _make_case(name: str, *populations: tuple[Cues | Masses, Truth]) -> Case:
    """Figures of one instrument; coverage is of the first."""
    return Case(f"framing, {name}", partial(_judge_draw, populations), share=2)


def _judge_draw(populations: Sequence[tuple[Cues | Masses, Truth]], seed: int) -> Row:
    random, figures = np.random.default_rng(seed), []
    for population, truth in populations:
        figure, effect, specific = population.draw(random)
        figures.append(
            (
                figure,
                Truth(effect, specific, truth.right, truth.wrong),
            )
        )
    return judge_figures(figures)


THERE = Truth(None, None, Verdict.EFFECT, DENIALS)
NOTHING = nothing()
AS_MUCH = Truth(None, None, Verdict.NOT_SPECIFIC, (Verdict.EFFECT,))
OPEN = Truth(None, None, None, (Verdict.NO_EFFECT, Verdict.NOT_SPECIFIC))
"""There is something, which few such studies can tell."""

UNJUDGED = Truth(None, None, None, ())

MEASURED = float(np.sqrt(OF_WORDINGS))


def _find_detected(variance: float, freedom: int, several: int) -> float:
    """Points that are found in 80 of 100 studies, as one of several figures."""
    quantiles = stats.t.ppf(
        1 - 0.025 / several,
        freedom,
    ) + stats.t.ppf(0.8, freedom)
    return float(quantiles * np.sqrt(variance))


def _list_cases() -> Iterable[Case]:
    large = (Cues(shift=25), THERE)
    yield _make_case("40 x (3, 12), nothing", (Cues(), NOTHING))
    yield _make_case("12 x (6, 20), nothing", (Cues(12, 6, 20), NOTHING))
    measured = Cues(of_wordings=MEASURED)
    yield _make_case("40 x (3, 12), nothing, wordings as measured (SD 8)", (measured, NOTHING))
    yield _make_case("40 x (3, 12), rare class (.05), nothing", (Cues(share=0.05), NOTHING))
    yield _make_case("40 x (3, 12), rare class (.05), +16", (Cues(share=0.05, shift=16), THERE))
    yield _make_case("40 x (3, 12), +19", (Cues(shift=19), THERE))
    yield _make_case("40 x (3, 12), placebos as much", (Cues(shift=19, of_placebos=19), AS_MUCH))
    yield _make_case("40 x (3, 12), at the bound (+10)", (Cues(shift=10), THERE))
    near = Cues(shift=30, of_placebos=0.49 * 30, share=0.2)
    yield _make_case("40 x (3, 12), placebos just below half of +30", (near, THERE))
    yield _make_case(
        "five figures, one effect",
        large,
        *[(Cues(), NOTHING)] * 4,
    )
    yield _make_case(
        "five figures, mixed: +25, nothing, placebos as much, at the bound, nearly half",
        large,
        (Cues(), NOTHING),
        (Cues(shift=25, of_placebos=25), AS_MUCH),
        (Cues(shift=10), OPEN),
        (Cues(shift=30, of_placebos=14), OPEN),
    )
    yield from _list_detected()
    for share, name in ((0.0, "nothing"), (1 / 3, "a third of replies flips")):
        judge_total = partial(_judge_total_shift, 40, share)
        yield Case(f"framing, total shift of 40, {name}", judge_total, share=2)


def _list_detected() -> Iterable[Case]:
    """What the plan detects; by one reply, as `Settings.detects` has it of the form `sampled`."""
    for stimuli, several in (
        (24, 1),
        (12, 1),
        (24, 5),
    ):
        variance = OF_WORDINGS * (1 / 3 + 1 / 12) + OF_STIMULI / stimuli
        size = _find_detected(variance, 13, several)
        name = f"what the plan detects ({size:.0f} points), {stimuli} stimuli, one of {several}"
        other = (Masses(stimuli, 0.0), UNJUDGED)
        yield _make_case(
            name,
            (Masses(stimuli, size), THERE),
            *[other] * (several - 1),
        )
    for several in (1, 5):
        of_stimuli = OF_STIMULI + OF_REPLIES / 2 * (1 + 1 / 4)
        variance = OF_WORDINGS * (1 / 4 + 1 / 12) + of_stimuli / 24
        size = _find_detected(variance, 14, several)
        name = f"what the plan detects by one reply ({size:.0f} points), one of {several}"
        population = Cues(24, 4, 12, of_wordings=MEASURED, share=0.25)
        planted = (replace(population, shift=size), THERE)
        yield _make_case(
            name,
            planted,
            *[(population, UNJUDGED)] * (several - 1),
        )


def _judge_total_shift(stimuli: int, moved: float, seed: int) -> Row:
    """Of three classes, of which the last takes a share of the replies; "covers" is not said of
    it."""
    random = np.random.default_rng(seed)
    first, second = _draw_replies(stimuli, random), _draw_replies(stimuli, random)
    second = np.where(
        random.random((stimuli, 1)) < moved,
        np.eye(3)[2],
        second,
    )
    is_effect = sign_flips(second - first, 0, FLIPS) < 0.05
    return None, None, None if moved else is_effect, None, is_effect if moved else None


def _draw_replies(stimuli: int, random: Random) -> Floats:
    """[stimuli, classes] replies, of three classes."""
    return np.eye(3)[random.integers(0, 3, stimuli)]


FRAMING = Family("framing", JUDGED, _list_cases)
