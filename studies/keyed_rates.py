"""How often the lean at even base rate is `detected`: with nothing planted, and with a lean, at
base rates from even to nearly always.

Prints Markdown tables. The first has GEST's sentences: 16 stereotypes, whose log odds of he over
she vary by an SD of .18 between stereotypes and .41 within, as in Llama 2 13B chat. Its keys are
dealt at random in each draw. Beside the house's way stand signs of units flipped, which also tests
the base rate, and keys dealt anew without the median.

The second has choices, as of keyed statements: 80 statements that differ in how often they are
agreed with. The third has models that like words, whatever is said with them: a constant for each
pair of words, drawn anew in each draw.

    python -m studies.keyed_rates [--draws 1000] [--only gest]
"""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
import typer
from scipy.special import ndtri

from evenruler.instruments.external.diagnose.keyed import (
    KeyedDesign,
    difference_of_keys,
    keyed_headline,
)
from evenruler.measurement.facets import Estimate
from evenruler.measurement.inputs import ALPHA, Floats
from evenruler.measurement.randomisation import randomise_keys
from evenruler.measurement.resampling import sign_flips
from studies.tables import print_head, print_row

GEST = Path(__file__).parents[1] / "data/sources/external/shared/gest/gest.csv"

BETWEEN, WITHIN = 0.18, 0.41
"""Nats: SD between stereotypes of a key, and within stereotypes."""

BASE_RATES = (0.5, 0.75, 0.9, 0.97)
LEANS = (0.0, 0.2, 0.35)

STATEMENTS, OF_LEFT = 80, 42
"""Of the statements that models of 2026 were asked."""

WORD_PAIRS = ("he/she", "him/her", "his/her")

SDS = ((2.84, 0.0), (2.84, 0.41), (2.84, 4.0), (0.2, 0.41))
"""Nats: over pairs of words, as SmolLM2 likes words, and over items."""

KEYS = np.repeat([-1.0, 1.0], [7, 9])
"""[stereotypes] of women, and of men."""

SIDES = np.repeat([1.0, -1.0], [OF_LEFT, STATEMENTS - OF_LEFT])

FLIPS = 999


class Answers(NamedTuple):
    """Log odds of items, as a model would answer."""

    units: "pd.Series[str]"
    """[items]."""
    keys: Floats
    """[units] in the order of their names."""
    log_odds: Floats
    """[items]."""
    pairs: list[str]
    """[items]."""

    def table(self) -> pd.DataFrame:
        """As `keyed_headline` takes it."""
        codes, _ = pd.factorize(self.units, sort=True)
        columns = {"unit": self.units, "key": self.keys[codes], "log_odds": self.log_odds}
        return pd.DataFrame({**columns, "pair": self.pairs})


class Draw(NamedTuple):
    """What is said of a draw."""

    by_signs: bool
    by_keys: bool
    at_even_base_rate: bool
    holds: bool
    """Whether the interval holds the planted lean."""


def gest_units() -> "pd.Series[str]":
    """[items] stereotypes of GEST's sentences."""
    return pd.read_csv(GEST)["stereotype"].map("{:02d}".format)


def stereotype_answers(base_rate: float, lean: float, random: np.random.Generator) -> Answers:
    """Log odds of he over she, normal between and within stereotypes."""
    units = gest_units()
    codes, names = pd.factorize(units, sort=True)
    keys = random.permutation(KEYS)
    sd = np.hypot(BETWEEN, WITHIN)
    shift = ndtri((1 + lean) / 2) * sd
    means = random.normal(0, BETWEEN, len(names)) + keys * shift
    noise = random.normal(0, WITHIN, len(codes))
    log_odds = ndtri(base_rate) * sd + means[codes] + noise
    return Answers(units, keys, log_odds, ["he/she"] * len(codes))


