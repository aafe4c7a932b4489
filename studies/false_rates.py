"""How often randomisation tests and intervals say that something is there, where nothing is, and
how often where something is.

Prints one Markdown table. Populations are those of section 6 of spec/controls.md, and some that a
hostile reviewer would choose; their reasons stand beside them.

**Probes.** 43 occupations, 16 sentences, 16 pairs of words; standard deviations of the stored
answers of SmolLM2 (S) and Gemma (G), in nats. Where occupations are alike, 318 reference nouns and
the pairs' scores load on the same components of likeness, with loadings at random. The components
are a random rotation. Their variances fall as those of SmolLM2's scores of 43 occupations with 318
nouns do (`SPECTRUM`); the randomisation sees the nouns alone. A smooth criterion lies by two thirds
of its variance in the first eight components.
**Next-word.** The same where occupations are alike, with slopes of next-word sentences.
**Questionnaires.** 7 items, 3 answers about I and 6 about others, SD .68 points within items.
**Framing.** 12 stimuli; sentences that move answers by an SD of 9 points.
**SAGED.** 20 root items, a declared name among 39; names vary by .3 SD of a cell.
"""

import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import typer
from numpy.typing import NDArray

from evenruler.measurement.facets import Estimate, sum_estimates
from evenruler.measurement.randomisation import (
    invert_spectral_randomisation,
    likeness_basis,
    randomise_criterion,
    randomise_within_items,
    rank_test,
)
from evenruler.measurement.slopes import (
    add_half_width,
    half_over_facets,
    slope_weights,
    widen_to,
)
from studies.tables import print_head, print_row

Floats = NDArray[np.float64]

Random = np.random.Generator

Numbers = Callable[..., Floats]
"""Draws of mean 0 and variance 1: from a generator and a shape."""

Detections = Mapping[str, bool]
"""What each statistic says of a study."""

RANDOMISATIONS = 999

ALPHA = 0.05

_LARGE = [2053, 1738, 1057, 875, 721, 630, 435, 361, 305, 232, 181, 173, 147, 125, 113, 100, 92]
_SMALL = [
    84,
    73,
    70,
    54,
    50,
    43,
    37,
    31,
    28,
    27,
    23,
    18,
    16,
    15,
    14,
    12,
    11,
    9,
    9,
    9,
    7,
    7,
    6,
    5,
    4,
]
SPECTRUM = np.array([*_LARGE, *_SMALL], dtype=np.float64)
"""Variances of 42 components of likeness, as shares of 10,000."""

UNITS, NOUNS, SMOOTH = len(SPECTRUM) + 1, 318, 8

SECTORS = np.repeat(np.arange(6), [15, 10, 7, 5, 4, 2])
"""The sector of each occupation."""

CRITERION_SD = 0.29
"""Of the logit of the share of men, in units of the distance from 10% to 90%."""


def normal(random: Random, *shape: int) -> Floats:
    return random.normal(size=shape)


def heavy(random: Random, *shape: int) -> Floats:
    """Student's t with 3 degrees of freedom."""
    return random.standard_t(3, size=shape) / 3**0.5


def skewed(random: Random, *shape: int) -> Floats:
    """Exponential."""
    return random.exponential(size=shape) - 1


def standardised(x: Floats) -> Floats:
    z: Floats = (x - x.mean()) / x.std()
    return z


@dataclass(frozen=True)
class Spread:
    """Standard deviations of a model's differences between words of a pair, in nats."""

    occupations: float
    of_alike: float
    """Of occupations in next-word sentences, whose likeness is known."""
    by_sentence: float
    by_pair: float
    rest: float
    sentence_slopes: float
    pair_slopes: float


MODELS = {
    "S": Spread(0.26, 0.42, 0.30, 0.18, 0.58, 0.53, 0.27),
    "G": Spread(0.35, 0.47, 0.36, 0.23, 0.55, 0.87, 0.40),
}


NEXT_WORD = {
    "S": replace(MODELS["S"], sentence_slopes=0.25, pair_slopes=0.34),
    "G": replace(MODELS["G"], sentence_slopes=0.30, pair_slopes=0.34),
}
"""The same with slopes that scatter as those of smooth criteria do in next-word sentences."""


@dataclass(frozen=True)
class Occupations:
    """Occupations of one study, all of mean 0 and SD 1 over occupations."""

    effects: Floats
    """What moves a pair's words, without the criterion."""
    criterion: Floats
    nouns: Floats
    """[occupations, nouns], from which likeness is known."""
    frequency: Floats


