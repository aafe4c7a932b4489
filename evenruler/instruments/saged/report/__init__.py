"""Report sections of the saged family: tables for each domain, then the pictures with their
drop-downs.
"""

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from evenruler.instruments.instrument import ReportInput
from evenruler.instruments.saged.declare import ALIKE, BY_ROLE, FAVOUR
from evenruler.instruments.saged.declare.settings import Settings, declared_as
from evenruler.instruments.saged.report import charts
from evenruler.report.page import Cell, Picture, Section, Table, make_tables
from evenruler.report.style import EVERY, Choices
from evenruler.report.words import format_figure, join_names
from evenruler.strict import read_yaml

__all__ = ["sections"]

Tables = Mapping[str, pd.DataFrame]
Rows = list[list[str | Cell]]

WORDS = read_yaml(Path(__file__).with_name("words.yaml"))  # titles and captions

TABLES, _SAID = WORDS["tables"], WORDS["pictures"]

MOST_WORDS, MOST_NAMES = 6, 5  # most words of a topic, most names in a list
MOST_ROWS = (
    120_000  # most rows of a table on the page; longer ones are reduced to the headline statistic
)
MOST_TOPICS = 12  # most topics of a domain in the picture
MOST_PANELS = 8  # most panels shown at first; with more configurations, the first model is chosen
CELL = ["domain", "feature", "calibration", "statistic", "model", "role"]


def sections(shown: ReportInput) -> list[Section]:
    """A section for every domain, in words and tables; then one with the pictures of all."""
    tables, groupings = (
        {name: _readable_rows(table, shown) for name, table in shown.tables.items()},
        dict[str, str](),
    )
    for name, settings in shown.settings.items():
        declared = ["+".join(columns) for columns in settings.disparities.grouping]
        groupings[name] = (
            "concept" if "concept" in declared else declared[0]
        )  # the one shown on the page
    every = tables["summaries"].groupby("domain")["grouping"].agg(set)
    for name, table in tables.items():
        if "grouping" in table:
            tables[name] = table[table["grouping"] == table["domain"].map(groupings)]
    other_groupings = {
        name: sorted(every.get(name, set()) - {groupings[name]}) for name in shown.settings
    }
    domain_sections = [
        _domain_section(name, settings, tables, other_groupings[name])
        for name, settings in shown.settings.items()
    ]
    return [*domain_sections, *picture_sections(shown.settings, tables)]


def _readable_rows(table: pd.DataFrame, shown: ReportInput) -> pd.DataFrame:
    """Rows of declared domains: concepts by name, role and template joined where there are several
    templates.
    """
    table = table.rename(columns={"benchmark": "domain"})  # figures call it so
    table = table[table["domain"].isin(list(shown.sources))]
    if {"role", "template"} <= set(table):
        many = {name: len(settings.templates) > 1 for name, settings in shown.settings.items()}
        several = table["domain"].map(many).astype(bool)
        table = table.assign(
            role=table["role"].where(~several, table["role"] + ", " + table["template"])
        )
    called = {
        name: {key: concept.name for key, concept in source.concepts.items()}
        for name, source in shown.sources.items()
    }
    for column in {"group", "concept"} & set(table):  # groups that are no concepts keep their names
        names = [
            called[name].get(key, key)
            for name, key in zip(table["domain"], table[column], strict=True)
        ]
        table = table.assign(**{column: pd.Series(names, table.index, dtype=object)})
    return table


def _domain_section(name: str, settings: Settings, shown: Tables, others: list[str]) -> Section:
    here = {table: rows[rows["domain"] == name] for table, rows in shown.items()}
    parts = [
        *_rate_tables(here),
        *_topic_tables(here, settings),
        *_figure_tables(here),
        *_not_computed(here),
    ]
    measured = {
        declared_as(feature, settings.features) for feature in here["summaries"]["feature"].unique()
    }
    lacking = [feature for feature in settings.features if measured and feature not in measured]
    sentences = [
        _lead_text(here),
        f"Declared but not measured at this scale or on this machine: {join_names(lacking)}."
        if lacking
        else "",
        f"Groups by {join_names(others)} are in the tables of the diagnosis, not on this page."
        if others
        else "",
    ]
    return Section("Replies", " ".join(filter(None, sentences)), parts, name)


def _lead_text(tables: Tables) -> str:
    """What was asked, in one sentence, and another if nothing could be compared."""
    rates, disparities = tables["rates"], tables["disparities"]
    if rates.empty:
        return "No model was asked."
    counts = {name: rates[name].nunique() for name in ("concept", "model", "role")}
    counts["feature"] = tables["summaries"]["feature"].nunique()
    concepts, models, roles, features = (
        f"{n:,} {what}{'' if n == 1 else 's'}" for what, n in counts.items()
    )
    sentences = [f"{concepts} asked about, {models} in {roles}, {features}."]
    if len(disparities) and disparities["value"].isna().all():
        sentences.append(f"Nothing could be compared: {disparities['reason'].mode().iloc[0]}.")
    return " ".join(sentences)


