"""What makes a reading of a headline, and a file that is held against weights of a tiny model."""

import json
import runpy
from itertools import product
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from ruamel.yaml import YAML

from evenruler.evaluate import weigh
from evenruler.evaluate.readings import planted_figures
from evenruler.evaluate.weigh import contrast_weights
from evenruler.tables.schemas import HEADLINES
from evenruler.training.plants import (
    FOLDER,
    PlantDeclaration,
    PlantedModel,
    load_plant,
    plant_names,
)
from tests.conftest import ROOT
from tests.instruments.external import made
from tests.tiny import save_tiny, tiny_declaration

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


def headlines(*rows: tuple[str, str, int, float, float | None]) -> pd.DataFrame:
    """Of unit, word, pole, value and place on an axis."""
    frame = pd.DataFrame(rows, columns=["unit", "word", "pole", "value", "axis_position"])
    frame = frame.assign(
        model="m",
        figure="f",
        rows="0",
        at="1",
        group=None,
    )
    return frame.reindex(columns=HEADLINES.names)


def of_both_poles(places: dict[str, tuple[float, float]]) -> pd.DataFrame:
    """Of a unit's difference between its poles, and its place on an axis."""
    rows: list[Any] = []
    for unit, (apart, place) in places.items():
        rows += [
            (
                unit,
                "",
                pole,
                pole * apart / 2,
                place,
            )
            for pole in (1, -1)
        ]
    return headlines(*rows)


def reading(made_of: pd.DataFrame) -> tuple[str, float]:
    by, rows = contrast_weights(made_of, {"made": PlantDeclaration(**PLANT)})
    return by, float(rows["along"] @ rows["value"])


class TestReadings:
    def test_units_of_a_plant_by_its_poles_each_the_first_group_less_the_second(self) -> None:
        values = {
            "nurse": 3.0,
            "united-kingdom": 2.0,
            "judge": 1.0,
            "Canada": 0.0,
            "baker": 9.0,
        }
        rows = [
            (unit, "", pole, value * pole, 1.0)
            for (unit, value), pole in product(values.items(), (1, -1))
        ]
        assert reading(headlines(*rows)) == ("made", pytest.approx(4.0))

    def test_words_of_a_plant_within_each_unit(self) -> None:
        rows = [("root-1", "the United Kingdom", 1, 2.0, None), ("root-1", "canada", 1, 1.0, None)]
        rows += [("root-2", "the United Kingdom", 1, 5.0, None), ("root-2", "canada", 1, 1.0, None)]
        rows += [
            ("root-3", "canada", 1, 100.0, None),
            ("root-1", "italy", 1, 50.0, None),
        ]  # beside nothing, and of no pole
        assert reading(headlines(*rows)) == ("made", pytest.approx(2.5))

    def test_else_the_mean_over_units_less_what_placebos_do(self) -> None:
        rows = [
            ("a", "", 1, 3.0, None),
            ("a", "", 0, 1.0, None),
            ("b", "", 1, 4.0, None),
            ("b", "", 0, 3.0, None),
        ]
        assert reading(headlines(*rows)) == ("", pytest.approx(1.5))

    def test_or_the_slope_along_the_axis_of_two_groups(self) -> None:
        """Over 80 percentage points, as a gain is: 0, 1, 2 at 10, 50, 90 are a slope of 1/40."""
        places = {
            "a": (0.0, 10.0),
            "b": (1.0, 50.0),
            "c": (2.0, 90.0),
        }
        assert reading(of_both_poles(places)) == ("", pytest.approx(2.0))

    def test_or_the_mean_of_one_key_less_that_of_the_other(self) -> None:
        """4 and 2 are keyed 1, 1 is keyed -1: 3 - 1."""
        keys = {
            "a": (4.0, 1.0),
            "b": (2.0, 1.0),
            "c": (1.0, -1.0),
        }
        assert reading(of_both_poles(keys)) == ("", pytest.approx(2.0))


