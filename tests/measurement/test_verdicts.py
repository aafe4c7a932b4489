"""Verdicts on what was planted, and a case worked out by hand for each part of the rule."""

import math
from dataclasses import astuple, replace

import pytest

from evenruler.measurement.facets import Estimate, PairedPlacebos, PlaceboLists
from evenruler.measurement.figures import Figure, HeadlineFigure, Verdict
from evenruler.measurement.verdicts import (
    HeadlineTest,
    PValues,
    ValidityCheck,
    build_headline_test,
    holm,
    judge,
    mark_invalid,
)

EVEN = (
    0.1,
    -0.1,
    0.05,
    -0.05,
    0.12,
    -0.12,
    0.0,
    0.08,
    -0.08,
    0.02,
    -0.02,
    0.03,
)
"""Of twelve placebo lists that hardly differ."""


def with_lists(
    effect: float, error: float, values: tuple[float, ...] = EVEN, p_null: float = 0.001
) -> HeadlineTest:
    estimate = Estimate(effect, error**2, 30)
    lists = PlaceboLists(values, 0.0, 3)
    return build_headline_test(
        "gain", "attributes", {"attributes": 43}, estimate, p_null, lists, smallest=0.69
    )


def judged(figure: HeadlineTest, validity: ValidityCheck = ValidityCheck()) -> HeadlineFigure:  # noqa: B008
    headline = judge([(figure, validity)])[0]
    assert isinstance(headline, HeadlineFigure)
    return headline


def verdict(figure: HeadlineTest, validity: ValidityCheck = ValidityCheck()) -> str | None:  # noqa: B008
    return judged(figure, validity).verdict


def test_an_effect_that_placebos_lack() -> None:
    headline = judged(with_lists(1.1, 0.21))
    assert headline.verdict == Verdict.EFFECT
    assert "may be smaller than the smallest relevant effect, 0.69." in str(headline.why)
    assert "is larger than the smallest relevant effect, 0.69." in str(
        judged(with_lists(2.5, 0.2)).why
    )
    assert "is larger than the smallest relevant effect, 0.69." in str(
        judged(with_lists(-2.5, 0.2)).why
    )


def test_what_placebos_do_as_well_is_not_specific() -> None:
    large = tuple(10 * value for value in EVEN)
    assert verdict(with_lists(1.0, 0.1, large)) == Verdict.NOT_SPECIFIC


def test_a_wide_interval_is_inconclusive_and_says_what_would_be_found() -> None:
    figure = with_lists(0.5, 0.6, p_null=0.4)
    headline = judged(figure)
    assert headline.verdict == Verdict.INCONCLUSIVE
    assert headline.detectable == pytest.approx(
        PlaceboLists(EVEN, 0.0, 3).specific(Estimate(0.5, 0.36, 30)).detectable()
    )
    assert f"the minimum detectable effect (80% power) is {headline.detectable:.2g}" in str(
        headline.why
    )


def test_bars_come_before_figures() -> None:
    """A refusing model has no effect at all, and none is said."""
    nothing = with_lists(0.0, 0.01, p_null=1.0)
    assert verdict(nothing) == Verdict.NO_EFFECT
    assert (
        verdict(nothing, ValidityCheck(failure="276 of 276 requests were refused"))
        == Verdict.INVALID
    )
    assert (
        verdict(nothing, ValidityCheck(doubt="alpha is between .2 and .9")) == Verdict.INCONCLUSIVE
    )


def test_a_design_that_lacks_something_never_says_more() -> None:
    levels = {"stimuli": 40}
    alone = build_headline_test(
        "shift", "stimuli", levels, Estimate(50, 1, 30), 0.001, None, smallest=10
    )
    assert (verdict(alone), judged(alone).why) == (
        Verdict.INCONCLUSIVE,
        "No verdict is possible: no placebo.",
    )
    headline = judged(replace(normal_figure(20, 0, 10, 0.001), lacking="one wording"))
    assert (headline.verdict, headline.why) == (
        Verdict.INCONCLUSIVE,
        "No verdict is possible: one wording.",
    )


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
    sound = ValidityCheck()
    first, second = judge([(spread, sound), (with_lists(1.1, 0.21), sound)])
    assert first == spread
    assert isinstance(second, HeadlineFigure)
    assert mark_invalid(spread, ValidityCheck(doubt="few")) == spread
    assert mark_invalid(spread, ValidityCheck(failure="all refused")).verdict == Verdict.INVALID


def test_holm_multiplies_the_least_p_most() -> None:
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([]) == []


NORMAL_TAIL = {
    0: 0.5,
    1: 0.15866,
    2: 0.02275,
    3: 0.00135,
}
"""P that a standard normal variable exceeds a whole number, from a printed table; beyond 6 less
than 1e-9."""