def _rate_tables(tables: Tables) -> list[Table]:
    """Shares of refusals, empty and cut replies by configuration, each with the concept that has
    most.
    """
    rates, rows = tables["rates"], Rows()
    withheld = bool(rates["withheld"].sum())
    for (model, role), group in rates.groupby(["model", "role"], sort=True):
        lacking = [f"{int(group['withheld'].sum()) or 'none'}"] if withheld else []
        shares = [_rate_text(group, name) for name in ("refusals", "empty", "cut")]
        rows.append([str(model), str(role), f"{int(group['n'].sum()):,}", *shares, *lacking])
    withheld_note = TABLES["rates"]["withheld"] if withheld else ""
    return make_tables(
        TABLES["rates"], rows, ["not given"] if withheld else [], withheld=withheld_note
    )


def _rate_text(rates: pd.DataFrame, column: str) -> str:
    if rates[column].isna().any():
        return "not said"  # a server did not say why replies ended
    total, n = int(rates[column].sum()), int(rates["n"].sum())
    if not total:
        return "none"
    by = rates.groupby("concept", sort=True)[["n", column]].sum()
    most = (
        (by[column] / by["n"].where(by["n"] > 0))
        .sort_values(ascending=False, kind="stable")
        .index[0]
    )
    return (
        f"{100 * total / n:.1f}%, {total:,} (most: {most}, {int(by.loc[most, column])} of "
        f"{by.loc[most, 'n']})"
    )


def _topic_tables(tables: Tables, settings: Settings) -> list[Table]:
    """Topic words of every cluster, one row per part."""
    topics, rows = tables["topics"], Rows()
    declared = topics["feature"].map(lambda name: declared_as(name, settings.features) or name)
    for (feature, model, part), group in topics.groupby([declared, "model", "part"], sort=True):
        cluster_labels = [
            f"{cluster['cluster']}: {', '.join(list(cluster['words'])[:MOST_WORDS]) or 'no words'} "
            f"({cluster['n']:,})"
            for cluster in group.sort_values("cluster").to_dict("records")
        ]
        rows.append([str(feature), str(model), str(part), "; ".join(cluster_labels)])
    return make_tables(TABLES["topics"], rows)


def _figure_tables(tables: Tables) -> list[Table]:
    """Quality figures, one row each, one column per model; the pictures show disparities, and the
    grid headlines.
    """
    figures, keys = (
        tables["figures"],
        tables["disparities"][["metric", "statistic"]].drop_duplicates(),
    )
    elsewhere = [f"{metric} of {statistic}" for metric, statistic in keys.itertuples(index=False)]
    elsewhere += [*(f"{name}, calibrated" for name in elsewhere), ALIKE, FAVOUR, BY_ROLE]
    figures = figures[~figures["figure"].isin(elsewhere)]
    models, rows = sorted(figures["model"].dropna().unique()), Rows()
    for name, of_name in figures.sort_values("model", kind="stable").groupby("figure", sort=False):
        label = str(name).replace("_", " ")
        if of_name["value"].isna().all() and of_name["reason"].nunique() == 1:
            rows.append(
                [label, "all", Cell(format_figure(of_name.iloc[0]), columns=max(1, len(models)))]
            )
            continue
        for part, group in of_name.groupby("part", sort=False):
            record_by_model: dict[Any, Any] = {
                record["model"]: record for record in group.to_dict("records")
            }
            rows.append(
                [label, str(part), *(format_figure(record_by_model.get(model)) for model in models)]
            )
    return make_tables(
        TABLES["figures"],
        rows,
        models or ["any model"],
        units=join_names(sorted(figures["unit"].unique())),
    )


