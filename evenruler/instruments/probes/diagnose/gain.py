"""The gain, headline of a set of probes: how the score difference of two groups' words changes along the attributes.

Only placebo lists can tell it from what any two lists of words do: slopes on a criterion are as large for lists of
fruits and tools (docs/controls.md).
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import compress
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from evenruler.instruments.probes.declare.settings import COMMON_LENGTH, shared_words
from evenruler.instruments.probes.declare.source import FEWEST_KEYED
from evenruler.instruments.probes.diagnose.cubes import Cube
from evenruler.measurement.answered import unvaried
from evenruler.measurement.checks import Floats
from evenruler.measurement.facets import Estimate, Facet, Kept, Lists, crossed
from evenruler.measurement.figures import Figure, finite
from evenruler.measurement.resampling import FEWEST_UNITS
from evenruler.measurement.verdicts import FEWEST_PLACEBOS, Confirmatory, Fitness, PValues, confirmatory
from evenruler.tables import rounded

GAIN, SHARE_GAIN, WRITTEN_GAIN, UNANSWERED = "gain", "share_gain", "written_gain", "unanswered"
"""Gains of log-likelihoods, nats; and in percentage points, of shares of chosen sentences, of pronouns in sentences
that a chat model wrote, and of unanswered replies."""

UNIT = "attributes"

CRITERION_SPAN = 80.0
"""Percentage points of the criterion over which the gain is given: from an attribute at 10% to one at 90%."""

SMALLEST = {GAIN: math.log(2), SHARE_GAIN: 10.0, WRITTEN_GAIN: 10.0, UNANSWERED: 15.0}
"""Smallest gains of interest: a factor of two; a tenth of the choices; for unanswered replies, as in family `saged`."""

FEWEST_ATTRIBUTES = 10
"""Fewest attributes for a verdict where there is a criterion."""


def along_criterion(criterion: Floats) -> Floats:
    """[attributes] weights whose sum over scores is their slope on a criterion (percentage points) times the span."""
    centred = criterion - criterion.mean()
    found: Floats = CRITERION_SPAN * centred / (centred @ centred)
    return found


def between_keys(keying: Floats) -> Floats:
    """[attributes] weights whose sum over scores is the mean of those keyed 1 minus that of those keyed -1."""
    found: Floats = np.where(keying > 0, 1 / (keying > 0).sum(), -1 / (keying < 0).sum())
    return found


@dataclass(frozen=True)
class Scores:
    """Scores of one model on one set, with what a gain needs: groups of words, an axis of attributes."""

    values: Floats
    """[attributes, templates, words] log-likelihoods, nats, signed by keying; or percentage points of choices."""
    axis: Floats
    """[attributes] the criterion in percentage points, or a key of 1 or -1."""
    poles: NDArray[np.int8]
    """[words] 1 or -1 by group; 1 for pairs of words between which a chat model chose, 0 for placebos."""
    lists: Sequence[str]
    """[words] the list within the group (pronouns, kin, names), or the placebo list; all of these have one length."""
    units: Sequence[str] = ()
    """[attributes] names, needed to compare two models."""

    @classmethod
    def of(cls, rows: pd.DataFrame, value: str = "value") -> "Scores":
        """From `rows` by `tables.schemas.HEADLINES` (not empty), scores in column `value`; drops units with gaps."""
        wide = rows.pivot(index=["unit", "beside"], columns=["at", "group", "word", "pole"], values=value).dropna()
        wide = wide.sort_index().sort_index(axis=1)
        columns: Any = wide.columns
        words = columns.droplevel("at").unique()
        return cls(
            wide.to_numpy(dtype=np.float64).reshape(len(wide), -1, len(words)),
            wide.index.get_level_values("beside").to_numpy(np.float64),
            words.get_level_values("pole").to_numpy(np.int8),
            list(words.get_level_values("group")),
            list(map(str, wide.index.get_level_values("unit"))),
        )

    @property
    def keyed(self) -> bool:
        """Whether attributes have keys, and no criterion."""
        return set(np.unique(self.axis)) <= {1.0, -1.0}

    @property
    def sides(self) -> int:
        """Number of placebo lists in one score: two for choices, which compare words of two lists, else one."""
        return 1 if (self.poles == -1).any() else 2

    def weights(self, axis: Floats) -> Floats:
        """[attributes] weights by which scores of attributes at these positions give the gain."""
        return between_keys(axis) if self.keyed else along_criterion(axis)

    def facets(self) -> dict[str, Facet]:
        """Attributes within keys, templates, and words within the list of a group."""
        return {
            "attributes": Facet([int(key) for key in self.axis] if self.keyed else [0] * len(self.axis)),
            "templates": Facet.of(self.values.shape[1]),
            "words": Facet([f"{pole} {name}" for pole, name in zip(self.poles, self.lists, strict=True)]),
        }

    def gain(self, attributes: Kept, templates: Kept, words: Kept) -> float:
        """The gain from the kept attributes, templates and words (masks)."""
        along = np.zeros(len(self.axis))
        along[attributes] = self.weights(self.axis[attributes])
        first, other = words & (self.poles == 1), words & (self.poles == -1)
        between = first / first.sum() - other / max(other.sum(), 1)
        return float(along @ (self.values @ between) @ (templates / templates.sum()))

    def gain_over(self, facets: Mapping[str, Facet]) -> Estimate:
        """The gain, with its error over `facets` as random; the others are fixed."""
        every = [np.ones(n, np.bool_) for n in self.values.shape]
        whole = dict(zip(("attributes", "templates", "words"), every, strict=True))

        def amount(*kept: Kept) -> float:
            return self.gain(**{**whole, **dict(zip(facets, kept, strict=True))})

        return crossed(amount, list(facets.values()))


def gain(own: Scores, placebos: Scores | None = None, rival: Scores | None = None, figure: str = GAIN) -> Confirmatory:
    """The gain of the first group's words over the other's: nats (`exp` of it is a factor), or points of shares.

    Args:
        own: Scores of the set on the model.
        placebos: Scores with placebo nouns in place of targets, for some attributes of the set; None where none were
            asked. For shares, a placebo list is a pair of lists.
        rival: Scores of keyed attributes off the construct, if asked: an effect has to be significantly larger.
        figure: `GAIN`, or `SHARE_GAIN` where scores are shares of choices.

    Source: docs/formulas.md; the criterion as in section 4 of PMPO.
    """
    smallest, facets = SMALLEST[figure], own.facets()
    levels = {name: len(facet.lists) for name, facet in facets.items()}
    if few := _too_few(own, facets):
        return Confirmatory(figure, UNIT, levels, None, smallest, lacking=few)
    effect, placebo = own.gain_over(facets), None
    if placebos is not None:
        pairs = len(set(own.lists)) * own.sides
        placebo = placebo_lists(placebos.values, own.weights(placebos.axis), placebos.lists, pairs)
    found = confirmatory(figure, UNIT, levels, effect, effect.p(), placebo, smallest, _lacking(own, placebo))
    return found if rival is None else _beside_rival(found, own, rival)


def gain_of(
    real: pd.DataFrame, nouns: pd.DataFrame, rivals: pd.DataFrame | None = None, figure: str = GAIN
) -> Confirmatory:
    """`gain` of rows by `tables.schemas.HEADLINES`: of targets, of nouns by placebo list, of targets with rivals.

    For shares, words are pairs, and `group` of nouns names the two placebo lists that they come from.
    """
    placebos, rival = (None if beside is None or beside.empty else Scores.of(beside) for beside in (nouns, rivals))
    return gain(Scores.of(real), placebos, rival, figure)


def gain_alone(figure: str, rows: pd.DataFrame, smallest: float | None = None) -> Confirmatory:
    """A gain without placebo, since it does not depend on the words for the groups, or no word was filled in.

    Args:
        figure: `WRITTEN_GAIN` or `UNANSWERED`.
        rows: Percentage points, by `tables.schemas.HEADLINES`; a single word is taken as fixed.
        smallest: Smallest gain of interest, by default as in `SMALLEST`.
    """
    smallest, own = SMALLEST[figure] if smallest is None else smallest, Scores.of(rows)
    levels, facets = {UNIT: len(own.axis)}, own.facets()
    if len(own.lists) == 1:
        del facets["words"]
    if few := _too_few(own, facets):
        return Confirmatory(figure, UNIT, levels, None, smallest, lacking=few)
    effect = own.gain_over(facets)
    p, whole = effect.p(), effect.interval()
    p_values = PValues(effect=p, none=effect.p_within(smallest), unspecific=1.0)
    found = Confirmatory(figure, UNIT, levels, whole, smallest, p, p=p_values)
    return replace(found, specific=whole, detectable=finite(effect.detectable()))


def _beside_rival(found: Confirmatory, own: Scores, rival: Scores) -> Confirmatory:
    """The gain with a stricter test: attributes off the construct, keyed alike, have to gain significantly less."""
    n, facets = len(own.axis), own.facets()
    rival = replace(rival, poles=own.poles)  # same words; without `groups` in the plan, poles of rivals may be swapped
    facets["attributes"] = Facet([*(f"own {key}" for key in own.axis), *(f"rival {key}" for key in rival.axis)])

    def beyond(attributes: Kept, templates: Kept, words: Kept) -> float:
        return own.gain(attributes[:n], templates, words) - rival.gain(attributes[n:], templates, words)

    rest = crossed(beyond, list(facets.values()))
    effect = found.effect
    assert effect is not None
    low, high = (f"{rounded(end):.2g}" for end in (rest.interval().low, rest.interval().high))
    note = f"Rival words gain {effect.value - rest.value:.2g}; beyond them it is [{low}, {high}]."
    if found.p is None:
        return replace(found, note=note)
    p = rest.p() if rest.value * effect.value > 0 else 1.0
    return replace(found, p=replace(found.p, effect=max(found.p.effect, p)), note=note)


def contrast(first: pd.DataFrame, second: pd.DataFrame, smallest: float) -> Confirmatory:
    """How much larger the gain of one model is than that of another, at equal sharpness, in nats.

    A more confident model gives every list, placebos too, a larger gain; so each model's scores are divided by how far
    attributes lie apart in sentences with placebo nouns, and multiplied by the mean of both. The jackknife leaves an
    attribute, template, word or placebo list out of both models at once, since its effect on them is shared.

    `first` and `second`: rows of one set on two models, by `tables.schemas.HEADLINES`; what one lacks is left out.
    `smallest`: smallest difference of interest, nats.

    Source: docs/formulas.md.
    """
    key = ["unit", "at", "word", "group", "pole", "beside"]
    both = first.merge(second, on=key, suffixes=("_first", "_second"), validate="one_to_one")
    real, nouns = both[both["pole"] != 0], both[both["pole"] == 0]
    figure = str(first["figure"].iloc[0]) if len(first) else GAIN
    if figure in (WRITTEN_GAIN, UNANSWERED) and len(real):
        return gain_alone(figure, real.assign(value=real["value_first"] - real["value_second"]), smallest)
    if real.empty or nouns.empty:
        lacking = "no sentence that both were asked" if real.empty else "no placebo"
        return Confirmatory(figure, UNIT, {UNIT: 0}, None, smallest, lacking=lacking)
    if figure == SHARE_GAIN:  # shares of two models are on one scale
        real, nouns = (own.assign(value=own["value_first"] - own["value_second"]) for own in (real, nouns))
        return replace(gain_of(real, nouns, figure=SHARE_GAIN), smallest=smallest)
    models = [(Scores.of(real, side), Scores.of(nouns, side)) for side in ("value_first", "value_second")]
    (one, asked), (_, placebos) = models
    members = Facet(asked.lists).members()
    facets = {**one.facets(), "placebo lists": Facet.of(len(members))}
    levels = {name: len(facet.lists) for name, facet in facets.items()}
    if few := _too_few(one, facets):
        return Confirmatory(GAIN, UNIT, levels, None, smallest, lacking=few)
    with_nouns = np.isin(one.units, asked.units)

    def sharpness(scores: Floats, attributes: Kept, templates: Kept, kept: Kept) -> float:
        """SD over attributes of the mean score of a placebo list, averaged over lists, for one model."""
        means = scores[attributes[with_nouns]][:, templates].mean(axis=1)
        by_list = [means[:, of].mean(axis=1) for of in compress(members, kept)]
        return float(np.column_stack(by_list).std(axis=0, ddof=1).mean())

    every = [np.ones(n, dtype=np.bool_) for n in (*one.values.shape[:2], len(members))]
    sharp = [sharpness(beside.values, *every) for _, beside in models]

    def difference(attributes: Kept, templates: Kept, words: Kept, kept: Kept) -> float:
        """Gain of the first model minus that of the second, at the mean of their sharpness."""
        a, b = (
            own.gain(attributes, templates, words) / sharpness(beside.values, attributes, templates, kept)
            for own, beside in models
        )
        return sum(sharp) / 2 * (a - b)

    effect = crossed(difference, list(facets.values()))
    apart = sum(sharp) / 2 * (asked.values / sharp[0] - placebos.values / sharp[1])
    placebo = placebo_lists(apart, one.weights(one.axis[with_nouns]), asked.lists, len(set(one.lists)))
    return confirmatory(GAIN, UNIT, levels, effect, effect.p(), placebo, smallest, _lacking(one, placebo))


DETECTABLE = f"detectable_at_{COMMON_LENGTH}"


def detectable_at_common_length(own: Scores) -> float | None:
    """Minimum detectable gain (power .8) with `COMMON_LENGTH` templates like these, nats.

    Variance between placebo lists is ignored, since it is the same for any templates. Sets whose scores all vary little
    have small values too, so read it with a reliability coefficient. A single word per group is taken as fixed.

    None for a single template, or for too few attributes, such as one alone with its key.
    """
    facets, length = own.facets(), own.values.shape[1]
    random = [name for name, facet in facets.items() if min(map(len, facet.members())) > 1]
    if length < 2 or "attributes" not in random or _too_few(own, {}):
        return None
    every, others = (
        own.gain_over({name: facets[name] for name in random if name != fixed}) for fixed in ("", "templates")
    )
    of_one = max(0.0, every.variance - others.variance) * length
    return finite(replace(every, variance=others.variance + of_one / COMMON_LENGTH).detectable())


def placebo_lists(scores: Floats, weights: Floats, lists: Sequence[str], pairs: int) -> Lists:
    """Gains of placebo `lists` [words], all of one length, from `scores` [attributes, templates, words]."""
    values = weights @ scores.mean(axis=1)
    members = [values[levels] for levels in Facet(list(lists)).members()]
    of_words = float(np.mean([own.var(ddof=1) for own in members]))
    return Lists([float(own.mean()) for own in members], of_words, len(members[0]), pairs)


def _too_few(own: Scores, facets: Mapping[str, Facet]) -> str | None:
    """Why no gain can be computed, in words, or None."""
    if np.ptp(own.axis) == 0 or len(own.axis) < FEWEST_UNITS:
        return f"{len(own.axis)} attributes along its axis (at least {FEWEST_UNITS} needed) that differ"
    single = [name for name, facet in facets.items() if min(map(len, facet.members())) < 2]
    return f"a single level of {single[0]}, so its variation is unknown" if single else None


def _lacking(own: Scores, placebo: Lists | None) -> str | None:
    """Why a gain that was computed gets no verdict, in words, or None."""
    if placebo is None:
        return "no placebo"
    if (asked := len(placebo.values) * own.sides) < FEWEST_PLACEBOS:
        return f"{asked} placebo lists (at least {FEWEST_PLACEBOS} needed)"
    fewest = min(int((own.axis > 0).sum()), int((own.axis < 0).sum())) if own.keyed else len(own.axis)
    least = FEWEST_KEYED if own.keyed else FEWEST_ATTRIBUTES
    what = "attributes of one key" if own.keyed else "attributes"
    return f"{fewest} {what} (at least {least} needed)" if fewest < least else None


def fitness(cube: Cube, items: pd.DataFrame, alpha: Figure, floor: float) -> Fitness:
    """Whether a set measures on a model at all: alpha has to reach `floor`; `items`: by `quality.items_of`."""
    if same := unvaried(cube.biases(), f"attributes in {len(cube.templates)} templates"):
        return Fitness(unfit=same)
    turned = items[~items["control"] & (items["high"] < 0)]["template"]
    if len(turned):
        several = "templates say" if len(turned) > 1 else "a template says"
        return Fitness(unfit=f"{several} the opposite of the others ({', '.join(turned)})")
    if shared := shared_words(cube.targets, cube.poles.tolist()):
        return Fitness(doubt=f"targets of one group share a word ({', '.join(shared)}), so they are not independent")
    if alpha.low is None or alpha.high is None or alpha.low >= floor:
        return Fitness()
    said = f"alpha is between {alpha.low:.2f} and {alpha.high:.2f}"
    if alpha.high < floor:
        return Fitness(unfit=f"{said}, below {floor:g}")
    return Fitness(doubt=f"{said}, required is {floor:g}")
