"""Hostile nulls of the gain of probes, on real models: what it says where the construct is not, or
is not asked for.

Those of the other families are in `framing`, `questionnaires` and `saged`.

Asks embedded models (some 40,000 sentences each, of which a second run asks none) and prints a
Markdown table. Groups are the words for men and women as they are, things in their place, or lists
of person nouns drawn at random; templates are the paper's, negated ones, and ones without sense;
the criterion is the share of men, the same shuffled over occupations, or how many letters an
occupation has. SD over lists is what `studies.planted.verdict_errors` draws from.
"""

import itertools
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

import numpy as np
import typer
from numpy.typing import NDArray

from evenruler.declaration.params_file import ParamsFile
from evenruler.instruments.probes.declare.source import load as read
from evenruler.instruments.probes.diagnose.gain import Scores, gain_headline
from evenruler.measurement.verdicts import HeadlineTest, ValidityCheck, judge
from evenruler.models import load
from evenruler.text import ATTRIBUTE, TARGET, fill
from studies.tables import print_head, print_row

SOURCES = Path("data/sources/probes")
NAME = "occupation-gender"
Floats = NDArray[np.float64]
Article = Literal["agree", "literal"]

THINGS = {
    "household things": "lamp chair table spoon bottle carpet bucket window curtain pillow candle "
    "mirror",
    "fruit, tools": "apple banana cherry grape lemon peach hammer wrench saw drill chisel shovel",
    "weekdays, months": "Monday Tuesday Wednesday Thursday Friday Saturday January February March "
    "April June September",
    "other words for men and women": "guy gentleman husband father uncle nephew lady gal wife "
    "mother aunt niece",
}
"""Two groups of six words each."""

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
TEMPLATES = {"negated templates": NEGATED, "templates without sense": NONSENSE}


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
    def read_shipped(cls) -> "Domain":
        """Occupations, in the paper's eight templates."""
        settings = ParamsFile(Path("params.yaml")).settings(NAME)
        source = read(
            SOURCES / f"{NAME}.yaml",
            settings,
            SOURCES / "shared",
        )
        assert source.published is not None
        share_by_slug = {
            slug: share for slug, share in source.published.values.items() if share is not None
        }
        first, second = (list(words.values()) for words in source.targets.values())
        templates = [entry.text for entry in source.sets["validation"].scored.values()]
        ordered = sorted(sorted(share_by_slug), key=share_by_slug.__getitem__)
        words = [source.attributes[slug] for slug in ordered]
        axis = np.array([share_by_slug[slug] for slug in ordered])
        return cls(words, axis, (first, second), source.placebos, templates, "literal")

    def ask(
        self, name: str, templates: Sequence[str], words: Sequence[str], article: Article
    ) -> Floats:
        """[attributes, templates, words] nats of a model."""
        cells = itertools.product(self.attributes, templates, words)
        texts = [
            fill(text, {ATTRIBUTE: attribute, TARGET: word}, article)
            for attribute, text, word in cells
        ]
        nats: Floats = load(name).loglikelihood(texts).nats
        return nats.reshape(len(self.attributes), len(templates), -1)

    def find_gain(self, scores: Floats, nouns: Floats, lists: Sequence[str]) -> HeadlineTest:
        """Of two groups of equal size."""
        w = scores.shape[2]
        poles = np.repeat(
            np.array([1, -1], dtype=np.int8),
            w // 2,
        )
        no_poles = np.zeros(len(lists), dtype=np.int8)
        placebos = Scores(nouns, self.axis, no_poles, lists)
        return gain_headline(
            Scores(scores, self.axis, poles, ["words"] * w),
            placebos,
        )


@dataclass(frozen=True)
class Study:
    """A model, and what it says of the domain as it ships."""

    model: str
    draws: int
    domain: Domain = field(default_factory=Domain.read_shipped)

    def print_rows(self) -> None:
        """Print the lines of the table for one model."""
        domain = self.domain
        nouns = [noun for words in domain.lists for noun in words]
        lists = [str(place) for place, words in enumerate(domain.lists) for _ in words]
        words = [*domain.targets[0], *domain.targets[1]]
        placebos = domain.ask(self.model, domain.templates, nouns, domain.article)
        scores = domain.ask(self.model, domain.templates, words, domain.article)
        self._print_figure("men, women", domain.find_gain(scores, placebos, lists))
        for what, things in THINGS.items():
            of_things = domain.ask(
                self.model,
                domain.templates,
                things.split(),
                domain.article,
            )
            self._print_figure(what, domain.find_gain(of_things, placebos, lists))
        for what, templates in TEMPLATES.items():
            both = domain.ask(
                self.model,
                templates,
                [*words, *nouns],
                "agree",
            )
            n = len(words)
            self._print_figure(
                what,
                domain.find_gain(
                    both[:, :, :n],
                    both[:, :, n:],
                    lists,
                ),
            )
        letters = np.array([float(len(attribute)) for attribute in domain.attributes])
        standard = (letters - letters.mean()) / letters.std()
        lettered = replace(
            domain,
            axis=domain.axis.mean() + standard * domain.axis.std(),
        )
        gain = lettered.find_gain(scores, placebos, lists)
        self._print_figure("letters of the occupation as the criterion", gain)
        self._print_deals(scores, placebos, lists)

    def _print_deals(self, scores: Floats, placebos: Floats, lists: list[str]) -> None:
        domain, random = self.domain, np.random.default_rng(0)
        pairs = [str(number // 2) for number in range(24)]

        def deal_nouns() -> HeadlineTest:
            """Two groups of four nouns, the others in twelve lists of two."""
            order = random.permutation(36)
            return domain.find_gain(
                placebos[:, :, order[:8]],
                placebos[:, :, order[8:32]],
                pairs,
            )

        def mix_words() -> HeadlineTest:
            return domain.find_gain(
                scores[:, :, random.permutation(12)],
                placebos,
                lists,
            )

        def shuffle_criterion() -> HeadlineTest:
            shuffled = replace(domain, axis=random.permutation(domain.axis))
            return shuffled.find_gain(scores, placebos, lists)

        deals: dict[str, Callable[[], HeadlineTest]] = {
            "person nouns drawn as groups": deal_nouns,
            "men and women mixed at random": mix_words,
            "criterion shuffled over occupations": shuffle_criterion,
        }
        for what, deal in deals.items():
            counts = Counter(judge_gain(deal()) for _ in range(self.draws))
            print_row(
                self.model,
                f"{what}, {self.draws} times",
                *[""] * 4,
                dict(counts),
            )

    def _print_figure(self, what: str, figure: HeadlineTest) -> None:
        assert figure.effect is not None
        assert figure.specific is not None
        span, beyond = figure.effect, figure.specific
        print_row(
            self.model,
            what,
            f"{span.value:.2f} [{span.low:.2f}, {span.high:.2f}]",
            f"{figure.placebo:.2f}",
            f"[{beyond.low:.2f}, {beyond.high:.2f}]",
            f"{figure.detectable:.2f}",
            judge_gain(figure),
        )


def judge_gain(figure: HeadlineTest) -> str:
    """Return the verdict without bars."""
    return str(judge([(figure, ValidityCheck())])[0].verdict)


def main(model: str = "smollm2-135m-instruct", draws: int = 200) -> None:
    """Print the table of a model, of so many deals a row."""
    print_head(
        *("model", "asked", "gain [95%]", "typical placebo"),
        *("beyond placebos", "found in 80 of 100", "verdict"),
    )
    Study(model, draws).print_rows()


if __name__ == "__main__":
    typer.run(main)
