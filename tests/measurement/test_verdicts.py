"""Verdicts on what was planted."""

from dataclasses import replace

import numpy as np
import pytest

from evenruler.measurement.facets import Estimate, Lists, Paired, paired
from evenruler.measurement.figures import Confirmed, Figure
from evenruler.measurement.verdicts import Confirmatory, Fitness, Verdict, confirmatory, holm, judge, marked

EVEN = (0.1, -0.1, 0.05, -0.05, 0.12, -0.12, 0.0, 0.08, -0.08, 0.02, -0.02, 0.03)
"""Of twelve placebo lists that hardly differ."""


def with_lists(effect: float, error: float, values: tuple[float, ...] = EVEN, p_null: float = 0.001) -> Confirmatory:
    estimate, lists = Estimate(effect, error**2, 30), Lists(values, 0.0, 3)
    return confirmatory("gain", "attributes", {"attributes": 43}, estimate, p_null, lists, smallest=0.69)


def beside_placebos(real: float, placebo: float, seed: int = 1, p_null: float | None = None) -> Confirmatory:
    """Forty stimuli, three wordings, twelve placebos, points; shifts scatter little."""
    rng = np.random.default_rng(seed)
    noise = [rng.normal(0, 4, size=(40, count)) for count in (3, 12)]
    effect, beside = paired(real + noise[0], placebo + noise[1])
    p = effect.p() if p_null is None else p_null
    levels = {"stimuli": 40, "wordings": 3}
    return confirmatory("shift", "stimuli", levels, effect, p, beside, smallest=10)


def judged(figure: Confirmatory, fitness: Fitness = Fitness()) -> Confirmed:  # noqa: B008
    found = judge([(figure, fitness)])[0]
    assert isinstance(found, Confirmed)
    return found


def verdict(figure: Confirmatory, fitness: Fitness = Fitness()) -> str | None:  # noqa: B008
    return judged(figure, fitness).verdict


def test_an_effect_that_placebos_lack() -> None:
    found = judged(with_lists(1.1, 0.21))
    assert found.verdict == Verdict.EFFECT
    assert found.why == "The part beyond placebos is not 0, but may be smaller than the smallest relevant effect, 0.69."
    assert "is larger than the smallest relevant effect, 0.69." in str(judged(with_lists(2.5, 0.2)).why)
    assert "is larger than the smallest relevant effect, 0.69." in str(judged(with_lists(-2.5, 0.2)).why)


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
    assert small.p is not None
    assert small.p.effect < 1e-3
    assert verdict(small) == Verdict.NO_EFFECT


def test_what_placebos_turn_against_is_no_effect_of_the_construct() -> None:
    """The cue does little, placebos do much the other way: the difference alone would be a finding."""
    with_it, against = (beside_placebos(shift, -30, p_null=0.01).p for shift in (2, -2))
    assert with_it is not None
    assert against is not None
    assert with_it.effect < 0.05
    assert against.effect == 1


def test_a_wide_interval_is_inconclusive_and_says_what_would_be_found() -> None:
    figure = with_lists(0.5, 0.6, p_null=0.4)
    found = judged(figure)
    assert found.verdict == Verdict.INCONCLUSIVE
    assert found.detectable == pytest.approx(Lists(EVEN, 0.0, 3).specific(Estimate(0.5, 0.36, 30)).detectable())
    assert f"the minimum detectable effect (80% power) is {found.detectable:.2g}" in str(found.why)


def test_bars_come_before_figures() -> None:
    """A refusing model has no effect at all, and none is said."""
    nothing = with_lists(0.0, 0.01, p_null=1.0)
    assert verdict(nothing) == Verdict.NO_EFFECT
    assert verdict(nothing, Fitness(unfit="276 of 276 requests were refused")) == Verdict.INVALID
    assert verdict(nothing, Fitness(doubt="alpha is between .2 and .9")) == Verdict.INCONCLUSIVE


def test_a_design_that_lacks_something_never_says_more() -> None:
    levels = {"stimuli": 40}
    alone = confirmatory("shift", "stimuli", levels, Estimate(50, 1, 30), 0.001, None, smallest=10)
    assert (verdict(alone), judged(alone).why) == (Verdict.INCONCLUSIVE, "No verdict is possible: no placebo.")
    found = judged(replace(beside_placebos(20, 0), lacking="one wording"))
    assert (found.verdict, found.why) == (Verdict.INCONCLUSIVE, "No verdict is possible: one wording.")


def test_p_are_corrected_within_effects_and_within_denials() -> None:
    """One effect of p .02 among five figures is none; a sixth model is no part of it."""
    of_weak = Estimate(20, 64, 1e6)
    beside = Paired(0, of_weak, Estimate(10, 64, 1e6))
    weak = confirmatory("shift", "stimuli", {"stimuli": 40}, of_weak, 0.001, beside, smallest=1)
    others = [beside_placebos(0, 0, seed) for seed in range(4)]
    assert verdict(weak) == Verdict.EFFECT
    among = judge([(figure, Fitness()) for figure in (weak, *others)])
    assert isinstance(among[0], Confirmed)
    assert among[0].verdict == Verdict.INCONCLUSIVE
    assert among[0].p_effect == pytest.approx(5 * of_weak.p())
    assert {one.verdict for one in among[1:]} == {Verdict.NO_EFFECT}


def test_a_headline_has_a_bound_a_null_and_a_placebo_or_says_why_not() -> None:
    whole = with_lists(1, 1)
    for lacking, message in (
        ({"smallest": 0}, "expected a positive number"),
        ({"p_null": None}, "has no null"),
        ({"p": None}, "has no placebo"),
        ({"unit": "words"}, "has no such facet"),
    ):
        with pytest.raises(ValueError, match=message):
            replace(whole, **lacking)


def test_a_figure_that_describes_has_no_verdict_but_that_nothing_was_measured() -> None:
    spread = Figure("spread", 0.5, 43, "attributes")
    first, second = judge([(spread, Fitness()), (with_lists(1.1, 0.21), Fitness())])
    assert first == spread
    assert isinstance(second, Confirmed)
    assert marked(spread, Fitness(doubt="few")) == spread
    assert marked(spread, Fitness(unfit="all refused")).verdict == Verdict.INVALID


def test_holm_multiplies_the_least_p_most() -> None:
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([]) == []
