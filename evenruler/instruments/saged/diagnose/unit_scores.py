"""What two models or versions are compared by on a domain: a number a root item."""

import pandas as pd

from evenruler.instruments.instrument import Plan, Record
from evenruler.instruments.saged.ask import READS
from evenruler.tables import rows_of
from evenruler.tables.schemas import BARE, UNITS

LEVEL = "mean of replies"
"""What a feature is over all concepts. Disparities are no mean over root items, so they are not compared yet."""

_PART = ["role", "template", "feature"]


def by_root(features: pd.DataFrame, prompts: pd.DataFrame, plan: Plan) -> pd.DataFrame:
    """Every declared feature of the replies to the prompts of a root item, mean over its concepts.

    Args:
        features: By `schemas.FEATURES`.
        prompts: By `schemas.PROMPTS`.
        plan: Of the domain; columns of numbers that go by no declared name, as clusters, are left out.

    Returns:
        `role, template, feature, root_id, value`.
    """
    roots = prompts.set_index("id")["root_id"]
    parts = [_of_feature(features[features["feature"] == name], roots) for name in sorted(plan["features"])]
    found: pd.DataFrame = pd.concat(parts, ignore_index=True)
    return found.sort_values([*_PART, "root_id"], ignore_index=True)


def _of_feature(features: pd.DataFrame, roots: pd.Series) -> pd.DataFrame:
    """Of one feature: all at once, a million replies with 45 of them would be there twice."""
    counted = (features["framing"] == BARE) & features["value"].notna()
    own = features.loc[counted, [*_PART, "id", "value"]].astype(dict.fromkeys([*_PART, "id"], "category"))
    ids = own["id"].cat
    own["root_id"] = pd.Categorical(ids.categories.map(roots.get)).take(ids.codes.to_numpy())
    found = own.groupby([*_PART, "root_id"], observed=True)["value"].mean().reset_index()
    return found.astype(dict.fromkeys([*_PART, "root_id"], "str"))


def units(record: Record) -> pd.DataFrame:
    """The mean of every feature over the replies about a root item.

    Args:
        record: Of one domain on one model.

    Returns:
        By `tables.schemas.UNITS`, of `LEVEL`; none where the model gave no reply.
    """
    found = record.found.get("by_root")
    if found is None or found.empty:
        return pd.DataFrame(columns=UNITS.names)
    told: pd.DataFrame = found.assign(
        part=found["role"] + ", " + found["template"] + ", " + found["feature"],
        model=record.subject.name,
        figure=LEVEL,
        statistic="mean",
        unit=found["root_id"],
        rows=found["root_id"].map(rows_of(record.tables["prompts"].filter(READS["prompts"]), ["root_id"])),
        beside=float("nan"),
    )[UNITS.names]
    return told
