"""Tables of the saged family: findings, rates, topics, figures of quality, and what could not be computed."""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from evenruler.instruments.saged.declare.features import declared_as
from evenruler.instruments.saged.declare.headings import DIFFERENCE, SMALLEST
from evenruler.instruments.saged.declare.settings import Settings
from evenruler.instruments.saged.report.findings import SURE, configuration, metric_in_words, spread_of
from evenruler.report.page import Cell, Mark, Table
from evenruler.report.words import figure, listed, missing, number, p_value, with_interval

MOST_FINDINGS, MOST_TOPICS, MOST_FIGURES, MOST_REASONS = 15, 24, 40, 25
"""Rows of a table on the page; the caption counts the others."""
FOUR_FIFTHS = 0.8
WORDS, NAMES = 6, 5
"""Of a topic, and in a list."""


def _cut(rows: list[list[str | Cell]], most: int, where: str) -> tuple[list[list[str | Cell]], str]:
    """The first rows, and a sentence about the others."""
    return rows[:most], f" {len(rows) - most:,} more: {where}." if len(rows) > most else ""


def findings_table(found: pd.DataFrame, settings: Settings) -> list[Table]:
    """Which concept lies out where, the surest first."""
    if found.empty:
        return []
    rows, more = _cut([_finding(record) for record in found.to_dict("records")], MOST_FINDINGS, "in the pictures below")
    headline, spread = settings.disparities.headline, metric_in_words(spread_of(settings))
    counts = [f"{name} {(found['shape'] == name).sum()}" for name in ("concentrated", "mixed", "dispersed")]
    without = int(found["shape"].isna().sum())
    caption = (
        f"One row a feature of a configuration, the smallest adjusted p first: the {spread} of the {headline} over "
        "concepts, calibrated (what the baseline says is taken off) where there is a baseline; noise is taken off of "
        "it and of the impact ratio. Its shape is concentrated where the concept that lies farthest out is an outlier "
        "by Grubbs' test, dispersed where neither that nor Dixon's ratio finds one, mixed where Dixon's alone does, "
        "and none where concepts are not apart beyond chance (p before adjustment): "
        f"{', '.join(counts)}{f', none {without}' if without else ''}. Clusters "
        "are not in it: near to which topics replies are is no favour. A square: the concepts are apart beyond chance "
        f"(adjusted p below {SURE}); n counts them. Impact ratio: lowest selection rate over highest; below 0.8 it "
        "fails the four-fifths rule, with few replies by chance alone; a triangle: its whole interval is below."
        f"{more}"
    )
    own = ["who lies out", f"{spread} of {headline}", "raw", "adjusted p", "impact ratio"]
    return [Table(["feature", "configuration", *own], rows, "What lies out, described", caption)]


def _finding(record: Mapping[Any, Any]) -> list[str | Cell]:
    beyond = not missing(record["p_adjusted"]) and record["p_adjusted"] < SURE
    mark: Mark = "poor" if beyond else "told"
    spread = with_interval(record["value"], record["low"], record["high"])
    n = f", n\u00a0=\u00a0{record['n_groups']}"
    return [
        f"{record['feature']}, {record['calibration']}",
        configuration(record),
        Cell(_shape(record), mark),
        f"{spread}{n}" if spread else f"none ({record['spread_reason']})",
        number(record["raw"], 3),
        p_value(record["p_adjusted"]) or "none",
        _impact(record),
    ]


def _shape(record: Mapping[Any, Any]) -> str:
    if not isinstance(record["shape"], str):
        return f"none ({record['reason']})"
    return f"{record['shape']}: {record['group']}, {record['end']}, z\u00a0{record['z']:+.2f}"


def _impact(record: Mapping[Any, Any]) -> str | Cell:
    if missing(record["impact"]):
        return f"none ({record['impact_reason']})" if isinstance(record["impact_reason"], str) else ""
    who = f", {record['impact_group']}" if isinstance(record["impact_group"], str) else ""
    low, high = record["impact_low"], record["impact_high"]
    interval = "" if missing(low) else f" [{number(low)},\u00a0{number(high)}]"
    words = f"{number(record['impact'])}{interval}{who}"
    if record["impact_flag"] is not True:
        return words
    return Cell(f"{words}: below 0.8", "weak" if not missing(high) and high < FOUR_FIFTHS else None)


def rates(rates: pd.DataFrame) -> list[Table]:
    """Refusals and empty replies by configuration, and the concept that has most."""
    if rates.empty:
        return []
    rows: list[list[str | Cell]] = []
    withheld = bool(rates["withheld"].sum())
    for (model, role), own in rates.groupby(["model", "role"], sort=True):
        n = int(own["n"].sum())
        lacking = [f"{int(own['withheld'].sum()) or 'none'}"] if withheld else []
        of_replies = [_rate(own, name, n) for name in ("refusals", "empty")]
        rows.append([str(model), str(role), f"{n:,}", *of_replies, *lacking])
    caption = (
        "Replies that refuse, and replies without a word, both kept; in brackets the concept with the largest share. "
        "An empty reply has no features."
    )
    columns = ["model", "role", "replies", "refusals", "empty"]
    if withheld:
        columns.append("not given")
        caption += " Replies that a server did not give are none of them, and have no features either."
    return [Table(columns, rows, "Refusals and empty replies", caption)]


