"""A known truth, planted in next words by a formula, goes through the family's door and comes out as
what it is (section 12 of the specification of controls).
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray

from evenruler.instruments.methods.next_word import NextWordScores, list_words
from evenruler.instruments.probes import schemas
from evenruler.instruments.probes.diagnose import reference_scores
from evenruler.instruments.probes.diagnose.gain import Scores, gain_headline
from evenruler.instruments.probes.diagnose.next_word import (
    NextWordFigures,
    _gain_figure,
    headline_rows,
    next_word_figures,
)
from evenruler.measurement.figures import Figure, HeadlineFigure
from evenruler.measurement.slopes import AlikeUnits, logit_positions
from evenruler.measurement.verdicts import judge
from evenruler.tables import table_of
from studies.planted.probes import quick_gains
from tests.instruments.near import approx

Floats = NDArray[np.float64]

ATTRIBUTES = [f"job{place:02}" for place in range(36)]
SHARES = np.linspace(3, 97, 36)
POSITIONS = logit_positions(SHARES)
SENTENCES = [f"sentence{place:02}" for place in range(10)]
PAIRS = [[f"he{place}", f"she{place}"] for place in range(10)]
KINGS = [f"king{place}" for place in range(8)]
QUEENS = [f"queen{place}" for place in range(8)]
CONTROLS = KINGS + QUEENS
CONTROL_KEYS = np.repeat([1, -1], 8)
THEMES = 12
NOUNS = [f"noun{theme:02}{letter}" for theme in range(THEMES) for letter in "abcdef"]
PLAN: Any = {"pairs": PAIRS, "control": "kings and queens"}


@dataclass(frozen=True)
class Truth:
    """What scores are added up of, nats; SDs as those of the small models."""

    gain: float = 0.0
    """Of the first words on the second, from 10% to 90%."""
    steps: tuple[float, float] | None = None
    """The gain below and above the median, instead of `gain`."""
    of_sentences: float = 0.5
    """SD over sentences of a sentence's gain."""
    of_pairs: float = 0.3
    """SD over pairs of a pair's gain."""
    of_attributes: float = 0.3
    noise: float = 0.6
    control: float = 3.0
    """By how much words of the control differ."""
    factor: float = 1.0
    """What all scores are multiplied by: a dull or a sharp model."""
    one_pair: float = 0.0
    """A gain of the first pair alone."""
    gendered: float = 0.0
    """A gain of nouns with a gendered gloss."""

    def answers(self, seed: int) -> pd.DataFrame:
        """The answers of a model, by `methods.next_word.ANSWERS`."""
        random = np.random.default_rng(seed)
        words = list_words(nouns_table(), PAIRS)
        place = {word: number for number, word in enumerate(words)}
        n_words = len(words)
        preferences = random.normal(0, 2, n_words)
        ways = random.normal(size=(36, 4)) * [1.5, 1, 0.7, 0.5]
        loadings = random.normal(size=(4, n_words)) * 0.5
        scores = preferences + np.zeros((36, 10, 1)) + (ways @ loadings)[:, None]
        scores = scores + random.normal(0, self.noise, (36, 10, n_words))
        along = self._along()
        slopes_of_sentences = random.normal(0, self.of_sentences, 10)
        for number, (first, second) in enumerate(PAIRS):
            slope = random.normal(0, self.of_pairs) + (self.one_pair if number == 0 else 0)
            added = along[:, None] + POSITIONS[:, None] * (slope + slopes_of_sentences)
            added = added + random.normal(0, self.of_attributes, 36)[:, None]
            scores[:, :, place[first]] += added / 2
            scores[:, :, place[second]] -= added / 2
        for noun in [name for name in NOUNS if name.endswith("f")]:
            scores[:, :, place[noun]] += self.gendered * POSITIONS[:, None]
        of_control = preferences + random.normal(0, self.noise, (16, 10, n_words))
        for first, second in PAIRS:
            added = CONTROL_KEYS[:, None] * self.control / 4
            of_control[:, :, place[first]] += added
            of_control[:, :, place[second]] -= added
        both = self.factor * np.concatenate([scores, of_control])
        rows = sentences_table()
        return pd.DataFrame({"id": rows["id"], "nats": list(both.reshape(-1, n_words))})

    def _along(self) -> Floats:
        if self.steps is None:
            return self.gain * POSITIONS
        beyond = POSITIONS - np.median(POSITIONS)
        below, above = self.steps
        both: Floats = below * np.minimum(beyond, 0) + above * np.maximum(beyond, 0)
        return both