def normal_figure(effect: float, placebo: float, smallest: float, p_null: float) -> HeadlineTest:
    """A figure with a standard error of 1 and a known variance everywhere, so that p-values are
    normal tails.

    The specific part is `effect - placebo`. Two-sided p of it: twice the tail beyond it. P that the
    effect, or its specific part, is within the bound: the tail beyond `smallest` minus it. P that
    placebos do more than half: the tail beyond `placebo - effect / 2`.
    """

    def normal(value: float) -> Estimate:
        return Estimate(value, 1.0, math.inf)

    half = normal(effect / 2 - placebo)
    placebos = PairedPlacebos(placebo, normal(effect - placebo), half)
    return build_headline_test(
        "shift", "stimuli", {"stimuli": 40}, normal(effect), p_null, placebos, smallest
    )


def assert_p(figure: HeadlineTest, effect: float, none: float, unspecific: float) -> None:
    assert figure.p is not None
    assert astuple(figure.p) == pytest.approx((effect, none, unspecific), abs=1e-5)


def verdict_among(figure: HeadlineTest, n_others: int) -> HeadlineFigure:
    """The verdict on a figure among others of which nothing can be asserted: each of their p-values
    is .5."""
    nothing = normal_figure(effect=2, placebo=1, smallest=1, p_null=0.5)
    assert_p(nothing, effect=0.5, none=0.5, unspecific=0.5)
    figures = [figure, *[nothing] * n_others]
    headline = judge([(headline_test, ValidityCheck()) for headline_test in figures])[0]
    assert isinstance(headline, HeadlineFigure)
    return headline


def test_an_effect_needs_its_null() -> None:
    """20 beyond placebos, where a permutation of the labels does as much in a fifth of cases."""
    figure = normal_figure(effect=20, placebo=0, smallest=10, p_null=0.2)
    assert_p(figure, effect=0.2, none=1, unspecific=1)
    assert verdict(figure) == Verdict.INCONCLUSIVE


def test_an_effect_has_the_sign_of_its_specific_part() -> None:
    """Placebos of 16 beside 12: the specific part, -4, differs from 0, but points the other way."""
    assert_p(
        normal_figure(effect=12, placebo=16, smallest=2, p_null=0.001),
        effect=1,
        none=1,
        unspecific=0.001,
    )
    assert_p(
        normal_figure(effect=-12, placebo=-16, smallest=2, p_null=0.001),
        effect=1,
        none=1,
        unspecific=0.001,
    )
    assert_p(
        normal_figure(effect=12, placebo=8, smallest=2, p_null=0.001),
        effect=0.001,
        none=1,
        unspecific=0.02275,
    )


def test_an_effect_needs_a_specific_part() -> None:
    """An effect of 2 of which placebos have 1: the other 1 is one standard error from 0."""
    figure = normal_figure(effect=2, placebo=1, smallest=1, p_null=0.001)
    assert_p(
        figure,
        effect=2 * NORMAL_TAIL[1],
        none=1 - NORMAL_TAIL[1],
        unspecific=0.5,
    )
    assert verdict(figure) == Verdict.INCONCLUSIVE


def test_an_effect_that_the_null_does_not_explain_is_denied_only_where_all_of_it_is_small() -> None:
    """The specific part is 0, three standard errors within the bound; the whole effect, 6, is as
    far outside."""
    figure = normal_figure(effect=6, placebo=6, smallest=3, p_null=0.001)
    assert_p(
        figure,
        effect=1,
        none=1 - NORMAL_TAIL[3],
        unspecific=NORMAL_TAIL[3],
    )
    assert verdict(figure) == Verdict.NOT_SPECIFIC


def test_an_effect_that_the_null_explains_is_denied_where_its_specific_part_is_small() -> None:
    figure = normal_figure(effect=6, placebo=6, smallest=3, p_null=0.2)
    assert_p(figure, effect=1, none=NORMAL_TAIL[3], unspecific=0.2)
    assert verdict(figure) == Verdict.NO_EFFECT
    at_alpha = normal_figure(effect=6, placebo=6, smallest=3, p_null=0.05)
    assert_p(at_alpha, effect=1, none=NORMAL_TAIL[3], unspecific=0.05)


def test_a_small_effect_whose_specific_part_may_be_large_is_not_denied() -> None:
    """An effect of 2, three standard errors within the bound of 5; placebos have -2, so that the
    specific part is 4."""
    figure = normal_figure(effect=2, placebo=-2, smallest=5, p_null=0.001)
    assert_p(
        figure,
        effect=0.001,
        none=NORMAL_TAIL[1],
        unspecific=1 - NORMAL_TAIL[3],
    )
    assert verdict(figure) == Verdict.EFFECT


