import math

import pandas as pd
import pytest

from evenruler.tables import rounded, without_last_bits
from evenruler.tables.rounding import for_people


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (0.123456789, 0.123457),
        (-0.0123456789, -0.0123457),
        (123456.789, 123457.0),
        (1234567.0, 1234570.0),
        (1 / 3 + 3e-15, 0.333333),
        (2.7e-15, 0.0),
        (1.234567890e-8, 1.2346e-8),
        (2.0, 2.0),
        (math.inf, math.inf),
    ],
)
def test_six_digits_and_twelve_decimals(value: float, expected: float) -> None:
    assert rounded(value) == expected


@pytest.mark.parametrize("value", [-0.0, -3e-18])
def test_zero_is_never_negative(value: float) -> None:
    assert math.copysign(1, rounded(value)) == 1


def test_not_a_number_stays_one() -> None:
    assert math.isnan(rounded(math.nan))


def test_only_columns_of_floats_are_touched() -> None:
    table = pd.DataFrame({"text": ["a", "b"], "n": [1234567, 2], "value": [1 / 3, None]})
    found = without_last_bits(table)
    assert list(found.columns) == list(table.columns)
    assert (found["text"].tolist(), found["n"].tolist()) == (["a", "b"], [1234567, 2])
    assert found["value"].tolist()[0] == 0.333333
    assert found["value"].isna().tolist() == [False, True]


def test_what_people_read_is_rounded_once() -> None:
    content = {
        "a": {"value": 0.924725, "p": 0.00216, "p_adjusted": 0.012987, "n": 43, "verdict": "x", "low": -0.0001},
        "list": [1.23456, None, True],
    }
    assert for_people(content) == {
        "a": {"value": 0.925, "p": 0.0022, "p_adjusted": 0.013, "n": 43, "verdict": "x", "low": 0.0},
        "list": [1.235, None, True],
    }
