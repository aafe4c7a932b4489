"""What a word of one group gains on a word of the other from one attribute to another: the headline of a set of probes.

Without placebo lists it can never be told from what any two lists of words do: their slopes on a criterion are as large
where lists are fruits and tools (docs/controls.md).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evenruler.instruments.probes.diagnose.cubes import Cube
from evenruler.measurement.checks import Floats
from evenruler.measurement.facets import Estimate, Facet, Kept, Lists, crossed
from evenruler.measurement.resampling import FEWEST_UNITS
from evenruler.measurement.verdicts import Confirmatory, confirmatory

GAIN = "gain"
UNIT = "attributes"

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
    cube: Cube, axis: Floats, lists: Sequence[str], placebos: Floats | None = None, of_placebos: Sequence[str] = ()
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
    contrast = _Contrast(axis, cube.poles, lists)
    facets = contrast.facets(len(cube.templates))
    effect = crossed(lambda *kept: contrast.of(cube.scores, *kept), list(facets.values()))
    placebo = (
        None if placebos is None else placebo_lists(placebos, contrast.weights(axis), of_placebos, len(set(lists)))
    )
    levels = {name: len(facet.lists) for name, facet in facets.items()}
    lacking = _lacking(axis, contrast.keyed, placebo)
    return confirmatory(GAIN, UNIT, levels, effect, effect.p(), placebo, SMALLEST, lacking)


@dataclass(frozen=True)
class _Contrast:
    """What makes the gain of scores: a difference of groups along an axis."""

    axis: Floats
    poles: NDArray[np.int8]
    lists: Sequence[str]

    @property
    def keyed(self) -> bool:
        return set(np.unique(self.axis)) <= {1.0, -1.0}

    def weights(self, axis: Floats) -> Floats:
        return between_keys(axis) if self.keyed else along_criterion(axis)

    def facets(self, templates: int) -> dict[str, Facet]:
        """Attributes within keys, templates, and words within the list of a group."""
        return {
            "attributes": Facet([int(key) for key in self.axis] if self.keyed else [0] * len(self.axis)),
            "templates": Facet.of(templates),
            "words": Facet([f"{pole} {name}" for pole, name in zip(self.poles, self.lists, strict=True)]),
        }

    def of(self, scores: Floats, attributes: Kept, templates: Kept, words: Kept) -> float:
        """The gain from some of the scores, [attributes, templates, words]."""
        along = np.zeros(len(self.axis))
        along[attributes] = self.weights(self.axis[attributes])
        first, other = words & (self.poles == 1), words & (self.poles == -1)
        between = first / first.sum() - other / other.sum()
        return float(along @ (scores @ between) @ (templates / templates.sum()))


@dataclass(frozen=True)
class Asked:
    """What one model said of a set and of the same sentences with placebo nouns."""

    scores: Floats
    """[attributes, templates, targets] log-likelihoods, nats."""
    placebos: Floats
    """[attributes, templates, placebo words]."""


def more_of(
    one: Asked, other: Asked, axis: Floats, poles: NDArray[np.int8], lists: Sequence[str], of_placebos: Sequence[str]
) -> Estimate:
    """How much more one model's words gain than another's, in sharpnesses of each.

    A model that is surer of everything gives every list, placebos too, a larger gain; so the gain is divided by how far
    attributes lie apart in sentences with placebo nouns. Facets are shared: what an attribute, template or word does to
    both is left out of both at once.

    Args:
        one: The first model.
        other: The other, asked of the same attributes, templates and words.
        axis: [attributes] as of `gain`.
        poles: [targets] the group of each.
        lists: [targets] the list of each.
        of_placebos: [words] the placebo list of each, a facet too.

    Source: docs/controls.md (part A, two models).
    """
    contrast = _Contrast(axis, poles, lists)
    names = list(dict.fromkeys(of_placebos))
    members = Facet(list(of_placebos)).members()
    by_list = [
        np.stack([asked.placebos[:, :, levels].mean(axis=2) for levels in members], axis=2) for asked in (one, other)
    ]

    def sharpness(nouns: Floats, attributes: Kept, templates: Kept, kept: Kept) -> float:
        of_lists = nouns[attributes][:, templates].mean(axis=1)[:, kept]
        return float(of_lists.std(axis=0, ddof=1).mean())

    def difference(attributes: Kept, templates: Kept, words: Kept, kept: Kept) -> float:
        first, second = (
            contrast.of(asked.scores, attributes, templates, words) / sharpness(nouns, attributes, templates, kept)
            for asked, nouns in zip((one, other), by_list, strict=True)
        )
        return first - second

    return crossed(difference, [*contrast.facets(one.scores.shape[1]).values(), Facet.of(len(names))])


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