def _not_computed(tables: Tables) -> list[Table]:
    """Null values in all tables of the diagnosis, counted by reason."""
    disparities, tool = tables["disparities"], tables["tool_bias"]
    parts = {
        "summaries": tables["summaries"].assign(what=tables["summaries"]["statistic"]),
        "disparities": disparities.assign(what=_in_words(disparities)),
        "shapes": tables["shapes"].assign(what="shape"),
        "bias of the tool": tool.assign(what="mean", calibration=""),
        "bias of the context": tables["context_bias"].assign(what="mean"),
    }
    columns, kinds = ["table", "calibration", "what", "feature", "reason"], ["table", "calibration"]
    whole = pd.concat(
        [part.assign(table=name)[columns] for name, part in parts.items()], ignore_index=True
    )
    # Reasons may contain a number of one cell: without it, equal reasons are counted together.
    whole = whole.assign(reason=whole["reason"].str.replace(r" \(-?[\d.e-]+\)$", "", regex=True))
    counts = {"n": ("reason", "size"), "what": ("what", "unique"), "feature": ("feature", "unique")}
    null_counts = (
        whole.dropna(subset=["reason"]).groupby([*kinds, "reason"], sort=False).agg(**counts)
    )
    of_all = whole.groupby(kinds).agg(**counts).add_suffix("_of_all")
    null_counts = null_counts.sort_values("n", ascending=False).join(of_all, on=kinds)
    rows: Rows = [
        [
            ", ".join(filter(None, (record["table"], record["calibration"]))),
            str(record["reason"]),
            *(
                _abbreviate_names(sorted(record[column]), len(record[f"{column}_of_all"]))
                for column in ("what", "feature")
            ),
            f"{record['n']:,} of {record['n_of_all']:,}",
        ]
        for record in null_counts.reset_index().to_dict("records")
    ]
    return make_tables(TABLES["nulls"], rows)


def _abbreviate_names(names: list[str], n_all: int) -> str:
    """Names in words: all as "every one", many as a few and the number of others."""
    if len(names) == n_all:
        return "every one" if n_all > 1 else names[0]
    named = (
        names
        if len(names) <= MOST_NAMES
        else [*names[: MOST_NAMES - 1], f"{len(names) - MOST_NAMES + 1} others"]
    )
    return join_names(named)


def _metric_label(name: str) -> str:
    return str(WORDS["metrics"].get(name, name.replace("_", " ")))


def _in_words(rows: pd.DataFrame) -> "pd.Series[str]":
    """Readable names of disparities."""
    return (rows["metric"].map(_metric_label) + " of " + rows["statistic"]).astype(str)


def picture_sections(settings: Mapping[str, Settings], tables: Tables) -> list[Section]:
    """One section with the pictures of all domains, for one grouping; concepts by their names."""
    if tables["summaries"].empty:
        return []
    headlines = {
        name: domain_settings.disparities.headline for name, domain_settings in settings.items()
    }
    called = " or ".join(dict.fromkeys(headlines.values()))
    summaries, compared = (
        table.assign(is_headline=table["statistic"] == table["domain"].map(headlines))
        for table in (tables["summaries"], _disparity_rows(tables))
    )
    summaries, few_summaries = _limit_rows(summaries, called)
    compared, few_disparities = _limit_rows(compared, called)
    choices = _collect_choices(settings, summaries, compared, tables["tool_bias"])
    heat = charts.draw_concepts(summaries[[*CELL, "group", "value", "n", "reason"]], choices)
    bars = charts.draw_disparities(compared.drop(columns=["statistic", "is_headline"]), choices)
    parts = [
        _make_picture("disparities", bars, few_disparities),
        _make_picture("concepts", heat, few_summaries),
    ]
    tools = tables["tool_bias"].rename(columns={"concept": "group"})
    tools = tools[["domain", "feature", "group", "difference", "mean", "n", "reason"]]
    contexts = tables["context_bias"].dropna(subset=["mean"])
    contexts = contexts[
        ["domain", "feature", "calibration", "model", "role", "context", "mean", "n"]
    ]
    texts, far, of_topics, more = _by_role(summaries, settings, tables["topics"])
    drawn: list[tuple[str, pd.DataFrame, Callable[..., Any], list[str]]] = [
        (
            "calibration",
            _deviation_rows(summaries[summaries["is_headline"]]),
            charts.draw_calibration,
            [],
        ),
        ("features", texts, charts.draw_features_by_role, []),
        ("distance", far, charts.by_role, [f"{called} distance from the baseline"]),
        ("topics", of_topics, charts.by_role, [called]),
        ("tool_bias", tools, charts.tool_bias, []),
        ("context_bias", contexts, charts.context_bias, []),
    ]
    for name, table, draw, title in drawn:
        if len(table):
            parts.append(
                _make_picture(name, draw(table, choices, *title), more if name == "topics" else "")
            )
    return [Section(_SAID["title"], _SAID["filters"], parts)]


def _make_picture(name: str, chart: Any, more: str) -> Picture:
    title, caption = _SAID[name]
    return Picture(title, f"{caption}{more}", chart)


def _limit_rows(table: pd.DataFrame, called: str) -> tuple[pd.DataFrame, str]:
    """The rows that the page shows, and a sentence if some are left out."""
    if len(table) <= MOST_ROWS:
        return table, ""
    return table[table["is_headline"]], _SAID["bounded"].format(n=len(table), headline=called)


