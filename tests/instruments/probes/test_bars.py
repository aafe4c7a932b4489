"""Whether a set measures on a model, and can be told from regroupings."""

import math

import numpy as np
import pandas as pd
import pytest

from evenruler.instruments.probes.diagnose import bars
from evenruler.measurement import Figure
from evenruler.measurement.verdicts import Fitness
from tests.instruments.probes.known import cube_of

REVERSED = "a template says the opposite of the others (odd)"


def items(**highs: float) -> pd.DataFrame:
    """Templates with upper ends of their intervals; those whose name begins with "control" are controls."""
    return pd.DataFrame(
        {"template": list(highs), "control": [name.startswith("control") for name in highs], "high": highs.values()}
    )


def alpha(low: float | None, high: float | None) -> Figure:
    value = None if low is None or high is None else (low + high) / 2
    return Figure("alpha", value, 50, "attributes", low, high)


def fitness(rows: pd.DataFrame, of: Figure, floor: float, words: str = "man uncle woman girl") -> Fitness:
    """Of a set whose first two targets are of one group, and the last two of the other."""
    return bars.fitness(cube_of(np.zeros((1, 1, 4)), words=words.split()), rows, of, floor)


FINE = items(first=0.9, last=0.2)


class TestAlpha:
    def test_below_the_floor(self) -> None:
        found = fitness(FINE, alpha(0.21, 0.5949), 0.6)
        assert (found.unfit, found.doubt) == ("alpha is between 0.21 and 0.59, below 0.6", None)

    @pytest.mark.parametrize("high", [0.6, 0.8])
    def test_astride(self, high) -> None:
        found = fitness(FINE, alpha(0.5, high), 0.6)
        assert (found.unfit, found.doubt) == (None, f"alpha is between 0.50 and {high:.2f}, asked for is 0.6")

    @pytest.mark.parametrize("low", [0.6, 0.85])
    def test_above(self, low) -> None:
        found = fitness(FINE, alpha(low, 0.95), 0.6)
        assert (found.unfit, found.doubt) == (None, None)

    def test_the_floor_is_the_declared_one(self) -> None:
        assert fitness(FINE, alpha(0.5, 0.75), 0.8).unfit == "alpha is between 0.50 and 0.75, below 0.8"
        assert fitness(FINE, alpha(0.5, 0.75), 0.4).doubt is None

    @pytest.mark.parametrize("ends", [(None, None), (None, 0.5), (0.5, None)])
    def test_null_or_without_an_interval(self, ends) -> None:
        found = fitness(FINE, alpha(*ends), 0.6)
        assert (found.unfit, found.doubt) == (None, None)


class TestReversed:
    def test_is_named(self) -> None:
        found = fitness(items(first=0.9, odd=-0.1, last=0.2, no=-0.5), alpha(0.8, 0.9), 0.6)
        assert (found.unfit, found.doubt) == ("templates say the opposite of the others (odd, no)", None)

    def test_before_alpha_is_looked_at(self) -> None:
        assert fitness(items(odd=-0.1), alpha(0.1, 0.2), 0.6).unfit == REVERSED
        assert fitness(items(odd=-0.1), alpha(None, None), 0.6).unfit == REVERSED

    def test_a_control_may_be(self) -> None:
        assert fitness(items(first=0.9, control=-0.8), alpha(0.8, 0.9), 0.6).unfit is None

    @pytest.mark.parametrize("high", [0.0, 0.01, math.nan])
    def test_only_for_sure(self, high) -> None:
        assert fitness(items(first=0.9, odd=high), alpha(0.8, 0.9), 0.6).unfit is None


class TestSharedWords:
    """A word that belongs to one group alone, in several of its targets: no regrouping can be a control."""

    @pytest.mark.parametrize(
        ("words", "said"),
        [
            ("young-man young-woman old-man old-woman", "old, young"),
            ("young-man youth old-man old-woman", "old"),
            ("young-man man-so-young retiree elder", "man, young"),
        ],
    )
    def test_leave_a_doubt(self, words, said) -> None:
        found = fitness(FINE, alpha(0.8, 0.9), 0.6, words)
        assert found.unfit is None
        assert found.doubt == f"targets of one group share a word ({said}), so no regrouping is a control"

    @pytest.mark.parametrize(
        "words",
        [
            pytest.param("young-man boy old-woman lady", id="in-one-target"),
            pytest.param("tall-man boy tall-woman tall-lady", id="of-both-groups"),
            pytest.param("man manly womanly woman", id="parts-of-words"),
            pytest.param("so-so boy girl lady", id="twice-in-one-target"),
        ],
    )
    def test_leave_none(self, words) -> None:
        assert fitness(FINE, alpha(0.8, 0.9), 0.6, words) == Fitness()

    def test_a_reversed_item_goes_first_alpha_last(self) -> None:
        words = "young-man young-woman old-man old-woman"
        assert fitness(items(odd=-0.1), alpha(0.8, 0.9), 0.6, words).unfit == REVERSED
        assert fitness(FINE, alpha(0.1, 0.2), 0.6, words).unfit is None
