"""What a word of one group gains on a word of the other from one attribute to another: the headline of a set of probes.

Without placebo lists it can never be told from what any two lists of words do: their slopes on a criterion are as large
where lists are fruits and tools (docs/controls.md).
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import compress
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from evenruler.instruments.probes.declare.settings import FEWEST_PLACEBOS, shared_words
from evenruler.instruments.probes.declare.source import FEWEST_KEYED
from evenruler.instruments.probes.diagnose.cubes import Cube
from evenruler.instruments.probes.diagnose.quality import COMMON_LENGTH
from evenruler.measurement.answered import unvaried
from evenruler.measurement.checks import Floats
from evenruler.measurement.facets import Estimate, Facet, Kept, Lists, crossed
from evenruler.measurement.figures import Figure, finite
from evenruler.measurement.resampling import FEWEST_UNITS
from evenruler.measurement.verdicts import Confirmatory, Fitness, PValues, confirmatory
from evenruler.tables import rounded

GAIN, SHARE_GAIN, WRITTEN_GAIN, UNANSWERED = "gain", "share_gain", "written_gain", "unanswered"
"""Of log-likelihoods, nats; the same of the shares of sentences that were chosen, of pronouns in sentences that a chat
wrote, and of replies that are none, percentage points."""

UNIT = "attributes"

CRITERION_SPAN = 80.0
"""Percentage points of the criterion that the gain is over: from an attribute at 10% to one at 90%."""

SMALLEST = {GAIN: math.log(2), SHARE_GAIN: 10.0, WRITTEN_GAIN: 10.0, UNANSWERED: 15.0}
"""Worth naming: a factor of two; a tenth of the choices; of replies that are none, as the family `saged` has it."""

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
class Scores:
    """What one model said of sentences of a set, and what makes a gain of it: a difference of groups along an axis."""

    values: Floats
    """[attributes, templates, words] log-likelihoods, nats, signed by keying; or percentage points of choices."""
    axis: Floats
    """[attributes] the criterion in percentage points, or a key of 1 or -1."""
    poles: NDArray[np.int8]
    """[words] 1 or -1; 1 for each pair of words that was chosen of, 0 for placebos."""
    lists: Sequence[str]
    """[words] the list of a group that each was drawn for: pronouns, kin, names. Or its placebo list, all as long."""
    units: Sequence[str] = ()
    """[attributes] what they are called, where two models are compared."""

    @classmethod
    def of(cls, rows: pd.DataFrame, value: str = "value") -> "Scores":
        """Of `rows` by `tables.schemas.HEADLINES`, scores in the column `value`, one at least; no units with gaps."""
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
        """How many words an answer of a placebo list compares: of choices two, which are of two lists."""
        return 1 if (self.poles == -1).any() else 2

    def weights(self, axis: Floats) -> Floats:
        """[attributes] of some attributes along this axis."""
        return between_keys(axis) if self.keyed else along_criterion(axis)

    def facets(self) -> dict[str, Facet]:
        """Attributes within keys, templates, and words within the list of a group."""
        return {
            "attributes": Facet([int(key) for key in self.axis] if self.keyed else [0] * len(self.axis)),
            "templates": Facet.of(self.values.shape[1]),
            "words": Facet([f"{pole} {name}" for pole, name in zip(self.poles, self.lists, strict=True)]),
        }

    def gain(self, attributes: Kept, templates: Kept, words: Kept) -> float:
        """The gain from some of the scores."""
        along = np.zeros(len(self.axis))
        along[attributes] = self.weights(self.axis[attributes])
        first, other = words & (self.poles == 1), words & (self.poles == -1)
        between = first / first.sum() - other / max(other.sum(), 1)
        return float(along @ (self.values @ between) @ (templates / templates.sum()))

    def gain_over(self, facets: Mapping[str, Facet]) -> Estimate:
        """The gain, over those facets that could have been others."""
        every = [np.ones(n, np.bool_) for n in self.values.shape]
        whole = dict(zip(("attributes", "templates", "words"), every, strict=True))

        def amount(*kept: Kept) -> float:
            return self.gain(**{**whole, **dict(zip(facets, kept, strict=True))})

        return crossed(amount, list(facets.values()))


def gain(own: Scores, placebos: Scores | None = None, rival: Scores | None = None, figure: str = GAIN) -> Confirmatory:
    """The gain of the first group's words on the other's, in nats, of which `exp` is a factor; or of shares, in points.

    Args:
        own: Of the set on the model.
        placebos: Of placebo nouns in the place of targets, beside some attributes of the set; None where none were
            asked. Of shares a placebo list is a pair of lists.
        rival: Of keyed attributes off the construct, where some were asked: an effect has to be surely larger.
        figure: `GAIN`, or `SHARE_GAIN` where scores are shares of choices.

    Source: docs/controls.md; the criterion as in section 4 of PMPO.
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

    Of shares, words are pairs, and `group` of nouns names the two placebo lists that they are of.
    """
    placebos, rival = (None if beside is None or beside.empty else Scores.of(beside) for beside in (nouns, rivals))
    return gain(Scores.of(real), placebos, rival, figure)


def gain_alone(figure: str, rows: pd.DataFrame, smallest: float | None = None) -> Confirmatory:
    """What rises along the axis whatever words stand for the groups, or where no word was put: it has no placebo.

    Args:
        figure: `WRITTEN_GAIN` or `UNANSWERED`.
        rows: Percentage points, by `tables.schemas.HEADLINES`; the words of a single one are taken as fixed.
        smallest: Worth naming, by default as in `SMALLEST`.
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
    """A gain that is an effect only if attributes off the construct, keyed alike, surely gain less."""
    n, facets = len(own.axis), own.facets()
    rival = replace(rival, poles=own.poles)  # its words are the same; a plan without `groups` may name them otherwise
    facets["attributes"] = Facet([*(f"own {key}" for key in own.axis), *(f"rival {key}" for key in rival.axis)])

    def beyond(attributes: Kept, templates: Kept, words: Kept) -> float:
        return own.gain(attributes[:n], templates, words) - rival.gain(attributes[n:], templates, words)

    rest = crossed(beyond, list(facets.values()))
    effect = found.effect
    assert effect is not None
    low, high = (f"{rounded(end):.2g}" for end in (rest.interval().low, rest.interval().high))
    note = f"Attributes off the construct gain {effect.value - rest.value:.2g}; beyond them it is [{low}, {high}]."
    if found.p is None:
        return replace(found, note=note)
    p = rest.p() if rest.value * effect.value > 0 else 1.0
    return replace(found, p=replace(found.p, effect=max(found.p.effect, p)), note=note)


