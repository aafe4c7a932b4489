"""APD and shifts of classes by hand."""

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenruler.instruments.framing.diagnose.effects import (
    apd,
    compute_effects,
    compute_shifts,
)
from tests.instruments.framing.tables import cells_of_text, distributions
from tests.instruments.near import approx, near

FACTORS = ["salience", "instruction"]
WEIGHTS = st.floats(1e-3, 1)

ASSOCIATION = cells_of_text("""
association, bare: bald 1 0 0; long .5 .5 0
association, salience: bald .4 0 .6; long .25 .75 0
association, instruction: bald .9 .1 0; long .5 .3 .2
association, salience+instruction: bald .1 .2 .7; long .5 .5 0
""")
COMPLETION = cells_of_text("""
completion, bare: bald .8 .2 0; long .2 .8 0
completion, instruction: bald .6 .2 .2; long .2 .7 .1
completion, salience+instruction: bald .5 .5 0; long 0 0 1
""")


ByStimulus = dict[tuple[str, str, str], tuple[float, int]]


def by_stimulus(effects: pd.DataFrame) -> ByStimulus:
    by_key = {}
    for row in effects.to_dict("records"):
        key = (
            row["task"],
            row["factor"],
            row["stimulus"],
        )
        by_key[key] = (
            round(row["apd"], 12),
            row["n"],
        )
    return by_key


class TestDistance:
    def test_on_paper(self) -> None:
        # |.7 - .2| + |.2 - .3| + |.1 - .5| = 1, and half of it.
        assert apd([0.7, 0.2, 0.1], [0.2, 0.3, 0.5]) == approx(0.5, abs=1e-15)
        assert apd([0.4, 0.4, 0.1, 0.1], [0.1, 0.1, 0.4, 0.4]) == approx(0.6, abs=1e-15)
        assert apd([1.0, 0.0], [0.0, 1.0]) == 1.0
        assert apd([0.3, 0.7], [0.3, 0.7]) == 0.0

    def test_every_row_of_a_batch_has_its_own(self) -> None:
        p = [[1.0, 0.0], [math.nan, 0.5]]
        np.testing.assert_array_equal(apd(p, [[0.0, 1.0], [0.5, 0.5]]), [1.0, math.nan])

    @given(st.lists(st.tuples(WEIGHTS, WEIGHTS), min_size=1, max_size=9))
    def test_is_symmetric_and_never_above_one(self, weights) -> None:
        p, q = np.array(weights).T
        p, q = p / p.sum(), q / q.sum()
        assert 0 <= apd(p, q) == apd(q, p) <= 1

    @pytest.mark.parametrize(
        ("p", "q", "reason"),
        [
            ([0.5, 0.5], [0.5, 0.25, 0.25], r"of one shape, got \(2,\) and \(3,\)"),
            ([0.5, 0.5], [1.2, -0.2], "negative, -0.2"),
            ([0.5, 0.4], [0.5, 0.5], "sum to 0.9, expected 1"),
            ([0.5, 0.5], [0.5, 0.500002], "sum to 1.000002"),
            ([[], []], [[], []], "sum to 0, expected 1"),
        ],
    )
    def test_refuses_what_are_no_distributions(self, p, q, reason) -> None:
        with pytest.raises(ValueError, match=reason):
            apd(p, q)

    def test_takes_sums_that_rounding_left(self) -> None:
        assert apd([0.5, 0.5], [0.5, 0.5000009]) == approx(0, abs=1e-6)


