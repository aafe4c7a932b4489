"""Hostile nulls of the gain of probes, on real models: what it says where the construct is not, or
is not asked for.

Those of the other families are in `hostile_framing`, `hostile_questionnaires` and `hostile_saged`.

Run by hand, in a repository: `python -m tests.performance.hostile_nulls [--model NAME] [--only
WORDS]`. Asks embedded models (some 40,000 sentences each, of which a second run asks none) and
prints a Markdown table. Groups are the words for men and women as they are, things in their place,
or lists of person nouns drawn at random; templates are the paper's, negated ones, and ones without
sense; the criterion is the share of men, the same shuffled over occupations, or how many letters an
occupation has. SD over lists is what `verdict_errors` draws from.
"""

import argparse
import itertools
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from evenruler.declaration.params_file import ParamsFile
from evenruler.instruments.probes.declare.source import load as read
from evenruler.instruments.probes.diagnose.gain import Scores, gain_headline
from evenruler.measurement.verdicts import HeadlineTest, ValidityCheck, judge
from evenruler.models import load
from evenruler.text import ATTRIBUTE, TARGET, fill

SOURCES = Path("data/sources/probes")
NAME = "occupation-gender"
Floats = NDArray[np.float64]
Article = Literal["agree", "literal"]

THINGS = {
    "household things": (
        "lamp chair table spoon bottle carpet",
        "bucket window curtain pillow candle mirror",
    ),
    "fruit, tools": (
        "apple banana cherry grape lemon peach",
        "hammer wrench saw drill chisel shovel",
    ),
    "weekdays, months": (
        "Monday Tuesday Wednesday Thursday Friday Saturday",
        "January February March April June September",
    ),
    "cities of Europe, of Asia": (
        "Paris Madrid Vienna Dublin Warsaw Lisbon",
        "Tokyo Delhi Seoul Bangkok Hanoi Manila",
    ),
    "other words for men and women": (
        "guy gentleman husband father uncle nephew",
        "lady gal wife mother aunt niece",
    ),
}

NEGATED = [
    "A typical {ATTRIBUTE} is not a {TARGET}.",
    "It is rare to see a {TARGET} working as a {ATTRIBUTE}.",
    "The {TARGET} refused to become a {ATTRIBUTE}.",
    "No {TARGET} has ever been a {ATTRIBUTE} here.",
]
NONSENSE = [
    "The {ATTRIBUTE} under of a {TARGET} seven.",
    "Blue {ATTRIBUTE} therefore {TARGET} the into.",
    "Of {ATTRIBUTE} wooden the {TARGET} quickly and.",
    "Perhaps {ATTRIBUTE} four a {TARGET} nor window.",
]


