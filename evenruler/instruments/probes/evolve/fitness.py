"""How good a template is within its population (PMPO, section 3.2.1, equation 2)."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from evenruler.instruments.probes.declare import FitnessWeights
from evenruler.instruments.probes.evolve.population import WordGradient
from evenruler.measurement import item_statistics, lexical_diversity, semantic_diversity
from evenruler.tables.rounding import without_last_bits

DECIMALS = 12
"""Values that are the same so far are equal: what is beyond is rounding, and may decide nothing."""


def parts(
    biases: ArrayLike,
    gradients: Sequence[Sequence[float]],
    embeddings: ArrayLike,
    token_sets: Sequence[frozenset[str]],
    clip: float,
) -> pd.DataFrame:
    """The four parts of the fitness of each template of a population, as they are, but for their last bits.

    Args:
        biases: [attributes, n] signed by keying, nats.
        gradients: [n] of each word of each template, nats.
        embeddings: [n, dimensions] of the templates' texts.
        token_sets: [n] the distinct words of each, lower-cased, without slots.
        clip: Alpha is clipped to -clip and clip, since one broken set would flatten the rest.

    Returns:
        One row a template; of every column more is better.
        `alpha_contribution`: minus Cronbach's alpha of the others. Where they have none (they are fewer than two,
        there are fewer than two attributes, or their total is the same for all) it counts as -clip: without this
        template nothing is measured.
        `gradient_focus`: variance (ddof 0) of its gradients over words, square nats; 0 for fewer than two words.
        `semantic_diversity`, `lexical_diversity`: as in `evenruler.measurement`; 0 for a template alone, which
        differs from none.

    Raises:
        ValueError: Biases or embeddings that are not finite, or not as many of each as there are templates.
    """
    matrix, rows = np.asarray(biases, dtype=np.float64), np.asarray(embeddings, dtype=np.float64)
    found = {matrix.shape[1], len(gradients), len(rows), len(token_sets)}
    if len(found) > 1:
        raise ValueError(f"biases, gradients, embeddings and token sets of {sorted(found)} templates")
    frame = pd.DataFrame(
        {
            "alpha_contribution": 0 - _alpha_of_others(matrix).clip(-clip, clip),
            "gradient_focus": [float(np.var(of_words)) if len(of_words) > 1 else 0.0 for of_words in gradients],
            "semantic_diversity": np.nan_to_num(semantic_diversity(rows)),
            "lexical_diversity": np.nan_to_num(lexical_diversity(token_sets)),
        }
    )
    return without_last_bits(frame)


def normalised(frame: pd.DataFrame) -> pd.DataFrame:
    """Every column brought to [0, 1] by its least and its greatest value; 0.5 throughout where all are equal."""
    least = frame.min()
    spread = frame.max() - least
    equal = spread <= 10.0**-DECIMALS * frame.abs().max().clip(lower=1)
    found: pd.DataFrame = ((frame - least) / spread.mask(equal)).fillna(0.5)
    return found


def fitness(frame: pd.DataFrame, weights: FitnessWeights) -> pd.DataFrame:
    """How good each template of a population is (PMPO, equation 2), and what each part adds to that.

    Args:
        frame: The raw parts of the whole population (`parts`); they are normalised here.
        weights: What each part counts; only their proportions matter.

    Returns:
        One row a template: `alpha_part`, `gradient_part`, `semantic_part`, `lexical_part`, and `fitness`, their sum:
        in [0, 1], higher is better; it depends on the population.
    """
    normal = normalised(frame) / sum(dict(weights).values())
    found = pd.DataFrame(
        {
            "alpha_part": normal["alpha_contribution"] * weights.alpha,
            "gradient_part": normal["gradient_focus"] * weights.gradient_focus,
            "semantic_part": normal["semantic_diversity"] * weights.semantic_diversity,
            "lexical_part": normal["lexical_diversity"] * weights.lexical_diversity,
        }
    )
    return without_last_bits(found.assign(fitness=found.sum(axis=1)))


def hotspot(gradients: Sequence[WordGradient]) -> WordGradient | None:
    """The word that moves the bias most, the first of equals; none where there is no word."""
    return next(iter(telling(gradients)), None)


def telling(gradients: Sequence[WordGradient]) -> list[WordGradient]:
    """Words by how far they move the bias, most first; equals in their order."""
    return sorted(gradients, key=lambda word: -round(word.gradient, DECIMALS))


def _alpha_of_others(biases: NDArray[np.float64]) -> NDArray[np.float64]:
    """[n] Cronbach's alpha of a population without each of its templates; minus infinity where there is none."""
    attributes, templates = biases.shape
    if attributes < 2 or templates < 3:
        return np.full(templates, -np.inf)
    return np.nan_to_num(item_statistics(biases).alpha_if_removed, nan=-np.inf)
