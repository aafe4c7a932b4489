"""Shifts of classes beside placebos, by hand."""

import math

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from evenruler.instruments.framing.diagnose.effects import shift_figures
from evenruler.measurement import Figure
from evenruler.measurement.placebos import cue_minus_placebos

CLASSES = ("he", "she", "they")

Table = dict[tuple[int, str, str], float]
"""By placebo (0: the cue), stimulus and class."""


def figures(shifts: Table | list[tuple[int, str, str, float]], level: float = 0.9) -> dict[str, Figure]:
    rows = [(*key, value) for key, value in shifts.items()] if isinstance(shifts, dict) else shifts
    table = pd.DataFrame(rows, columns=["placebo", "stimulus", "outcome", "shift"])
    pair = table.groupby(
        ["placebo", "stimulus", "outcome"]
    ).cumcount()  # like ones are of one pair of cells after another
    table = table.assign(factor="salience", task="say", at=pair.astype(str))
    return {figure.figure: figure for figure in shift_figures(table, ["he", "she", "they"], level)}


def of_classes(placebo: int, stimulus: str, *shifts: float) -> Table:
    return {(placebo, stimulus, name): shift for name, shift in zip(("he", "she", "they"), shifts, strict=True)}


CUE = of_classes(0, "bald", -0.4, 0.2, 0.9) | of_classes(0, "long", -0.2, 0.0, 0.5)


def test_the_mean_of_every_class_and_the_difference_of_every_two() -> None:
    found = figures(CUE)
    assert {name: figure.value for name, figure in found.items()} == {
        "shift: he": pytest.approx(-0.3),
        "shift: she": pytest.approx(0.1),
        "shift: they": pytest.approx(0.7),
        "shift: she - he": pytest.approx(0.4),
        "shift: they - he": pytest.approx(1.0),
        "shift: they - she": pytest.approx(0.6),
    }
    assert {(figure.n, figure.unit, figure.control, figure.low) for figure in found.values()} == {
        (2, "stimuli", None, None)
    }


def test_means_are_over_pairs_of_cells_then_over_stimuli() -> None:
    one = [(0, "bald", name, shift) for shift in (0.3, 0.3, 0.9) for name in ("he", "she", "they")]
    found = figures([*one, *((0, "long", name, 0.1) for name in ("he", "she", "they"))])
    assert found["shift: he"].value == pytest.approx((0.5 + 0.1) / 2)


def test_the_control_is_the_mean_over_placebos_each_on_its_own_stimuli() -> None:
    beside = of_classes(1, "bald", -0.1, 0.1, 0.0) | of_classes(2, "long", 0.3, 0.0, 0.2)
    found = figures(CUE | beside)
    # The cue less the first on bald, less the second on long: -.3 and -.5 for he, mean -.4; -.3 less that is .1.
    assert found["shift: he"].control == pytest.approx(0.1)
    # She less he: .6 - .2 and .2 - (-.3), mean .45, so that .4 less that is left.
    assert found["shift: she - he"].control == pytest.approx(-0.05)
    assert (found["shift: he"].difference_low, found["shift: he"].difference_high) == (None, None)


def test_intervals_are_over_stimuli_and_that_of_the_difference_over_placebos_too() -> None:
    by_stimulus = np.array([-0.1, 0.0, 0.1, 0.2, 0.3])
    placebos = np.array([0.02, 0.04, 0.06, 0.08, 0.1])
    rows = [(0, f"s{i}", name, shift) for i, shift in enumerate(by_stimulus) for name in ("he", "she", "they")]
    rows += [
        (number, f"s{i}", name, shift + by)
        for number, by in enumerate(placebos, start=1)
        for i, shift in enumerate(by_stimulus)
        for name in ("he", "she", "they")
    ]
    found = figures(rows)["shift: they"]
    half = stats.t.ppf(0.95, 4) * np.std(by_stimulus, ddof=1) / math.sqrt(5)
    assert (found.value, found.low, found.high) == pytest.approx((0.1, 0.1 - half, 0.1 + half))
    # The stimuli add nothing to a difference that is the same on all of them.
    half = stats.t.ppf(0.95, 4) * np.std(placebos, ddof=1) * math.sqrt(6 / 5)
    assert found.control == pytest.approx(0.16)
    assert (found.difference_low, found.difference_high) == pytest.approx((-0.06 - half, -0.06 + half))


class TestPlacebosOfOtherStimuli:
    CUE = np.array([0.5, 0.2, 0.6, 0.1, 0.4, 0.9])

    def beside(self, asked: list[list[int]]) -> Figure:
        """Of he, where placebos, each asked about some of the stimuli, move nothing."""
        rows = [(0, f"s{i}", name, shift) for i, shift in enumerate(self.CUE) for name in CLASSES]
        rows += [(p, f"s{i}", name, 0.0) for p, own in enumerate(asked, start=1) for i in own for name in CLASSES]
        return figures(rows)["shift: he"]

    def test_an_interval_leaves_out_a_stimulus_of_the_placebos_that_have_it(self) -> None:
        asked = [[0, 1, 2], [3, 4, 5], [0, 1, 2], [3, 4, 5], [0, 1, 2]]
        units = [np.array(own) for own in asked]
        expected = cue_minus_placebos([lambda of: float(self.CUE[of].mean())] * 5, units, 0.9)
        found = self.beside(asked)
        assert found.value is not None
        assert found.control == pytest.approx(found.value - expected.value)
        assert (found.difference_low, found.difference_high) == pytest.approx((expected.low, expected.high))

    def test_with_a_placebo_of_one_stimulus_there_is_no_interval(self) -> None:
        found = self.beside([[0, 1, 2], [3, 4, 5], [0, 1, 2], [3, 4, 5], [0]])
        # Means of the cue over these stimuli: 1.3 / 3, 1.4 / 3 and .5.
        assert found.control == pytest.approx(0.45 - (1.3 / 3 * 2 + 1.4 / 3 * 2 + 0.5) / 5)
        assert (found.difference_low, found.difference_high) == (None, None)


def test_a_placebo_is_compared_in_the_pairs_of_cells_that_it_has() -> None:
    two_pairs = [
        (0, stimulus, name, shift) for stimulus in ("bald", "long") for shift in (0.1, 0.9) for name in CLASSES
    ]
    first_alone = [(1, stimulus, name, 0.3) for stimulus in ("bald", "long") for name in CLASSES]
    found = figures([*two_pairs, *first_alone])["shift: he"]
    # .1 less .3 in the pair that both have, so that .5 less -.2 is the control.
    assert (found.value, found.control) == pytest.approx((0.5, 0.7))


def test_the_difference_to_a_placebo_is_the_mean_over_pairs_of_cells_then_over_stimuli() -> None:
    # Beyond the placebo: 0, 0 and .9 on bald, mean .3; 0 on long and on wavy. Their mean is .1, and the cue's is .1.
    beyond = {"bald": (0.0, 0.0, 0.9), "long": (0.0,), "wavy": (0.0,)}
    cue = [(0, stimulus, name, by) for stimulus, of in beyond.items() for by in of for name in CLASSES]
    placebo = [(1, stimulus, name, 0.0) for stimulus, of in beyond.items() for _ in of for name in CLASSES]
    found = figures([*cue, *placebo])["shift: he"]
    assert (found.value, found.control) == pytest.approx((0.1, 0.0))


def test_without_a_cue_there_are_none() -> None:
    assert figures({}) == {}
    assert figures(of_classes(1, "bald", 0.1, 0.1, 0.1)) == {}