def independent(random: Random, numbers: Numbers) -> Occupations:
    """Nothing is alike; likeness is that of nouns, which have nothing to do with the pairs."""
    alike = smooth(random, normal)
    effects, criterion = numbers(random, UNITS), normal(random, UNITS)
    frequency = 0.4 * criterion + 0.917 * normal(random, UNITS)
    return Occupations(standardised(effects), standardised(criterion), alike.nouns, frequency)


def smooth(random: Random, numbers: Numbers, rough_frequency: bool = True) -> Occupations:
    """Occupations are alike, in the pairs' words as in nouns, and the criterion is smooth."""
    axes = random_axes(random)
    sizes = np.sqrt(SPECTRUM)
    loadings = numbers(random, len(sizes), NOUNS)
    nouns = axes @ (sizes[:, None] * loadings)
    effects = axes @ (sizes * numbers(random, len(sizes)))
    in_first = standardised(axes[:, :SMOOTH] @ normal(random, SMOOTH))
    criterion = standardised(0.82 * in_first + 0.57 * normal(random, UNITS))
    unrelated = normal(random, UNITS)
    if not rough_frequency:
        unrelated = standardised(axes @ (sizes * normal(random, len(sizes))))
    frequency = 0.4 * criterion + 0.917 * unrelated
    return Occupations(standardised(effects), criterion, nouns, frequency)


def half_hidden(random: Random, numbers: Numbers) -> Occupations:
    """As `smooth`, but half of what makes occupations alike is unknown to the nouns.

    A reviewer's choice: pairs may share with the criterion what no reference noun has.
    """
    visible, hidden = smooth(random, numbers), smooth(random, numbers)
    effects = standardised(visible.effects + hidden.effects)
    criterion = standardised(visible.criterion + hidden.criterion)
    return replace(visible, effects=effects, criterion=criterion)


def sectors(random: Random, numbers: Numbers) -> Occupations:
    """Six sectors of unequal size, whose effects are skewed, on nouns, pairs and criterion alike.

    A reviewer's choice: components are equal in size, so that their directions are the nouns'
    accident, and few occupations (two in the smallest sector) carry a criterion.
    """

    def by_sector(columns: int) -> Floats:
        in_sectors = skewed(random, 6, columns)[SECTORS]
        return 0.82 * in_sectors + 0.57 * numbers(random, UNITS, columns)

    effects, criterion, frequency = by_sector(3).T
    return Occupations(
        standardised(effects), standardised(criterion), by_sector(NOUNS), standardised(frequency)
    )


def one_component(random: Random, numbers: Numbers) -> Occupations:
    """As `smooth`, but the criterion is the largest component by nine tenths, as keyed sets are.

    A reviewer's choice: few signs are left to randomise.
    """
    alike = smooth(random, numbers)
    first = likeness_basis(alike.nouns)[:, 0]
    criterion = standardised(3 * standardised(first) + normal(random, UNITS))
    return replace(alike, criterion=criterion)


def random_axes(random: Random) -> Floats:
    """A random orthonormal basis of what is orthogonal to the constant."""
    return likeness_basis(random.normal(size=(UNITS, UNITS)))


