"""Report sections of the saged family: tables for each domain, then the pictures with their
drop-downs.
"""

from collections.abc import Callable, Iterable, Mapping
from itertools import product
from pathlib import Path
from typing import Any

import altair as alt
import pandas as pd

from evenruler.instruments.instrument import ReportInput
from evenruler.instruments.saged.declare import FAVOUR, FAVOUR_BY_ROLE, NONRESPONSE
from evenruler.instruments.saged.declare.settings import Settings, declared_as
from evenruler.instruments.saged.declare.source import Source
from evenruler.instruments.saged.report import charts
from evenruler.measurement.headings import part_of_instrument
from evenruler.report.formats import format_figure, join_names
from evenruler.report.page import Cell, Picture, Section, Table, make_tables
from evenruler.report.style import EVERY, Choices
from evenruler.strict import read_yaml

__all__ = ["sections"]

Tables = Mapping[str, pd.DataFrame]
Rows = list[list[str | Cell]]
DrawnTable = tuple[str, pd.DataFrame, Callable[..., Any], list[str]]
"""Name of a picture, its rows, the function that draws them, and the title it takes, if any."""

WORDS = read_yaml(Path(__file__).with_name("words.yaml"))  # titles and captions

TABLES, _SAID = WORDS["tables"], WORDS["pictures"]

MOST_WORDS, MOST_NAMES = 6, 5  # most words of a topic, most names in a list
MOST_ROWS = (
    120_000  # most rows of a table on the page; longer ones are reduced to the headline statistic
)
MOST_TOPICS = 12  # most topics of a domain in the picture
MOST_PANELS = 8  # most panels shown at first; with more configurations, the first model is chosen
CELL = ["domain", "feature", "calibration", "statistic", "model", "role"]


def sections(shown: ReportInput[Settings, Source]) -> list[Section]:
    """A section for every domain, in words and tables; then one with the pictures of all."""
    tables = {name: _readable_rows(table, shown) for name, table in shown.tables.items()}
    groupings: dict[str, str] = {}  # the one shown on the page, by domain
    for name, settings in shown.settings.items():
        declared = ["+".join(columns) for columns in settings.disparities.grouping]
        groupings[name] = "concept" if "concept" in declared else declared[0]
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


def _readable_rows(table: pd.DataFrame, shown: ReportInput[Settings, Source]) -> pd.DataFrame:
    """Rows of declared domains: concepts by name, role and template joined where there are several
    templates.
    """
    has_figures = "benchmark" in table  # figures call the domain so
    table = table.rename(columns={"benchmark": "domain"})
    table = table[table["domain"].isin(list(shown.sources))]
    if {"role", "template"} <= set(table) and not has_figures:
        many = {name: len(settings.templates) > 1 for name, settings in shown.settings.items()}
        several = table["domain"].map(many).astype(bool)
        role_and_template = table["role"] + ", " + table["template"]
        table = table.assign(role=table["role"].where(~several, role_and_template))
    called: dict[str, dict[str, str]] = {}
    for name, source in shown.sources.items():
        called[name] = {key: concept.name for key, concept in source.concepts.items()}
    for column in {"group", "concept"} & set(table):  # groups that are no concepts keep their names
        names = [
            called[name].get(key, key)
            for name, key in zip(table["domain"], table[column], strict=True)
        ]
        table = table.assign(**{column: pd.Series(names, table.index, dtype=object)})
    return table


def _domain_section(
    name: str, settings: Settings, shown: Tables, other_groupings: list[str]
) -> Section:
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
    sentences = [_lead_text(here)]
    if lacking:
        sentences.append(
            f"Declared but not measured at this profile or on this machine: {join_names(lacking)}."
        )
    if other_groupings:
        columns = join_names(other_groupings)
        sentences.append(
            f"Groups by {columns} are in the tables of the diagnosis, not on this page."
        )
    return Section("Replies", " ".join(sentences), parts, name)


def _lead_text(tables: Tables) -> str:
    """What was asked, in one sentence, and another if nothing could be compared."""
    rates, disparities = tables["rates"], tables["disparities"]
    if rates.empty:
        return "No model was asked."
    counts = {name: rates[name].nunique() for name in ("concept", "model", "role")}
    counts["feature"] = tables["summaries"]["feature"].nunique()
    quantities = []
    for noun, n in counts.items():
        ending = "" if n == 1 else "s"
        quantities.append(f"{n:,} {noun}{ending}")
    concepts, models, roles, features = quantities
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
        n = int(group["n"].sum())
        cells: list[str | Cell] = [str(model), str(role), f"{n:,}"]
        cells += [_rate_text(group, name) for name in ("refusals", "empty", "cut")]
        if withheld:
            n_withheld = int(group["withheld"].sum())
            cells.append(f"{n_withheld or 'none'}")
        rows.append(cells)
    withheld_note = TABLES["rates"]["withheld"] if withheld else ""
    return make_tables(
        TABLES["rates"], rows, ["not given"] if withheld else [], withheld=withheld_note
    )