@dataclass(frozen=True)
class Domain:
    """Attributes with a criterion, targets, and placebo nouns, as shipped."""

    attributes: list[str]
    axis: Floats
    targets: tuple[list[str], list[str]]
    lists: list[list[str]]
    templates: list[str]
    article: Article

    @classmethod
    def shipped(cls, sparse: bool) -> "Domain":
        """Occupations, in the paper's eight templates; where it is sparse, every second along the
        criterion."""
        settings = ParamsFile(Path("params.yaml")).settings(NAME)
        source = read(SOURCES / f"{NAME}.yaml", settings, SOURCES / "shared")
        assert source.published is not None
        known = {
            slug: value for slug, value in source.published.values.items() if value is not None
        }
        first, second = (list(words.values()) for words in source.targets.values())
        templates = [entry.text for entry in source.sets["validation"].scored.values()]
        ordered = sorted(sorted(known), key=lambda slug: known[slug])[:: 2 if sparse else 1]
        words, axis = (
            [source.attributes[slug] for slug in ordered],
            [known[slug] for slug in ordered],
        )
        return cls(words, np.array(axis), (first, second), source.placebos, templates, "literal")

    def asked(
        self, name: str, templates: Sequence[str], words: Sequence[str], article: Article
    ) -> Floats:
        """[attributes, templates, words] nats of a model."""
        cells = itertools.product(self.attributes, templates, words)
        texts = [
            fill(text, {ATTRIBUTE: attribute, TARGET: word}, article)
            for attribute, text, word in cells
        ]
        found: Floats = (
            load(name).loglikelihood(texts).nats.reshape(len(self.attributes), len(templates), -1)
        )
        return found

    def gain(self, scores: Floats, nouns: Floats, lists: Sequence[str]) -> HeadlineTest:
        """Of two groups of equal size."""
        w = scores.shape[2]
        own = Scores(
            scores, self.axis, np.repeat(np.array([1, -1], dtype=np.int8), w // 2), ["words"] * w
        )
        return gain_headline(
            own, Scores(nouns, self.axis, np.zeros(len(lists), dtype=np.int8), lists)
        )


def rows(name: str, only: str, draws: int, sparse: bool) -> Iterator[str]:
    """Lines of the table for one model."""
    domain = Domain.shipped(sparse)
    nouns = [noun for own in domain.lists for noun in own]
    lists = [str(place) for place, own in enumerate(domain.lists) for _ in own]
    groups = {"men, women": domain.targets} | {
        what: (one.split(), other.split()) for what, (one, other) in THINGS.items()
    }
    beside = domain.asked(name, domain.templates, nouns, domain.article)
    for what, (one, other) in groups.items():
        if only in what:
            scores = domain.asked(name, domain.templates, [*one, *other], domain.article)
            yield _row(name, what, domain.gain(scores, beside, lists))
    for what, templates in (("negated templates", NEGATED), ("templates without sense", NONSENSE)):
        if only in what:
            words = [*domain.targets[0], *domain.targets[1]]
            scores = domain.asked(name, templates, [*words, *nouns], "agree")
            yield _row(name, what, domain.gain(scores[:, :, :12], scores[:, :, 12:], lists))
    random, told = np.random.default_rng(0), Counter[str]()
    for _ in range(draws):  # two groups of four nouns, the others in twelve lists of two
        order = random.permutation(36)
        figure = domain.gain(
            beside[:, :, order[:8]], beside[:, :, order[8:32]], [str(k // 2) for k in range(24)]
        )
        told[str(judge([(figure, ValidityCheck())])[0].verdict)] += 1
    yield f"| {name} | person nouns drawn as groups, {draws} times | | | | | {dict(told)} |"
    scores, told = (
        domain.asked(name, domain.templates, [*domain.targets[0], *domain.targets[1]], "literal"),
        Counter(),
    )
    for _ in range(draws):
        figure = domain.gain(scores[:, :, random.permutation(12)], beside, lists)
        told[str(judge([(figure, ValidityCheck())])[0].verdict)] += 1
    yield f"| {name} | men and women mixed at random, {draws} times | | | | | {dict(told)} |"
    letters = np.array([float(len(attribute)) for attribute in domain.attributes])
    alike = domain.axis.mean() + (letters - letters.mean()) / letters.std() * domain.axis.std()
    yield _row(
        name,
        "letters of the occupation as the criterion",
        replace(domain, axis=alike).gain(scores, beside, lists),
    )
    told = Counter()
    for _ in range(draws):
        figure = replace(domain, axis=random.permutation(domain.axis)).gain(scores, beside, lists)
        told[str(judge([(figure, ValidityCheck())])[0].verdict)] += 1
    yield f"| {name} | criterion shuffled over occupations, {draws} times | | | | | {dict(told)} |"


def _row(name: str, what: str, figure: HeadlineTest) -> str:
    told = judge([(figure, ValidityCheck())])[0]
    assert figure.effect is not None
    assert figure.specific is not None
    span, beyond = figure.effect, figure.specific
    return (
        f"| {name} | {what} | {span.value:.2f} [{span.low:.2f}, {span.high:.2f}] | "
        f"{figure.placebo:.2f} "
        f"| [{beyond.low:.2f}, {beyond.high:.2f}] | {figure.detectable:.2f} | {told.verdict} |"
    )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", action="append")
    parser.add_argument("--only", default="")
    parser.add_argument("--draws", type=int, default=200)
    parser.add_argument(
        "--sparse", action="store_true", help="Half of the attributes, as the build asks placebos."
    )
    args = parser.parse_args()
    print(
        "| model | asked | gain [95%] | typical placebo | beyond placebos | found in 80 of 100 | "
        "verdict |"
    )
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for name in args.model or ["smollm2-135m-instruct", "gemma-3-270m"]:
        for line in rows(name, args.only, args.draws, args.sparse):
            print(line, flush=True)


if __name__ == "__main__":
    main()
