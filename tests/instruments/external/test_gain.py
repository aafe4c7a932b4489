"""The gain along a criterion of units: by hand, with planted truths, and parts beside it."""

import math
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from evenruler.errors import UserError
from evenruler.instruments.external.declare import PlannedGain
from evenruler.instruments.external.diagnose import contrast
from evenruler.instruments.external.diagnose.gain import (
    GainDesign,
    gain_estimates,
    gain_headline,
    gain_items,
)
from evenruler.measurement import slopes
from evenruler.measurement.figures import Verdict
from evenruler.measurement.slopes import logit_positions
from evenruler.measurement.verdicts import judge
from tests.instruments.external import made
from tests.instruments.near import approx

ALONG_SHARE: PlannedGain = {
    "along": "criterion",
    "low": "10% men",
    "high": "90% men",
    "texts": ["his pronoun", "hers"],
    "compared": "means the participant",
}
PARTS = ("means the occupation", "means the participant")


def table_of(scores: list[float] | np.ndarray, axis: list[float] | np.ndarray) -> pd.DataFrame:
    """One item a unit, u0, u1 and so on."""
    units = [f"u{number}" for number in range(len(scores))]
    return pd.DataFrame(
        {"unit": units, "part": "all", "value": scores, "axis": axis, "sentence": "", "pair": "a/b"}
    )


def test_the_gain_by_hand() -> None:
    """A slope of 2 nats from low to high; what all units share is no part of it."""
    axis = np.array([-0.5, -0.25, 0.0, 0.25, 0.5, 1.0])
    test = gain_headline(table_of(3 + 2 * axis, axis), None)
    assert (test.effect.value, test.effect.low) == approx((2, 2))
    assert judge(test).verdict == Verdict.INCONCLUSIVE  # how alike units are is not known
    assert test.facets == {"occupations": 6}


def test_the_interval_is_the_jackknife_of_the_slope_at_equal_length_of_names() -> None:
    """Of twelve names the last two, u10 and u11, have a letter more."""
    random = np.random.default_rng(4)
    axis, scores = random.normal(size=12), random.normal(size=12)
    columns = np.column_stack([axis, np.ones(12), np.arange(12) >= 10])

    def fit_slope(units: np.ndarray) -> float:
        return float(np.linalg.lstsq(columns[units], scores[units], rcond=None)[0][0])

    estimate = GainDesign.from_table(table_of(scores, axis)).estimate()
    without = []
    for unit in range(12):
        without.append(fit_slope(np.arange(12) != unit))
    assert estimate.value == approx(fit_slope(np.arange(12)))
    squares = (without - np.mean(without)) ** 2
    assert estimate.variance == approx(11 / 12 * np.sum(squares))


def test_sentences_and_pairs_that_are_crossed_with_units_are_random() -> None:
    """Three sentences and three pairs, of which one pair has all of the slope."""
    places = dict(enumerate(np.linspace(-1, 1, 10)))
    crossed = product(places, "xyz", ("he/she", "dad/mom", "son/daughter"))
    table = pd.DataFrame(list(crossed), columns=["unit", "sentence", "pair"])
    table["axis"] = table["unit"].map(places)
    table["value"] = 6 * table["axis"] * (table["pair"] == "he/she")
    table = table.assign(unit=table["unit"].astype(str), part="all")
    test = gain_headline(table, None)
    assert test.facets == {"occupations": 10, "sentences": 3, "pairs": 3}
    assert test.effect.value == approx(2)
    assert test.effect.low < 0
    nested = gain_headline(table[1:], None)  # a cell is lacking
    assert nested.facets == {"occupations": 10}


def factor_model(
    seed: int, gain: float = 0.0, n: int = 60
) -> tuple[pd.DataFrame, pd.DataFrame, np.ndarray]:
    """Scores and a criterion that load on the same five factors of units, with their likeness."""
    random = np.random.default_rng(seed)
    factors = random.normal(size=(n, 5))
    nouns = factors @ random.normal(size=(5, 60))
    nouns = nouns + random.normal(size=(n, 60))
    axis = factors @ random.normal(size=5) + random.normal(size=n)
    axis = 0.4 * (axis - axis.mean()) / axis.std()
    of_factors = factors @ random.normal(size=5)
    scores = of_factors + 0.5 * random.normal(size=n) + gain * axis
    table = table_of(scores, axis)
    return table, pd.DataFrame(nouns, index=table["unit"]), axis


