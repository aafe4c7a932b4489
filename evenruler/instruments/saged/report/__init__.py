"""Sections of the saged family: what each domain has found, in tables, then the pictures with their drop-downs."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import altair as alt
import pandas as pd

from evenruler.instruments.instrument import Shown
from evenruler.instruments.saged.declare import ALIKE, BY_ROLE, FAVOUR, LEFT_OUT
from evenruler.instruments.saged.declare.settings import Settings, declared_as
from evenruler.instruments.saged.declare.source import Source
from evenruler.instruments.saged.report import charts
from evenruler.measurement.verdicts import ORDER, Verdict
from evenruler.report.page import Cell, Picture, Section, Table
from evenruler.report.style import EVERY, Choices
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


def _disparities_in_words(rows: pd.DataFrame) -> list[str]:
    return [f"{metric_in_words(m)} of {s}" for m, s in zip(rows["metric"], rows["statistic"], strict=True)]


def kind_of(feature: str, settings: Settings) -> str | None:
    """How a column of numbers is measured."""
    declared = declared_as(feature, settings.features)
    return None if declared is None else settings.features[declared].kind


MOST_OF_TOPICS, MOST_FIGURES, MOST_REASONS = 24, 40, 25
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
    features = {name: declared_as(name, settings.features) or name for name in topics["feature"].unique()}
    declared = topics["feature"].map(features)
    rows: list[list[str | Cell]] = []
    for (feature, model, part), own in topics.groupby([declared, "model", "part"], sort=True):
        said = [
            f"{record['cluster']}: {', '.join(list(record['words'])[:MOST_WORDS]) or 'no words'} ({record['n']:,})"
            for record in own.sort_values("cluster").to_dict("records")
        ]
        rows.append([str(feature), str(model), str(part), "; ".join(said)])
    rows, more = _cut(rows, MOST_OF_TOPICS, "in topics.parquet of the diagnosis")
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
    said = _disparities_in_words(disparities)
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
    heads = ["what", "reason", "of", "features", "how many"]
    return [Table(heads, rows, "What could not be computed", f"{_CAPTIONS['nulls']}{more}")]


def _every(found: list[str], of: int) -> str:
    """All names as one word, and many as few."""
    if len(found) == of:
        return "every one" if of > 1 else found[0]
    named = found if len(found) <= MOST_NAMES else [*found[: MOST_NAMES - 1], f"{len(found) - MOST_NAMES + 1} others"]
    return listed(named)


__all__ = ["sections"]

Tables = Mapping[str, pd.DataFrame]

MOST_ROWS = 120_000
"""Rows of a table that the page takes whole; of a longer one it takes the headline statistic alone."""
MOST_TOPICS = 12
"""Of a domain, in the picture."""
MOST_PANELS = 8
"""Configurations that stand side by side before anybody chooses."""
RATIOS = ("min_max_ratio", "min_impact_ratio")
"""Disparities that four fifths is a bar for."""
CONTEXTS = ["bad", "neutral", "good"]
OF_ROLE = ["domain", "feature", "model", "role", "value", "lowest", "highest", "n_groups"]
WORDS_OF_A_CELL = ["domain", "feature", "calibration", "statistic", "model", "role"]

_SAID = WORDS["pictures"]


def lead(tables: Mapping[str, pd.DataFrame]) -> str:
    """What a reader should know first, in a few sentences."""
    if tables["rates"].empty:
        return "No model was asked."
    rates, features = tables["rates"], tables["summaries"]["feature"].nunique()
    concepts, models, roles = (rates[name].nunique() for name in ("concept", "model", "role"))
    sentences = [
        f"{_count(concepts, 'concept')} asked about, {_count(models, 'model')} in {_count(roles, 'role')}, "
        f"{_count(features, 'feature')}.",
        _verdicts(tables),
    ]
    disparities = tables["disparities"]
    if len(disparities) and disparities["value"].isna().all():
        sentences.append(f"Nothing could be compared: {disparities['reason'].mode().iloc[0]}.")
    return " ".join(sentences)


def _verdicts(tables: Mapping[str, pd.DataFrame]) -> str:
    """Who stands out, in full; verdicts counted."""
    found = confirmed(tables)
    if found.empty:
        return "No figure has a verdict: what follows describes."
    counts = found["verdict"].value_counts()
    verdicts = f"Verdicts: {listed([f'{counts[each]} {each}' for each in map(str, ORDER) if each in counts])}."
    told = [f"{one['what']} on {one['model']}: {one['who']} ({one['verdict']})" for one in found.to_dict("records")]
    told = [words for words, who in zip(told, found["who"], strict=True) if who]
    return f"Who stands out: {'; '.join(told)}. {verdicts}" if told else f"No concept stands out. {verdicts}"


def _count(n: int, what: str) -> str:
    return f"{n:,} {what}{'' if n == 1 else 's'}"


def sections(shown: Shown) -> list[Section]:
    """A section for every domain, in words and tables; then one with the pictures of all."""
    readable = {name: _readable(table, shown) for name, table in shown.tables.items()}
    of_page, found = dict(readable), []
    groupings: dict[str, str] = {}
    for name, settings in shown.settings.items():
        declared = [list(columns) for columns in settings.disparities.grouping]
        groupings[name] = "+".join(["concept"] if ["concept"] in declared else declared[0])  # what the page shows
    for name, table in readable.items():
        if "grouping" in table:
            of_page[name] = table[table["grouping"] == table["domain"].map(groupings)]
    summaries = readable["summaries"]
    for name, source in shown.sources.items():
        others = set(summaries.loc[summaries["domain"] == name, "grouping"]) - {groupings[name]}
        found.append(_domain(name, source, shown.settings[name], of_page, sorted(others)))
    return [*found, *pictures(shown.settings, of_page)]


def _readable(table: pd.DataFrame, shown: Shown) -> pd.DataFrame:
    """Rows of declared domains; concepts by their names, and the template after the role where there are several."""
    domain = "benchmark" if "benchmark" in table else "domain"
    table = table[table[domain].isin(list(shown.sources))]
    if {"role", "template"} <= set(table):
        several = table[domain].map({name: len(own.templates) > 1 for name, own in shown.settings.items()}).astype(bool)
        table = table.assign(role=table["role"].where(~several, table["role"] + ", " + table["template"]))
    for column in {"group", "concept"} & set(table):
        keys = zip(table[domain], table[column], strict=True)
        names = [_name(shown.sources[name], group) for name, group in keys]
        table = table.assign(**{column: pd.Series(names, table.index, dtype=object)})
    return table


def _name(source: Source, group: object) -> object:
    """Of a concept; what is none stays as it is."""
    return source.concepts[group].name if isinstance(group, str) and group in source.concepts else group


def _domain(name: str, source: Source, settings: Settings, shown: Tables, others: list[str]) -> Section:
    here = {table: rows[rows["benchmark" if table == "figures" else "domain"] == name] for table, rows in shown.items()}
    parts: list[Table] = [
        *confirmed_table(confirmed(here)),
        *rates(here["rates"]),
        *topics(here["topics"], settings),
        *figures(here["figures"], here["disparities"]),
        *not_computed(here),
    ]
    measured = {declared_as(feature, settings.features) for feature in here["summaries"]["feature"].unique()}
    lacking = [feature for feature in settings.features if feature not in measured] if len(measured) else []
    sentences = [
        lead(here),
        f"Declared, and not measured at this scale or on this machine: {listed(lacking)}." if lacking else "",
        f"Groups by {listed(others)} are in the tables of the diagnosis, not on this page." if others else "",
    ]
    return Section("Replies", " ".join(filter(None, sentences)), parts, name)


def pictures(settings: Mapping[str, Settings], tables: Tables) -> list[Section]:
    """One section with the pictures of all domains, of one grouping; concepts go by their names."""
    if tables["summaries"].empty:
        return []
    headlines = {name: own.disparities.headline for name, own in settings.items()}
    summaries, few_summaries = _bounded(tables["summaries"], headlines)
    compared, few_disparities = _bounded(_compared(tables), headlines)
    # All names that pictures say, in the order of the declaration where there is one.
    tool = tables["tool_bias"]
    measured = sorted({*summaries["feature"], *tool["feature"]}, key=lambda name: (len(name), name))
    features, statistics, disparities, roles = list[str](), list[str](), list[str](), list[str]()
    for own in settings.values():
        declared = own.disparities
        features += [name for one in own.features for name in measured if declared_as(name, own.features) == one]
        statistics += dict.fromkeys([declared.headline, *declared.statistics])
        disparities += [f"{metric_in_words(metric)} of {name}" for name in statistics for metric in declared.metrics]
        several = len(own.templates) > 1
        roles += [f"{role}, {template}" if several else role for role in own.roles for template in own.templates]
    names = {
        "domain": list(settings),
        "feature": _in_order(measured, features),
        "calibration": _in_order(summaries["calibration"], ["raw", "calibrated"]),
        "statistic": _in_order(summaries["statistic"], statistics),
        "disparity": _in_order(compared["disparity"], disparities),
        "model": _in_order(summaries["model"], []),
        "role": _in_order(summaries["role"], roles),
        "group": _in_order([*summaries["group"], *tool["concept"], *compared["group"].dropna()], []),
        "context": CONTEXTS,
        "shape": _in_order(compared["shape"].dropna(), []),
        "reason": _in_order((reason for one in (summaries, compared, tool) for reason in one["reason"].dropna()), []),
    }
    few = len(names["model"]) * len(names["role"]) <= MOST_PANELS
    choices = Choices(names, {"model": EVERY if few else 0, "role": EVERY})
    heat = charts.concepts(summaries[[*WORDS_OF_A_CELL, "group", "value", "n", "reason"]], choices)
    bars = charts.disparities(compared.drop(columns="statistic"), choices)
    # Composition of replies by role, how far they are from the baseline, and the largest topics of each domain.
    known = summaries.dropna(subset=["value"]).groupby(WORDS_OF_A_CELL, sort=False)["value"]
    over_groups = known.agg(value="mean", lowest="min", highest="max", n_groups="count").reset_index()
    placed = zip(over_groups["domain"], over_groups["feature"], strict=True)
    kind = pd.Series([kind_of(feature, settings[name]) for name, feature in placed], over_groups.index, dtype=object)
    raw = (over_groups["calibration"] == "raw") & _is_headline(over_groups, headlines)
    of_texts, far = over_groups[kind != "clusters"], over_groups[(kind == "distance") & raw]
    found = [_picture("features", charts.composition(of_texts, choices))] if len(of_texts) else []
    if len(far):
        title = f"{_any_of(headlines)} distance from the baseline"
        found.append(_picture("distance", charts.by_role(far[OF_ROLE], choices, title)))
    sizes = tables["topics"].groupby(["domain", "feature"])["n"].sum().sort_values(ascending=False, kind="stable")
    largest = sizes.groupby("domain").head(MOST_TOPICS)
    shown = over_groups[raw & pd.MultiIndex.from_frame(over_groups[["domain", "feature"]]).isin(largest.index)]
    if len(shown):
        more = f" The {MOST_TOPICS} largest of a domain are drawn." if len(largest) < len(sizes) else ""
        found.append(_picture("topics", charts.by_role(shown[OF_ROLE], choices, _any_of(headlines)), more))
    parts = [
        _picture("disparities", bars, few_disparities),
        _picture("concepts", heat, few_summaries),
        *_calibration(summaries[_is_headline(summaries, headlines)], choices),
        *found,
        *_biases(tables, choices),
    ]
    return [Section(_SAID["title"], _SAID["filters"], parts)]


def _picture(name: str, chart: alt.TopLevelMixin, more: str = "") -> Picture:
    title, caption = _SAID[name]
    return Picture(title, f"{caption}{more}", chart)


def _is_headline(table: pd.DataFrame, headlines: Mapping[str, str]) -> "pd.Series[bool]":
    return table["statistic"] == table["domain"].map(headlines)


def _bounded(table: pd.DataFrame, headlines: Mapping[str, str]) -> tuple[pd.DataFrame, str]:
    """What a page can hold, and a sentence about what it leaves out."""
    if len(table) <= MOST_ROWS:
        return table, ""
    words = _SAID["bounded"].format(n=len(table), headline=_any_of(headlines))
    return table[_is_headline(table, headlines)], words


def _any_of(headlines: Mapping[str, str]) -> str:
    return " or ".join(dict.fromkeys(headlines.values()))


def _compared(tables: Tables) -> pd.DataFrame:
    """Disparities in words, with the shape of their cell."""
    cell = [*WORDS_OF_A_CELL, "template", "grouping"]
    rows = tables["disparities"].join(tables["shapes"].set_index(cell)["shape"], on=cell)
    named = _disparities_in_words(rows)
    rows = rows.assign(disparity=pd.Series(named, rows.index, dtype=str), ratio=rows["metric"].isin(RATIOS).astype(int))
    numbers = ["value", "p_adjusted", "n_groups", "excess", "ratio"]
    return rows[[*WORDS_OF_A_CELL, "disparity", "group", "shape", "reason", *numbers]]


def _in_order(found: Iterable[str], declared: Iterable[str]) -> list[str]:
    """What was found: in the order of the declaration, then what that does not name."""
    here = sorted(set(found))
    return list(dict.fromkeys([*(name for name in declared if name in here), *here]))


def _calibration(headline: pd.DataFrame, choices: Choices) -> list[Picture]:
    """Concepts before and after calibration, of features that have a baseline."""
    known = headline.dropna(subset=["value"])
    cell = ["domain", "feature", "model", "role"]
    both = known[known.groupby(cell)["calibration"].transform("nunique") == 2]
    if both.empty:
        return []
    middle = both.groupby([*cell, "calibration"])["value"].transform("mean")
    columns = [*cell, "calibration", "group", "deviation", "value", "n"]
    deviations = both.assign(deviation=both["value"] - middle)[columns]
    return [_picture("calibration", charts.calibration(deviations, choices))]


def _biases(tables: Tables, choices: Choices) -> list[Picture]:
    """What tools say of names, and what replies take from their contexts."""
    tools, contexts = tables["tool_bias"], tables["context_bias"].dropna(subset=["mean"])
    found = []
    if len(tools):
        columns = ["domain", "feature", "group", "difference", "mean", "n", "reason"]
        by_group = tools.rename(columns={"concept": "group"})[columns]
        found.append(_picture("tool_bias", charts.tool_bias(by_group, choices)))
    if len(contexts):
        columns = ["domain", "feature", "calibration", "model", "role", "context", "mean", "n"]
        found.append(_picture("context_bias", charts.context_bias(contexts[columns], choices)))
    return found
