"""What has a verdict: the difference in favour of every feature and model, and whom it favours."""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from evenruler.measurement.verdicts import Verdict
from evenruler.report.page import Cell, Table
from evenruler.report.words import missing, number, p_value, with_interval

MOST = 30
"""Rows of a table on the page."""


def confirmed(tables: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """One row a figure with a verdict, the surest first.

    Args:
        tables: `figures` and `favour` of one domain.

    Returns:
        The columns of `figures`; `feature`, and `most` and `least`, the concepts at the two ends in favour.
    """
    figures = tables["figures"]
    found = figures[figures["verdict"].notna()]
    found = found.assign(feature=found["part"].str.split(", ").str[-1])
    ends = [_ends(tables["favour"], one["model"], one["feature"]) for one in found.to_dict("records")]
    found = found.assign(most=[most for most, _ in ends], least=[least for _, least in ends])
    return found.sort_values(["p_adjusted", "model", "feature"], na_position="last", kind="stable", ignore_index=True)


def beyond(found: pd.DataFrame) -> pd.DataFrame:
    """Those that are beyond their controls."""
    return found[found["verdict"] == str(Verdict.BEYOND)]


def _ends(favour: pd.DataFrame, model: str, feature: str) -> tuple[str, str]:
    own = favour[(favour["model"] == model) & (favour["feature"] == feature)].dropna(subset=["mean"])
    if own.empty:
        return "", ""
    own = own.sort_values("mean", ascending=bool((own["better"] == "lower").all()), kind="stable")
    return str(own["concept"].iloc[0]), str(own["concept"].iloc[-1])


def confirmed_table(found: pd.DataFrame) -> list[Table]:
    """Every figure with a verdict, beside its control."""
    if found.empty:
        return []
    rows = [_row(one) for one in found.to_dict("records")]
    caption = (
        "Range over concepts of the mean of replies in all roles, without names; what root items and noise bring is "
        "taken off. "
        "Control: the same of shuffled concepts. p by shuffling concepts within root items, adjusted over the features "
        "of a model (Holm); n counts root items. The two concepts at the ends are named whatever the verdict is."
    )
    columns = ["feature", "model", "verdict", "difference in favour", "control", "adjusted p", "most, least in favour"]
    return [Table(columns, rows, "Differences in favour", caption)]


def _row(one: Mapping[Any, Any]) -> list[str | Cell]:
    verdict = Verdict(one["verdict"])
    value = with_interval(one["value"], one["low"], one["high"]) or f"none ({one['reason']})"
    return [
        str(one["feature"]),
        str(one["model"]),
        Cell(str(verdict), verdict.mark),
        f"{value}, n\u00a0=\u00a0{one['n']}",
        "none" if missing(one["control"]) else number(one["control"], 3),
        p_value(one["p_adjusted"]) or "none",
        f"{one['most']}, {one['least']}" if one["most"] else "",
    ]


def between_table(between: pd.DataFrame) -> list[Table]:
    """What differs between roles and between models, the surest first."""
    found = between[between["p_adjusted"].notna()]
    if found.empty:
        return []
    found = found.sort_values(["p_adjusted", "feature"], kind="stable")
    rows: list[list[str | Cell]] = [
        [
            f"{one['first']} minus {one['second']}",
            f"{one['within']}, {one['template']}" if found["template"].nunique() > 1 else str(one["within"]),
            str(one["feature"]),
            str(one["figure"]),
            with_interval(one["value"], one["low"], one["high"]),
            p_value(one["p_adjusted"]),
        ]
        for one in found.head(MOST).to_dict("records")
    ]
    more = f" {len(found) - MOST:,} more in between.parquet of the diagnosis." if len(found) > MOST else ""
    caption = (
        "Replies to the same prompts, the smallest adjusted p first (Holm). Level: mean of the replies. Spread: "
        "standard deviation over concepts, noise taken off. Pattern: the same of the differences themselves, that is "
        f"whether the two favour other concepts.{more}"
    )
    columns = ["compared", "within", "feature", "figure", "difference", "adjusted p"]
    return [Table(columns, rows, "Between roles, between models", caption)]
