"""Which templates survive and which become parents (PMPO, algorithm 1, table 5)."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from evenruler.instruments.probes.evolve.fitness import DECIMALS
from evenruler.instruments.probes.evolve.population import Template


def ranked(fitness: ArrayLike, templates: Sequence[Template]) -> list[int]:
    """The places of templates in their population, best first.

    Args:
        fitness: [n] higher is better.
        templates: [n] Of equally fit ones the older goes first, then the first by slug; so their order is nothing.
    """
    values = np.round(np.asarray(fitness, dtype=np.float64), DECIMALS).tolist()
    by = [(-value, template.born, template.slug) for value, template in zip(values, templates, strict=True)]
    return sorted(range(len(by)), key=by.__getitem__)


def tournament(ranks: Sequence[int], size: int, draw: np.random.Generator) -> int:
    """The parent that a tournament finds: the best of some templates that are drawn.

    Args:
        ranks: Places in the population, best first (`ranked`).
        size: So many different ones are drawn; all where there are no more.
        draw: Decides which.

    Returns:
        Its place in the population.

    Raises:
        ValueError: There is no template.
    """
    drawn = draw.choice(len(ranks), size=min(size, len(ranks)), replace=False)
    return ranks[int(drawn.min())]


def guided_share(generation: int, generations: int, guided: tuple[float, float]) -> float:
    """How probable it is that a word is replaced, rather than the whole reworded.

    Args:
        generation: From 1.
        generations: How many there are.
        guided: In the first and in the last; linearly between. Where there is but one, it is the first.

    Raises:
        ValueError: There is no such generation.
    """
    if not 1 <= generation <= generations:
        raise ValueError(f"generation {generation} of {generations}")
    first, last = guided
    return first + (last - first) * (generation - 1) / max(1, generations - 1)
