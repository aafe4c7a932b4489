import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenruler.instruments.probes.evolve.population import Template
from evenruler.instruments.probes.evolve.selection import guided_share, ranked, tournament


def templates(*named: tuple[str, int]) -> list[Template]:
    return [Template(slug, f"{{ATTRIBUTE}} {slug} {{TARGET}}.", 1, born) for slug, born in named]


class TestRanked:
    def test_best_first(self) -> None:
        # The hand-made population of the fitness tests: 0.36, 0.57, 0.28, 0.6.
        population = templates(("a", 0), ("b", 0), ("c", 0), ("d", 0))

        assert ranked([0.3575, 0.5742, 0.2833, 0.6], population) == [3, 1, 0, 2]

    def test_of_equally_fit_ones_the_older_then_the_first_by_slug(self) -> None:
        population = templates(("g2-1", 2), ("pride", 0), ("g1-2", 1), ("common", 0), ("g1-1", 1))

        assert ranked([0.5] * 5, population) == [3, 1, 4, 2, 0]

    def test_rounding_makes_no_difference(self) -> None:
        assert ranked([0.3, 0.1 + 0.2], templates(("a", 0), ("b", 0))) == [0, 1]
        assert ranked([0.1 + 0.2, 0.3], templates(("b", 0), ("a", 0))) == [1, 0]
        assert ranked([0.3, 0.3 + 1e-9], templates(("a", 0), ("b", 0))) == [1, 0]

    @given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2)), max_size=8).flatmap(
        lambda rows: st.tuples(st.just(rows), st.permutations(range(len(rows))))))  # fmt: skip
    def test_the_order_of_the_population_is_nothing(self, case) -> None:
        rows, order = case
        population = templates(*((f"t{i}", born) for i, (_, born) in enumerate(rows)))
        fitness = [value / 3 for value, _ in rows]
        found = ranked(fitness, population)
        shuffled = ranked([fitness[i] for i in order], [population[i] for i in order])

        assert sorted(found) == list(range(len(rows)))
        assert [order[i] for i in shuffled] == found
        assert [fitness[i] for i in found] == sorted(fitness, reverse=True)


class Scripted:
    """A generator that draws what was written down for it."""

    def __init__(self, *drawn: int) -> None:
        self._drawn = drawn

    def choice(self, n: int, size: int, replace: bool) -> np.ndarray:
        assert not replace
        assert len(self._drawn) == size <= n
        return np.array(self._drawn)


class TestTournament:
    RANKS = (4, 7, 0, 2, 6, 1, 3, 5)
    """Places in the population, best first."""

    @pytest.mark.parametrize(
        ("drawn", "winner"),
        [((5, 2, 6), 0), ((7, 6, 5), 1), ((3, 0, 7), 4), ((1, 4, 2), 7)],
    )
    def test_the_best_ranked_of_those_drawn_wins(self, drawn, winner: int) -> None:
        assert tournament(self.RANKS, 3, Scripted(*drawn)) == winner

    def test_all_take_part_where_there_are_no_more(self) -> None:
        assert tournament([2, 0, 1], 3, np.random.default_rng(0)) == 2
        assert tournament([2, 0, 1], 9, np.random.default_rng(0)) == 2
        assert tournament([0], 3, np.random.default_rng(0)) == 0

    def test_how_often_each_wins(self) -> None:
        # Three of eight in 56 ways; the r-th best wins in C(8 - r, 2) of them. The last two never do: all are distinct.
        draw = np.random.default_rng(0)
        winners = [tournament(range(8), 3, draw) for _ in range(5600)]
        counts = np.bincount(winners, minlength=8)

        expected = 100 * np.array([21, 15, 10, 6, 3, 1])
        assert counts[6:].tolist() == [0, 0]
        assert ((counts[:6] - expected) ** 2 / expected).sum() < 20.5  # chi-square, 5 degrees of freedom, p = 0.001

    def test_the_same_seed_draws_the_same(self) -> None:
        first, again = np.random.default_rng([7, 1]), np.random.default_rng([7, 1])

        assert [tournament(self.RANKS, 3, first) for _ in range(20)] == [
            tournament(self.RANKS, 3, again) for _ in range(20)
        ]

    def test_somebody_takes_part(self) -> None:
        with pytest.raises(ValueError):  # noqa: PT011
            tournament([], 3, np.random.default_rng(0))


class TestGuidedShare:
    def test_linearly_from_the_first_generation_to_the_last(self) -> None:
        assert [guided_share(g, 5, (0.5, 0.9)) for g in range(1, 6)] == pytest.approx([0.5, 0.6, 0.7, 0.8, 0.9])
        assert [guided_share(g, 3, (1.0, 0.0)) for g in range(1, 4)] == [1.0, 0.5, 0.0]

    def test_of_one_generation_it_is_the_first(self) -> None:
        assert guided_share(1, 1, (0.5, 0.9)) == 0.5

    @pytest.mark.parametrize("generation", [0, 4])
    def test_there_is_such_a_generation(self, generation: int) -> None:
        with pytest.raises(ValueError, match=f"generation {generation} of 3"):
            guided_share(generation, 3, (0.5, 0.9))