def contrast(first: pd.DataFrame, second: pd.DataFrame, smallest: float) -> Confirmatory:
    """How much larger the gain of one model is than that of another, at equal sharpness, in nats.

    A model that is surer of everything gives every list, placebos too, a larger gain; so each model's scores are
    divided by how far attributes lie apart in sentences with placebo nouns, and multiplied by the mean of both. What
    an attribute, a template, a word or a placebo list does to both models is left out of both at once.

    `first` and `second`: of one set on two models, by `tables.schemas.HEADLINES`; what one lacks is left out.
    `smallest`: nats worth naming.

    Source: docs/controls.md.
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
        """SD over attributes of what a placebo list gives, mean over lists, of one model."""
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
    """The smallest gain that is found in 80 of 100 with `COMMON_LENGTH` templates like these, nats.

    What lists of nouns would add is left aside, since it is the same for any templates. A set with less of
    everything finds less, too: read it beside a coefficient. A single word in each group is taken as fixed.

    None for a single template, or too few attributes, as one alone with its key.
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
    """What placebo `lists` [words], all as long, give: `scores` [attributes, templates, words] by `Scores.weights`."""
    values = weights @ scores.mean(axis=1)
    members = [values[levels] for levels in Facet(list(lists)).members()]
    of_words = float(np.mean([own.var(ddof=1) for own in members]))
    return Lists([float(own.mean()) for own in members], of_words, len(members[0]), pairs)


def _too_few(own: Scores, facets: Mapping[str, Facet]) -> str | None:
    """Why there is no gain at all, in words."""
    if np.ptp(own.axis) == 0 or len(own.axis) < FEWEST_UNITS:
        return f"{len(own.axis)} attributes along its axis, of at least {FEWEST_UNITS} that differ"
    single = [name for name, facet in facets.items() if min(map(len, facet.members())) < 2]
    return f"a single level of {single[0]}, so that nobody knows how far another would lie" if single else None


def _lacking(own: Scores, placebo: Lists | None) -> str | None:
    """What keeps a gain that there is from a verdict, in words."""
    if placebo is None:
        return "no placebo"
    if (asked := len(placebo.values) * own.sides) < FEWEST_PLACEBOS:
        return f"{asked} placebo lists, of at least {FEWEST_PLACEBOS}"
    fewest = min(int((own.axis > 0).sum()), int((own.axis < 0).sum())) if own.keyed else len(own.axis)
    least = FEWEST_KEYED if own.keyed else FEWEST_ATTRIBUTES
    return f"{fewest} attributes{' of one key' if own.keyed else ''}, of at least {least}" if fewest < least else None


def fitness(cube: Cube, items: pd.DataFrame, alpha: Figure, floor: float) -> Fitness:
    """Whether a set measures on a model at all: its least alpha is `floor`; `items`: by `quality.items_of`."""
    if same := unvaried(cube.biases(), f"attributes in {len(cube.templates)} templates"):
        return Fitness(unfit=same)
    turned = items[~items["control"] & (items["high"] < 0)]["template"]
    if len(turned):
        several = "templates say" if len(turned) > 1 else "a template says"
        return Fitness(unfit=f"{several} the opposite of the others ({', '.join(turned)})")
    if shared := shared_words(cube.targets, cube.poles.tolist()):
        return Fitness(doubt=f"targets of one group share a word ({', '.join(shared)}), so they are as one")
    if alpha.low is None or alpha.high is None or alpha.low >= floor:
        return Fitness()
    said = f"alpha is between {alpha.low:.2f} and {alpha.high:.2f}"
    if alpha.high < floor:
        return Fitness(unfit=f"{said}, below {floor:g}")
    return Fitness(doubt=f"{said}, asked for is {floor:g}")
