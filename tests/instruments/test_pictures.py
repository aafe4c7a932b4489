"""Every picture and table that a family declares has data in small tables by its schemas."""

import json
from collections.abc import Mapping
from importlib import import_module
from itertools import chain, product
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import altair as alt
import pandas as pd
import pyarrow as pa
import pytest

from evenruler.instruments.instrument import ReportInput
from evenruler.instruments.probes import schemas as probe_schemas
from evenruler.instruments.registry import family_module
from evenruler.instruments.saged import report as saged_report
from evenruler.report.page import Picture, Table
from evenruler.report.pictures import INSTRUMENT, PartDeclaration

NAME = "jobs"
FAMILIES = ("probes", "questionnaires", "framing", "saged")
DISPARITIES = SimpleNamespace(grouping=[["a"]], headline="a")
SETTINGS: Any = {NAME: SimpleNamespace(evolve=True, disparities=DISPARITIES)}
EVOLVED = {"history": probe_schemas.HISTORY, "gradients": probe_schemas.GRADIENTS}
ADAPTED = {"changed", "moved"}
N_FITS = {"n_fits": "2"}
ROOT = Path(__file__).parents[2]


def parts_of(family: str) -> list[PartDeclaration]:
    sections = import_module(f"evenruler.instruments.{family}.report").DECLARED
    return list(chain.from_iterable(section.parts for section in sections))


def content_of(field: pa.Field, place: int, wanted: Mapping[str, str]) -> Any:
    """The wanted content of a column, or a small one by its type."""
    name = wanted.get(field.name, N_FITS.get(field.name))
    if field.name in INSTRUMENT:
        return NAME
    if name == "all":
        return None
    if pa.types.is_boolean(field.type):
        return name != "no"
    if pa.types.is_integer(field.type):
        return int(name or place)
    if pa.types.is_floating(field.type):
        return place / 4
    if pa.types.is_list(field.type):
        return ["sea", "sky"]
    return name or "ab"[place]


def frame_of(schema: pa.Schema, parts: list[PartDeclaration]) -> pd.DataFrame:
    """Two rows for each content that a part is about."""
    rows: list[dict[str, Any]] = []
    for part in parts:
        for contents in product(*part.where.values()):
            wanted = dict(zip(part.where, contents, strict=True))
            for place in (0, 1):
                row = {field.name: content_of(field, place, wanted) for field in schema}
                rows.append(row)
    return pd.DataFrame(rows, columns=schema.names)


def report_input(family: str) -> ReportInput[Any, Any]:
    parts = parts_of(family)
    tables: dict[str, pd.DataFrame] = {}
    for name, schema in family_module(family, "diagnose").TABLES.items():
        about = [part for part in parts if part.table == name] or parts[:1]
        tables[name] = frame_of(schema, about)
    any_part = PartDeclaration(title="", kind="table", table="")
    built: Any = {name: frame_of(schema, [any_part]) for name, schema in EVOLVED.items()}
    sources: Any = {NAME: None}
    return ReportInput(sources, SETTINGS, tables, {NAME: built})


@pytest.mark.parametrize("family", FAMILIES)
def test_every_part_is_drawn(family) -> None:
    sections = family_module(family, "report").sections(report_input(family))
    drawn = list(chain.from_iterable(section.parts for section in sections))
    assert [part.title for part in drawn] == [part.title for part in parts_of(family)]
    for part in drawn:
        if isinstance(part, Picture):
            assert part.chart["data"]["values"], part.title
            alt.Chart.from_dict(dict(part.chart)).to_dict()


@pytest.mark.parametrize("family", FAMILIES)
def test_without_rows_there_are_no_sections(family) -> None:
    shown = report_input(family)
    empty = {name: table.iloc[:0] for name, table in shown.tables.items()}
    no_evolution: Any = {NAME: SimpleNamespace(evolve=None, disparities=DISPARITIES)}
    nothing = ReportInput(shown.sources, no_evolution, empty, {NAME: {}})
    assert family_module(family, "report").sections(nothing) == []


@pytest.mark.parametrize("family", FAMILIES)
def test_figures_that_are_declared_are_measured(family) -> None:
    """By the evidence of the published benchmarks; `ADAPTED`: of models that were adapted."""
    measured = set(ADAPTED)
    for path in sorted((ROOT / "benchmarks").glob(f"{family}-*/evidence.json")):
        evidence = json.loads(path.read_text(encoding="utf-8"))
        measured |= {row["figure"] for row in evidence["figures"]}
    for part in parts_of(family):
        if part.table == "figures":
            assert set(part.where.get("figure", [])) <= measured, part.title


def drawn_rows(family: str, title: str, **tables: pd.DataFrame) -> list[Any]:
    """The rows of the first part with a title, with other tables."""
    shown = report_input(family)
    changed = ReportInput(shown.sources, SETTINGS, {**shown.tables, **tables}, shown.built)
    for section in family_module(family, "report").sections(changed):
        for part in section.parts:
            if part.title == title:
                if isinstance(part, Table):
                    return list(part.rows)
                return list(part.chart["data"]["values"])
    return []


def test_saged_shows_one_grouping_and_counts_that_are_not_zero() -> None:
    tables = report_input("saged").tables
    summaries = tables["summaries"].assign(grouping=["a", "b"])
    shown = drawn_rows("saged", "Concepts by configuration", summaries=summaries)
    assert [row["group"] for row in shown] == ["a"]
    rates = tables["rates"].assign(refusals=[0, 3], empty=0, cut=0, other_language=0, withheld=0)
    counted = drawn_rows("saged", "Refusals, empty replies and cut ones", rates=rates)
    assert [(row["outcome"], row["replies"]) for row in counted] == [("refusals", 3)]


def test_a_long_table_of_saged_shows_the_headline_statistic(
    monkeypatch,
) -> None:
    monkeypatch.setattr(saged_report, "HEADLINE_ALONE", 1)
    summaries = report_input("saged").tables["summaries"].assign(grouping="a")
    shown = drawn_rows("saged", "Concepts by configuration", summaries=summaries)
    assert [row["statistic"] for row in shown] == ["a"]


def test_framing_leaves_prompts_with_placebos_out() -> None:
    exclusions = report_input("framing").tables["exclusions"]
    exclusions = exclusions.assign(framing=["cue~1", "cue"])
    shown = drawn_rows("framing", "Prompts that are left out", exclusions=exclusions)
    assert [row[4] for row in shown] == ["cue"]


def test_probes_show_the_last_generation_of_each_run() -> None:
    shown = report_input("probes")
    history = pd.concat(
        [
            shown.built[NAME]["history"].assign(run="a", generation=[2, 3]),
        ]
        * 2
    )
    built = {**shown.built[NAME], "history": history.assign(place=[1, 2, 3, 4])}
    changed = ReportInput(shown.sources, SETTINGS, shown.tables, {NAME: built})
    sections = family_module("probes", "report").sections(changed)
    parts = chain.from_iterable(section.parts for section in sections)
    (last,) = [part for part in parts if part.title == "The last population"]
    assert isinstance(last, Table)
    assert [row[1] for row in last.rows] == ["2", "4"]
