"""What the pictures and tables of an evolution hold and draw."""

from collections.abc import Iterable
from typing import Any

import pandas as pd
import pytest
import vl_convert as vlc

from evenruler.instruments.probes.report import charts, drawings, of_evolution
from evenruler.instruments.probes.report.drawings import ancestry_table
from evenruler.report.page import Picture, Section, Table
from tests.instruments.probes.report.evolutions import (
    BORN,
    DOMAIN,
    MADE,
    POPULATIONS,
    SEEDS,
    source,
    table,
)

BY_GENERATION = "Reliability and diversity by generation"
TREE = "Where the evolved templates come from"
WORDS = "Influence of each word"
FITNESS = "Parts of the fitness"
TITLES = [TREE, WORDS, FITNESS]


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> dict[str, pd.DataFrame]:
    folder = tmp_path_factory.mktemp("made")
    return {name: table(name, make(), folder) for name, make in MADE.items()}


@pytest.fixture(scope="module")
def whole(tables: Any) -> Section:
    return section(tables)


@pytest.fixture
def alone(tables: Any) -> Section:
    """Without ablation, comparisons, and whatever a run has none of."""
    here = {
        name: rows[rows["run"] == "guided"] if "run" in rows else rows.head(0)
        for name, rows in tables.items()
    }
    return section({**here, "rewordings": here["rewordings"].head(0)})


def section(tables: dict[str, pd.DataFrame]) -> Section:
    (shown,) = of_evolution({DOMAIN: source()}, tables)
    return shown


def part_of(parts: Iterable[Any], title: str) -> Any:
    return next(part for part in parts if part.title == title)


def spec_of(shown: Section, title: str) -> dict[str, Any]:
    pictures = [part for part in shown.parts if isinstance(part, Picture)]
    spec: dict[str, Any] = part_of(pictures, title).chart.to_dict()
    return spec


def caption_of(shown: Section, title: str) -> str:
    return str(part_of(shown.parts, title).caption)


def data_with(shown: Section, title: str, column: str) -> pd.DataFrame:
    """The data of a picture that have a column."""
    datasets = spec_of(shown, title)["datasets"].values()
    (rows,) = [rows for rows in datasets if column in rows[0]]
    return pd.DataFrame(rows)


def rows_of(shown: Section, title: str) -> list[list[str]]:
    """The texts of a table, headings first, spaces that do not break as plain ones."""
    table_part = part_of([part for part in shown.parts if isinstance(part, Table)], title)
    rows = [list(table_part.columns)]
    for row in table_part.cells:
        rows.append([cell.text.replace("\u00a0", " ") for cell in row])
    return rows


def test_every_picture_is_drawn_without_a_complaint(
    whole: Section, alone: Section, capfd: pytest.CaptureFixture[str]
) -> None:
    for part in (*whole.parts, *alone.parts):
        if isinstance(part, Picture):
            svg = vlc.vegalite_to_svg(part.chart.to_dict(), show_warnings=True)
            assert svg.count("<text") > 5, part.title
            assert "NaN" not in svg, part.title
            assert capfd.readouterr() == ("", ""), part.title


def test_a_domain_that_did_not_evolve_has_no_section(tables: Any) -> None:
    both = {"age-competence": source(), DOMAIN: source()}
    assert [shown.title for shown in of_evolution(both, tables)] == ["How it evolved"]


def test_what_is_not_there_is_left_out(whole: Section, alone: Section) -> None:
    assert [part.title for part in whole.parts] == [
        "The chosen set against the set seed",
        "The chosen set against the set validation",
        BY_GENERATION,
        TREE,
        "First templates and their descendants",
        WORDS,
        FITNESS,
        "Accepted and rejected rewordings",
    ]
    assert [part.title for part in alone.parts] == [
        BY_GENERATION,
        TREE,
        "First templates and their descendants",
        WORDS,
        FITNESS,
    ]
    assert all(caption_of(whole, title).endswith("Of the guided run.") for title in TITLES)
    assert not any(caption_of(alone, title).endswith("run.") for title in TITLES)


def test_generations_hold_figures_with_intervals_of_both_runs(whole: Section) -> None:
    rows = data_with(whole, BY_GENERATION, "generation")
    assert len(rows) == 2 * 4 * 5
    last = rows[rows["generation"] == 3].set_index(["run", "figure"])
    alpha = last.loc[("guided", "alpha at 8 templates"), ["value", "low", "high"]]
    assert alpha.tolist() == [0.5, 0.42, 0.56]
    assert last.loc[("random", "mean inter-item r"), "value"] == 0.11
    assert last.loc[("random", "semantic diversity"), ["low", "high"]].isna().all()


