"""What headlines detect of planted associations, as JSON."""

from evenruler.report.planted import planted_as_json

AT_TWO = {"dose": 2.0, "n": 6, "detected": 6, "opposite": 0, "low": 0.61, "high": 1.0}
AT_ONE = {"dose": 1.0, "n": 3, "detected": 0, "opposite": 1, "low": 0.0, "high": 0.56}
THRESHOLD = {
    "threshold": 1.5,
    "threshold_low": 1.0,
    "threshold_high": 2.5,
    "threshold_why": None,
}
RECORD = {
    "figure": "gain",
    "key": "set=next-word",
    "plant": "gender",
    "own": True,
    "verdict": None,
    "planted": [AT_TWO, AT_ONE],
    "nats_per_unit": 4.0,
    **THRESHOLD,
    "sensitivity": 0.25,
}


def test_headlines_have_counts_by_dose_and_nats_per_unit() -> None:
    other, invalid = {**RECORD, "own": False}, {**RECORD, "verdict": "invalid", "planted": []}
    (headline,) = planted_as_json([other, RECORD, invalid])
    assert headline.pop("planted") == [
        {"dose": 1.0, "n": 3, "detected": 0},
        {"dose": 2.0, "n": 6, "detected": 6},
    ]
    assert headline == {
        "figure": "gain",
        "key": "set=next-word",
        "plant": "gender",
        "nats_per_unit": 4.0,
        **THRESHOLD,
    }


def test_what_an_older_record_lacks_is_null() -> None:
    older = {name: RECORD[name] for name in ("figure", "key", "plant", "own", "verdict", "planted")}
    (headline,) = planted_as_json([older])
    assert headline["nats_per_unit"] is None
    assert headline["threshold"] is None


def test_nothing_planted_is_nothing() -> None:
    assert planted_as_json([]) == []