@dataclass(frozen=True)
class ProbeStudy:
    """A study of pairs of words, in which nothing follows the criterion but by `gain`."""

    occupations: Callable[[Random, Numbers], Occupations] = independent
    numbers: Numbers = normal
    sentences: int = 16
    pairs: int = 16
    gain: float = 0.0
    follows_frequency: bool = False
    covariate: bool = False
    outlier: str = ""
    scale: float = 1.0
    only_words: bool = False

    def draw(self, random: Random, spread: Spread) -> Detections:
        drawn = self.occupations(random, self.numbers)
        criterion = CRITERION_SD * drawn.criterion
        scores = self.scale * self._scores(random, spread, drawn)
        covariates = np.empty((UNITS, 0))
        if self.covariate:
            covariates = drawn.frequency[:, None]
        basis = likeness_basis(drawn.nouns)
        means = scores.mean(axis=(1, 2))
        seed = int(random.integers(2**31))
        p = {
            manner: randomise_criterion(means, criterion, axes, covariates, RANDOMISATIONS, seed).p
            for manner, axes in (("spectral", basis), ("free", None))
        }
        estimate = crossed_slope(scores, criterion, covariates)
        detections = with_interval(p, estimate, self.scale * self.gain)
        inverted = invert_spectral_randomisation(
            means, criterion, basis, covariates, RANDOMISATIONS, seed
        )
        slopes = np.tensordot(slope_weights(criterion, covariates), scores, axes=1)
        of_randomisation = add_half_width(inverted, half_over_facets(slopes))
        interval = widen_to(of_randomisation, estimate.interval())
        holds_zero = interval.low <= 0 <= interval.high
        detections["headline: detected"] = p["spectral"] <= ALPHA and not holds_zero
        holds_truth = interval.low <= self.scale * self.gain <= interval.high
        return detections | {"headline: interval holds the truth": holds_truth}

    def _scores(self, random: Random, spread: Spread, drawn: Occupations) -> Floats:
        """[occupations, sentences, pairs] how much likelier the first word of a pair is."""
        numbers = partial(self.numbers, random)
        shape = (UNITS, self.sentences, self.pairs)
        preferences = 2 * random.normal(size=(1, self.sentences, 1))
        preferences = preferences + 2 * random.normal(size=(1, 1, self.pairs))
        if self.only_words:
            return np.broadcast_to(preferences, shape).copy()
        alike = self.occupations is not independent
        effects = drawn.effects.copy()
        if self.follows_frequency:
            effects = 0.6 * drawn.frequency + 0.8 * effects
        if self.outlier == "occupation":
            sign = random.choice([-1, 1])
            effects[np.argmax(drawn.criterion)] += 6 * sign
        effects = effects * (spread.of_alike if alike else spread.occupations)
        pair_slopes = spread.pair_slopes * numbers(self.pairs)
        if self.outlier == "pair":
            pair_slopes -= 6 * spread.pair_slopes / self.pairs
            pair_slopes[0] += 6 * spread.pair_slopes
        sentence_slopes = spread.sentence_slopes * numbers(self.sentences)
        slopes = self.gain + sentence_slopes[:, None] + pair_slopes
        by_sentence = spread.by_sentence * numbers(UNITS, self.sentences, 1)
        by_pair = spread.by_pair * numbers(UNITS, 1, self.pairs)
        rest = spread.rest * numbers(*shape)
        followed = CRITERION_SD * drawn.criterion[:, None, None] * slopes
        by_unit = effects[:, None, None]
        scores: Floats = followed + by_unit + by_sentence + by_pair + rest
        return scores + preferences


def with_interval(p: Mapping[str, float], estimate: Estimate, truth: float) -> Detections:
    """What randomisations say, the interval, and both."""
    interval = estimate.interval()
    excludes = interval.low > 0 or interval.high < 0
    detections = {"interval": excludes, "interval holds the truth": interval.low <= truth}
    detections["interval holds the truth"] &= truth <= interval.high
    for manner, value in p.items():
        detections[manner] = value < ALPHA
        detections[f"{manner} and interval"] = value < ALPHA and excludes
    return detections


def crossed_slope(scores: Floats, criterion: Floats, covariates: Floats) -> Estimate:
    """`facets.jackknife_crossed` of the slope of scores [occupations, sentences, pairs] on the
    criterion beside covariates, in closed form: without an occupation i, the slope is less by
    w_i e_i / (1 - h_i).
    """
    n, n_sentences, n_pairs = scores.shape
    columns = scores.reshape(n, -1)
    design = np.column_stack([np.ones(n), covariates, criterion])
    orthonormal, triangle = np.linalg.qr(design)
    weights = orthonormal[:, -1] / triangle[-1, -1]
    leverages = (orthonormal**2).sum(axis=1)
    residuals = columns - orthonormal @ (orthonormal.T @ columns)
    slopes = (weights @ columns).reshape(n_sentences, n_pairs)
    drops = (weights / (1 - leverages))[:, None] * residuals
    without = slopes - drops.reshape(scores.shape)
    by_sentence, by_pair = without.mean(axis=2), without.mean(axis=1)
    factor = (n - 1) / n
    of_occupations = factor * sum_squares(without.mean(axis=(1, 2)), 0)
    sentence_df, pair_df = n_sentences - 1, n_pairs - 1
    per_sentence, per_pair = n_sentences * sentence_df, n_pairs * pair_df
    of_sentences = sum_squares(slopes.mean(axis=1), 0) / per_sentence
    of_pairs = sum_squares(slopes.mean(axis=0), 0) / per_pair
    shared = factor * sum_squares(by_sentence, 0, 1) / per_sentence
    shared += factor * sum_squares(by_pair, 0, 1) / per_pair
    shared += sum_squares(slopes, 0, 1) / (per_sentence * per_pair)
    parts = [(of_occupations, n - 1.0), (of_sentences, sentence_df), (of_pairs, pair_df)]
    return sum_estimates(float(slopes.mean()), parts, shared)