def nouns_table() -> pd.DataFrame:
    """A reference set of twelve themes; the last noun of each has a gendered gloss."""
    themes = [noun[:6] for noun in NOUNS]
    is_gendered = [noun.endswith("f") for noun in NOUNS]
    return pd.DataFrame(
        {
            "noun": NOUNS,
            "theme": themes,
            "subtheme": "",
            "count": 6,
            "gendered": is_gendered,
            "gendered_form": False,
        }
    )


def sentences_table() -> pd.DataFrame:
    units = [("attribute", unit, None) for unit in ATTRIBUTES]
    units += [
        ("control", unit, key) for unit, key in zip(CONTROLS, CONTROL_KEYS.tolist(), strict=True)
    ]
    rows = [
        {"id": f"{unit} {sentence}", "sentence": sentence, "kind": kind, "unit": unit, "key": key}
        for kind, unit, key in units
        for sentence in SENTENCES
    ]
    return pd.DataFrame(rows).assign(word=lambda table: table["unit"])


def tables(nouns: pd.DataFrame | None = None) -> dict[str, pd.DataFrame]:
    attributes = pd.DataFrame({"attribute": ATTRIBUTES, "word": ATTRIBUTES, "criterion": SHARES})
    attributes["log_frequency"] = np.random.default_rng(8).normal(4, 1, 36)
    attributes["likeness"] = [[] for _ in ATTRIBUTES]
    return {
        "attributes": attributes,
        "stems": sentences_table(),
        "nouns": nouns_table() if nouns is None else nouns,
    }


def measure(truth: Truth, seed: int = 0, nouns: pd.DataFrame | None = None) -> NextWordFigures:
    return next_word_figures(tables(nouns), PLAN, truth.answers(seed))


def headline(truth: Truth, seed: int = 0) -> HeadlineFigure:
    figures = measure(truth, seed)
    return judge(figures.headline, figures.validity)


def described(figures: NextWordFigures, name: str) -> Figure:
    return next(figure for figure in figures.described if figure.figure == name)


def test_a_gain_is_detected_and_compared() -> None:
    """Section 12, test 2."""
    figure = headline(Truth(gain=1.6), seed=1)
    assert figure.verdict == "detected"
    assert figure.low is not None
    assert figure.high is not None
    assert figure.low < 1.6 < figure.high
    assert figure.facets == "36 attributes, 10 sentences, 10 pairs"
    assert figure.reference_set == "person nouns of WordNet"
    assert figure.alternatives == THEMES * (THEMES - 1) / 2
    assert figure.percentile is not None
    assert figure.percentile > 95
    assert figure.positive_control == "kings and queens"
    assert figure.positive_value == approx(3.0, abs=0.4)
    assert figure.detects is not None
    assert 0.5 < figure.detects < 2


def test_a_model_that_tells_nothing_apart_is_invalid() -> None:
    """Section 12, test 10: never below, however small its gain."""
    for factor in (1.0, 0.01):
        figure = headline(Truth(control=0.0, factor=factor, of_sentences=0, of_pairs=0))
        assert figure.verdict == "invalid"
        assert "kings and queens" in str(figure.why)


def test_a_small_gain_of_a_model_that_could_gain_is_below() -> None:
    """Section 12, test 11: and not without the control."""
    small = Truth(gain=0.1, of_sentences=0.1, of_pairs=0.1, of_attributes=0.1, noise=0.2)
    assert "below" in str(headline(small).verdict)
    weak = Truth(of_sentences=0.1, of_pairs=0.1, of_attributes=0.1, noise=0.2, control=0.4)
    figure = headline(weak)
    assert figure.verdict == "inconclusive"  # its control is detected, and not a factor of 2
    assert "the positive control reads 0." in str(figure.why)


def test_one_pair_that_carries_all_is_not_detected() -> None:
    """Section 12, test 6."""
    assert headline(Truth(one_pair=12.0, noise=0.2)).verdict == "inconclusive"


def test_two_slopes_come_back() -> None:
    """Section 12, test 5."""
    figures = measure(Truth(steps=(1.0, 3.0), of_sentences=0.2, of_pairs=0.2))
    for name, slope in (("gain_below", 1.0), ("gain_above", 3.0)):
        figure = described(figures, name)
        assert figure.low is not None
        assert figure.high is not None
        assert figure.low < slope < figure.high


def test_too_few_attributes_beside_covariates_give_a_reason() -> None:
    positions, likeness = np.linspace(-1, 1, 6), np.eye(6)
    few = AlikeUnits(positions, likeness, likeness[:, :4])
    figure = _gain_figure("gain_at_equal_themes", few, np.ones((6, 1, 1)))
    assert (figure.value, figure.n) == (None, 6)
    assert figure.reason == "6 attributes are too few beside 4 covariates"


