"""The section of the page, with and without figures."""

from pathlib import Path
from typing import cast

import pandas as pd

from evenruler.evaluate.benchmark import open_benchmark
from evenruler.instruments.instrument import ReportInput
from evenruler.instruments.likert import report, schemas
from evenruler.instruments.likert.declare import LikertSource, Settings, load
from evenruler.report.page import Table
from evenruler.strict import validate
from tests.instruments.likert.respondents import (
    agree_always,
    diagnose_respondent,
    write_source,
)


def shown_input(path: Path, figures: pd.DataFrame) -> ReportInput[Settings, LikertSource]:
    settings = validate(Settings, {}, path, context={"profile": "quick"})
    source = load(path, settings, path.parent)
    return ReportInput({"mine": source}, {"mine": settings}, {"figures": figures}, {})


def test_each_figure_stands_beside_what_may_be_concluded(tmp_path: Path) -> None:
    path = write_source(tmp_path)
    rows, _ = diagnose_respondent(path, agree_always)
    figures = pd.DataFrame([{**row, "benchmark": "mine"} for row in rows])
    figures = figures.reindex(columns=schemas.FIGURES.names)
    (section,) = report.sections(shown_input(path, figures))
    table = cast(Table, section.parts[0])
    by_figure = {str(row[2]): row for row in table.rows}
    value = str(by_figure["acquiescence"][4]).replace("\N{NO-BREAK SPACE}", " ")
    assert value == "2.00 [2.00, 2.00], n = 10"
    assert str(by_figure["acquiescence"][5]).startswith("Far from 0, it agrees, or disagrees")
    assert "item mean" not in by_figure


def test_where_nobody_was_asked_nothing_is_shown(tmp_path: Path) -> None:
    path = write_source(tmp_path)
    empty = pd.DataFrame(columns=schemas.FIGURES.names)
    assert report.sections(shown_input(path, empty)) == []
    with open_benchmark(str(path)) as benchmark:
        assert benchmark.plan["without_verdict"]