def sum_squares(x: Floats, *axes: int) -> float:
    """Sum of squares of what is left without the means along all axes."""
    for axis in axes:
        x = x - x.mean(axis=axis, keepdims=True)
    return float((x**2).sum())


def equal(random: Random, items: int) -> Floats:
    """Items vary alike."""
    return np.ones((items, 1))


def unequal(random: Random, items: int) -> Floats:
    """Log-normal sizes of items."""
    return np.exp(0.5 * random.normal(size=(items, 1)))


def one_to_five(random: Random, items: int) -> Floats:
    """Variances from 1 to 25."""
    return np.linspace(1, 5, items)[:, None]


def one_dominates(random: Random, items: int) -> Floats:
    """An item varies five times as much."""
    sizes = np.ones((items, 1))
    sizes[0] = 5
    return sizes


@dataclass(frozen=True)
class ItemStudy:
    """A study of answers about I and about others to the same items, which differ by `change`."""

    numbers: Numbers = normal
    own_answers: int = 3
    other_answers: int = 6
    items: int = 7
    change: float = 0.0
    own_factor: float = 1.0
    """How much more answers about I vary."""
    item_sizes: Callable[[Random, int], Floats] = equal
    mirrored: bool = False
    """Skew of answers about others is opposite: the same mean, and another shape."""
    subjects: float = 0.0
    """SD of what a subject adds to all items, where I is a subject like the others."""
    floor: bool = False
    """Answers are 0 to 3, and most are 0."""

    def draw(self, random: Random) -> Detections:
        answers = 0.68 * self.numbers(random, self.items, self.own_answers + self.other_answers)
        answers = answers * self.item_sizes(random, self.items)
        answers[:, : self.own_answers] *= self.own_factor
        if self.mirrored:
            answers[:, self.own_answers :] *= -1
        if self.subjects:
            answers[:, : self.own_answers] += self.subjects * random.normal()
            answers[:, self.own_answers :] += self.subjects * random.normal(size=self.other_answers)
        answers[:, : self.own_answers] += self.change
        if self.floor:
            answers = np.clip(np.round(answers - 0.5), 0, 3)
        seed = int(random.integers(2**31))
        own_answers, other_answers = np.split(answers, [self.own_answers], axis=1)
        estimate, test = randomise_within_items(own_answers, other_answers, RANDOMISATIONS, seed)
        return with_interval({"within items": test.p}, estimate, self.change)


