import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenruler.measurement import lexical_diversity, semantic_diversity

token_sets = st.lists(st.frozensets(st.sampled_from("abcde")), min_size=2, max_size=6)


class TestSemanticDiversity:
    def test_by_hand(self):
        # Directions at 0, 90 and 180 degrees: cosines 0 (first and second), -1 (first and third), 0.
        # 1 - (0 - 1)/2 = 1.5; 1 - (0 + 0)/2 = 1; 1 - (-1 + 0)/2 = 1.5. Lengths do not matter.
        assert semantic_diversity([[2, 0], [0, 5], [-0.1, 0]]) == pytest.approx([1.5, 1.0, 1.5], abs=1e-12)

    def test_oblique_by_hand(self):
        # (3, 4)/5 and (4, 3)/5: cosine 24/25; each with (1, 0): 3/5 and 4/5.
        expected = [1 - (24 / 25 + 3 / 5) / 2, 1 - (24 / 25 + 4 / 5) / 2, 1 - (3 / 5 + 4 / 5) / 2]
        assert semantic_diversity([[3, 4], [4, 3], [1, 0]]) == pytest.approx(expected, abs=1e-12)

    def test_copies_have_none(self):
        assert semantic_diversity([[1, 2, 3]] * 4) == pytest.approx([0] * 4, abs=1e-12)

    def test_single_precision_is_computed_in_double(self):
        rows = np.array([[1, 1e-4], [1, 0]], dtype=np.float32)
        diversity = semantic_diversity(rows)
        assert diversity.dtype == np.float64
        # 1 - 1/sqrt(1 + 1e-8) = 5e-9, which single precision cannot tell from 0.
        assert diversity == pytest.approx([5e-9, 5e-9], rel=1e-3)

    @settings(max_examples=20, deadline=None)
    @given(seed=st.integers(0, 1000), count=st.integers(2, 7))
    def test_follows_the_order_of_rows_and_ignores_their_lengths(self, seed, count):
        rng = np.random.default_rng(seed)
        rows, order = rng.normal(size=(count, 3)), rng.permutation(count)
        moved = semantic_diversity(rows[order] * rng.uniform(0.1, 9, size=(count, 1)))
        assert moved == pytest.approx(semantic_diversity(rows)[order], abs=1e-9)

    def test_a_single_row_has_no_others(self):
        assert np.isnan(semantic_diversity([[1, 2]])).tolist() == [True]
        assert semantic_diversity(np.empty((0, 4))).shape == (0,)

    @pytest.mark.parametrize(
        ("rows", "message"),
        [
            ([1, 2], "matrix"),
            ([[1, 2], [0, 0]], "finite and not zero"),
            ([[1, 2], [1, math.nan]], "finite and not zero"),
            ([[1, 2], [1, math.inf]], "finite and not zero"),
        ],
    )
    def test_refuses(self, rows, message):
        with pytest.raises(ValueError, match=message):
            semantic_diversity(rows)


class TestLexicalDiversity:
    def test_by_hand(self):
        # {a, b, c} and {b, c, d}: 2 shared of 4 in all; {a, b, c} and {e}: 0 of 4; {b, c, d} and {e}: 0 of 4.
        # 1 - (1/2 + 0)/2 = .75, the same, 1.
        sets = [frozenset("abc"), frozenset("bcd"), frozenset("e")]
        assert lexical_diversity(sets) == pytest.approx([0.75, 0.75, 1.0], abs=1e-12)

    def test_copies_have_none_and_case_is_kept(self):
        assert lexical_diversity([frozenset("ab")] * 3).tolist() == [0, 0, 0]
        assert lexical_diversity([frozenset("a"), frozenset("A")]).tolist() == [1, 1]

    def test_empty_sets_are_the_same_set(self):
        # Empty and empty: 1; empty and {a}: 0. 1 - (1 + 0)/2 = .5, the same, 1 - (0 + 0)/2 = 1.
        empty = frozenset[str]()
        assert lexical_diversity([empty, empty, frozenset("a")]).tolist() == [0.5, 0.5, 1.0]

    @settings(max_examples=30, deadline=None)
    @given(sets=token_sets, seed=st.integers(0, 100))
    def test_follows_the_order_of_sets_within_bounds(self, sets, seed):
        diversity = lexical_diversity(sets)
        assert ((diversity >= 0) & (diversity <= 1)).all()
        order = np.random.default_rng(seed).permutation(len(sets))
        assert lexical_diversity([sets[i] for i in order]) == pytest.approx(diversity[order], abs=1e-12)

    def test_a_single_set_has_no_others(self):
        assert np.isnan(lexical_diversity([frozenset("a")])).tolist() == [True]
        assert lexical_diversity([]).shape == (0,)