class TestEffects:
    def test_on_paper_with_all_four_cells(self) -> None:
        # bald: salience without instruction (.6 + 0 + .6) / 2 = .6, with it (.8 + .1 + .7) / 2 =
        # .8, mean .7; instruction without salience (.1 + .1) / 2 = .1, with it (.3 + .2 + .1) / 2 =
        # .3, mean .2. long: salience (.25 + .25) / 2 and (0 + .2 + .2) / 2, mean .225; instruction
        # .2 and .25, mean .225.
        effects = by_stimulus(compute_effects(distributions(ASSOCIATION), FACTORS))
        assert effects == {
            ("association", "salience", "bald"): (0.7, 2),
            ("association", "instruction", "bald"): (0.2, 2),
            ("association", "salience", "long"): (0.225, 2),
            ("association", "instruction", "long"): (0.225, 2),
        }

    def test_a_single_feasible_pair_is_not_halved(self) -> None:
        # Completion with salience alone is not feasible: bald (.1 + .3 + .2) / 2 = .3; long moves
        # wholly but for .1.
        effects = by_stimulus(compute_effects(distributions(COMPLETION), FACTORS))
        assert effects == {
            ("completion", "salience", "bald"): (0.3, 1),
            ("completion", "instruction", "bald"): (0.2, 1),
            ("completion", "salience", "long"): (0.9, 1),
            ("completion", "instruction", "long"): (0.1, 1),
        }

    def test_the_mean_of_a_stimulus_is_over_all_its_pairs(self) -> None:
        # Salience moves 0 and .1 without the third cue, .2 and .9 with it: mean .3, where the
        # median is .15.
        cells = cells_of_text("""
completion, bare: bald 1 0 0
completion, salience: bald 1 0 0
completion, instruction: bald 1 0 0
completion, salience+instruction: bald .9 .1 0
completion, age: bald 1 0 0
completion, salience+age: bald .8 .2 0
completion, instruction+age: bald 1 0 0
completion, salience+instruction+age: bald .1 .9 0
""")
        effects = by_stimulus(compute_effects(distributions(cells), [*FACTORS, "age"]))
        assert effects["completion", "salience", "bald"] == (0.3, 4)

    def test_a_null_share_leaves_the_pairs_of_its_stimulus_out(self) -> None:
        rows = distributions(ASSOCIATION | COMPLETION)
        whole = by_stimulus(compute_effects(rows, FACTORS))
        lost = (rows["stimulus"] == "bald") & (rows["framing"] == "salience+instruction")
        effects = by_stimulus(compute_effects(rows.assign(share=rows["share"].mask(lost)), FACTORS))
        del whole["completion", "salience", "bald"]
        assert effects == whole | {
            ("association", "salience", "bald"): (0.6, 1),
            ("association", "instruction", "bald"): (0.1, 1),
        }

    def test_no_feasible_pair_is_an_empty_table(self) -> None:
        rows = distributions({("choice", "instruction"): {"bald": [1.0, 0.0, 0.0]}})
        assert compute_effects(rows, FACTORS).empty
        assert compute_shifts(rows, FACTORS).empty


BESIDE = COMPLETION | cells_of_text("""
completion, salience~1+instruction: bald .6 .3 .1; long .2 .7 .1
completion, salience~2+instruction: long 0 .9 .1
completion, instruction~1: bald .8 .1 .1
""")


class TestAlternatives:
    def test_effects_of_each_stand_beside_those_of_the_cue(self) -> None:
        effects = compute_effects(distributions(BESIDE), FACTORS)
        values = effects.set_index(["factor", "alternative", "stimulus"])["apd"].round(12).to_dict()
        assert values == {
            ("salience", 0, "bald"): 0.3,
            ("salience", 0, "long"): 0.9,
            ("salience", 1, "bald"): 0.1,
            ("salience", 1, "long"): 0.0,
            ("salience", 2, "long"): 0.2,
            ("instruction", 0, "bald"): 0.2,
            ("instruction", 0, "long"): 0.1,
            ("instruction", 1, "bald"): 0.1,
        }


class TestShifts:
    def test_on_paper(self) -> None:
        # bald, salience at instruction: he (.5 - .6) / 1.1, she (.5 - .2) / .7, they goes.
        # long, instruction at bare: he 0, she (.7 - .8) / 1.5, they comes.
        shifts = compute_shifts(distributions(COMPLETION), FACTORS)
        values = shifts.set_index(["factor", "at", "stimulus", "outcome"])["shift"].to_dict()
        assert len(shifts) == len(values) == 2 * 2 * 3
        for key, expected in {
            ("salience", "instruction", "bald", "he"): -0.1 / 1.1,
            ("salience", "instruction", "bald", "she"): 0.3 / 0.7,
            ("salience", "instruction", "bald", "they"): -1.0,
            ("instruction", "bare", "long", "he"): 0.0,
            ("instruction", "bare", "long", "she"): -0.1 / 1.5,
            ("instruction", "bare", "long", "they"): 1.0,
        }.items():
            assert values[key] == near(expected)

    def test_a_class_that_is_in_neither_cell_does_not_shift(self) -> None:
        shifts = compute_shifts(distributions(ASSOCIATION), FACTORS)
        neither = shifts.query(
            "stimulus == 'long' and outcome == 'they' and at == 'bare' and factor == 'salience'"
        )
        assert neither["shift"].tolist() == [0.0]