def _disparity_rows(tables: Tables) -> pd.DataFrame:
    """Disparities by readable names, with the shape of their cell."""
    cell = [*CELL, "template", "grouping"]
    rows = tables["disparities"].join(tables["shapes"].set_index(cell)["shape"], on=cell)
    has_bar = rows["metric"].isin(["min_max_ratio", "min_impact_ratio"])  # a line at four fifths
    rows = rows.assign(disparity=_in_words(rows), ratio=has_bar.astype(int))
    numbers = ["value", "p_adjusted", "n_groups", "excess", "ratio"]
    return rows[[*CELL, "disparity", "group", "shape", "reason", *numbers]]


def _collect_choices(
    settings: Mapping[str, Settings],
    summaries: pd.DataFrame,
    compared: pd.DataFrame,
    tool: pd.DataFrame,
) -> Choices:
    """All names that pictures use, in the order of the declaration where there is one."""
    measured = sorted({*summaries["feature"], *tool["feature"]}, key=lambda name: (len(name), name))
    features, statistics, disparities, roles = list[str](), list[str](), list[str](), list[str]()
    for domain_settings in settings.values():
        declared = domain_settings.disparities
        features += [
            name
            for feature in domain_settings.features
            for name in measured
            if declared_as(name, domain_settings.features) == feature
        ]
        statistics += dict.fromkeys([declared.headline, *declared.statistics])
        disparities += [
            f"{_metric_label(metric)} of {statistic}"
            for statistic in statistics
            for metric in declared.metrics
        ]
        several = len(domain_settings.templates) > 1
        roles += [
            f"{role}, {template}" if several else role
            for role in domain_settings.roles
            for template in domain_settings.templates
        ]
    reasons = [
        reason for table in (summaries, compared, tool) for reason in table["reason"].dropna()
    ]
    names = {
        "domain": list(settings),
        "feature": _in_order(measured, features),
        "calibration": _in_order(summaries["calibration"], charts.CALIBRATIONS),
        "statistic": _in_order(summaries["statistic"], statistics),
        "disparity": _in_order(compared["disparity"], disparities),
        "model": _in_order(summaries["model"]),
        "role": _in_order(summaries["role"], roles),
        "group": _in_order([*summaries["group"], *tool["concept"], *compared["group"].dropna()]),
        "context": ["bad", "neutral", "good"],
        "shape": _in_order(compared["shape"].dropna()),
        "reason": _in_order(reasons),
    }
    few = len(names["model"]) * len(names["role"]) <= MOST_PANELS
    return Choices(names, {"model": EVERY if few else 0, "role": EVERY})


def _in_order(names: Iterable[str], declared: Iterable[str] = ()) -> list[str]:
    """The distinct names: in the order of the declaration, then undeclared ones."""
    here = sorted(set(names))
    return list(dict.fromkeys([*(name for name in declared if name in here), *here]))


def _by_role(
    summaries: pd.DataFrame, settings: Mapping[str, Settings], topics: pd.DataFrame
) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame, str]:
    """Means over concepts of text features, of distances, of the largest topics; and a sentence if
    there are others.
    """
    cells = summaries.dropna(subset=["value"]).groupby([*CELL, "is_headline"], sort=False)["value"]
    means = cells.agg(value="mean", lowest="min", highest="max", n_groups="count").reset_index()
    features = {name: domain_settings.features for name, domain_settings in settings.items()}
    measured_features = [
        (features[domain], name)
        for domain, name in zip(means["domain"], means["feature"], strict=True)
    ]
    kinds = [
        domain_features[as_].kind if (as_ := declared_as(name, domain_features)) else None
        for domain_features, name in measured_features
    ]
    kind = pd.Series(kinds, means.index, dtype=object)
    raw = (means["calibration"] == "raw") & means.pop("is_headline")
    sizes = (
        topics.groupby(["domain", "feature"])["n"].sum().sort_values(ascending=False, kind="stable")
    )
    largest = sizes.groupby("domain").head(MOST_TOPICS)
    drawn = raw & pd.MultiIndex.from_frame(means[["domain", "feature"]]).isin(largest.index)
    more = f" The {MOST_TOPICS} largest of a domain are drawn." if len(largest) < len(sizes) else ""
    columns = [name for name in means if name not in ("calibration", "statistic")]
    return (
        means[kind != "clusters"],
        means.loc[(kind == "distance") & raw, columns],
        means.loc[drawn, columns],
        more,
    )


def _deviation_rows(headline: pd.DataFrame) -> pd.DataFrame:
    """Deviations of concepts from the mean of all, raw and calibrated, for features that have a
    baseline.
    """
    cell, valued_rows = ["domain", "feature", "model", "role"], headline.dropna(subset=["value"])
    both = valued_rows[valued_rows.groupby(cell)["calibration"].transform("nunique") == 2]
    deviation = both["value"] - both.groupby([*cell, "calibration"])["value"].transform("mean")
    return both.assign(deviation=deviation)[
        [*cell, "calibration", "group", "deviation", "value", "n"]
    ]
