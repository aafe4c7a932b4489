"""Scripted readings: an instrument that reads nothing, one that reads any change, one that reads
its construct."""

from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest

from evenruler.evaluate.readings import (
    CHECKS,
    READINGS,
    DoseResponse,
    false_alarm_verdicts,
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
    readings = readings.assign(by="gender" if signed else "", smallest=0.5, unfit=None)
    return readings[READINGS.names], pd.DataFrame(checks, columns=CHECKS.names)


def found_of(scripted_tables: tuple[pd.DataFrame, pd.DataFrame]) -> pd.DataFrame:
    """Figures, beside three plants of which the first has the units."""
    return planted_figures(*scripted_tables, {name: [] for name in PLANTS})


def of_plant(figures: pd.DataFrame, plant: str) -> dict[str, Any]:
    (row,) = figures[figures["plant"] == plant].to_dict("records")
    return row


@pytest.mark.parametrize("signed", [True, False])
class TestScripted:
    def test_what_reads_its_construct_has_an_effect_there_and_surely_none_elsewhere(
        self, signed: bool
    ) -> None:
        figures = found_of(scripted({"gender": 0.6}, signed=signed))
        gender = of_plant(figures, "gender")
        assert (gender["verdict"], gender["threshold"], gender["found"]) == (
            "effect",
            2,
            "6 of 6 at 2; 1 of 1 at 8",
        )
        assert gender["low"] < 0.6 < gender["high"]
        assert gender["sensitivity"] == pytest.approx(0.6, abs=0.06)
        assert gender["monotone"] > 0.9
        assert gender["change"] == pytest.approx(2 * gender["sensitivity"])
        assert figures["own"].tolist() == [
            signed,
            False,
            False,
        ]  # no plant names it
        for other in ("country", "mood"):
            assert of_plant(figures, other)["verdict"] == "no effect"
            assert pd.isna(of_plant(figures, other)["threshold"])

    def test_what_reads_nothing_has_no_effect_anywhere(self, signed: bool) -> None:
        figures = found_of(scripted({}, signed=signed))
        assert figures["verdict"].tolist() == ["no effect"] * 3
        assert figures["threshold"].isna().all()
        assert figures["found"].tolist() == ["0 of 6 at 2; 0 of 1 at 8"] * 3

    def test_what_follows_any_plant_measures_no_construct(self, signed: bool) -> None:
        figures = found_of(scripted(dict.fromkeys(PLANTS, 0.6), signed=signed))
        assert figures["verdict"].tolist() == ["effect"] * 3

    def test_what_goes_the_wrong_way_is_told_nowhere(self, signed: bool) -> None:
        gender = of_plant(found_of(scripted({"gender": -0.6}, signed=signed)), "gender")
        assert gender["sensitivity"] < 0
        assert gender["verdict"] == "effect"
        assert pd.isna(gender["threshold"])
        assert gender["found"] == "0 of 6 at 2; 0 of 1 at 8"

    def test_weights_that_learned_nothing_are_told_apart_in_few_cases(self, signed: bool) -> None:
        verdicts = false_alarm_verdicts(*scripted({"gender": 0.6}, signed=signed))
        assert (len(verdicts), verdicts["same"].sum()) == (36, 9)
        assert (verdicts["verdict"] == "effect").sum() <= 2


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
    gender = of_plant(found_of(scripted({"gender": 0.6}, noise=0.1)), "gender")
    assert gender["correlation"] > 0.9
    unsigned = of_plant(found_of(scripted({"gender": 0.6}, signed=False)), "gender")
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
    slope = DoseResponse(readings, nats, 0.5).slope()
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
    gender = of_plant(found_of((wild, checks)), "gender")
    assert (gender["unfit"], gender["weights"], gender["verdict"]) == (1, 9, "effect")
    assert gender["low"] < 0.6 < gender["high"]


def test_what_measures_on_too_few_reads_nothing_that_can_be_believed() -> None:
    """Left are doses 0 of one seed and 2 of another."""
    readings, checks = scripted({})
    fit = readings.eval("(seed == 1 and dose == 0) or (seed == 2 and dose == 2)")
    mostly_unfit = readings.assign(unfit=np.where(fit, None, "It guesses."))
    figures = found_of((mostly_unfit, checks))
    assert (
        figures[["unfit", "weights", "verdict", "why"]].to_numpy().tolist()
        == [[8, 10, "invalid on this model", "It guesses."]] * 3
    )
    assert figures["threshold"].isna().all()
    assert not len(false_alarm_verdicts(mostly_unfit, checks))


def test_readings_that_are_always_the_same_have_no_order() -> None:
    readings, checks = scripted({}, noise=0.0)
    gender = of_plant(found_of((readings.assign(value=1.0), checks)), "gender")
    assert (gender["sensitivity"], gender["verdict"]) == (0, "no effect")
    assert pd.isna(gender["monotone"])
    assert pd.isna(gender["correlation"])


def test_one_seed_gives_no_slope() -> None:
    readings, checks = scripted({"gender": 0.6})
    figures = found_of((readings[readings["seed"] == 1], checks))
    assert figures["sensitivity"].isna().all()
    assert figures["why"].str.startswith("No slope: it takes two seeds with the same dose").all()
    assert figures["monotone"].notna().all()
