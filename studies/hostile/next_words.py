"""Hostile controls of the gain after sentences that end before a noun: other sentences, words,
occupations and criteria, by other authors or at random.

Asks embedded models (a thousand sentences a model and set of sentences; a second run asks none) and
prints a Markdown table. *Detected* is the headline's own test: the criterion randomised spectrally,
and the interval. Criteria at random are dealt to the occupations as they are, which is the same as
a model whose embeddings of occupations are exchanged; or smooth, so that occupations that are alike
have like values.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
import typer
from numpy.typing import NDArray

from evenruler.declaration.params_file import ParamsFile
from evenruler.instruments.methods.next_word import NextWordScores, list_words, reference_rows
from evenruler.instruments.probes.declare.source import ProbeSource, load
from evenruler.measurement.inputs import Floats
from evenruler.measurement.randomisation import likeness_basis, randomise_criterion
from evenruler.measurement.slopes import AlikeUnits, logit_positions, spectral_gain
from evenruler.models.catalogue import load_model
from evenruler.text import ATTRIBUTE, fill
from evenruler.text.frequency import log_frequency
from studies.tables import print_head, print_row

SOURCES = Path("data/sources/probes")
NAME = "occupation-gender"

WEAT = [
    "male female",
    "man woman",
    "boy girl",
    "brother sister",
    "he she",
    "him her",
    "son daughter",
]
"""Male and female terms of Caliskan, Bryson and Narayanan (2017), those that are one token."""

PRONOUNS = ["he she", "his her", "him her"]

WINOGENDER = [
    "The {ATTRIBUTE} told the customer that",
    "The {ATTRIBUTE} met with the client to get an early start on the case, since",
    "The {ATTRIBUTE} called the visitor because",
    "The {ATTRIBUTE} informed the taxpayer that",
    "The {ATTRIBUTE} reminded the customer that",
    "The {ATTRIBUTE} warned the witness that",
    "The {ATTRIBUTE} asked the guest if",
    "The {ATTRIBUTE} argued with the pedestrian because",
]
"""Beginnings as in the sentences of Rudinger and others (2018), the same for every occupation."""

BEC_PRO = [
    "It is true of a {ATTRIBUTE} that this person is a",
    "Somebody who works as a {ATTRIBUTE} is a",
    "Whoever applied for the position of {ATTRIBUTE} is a",
    "The {ATTRIBUTE} had a good day at work, and is a",
    "Whoever wants to become a {ATTRIBUTE} is a",
]
"""The five sentences of Bartl, Nissim and Gatt (2020), turned so that the person stands last."""

RIVAL = [
    "Everybody in the village respects the {ATTRIBUTE}, a",
    "On the bus I sat beside a {ATTRIBUTE}, a",
    "Her letter describes the old {ATTRIBUTE} as a",
    "Somebody asked for a {ATTRIBUTE}, and in came a",
    "The newspaper wrote about a {ATTRIBUTE} who is a",
    "In this play the {ATTRIBUTE} is always a",
    "We were greeted by the {ATTRIBUTE}, a",
    "The first {ATTRIBUTE} in the family was a",
]
"""Another author's sentences."""


class Study:
    """The scores of one model, asked as cases need them."""

    def __init__(self, model: str, source: ProbeSource) -> None:
        params = ParamsFile(Path("params.yaml"))
        self._model = load_model(model, params.catalogue)
        declared = source.next_word
        assert declared is not None
        assert source.published is not None
        self.pairs = [list(pair) for pair in declared.pairs.items()]
        self.sentences = list(declared.sentences.values())
        self.shares = {
            slug: share for slug, share in source.published.values.items() if share is not None
        }
        self._words = {slug: source.attributes[slug] for slug in self.shares}
        nouns = pd.DataFrame(reference_rows())
        is_attribute = nouns["noun"].isin(self._words.values())
        self._nouns = nouns[~nouns["gendered"] & ~is_attribute]
        published = map(str.split, [*WEAT, *PRONOUNS])
        self._list = list_words(nouns, [*declared.pairs.items(), *published])

    def scores(self, sentences: Sequence[str]) -> NextWordScores:
        """Scores of all occupations with all words after some sentences."""
        rows = [
            {"unit": unit, "sentence": template, "text": fill(template, {ATTRIBUTE: word}, "agree")}
            for unit, word in self._words.items()
            for template in sentences
        ]
        table = pd.DataFrame(rows).assign(id=lambda frame: frame["text"])
        nats = self._model.next_words(table["text"].tolist(), self._list)
        answers = pd.DataFrame({"id": table["id"], "nats": list(nats)})
        return NextWordScores.from_answers(answers, table, self._list)

    def covariates(self, units: Sequence[str]) -> Floats:
        """[units, 2] letters and log frequency."""
        words = [self._words[unit] for unit in units]
        rows = [[len(word), log_frequency(word, "en") or 0.0] for word in words]
        return np.array(rows)

    def likeness(self, scores: NextWordScores) -> Floats:
        """[units, nouns] mean over sentences, of nouns that are one token."""
        nouns = [noun for noun in self._nouns["noun"] if scores.has(noun)]
        return scores.take(nouns).mean(axis=1)


