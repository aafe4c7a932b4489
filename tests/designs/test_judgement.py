"""Verdicts on what was planted."""

from dataclasses import replace

import numpy as np
import pytest

from evenruler.measurement.verdicts import Fitness
from tests.designs.facets import Estimate, Lists, Paired, paired
from tests.designs.judgement import Confirmatory, Verdict, judged, p_of

EVEN = (0.1, -0.1, 0.05, -0.05, 0.12, -0.12, 0.0, 0.08, -0.08, 0.02, -0.02, 0.03)
"""Of twelve placebo lists that hardly differ."""


def with_lists(effect: float, error: float, values: tuple[float, ...] = EVEN, p_null: float = 0.001) -> Confirmatory:
    return Confirmatory("gain", "nats", Estimate(effect, error**2, 30), p_null, Lists(values, 0.0, 3), smallest=0.69)


def beside_placebos(real: float, placebo: float, seed: int = 1) -> Confirmatory:
    """Forty stimuli, three wordings, twelve placebos, points; shifts scatter little."""
    rng = np.random.default_rng(seed)
    noise = [rng.normal(0, 4, size=(40, count)) for count in (3, 12)]
    effect, beside = paired(real + noise[0], placebo + noise[1])
    return Confirmatory("shift", "points", effect, effect.p(), beside, smallest=10)


def verdict(figure: Confirmatory, fitness: Fitness = Fitness()) -> Verdict:  # noqa: B008
    return judged([figure], fitness)[0].verdict


def test_an_effect_that_placebos_lack() -> None:
    found = judged([with_lists(1.1, 0.21)], Fitness())[0]
    assert found.verdict == Verdict.EFFECT
    assert "surely above" not in found.why
    assert "surely above 0.69" in judged([with_lists(2.5, 0.2)], Fitness())[0].why
    assert "surely above 0.69" in judged([with_lists(-2.5, 0.2)], Fitness())[0].why


@pytest.mark.parametrize("sign", [1, -1])
def test_what_placebos_do_as_well_is_not_specific(sign: int) -> None:
    large = tuple(10 * value for value in EVEN)
    assert verdict(with_lists(sign * 1.0, 0.1, large)) == Verdict.NOT_SPECIFIC
    assert verdict(beside_placebos(sign * 20, sign * 19)) == Verdict.NOT_SPECIFIC
    assert verdict(beside_placebos(sign * 20, 0)) == Verdict.EFFECT


def test_half_of_it_is_the_border() -> None:
    assert verdict(beside_placebos(40, 24)) == Verdict.NOT_SPECIFIC
    assert verdict(beside_placebos(40, 16)) == Verdict.EFFECT


def test_a_small_effect_is_denied_however_sure_it_is() -> None:
    small = beside_placebos(4, 0)
    assert small.p_null < 1e-3
    assert p_of(small).effect < 1e-3
    assert verdict(small) == Verdict.NO_EFFECT


def test_what_placebos_turn_against_is_no_effect_of_the_construct() -> None:
    """The cue does little, placebos do much the other way: the difference alone would be a finding."""
    assert p_of(replace(beside_placebos(2, -30), p_null=0.01)).effect < 0.05
    assert p_of(replace(beside_placebos(-2, -30), p_null=0.01)).effect == 1


def test_a_wide_interval_is_inconclusive_and_says_what_would_be_found() -> None:
    figure = with_lists(0.5, 0.6, p_null=0.4)
    found = judged([figure], Fitness())[0]
    assert found.verdict == Verdict.INCONCLUSIVE
    assert figure.specific is not None
    assert found.detectable == pytest.approx(figure.specific.detectable())
    assert f"{found.detectable:.2g} would be found in 80 of 100" in found.why


def test_bars_come_before_figures() -> None:
    """A refusing model has no effect at all, and none is said."""
    nothing = with_lists(0.0, 0.01, p_null=1.0)
    assert verdict(nothing) == Verdict.NO_EFFECT
    assert verdict(nothing, Fitness(unfit="276 of 276 requests were refused")) == Verdict.INVALID
    assert verdict(nothing, Fitness(doubt="alpha is between .2 and .9")) == Verdict.INCONCLUSIVE


def test_a_design_that_lacks_something_never_says_more() -> None:
    assert verdict(replace(with_lists(5, 0.1), placebo=None)) == Verdict.INCONCLUSIVE
    found = judged([replace(beside_placebos(20, 0), lacking="one wording")], Fitness())[0]
    assert (found.verdict, found.why) == (Verdict.INCONCLUSIVE, "The design has one wording.")


def test_p_are_corrected_within_effects_and_within_denials() -> None:
    """One effect of p .02 among five figures is none; a sixth model is no part of it."""
    of_weak = Estimate(20, 64, 1e6)
    beside = Paired(0, of_weak, Estimate(10, 64, 1e6))
    weak = Confirmatory("shift", "points", of_weak, 0.001, beside, smallest=1)
    others = [beside_placebos(0, 0, seed) for seed in range(4)]
    assert verdict(weak) == Verdict.EFFECT
    among = judged([weak, *others], Fitness())
    assert among[0].verdict == Verdict.INCONCLUSIVE
    assert among[0].p_effect == pytest.approx(5 * of_weak.p())
    assert {one.verdict for one in among[1:]} == {Verdict.NO_EFFECT}


def test_a_bound_bounds_something() -> None:
    with pytest.raises(ValueError, match="expected a positive number"):
        replace(with_lists(1, 1), smallest=0)
