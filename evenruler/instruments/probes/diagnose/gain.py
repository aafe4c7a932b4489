"""What a word of one group gains on a word of the other from one attribute to another: the headline of a set of probes.

Without placebo lists it can never be told from what any two lists of words do: their slopes on a criterion are as large
where lists are fruits and tools (docs/controls.md).
"""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from evenruler.instruments.probes.diagnose.cubes import Cube
from evenruler.measurement.checks import Floats
from evenruler.measurement.facets import Facet, Kept, Lists, crossed
from evenruler.measurement.judgement import Confirmatory
from evenruler.measurement.resampling import FEWEST_UNITS

GAIN = "gain"
UNIT = "nats"

CRITERION_SPAN = 80.0
"""Percentage points of the criterion that the gain is over: from an attribute at 10% to one at 90%."""

SMALLEST = math.log(2)
"""A factor of two."""

FEWEST_KEYED = 8
"""Attributes of each key."""

FEWEST_PLACEBOS = 12
"""Lists."""


def along_criterion(criterion: Floats) -> Floats:
    """[attributes] weights that make of scores their slope on a criterion (percentage points) times the span."""
    centred = criterion - criterion.mean()
    found: Floats = CRITERION_SPAN * centred / (centred @ centred)
    return found


def between_keys(keying: Floats) -> Floats:
    """[attributes] weights that make of scores the mean of attributes keyed 1 minus that of those keyed -1."""
    found: Floats = np.where(keying > 0, 1 / (keying > 0).sum(), -1 / (keying < 0).sum())
    return found


def gain(
    cube: Cube, axis: Floats, lists: Sequence[str], placebos: Floats | None, of_placebos: Sequence[str]
) -> Confirmatory:
    """The gain of the first group's words on the other's, in nats; `exp` of it is a factor.

    Args:
        cube: Of the set on the model, whose attributes have a place on the axis.
        axis: [attributes] the criterion in percentage points, or a key of 1 or -1.
        lists: [targets] the list of a group that each target was drawn for: pronouns, kin, names.
        placebos: [attributes, templates, words] scores of nouns for persons without the construct; None without any.
        of_placebos: [words] the placebo list of each.

    Source: docs/controls.md; the criterion as in section 4 of PMPO.
    """
    keyed = set(np.unique(axis)) <= {1.0, -1.0}
    weights = between_keys if keyed else along_criterion
    of_targets = [f"{pole} {name}" for pole, name in zip(cube.poles, lists, strict=True)]

    def statistic(attributes: Kept, templates: Kept, words: Kept) -> float:
        along = np.zeros(len(axis))
        along[attributes] = weights(axis[attributes])
        return float(along @ (cube.scores @ _contrast(cube.poles, words)) @ (templates / templates.sum()))

    facets = {
        "attributes": Facet([int(key) for key in axis] if keyed else [0] * len(axis)),
        "templates": Facet.of(len(cube.templates)),
        "words": Facet(of_targets),
    }
    effect = crossed(statistic, list(facets.values()))
    placebo = None if placebos is None else placebo_lists(placebos, weights(axis), of_placebos, len(set(lists)))
    return Confirmatory(
        GAIN,
        UNIT,
        effect,
        effect.p(),
        placebo,
        SMALLEST,
        {name: len(facet.lists) for name, facet in facets.items()},
        _lacking(axis, keyed, placebo),
    )


def _contrast(poles: NDArray[np.int8], kept: Kept) -> Floats:
    """[targets] weights of the mean of the first group minus that of the other, of the words that are kept."""
    first, other = kept & (poles == 1), kept & (poles == -1)
    found: Floats = first / first.sum() - other / other.sum()
    return found


def placebo_lists(scores: Floats, weights: Floats, lists: Sequence[str], pairs: int) -> Lists:
    """What each placebo list gives along the same axis.

    Args:
        scores: [attributes, templates, words].
        weights: [attributes] by `along_criterion` or `between_keys`.
        lists: [words] the list of each; as many words in each.
        pairs: Of real lists.
    """
    of_words = weights @ scores.mean(axis=1)
    members = [of_words[levels] for levels in Facet(list(lists)).members()]
    return Lists(
        [float(own.mean()) for own in members],
        float(np.mean([own.var(ddof=1) for own in members])),
        len(members[0]),
        pairs,
    )


def _lacking(axis: Floats, keyed: bool, placebo: Lists | None) -> str | None:
    if placebo is None:
        return "no placebo"
    if len(placebo.values) < FEWEST_PLACEBOS:
        return f"{len(placebo.values)} placebo lists, of at least {FEWEST_PLACEBOS}"
    fewest = min(int((axis > 0).sum()), int((axis < 0).sum())) if keyed else len(axis)
    least = FEWEST_KEYED if keyed else FEWEST_UNITS
    return f"{fewest} attributes{' of one key' if keyed else ''}, of at least {least}" if fewest < least else None
