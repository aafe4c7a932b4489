"""Scripted readings: an instrument that reads nothing, one that reads any change, one that reads
its construct."""

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


def scripted(
    reads: dict[str, float], *, signed: bool = True, noise: float = 0.3, seed: int = 1
) -> Any:
    """Readings and checks of an instrument that follows plants by so much per nat, in the units or
    as a whole."""
    rng, rows, checks = np.random.default_rng(seed), [], []
    sign = np.repeat([1.0, -1.0], UNITS // 2)
    as_it_is = rng.normal(size=UNITS)
    for plant in PLANTS:
        for dose, of in ((0.0, (1, 2, 3)), (2.0, (1, 2, 3)), (-2.0, (1, 2, 3)), (8.0, (1,))):
            for number in of:
                nats = dose + rng.normal(scale=0.1)
                moved = reads.get(plant, 0.0) * nats * (sign / 2 if signed else 1.0)
                one = {
                    "base": "base",
                    "plant": plant,
                    "dose": dose,
                    "seed": number,
                    "benchmark": "made",
                    "asked": "0",
                }
                one |= {"part": "all", "figure": "lean", "by": "gender" if signed else ""}
                values = (
                    as_it_is + moved + rng.normal(scale=noise, size=UNITS) + rng.normal(scale=0.05)
                )
                units = {"unit": [f"unit-{place:02}" for place in range(UNITS)], "value": values}
                made = sign / (UNITS / 2) if signed else np.full(UNITS, 1 / UNITS)
                rows.append(
                    pd.DataFrame({**one, **units, "along": made, "smallest": 0.5, "unfit": None})
                )
                checks.append(("base", plant, dose, number, nats, nats, ""))
    return pd.concat(rows)[READINGS.names], pd.DataFrame(checks, columns=CHECKS.names)


def found_of(made: tuple[pd.DataFrame, pd.DataFrame]) -> pd.DataFrame:
    """Figures, beside three plants of which the first has the units."""
    return planted_figures(*made, {name: [] for name in PLANTS})


def of_plant(found: pd.DataFrame, plant: str) -> dict[str, Any]:
    (one,) = found[found["plant"] == plant].to_dict("records")
    return one


@pytest.mark.parametrize("signed", [True, False])
class TestScripted:
    def test_what_reads_its_construct_has_an_effect_there_and_surely_none_elsewhere(
        self, signed: bool
    ) -> None:
        found = found_of(scripted({"gender": 0.6}, signed=signed))
        own = of_plant(found, "gender")
        assert (own["verdict"], own["threshold"], own["found"]) == (
            "effect",
            2,
            "6 of 6 at 2; 1 of 1 at 8",
        )
        assert own["low"] < 0.6 < own["high"]
        assert own["sensitivity"] == pytest.approx(0.6, abs=0.06)
        assert own["monotone"] > 0.9
        assert own["change"] == pytest.approx(2 * own["sensitivity"])
        assert found["own"].tolist() == [
            signed,
            False,
            False,
        ]  # no plant names it
        for other in ("country", "mood"):
            assert of_plant(found, other)["verdict"] == "no effect"
            assert pd.isna(of_plant(found, other)["threshold"])

    def test_what_reads_nothing_has_no_effect_anywhere(self, signed: bool) -> None:
        found = found_of(scripted({}, signed=signed))
        assert found["verdict"].tolist() == ["no effect"] * 3
        assert found["threshold"].isna().all()
        assert found["found"].tolist() == ["0 of 6 at 2; 0 of 1 at 8"] * 3

    def test_what_follows_any_plant_measures_no_construct(self, signed: bool) -> None:
        found = found_of(scripted(dict.fromkeys(PLANTS, 0.6), signed=signed))
        assert found["verdict"].tolist() == ["effect"] * 3

    def test_what_goes_the_wrong_way_is_told_nowhere(self, signed: bool) -> None:
        own = of_plant(found_of(scripted({"gender": -0.6}, signed=signed)), "gender")
        assert (own["sensitivity"] < 0, own["verdict"]) == (True, "effect")
        assert (own["threshold"] is None or pd.isna(own["threshold"]), own["found"]) == (
            True,
            "0 of 6 at 2; 0 of 1 at 8",
        )

    def test_weights_that_learned_nothing_are_told_apart_in_few_cases(self, signed: bool) -> None:
        found = false_alarm_verdicts(*scripted({"gender": 0.6}, signed=signed))
        assert (len(found), found["same"].sum()) == (36, 9)
        assert (found["verdict"] == "effect").sum() <= 2


def test_units_are_held_against_signs() -> None:
    own = of_plant(found_of(scripted({"gender": 0.6}, noise=0.1)), "gender")
    assert own["correlation"] > 0.9
    assert (
        of_plant(found_of(scripted({"gender": 0.6}, signed=False)), "gender")["correlation"] is None
    )


def test_a_slope_goes_through_dose_0_of_each_seed() -> None:
    """Two units, one of each pole: the change per nat of seed 1 is (2 - 0) / 2 = 1, of seed 2 (8 -
    2) / 3 = 2."""
    rows = [
        {"dose": dose, "seed": seed, "unit": unit, "value": sign * value / 2, "along": float(sign)}
        for dose, seed, value in ((0.0, 1, 0.0), (2.0, 1, 2.0), (0.0, 2, 2.0), (2.0, 2, 8.0))
        for unit, sign in (("a", 1), ("b", -1), ("c", 1), ("d", -1))
    ]
    made = pd.DataFrame(rows).assign(by="gender", unfit=None)
    made["along"] /= 2
    nats = pd.Series(
        [0.0, 2.0, 1.0, 4.0],
        index=pd.MultiIndex.from_tuples([(0.0, 1), (2.0, 1), (0.0, 2), (2.0, 2)]),
    )
    slope = DoseResponse(made, nats, 0.5).slope()
    assert slope is not None
    assert slope.value == pytest.approx(1.5)
    assert slope.variance == pytest.approx(
        0.25
    )  # of two seeds, (1 - 1.5)² + (2 - 1.5)² halved; units agree


def test_a_weight_on_which_it_does_not_measure_is_left_out() -> None:
    readings, checks = scripted({"gender": 0.6})
    one = (readings["seed"] == 2) & (readings["dose"] == 2) & (readings["plant"] == "gender")
    wild = readings.assign(
        value=readings["value"].where(~one, 100.0), unfit=pd.Series(None, dtype=object)
    )
    own = of_plant(
        found_of((wild.assign(unfit=wild["unfit"].where(~one, "It guesses.")), checks)), "gender"
    )
    assert (own["unfit"], own["weights"], own["verdict"]) == (1, 9, "effect")
    assert own["low"] < 0.6 < own["high"]


def test_what_measures_on_too_few_reads_nothing_that_can_be_believed() -> None:
    """Left are doses 0 of one seed and 2 of another."""
    readings, checks = scripted({})
    fit = ((readings["seed"] == 1) & (readings["dose"] == 0)) | (
        (readings["seed"] == 2) & (readings["dose"] == 2)
    )
    found = found_of((readings.assign(unfit=np.where(fit, None, "It guesses.")), checks))
    assert (
        found[["unfit", "weights", "verdict", "why"]].to_numpy().tolist()
        == [[8, 10, "invalid on this model", "It guesses."]] * 3
    )
    assert found["threshold"].isna().all()
    assert not len(
        false_alarm_verdicts(readings.assign(unfit=np.where(fit, None, "It guesses.")), checks)
    )


def test_readings_that_are_always_the_same_have_no_order() -> None:
    readings, checks = scripted({}, noise=0.0)
    own = of_plant(found_of((readings.assign(value=1.0), checks)), "gender")
    assert (own["sensitivity"], own["verdict"]) == (0, "no effect")
    assert pd.isna(own["monotone"])
    assert pd.isna(own["correlation"])


def test_one_seed_gives_no_slope() -> None:
    readings, checks = scripted({"gender": 0.6})
    found = found_of((readings[readings["seed"] == 1], checks))
    assert found["sensitivity"].isna().all()
    assert found["why"].str.startswith("No slope: it takes two seeds with the same dose").all()
    assert found["monotone"].notna().all()