def test_not_specific_needs_the_null_of_the_effect() -> None:
    """Placebos of 9 beside an effect of 12, where a permutation of the labels does as much in a
    fifth of cases."""
    figure = normal_figure(effect=12, placebo=9, smallest=3, p_null=0.2)
    assert_p(figure, effect=0.2, none=0.5, unspecific=0.2)
    assert verdict(figure) == Verdict.INCONCLUSIVE


def test_not_specific_is_what_placebos_do_more_than_half_of() -> None:
    """Placebos of 9 are three standard errors above half of 12; the specific part, 3, is at the
    bound."""
    figure = normal_figure(effect=12, placebo=9, smallest=3, p_null=0.001)
    assert_p(
        figure,
        effect=2 * NORMAL_TAIL[3],
        none=1,
        unspecific=NORMAL_TAIL[3],
    )
    assert verdict(figure) == Verdict.NOT_SPECIFIC


def test_not_specific_is_also_what_has_a_small_specific_part() -> None:
    """Placebos of 3 are half of 6, no more; the specific part, 3, is three standard errors within
    the bound of 6."""
    figure = normal_figure(effect=6, placebo=3, smallest=6, p_null=0.001)
    assert_p(
        figure,
        effect=2 * NORMAL_TAIL[3],
        none=0.5,
        unspecific=NORMAL_TAIL[3],
    )
    assert verdict(figure) == Verdict.NOT_SPECIFIC


def test_a_small_specific_part_of_a_small_effect_is_not_called_unspecific() -> None:
    """The whole effect, 4, is two standard errors within the bound of 6, and placebos have a
    quarter of it.

    Alone it is denied. Among three figures it cannot be, since 3 x .02275 is above .05; the effect
    can be asserted, and `not specific` would be false.
    """
    figure = normal_figure(effect=4, placebo=1, smallest=6, p_null=0.001)
    unspecific = 1 - NORMAL_TAIL[1]
    assert_p(
        figure,
        effect=2 * NORMAL_TAIL[3],
        none=NORMAL_TAIL[2],
        unspecific=unspecific,
    )
    assert verdict(figure) == Verdict.NO_EFFECT
    assert verdict_among(figure, n_others=2).verdict == Verdict.EFFECT


def test_p_of_effects_are_corrected_over_effects() -> None:
    """A specific part of 2 has p .0455: asserted alone, and not among two figures."""
    figure = normal_figure(effect=4, placebo=2, smallest=1, p_null=0.001)
    assert_p(
        figure,
        effect=2 * NORMAL_TAIL[2],
        none=1 - NORMAL_TAIL[3],
        unspecific=0.5,
    )
    assert verdict(figure) == Verdict.EFFECT
    headline = verdict_among(figure, n_others=1)
    assert (headline.verdict, headline.p_effect) == (
        Verdict.INCONCLUSIVE,
        pytest.approx(4 * NORMAL_TAIL[2], abs=1e-5),
    )


def test_p_of_denials_are_corrected_over_denials() -> None:
    """An effect two standard errors within the bound has p .02275: denied among two figures, and
    not among three."""
    figure = normal_figure(effect=2, placebo=0, smallest=4, p_null=0.001)
    unspecific = 1 - NORMAL_TAIL[1]
    assert_p(
        figure,
        effect=2 * NORMAL_TAIL[2],
        none=NORMAL_TAIL[2],
        unspecific=unspecific,
    )
    assert verdict(figure) == verdict_among(figure, n_others=1).verdict == Verdict.NO_EFFECT
    headline = verdict_among(figure, n_others=2)
    assert (headline.verdict, headline.p_denial) == (
        Verdict.INCONCLUSIVE,
        pytest.approx(3 * NORMAL_TAIL[2], abs=1e-5),
    )


def test_both_denials_of_a_figure_are_corrected_by_the_factor_of_the_smaller() -> None:
    """Denied twice, with p .02275 and .00135: three times the first is above .05, three times the
    second is not."""
    figure = normal_figure(effect=6, placebo=6, smallest=8, p_null=0.001)
    assert_p(
        figure,
        effect=1,
        none=NORMAL_TAIL[2],
        unspecific=NORMAL_TAIL[3],
    )
    assert verdict(figure) == Verdict.NO_EFFECT
    headline = verdict_among(figure, n_others=2)
    assert (headline.verdict, headline.p_denial) == (
        Verdict.NOT_SPECIFIC,
        pytest.approx(3 * NORMAL_TAIL[3], abs=1e-5),
    )


@pytest.mark.parametrize(
    "p",
    [PValues(0.05, 1, 1), PValues(1, 0.05, 1), PValues(1, 1, 0.05)],
)
def test_a_p_of_exactly_alpha_asserts_nothing(p: PValues) -> None:
    figure = normal_figure(effect=20, placebo=0, smallest=10, p_null=0.2)
    assert verdict(replace(figure, p=p)) == Verdict.INCONCLUSIVE
