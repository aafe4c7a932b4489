"""Tables of a domain: what has a verdict, refusals, topics, all figures, and what could not be computed."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from evenruler.instruments.saged.declare import ALIKE, BY_ROLE, FAVOUR, LEFT_OUT
from evenruler.instruments.saged.declare.settings import Settings, declared_as
from evenruler.measurement.verdicts import Verdict
from evenruler.report.page import Cell, Table
from evenruler.report.words import figure, listed, number, with_interval
from evenruler.strict import read_yaml

WORDS = read_yaml(Path(__file__).with_name("words.yaml"))
"""Titles and captions."""

_CAPTIONS = WORDS["tables"]


HEADLINES = [ALIKE, FAVOUR, BY_ROLE]
"""In the order that they are told in: what is said of concepts tells little where one is not spoken of."""


def confirmed(tables: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """One row a headline figure, `what` it is and `who` is named: silence, favour, then favour in one role."""
    figures = tables["figures"]
    found = figures[figures["figure"].isin(HEADLINES)]
    feature = found["part"].str.split(", ").str[-1].mask(found["figure"] == ALIKE, "silence")
    what = [name if name == ALIKE else f"{name}, {own}" for name, own in zip(found["figure"], feature, strict=True)]
    favour = tables["favour"].dropna(subset=["named"])
    named = {key: _named(own) for key, own in favour.groupby(["figure", "feature", "model"], sort=False)}
    who = [named.get(key, "") for key in zip(found["figure"], feature, found["model"], strict=True)]
    found = found.assign(what=what, who=who, order=found["figure"].map(HEADLINES.index).astype(int))
    return found.sort_values(["order", "model", "what"], kind="stable", ignore_index=True).drop(columns="order")


def _named(favour: pd.DataFrame) -> str:
    """Concepts of one figure, and whether more or less; once, also where a figure has a row for every role."""
    several = favour["role"].nunique() > 1
    told = [
        f"{one['concept']} {one['named']}" + (f" as {one['role']}" if several and one["named"] != LEFT_OUT else "")
        for one in favour.to_dict("records")
    ]
    return ", ".join(dict.fromkeys(told))


def confirmed_table(found: pd.DataFrame) -> list[Table]:
    """Every headline figure, beside what invented names do."""
    if found.empty:
        return []
    rows: list[list[str | Cell]] = []
    for one in found.to_dict("records"):
        verdict = Verdict(one["verdict"])
        rows.append(
            [
                str(one["what"]),
                str(one["model"]),
                Cell(str(verdict), verdict.mark),
                str(one["who"]) or "nobody",
                with_interval(one["value"], one["low"], one["high"]) or f"none ({one['reason']})",
                *(number(one[name], 3) or "none" for name in ("placebo", "smallest", "detectable")),
                str(one["levels"]),
            ]
        )
    columns = ["figure", "model", "verdict", "named", "largest difference", "invented names"]
    return [Table([*columns, "worth naming", "found", "of"], rows, "Who is treated otherwise", _CAPTIONS["confirmed"])]


def metric_in_words(metric: str) -> str:
    """The name of a disparity as people say it."""
    return str(WORDS["metrics"].get(metric, metric.replace("_", " ")))


def kind_of(feature: str, settings: Settings) -> str | None:
    """How a column of numbers is measured."""
    declared = declared_as(feature, settings.features)
    return None if declared is None else settings.features[declared].kind


MOST_TOPICS, MOST_FIGURES, MOST_REASONS = 24, 40, 25
"""Rows of a table on the page; the caption counts the others."""
MOST_WORDS, MOST_NAMES = 6, 5
"""Of a topic, and in a list."""


def _cut(rows: list[list[str | Cell]], most: int, where: str) -> tuple[list[list[str | Cell]], str]:
    """The first rows, and a sentence about the others."""
    return rows[:most], f" {len(rows) - most:,} more: {where}." if len(rows) > most else ""


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
    caption = _CAPTIONS["rates"]
    columns = ["model", "role", "replies", "refusals", "empty"]
    if withheld:
        columns.append("not given")
        caption += _CAPTIONS["withheld"]
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
            f"{record['cluster']}: {', '.join(list(record['words'])[:MOST_WORDS]) or 'no words'} ({record['n']:,})"
            for record in own.sort_values("cluster").to_dict("records")
        ]
        rows.append([str(feature), str(model), str(part), "; ".join(said)])
    rows, more = _cut(rows, MOST_TOPICS, "in topics.parquet of the diagnosis")
    return [Table(["feature", "model", "replies of", "clusters"], rows, "Topics", f"{_CAPTIONS['topics']}{more}")]


def figures(figures: pd.DataFrame, disparities: pd.DataFrame) -> list[Table]:
    """Figures of quality, a row each, a column a model; those that are disparities stand elsewhere."""
    keys = disparities[["metric", "statistic"]].drop_duplicates().itertuples(index=False)
    elsewhere = [f"{metric} of {statistic}" for metric, statistic in keys]
    elsewhere += [*(f"{name}, calibrated" for name in elsewhere), *HEADLINES]
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
    # All that is computed in one table, with the reason where it is null.
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
    whole = whole.assign(reason=whole["reason"].str.replace(r" \(-?[\d.e-]+\)$", "", regex=True))
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
    return [
        Table(
            ["what", "reason", "of", "features", "how many"],
            rows,
            "What could not be computed",
            f"{_CAPTIONS['nulls']}{more}",
        )
    ]


def _every(found: list[str], of: int) -> str:
    """All names as one word, and many as few."""
    if len(found) == of:
        return "every one" if of > 1 else found[0]
    named = found if len(found) <= MOST_NAMES else [*found[: MOST_NAMES - 1], f"{len(found) - MOST_NAMES + 1} others"]
    return listed(named)
