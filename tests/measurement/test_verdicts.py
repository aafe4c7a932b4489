"""Every verdict, in its order, and what decides between two that both seem to hold."""

import math
from dataclasses import replace

import pytest
from statsmodels.stats.multitest import multipletests

from evenruler.measurement import Figure
from evenruler.measurement.verdicts import ALPHA, Fitness, Verdict, holm, judge, marked

LEAST = 10
SURE = Figure("spread", 1.0, 50, "attributes", p=0.001, control=0.2, difference_low=0.5, difference_high=1.1, bound=0.2)
DESCRIBES = Figure("alpha", 0.9, 50, "attributes", 0.8, 0.95, p=1e-9, control=0.5)
FIT = Fitness()
AS_LARGE = "If nothing were there, it would be as large with a probability of 0.001 (adjusted)."


def judged(figure: Figure, fitness: Fitness = FIT) -> tuple[str | None, str | None]:
    """The verdict of one figure alone, whose adjusted p is its p."""
    (found,) = judge([(figure, fitness)], LEAST)
    return found.verdict, found.why


def test_what_may_be_said():
    assert list(Verdict) == ["instrument unfit", "too little to tell", "not beyond control", "beyond control"]


def test_each_has_its_light():
    assert [verdict.mark for verdict in Verdict] == ["poor", "weak", "told", "good"]


def test_units_may_each_have_a_least_of_their_own():
    models = replace(SURE, n=9, unit="models")
    found = judge([(replace(SURE, n=9), FIT), (models, FIT)], {"attributes": 10, "models": 9})
    assert [figure.verdict for figure in found] == [Verdict.LITTLE, Verdict.BEYOND]


def test_a_descriptive_figure_is_marked_where_the_instrument_is_unfit_and_else_left_alone():
    assert marked(DESCRIBES, FIT) is DESCRIBES
    assert marked(DESCRIBES, Fitness(unfit="alpha is 0.1")) == replace(
        DESCRIBES,
        verdict="instrument unfit",
        why="On this model the instrument fails a bar of its own: alpha is 0.1.",
    )


@pytest.mark.parametrize(
    ("changed", "verdict", "why"),
    [
        ({}, Verdict.BEYOND, AS_LARGE),
        ({"n": LEAST}, Verdict.BEYOND, AS_LARGE),
        ({"n": LEAST - 1}, Verdict.LITTLE, "It rests on 9 attributes, of at least 10."),
        ({"value": None}, Verdict.LITTLE, "There is no figure to compare."),
        ({"control": None}, Verdict.LITTLE, "There is no control to compare."),
        ({"value": None, "control": None}, Verdict.LITTLE, "There is no figure to compare."),
        # Within the bound, however small p is.
        (
            {"difference_low": -0.05, "difference_high": 0.19},
            Verdict.WITHIN,
            "The difference to the control [-0.05, 0.19] is surely smaller than 0.2.",
        ),
        # At the bound it is not within, above or below.
        ({"difference_low": 0.01, "difference_high": 0.2}, Verdict.BEYOND, AS_LARGE),
        ({"difference_low": -0.2, "difference_high": 0.1}, Verdict.BEYOND, AS_LARGE),
        # Without an interval nothing is within, and p still speaks; so where one end is missing.
        ({"difference_low": None, "difference_high": None}, Verdict.BEYOND, AS_LARGE),
        ({"difference_low": 0.1, "difference_high": None}, Verdict.BEYOND, AS_LARGE),
        (
            {"p": ALPHA},
            Verdict.LITTLE,
            "A difference to the control [0.5, 1.1] is neither shown nor excluded: p is 0.05 (adjusted).",
        ),
        (
            {"p": None, "difference_low": None},
            Verdict.LITTLE,
            "A difference to the control is neither shown nor excluded: no p could be computed.",
        ),
        # A control that is as large, or larger: never beyond it.
        (
            {"value": 0.2, "difference_low": -0.5, "difference_high": 0.3},
            Verdict.LITTLE,
            "The control is as large, but the difference [-0.5, 0.3] may be more than 0.2.",
        ),
        (
            {"value": 0.1, "difference_low": None, "difference_high": None},
            Verdict.LITTLE,
            "The control is as large, but the difference may be more than 0.2.",
        ),
        (
            {"value": 0.1, "difference_low": -0.19, "difference_high": 0.19},
            Verdict.WITHIN,
            "The difference to the control [-0.19, 0.19] is surely smaller than 0.2.",
        ),
    ],
)
def test_each_in_its_order(changed, verdict, why):
    assert judged(replace(SURE, **changed)) == (verdict, why)