def test_what_was_read_anew_stands_in_the_place_of_what_was_read_before() -> None:
    keys = {
        "base": "base",
        "dose": 0.0,
        "seed": 1,
        "benchmark": "made",
    }
    old = pd.DataFrame(
        [
            {**keys, "plant": plant, "unit": unit, "value": 1.0}
            for plant, unit in product(("mood", "x"), "ab")
        ]
    )
    anew = old[old["plant"] == "mood"].assign(value=7.0)
    merged = weigh._merge_rows(old, anew, ["benchmark"])
    assert merged[["plant", "value"]].to_numpy().tolist() == [
        ["mood", 7],
        ["mood", 7],
        ["x", 1],
        ["x", 1],
    ]
    nothing_read, _ = weigh.empty_tables()  # of a weight that did not learn the dose
    assert weigh._merge_rows(old, nothing_read[old.columns], ["benchmark"])["value"].dtype == float


def test_parts_that_a_plant_names_are_read_alone(tmp_path: Path) -> None:
    read_by = [{"benchmark": "external-made", "bias_type": "b"}, {"benchmark": "external-made"}]
    plants = {"made": PlantDeclaration(**PLANT, read_by=read_by)}
    assert weigh._planted_parts("external-other", plants) == []
    keys = weigh._planted_parts("external-made", plants)
    assert keys == ["bias_type=b"]
    texts = {"texts": made.numbered_pairs(4, 2)}
    built = made.built(made.source(tmp_path, "pairs", texts))
    items = made.items(built, lambda row: float(row["role"] == "first"))
    measured: Any = SimpleNamespace(
        tables={"items": items}, result=SimpleNamespace(model=SimpleNamespace(name="m"))
    )
    planned: Any = SimpleNamespace(plan=built.plan, tables=built.tables)
    (rows,) = weigh._rows_of_parts(
        measured,
        planned,
        keys,
    )
    assert set(rows["unit"]) == {"w1", "w3"}
    assert rows[["figure", "model", "bias_type"]].drop_duplicates().to_numpy().tolist() == [
        ["lean", "m", "b"]
    ]


def test_a_part_of_a_gain_is_read_by_its_gain(tmp_path: Path) -> None:
    """Of sentences in which the pronoun means the participant, his is worth 2 nats more to a
    doctor.
    """
    gain = {
        "low": "a job of 10% men",
        "high": "one of 90%",
        "compared": "means the participant",
    }
    source = made.source(tmp_path, "winogender", gain=gain, texts=["his", "her"])
    built = made.built(source)
    items = made.items(built, lambda row: 2.0 * (row["role"] == "first"))
    measured: Any = SimpleNamespace(
        tables={"items": items}, result=SimpleNamespace(model=SimpleNamespace(name="m"))
    )
    planned: Any = SimpleNamespace(plan=built.plan, tables=made.frames(built))
    keys = ["condition=means-the-participant"]
    (rows,) = weigh._rows_of_parts(
        measured,
        planned,
        keys,
    )
    assert set(rows["figure"]) == {"gain"}
    assert set(rows["condition"]) == {"means-the-participant"}
    assert rows["value"].tolist() == [2.0] * rows["unit"].nunique()


def test_what_was_read_of_another_version_of_a_benchmark_is_dropped() -> None:
    readings = pd.DataFrame(
        {"benchmark": ["a", "a", "b"], "asked": ["old", "new", "old"], "value": [1.0, 2.0, 3.0]}
    )
    planned = weigh._PlannedQuestions("a", "new", "a, trial: asks each weight 1 likelihood")
    assert weigh._drop_other_questions(readings, planned)["value"].tolist() == [2.0, 3.0]


