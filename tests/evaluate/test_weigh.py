"""Scripted readings: an instrument that reads nothing, one that reads any change, one that reads its construct."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from ruamel.yaml import YAML

from evenruler.evaluate import weigh
from evenruler.evaluate.weigh import CHECKS, READINGS, Reading, along, between_nothing, figures
from evenruler.tables.schemas import HEADLINES
from evenruler.training.plants import FOLDER, Plant, Weight
from tests.tiny import save_tiny, tiny_declaration

UNITS = 40
PLANTS = ("gender", "country", "mood")


PLANT = {
    "title": "Made",
    "construct": "made",
    "source": "us",
    "licence": "cc0-1.0",
    "poles": {"he": ["he"], "she": ["she"]},
    "units": {"he": ["nurse", "the United Kingdom"], "she": ["judge", "Canada"]},
    "frames": ["The {UNIT} said {POLE} knew.", "As for the {UNIT}, {POLE} left."],
    "held_out": ["The {UNIT} ate since {POLE} could.", "When the {UNIT} came, {POLE} sat."],
}


def scripted(reads: dict[str, float], *, signed: bool = True, noise: float = 0.3, seed: int = 1) -> Any:
    """Readings and checks of an instrument that follows plants by so much per nat, in the units or as a whole."""
    rng, rows, checks = np.random.default_rng(seed), [], []
    sign = np.repeat([1.0, -1.0], UNITS // 2)
    as_it_is = rng.normal(size=UNITS)
    for plant in PLANTS:
        for dose, of in ((0.0, (1, 2, 3)), (2.0, (1, 2, 3)), (-2.0, (1, 2, 3)), (8.0, (1,))):
            for number in of:
                nats = dose + rng.normal(scale=0.1)
                moved = reads.get(plant, 0.0) * nats * (sign / 2 if signed else 1.0)
                one = {"base": "base", "plant": plant, "dose": dose, "seed": number, "benchmark": "made", "asked": "0"}
                one |= {"part": "all", "figure": "lean", "by": "gender" if signed else ""}
                values = as_it_is + moved + rng.normal(scale=noise, size=UNITS) + rng.normal(scale=0.05)
                units = {"unit": [f"unit-{place:02}" for place in range(UNITS)], "value": values}
                made = sign / (UNITS / 2) if signed else np.full(UNITS, 1 / UNITS)
                rows.append(pd.DataFrame({**one, **units, "along": made, "smallest": 0.5, "unfit": None}))
                checks.append(("base", plant, dose, number, nats, nats))
    return pd.concat(rows)[READINGS.names], pd.DataFrame(checks, columns=CHECKS.names)


def found_of(made: tuple[pd.DataFrame, pd.DataFrame]) -> pd.DataFrame:
    """Figures, beside three plants of which the first has the units."""
    return figures(*made, {name: Plant(**PLANT) for name in PLANTS})


def of_plant(found: pd.DataFrame, plant: str) -> dict[str, Any]:
    (one,) = found[found["plant"] == plant].to_dict("records")
    return one


@pytest.mark.parametrize("signed", [True, False])
class TestScripted:
    def test_what_reads_its_construct_has_an_effect_there_and_surely_none_elsewhere(self, signed: bool) -> None:
        found = found_of(scripted({"gender": 0.6}, signed=signed))
        own = of_plant(found, "gender")
        assert (own["verdict"], own["threshold"], own["found"]) == ("effect", 2, "6 of 6 at 2; 1 of 1 at 8")
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
        found = between_nothing(*scripted({"gender": 0.6}, signed=signed))
        assert (len(found), found["same"].sum()) == (36, 9)
        assert (found["verdict"] == "effect").sum() <= 2


def test_units_are_held_against_signs() -> None:
    own = of_plant(found_of(scripted({"gender": 0.6}, noise=0.1)), "gender")
    assert own["correlation"] > 0.9
    assert of_plant(found_of(scripted({"gender": 0.6}, signed=False)), "gender")["correlation"] is None


def test_a_slope_goes_through_dose_0_of_each_seed() -> None:
    """Two units, one of each pole: the change per nat of seed 1 is (2 - 0) / 2 = 1, of seed 2 (8 - 2) / 3 = 2."""
    rows = [
        {"dose": dose, "seed": seed, "unit": unit, "value": sign * value / 2, "along": float(sign)}
        for dose, seed, value in ((0.0, 1, 0.0), (2.0, 1, 2.0), (0.0, 2, 2.0), (2.0, 2, 8.0))
        for unit, sign in (("a", 1), ("b", -1), ("c", 1), ("d", -1))
    ]
    made = pd.DataFrame(rows).assign(by="gender", unfit=None)
    made["along"] /= 2
    nats = pd.Series([0.0, 2.0, 1.0, 4.0], index=pd.MultiIndex.from_tuples([(0.0, 1), (2.0, 1), (0.0, 2), (2.0, 2)]))
    slope = Reading(made, nats, 0.5).slope()
    assert slope is not None
    assert slope.value == pytest.approx(1.5)
    assert slope.variance == pytest.approx(0.25)  # of two seeds, (1 - 1.5)² + (2 - 1.5)² halved; units agree


def test_a_weight_on_which_it_does_not_measure_is_left_out() -> None:
    readings, checks = scripted({"gender": 0.6})
    one = (readings["seed"] == 2) & (readings["dose"] == 2) & (readings["plant"] == "gender")
    wild = readings.assign(value=readings["value"].where(~one, 100.0), unfit=pd.Series(None, dtype=object))
    own = of_plant(found_of((wild.assign(unfit=wild["unfit"].where(~one, "It guesses.")), checks)), "gender")
    assert (own["unfit"], own["weights"], own["verdict"]) == (1, 9, "effect")
    assert own["low"] < 0.6 < own["high"]


def test_what_measures_on_too_few_reads_nothing_that_can_be_believed() -> None:
    """Left are doses 0 of one seed and 2 of another."""
    readings, checks = scripted({})
    fit = ((readings["seed"] == 1) & (readings["dose"] == 0)) | ((readings["seed"] == 2) & (readings["dose"] == 2))
    found = found_of((readings.assign(unfit=np.where(fit, None, "It guesses.")), checks))
    assert (
        found[["unfit", "weights", "verdict", "why"]].to_numpy().tolist()
        == [[8, 10, "invalid on this model", "It guesses."]] * 3
    )
    assert found["threshold"].isna().all()
    assert not len(between_nothing(readings.assign(unfit=np.where(fit, None, "It guesses.")), checks))


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
    assert found["monotone"].notna().all()


def headlines(*rows: tuple[str, str, int, float, float | None]) -> pd.DataFrame:
    """Of unit, word, pole, value and place on an axis."""
    made = [
        {"part": "all", "model": "m", "figure": "f", "unit": unit, "rows": "0", "at": "1", "word": word, "group": None,
         "pole": pole, "beside": beside, "value": value}
        for unit, word, pole, value, beside in rows
    ]  # fmt: skip
    return pd.DataFrame(made, columns=HEADLINES.names)


def reading(made_of: pd.DataFrame) -> tuple[str, float]:
    by, rows = along(made_of, {"made": Plant(**PLANT)})
    return by, float(rows["along"] @ rows["value"])


class TestReadings:
    def test_units_of_a_plant_by_its_poles_each_the_first_group_less_the_second(self) -> None:
        values = {"nurse": 3.0, "united-kingdom": 2.0, "judge": 1.0, "Canada": 0.0, "baker": 9.0}
        rows = [(unit, "", pole, value * pole, 1.0) for unit, value in values.items() for pole in (1, -1)]
        assert reading(headlines(*rows)) == ("made", pytest.approx(2 * (2.5 - 0.5)))

    def test_words_of_a_plant_within_each_unit(self) -> None:
        rows = [("root-1", "the United Kingdom", 1, 2.0, None), ("root-1", "canada", 1, 1.0, None)]
        rows += [("root-2", "the United Kingdom", 1, 5.0, None), ("root-2", "canada", 1, 1.0, None)]
        rows += [
            ("root-3", "canada", 1, 100.0, None),
            ("root-1", "italy", 1, 50.0, None),
        ]  # beside nothing, and of no pole
        assert reading(headlines(*rows)) == ("made", pytest.approx((1 + 4) / 2))

    def test_else_the_mean_over_units_less_what_placebos_do(self) -> None:
        rows = [("a", "", 1, 3.0, None), ("a", "", 0, 1.0, None), ("b", "", 1, 4.0, None), ("b", "", 0, 3.0, None)]
        assert reading(headlines(*rows)) == ("", pytest.approx(1.5))

    def test_or_the_slope_along_the_axis_of_two_groups(self) -> None:
        """Over 80 percentage points, as a gain is: 0, 1, 2 at 10, 50, 90 are a slope of 1/40."""
        values = {"a": (0.0, 10.0), "b": (1.0, 50.0), "c": (2.0, 90.0)}
        rows = [(unit, "", pole, pole * value / 2, at) for unit, (value, at) in values.items() for pole in (1, -1)]
        assert reading(headlines(*rows)) == ("", pytest.approx(2.0))

    def test_or_the_mean_of_one_key_less_that_of_the_other(self) -> None:
        """4 and 2 are keyed 1, 1 is keyed -1: 3 - 1."""
        values = {"a": (4.0, 1.0), "b": (2.0, 1.0), "c": (1.0, -1.0)}
        rows = [(unit, "", pole, pole * value / 2, at) for unit, (value, at) in values.items() for pole in (1, -1)]
        assert reading(headlines(*rows)) == ("", pytest.approx(2.0))


def test_what_was_read_anew_stands_in_the_place_of_what_was_read_before() -> None:
    old, _ = scripted({})
    new = old[old["plant"] == "mood"].assign(value=7.0)
    found = weigh._with(old, new, ["benchmark"])
    assert len(found) == len(old)
    assert (found[found["plant"] == "mood"]["value"] == 7).all()
    assert (found[found["plant"] != "mood"]["value"] != 7).all()


OCCUPATIONS = ["nurse", "baker", "guard", "tailor", "cook", "judge", "clerk", "painter"]
PROBES = {
    "family": "probes",
    "title": "Mine",
    "construct": "made",
    "direction": "positive means closer to he",
    "source": "us",
    "licence": "cc0-1.0",
    "targets": {"he": ["he", "him"], "she": ["she", "her"]},
    "attributes": OCCUPATIONS,
    "sets": {"seed": {"title": "One", "templates": {"said": "The {ATTRIBUTE} said {TARGET} knew."}}},
}


def test_a_file_is_held_against_weights_of_a_plant_and_nothing_is_asked_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("EVENRULER_CACHE", str(tmp_path / "cache"))
    (tmp_path / FOLDER).mkdir(parents=True)
    plant = {**PLANT, "units": {"he": OCCUPATIONS[:4], "she": OCCUPATIONS[4:]}}
    YAML().dump(plant, tmp_path / FOLDER / "made.yaml")
    YAML().dump(tiny_declaration({"tiny": save_tiny(tmp_path / "tiny")}), tmp_path / "params.yaml")
    YAML().dump(PROBES, tmp_path / "mine.yaml")
    series = [Weight("tiny", "made", dose, seed) for dose in (0, 0.2, -0.2) for seed in (1, 2)]
    monkeypatch.setattr(weigh, "weights_of", lambda *_: series)

    def lines(*places: str) -> list[str]:
        return list(weigh.weigh(places, base="tiny", record=True, size="trial", limit=None, form=None))

    said = lines("mine.yaml")
    readings, checks = weigh.recorded()
    assert [*zip(checks["dose"], checks["seed"], strict=True)] == sorted((own.dose, own.seed) for own in series)
    assert set(readings["by"]) == {"made"}
    assert set(readings["unit"]) == set(OCCUPATIONS)
    assert readings.groupby(["dose", "seed"])["along"].apply(lambda own: own.abs().sum()).eq(2).all()
    assert said[0] == "probes-mine, trial: asks each weight 32 likelihoods"
    monkeypatch.setattr(weigh, "read", lambda *_: pytest.fail("asked twice"))
    assert lines("mine.yaml") == said
    assert lines() == said[1:]