@pytest.mark.parametrize(("value", "verdict"), [(-1.0, Verdict.BEYOND), (-0.2, Verdict.LITTLE), (-0.1, Verdict.LITTLE)])
def test_of_a_negative_value_the_size_counts(value, verdict):
    assert judged(replace(SURE, value=value, control=0.2))[0] == verdict


class TestFitness:
    UNFIT, DOUBTED = Fitness(unfit="an item is reversed"), Fitness(doubt="alpha is between 0.5 and 0.7")
    WITHIN = replace(SURE, difference_low=-0.1, difference_high=0.1)

    @pytest.mark.parametrize("figure", [SURE, WITHIN, replace(SURE, n=2), replace(SURE, value=None)])
    def test_a_bar_of_its_own_comes_first(self, figure):
        why = "On this model the instrument fails a bar of its own: an item is reversed."
        assert judged(figure, self.UNFIT) == (Verdict.UNFIT, why)
        assert judged(figure, replace(self.UNFIT, doubt="so is another")) == (Verdict.UNFIT, why)

    @pytest.mark.parametrize("figure", [SURE, WITHIN, replace(SURE, value=None)])
    def test_a_doubt_comes_before_what_is_found(self, figure):
        why = "It cannot be told on this model: alpha is between 0.5 and 0.7."
        assert judged(figure, self.DOUBTED) == (Verdict.LITTLE, why)

    def test_too_few_units_come_before_a_doubt(self):
        assert judged(replace(SURE, n=9), self.DOUBTED)[1] == "It rests on 9 attributes, of at least 10."

    def test_each_figure_has_its_own(self):
        found = judge([(SURE, self.UNFIT), (SURE, FIT)], LEAST)
        assert [figure.verdict for figure in found] == [Verdict.UNFIT, Verdict.BEYOND]


@pytest.mark.parametrize("bound", [0.0, -1.0, math.nan])
@pytest.mark.parametrize("fitness", [FIT, Fitness(unfit="an item is reversed")])
def test_a_bound_is_positive(bound, fitness):
    with pytest.raises(ValueError, match=f"the bound of spread is {bound}, expected a positive number"):
        judged(replace(SURE, bound=bound), fitness)


class TestHolm:
    @staticmethod
    def adjusted(*p: float | None) -> list[float | None]:
        found = judge([(replace(SURE, p=own), FIT) for own in p], LEAST)
        assert [figure.p for figure in found] == list(p)  # as it was
        return [figure.p_adjusted for figure in found]

    def test_by_hand(self):
        # Sorted .01, .02, .04: times 3, 2, 1, never less than the one before.
        assert self.adjusted(0.04, 0.01, 0.02) == pytest.approx([0.04, 0.03, 0.04])

    def test_by_the_library(self):
        drawn = [0.3, 0.001, 0.04, 0.04, 0.9]
        assert self.adjusted(*drawn) == pytest.approx(multipletests(drawn, method="holm")[1])

    def test_it_is_at_most_one(self):
        assert holm([0.6, 0.7]) == [1, 1]

    def test_what_has_no_p_takes_no_part(self):
        assert self.adjusted(None, 0.02, None, 0.04) == [None, pytest.approx(0.04), None, pytest.approx(0.04)]
        assert self.adjusted(None) == [None]

    def test_the_adjusted_p_decides(self):
        found = judge([(replace(SURE, p=p), FIT) for p in (0.03, 0.04)], LEAST)
        assert [figure.verdict for figure in found] == [Verdict.LITTLE, Verdict.LITTLE]
        assert judged(replace(SURE, p=0.03))[0] == Verdict.BEYOND

    def test_over_all_confirmatory_figures_whatever_they_are_worth(self):
        """One of an unfit set counts among them, so that a verdict does not hang on which other sets are fit."""
        family = [(replace(SURE, p=0.03), Fitness(unfit="reversed")), (replace(SURE, p=0.03), FIT)]
        assert [figure.p_adjusted for figure in judge(family, LEAST)] == pytest.approx([0.06, 0.06])

    def test_descriptive_figures_take_no_part_and_stay_as_they_are(self):
        found = judge([(DESCRIBES, FIT), (replace(SURE, p=0.03), FIT), (DESCRIBES, Fitness(unfit="all"))], LEAST)
        assert found[0] == DESCRIBES
        assert found[2] == DESCRIBES
        assert found[1] == replace(
            SURE,
            p=0.03,
            p_adjusted=0.03,
            verdict="beyond control",
            why="If nothing were there, it would be as large with a probability of 0.03 (adjusted).",
        )

    def test_of_nothing(self):
        assert judge([], LEAST) == []
        assert judge([(DESCRIBES, FIT)], LEAST) == [DESCRIBES]

    def test_the_verdict_is_a_plain_string(self):
        assert type(judge([(SURE, FIT)], LEAST)[0].verdict) is str
