"""Sections of sets of templates, from what the diagnosis gives."""

from collections.abc import Mapping

import numpy as np
import pandas as pd
import pytest

from evenruler.instruments.probes import schemas
from evenruler.instruments.probes.diagnose import TABLES as SCHEMAS
from evenruler.instruments.probes.report import TABLES, of_probes
from evenruler.report.page import Cell, Picture, Section, Table
from tests.instruments.probes.known import BIAS, TEMPLATES


def section(source, tables: Mapping[str, pd.DataFrame]) -> Section:
    all_tables = {
        name: tables[name] if name in tables else pd.DataFrame(columns=SCHEMAS[name].names)
        for name in TABLES
    }
    (only_section,) = of_probes({"trades": source}, all_tables)
    return only_section


def titles(page_section: Section) -> list[str]:
    return [part.title for part in page_section.parts if isinstance(part, Picture)]


def tables_of(page_section: Section) -> dict[str, Table]:
    return {part.title: part for part in page_section.parts if isinstance(part, Table)}


@pytest.fixture
def written(source):
    return source(sets={"hand": {"title": "By hand", "templates": TEMPLATES}})


class TestItems:
    def test_templates_that_are_read_the_other_way_are_marked(self, diagnosed, written) -> None:
        noise = np.array([0.1, 0, -0.1, 0, 0.1, 0, 0, -0.1])
        turned = BIAS.assign(odd=noise - 0.3 * (BIAS["first"] + BIAS["last"]))
        table = tables_of(section(written, diagnosed(m=turned)))[
            "Correlation of each template with the rest"
        ]
        marks = {row[0]: row[1].mark for row in table.rows if isinstance(row[1], Cell)}
        assert marks == {"first": None, "last": None, "odd": "unfit"}


class TestPictures:
    def test_a_set_of_one_template_has_no_curve_and_is_drawn(self, diagnosed, source) -> None:
        templates = {"first": TEMPLATES["first"]}
        short_source = source(sets={"hand": {"title": "By hand", "templates": templates}})
        page_section = section(short_source, diagnosed(templates=templates, m=BIAS[["first"]]))
        assert "Number of templates and targets needed" not in titles(page_section)
        assert "Effects of prefixes" not in titles(page_section)  # nothing was asked after prefixes
        assert all(
            picture.chart.to_dict()
            for picture in page_section.parts
            if isinstance(picture, Picture)
        )

    def test_what_prefixes_do_is_drawn(self, diagnosed, written) -> None:
        tables = dict(diagnosed())
        key = tables["biases"].iloc[0][schemas.SHIFTS.names[:7]]
        numbers = {
            "level": 0.1,
            "level_in_sd": 0.2,
            "reordering": 0.1,
            "reordering_in_sd": 0.3,
            "rank_agreement": 0.9,
        }
        rows = [
            {**key, "prefix": name, "placebo": name != "cue", "n": 8, **numbers}
            for name in ("cue", "rain")
        ]
        page_section = section(written, {**tables, "shifts": pd.DataFrame(rows)})
        assert titles(page_section)[-1] == "Effects of prefixes"
        assert "Number of templates and targets needed" in titles(page_section)
        assert all(
            picture.chart.to_dict()
            for picture in page_section.parts
            if isinstance(picture, Picture)
        )
