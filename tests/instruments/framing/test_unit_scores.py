"""What the figures of a contrast are made of, row by row."""

import math

import pandas as pd

from evenruler.instruments.framing.diagnose import units
from evenruler.instruments.instrument import Record
from evenruler.tables import rows_of
from evenruler.tables.schemas import UNITS
from tests.instruments.framing.hair import subject

PROMPTS = pd.DataFrame(
    {"id": ["a", "b", "c"], "content_sha256": ["x", "y", "z"], "stimulus": ["bald", "long", "bald"]},
)
ROWS = rows_of(PROMPTS, ["stimulus"])

# By task, factor, placebo and stimulus. Of salience on bald: .1, .2 and .9, mean .4.
EFFECTS = [
    ("say", "salience", 0, "bald", 0.1),
    ("choose", "salience", 0, "bald", 0.2),
    ("complete", "salience", 0, "bald", 0.9),
    ("say", "salience", 0, "long", 0.5),
    ("say", "salience", 1, "long", 1.0),
    ("say", "instruction", 0, "long", 0.3),
]


def told(effects: list[tuple[str, str, int, str, float]], **more: str) -> pd.DataFrame:
    same = {"configuration": "plain", "metric": "token", **more}
    table = pd.DataFrame(effects, columns=["task", "factor", "placebo", "stimulus", "apd"]).assign(**same)
    return units(Record("hair", subject(name="m0"), {"prompts": PROMPTS}, {}, {"effects": table}))


def test_the_effect_of_a_cue_on_a_stimulus_is_the_mean_over_its_tasks_and_no_placebo_is_one() -> None:
    expected = [
        ("effect: instruction", "long", 0.3),
        ("effect: salience", "bald", 0.4),
        ("effect: salience", "long", 0.5),
    ]
    found = told(EFFECTS)
    assert list(found.columns) == UNITS.names
    assert found.drop(columns=["value", "beside"]).to_dict("records") == [
        {
            "part": "plain, token",
            "model": "m0",
            "figure": figure,
            "statistic": "mean",
            "unit": unit,
            "rows": ROWS[unit],
        }
        for figure, unit, _ in expected
    ]
    assert found["value"].round(12).tolist() == [value for *_, value in expected]
    assert all(map(math.isnan, found["beside"]))


def test_configurations_and_metrics_are_parts_of_their_own() -> None:
    for more, part in (({"configuration": "chat"}, "chat, token"), ({"metric": "choice"}, "plain, choice")):
        assert set(told(EFFECTS, **more)["part"]) == {part}


def test_where_only_placebos_were_measured_there_are_none() -> None:
    found = told(EFFECTS[4:5])
    assert (list(found.columns), len(found)) == (UNITS.names, 0)
