"""What a word of one group gains on a word of the other from one attribute to another: the headline of a set of probes.

Without placebo lists it can never be told from what any two lists of words do: their slopes on a criterion are as large
where lists are fruits and tools (docs/controls.md).
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import compress

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


def cells(
    cube: Cube, axis: Floats, nouns: Sequence[str], placebos: Placebos | None, asked: Sequence[str]
) -> pd.DataFrame:
    """What a gain is made of, as `contrast` takes it: by `tables.schemas.HEADLINES`, less what it is of.

    Args:
        cube: As of `gain`.
        axis: As of `gain`.
        nouns: [words] of the placebos.
        placebos: As of `gain`.
        asked: Their attributes.
    """
    found = [_long(cube.scores, (cube.attributes, cube.templates, cube.targets), axis, cube.poles, ["words"])]
    if placebos is not None:
        names = (asked, cube.templates, nouns)
        found.append(_long(placebos.scores, names, placebos.axis, np.zeros(len(nouns), dtype=np.int8), placebos.lists))
    return pd.concat(found, ignore_index=True)


def _long(
    scores: Floats, names: tuple[Sequence[str], ...], axis: Floats, poles: NDArray[np.int8], groups: Sequence[str]
) -> pd.DataFrame:
    index = pd.MultiIndex.from_product(names, names=["unit", "at", "word"])
    found, blocks = index.to_frame(index=False), len(index) // len(names[2])
    of_words = np.resize(np.asarray(groups, dtype=object), len(names[2]))
    found["group"], found["pole"] = np.tile(of_words, blocks), np.tile(poles, blocks)
    return found.assign(beside=np.repeat(axis, len(index) // len(axis)), value=scores.ravel())


def contrast(first: pd.DataFrame, second: pd.DataFrame, smallest: float) -> Confirmatory:
    """How much larger the gain of one model is than that of another, at equal sharpness, in nats.

    A model that is surer of everything gives every list, placebos too, a larger gain; so each model's scores are
    divided by how far attributes lie apart in sentences with placebo nouns, and multiplied by the mean of both. What
    an attribute, a template, a word or a placebo list does to both models is left out of both at once.

    Args:
        first: Of one set on one model, by `tables.schemas.HEADLINES`.
        second: The same on another; what it lacks is left out.
        smallest: Nats worth naming.

    Source: docs/controls.md.
    """
    key = ["unit", "at", "word", "group", "pole", "beside"]
    both = first.merge(second, on=key, suffixes=("_first", "_second"), validate="one_to_one")
    real, nouns = both[both["pole"] != 0], both[both["pole"] == 0]
    if real.empty or nouns.empty:
        lacking = "no sentence that both were asked" if real.empty else "no placebo"
        return Confirmatory(GAIN, UNIT, {UNIT: 0}, None, smallest, lacking=lacking)
    wide, beside = (
        rows.pivot(index=["unit", "beside"], columns=["at", "group", "word", "pole"]).dropna() for rows in (real, nouns)
    )
    scores, placebos = ([_cube(own, side) for side in ("first", "second")] for own in (wide, beside))
    axis = wide.index.get_level_values("beside").to_numpy(dtype=np.float64)
    words = wide["value_first"].columns.droplevel("at").unique()
    lists = beside["value_first"].columns.droplevel("at").unique().get_level_values("group").tolist()
    asked = wide.index.isin(beside.index)
    members = Facet(lists).members()
    one = _Contrast(
        axis, words.get_level_values("pole").to_numpy(dtype=np.int8), words.get_level_values("group").tolist()
    )

    def sharpness(of: Floats, attributes: Kept, templates: Kept, kept: Kept) -> float:
        means = of[attributes[asked]][:, templates].mean(axis=1)
        spread = np.column_stack([means[:, levels].mean(axis=1) for levels in compress(members, kept)])
        return float(spread.std(axis=0, ddof=1).mean())

    whole = [np.ones(n, dtype=np.bool_) for n in (*scores[0].shape[:2], len(members))]
    sharp = [sharpness(of, *whole) for of in placebos]
    mean = sum(sharp) / 2

    def difference(attributes: Kept, templates: Kept, words: Kept, kept: Kept) -> float:
        a, b = (
            one.of(own, attributes, templates, words) / sharpness(of, attributes, templates, kept)
            for own, of in zip(scores, placebos, strict=True)
        )
        return mean * (a - b)

    facets = {**one.facets(scores[0].shape[1]), "placebo lists": Facet.of(len(members))}
    levels = {name: len(facet.lists) for name, facet in facets.items()}
    if few := _too_few(one, facets):
        return Confirmatory(GAIN, UNIT, levels, None, smallest, lacking=few)
    effect = crossed(difference, list(facets.values()))
    apart = mean * (placebos[0] / sharp[0] - placebos[1] / sharp[1])
    placebo = placebo_lists(apart, one.weights(axis[asked]), lists, len(set(one.lists)))
    return confirmatory(GAIN, UNIT, levels, effect, effect.p(), placebo, smallest, _lacking(one, placebo))


def _cube(wide: pd.DataFrame, side: str) -> Floats:
    """[attributes, templates, words] of one model, of columns that are templates and words, templates first."""
    templates = wide.columns.get_level_values("at").nunique()
    return wide[f"value_{side}"].to_numpy(dtype=np.float64).reshape(len(wide), templates, -1)


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