@dataclass(frozen=True)
class FramingStudy:
    """A study of a cue among K other sentences of its form, which moves answers by `change`
    more.
    """

    alternatives: int = 39
    wordings: int = 1
    numbers: Numbers = normal
    change: float = 0.0
    spread: float = 9.0
    dominates: bool = False
    grammar: bool = False
    """Sentences are alike where they share a verb or a thing; the cue shares none."""
    rare: bool = False
    """One in fifty answers changes, as those of rare classes do: most sentences tie at 0."""
    stimuli: int = 12

    def draw(self, random: Random) -> Detections:
        k = self.alternatives + 1
        themes = self.numbers(random, k)
        if self.dominates:
            themes[random.integers(k)] += 5 / 0.8
        if self.grammar:
            places = np.append(-1, random.choice(256, self.alternatives, replace=False))
            verbs, things = random.normal(size=17), random.normal(size=17)
            sums = verbs[places // 16] + things[places % 16]
            themes = sums / 2**0.5
            themes[0] = (verbs[16] + things[16]) / 2**0.5
        sizes = (0.8, 0.6) if self.wordings > 1 else (1.0, 0.0)
        wordings = sizes[1] * self.numbers(random, k, self.wordings)
        moved = self.spread * (sizes[0] * themes[:, None] + wordings)
        moved[0] += self.change
        noise = 6 * random.normal(size=(self.stimuli, k, self.wordings))
        changes = moved + noise + 3 * random.normal(size=(self.stimuli, 1, 1))
        if self.rare:
            is_change = random.random(changes.shape) < 0.02
            changes = np.where(is_change, np.sign(changes) * 100.0, 0.0)
        by_theme = changes.mean(axis=0)
        test = rank_test(by_theme[0], by_theme[1:])
        by_alternatives = changes[:, 1:].mean(axis=(1, 2))
        of_cue = changes[:, 0].mean(axis=1) - by_alternatives
        variance = float(of_cue.var(ddof=1)) / self.stimuli
        estimate = sum_estimates(float(of_cue.mean()), [(variance, self.stimuli - 1.0)])
        return with_rank(test.p, estimate)


def with_rank(p: float | None, estimate: Estimate) -> Detections:
    """What the rank says, at most .05 since it is exact, and with the interval."""
    interval = estimate.interval()
    excludes = interval.low > 0 or interval.high < 0
    is_far = p is not None and p <= ALPHA
    return {"rank": is_far, "rank and interval": is_far and excludes}


@dataclass(frozen=True)
class NameStudy:
    """A study of one declared name among K known names, which is `change` off."""

    alternatives: int = 39
    numbers: Numbers = normal
    change: float = 0.0
    odd: int = 0
    """Number of names, the declared one or others, that lie five SD off."""
    declared_factor: float = 1.0
    """How much more the declared name varies, as what is known does."""
    answered: float = 1.0
    """Share of root items that the declared name has a score of, as where replies are refused."""
    roots: int = 20

    def draw(self, random: Random) -> Detections:
        k = self.alternatives + 1
        names = 0.3 * self.numbers(random, k)
        names[0] *= self.declared_factor
        odd = random.choice(k, self.odd, replace=False)
        names[odd] += 1.5 * random.choice([-1, 1], size=self.odd)
        roots = np.full(k, float(self.roots))
        roots[0] *= self.answered
        scores = names + random.normal(size=k) / np.sqrt(roots)
        p = rank_test(scores[0] + self.change, scores[1:]).p
        return {"rank": p is not None and p <= ALPHA}


Draw = Callable[[Random], Detections]


def cells() -> Iterator[tuple[str, str, Draw]]:
    """Family, what is planted, and how a study of it is drawn."""
    for model, spread in MODELS.items():
        for planted, study in probe_studies().items():
            yield f"probes {model}", planted, partial(study.draw, spread=spread)
    for planted, items in item_studies().items():
        yield "questionnaires", planted, items.draw
    for planted, framing in framing_studies().items():
        yield "framing", planted, framing.draw
    for planted, names in name_studies().items():
        yield "saged", planted, names.draw
    for model, spread in NEXT_WORD.items():
        for planted, study in probe_studies().items():
            if study.occupations is not independent:
                yield f"next-word {model}", planted, partial(study.draw, spread=spread)


def probe_studies() -> Mapping[str, ProbeStudy]:
    plain = ProbeStudy()
    alike = ProbeStudy(smooth)
    of_frequency = replace(alike, follows_frequency=True)
    smooth_frequency = replace(of_frequency, occupations=partial(smooth, rough_frequency=False))
    studies = {
        "(i) nothing, 8 x 6": replace(plain, sentences=8, pairs=6),
        "(i) nothing": plain,
        "(ii) words alone": replace(plain, only_words=True),
        "(iii) occupations alike, smooth criterion": alike,
        "(iv) heavy tails": replace(plain, numbers=heavy),
    }
    studies |= {
        "(iv) alike, heavy tails": replace(alike, numbers=heavy),
        "(v) one occupation 6 SD": replace(plain, outlier="occupation"),
        "(v) one pair 6 SD": replace(plain, outlier="pair"),
        "(v) alike, one occupation 6 SD": replace(alike, outlier="occupation"),
    }
    studies |= {
        "(vi) frequency, no covariate": of_frequency,
        "(vi) frequency, covariate": replace(of_frequency, covariate=True),
        "(vi) smooth frequency, no covariate": smooth_frequency,
        "(vi) smooth frequency, covariate": replace(smooth_frequency, covariate=True),
    }
    studies |= {
        "(vi) frequency, independent occupations, no covariate": replace(
            plain, follows_frequency=True
        ),
        "(vi) frequency, independent occupations, covariate": replace(
            plain, follows_frequency=True, covariate=True
        ),
    }
    studies |= {
        "(vii) dull": replace(plain, scale=0.01),
        "hostile: half of the likeness hidden": ProbeStudy(half_hidden),
        "hostile: skewed sectors": ProbeStudy(sectors),
        "hostile: the criterion is the first component": ProbeStudy(one_component),
    }
    for gain in (0.69, 0.9, 1.05, 1.34):
        studies[f"gain {gain}, alike"] = replace(alike, gain=gain)
    return studies


def item_studies() -> Mapping[str, ItemStudy]:
    plain = ItemStudy()
    studies = {
        "nothing, 1 : 3": replace(plain, own_answers=1, other_answers=3),
        "nothing": plain,
        "heavy tails": replace(plain, numbers=heavy),
        "skew": replace(plain, numbers=skewed),
        "unequal items": replace(plain, item_sizes=unequal),
    }
    studies |= {
        "variances 1 to 25": replace(plain, item_sizes=one_to_five),
        "variances 1 to 25, skew": replace(plain, item_sizes=one_to_five, numbers=skewed),
        "one item 5-fold": replace(plain, item_sizes=one_dominates),
    }
    studies |= {
        "I varies twice as much": replace(plain, own_factor=2.0),
        "I varies twice as much, skew": replace(plain, own_factor=2.0, numbers=skewed),
        "I varies half as much": replace(plain, own_factor=0.5),
    }
    studies |= {
        # Equal means, unequal shapes: a reviewer would say that labels are not exchangeable.
        "hostile: opposite skew": replace(plain, numbers=skewed, mirrored=True),
        # Answers at the floor, with many ties, as of a model that denies everything.
        "hostile: most answers at the floor": replace(plain, floor=True),
        # I as one subject among subjects that differ: 19 people differed by .13 points.
        "hostile: subjects differ by SD .13": replace(plain, subjects=0.13),
    }
    for change in (0.3, 0.5, 0.75):
        studies[f"change {change}"] = replace(plain, change=change)
    return studies


def framing_studies() -> Mapping[str, FramingStudy]:
    studies = {}
    for alternatives in (19, 39):
        for wordings in (1, 3):
            plain = FramingStudy(alternatives, wordings)
            size = f"{wordings} : {alternatives}"
            if wordings > 1:
                size = f"themes of 3, 1 : {alternatives}"
            studies[f"nothing, {size}"] = plain
            studies[f"heavy tails, {size}"] = replace(plain, numbers=heavy)
            studies[f"one dominates, {size}"] = replace(plain, dominates=True)
    # A cue shares no verb and no thing with the grammar, whose sentences share both.
    studies["hostile: a grammar of 16 verbs x 16 things"] = FramingStudy(grammar=True)
    # Few answers change at all, so that most sentences tie.
    studies["hostile: rare classes"] = FramingStudy(rare=True)
    for spread in (3.0, 9.0):
        for change in (10.0, 20.0, 30.0):
            name = f"change {change:g}, sentences' SD {spread:g}"
            studies[name] = FramingStudy(change=change, spread=spread)
    return studies


def name_studies() -> Mapping[str, NameStudy]:
    plain = NameStudy()
    studies = {
        "nothing": plain,
        "heavy tails": replace(plain, numbers=heavy),
        "one odd name": replace(plain, odd=1),
        # What is better known varies more, favour or not: why the names must be known ones.
        "hostile: the declared name varies 1.5-fold": replace(plain, declared_factor=1.5),
        # Half of its replies are refused, so that its mean is noisier than that of the others.
        "hostile: half of its replies refused": replace(plain, answered=0.5),
    }
    for change in (1.0, 1.5):
        studies[f"change {change:g} SD"] = replace(plain, change=change)
    return studies


def main(draws: int = 2000, only: str = "", seconds: float = 0.0) -> None:
    """Print the table.

    `draws`: studies a row. `only`: families whose name begins so. `seconds`: if above 0, what a
    population may take at most; rates are then of the studies drawn until then.
    """
    print_head("family", "planted", "statistic", "rate", "draws")
    for place, (family, planted, draw) in enumerate(cells()):
        if not family.startswith(only):
            continue
        random = np.random.default_rng([place, 20260])
        counts: defaultdict[str, int] = defaultdict(int)
        began, drawn = time.monotonic(), 0
        while drawn < draws and (seconds <= 0 or time.monotonic() - began < seconds):
            for statistic, detection in draw(random).items():
                counts[statistic] += bool(detection)
            drawn += 1
        for statistic, count in counts.items():
            print_row(family, planted, statistic, f"{count / drawn:.3f}", drawn)


if __name__ == "__main__":
    typer.run(main)
