"""Sections of the saged family: what each domain has found, then the pictures with their drop-downs."""

from collections.abc import Mapping

import pandas as pd

from evenruler.instruments.instrument import Shown
from evenruler.instruments.saged.declare.settings import Settings, declared_as
from evenruler.instruments.saged.declare.source import Source
from evenruler.instruments.saged.report import tables as saged_tables
from evenruler.instruments.saged.report.pictures import pictures
from evenruler.instruments.saged.report.tables import confirmed, confirmed_table
from evenruler.measurement.verdicts import ORDER
from evenruler.report.page import Section, Table
from evenruler.report.words import listed

__all__ = ["sections"]


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


Tables = Mapping[str, pd.DataFrame]


def sections(shown: Shown) -> list[Section]:
    """A section for every domain, in words and tables; then one with the pictures of all.

    Args:
        shown: Sources and settings, and of the tables `summaries`, `disparities`, `shapes`, `rates`, `tool_bias`,
            `context_bias`, `topics`, `favour` and `figures` of `evenruler.instruments.saged.schemas`.
    """
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
        *saged_tables.rates(here["rates"]),
        *saged_tables.topics(here["topics"], settings),
        *saged_tables.figures(here["figures"], here["disparities"]),
        *saged_tables.not_computed(here),
    ]
    measured = {declared_as(feature, settings.features) for feature in here["summaries"]["feature"].unique()}
    lacking = [feature for feature in settings.features if feature not in measured] if len(measured) else []
    sentences = [
        lead(here),
        f"Declared, and not measured at this scale or on this machine: {listed(lacking)}." if lacking else "",
        f"Groups by {listed(others)} are in the tables of the diagnosis, not on this page." if others else "",
    ]
    return Section("Replies", " ".join(filter(None, sentences)), parts, name)
