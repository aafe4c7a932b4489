"""Scripted readings: an instrument that reads nothing, one that reads any change, one that reads
its construct."""

import sys
from itertools import product
from operator import itemgetter
from typing import Any

import numpy as np
import pandas as pd
import pytest

from evenruler.evaluate.readings import (
    CHECKS,
    READINGS,
    DoseResponse,
    compare_doses_of_0,
    count_detected_doses,
    counts_in_words,
    planted_figures,
)

UNITS = 40
PLANTS = ("gender", "country", "mood")
SEEDS = (1, 2, 3)
DOSES = [*product((0.0, 2.0, -2.0), SEEDS), (8.0, 1)]


def scripted(
    reads: dict[str, float], *, signed: bool = True, noise: float = 0.3, seed: int = 1
) -> Any:
    """Readings and checks of an instrument that follows plants by so much per nat, in the units or
    as a whole."""
    rng, rows, checks = np.random.default_rng(seed), [], []
    sign = np.repeat([1.0, -1.0], UNITS // 2)
    direction = sign / 2 if signed else np.ones(UNITS)
    names = [f"unit-{place:02}" for place in range(UNITS)]
    as_it_is = rng.normal(size=UNITS)
    for plant, (dose, number) in product(PLANTS, DOSES):
        nats = dose + rng.normal(scale=0.1)
        moved = reads.get(plant, 0.0) * nats * direction
        off = rng.normal(scale=noise, size=UNITS) + rng.normal(scale=0.05)
        units = pd.DataFrame({"unit": names, "value": as_it_is + moved + off})
        along = direction / (UNITS / 4 if signed else UNITS)
        keys = {
            "base": "base",
            "plant": plant,
            "dose": dose,
            "seed": number,
            "along": along,
        }
        rows.append(units.assign(**keys))
        checks.append(("base", plant, dose, number, nats, nats, ""))
    readings = pd.concat(rows).assign(
        benchmark="made",
        asked="0",
        figure="lean",
        key="all",
    )
    readings = readings.assign(by="gender" if signed else "", bound=0.5, unfit=None)
    return readings[READINGS.names], pd.DataFrame(checks, columns=CHECKS.names)


def figures_of(scripted_tables: tuple[pd.DataFrame, pd.DataFrame]) -> pd.DataFrame:
    """Figures, beside three plants of which the first has the units."""
    return planted_figures(*scripted_tables, {name: [] for name in PLANTS})


def of_plant(figures: pd.DataFrame, plant: str) -> dict[str, Any]:
    (row,) = figures[figures["plant"] == plant].to_dict("records")
    return row


@pytest.mark.parametrize(
    ("per_nat", "noise", "threshold"),
    [(0.06, 0.2, (2.0, 8.0)), (0.0, 0.2, None)],
)
def test_the_dose_that_8_of_10_models_show(
    monkeypatch: pytest.MonkeyPatch,
    per_nat: float,
    noise: float,
    threshold: tuple[float, float] | None,
) -> None:
    """An instrument follows its construct by .06 per nat, with an error of sqrt(4 / 40) x .2 x
    sqrt(2): 2 nats are 1.3 errors, 8 nats are 5.
    """
    doses = [*product((0.0, 1.0, 2.0, 3.0, 4.0, 6.0, 8.0), SEEDS)]
    monkeypatch.setattr(sys.modules[__name__], "DOSES", doses)
    figures = figures_of(scripted({"gender": per_nat}, noise=noise))
    gender, mood = of_plant(figures, "gender"), of_plant(figures, "mood")
    counts = [count["detected"] for count in gender["planted"]]
    assert [count["n"] for count in gender["planted"]] == [3] * 6
    assert pd.isna(mood["threshold"])
    assert pd.isna(mood["nats_per_unit"])
    if threshold is None:
        assert counts == [0] * 6
        assert gender["threshold_why"] == "it is not detected at any dose, up to 8 nats"
        return
    low, high = threshold
    assert counts[0] == 0
    assert counts[-1] == 3
    assert low < gender["threshold"] < high
    assert gender["threshold_low"] < gender["threshold"] < gender["threshold_high"]
    assert gender["nats_per_unit"] == pytest.approx(1 / per_nat, rel=0.2)


def counts_of(row: dict[str, Any]) -> list[tuple[float, int, int, int]]:
    """By dose: models, those that are detected, and those with the opposite sign."""
    read = itemgetter("dose", "n", "detected", "opposite")
    return [read(planted) for planted in row["planted"]]


NOTHING = [(2.0, 6, 0, 0), (8.0, 1, 0, 0)]
EVERYTHING = [(2.0, 6, 6, 0), (8.0, 1, 1, 0)]


@pytest.mark.parametrize("signed", [True, False])
class TestScripted:
    def test_what_reads_its_construct_detects_every_dose_of_it_and_no_other_plant(
        self, signed: bool
    ) -> None:
        figures = figures_of(scripted({"gender": 0.6}, signed=signed))
        gender = of_plant(figures, "gender")
        assert counts_of(gender) == [(2.0, 6, 6, 0), (8.0, 1, 1, 0)]
        assert counts_in_words(gender["planted"]) == "6 of 6 at 2 nats; 1 of 1 at 8 nats"
        assert gender["low"] < 0.6 < gender["high"]
        assert gender["sensitivity"] == pytest.approx(0.6, abs=0.06)
        assert gender["monotone"] > 0.9
        assert pd.isna(gender["verdict"])
        assert figures["own"].tolist() == [
            signed,
            False,
            False,
        ]  # no plant names it
        for other in ("country", "mood"):
            assert counts_of(of_plant(figures, other)) == NOTHING

    def test_what_reads_nothing_detects_nothing(self, signed: bool) -> None:
        figures = figures_of(scripted({}, signed=signed))
        assert [counts_of(of_plant(figures, plant)) for plant in PLANTS] == [NOTHING] * 3

    def test_what_follows_any_plant_measures_no_construct(self, signed: bool) -> None:
        figures = figures_of(scripted(dict.fromkeys(PLANTS, 0.6), signed=signed))
        counts = [counts_of(of_plant(figures, plant)) for plant in PLANTS]
        assert counts == [EVERYTHING] * 3

    def test_the_wrong_direction_is_counted_by_itself(self, signed: bool) -> None:
        gender = of_plant(figures_of(scripted({"gender": -0.6}, signed=signed)), "gender")
        assert gender["sensitivity"] < 0
        assert counts_of(gender) == [(2.0, 6, 0, 6), (8.0, 1, 0, 1)]

    def test_between_weights_that_learned_nothing_little_is_detected(self, signed: bool) -> None:
        """Of 12 seeds, .005 and .035 of pairs."""
        pairs = pd.concat(
            compare_doses_of_0(*scripted({"gender": 0.6}, signed=signed, seed=seed))
            for seed in SEEDS
        )
        assert len(pairs) == 3 * 36
        assert pairs["same"].sum() == 3 * 9
        assert pairs["detected"].mean() <= 0.08


def test_what_all_units_of_a_fit_share_is_no_detection() -> None:
    """Signs over units would find it each time: two fits differ in every unit alike, and so the
    interval over fits decides.
    """
    readings, checks = scripted({}, signed=False, noise=0.02)
    keys = ["plant", "dose", "seed"]
    shared = np.random.default_rng(5).normal(scale=0.3, size=readings.groupby(keys).ngroups)
    fits = readings.groupby(keys).ngroup()
    shifted = readings.assign(value=readings["value"] + shared[fits])
    response = DoseResponse(
        shifted[shifted["plant"] == "gender"],
        checks[checks["plant"] == "gender"].set_index(["dose", "seed"])["held_out"],
    )
    undosed = response.values.loc[(0, 1)]
    for dose in (2.0, -2.0, 8.0):
        change = response.values.loc[(dose, 1)] - undosed
        assert response.p_of_change(change.to_numpy()) < 0.05
    figures = figures_of((shifted, checks))
    n_detected = sum(
        count["detected"] + count["opposite"] for row in figures["planted"] for count in row
    )
    assert n_detected <= 2  # of 21
    assert compare_doses_of_0(shifted, checks)["detected"].mean() <= 0.1


def test_any_doses_are_counted_with_wilson_intervals() -> None:
    """By hand: of 3 models 3 are detected, and the interval of the share is [.44, 1]."""
    doses = [*product((0.0, 1.0, 3.0, 6.0), SEEDS)]
    units = [f"unit-{place}" for place in range(20)]
    along = np.repeat([0.1, -0.1], 10)
    noise = np.random.default_rng(2)
    rows = []
    for dose, seed in doses:
        values = dose * along * 5 + noise.normal(scale=0.05, size=20)
        columns = {
            "unit": units,
            "value": values,
            "along": along,
        }
        rows.append(pd.DataFrame(columns).assign(dose=dose, seed=seed, by="gender", unfit=None))
    response = DoseResponse(pd.concat(rows), pd.Series(dtype=float))
    counts = count_detected_doses(response, (1e-4, 6.0))
    assert [(count.dose, count.n, count.detected) for count in counts] == [
        (1.0, 3, 3),
        (3.0, 3, 3),
        (6.0, 3, 3),
    ]
    assert (counts[0].low, counts[0].high) == (0.439, 1.0)
    unknown = count_detected_doses(response, None)
    assert [count.detected for count in unknown] == [0, 0, 0]


@pytest.mark.parametrize(
    ("place", "named"),
    [
        ({"benchmark": "made"}, ["all", "bias_type=gender"]),
        ({"benchmark": "made", "bias_type": "gender"}, ["bias_type=gender"]),
        ({"benchmark": "other"}, []),
    ],
)
def test_a_plant_names_a_benchmark_or_a_part(place: dict[str, str], named: list[str]) -> None:
    readings, checks = scripted({}, signed=False)
    both = pd.concat([readings, readings.assign(key="bias_type=gender")])
    figures = planted_figures(both, checks, {name: [place] for name in PLANTS})
    assert sorted(set(figures["key"][figures["own"]])) == named


def test_units_are_held_against_signs() -> None:
    gender = of_plant(figures_of(scripted({"gender": 0.6}, noise=0.1)), "gender")
    assert gender["correlation"] > 0.9
    unsigned = of_plant(figures_of(scripted({"gender": 0.6}, signed=False)), "gender")
    assert unsigned["correlation"] is None


def test_a_slope_goes_through_dose_0_of_each_seed() -> None:
    """Two units, one of each pole: the change per nat of seed 1 is (2 - 0) / 2 = 1, of seed 2 (8 -
    2) / 3 = 2."""
    doses = pd.DataFrame({"dose": [0.0, 2.0, 0.0, 2.0], "seed": [1, 1, 2, 2]})
    nats = pd.Series([0.0, 2.0, 1.0, 4.0], index=pd.MultiIndex.from_frame(doses))
    doses["apart"] = [0.0, 2.0, 2.0, 8.0]
    units = pd.DataFrame({"unit": [*"abcd"], "along": [0.5, -0.5, 0.5, -0.5]})
    readings = doses.merge(units, how="cross").assign(by="gender", unfit=None)
    readings["value"] = readings["along"] * readings.pop("apart")
    slope = DoseResponse(readings, nats).slope()
    assert slope is not None
    assert slope.value == pytest.approx(1.5)
    # Of two seeds, (1 - 1.5)² + (2 - 1.5)² halved; units agree.
    assert slope.variance == pytest.approx(0.25)


def test_a_weight_on_which_it_does_not_measure_is_left_out() -> None:
    readings, checks = scripted({"gender": 0.6})
    is_unfit = readings.eval("seed == 2 and dose == 2 and plant == 'gender'")
    wild = readings.assign(
        value=readings["value"].mask(is_unfit, 100.0),
        unfit=np.where(is_unfit, "It guesses.", None),
    )
    gender = of_plant(figures_of((wild, checks)), "gender")
    assert (gender["unfit"], gender["weights"]) == (1, 9)
    assert counts_of(gender) == [(2.0, 5, 5, 0), (8.0, 1, 1, 0)]
    assert gender["low"] < 0.6 < gender["high"]


def test_what_measures_on_too_few_reads_nothing_that_can_be_believed() -> None:
    """Left are doses 0 of one seed and 2 of another."""
    readings, checks = scripted({})
    fit = readings.eval("(seed == 1 and dose == 0) or (seed == 2 and dose == 2)")
    mostly_unfit = readings.assign(unfit=np.where(fit, None, "It guesses."))
    figures = figures_of((mostly_unfit, checks))
    assert (
        figures[["unfit", "weights", "verdict", "why"]].to_numpy().tolist()
        == [[8, 10, "invalid", "It guesses."]] * 3
    )
    assert figures["planted"].tolist() == [[], [], []]
    assert not len(compare_doses_of_0(mostly_unfit, checks))


def test_readings_that_are_always_the_same_have_no_order() -> None:
    readings, checks = scripted({}, noise=0.0)
    gender = of_plant(figures_of((readings.assign(value=1.0), checks)), "gender")
    assert (gender["sensitivity"], counts_of(gender)) == (0, NOTHING)
    assert pd.isna(gender["monotone"])
    assert pd.isna(gender["correlation"])


def test_one_seed_gives_no_slope() -> None:
    readings, checks = scripted({"gender": 0.6})
    figures = figures_of((readings[readings["seed"] == 1], checks))
    assert figures["sensitivity"].isna().all()
    assert figures["why"].str.startswith("No slope: it takes two seeds with the same dose").all()
    assert figures["monotone"].notna().all()