@pytest.fixture
def without_power(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a study would detect takes most of the time of a draw, and no draw here needs it."""
    monkeypatch.setattr(slopes, "detectable_slope", lambda *_: 0.0)


@pytest.mark.usefixtures("without_power")
def test_units_that_are_alike_are_rarely_detected() -> None:
    """A guard of 200 draws: jackknives alone would leave out 0 in more than a fifth."""
    hits, by_interval = [], []
    for draw in range(200):
        table, likeness, _ = factor_model(draw)
        test = gain_headline(table, likeness, seed=draw, n=199)
        by_units = gain_headline(table, None).effect
        hits.append(test.is_detected)
        by_interval.append(by_units.low > 0 or by_units.high < 0)
    assert np.mean(hits) <= 0.09
    assert np.mean(by_interval) > 0.2


@pytest.mark.usefixtures("without_power")
def test_a_planted_gain_is_detected() -> None:
    hits = []
    for draw in range(20):
        table, likeness, _ = factor_model(draw, gain=12.0)
        hits.append(gain_headline(table, likeness, seed=draw, n=199).is_detected)
    assert np.mean(hits) > 0.8


def test_the_frequency_of_units_is_a_covariate() -> None:
    table, likeness, _ = factor_model(1)
    with_frequency = table.assign(log_frequency=np.linspace(-12, -8, 60))
    null = gain_headline(with_frequency, likeness).null
    assert "over 60 occupations with 2 covariates" in null


def test_a_unit_without_likeness_is_named() -> None:
    table, likeness, _ = factor_model(1)
    with pytest.raises(UserError, match="no likeness of u7: 1 of 60 occupations have none"):
        gain_headline(table, likeness.drop(index="u7"))


@pytest.mark.parametrize(
    ("table", "reason"),
    [
        (table_of([1.0] * 4, [0.0, 1, 2, 3]), "4 occupations (at least 5 needed)"),
        (table_of([1.0] * 6, [0.5] * 6), "all occupations have the same criterion"),
    ],
)
def test_where_nothing_can_be_said(table, reason) -> None:
    assert gain_headline(table, None).no_verdict == reason


def test_parts_that_are_the_criterion_turn_the_sign_of_the_low_one(tmp_path) -> None:
    """Stereotypical pronouns are hers in women's work: 1 nat for them is 1 nat against his."""
    gain: PlannedGain = {
        **ALONG_SHARE,
        "along": "part",
        "low": "women's work",
        "high": "men's work",
        "compared": None,
    }
    pro = "1 [The mover] fell as [he] ran.\n2 [The nurse] fell as [she] ran.\n"
    anti = "1 [The mover] fell as [she] ran.\n2 [The nurse] fell as [he] ran.\n"
    built = made.build(
        tmp_path,
        "winobias",
        {"pro-type1-dev": pro, "anti-type1-dev": anti},
        gain={name: gain[name] for name in GAIN_KEYS},  # type: ignore[literal-required]
    )
    items = made.items(built, lambda row: float(row["role"] == "first"))
    table = gain_items(items, made.frames(built)["texts"], gain)
    values = dict(zip(table["unit"], table["value"], strict=True))
    assert values == {"mover": 1, "nurse": -1}
    criteria = set(zip(table["unit"], table["axis"], strict=True))
    assert criteria == {("mover", 0.5), ("nurse", -0.5)}
    assert set(table["pair"]) == {"he/she", "she/he"}


GAIN_KEYS = ("along", "low", "high")


def test_parts_and_what_is_beyond_the_compared_one() -> None:
    """Occupations gain 3 nats where they are meant, and 1 where the participant is."""
    axis = np.linspace(-1, 1, 8)
    tables = [
        table_of(gain * axis, axis).assign(part=part)
        for part, gain in zip(PARTS, (3.0, 1.0), strict=True)
    ]
    estimates = gain_estimates(pd.concat(tables), PARTS[1])
    values = {part: estimate.value for part, estimate in estimates.items()}
    assert values == {
        PARTS[0]: approx(3),
        PARTS[1]: approx(1),
        "": approx(2),
    }
    assert gain_estimates(tables[0], None) == {}


def test_a_gain_along_what_a_benchmark_lacks_is_refused(tmp_path) -> None:
    along_parts = {"along": "part", "low": "young", "high": "men's work"}
    with pytest.raises(UserError, match="its parts are men's work, but its gain is from young"):
        made.build(tmp_path, "winobias", gain=along_parts)
    along_share = {"low": "10%", "high": "90%"}
    with pytest.raises(UserError, match="no unit has a criterion for its gain"):
        made.build(tmp_path, "winobias", gain=along_share)


def winogender(folder: Path) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Figures and rows behind the headline of a model that gives his pronoun 2 nats from 10% to 90%
    men, where the occupation is meant."""
    women = {f"job{percent}": percent for percent in (5, 20, 40, 60, 80, 95)}
    files = made.winogender(women, meanings="01")
    keys = (*GAIN_KEYS, "compared")
    gain = {name: ALONG_SHARE[name] for name in keys}  # type: ignore[literal-required]
    built = made.build(folder, "winogender", files, gain=gain, units="occupations")

    def nats(row: pd.Series) -> float:
        place = logit_positions([row["criterion"]])[0]
        gained = 2 * place if row["part"] == PARTS[0] else 0.0
        return gained if row["role"] == "first" else 0.0

    diagnosed = made.diagnosed(built, made.items(built, nats))
    return diagnosed["figures"], diagnosed["headlines"]


def test_the_figures_of_a_benchmark_with_a_criterion(tmp_path) -> None:
    figures, made_of = winogender(tmp_path)
    headline = made.find_row(figures, "gain")
    assert headline["value"] == approx(1)
    assert headline["bound"] == approx(math.log(2))
    assert headline["verdict"] == "inconclusive"
    assert "lean" not in set(figures["figure"])
    for part, value in (("means-the-occupation", 2), ("means-the-participant", 0)):
        assert made.find_values(figures, "gain_of_part", condition=part) == approx([value])
    assert made.find_values(figures, "gain_apart") == approx([2])
    assert set(made_of["figure"]) == {"gain"}
    same = contrast(made_of, made_of, 0.7)
    assert same.effect.value == 0
    double = contrast(made_of.assign(value=2 * made_of["value"]), made_of, 0.7)
    assert double.effect.value == approx(1)