def _rate_text(rates: pd.DataFrame, column: str) -> str:
    if rates[column].isna().any():
        return "not said"  # a server did not say why replies ended
    total = int(rates[column].sum())
    if not total:
        return "none"
    percent = 100 * total / int(rates["n"].sum())
    by = rates.groupby("concept", sort=True)[["n", column]].sum()
    shares = by[column] / by["n"].where(by["n"] > 0)
    most = shares.sort_values(ascending=False, kind="stable").index[0]
    n_most = int(by.loc[most, column])
    n_asked = by.loc[most, "n"]
    most_text = f"most: {most}, {n_most} of {n_asked}"
    return f"{percent:.1f}%, {total:,} ({most_text})"


def _topic_tables(tables: Tables, settings: Settings) -> list[Table]:
    """Topic words of every cluster, one row per part."""
    topics, rows = tables["topics"], Rows()
    declared = topics["feature"].map(lambda name: declared_as(name, settings.features) or name)
    for (feature, model, part), group in topics.groupby([declared, "model", "part"], sort=True):
        cluster_labels = []
        for cluster in group.sort_values("cluster").to_dict("records"):
            words = ", ".join(list(cluster["words"])[:MOST_WORDS]) or "no words"
            number, n = cluster["cluster"], cluster["n"]
            cluster_labels.append(f"{number}: {words} ({n:,})")
        clusters = "; ".join(cluster_labels)
        rows.append([str(feature), str(model), str(part), clusters])
    return make_tables(TABLES["topics"], rows)


def _figure_tables(tables: Tables) -> list[Table]:
    """Quality figures, one row each, one column per model; the pictures show disparities, and the
    grid headlines.
    """
    figures = tables["figures"]
    is_headline = figures["figure"].isin([NONRESPONSE, FAVOUR, FAVOUR_BY_ROLE])
    figures = figures[~is_headline & figures["statistic"].isna()]
    rows_of_figures = [dict(row) for _, row in figures.drop(columns="domain").iterrows()]
    figures = figures.assign(part=[part_of_instrument(row) for row in rows_of_figures])
    models, rows = sorted(figures["model"].dropna().unique()), Rows()
    for name, of_name in figures.sort_values("model", kind="stable").groupby("figure", sort=False):
        label = str(name).replace("_", " ")
        if of_name["value"].isna().all() and of_name["reason"].nunique() == 1:
            wide_cell = Cell(format_figure(of_name.iloc[0]), columns=max(1, len(models)))
            rows.append([label, "all", wide_cell])
            continue
        for part, group in of_name.groupby("part", sort=False):
            record_by_model: dict[Any, Any] = {
                record["model"]: record for record in group.to_dict("records")
            }
            cells = [format_figure(record_by_model.get(model)) for model in models]
            rows.append([label, str(part), *cells])
    return make_tables(
        TABLES["figures"],
        rows,
        models or ["any model"],
        units=join_names(sorted(figures["unit"].unique())),
    )


def _not_computed(tables: Tables) -> list[Table]:
    """Null values in all tables of the diagnosis, counted by reason."""
    summaries, disparities = tables["summaries"], tables["disparities"]
    parts = {
        "summaries": summaries.assign(what=summaries["statistic"]),
        "disparities": disparities.assign(what=_in_words(disparities)),
        "shapes": tables["shapes"].assign(what="shape"),
    }
    parts["bias of the tool"] = tables["tool_bias"].assign(what="mean", calibration="")
    parts["bias of the context"] = tables["context_bias"].assign(what="mean")
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
    rows: Rows = []
    for record in null_counts.reset_index().to_dict("records"):
        table_label = ", ".join(filter(None, (record["table"], record["calibration"])))
        what = _abbreviate_names(sorted(record["what"]), len(record["what_of_all"]))
        features = _abbreviate_names(sorted(record["feature"]), len(record["feature_of_all"]))
        n_null = f"{record['n']:,} of {record['n_of_all']:,}"
        rows.append([table_label, str(record["reason"]), what, features, n_null])
    return make_tables(TABLES["nulls"], rows)