def statement_answers(base_rate: float, lean: float, random: np.random.Generator) -> Answers:
    """Agreement with statements, each of which is agreed with by so many.

    The lean is half the difference of 2 x share - 1, so that shares lie a half of it apart from the
    base rate on either side.
    """
    units = pd.Series([f"{place:02d}" for place in range(STATEMENTS)])
    keys = random.permutation(SIDES)
    agrees = random.random(STATEMENTS) < base_rate + keys * lean / 2
    return Answers(units, keys, np.where(agrees, 1.0, -1.0), ["agree/disagree"] * STATEMENTS)


def word_answers(of_pairs: float, of_items: float, random: np.random.Generator) -> Answers:
    """A constant for each pair of words and noise of items, by SDs in nats; nothing else."""
    units = gest_units()
    keys = random.permutation(KEYS)
    constants = random.normal(0, of_pairs, len(WORD_PAIRS))
    # Some stereotypes have more of one pair of words than others have.
    liking = random.dirichlet(np.ones(len(WORD_PAIRS)), len(KEYS))
    codes, _ = pd.factorize(units, sort=True)
    ends = liking.cumsum(axis=1)[codes]
    drawn = random.random((len(codes), 1))
    places = (drawn > ends[:, :-1]).sum(axis=1)
    log_odds = constants[places] + random.normal(0, of_items, len(codes))
    return Answers(units, keys, log_odds, [WORD_PAIRS[place] for place in places])


def judge_draw(answers: Answers, lean: float, seed: int) -> Draw:
    """Detect a lean in three ways."""
    table = answers.table()
    design = KeyedDesign.from_table(table)
    turned = design.leans_at_base_rate * design.keys
    n_units = len(turned)
    squared_error = float(turned.var(ddof=1)) / n_units
    over_units = Estimate(float(turned.mean()), squared_error, n_units - 1.0)
    of_keys = difference_of_keys(design.leans_at_base_rate, design.keys)
    p_of_keys = randomise_keys(design.leans_at_base_rate, design.keys, FLIPS, seed).p
    headline = keyed_headline(table, "units", 0.1, seed, FLIPS)
    assert headline.effect is not None
    return Draw(
        _is_detected(over_units, sign_flips(turned, seed, FLIPS)),
        _is_detected(of_keys, p_of_keys),
        headline.is_detected,
        headline.effect.low <= lean <= headline.effect.high,
    )


def _is_detected(estimate: Estimate, p: float) -> bool:
    interval = estimate.interval()
    leaves_out = interval.low > 0 or interval.high < 0
    return p <= ALPHA and leaves_out


def rates(
    answer: Callable[[np.random.Generator], Answers], lean: float, draws: int
) -> tuple[float, ...]:
    """Shares of draws by the columns of `Draw`."""
    judged: list[Draw] = []
    for seed in range(draws):
        answers = answer(np.random.default_rng(seed))
        judged.append(judge_draw(answers, lean, seed))
    return tuple(float(share) for share in np.mean(judged, axis=0))


_WAYS = (
    "signs of units flipped",
    "keys dealt anew",
    "and the median: `detected`",
    "interval holds the lean",
)


def main(draws: int = 1000, only: str = "") -> None:
    """Print the tables."""
    makers = {"gest": stereotype_answers, "statements": statement_answers}
    for name, maker in makers.items():
        if only not in ("", name):
            continue
        print_head(f"{name}: base rate", "lean", *_WAYS)
        for lean in LEANS:
            for base_rate in BASE_RATES:
                if name == "statements" and base_rate + lean / 2 > 1:
                    continue
                shares = rates(
                    lambda random, maker=maker, base_rate=base_rate, lean=lean: maker(
                        base_rate, lean, random
                    ),
                    lean,
                    draws,
                )
                print_row(base_rate, lean, *(f"{share:.3f}" for share in shares))
    if only in ("", "words"):
        print_head("words: SD of pairs", "SD of items", *_WAYS)
        for of_pairs, of_items in SDS:
            shares = rates(
                lambda random, of_pairs=of_pairs, of_items=of_items: word_answers(
                    of_pairs, of_items, random
                ),
                0.0,
                draws,
            )
            print_row(of_pairs, of_items, *(f"{share:.3f}" for share in shares))


if __name__ == "__main__":
    typer.run(main)
