"""Means, response styles and differences of answers to Likert items."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import pandas as pd

from evenruler.instruments.instrument import Evidence, ModelMeta, Record, SchemasByTable, Tables
from evenruler.instruments.likert import schemas
from evenruler.instruments.likert.ask import MASS, SAMPLED, asks_letters
from evenruler.instruments.likert.declare import LikertPlan
from evenruler.instruments.likert.diagnose.figures import (
    Scale,
    Units,
    describe_items,
    describe_subscale,
    describe_whole,
    paired_test,
)
from evenruler.instruments.methods.choice import count_replies
from evenruler.instruments.methods.letters import check_mass
from evenruler.measurement.figures import Figure, as_rows, rows_by_benchmark
from evenruler.measurement.inputs import Resampling
from evenruler.measurement.nonresponse import validity_of_replies
from evenruler.measurement.verdicts import HeadlineTest, ValidityCheck
from evenruler.tables.frames import row_hashes

TABLES: SchemasByTable = {"figures": schemas.FIGURES, "headlines": schemas.HEADLINES}

UNIT_COLUMNS: Final = ("at", "word", "group", "axis_position")
"""Columns of the rows behind headlines that units of this family do not use."""


def figures(
    name: str,
    tables: Tables,
    plan: LikertPlan,
    scores: Tables,
    subject: ModelMeta,
    resampling: Resampling,
) -> Tables:
    """All figures, and the items behind headlines; none where nothing was asked."""
    scale = Scale(scores["responses"], plan)
    if scale.scored_answers.empty:
        return {table: pd.DataFrame(columns=schema.names) for table, schema in TABLES.items()}
    validity = _check_validity(scale.scored_answers)
    shown: list[Figure] = list(describe_whole(scale, resampling))
    units: list[Units] = []
    for part in scale.list_subscales():
        of_part, units_of_part = describe_subscale(part, validity, resampling)
        shown += of_part
        units += units_of_part
    shown += describe_items(scale, validity)
    method = MASS if asks_letters(subject) else SAMPLED
    rows = list(as_rows(shown, name, subject.name, method=method))
    hashes = row_hashes(tables["statements"], ["item"])
    headlines = [_headline_rows(of_headline, subject.name, method, hashes) for of_headline in units]
    return {
        "figures": pd.DataFrame(rows).reindex(columns=schemas.FIGURES.names),
        "headlines": pd.concat(headlines).reindex(columns=schemas.HEADLINES.names),
    }


def _check_validity(responses: pd.DataFrame) -> ValidityCheck:
    """Whether the replies are answers, or letters are what the model would answer with."""
    if responses["mass"].notna().any():
        return check_mass(responses["mass"])
    return validity_of_replies(count_replies(responses))


def _headline_rows(units: Units, model: str, method: str, hashes: "pd.Series[str]") -> pd.DataFrame:
    """The items behind a headline, by `schemas.HEADLINES`."""
    columns: dict[str, Any] = {**dict.fromkeys(UNIT_COLUMNS), **units.dimensions}
    columns |= {"figure": units.figure, "model": model, "method": method, "pole": 1}
    by_item = units.values.rename("value").rename_axis("unit").reset_index()
    return by_item.assign(rows=by_item["unit"].map(hashes), **columns)


def contrast(first: pd.DataFrame, second: pd.DataFrame, bound: float) -> HeadlineTest:
    """How many more points the first model has, over items that both answered."""
    differences = first.set_index("unit")["value"] - second.set_index("unit")["value"]
    figure = str(first["figure"].iloc[0])
    return paired_test(figure, differences.dropna().to_numpy(), bound)


def across(records: Sequence[Record[LikertPlan]], resampling: Resampling) -> Tables:
    """Nothing is of several models."""
    return {}


def evidence(tables: Tables) -> Mapping[str, Evidence]:
    """All figures; none where no model was asked."""
    return rows_by_benchmark(tables["figures"]) if len(tables["figures"]) else {}