def _rate(own: pd.DataFrame, column: str, n: int) -> str:
    total = int(own[column].sum())
    if not total:
        return "none"
    by = own.groupby("concept", sort=True)[["n", column]].sum()
    shares = by[column] / by["n"].where(by["n"] > 0)
    most = shares.sort_values(ascending=False, kind="stable").index[0]
    own = by.loc[most]
    return f"{100 * total / n:.1f}%, {total:,} (most: {most}, {own[column]} of {own['n']})"


def topics(topics: pd.DataFrame, settings: Settings) -> list[Table]:
    """Words of every cluster, a row a part."""
    if topics.empty:
        return []
    declared = topics["feature"].map(
        {name: declared_as(name, settings.features) or name for name in topics["feature"].unique()}
    )
    rows: list[list[str | Cell]] = []
    for (feature, model, part), own in topics.groupby([declared, "model", "part"], sort=True):
        said = [
            f"{record['cluster']}: {', '.join(list(record['words'])[:WORDS]) or 'no words'} ({record['n']:,})"
            for record in own.sort_values("cluster").to_dict("records")
        ]
        rows.append([str(feature), str(model), str(part), "; ".join(said)])
    rows, more = _cut(rows, MOST_TOPICS, "in topics.parquet of the diagnosis")
    caption = f"Clusters of replies with the words that tell them apart, and how many replies are in each.{more}"
    return [Table(["feature", "model", "replies of", "clusters"], rows, "Topics", caption)]


def figures(figures: pd.DataFrame, disparities: pd.DataFrame) -> list[Table]:
    """Figures of quality, a row each, a column a model; those that are disparities stand elsewhere."""
    keys = disparities[["metric", "statistic"]].drop_duplicates().itertuples(index=False)
    elsewhere = [f"{metric} of {statistic}" for metric, statistic in keys]
    elsewhere += [*(f"{name}, calibrated" for name in elsewhere), DIFFERENCE, SMALLEST]
    figures = figures[~figures["figure"].isin(elsewhere)]
    if figures.empty:
        return []
    models = sorted(figures["model"].dropna().unique())
    rows: list[list[str | Cell]] = []
    for name, of_name in figures.sort_values("model", kind="stable").groupby("figure", sort=False):
        label = str(name).replace("_", " ")
        if of_name["value"].isna().all() and of_name["reason"].nunique() == 1:
            rows.append([label, "all", Cell(figure(of_name.iloc[0]), columns=max(1, len(models)))])
            continue
        for part, own in of_name.groupby("part", sort=False):
            by: dict[Any, Any] = {record["model"]: record for record in own.to_dict("records")}
            rows.append([label, str(part), *(figure(by.get(model)) for model in models)])
    rows, more = _cut(rows, MOST_FIGURES, "in figures.parquet of the diagnosis")
    units = listed(sorted(figures["unit"].unique()))
    caption = f"Values with 95% interval; n counts {units}.{more}"
    return [Table(["figure", "of", *(models or ["any model"])], rows, "How well it measures", caption)]


def not_computed(tables: Mapping[str, pd.DataFrame]) -> list[Table]:
    """Nulls, counted by reason."""
    whole = _nulls(tables)
    lacking = whole[whole["reason"].notna()]
    if lacking.empty:
        return []
    kinds = ["table", "calibration"]
    counts = {"n": ("reason", "size"), "what": ("what", "unique"), "feature": ("feature", "unique")}
    total = whole.groupby(kinds).agg(**counts)
    found = lacking.groupby([*kinds, "reason"], sort=False).agg(**counts).sort_values("n", ascending=False)
    found = found.join(total.add_suffix("_of_all"), on=kinds).reset_index()
    rows: list[list[str | Cell]] = [
        [
            f"{one['table']}, {one['calibration']}" if one["calibration"] else str(one["table"]),
            str(one["reason"]),
            *(_every(sorted(one[column]), len(one[f"{column}_of_all"])) for column in ("what", "feature")),
            f"{one['n']:,} of {one['n_of_all']:,}",
        ]
        for one in found.to_dict("records")
    ]
    rows, more = _cut(rows, MOST_REASONS, "in the tables of the diagnosis")
    caption = f"Numbers that are null, and why; the most frequent first.{more}"
    return [Table(["what", "reason", "of", "features", "how many"], rows, "What could not be computed", caption)]


def _nulls(tables: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """All that is computed in one table, with the reason where it is null."""
    disparities = tables["disparities"]
    said = [
        f"{metric_in_words(m)} of {s}" for m, s in zip(disparities["metric"], disparities["statistic"], strict=True)
    ]
    parts = {
        "summaries": tables["summaries"].assign(what=tables["summaries"]["statistic"]),
        "disparities": disparities.assign(what=pd.Series(said, disparities.index, dtype=object)),
        "shapes": tables["shapes"].assign(what="shape"),
        "bias of the tool": tables["tool_bias"].assign(what="mean", calibration=""),
        "bias of the context": tables["context_bias"].assign(what="mean"),
    }
    columns = ["table", "calibration", "what", "feature", "reason"]
    whole = pd.concat([part.assign(table=name)[columns] for name, part in parts.items()], ignore_index=True)
    # The number that a reason gives is of one cell: without it, the same reasons are counted together.
    return whole.assign(reason=whole["reason"].str.replace(r" \(-?[\d.e-]+\)$", "", regex=True))


def _every(found: list[str], of: int) -> str:
    """All names as one word, and many as few."""
    if len(found) == of:
        return "every one" if of > 1 else found[0]
    named = found if len(found) <= NAMES else [*found[: NAMES - 1], f"{len(found) - NAMES + 1} others"]
    return listed(named)
