"""What a word of one group gains on a word of the other from one attribute to another: the headline of a set of probes.

Without placebo lists it can never be told from what any two lists of words do: their slopes on a criterion are as large
where lists are fruits and tools (docs/controls.md).
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from evenruler.instruments.probes.declare import FEWEST_KEYED, FEWEST_PLACEBOS, shared_words
from evenruler.instruments.probes.diagnose.cubes import Cube
from evenruler.measurement.answered import unvaried
from evenruler.measurement.checks import Floats
from evenruler.measurement.facets import Facet, Kept, Lists, crossed
from evenruler.measurement.figures import Figure
from evenruler.measurement.resampling import FEWEST_UNITS
from evenruler.measurement.verdicts import Confirmatory, Fitness, confirmatory

GAIN = "gain"
UNIT = "attributes"

CRITERION_SPAN = 80.0
"""Percentage points of the criterion that the gain is over: from an attribute at 10% to one at 90%."""

SMALLEST = math.log(2)
"""A factor of two."""

FEWEST_ATTRIBUTES = 10
"""With a criterion, below which nothing is said."""


def along_criterion(criterion: Floats) -> Floats:
    """[attributes] weights that make of scores their slope on a criterion (percentage points) times the span."""
    centred = criterion - criterion.mean()
    found: Floats = CRITERION_SPAN * centred / (centred @ centred)
    return found


def between_keys(keying: Floats) -> Floats:
    """[attributes] weights that make of scores the mean of attributes keyed 1 minus that of those keyed -1."""
    found: Floats = np.where(keying > 0, 1 / (keying > 0).sum(), -1 / (keying < 0).sum())
    return found


@dataclass(frozen=True)
class Placebos:
    """What a model said of the sentences of a set with nouns for persons without the construct."""

    scores: Floats
    """[attributes, templates, words] log-likelihoods, nats, signed by keying."""
    axis: Floats
    """[attributes] as of `gain`; they may be some of the set's."""
    lists: Sequence[str]
    """[words] the placebo list of each; as many words in each list."""


def gain(cube: Cube, axis: Floats, lists: Sequence[str], placebos: Placebos | None = None) -> Confirmatory:
    """The gain of the first group's words on the other's, in nats; `exp` of it is a factor.

    Args:
        cube: Of the set on the model, whose attributes have a place on the axis.
        axis: [attributes] the criterion in percentage points, or a key of 1 or -1.
        lists: [targets] the list of a group that each target was drawn for: pronouns, kin, names.
        placebos: None where none were asked.

    Source: docs/controls.md; the criterion as in section 4 of PMPO.
    """
    contrast = _Contrast(axis, cube.poles, lists)
    facets = contrast.facets(len(cube.templates))
    levels = {name: len(facet.lists) for name, facet in facets.items()}
    if lacking := _too_few(contrast, facets):
        return Confirmatory(GAIN, UNIT, levels, None, SMALLEST, lacking=lacking)
    effect = crossed(lambda *kept: contrast.of(cube.scores, *kept), list(facets.values()))
    placebo = None
    if placebos is not None:
        weights = contrast.weights(placebos.axis)
        placebo = placebo_lists(placebos.scores, weights, placebos.lists, len(set(lists)))
    lacking = _lacking(contrast, placebo)
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


def _too_few(contrast: "_Contrast", facets: Mapping[str, Facet]) -> str | None:
    """Why there is no gain at all, in words."""
    if np.ptp(contrast.axis) == 0 or len(contrast.axis) < FEWEST_UNITS:
        return f"{len(contrast.axis)} attributes along its axis, of at least {FEWEST_UNITS} that differ"
    single = [name for name, facet in facets.items() if min(map(len, facet.members())) < 2]
    return f"a single level of {single[0]}, so that nobody knows how far another would lie" if single else None


def _lacking(contrast: "_Contrast", placebo: Lists | None) -> str | None:
    """What keeps a gain that there is from a verdict, in words."""
    if placebo is None:
        return "no placebo"
    if len(placebo.values) < FEWEST_PLACEBOS:
        return f"{len(placebo.values)} placebo lists, of at least {FEWEST_PLACEBOS}"
    axis, keyed = contrast.axis, contrast.keyed
    fewest = min(int((axis > 0).sum()), int((axis < 0).sum())) if keyed else len(axis)
    least = FEWEST_KEYED if keyed else FEWEST_ATTRIBUTES
    return f"{fewest} attributes{' of one key' if keyed else ''}, of at least {least}" if fewest < least else None


def axis_of(attributes: pd.DataFrame) -> "pd.Series[float]":
    """Where attributes lie on the axis that a gain is along: their criterion, else their key; NaN for others.

    Args:
        attributes: By attribute, with `criterion` and `key`.
    """
    column = "criterion" if attributes["criterion"].notna().any() else "key"
    return attributes[column].astype(float)


def fitness(cube: Cube, items: pd.DataFrame, alpha: Figure, floor: float) -> Fitness:
    """Whether a set measures on a model at all.

    Args:
        cube: Of the set on the model.
        items: Of the set on the model, with `template`, `control` and `high`, the upper end of the interval of the
            correlation with the rest.
        alpha: Of the set on the model.
        floor: The least alpha.
    """
    if same := unvaried(cube.biases(), f"attributes in {len(cube.templates)} templates"):
        return Fitness(unfit=same)
    turned = items[~items["control"] & (items["high"] < 0)]["template"]
    if len(turned):
        several = "templates say" if len(turned) > 1 else "a template says"
        return Fitness(unfit=f"{several} the opposite of the others ({', '.join(turned)})")
    shared = shared_words(cube.targets, cube.poles.tolist())
    if shared:
        return Fitness(doubt=f"targets of one group share a word ({', '.join(shared)}), so they are as one")
    if alpha.low is None or alpha.high is None or alpha.low >= floor:
        return Fitness()
    said = f"alpha is between {alpha.low:.2f} and {alpha.high:.2f}"
    if alpha.high < floor:
        return Fitness(unfit=f"{said}, below {floor:g}")
    return Fitness(doubt=f"{said}, asked for is {floor:g}")