def test_the_generation_with_the_highest_alpha_is_named_for_each_run(tables: Any) -> None:
    at_eight = "figure == 'alpha' and templates == '8'"
    # The earlier of equals is named, and no alpha of a population as long as it is.
    value_by_query = {
        f"{at_eight} and run == 'guided' and generation in (1, 3)": 0.9,
        f"{at_eight} and run == 'random' and generation == 2": 0.8,
        "figure == 'alpha' and templates.isna()": 0.95,
    }
    rows = tables["generations"].copy()
    for query, value in value_by_query.items():
        rows.loc[rows.eval(query), "value"] = value
    caption = caption_of(section({**tables, "generations": rows}), BY_GENERATION)
    assert "Alpha is highest in generation 1 of the guided run, 0.90." in caption
    assert "Alpha is highest in generation 2 of the random run, 0.80." in caption


def test_a_figure_that_is_lacking_breaks_the_line_and_is_named(whole: Section) -> None:
    assert caption_of(whole, BY_GENERATION).endswith(
        "Lacking: first component of generation 2 (guided): no proper one-factor solution."
    )
    svg = vlc.vegalite_to_svg(spec_of(whole, BY_GENERATION))
    # Two runs, four generations, five panels, less the one.
    assert svg.count('aria-roledescription="circle"') == 39


def test_a_figure_that_never_changes_is_drawn(
    tables: Any, capfd: pytest.CaptureFixture[str]
) -> None:
    rows = tables["generations"]
    rows = rows[rows["figure"] == "first_component_share"].assign(value=0.5)
    chart = charts.draw_generations(rows, {"first_component_share": "first"})
    svg = vlc.vegalite_to_svg(chart.to_dict(), show_warnings=True)
    assert svg.count('aria-roledescription="circle"') == 8
    assert "NaN" not in svg
    assert capfd.readouterr() == ("", "")


def test_the_tree_draws_each_template_once_and_where_it_came_from(
    whole: Section, tables: Any
) -> None:
    guided = tables["history"][tables["history"]["run"] == "guided"]
    tree = ancestry_table(guided)
    svg = vlc.vegalite_to_svg(spec_of(whole, TREE))
    assert svg.count('aria-roledescription="point"') == len(tree) == 12
    assert svg.count(">\u2605<") == 4  # elites
    edges = data_with(whole, TREE, "to")
    assert len(edges) == 9
    first = edges.query("born == 1 and lane == 0").iloc[0]
    assert first[["generation", "to", "operation"]].tolist() == [0, 1, "reword"]
    # A child of a template that lived on leaves from the generation before its own birth.
    of_odd = edges[edges["lane"] == tree.loc["odd", "lane"]]
    late = of_odd[of_odd["born"] == 3].iloc[0]
    assert late[["generation", "operation"]].tolist() == [2, "reword"]


def test_bars_go_on_to_the_last_generation_that_a_template_lived_in(
    whole: Section, tables: Any
) -> None:
    history = tables["history"]
    lanes = ancestry_table(history[history["run"] == "guided"])["lane"]
    bars_by_lane = dict(list(data_with(whole, TREE, "until").groupby("lane")))
    for slug, ends in {
        "odd": [[0, 1], [1, 2], [2, 3]],
        "picture": [[0, 1], [1, 3]],
        "met": [[0, 1], [1, 2]],
    }.items():
        bars = bars_by_lane[lanes[slug]].sort_values("generation")
        assert bars[["generation", "until"]].to_numpy().tolist() == ends
    assert lanes["g2-8"] not in bars_by_lane


def test_templates_are_in_order_and_each_has_one_hotspot(whole: Section) -> None:
    rows = data_with(whole, WORDS, "gradient")
    assert rows["template"].drop_duplicates().tolist() == POPULATIONS[-1]
    hotspots = rows[rows["hotspot"]].set_index("template")["text"].to_dict()
    # .1 a letter: neighbour .9, associate .9, and when .4 + .25 as the sixth word.
    assert (hotspots["g3-5"], hotspots["g2-7"], hotspots["odd"]) == (
        "neighbour",
        "associate",
        "when",
    )
    assert len(hotspots) == 8


def test_equal_gradients_have_the_first_for_a_hotspot_and_a_template_without_words_none() -> None:
    templates = pd.DataFrame(
        {
            "template": ["x", "y"],
            "text": ["one two {TARGET}", "{ATTRIBUTE} {TARGET}"],
            "place": [1, 2],
            "elite": True,
        }
    )
    gradients = pd.DataFrame(
        {"template": "x", "begin": [4, 0], "word": ["two", "one"], "gradient": 0.5}
    )
    spec = drawings.word_gradients(templates, gradients).to_dict()
    datasets = spec["datasets"].values()
    rows = pd.DataFrame(next(rows for rows in datasets if "gradient" in rows[0]))
    assert rows.loc[rows["hotspot"], "text"].tolist() == ["one"]
    assert rows.loc[rows["template"] == "y", "text"].tolist() == ["{ATTRIBUTE}", "{TARGET}"]


