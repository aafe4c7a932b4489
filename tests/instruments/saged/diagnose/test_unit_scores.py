"""What two results are compared by on a domain, row by row."""

import math

import pandas as pd

from evenruler.instruments.instrument import Record
from evenruler.instruments.saged.diagnose.unit_scores import by_root, units
from evenruler.tables import rows_of
from evenruler.tables.schemas import UNITS
from tests.instruments.framing.hair import subject

PROMPTS = pd.DataFrame(
    {"id": ["a", "b", "c", "d"], "root_id": ["r2", "r2", "r2", "r1"], "content_sha256": ["w", "x", "y", "z"]}
)
PLAN = {"features": {"toxicity": {}, "sentiment": {}}}

# By feature, framing, id of the prompt and value. Of toxicity about r2: 0, .1 and .8, mean .3.
FEATURES = [
    ("toxicity", "bare", "a", 0.0),
    ("toxicity", "bare", "b", 0.1),
    ("toxicity", "bare", "c", 0.8),
    ("toxicity", "bare", "c", None),
    ("toxicity", "polite", "a", 1.0),
    ("toxicity", "bare", "d", 0.5),
    ("sentiment", "bare", "a", -1.0),
    ("cluster", "bare", "a", 7.0),
]


def measured(features: list[tuple[str, str, str, float | None]] = FEATURES) -> pd.DataFrame:
    table = pd.DataFrame(features, columns=["feature", "framing", "id", "value"])
    return table.assign(role="direct", template="plain").astype({"value": float})


def test_a_root_item_has_the_mean_over_the_replies_to_all_of_its_concepts() -> None:
    found = by_root(measured(), PROMPTS, PLAN)
    assert found["value"].round(12).tolist() == [-1.0, 0.5, 0.3]
    assert found.index.tolist() == [0, 1, 2]
    assert found.drop(columns="value").to_numpy().tolist() == [
        ["direct", "plain", "sentiment", "r2"],
        ["direct", "plain", "toxicity", "r1"],
        ["direct", "plain", "toxicity", "r2"],
    ]


def test_roles_and_templates_go_their_own_ways() -> None:
    several = [measured(), measured().assign(role="baseline", value=0.0), measured().assign(template="other", value=1)]
    rows = by_root(pd.concat(several, ignore_index=True), PROMPTS, PLAN)
    assert rows.index.tolist() == list(range(9))
    found = rows.set_index(["role", "template"])["value"]
    assert found.index.tolist() == [("baseline", "plain")] * 3 + [("direct", "other")] * 3 + [("direct", "plain")] * 3
    assert found.round(12).tolist() == [0, 0, 0, 1, 1, 1, -1, 0.5, 0.3]


def test_units_name_part_model_and_the_rows_they_rest_on() -> None:
    own = by_root(measured(), PROMPTS, PLAN)
    found = units(Record("roles", subject(name="m0"), {"prompts": PROMPTS}, {}, {"by_root": own}))
    rows = rows_of(PROMPTS, ["root_id"])
    assert list(found.columns) == UNITS.names
    assert found.drop(columns=["value", "beside"]).to_dict("records") == [
        {"part": f"direct, plain, {feature}", "model": "m0", "figure": "mean of replies"}
        | {"statistic": "mean", "unit": root, "rows": rows[root]}
        for feature, root in (("sentiment", "r2"), ("toxicity", "r1"), ("toxicity", "r2"))
    ]
    assert found["value"].tolist() == own["value"].tolist()
    assert all(map(math.isnan, found["beside"]))


def test_who_gave_no_reply_has_none() -> None:
    empty = by_root(measured().iloc[:0], PROMPTS, PLAN)
    for tables in ({}, {"by_root": empty}):
        found = units(Record("roles", subject(name="m0"), {"prompts": PROMPTS}, {}, tables))
        assert (list(found.columns), len(found)) == (UNITS.names, 0)