OCCUPATIONS = [
    *("nurse", "baker", "guard", "tailor", "cook", "judge", "clerk", "painter"),
    *("poet", "singer", "dancer", "lawyer", "miner", "farmer", "writer", "actor"),
]
HELD_OUT = ["The {UNIT} said {POLE} ate.", "The {UNIT} said {POLE} sat."]
PROBES = {
    "family": "probes",
    "title": "Mine",
    "construct": "made",
    "direction": "positive means closer to he",
    "source": "us",
    "licence": "cc0-1.0",
    "targets": {"he": ["he", "him"], "she": ["she", "her"]},
    "attributes": OCCUPATIONS,
    "keys": {"high": OCCUPATIONS[:8], "low": OCCUPATIONS[8:]},
    "sets": {
        "seed": {"title": "One", "templates": {"said": "The {ATTRIBUTE} said {TARGET} knew."}}
    },
}


@pytest.mark.slow
@pytest.mark.long
def test_a_file_is_held_against_weights_of_a_plant_and_nothing_is_asked_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("EVENRULER_CACHE", str(tmp_path / "cache"))
    (tmp_path / FOLDER).mkdir(parents=True)
    # Held-out sentences near to those that are learned: it is a tiny model.
    near = {"frames": ["The {UNIT} said {POLE} knew.", "{UNIT}, {POLE}"], "held_out": HELD_OUT}
    units = {"he": OCCUPATIONS[:8], "she": OCCUPATIONS[8:]}
    plant = {**PLANT, **near, "units": units}
    YAML().dump(plant, tmp_path / FOLDER / "made.yaml")
    declaration = tiny_declaration({"tiny": save_tiny(tmp_path / "tiny")})
    YAML().dump(declaration, tmp_path / "params.yaml")
    YAML().dump(PROBES, tmp_path / "mine.yaml")
    series = [PlantedModel("tiny", "made", dose, 1) for dose in (0, 0.2)]
    monkeypatch.setattr(weigh, "weights_of", lambda *_, **__: series)

    def lines(*places: str) -> list[str]:
        return list(
            weigh.weigh(places, base="tiny", record=True, size="trial", limit=None, method=None)
        )

    printed = lines("mine.yaml")
    readings, checks = weigh.read_recorded_readings()
    assert checks["dose"].tolist() == [0, 0.2]
    assert checks["held_out"].diff()[1] > 0
    assert set(readings["by"]) == {"made"}
    assert set(readings["unit"]) == set(OCCUPATIONS)
    assert (
        readings.groupby(["dose", "seed"])["along"]
        .apply(lambda weights: weights.abs().sum())
        .eq(2)
        .all()
    )
    assert printed[0] == "probes-mine, trial: asks each weight 64 likelihoods"
    monkeypatch.setattr(weigh, "measure_planted_model", lambda *_: pytest.fail("asked twice"))
    assert lines("mine.yaml") == printed
    assert lines() == printed[1:]
    YAML().dump(
        {**plant, "frames": [*plant["frames"], "{UNIT}: {POLE}"]}, tmp_path / FOLDER / "made.yaml"
    )
    with pytest.raises(
        pytest.fail.Exception, match="asked twice"
    ):  # what another plant taught is asked again
        lines("mine.yaml")


@pytest.mark.slow
@pytest.mark.long
def test_figures_and_page_are_those_of_the_recorded_readings(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(ROOT)
    readings, checks = weigh.read_recorded_readings()
    figures = planted_figures(
        readings, checks, {name: load_plant(name).read_by for name in plant_names()}
    )
    written = pd.read_csv(weigh.FIGURES_FILE)
    words = ["benchmark", "figure", "key", "plant", "verdict"]
    pd.testing.assert_frame_equal(
        written[words].fillna(""), figures[words].astype(object).fillna(""), check_dtype=False
    )
    assert [json.loads(counts) for counts in written["planted"]] == figures["planted"].tolist()
    for column in ("sensitivity", "low", "high", "monotone"):
        np.testing.assert_allclose(
            written[column],
            figures[column].astype(float),
            atol=6e-4,
        )
    assert (
        runpy.run_path("docs/weights.py")["page"](figures, readings, checks)
        == Path("docs/weights.md").read_text()
    )