def test_parts_add_up_to_the_fitness_in_order_of_place(whole: Section) -> None:
    rows = data_with(whole, FITNESS, "part")
    sums = rows.groupby("said", sort=False)["value"].sum()
    expected = [0.9, 0.82, 0.74, 0.66, 0.58, 0.5, 0.42, 0.34]
    assert sums.to_numpy() == pytest.approx(expected, abs=1e-3)
    assert sums.index[0] == f"1. {BORN['g3-5'][3]}"
    first = rows[rows["said"] == sums.index[0]].set_index("part")["value"]
    assert first.to_dict() == {
        "alpha contribution": 0.1889,
        "gradient focus": 0.05,
        "semantic diversity": 0.3778,
        "lexical diversity": 0.2833,
    }


def test_comparisons_say_what_is_transfer_and_why_there_is_no_number(whole: Section) -> None:
    rows = rows_of(whole, "The chosen set against the set seed")
    assert rows[0] == ["figure", "model", "evolved", "seed", "difference"]
    assert rows[1:3] == [
        [
            "alpha at 8 templates",
            "smollm2, on which it evolved",
            "0.80",
            "0.50",
            "0.30 [0.10, 0.50], n = 50 attributes",
        ],
        [
            "alpha at 8 templates",
            "bloom, transfer: it did not evolve on it",
            "0.60",
            "0.50",
            "0.10 [-0.10, 0.30], n = 50 attributes",
        ],
    ]
    by_model = {tuple(row[:2]): row[2:] for row in rows[1:]}
    bloom = "bloom, transfer: it did not evolve on it"
    assert by_model["r", bloom] == [
        "",
        "0.30",
        "none (no proper one-factor solution)",
    ]
    assert by_model["lexical diversity", bloom] == ["0.60", "0.50", "0.10, n = 4 templates"]
    assert [row[0] for row in rows[1::2]] == [
        "alpha at 8 templates",
        "r",
        "level shift",
        "lexical diversity",
    ]


def test_a_difference_without_interval_says_why_and_sets_are_named(tables: Any) -> None:
    reason = "no interval: undefined when resampled"
    comparisons = tables["comparisons"].head(2)
    changed = comparisons.assign(
        set=["population", "evolved"],
        against=["random", "best-subset-of-the-start"],
        half=[None, "held out"],
        figure=["some_figure", "level_shift"],
        low=None,
        high=None,
        reason=reason,
    )
    whole = section({**tables, "comparisons": changed})
    (_, row) = rows_of(
        whole, "The whole last population against the last population of the random run"
    )
    assert row[0] == "some figure"
    assert row[-1] == f"0.30, n = 50 attributes ({reason})"
    columns, row = rows_of(whole, "The chosen set against the best subset of the start")
    assert columns[2:4] == ["evolved", "best subset of the start"]
    assert row[0] == "level shift, held out"


def test_pairs_go_back_to_the_founder(whole: Section) -> None:
    assert rows_of(whole, "First templates and their descendants")[1:] == [
        [
            "1",
            BORN["g3-5"][3],
            SEEDS["met"],
            "3: reword (personal-anecdote), hotspot (job), hotspot (took)",
        ],
        ["2", BORN["g1-6"][3], SEEDS["met"], "1: reword (personal-anecdote)"],
        [
            "3",
            BORN["g2-7"][3],
            SEEDS["picture"],
            "2: reword (sociological-observation), reword (formal-hypothesis)",
        ],
        ["4", SEEDS["odd"], SEEDS["odd"], "0: as it was"],
    ]


def test_rewordings_count_what_passed_and_what_was_taken(whole: Section) -> None:
    assert rows_of(whole, "Accepted and rejected rewordings") == [
        [
            "run",
            "operation",
            "voice",
            "replies",
            "passed",
            "taken",
            "most frequent reasons of refusal",
        ],
        [
            "guided",
            "hotspot",
            "",
            "12",
            "6 (50%)",
            "2",
            "a slot is missing (3), a copy (1), no text (1), others (1)",
        ],
        ["guided", "reword", "formal-hypothesis", "2", "0 (0%)", "0", "a slot is missing (2)"],
        ["guided", "reword", "personal-anecdote", "4", "2 (50%)", "1", "several sentences (2)"],
    ]


def test_a_random_run_alone_is_drawn_as_such(tables: Any) -> None:
    here = {
        name: rows[rows["run"] == "random"] if "run" in rows else rows
        for name, rows in tables.items()
    }
    operations = data_with(section(here), TREE, "to")["operation"].unique()
    assert "random-word" in operations
    assert "hotspot" not in operations