def _abbreviate_names(names: list[str], n_all: int) -> str:
    """Names in words: all as "every one", many as a few and the number of others."""
    if len(names) == n_all:
        return "every one" if n_all > 1 else names[0]
    if len(names) > MOST_NAMES:
        n_others = len(names) - MOST_NAMES + 1
        names = [*names[: MOST_NAMES - 1], f"{n_others} others"]
    return join_names(names)


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
    deviations = _deviation_rows(summaries[summaries["is_headline"]])
    drawn: list[DrawnTable] = [
        ("calibration", deviations, charts.draw_calibration, []),
        ("features", texts, charts.draw_features_by_role, []),
        ("distance", far, charts.by_role, [f"{called} distance from the baseline"]),
        ("topics", of_topics, charts.by_role, [called]),
        ("tool_bias", tools, charts.tool_bias, []),
        ("context_bias", contexts, charts.context_bias, []),
    ]
    for name, table, draw, title in drawn:
        if len(table):
            chart = draw(table, choices, *title)
            parts.append(_make_picture(name, chart, more if name == "topics" else ""))
    return [Section(_SAID["title"], _SAID["filters"], parts)]


def _make_picture(name: str, chart: alt.TopLevelMixin, more: str) -> Picture:
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
    measured_names = {*summaries["feature"], *tool["feature"]}
    measured = sorted(measured_names, key=lambda name: (len(name), name))
    features: list[str] = []
    statistics: list[str] = []
    disparities: list[str] = []
    roles: list[str] = []
    for domain_settings in settings.values():
        declared = domain_settings.disparities
        for feature in domain_settings.features:
            features += [
                name for name in measured if declared_as(name, domain_settings.features) == feature
            ]
        statistics += dict.fromkeys([declared.headline, *declared.statistics])
        disparities += [
            f"{_metric_label(metric)} of {statistic}"
            for statistic, metric in product(statistics, declared.metrics)
        ]
        several = len(domain_settings.templates) > 1
        roles += [
            f"{role}, {template}" if several else role
            for role, template in product(domain_settings.roles, domain_settings.templates)
        ]
    groups = [*summaries["group"], *tool["concept"], *compared["group"].dropna()]
    reasons: list[str] = []
    for table in (summaries, compared, tool):
        reasons += table["reason"].dropna().tolist()
    names = {
        "domain": list(settings),
        "feature": _in_order(measured, features),
        "calibration": _in_order(summaries["calibration"], charts.CALIBRATIONS),
        "statistic": _in_order(summaries["statistic"], statistics),
        "disparity": _in_order(compared["disparity"], disparities),
        "model": _in_order(summaries["model"]),
        "role": _in_order(summaries["role"], roles),
        "group": _in_order(groups),
        "context": ["bad", "neutral", "good"],
        "shape": _in_order(compared["shape"].dropna()),
        "reason": _in_order(reasons),
    }
    few = len(names["model"]) * len(names["role"]) <= MOST_PANELS
    return Choices(names, {"model": EVERY if few else 0, "role": EVERY})


def _in_order(names: Iterable[str], declared: Iterable[str] = ()) -> list[str]:
    """The distinct names: in the order of the declaration, then undeclared ones."""
    here = sorted(set(names))
    declared_first = [name for name in declared if name in here]
    return list(dict.fromkeys([*declared_first, *here]))


def _by_role(
    summaries: pd.DataFrame, settings: Mapping[str, Settings], topics: pd.DataFrame
) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame, str]:
    """Means over concepts of text features, of distances, of the largest topics; and a sentence if
    there are others.
    """
    cells = summaries.dropna(subset=["value"]).groupby([*CELL, "is_headline"], sort=False)["value"]
    means = cells.agg(value="mean", lowest="min", highest="max", n_groups="count").reset_index()
    kinds: list[str | None] = []
    for domain, name in zip(means["domain"], means["feature"], strict=True):
        declared_features = settings[domain].features
        declared_name = declared_as(name, declared_features)
        kinds.append(declared_features[declared_name].kind if declared_name else None)
    kind = pd.Series(kinds, means.index, dtype=object)
    raw = (means["calibration"] == "raw") & means.pop("is_headline")
    sizes = (
        topics.groupby(["domain", "feature"])["n"].sum().sort_values(ascending=False, kind="stable")
    )
    largest = sizes.groupby("domain").head(MOST_TOPICS)
    measured = pd.MultiIndex.from_frame(means[["domain", "feature"]])
    drawn = raw & measured.isin(largest.index)
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
    cell = ["domain", "feature", "model", "role"]
    valued_rows = headline.dropna(subset=["value"])
    n_calibrations = valued_rows.groupby(cell)["calibration"].transform("nunique")
    both = valued_rows[n_calibrations == 2]
    means = both.groupby([*cell, "calibration"])["value"].transform("mean")
    deviation = both["value"] - means
    return both.assign(deviation=deviation)[
        [*cell, "calibration", "group", "deviation", "value", "n"]
    ]
