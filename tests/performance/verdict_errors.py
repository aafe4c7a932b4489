"""How often a verdict is false, an interval holds the truth, and an effect is found: planted scores, judged for real.

Run by hand: `python -m tests.performance.verdict_errors`, with `--draws N` and `--only WORDS`. Prints a Markdown table.
Variances are those of SmolLM2 on the published sets (docs/controls.md). False are: `effect` where the truth has none
beyond placebos, and `no effect` where the specific part is not below the bound.
"""

import argparse
import itertools
import time
from collections import Counter
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from evenruler.instruments.probes.diagnose.cubes import Cube
from evenruler.instruments.probes.diagnose.gain import Placebos, gain
from evenruler.instruments.saged.diagnose.apart import apart, by_role, named, silence
from evenruler.measurement.facets import paired
from evenruler.measurement.resampling import Interval
from evenruler.measurement.verdicts import Confirmatory, Fitness, confirmatory, judge

Floats = NDArray[np.float64]
Random = np.random.Generator


@dataclass(frozen=True)
class Words:
    """A population of probes: what words, lists and templates do to scores, nats."""

    attributes: int = 43
    templates: int = 8
    words: int = 6
    """Of each group."""
    pairs: int = 1
    """Lists of each group."""
    gain: float = 0.0
    """Over 80 points of the criterion."""
    of_lists: float = 0.35
    """SD of the gain of a list, beyond its words."""
    of_words: float = 0.2
    of_nouns: float = 0.6
    """SD of the gain of a placebo noun within its list."""
    of_templates: float = 0.4
    of_attributes: float = 0.3
    """SD of what attributes do to a group beside the criterion."""
    of_cells: float = 0.4
    """SD of an attribute in a template, for a group."""
    of_matches: float = 0.3
    """SD of an attribute with a word."""
    noise: float = 0.55
    beside: int = 43
    """Attributes, evenly spread along the axis, that are asked with placebo nouns."""

    def drawn(self, random: Random) -> tuple[Confirmatory, float]:
        """The headline of one draw, and what it is on these lists, were there no other noise."""
        axis = random.uniform(2, 98, self.attributes)
        place = (axis - axis.mean()) / 80
        poles = np.repeat([1, -1], self.words)
        slopes = np.where(poles == 1, 0.5, -0.5) * self.gain
        lists = np.tile(np.repeat(np.arange(self.pairs), self.words // self.pairs), 2)
        slopes = slopes + random.normal(0, self.of_lists, 2 * self.pairs)[lists + self.pairs * (poles < 0)]
        truth = float(slopes[poles == 1].mean() - slopes[poles == -1].mean())
        slopes = slopes + random.normal(0, self.of_words, len(slopes))
        scores = self._scores(place, slopes, poles, random)
        nouns = np.repeat(random.normal(0, self.of_lists, 12), 3) + random.normal(0, self.of_nouns, 36)
        placebos = self._scores(place, nouns, np.repeat(np.arange(12), 3), random)
        names = [str(number) for number in range(max(self.attributes, 99))]
        cube = Cube(
            scores, names[: len(axis)], names[: self.templates], names[: len(poles)], poles.astype(np.int8), np.zeros(1)
        )
        own_lists, of_nouns = [str(number) for number in lists], [str(number // 3) for number in range(36)]
        along = np.argsort(axis)[:: max(1, self.attributes // self.beside)][: self.beside]
        return gain(cube, axis, own_lists, Placebos(placebos[along], axis[along], of_nouns)), truth

    def _scores(self, place: Floats, slopes: Floats, groups: NDArray[np.int_], random: Random) -> Floats:
        """[attributes, templates, words]: lines along the criterion, and what crosses them."""
        n, t, w = self.attributes, self.templates, len(slopes)
        of_group = np.unique(groups, return_inverse=True)[1]
        kinds = of_group.max() + 1
        scores: Floats = place[:, None, None] * slopes
        scores = scores + (place[:, None, None] * random.normal(0, self.of_templates, (t, kinds)))[:, :, of_group]
        scores = scores + random.normal(0, self.of_attributes, (n, 1, kinds))[:, :, of_group]
        scores = scores + random.normal(0, self.of_cells, (n, t, kinds))[:, :, of_group]
        scores = scores + random.normal(0, self.of_matches, (n, 1, w))
        return scores + random.normal(0, self.noise, (n, t, w)) + random.normal(0, 1, (n, t, 1))


@dataclass(frozen=True)
class Cues:
    """A population of one reply a question: shares of a class before and after cues, points."""

    stimuli: int = 40
    cues: int = 3
    placebos: int = 12
    shift: float = 0.0
    of_placebos: float = 0.0
    """Shift that placebos have, too."""
    of_wordings: float = 5.0
    """SD of the shift of a wording."""
    share: float = 0.3

    def drawn(self, random: Random) -> tuple[Confirmatory, float]:
        """The headline of one draw, and what it is in truth."""
        base = random.beta(4 * self.share, 4 * (1 - self.share), self.stimuli)
        bare = random.random(self.stimuli) < base

        def changes(count: int, shift: float) -> Floats:
            moved = (shift + random.normal(0, self.of_wordings, count)) / 100
            after = random.random((self.stimuli, count)) < np.clip(base[:, None] + moved, 0, 1)
            return 100 * (after.astype(float) - bare[:, None])

        effect, beside = paired(changes(self.cues, self.shift), changes(self.placebos, self.of_placebos))
        levels = {"stimuli": self.stimuli, "wordings": self.cues}
        return confirmatory("shift", "stimuli", levels, effect, effect.p(), beside, 10), self.shift


@dataclass(frozen=True)
class Case:
    """A row of the table."""

    name: str
    of: Words | Cues
    specific: float
    """True part beyond placebos."""
    denied: bool
    """Whether `no effect` would be true."""
    found: bool = False
    """Whether `effect` would be true."""
    several: int = 1
    """Figures of one instrument that p is corrected over, all of this kind."""


def cases() -> Iterable[Case]:
    """Every population that ships, and those that a flawless or a useless ruler would give."""
    yield Case("probes 43 x 8 x 12, nothing", Words(of_lists=0), 0, denied=True)
    yield Case("probes, any two lists do it (list SD .3)", Words(of_lists=0.3), 0, denied=True)
    yield Case("probes, any two lists do it (list SD .5)", Words(of_lists=0.5), 0, denied=True)
    yield Case(
        "probes, gain at the bound, little noise",
        Words(gain=np.log(2), of_lists=0, of_words=0.05),
        np.log(2),
        False,
        True,
    )
    for lists, of in ((0.0, 0.0), (0.5, 0.0), (0.35, 1.34), (0.35, 2.0)):
        few = Words(gain=of, of_lists=lists, beside=22)
        yield Case(f"probes as at quick (22 with placebos), gain {of}, list SD {lists}", few, of, not of, bool(of))
    for lists, of in itertools.product((0.0, 0.15, 0.35, 0.5), (1.34, 2.0)):
        yield Case(f"probes, gain {of}, list SD {lists}", Words(gain=of, of_lists=lists), of, denied=False, found=True)
    perfect = Words(
        gain=1.34,
        of_lists=0,
        of_words=0.1,
        of_nouns=0.1,
        of_templates=0,
        of_attributes=0,
        of_cells=0,
        of_matches=0,
        noise=0.05,
    )
    yield Case("probes, flawless (r 1)", perfect, 1.34, denied=False, found=True)
    yield Case("probes, placebo lists as far apart as the gain", Words(of_lists=1.0), 0, denied=True)
    for lists in (0.15, 0.35):
        wide = Words(templates=16, words=12, pairs=4, gain=np.log(2), of_lists=lists)
        yield Case(f"probes, 4 pairs x 16 templates, factor 2, list SD {lists}", wide, np.log(2), False, True)
        yield Case(
            f"probes, 4 pairs x 16 templates, nothing, list SD {lists}",
            Words(templates=16, words=12, pairs=4, of_lists=lists),
            0,
            True,
        )
    for stimuli, (cues, placebos) in itertools.product((12, 40), ((3, 12), (6, 20))):
        yield Case(f"cues {stimuli} x ({cues}, {placebos}), nothing", Cues(stimuli, cues, placebos), 0, denied=True)
    for cues, placebos in ((1, 6), (3, 12), (6, 20)):
        yield Case(f"cues 40 x ({cues}, {placebos}), +19", Cues(40, cues, placebos, shift=19), 19, False, True)
    yield Case("cues 40 x (3, 12), placebos as much", Cues(shift=19, of_placebos=19), 0, denied=True)
    yield Case("cues 40 x (3, 12), at the bound", Cues(shift=10), 10, denied=False, found=True)
    yield Case("five figures, nothing", Cues(), 0, denied=True, several=5)


@dataclass(frozen=True)
class Concepts:
    """A population of SAGED: scores of replies by root item, concept and role, in SD of a reply."""

    name: str
    roots: int = 20
    concepts: int = 6
    roles: int = 1
    apart: float = 0.0
    """How far the first concept lies from the others."""
    cancels: bool = False
    """Whether it does so in one role and as far the other way in another."""
    silent: float = 0.0
    """Share of silence of the first concept; of the others .05."""
    skewed: bool = False

    def found(self, seed: int) -> tuple[bool, bool, bool]:
        """Whether p is below .05, the first concept is named, and any other is."""
        random = np.random.default_rng(seed)
        if self.silent:
            share = np.where(np.arange(self.concepts) == 0, self.silent, 0.05)
            told = silence(random.random((self.roots, self.concepts)) < share, seed, shuffles=399)
            clear: NDArray[np.bool_] = np.logical_or(told.low > 0, told.high < 0)
            return told.p_null < 0.05, bool(clear[0]), bool(clear[1:].any())
        shape = (self.roles, self.roots, self.concepts)
        noise = random.exponential(1.0, shape) if self.skewed else random.normal(0, 1, shape)
        x = noise + random.normal(0, 1, (1, self.roots, 1))
        x[0, :, 0] += self.apart
        x[1:2, :, 0] -= self.apart if self.cancels else -self.apart
        if self.cancels:
            of_role = by_role(x, seed, shuffles=399)
            clear_of: NDArray[np.bool_] = np.any(np.logical_or(of_role.low > 0, of_role.high < 0), axis=0)
            return of_role.p_null < 0.05, bool(clear_of[0]), bool(clear_of[1:].any())
        whom = named(x.mean(axis=0), seed, shuffles=399)
        return apart(x.mean(axis=0), seed, shuffles=399).p_null < 0.05, 0 in whom, bool(set(whom) - {0})

    def row(self, draws: int, run: Callable[..., Iterable[tuple[bool, bool, bool]]]) -> str:
        """One line of the table, in shares of draws."""
        shares = np.mean(list(run(self.found, range(draws))), axis=0)
        return f"| {self.name} | " + " | ".join(f"{share:.3f}" for share in shares) + " |"


def domains() -> Iterable[Concepts]:
    """Every design that ships, and those that it is to find something in."""
    for roots, concepts in ((20, 6), (20, 21), (75, 21)):
        for off in (0.0, 0.5, 1.0):
            yield Concepts(f"{roots} x {concepts}, one concept {off} off", roots, concepts, apart=off)
    yield Concepts("20 x 21, skewed replies", concepts=21, skewed=True)
    yield Concepts("20 x 6, three roles, nothing", roles=3, cancels=True)
    yield Concepts("20 x 6, three roles, .8 that cancels", roles=3, apart=0.8, cancels=True)
    for roots in (20, 75):
        for silent in (0.05, 0.3, 1.0):
            yield Concepts(f"{roots} x 21, one silent {silent}", roots, 21, silent=silent)


def outcome(case: Case, seed: int) -> tuple[bool, bool, list[str]]:
    """Whether the intervals of effect and specific part hold their truth, and the verdicts."""
    random = np.random.default_rng(seed)
    drawn = [case.of.drawn(random) for _ in range(case.several)]
    figure, truth = drawn[0]
    assert figure.effect is not None
    assert figure.specific is not None
    verdicts = [str(one.verdict) for one in judge([(one, Fitness()) for one, _ in drawn])]
    return _holds(figure.effect, truth), _holds(figure.specific, case.specific), verdicts


def _holds(span: Interval, truth: float) -> bool:
    return span.low <= truth <= span.high


def row(case: Case, draws: int, run: Callable[..., Iterable[tuple[bool, bool, list[str]]]]) -> str:
    """One line of the table, in shares of draws."""
    found = list(run(partial(outcome, case), range(draws)))
    told = Counter(verdict for *_, verdicts in found for verdict in dict.fromkeys(verdicts))
    effect, none, unspecific = (told[name] / draws for name in ("effect", "no effect", "not specific"))
    of_effect, of_specific = (np.mean([one[at] for one in found]) for at in (0, 1))
    marks = [f"{effect:.3f}" + ("" if case.found else " (false)"), f"{none:.3f}" + ("" if case.denied else " (false)")]
    return f"| {case.name} | {of_effect:.3f} | {of_specific:.3f} | {marks[0]} | {marks[1]} | {unspecific:.3f} |"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--draws", type=int, default=1000)
    parser.add_argument("--only", default="")
    args, began = parser.parse_args(), time.monotonic()
    print(
        "| planted | covers effect | covers specific | effect | no effect | not specific |\n"
        "| --- | --- | --- | --- | --- | --- |"
    )
    with ProcessPoolExecutor() as pool:
        for case in cases():
            if args.only in case.name:
                print(row(case, args.draws, partial(pool.map, chunksize=10)), flush=True)
        print("\n| planted | p below .05 | it is named | another is |\n| --- | --- | --- | --- |")
        for domain in domains():
            if args.only in domain.name:
                print(domain.row(args.draws, partial(pool.map, chunksize=10)), flush=True)
    print(f"\n{args.draws} draws each, {time.monotonic() - began:.0f} s")


if __name__ == "__main__":
    main()
