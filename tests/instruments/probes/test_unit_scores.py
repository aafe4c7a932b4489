"""What the figures of probes are made of, row by row."""

import pandas as pd
import pytest

from evenruler.instruments.instrument import Record
from evenruler.instruments.probes.diagnose.unit_scores import units
from evenruler.tables import rows_of
from evenruler.tables.schemas import UNITS
from tests.instruments.framing.hair import subject

PROBES = pd.DataFrame(
    [
        {"id": f"{of_set}-{attribute}-{control}", "content_sha256": "x", "set": of_set, "attribute": attribute}
        | {"control": control}
        for of_set in ("long", "short")
        for attribute in ("cook", "nurse", "judge")
        for control in (False, True)
    ]
)
ROWS = rows_of(PROBES[~PROBES["control"]], ["set", "attribute"])
ATTRIBUTES = pd.DataFrame({"attribute": ["judge", "cook", "nurse"], "criterion": [None, 0.25, 0.75]})

# Of each attribute over three templates: the mean of the cook is 3, the median 1.
BIASES = {("long", "cook"): [0.0, 1.0, 8.0], ("long", "judge"): [2.0], ("short", "cook"): [-1.0, -2.0]}


def told(attributes: pd.DataFrame = ATTRIBUTES, **found: pd.DataFrame) -> pd.DataFrame:
    return units(Record("roles", subject(name="m0"), {"probes": PROBES, "attributes": attributes}, {}, found))


def biases() -> pd.DataFrame:
    rows = [(*key, bias) for key, values in BIASES.items() for bias in values]
    return pd.DataFrame(rows, columns=["set", "attribute", "bias"])


def test_an_attribute_has_its_mean_bias_in_a_set_beside_its_criterion() -> None:
    found = told(biases=biases())
    assert list(found.columns) == UNITS.names
    assert set(found["model"]) == {"m0"}
    spread = [("long", "cook", 3.0), ("long", "judge", 2.0), ("short", "cook", -1.5)]
    known = [("long", "cook", 3.0), ("short", "cook", -1.5)]
    several = [("spread", "sd", spread), ("r", "correlation", known), ("slope", "slope", known)]
    assert found[["figure", "statistic", "part", "unit", "value", "rows"]].to_dict("records") == [
        {"figure": figure, "statistic": statistic, "part": part, "unit": unit, "value": value}
        | {"rows": ROWS[part, unit]}
        for figure, statistic, rows in several
        for part, unit, value in rows
    ]
    assert found["beside"].tolist() == pytest.approx([float("nan")] * 3 + [0.25] * 4, nan_ok=True)


def test_without_a_criterion_there_is_the_spread_alone() -> None:
    found = told(ATTRIBUTES.assign(criterion=None), biases=biases())
    assert found["figure"].tolist() == ["spread"] * 3


def test_who_says_no_likelihoods_has_none() -> None:
    found = told()
    assert (list(found.columns), len(found)) == (UNITS.names, 0)
