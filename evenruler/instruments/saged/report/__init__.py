"""Sections of the saged family: what lies out in each domain, then the pictures with their drop-downs."""

from collections.abc import Mapping

import pandas as pd

from evenruler.instruments.saged.declare.settings import SagedSettings
from evenruler.instruments.saged.declare.source import Source
from evenruler.report.page import Section, Table
from evenruler.instruments.saged.report import tables as saged_tables
from evenruler.instruments.saged.report.findings import declared_as, findings
from evenruler.instruments.saged.report.lead import lead
from evenruler.instruments.saged.report.pictures import pictures
from evenruler.report.words import listed

Tables = Mapping[str, pd.DataFrame]


def of_saged(domains: Mapping[str, Source], settings: SagedSettings, tables: Tables) -> list[Section]:
    """A section for every domain, in words and tables; then one with the pictures of all.

    Args:
        domains: By name.
        settings: Which features and statistics there are, and which is the headline.
        tables: `summaries`, `disparities`, `verdicts`, `rates`, `tool_bias`, `context_bias`, `topics` and `figures` of
            `evenruler.instruments.saged.schemas`.
    """
    readable = {name: _readable(table, domains, settings) for name, table in tables.items()}
    grouping = _grouping(settings)
    shown = {
        name: table[table["grouping"] == grouping] if "grouping" in table else table for name, table in readable.items()
    }
    others = readable["summaries"].loc[readable["summaries"]["grouping"] != grouping, ["domain", "grouping"]]
    sections = [
        _domain(name, source, settings, shown, sorted(others.loc[others["domain"] == name, "grouping"].unique()))
        for name, source in domains.items()
    ]
    return [*sections, *pictures(list(domains), settings, shown)]


def _grouping(settings: SagedSettings) -> str:
    """The groups that the page shows: concepts, or else the first that are declared."""
    declared: list[list[str]] = [list(columns) for columns in settings.disparities.grouping]
    return "+".join(["concept"] if ["concept"] in declared else declared[0])


def _readable(table: pd.DataFrame, domains: Mapping[str, Source], settings: SagedSettings) -> pd.DataFrame:
    """Rows of declared domains; concepts by their names, and the template after the role where there are several."""
    domain = "benchmark" if "benchmark" in table else "domain"
    table = table[table[domain].isin(list(domains))]
    if "template" in table and len(settings.templates) > 1:
        table = table.assign(role=table["role"] + ", " + table["template"])
    for column in {"group", "concept"} & set(table):
        keys = zip(table[domain], table[column], strict=True)
        names = [_name(domains[name], group) for name, group in keys]
        table = table.assign(**{column: pd.Series(names, table.index, dtype=object)})
    return table


def _name(source: Source, group: object) -> object:
    """Of a concept; what is none stays as it is."""
    return source.concepts[group].name if isinstance(group, str) and group in source.concepts else group


def _domain(name: str, source: Source, settings: SagedSettings, shown: Tables, others: list[str]) -> Section:
    here = {table: rows[rows["benchmark" if table == "figures" else "domain"] == name] for table, rows in shown.items()}
    found = findings(here, settings)
    parts: list[Table] = [
        *saged_tables.findings_table(found, settings),
        *saged_tables.rates(here["rates"]),
        *saged_tables.topics(here["topics"], settings),
        *saged_tables.figures(here["figures"], here["disparities"]),
        *saged_tables.not_computed(here),
    ]
    sentences = [
        f"Measures {source.construct_}; {source.direction}.",
        lead(found, here, settings),
        _lacking(settings, here["summaries"]),
        f"Groups by {listed(others)} are in the tables of the diagnosis, not on this page." if others else "",
    ]
    return Section(f"SAGED: {source.title}", " ".join(filter(None, sentences)), parts)


def _lacking(settings: SagedSettings, summaries: pd.DataFrame) -> str:
    """Features that are declared and were not measured."""
    measured = {declared_as(name, settings) for name in summaries["feature"].unique()}
    lacking = [name for name in settings.features if name not in measured]
    if summaries.empty or not lacking:
        return ""
    return f"Declared, and not measured at this scale or on this machine: {listed(lacking)}."
