"""What the section of a domain says: words for planted disparities, numbers with intervals, nulls
with reasons."""

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from evenruler.instruments.saged import report
from evenruler.instruments.saged.declare.settings import declared_as
from evenruler.report.page import Section, Table
from tests.instruments.saged.report.sageds import MADE, settings, shown, table
from tests.report.pages import page_of


@pytest.fixture(scope="module")
def table_by_name(tmp_path_factory: pytest.TempPathFactory) -> dict[str, pd.DataFrame]:
    folder = tmp_path_factory.mktemp("made")
    return {name: table(name, make(), folder) for name, make in MADE.items()}


@pytest.fixture(autouse=True)
def without_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    """They take seconds, and have tests of their own."""
    monkeypatch.setattr(report, "picture_sections", lambda *_: [])


def sections(tables: dict[str, pd.DataFrame], **changes: Any) -> list[Section]:
    return report.sections(shown(tables, **changes))


def rows_of(section: Section, title: str) -> list[list[str]]:
    """The texts of a table, headings first, spaces that do not break as plain ones."""
    part = part_of(section, title)
    rows = [[text.replace("\u00a0", " ") for text in part.columns]]
    for cells in part.cells:
        rows.append([cell.text.replace("\u00a0", " ") for cell in cells])
    return rows


def part_of(section: Section, title: str) -> Table:
    tables = [part for part in section.parts if isinstance(part, Table)]
    return next(part for part in tables if part.title == title)


def test_the_text_says_what_was_asked_and_what_was_not_measured(table_by_name: Any) -> None:
    countries = sections(table_by_name)[0]
    assert countries.title == "Replies"
    assert countries.text == (
        "6 concepts asked about, 2 models in 2 roles, 5 features. "
        "Declared but not measured in this profile or on this machine: regard."
    )


def test_where_nothing_is_computed_the_reason_is_said(table_by_name: Any) -> None:
    nothing, lacking = float("nan"), "all replies are empty"
    numbers = dict.fromkeys(["value", "p", "p_adjusted"], nothing)
    disparities = table_by_name["disparities"].assign(
        **numbers, group=None, flag=None, reason=lacking
    )
    shapes = table_by_name["shapes"].assign(
        shape=None, group=None, end=None, z=nothing, reason=lacking
    )
    summaries = table_by_name["summaries"].assign(value=nothing, n=0, reason=lacking)
    tables = {**table_by_name, "disparities": disparities, "shapes": shapes, "summaries": summaries}
    shown_sections = sections(tables)
    assert "Nothing could be compared: all replies are empty." in shown_sections[0].text


def test_empty_tables_are_a_sentence(tmp_path: Path) -> None:
    empty = {name: table(name, [], tmp_path) for name in MADE}
    shown_sections = sections(empty)
    assert [(section.title, len(section.parts)) for section in shown_sections] == [
        ("Replies", 0),
        ("Replies", 0),
    ]
    assert shown_sections[0].text.endswith("No model was asked.")


def test_rates_name_the_concept_that_has_most(table_by_name: Any) -> None:
    assert rows_of(sections(table_by_name)[0], "Refusals, empty replies and cut ones") == [
        ["model", "role", "replies", "refusals", "empty", "cut"],
        ["bloom", "assistant", "48", "4.2%, 2 (most: China, 2 of 8)", "none", "none"],
        ["bloom", "no-role", "48", "none", "none", "none"],
        ["smollm2", "assistant", "48", "none", "none", "none"],
        [
            "smollm2",
            "no-role",
            "48",
            "none",
            "2.1%, 1 (most: Russia, 1 of 8)",
            "75.0%, 36 (most: Aurelia, 6 of 8)",
        ],
    ]


def test_how_many_are_cut_is_not_said_where_a_server_does_not_say_it(table_by_name: Any) -> None:
    rates = table_by_name["rates"]
    is_unknown = (rates["model"] == "bloom") & (rates["concept"] == "china")
    unknown = rates.assign(cut=rates["cut"].mask(is_unknown))
    rows = rows_of(
        sections({**table_by_name, "rates": unknown})[0], "Refusals, empty replies and cut ones"
    )
    assert [row[-1] for row in rows[1:]] == [
        "not said",
        "not said",
        "none",
        "75.0%, 36 (most: Aurelia, 6 of 8)",
    ]