class Case(NamedTuple):
    """Differences of pairs along a criterion."""

    differences: Floats
    likeness: Floats
    covariates: Floats
    positions: Floats

    def row(self, n: int = 9999) -> tuple[str, str, bool]:
        """Gain with interval, p, and whether it is detected."""
        units = AlikeUnits(self.positions, self.likeness, self.covariates)
        interval = spectral_gain(units, self.differences)
        means = self.differences.mean(axis=(1, 2))
        test = randomise_criterion(
            means, self.positions, units.spectral_basis, self.covariates, n=n
        )
        leaves_out = interval.low > 0 or interval.high < 0
        ends = f"[{interval.low:.2f}, {interval.high:.2f}]"
        is_detected = bool(test.p < 0.05 and leaves_out)
        gain = f"{interval.value:.2f} {ends}"
        return gain, f"{test.p:.4f}", is_detected

    def with_criterion(self, positions: Floats) -> "Case":
        """The same along another criterion, of the same spread."""
        scaled = (positions - positions.mean()) / positions.std() * self.positions.std()
        return self._replace(positions=scaled)

    def of_units(self, remaining: NDArray[np.bool_]) -> "Case":
        """The same of some occupations."""
        return Case(*(numbers[remaining] for numbers in self))


def list_cases(study: Study, employed: dict[str, float]) -> Iterator[tuple[str, Case]]:
    """Every case with its name."""
    base = study.scores(study.sentences)
    units = base.units
    positions = logit_positions([study.shares[unit] for unit in units])
    covariates = study.covariates(units)

    def case(scores: NextWordScores, pairs: Sequence[Sequence[str]]) -> Case:
        read = [pair for pair in pairs if scores.has(*pair)]
        first = scores.take([pair[0] for pair in read])
        second = scores.take([pair[1] for pair in read])
        return Case(first - second, study.likeness(scores), covariates, positions)

    shipped = case(base, study.pairs)
    yield "as shipped", shipped
    yield "WEAT's pairs", case(base, [pair.split() for pair in WEAT])
    pronouns = [pair.split() for pair in PRONOUNS]
    yield "beginnings of Winogender, pronouns", case(study.scores(WINOGENDER), pronouns)
    yield "BEC-Pro's sentences, turned", case(study.scores(BEC_PRO), study.pairs)
    yield "eight sentences of another author", case(study.scores(RIVAL), study.pairs)
    shares = np.array([study.shares[unit] for unit in units])
    yield "occupations of 25% to 75%", shipped.of_units((shares >= 25) & (shares <= 75))
    means = shipped.differences.mean(axis=(1, 2))
    carried = np.abs((positions - positions.mean()) * (means - means.mean()))
    yield "without the ten that carry most", shipped.of_units(carried < np.sort(carried)[-10])
    workforce = np.log([employed[unit] for unit in units])
    yield "the criterion: log workforce", shipped.with_criterion(workforce)


def rate_criteria(case: Case, draws: int, is_smooth: bool) -> float:
    """How often a criterion at random is detected; smooth ones lie two thirds of their variance in
    the first eight components of likeness.
    """
    random = np.random.default_rng(0)
    components = likeness_basis(case.likeness)[:, :8]
    detected = 0
    for _ in range(draws):
        if is_smooth:
            smooth = components @ random.normal(size=8)
            noise = random.normal(size=len(case.positions))
            positions = smooth / smooth.std() * 0.82 + noise * 0.57
        else:
            positions = random.permutation(case.positions)
        detected += case.with_criterion(positions).row(n=299)[2]
    return detected / draws


def main(
    models: list[str] = ["smollm2-135m-instruct", "gemma-3-270m"],  # noqa: B006
    draws: int = 40,
) -> None:
    """Print what the gain is under every control."""
    settings = ParamsFile(Path("params.yaml")).settings(NAME)
    source = load(SOURCES / f"{NAME}.yaml", settings, SOURCES / "shared")
    table = pd.read_csv(SOURCES / "shared" / "bls-cps-2021.csv").set_index("attribute")
    thousands = table["employed_thousands"].dropna()
    employed = {slug.lower(): n for slug, n in thousands.items()}
    print_head("model", "control", "gain, nats [95%]", "p", "detected")
    for model in models:
        study = Study(model, source)
        for name, case in list_cases(study, employed):
            gain, p, is_detected = case.row()
            print_row(model, name, gain, p, "yes" if is_detected else "no")
            if name == "as shipped":
                shipped = case
        dealt = rate_criteria(shipped, draws, is_smooth=False)
        smooth = rate_criteria(shipped, draws, is_smooth=True)
        print_row(model, f"occupations exchanged, {draws} times", "", "", f"{dealt:.3f}")
        print_row(model, f"smooth criteria, {draws} times", "", "", f"{smooth:.3f}")


if __name__ == "__main__":
    typer.run(main)