def test_scores_twice_as_large_keep_p_and_percentile() -> None:
    """Section 12, test 7."""
    plain, doubled = (headline(Truth(gain=1.2, factor=factor)) for factor in (1.0, 2.0))
    assert plain.value is not None
    assert doubled.value == approx(2 * plain.value)
    assert (doubled.p, doubled.percentile) == (plain.p, plain.percentile)
    assert doubled.verdict == plain.verdict


def test_names_of_themes_do_not_matter() -> None:
    """Section 12, test 8."""
    swapped = nouns_table()
    swapped["theme"] = swapped["theme"].replace({"noun00": "noun05", "noun05": "noun00"})
    truth = Truth(gain=0.6)
    percentiles = [
        measure(truth, nouns=nouns).headline.compared for nouns in (nouns_table(), swapped)
    ]
    assert percentiles[0] == percentiles[1]


def test_the_percentile_over_other_cuts_is_printed_beside() -> None:
    """Section 12, test 9: with the filter off, gendered nouns return, and their percentile is one of
    the draws.
    """
    figures = measure(Truth(gain=0.6, gendered=3.0))
    draws = {
        str(figure.dimensions["cut"]): figure
        for figure in figures.described
        if figure.figure == "percentile"
    }
    assert len(draws) == 12
    assert draws["gendered glosses, too"].value is not None


def test_every_percentile_can_be_recomputed_from_the_rows_behind_it() -> None:
    """Section 12, test 25: by hand, from the rows of pole 0."""
    figures = measure(Truth(gain=0.8))
    rows = figures.made_of
    covariates = rows[rows["group"] == "covariates"].pivot(
        index="unit", columns="word", values="value"
    )
    design = np.column_stack([np.ones(36), POSITIONS, covariates.to_numpy()])
    is_noun = rows["group"].isin(["reference", "gendered"])
    nouns = rows[is_noun].pivot(index="unit", columns="word", values="value")
    coefficients = np.linalg.lstsq(design, nouns.to_numpy(), rcond=None)[0]
    slopes = pd.Series(coefficients[1], nouns.columns)
    kept = nouns_table().set_index("noun").query("not gendered")
    means = slopes[kept.index].groupby(kept["theme"]).mean().to_numpy()
    differences = means[:, None] - means
    gaps = np.abs(differences)[np.triu_indices(THEMES, 1)]
    effect, compared = figures.headline.effect, figures.headline.compared
    assert effect is not None
    assert compared is not None
    percentile = 100 * np.mean(gaps < abs(effect.value))
    assert compared.percentile.value == approx(percentile)


def test_scores_of_nouns_are_means_over_sentences() -> None:
    """Also of nouns that are not compared."""
    truth = Truth()
    rows = reference_scores(measure(truth).made_of.assign(model="m"), "jobs")
    table = table_of(rows, schemas.REFERENCE).to_pandas()
    assert len(table) == len(ATTRIBUTES) * len(NOUNS)
    (row,) = table.query("attribute == 'job05' and noun == 'noun03f'").to_dict("records")
    place = list_words(nouns_table(), PAIRS).index("noun03f")
    answers = truth.answers(0)
    of_unit = answers[answers["id"].str.startswith("job05 ")]["nats"]
    assert row["value"] == approx(np.mean([nats[place] for nats in of_unit]))


def test_who_carries_most_is_named_and_left_out() -> None:
    figures = measure(Truth(gain=1.5))
    assert str(figures.headline.note).startswith("Most is carried by job")
    without = described(figures, "gain_without_ten")
    assert without.n == 26
    assert without.value is not None
    pairs = [figure.value for figure in figures.described if figure.figure == "pair_gain"]
    effect = figures.headline.effect
    assert effect is not None
    assert np.mean(pairs) == approx(effect.value)


@pytest.mark.slow
def test_nothing_is_seldom_detected() -> None:
    """Section 12, test 1, a guard: pairs and sentences scatter about no gain."""
    detected = 0
    for seed in range(100):
        answers, stems = Truth().answers(seed), sentences_table()
        is_attribute = stems["kind"] == "attribute"
        words = list_words(nouns_table(), PAIRS)
        scores = NextWordScores.from_answers(answers, stems[is_attribute], words)
        pairs = [(first, second) for first, second in PAIRS]
        with quick_gains():
            headline = gain_headline(Scores.from_rows(headline_rows(tables(), scores, pairs)))
        detected += headline.is_detected
    assert detected <= 9