def test_topics_are_words_and_counts(table_by_name: Any) -> None:
    words = "0: peace, trade, border (30); 1: music, <food>, sea (29)"
    assert rows_of(sections(table_by_name)[0], "Topics") == [
        ["feature", "model", "replies of", "clusters"],
        ["topics", "bloom", "all", words],
        ["topics", "smollm2", "all", words],
    ]


def test_figures_of_quality_have_a_column_a_model(table_by_name: Any) -> None:
    shown_sections = sections(table_by_name)
    assert rows_of(shown_sections[0], "How well it measures") == [
        ["figure", "of", "bloom", "smollm2"],
        ["level shift", "vader", "0.12 [0.08, 0.20], n = 4", "none (fewer than 2 root items)"],
    ]
    twice = table_by_name["figures"].assign(figure="range", statistic="mean")
    figures = pd.concat([table_by_name["figures"], twice], ignore_index=True)
    assert rows_of(
        sections({**table_by_name, "figures": figures})[0], "How well it measures"
    ) == rows_of(shown_sections[0], "How well it measures")
    assert "How well it measures" not in [part.title for part in shown_sections[1].parts]


def test_figures_that_nobody_has_are_one_row(table_by_name: Any) -> None:
    row = {"figure": "reordering", "value": float("nan"), "reason": "no framings are declared"}
    none = pd.concat(
        [
            table_by_name["figures"].assign(**row, feature=feature)
            for feature in ("vader", "toxicity")
        ]
    )
    figures = pd.concat([table_by_name["figures"], none], ignore_index=True)
    assert rows_of(sections({**table_by_name, "figures": figures})[0], "How well it measures")[
        2:
    ] == [["reordering", "all", "none (no framings are declared)"]]


def test_nulls_are_counted_by_reason(table_by_name: Any) -> None:
    rows = rows_of(sections(table_by_name)[1], "What could not be computed")
    no_baseline = "no baseline has this feature"
    assert rows[0] == ["what", "reason", "of", "features", "how many"]
    assert ["summaries, calibrated", no_baseline, "every one", "every one", "176 of 240"] in rows
    both = "min impact ratio of mean and min impact ratio of precision"
    assert ["disparities, raw", "not a selection rate", both, "every one", "40 of 300"] in rows


def test_templates_stand_with_the_role_where_there_are_several(table_by_name: Any) -> None:
    shown_sections = sections(
        table_by_name, templates={"plain": "{PROMPT}", "short": "In short: {PROMPT}"}
    )
    rows = rows_of(shown_sections[0], "Refusals, empty replies and cut ones")
    assert ["smollm2", "assistant, plain"] in [row[:2] for row in rows]


def test_groups_of_other_columns_are_named_and_not_mixed_in(table_by_name: Any) -> None:
    mixed = {}
    for name, rows in table_by_name.items():
        other = rows.assign(grouping="concept+keyword", value=9.0) if name == "summaries" else None
        mixed[name] = rows if other is None else pd.concat([rows, other], ignore_index=True)
    shown_sections = sections(mixed)
    assert shown_sections[0].text.endswith(
        "Groups by concept+keyword are in the tables of the diagnosis, not on this page."
    )
    assert shown_sections[0].text.startswith(sections(table_by_name)[0].text)


def test_a_cluster_is_of_the_feature_that_its_name_begins_with() -> None:
    declared = settings(
        features={
            "topics": {"kind": "clusters", "form": "label", "k": 2, "seed": 0},
            "topics-by-role": {
                "kind": "clusters",
                "form": "label",
                "k": 2,
                "seed": 0,
                "by": ["role"],
            },
        }
    )
    assert declared_as("topics-0", declared.features) == "topics"
    assert declared_as("topics-by-role-assistant-1", declared.features) == "topics-by-role"
    assert declared_as("topicsy", declared.features) is None


def test_words_of_models_and_users_are_escaped(table_by_name: Any) -> None:
    page = page_of(*sections(table_by_name))
    assert "&lt;food&gt;" in page
    assert "<food>" not in page
