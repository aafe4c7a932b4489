"""What the pictures and tables of an evolution hold and draw."""

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
from tests.report.pages import page_of

BY_GENERATION = "Reliability and diversity by generation"
TREE = "Where the evolved templates come from"
WORDS = "Influence of each word"
FITNESS = "Parts of the fitness"
TITLES = [TREE, WORDS, FITNESS]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> dict[str, pd.DataFrame]:
    folder = tmp_path_factory.mktemp("made")
    return {name: table(name, make(), folder) for name, make in MADE.items()}


@pytest.fixture(scope="module")
def found(made: Any) -> Section:
    return section(made)


@pytest.fixture
def alone(made: Any) -> Section:
    """Without ablation, comparisons, and whatever a run has none of."""
    here = {
        name: rows[rows["run"] == "guided"] if "run" in rows else rows.head(0)
        for name, rows in made.items()
    }
    return section({**here, "rewordings": here["rewordings"].head(0)})


def section(tables: dict[str, pd.DataFrame]) -> Section:
    (one,) = of_evolution({DOMAIN: source()}, tables)
    return one


def spec_of(found: Section, title: str) -> dict[str, Any]:
    part = next(part for part in found.parts if isinstance(part, Picture) and part.title == title)
    spec: dict[str, Any] = part.chart.to_dict()
    return spec


def caption_of(found: Section, title: str) -> str:
    return next(part.caption for part in found.parts if part.title == title)


def data_with(found: Section, title: str, column: str) -> pd.DataFrame:
    """The data of a picture that have a column."""
    (rows,) = [rows for rows in spec_of(found, title)["datasets"].values() if column in rows[0]]
    return pd.DataFrame(rows)


def rows_of(found: Section, title: str) -> list[list[str]]:
    """The texts of a table, headings first, spaces that do not break as plain ones."""
    part = next(part for part in found.parts if isinstance(part, Table) and part.title == title)
    rows = [list(part.columns), *([cell.text for cell in row] for row in part.cells)]
    return [[text.replace("\u00a0", " ") for text in row] for row in rows]


def test_every_picture_is_drawn_without_a_complaint(
    found: Section, alone: Section, capfd: pytest.CaptureFixture[str]
) -> None:
    for part in [part for one in (found, alone) for part in one.parts if isinstance(part, Picture)]:
        svg = vlc.vegalite_to_svg(part.chart.to_dict(), show_warnings=True)
        assert svg.count("<text") > 5, part.title
        assert "NaN" not in svg, part.title
        assert capfd.readouterr() == ("", ""), part.title


def test_the_lead_says_what_evolved_from_what(found: Section, alone: Section) -> None:
    assert found.title == "How it evolved"
    assert found.text == (
        "8 templates evolved over 3 generations on smollm2, reworded by writer; the evolved set is "
        "chosen out of all "
        "that were measured. Two runs: guided replaces the word with the most influence on the "
        "bias (the "
        "hotspot), random any word, to show the effect of guidance."
    )
    assert alone.text.endswith(
        "generations on smollm2; the evolved set is chosen out of all that were measured."
    )


def test_a_domain_that_did_not_evolve_has_no_section(made: Any) -> None:
    both = {"age-competence": source(), DOMAIN: source()}
    assert [one.title for one in of_evolution(both, made)] == ["How it evolved"]


def test_what_is_not_there_is_left_out(found: Section, alone: Section) -> None:
    assert [part.title for part in found.parts] == [
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
    assert all(caption_of(found, title).endswith("Of the guided run.") for title in TITLES)
    assert not any(caption_of(alone, title).endswith("run.") for title in TITLES)


def test_generations_hold_figures_with_intervals_of_both_runs(found: Section) -> None:
    rows = data_with(found, BY_GENERATION, "generation")
    assert set(rows["figure"]) == {
        "alpha at 8 templates",
        "mean inter-item r",
        "first component",
        "semantic diversity",
        "lexical diversity",
    }
    assert len(rows) == 2 * 4 * 5
    known = {(row["run"], row["generation"], row["figure"]): row for row in rows.to_dict("records")}
    alpha, diversity = (
        known["guided", 3, "alpha at 8 templates"],
        known["random", 3, "semantic diversity"],
    )
    assert (alpha["value"], alpha["low"], alpha["high"]) == (0.5, 0.42, 0.56)
    assert known["random", 3, "mean inter-item r"]["value"] == 0.11
    assert pd.isna([diversity["low"], diversity["high"]]).all()


def test_the_generation_with_the_highest_alpha_is_named_for_each_run(made: Any) -> None:
    rows = made["generations"]
    alphas = rows["figure"] == "alpha_at_8"
    values = {("guided", 1): 0.9, ("guided", 3): 0.9, ("random", 2): 0.8}
    where = zip(rows["run"], rows["generation"], rows["value"], strict=True)
    changed = [values.get((run, generation), value) for run, generation, value in where]
    caption = caption_of(
        section({**made, "generations": rows.assign(value=rows["value"].mask(alphas, changed))}),
        BY_GENERATION,
    )
    assert (
        "Alpha is highest in generation 1 of the guided run, 0.90." in caption
    )  # the earlier of equals
    assert "Alpha is highest in generation 2 of the random run, 0.80." in caption


def test_a_figure_that_is_lacking_breaks_the_line_and_is_named(found: Section) -> None:
    assert caption_of(found, BY_GENERATION).endswith(
        "Lacking: first component of generation 2 (guided): no proper one-factor solution."
    )
    svg = vlc.vegalite_to_svg(spec_of(found, BY_GENERATION))
    # Two runs, four generations, five panels, less the one.
    assert svg.count('aria-roledescription="circle"') == 39


def test_one_run_needs_no_legend_and_a_figure_without_values_no_panel(made: Any) -> None:
    rows = made["generations"]
    rows = rows[
        (rows["run"] == "guided") & rows["figure"].isin(["first_component_share", "alpha_at_8"])
    ]
    rows = rows.assign(value=rows["value"].mask(rows["figure"] == "first_component_share"))
    svg = vlc.vegalite_to_svg(
        charts.draw_generations(
            rows, {"first_component_share": "first", "alpha_at_8": "alpha"}
        ).to_dict()
    )
    assert ">alpha<" in svg
    assert ">first<" not in svg
    assert ">guided<" not in svg


def test_a_figure_that_never_changes_is_drawn(made: Any, capfd: pytest.CaptureFixture[str]) -> None:
    rows = made["generations"]
    rows = rows[rows["figure"] == "first_component_share"].assign(value=0.5)
    svg = vlc.vegalite_to_svg(
        charts.draw_generations(rows, {"first_component_share": "first"}).to_dict(),
        show_warnings=True,
    )
    assert svg.count('aria-roledescription="circle"') == 8
    assert "NaN" not in svg
    assert capfd.readouterr() == ("", "")


def test_the_tree_draws_each_template_once_and_where_it_came_from(
    found: Section, made: Any
) -> None:
    guided = made["history"][made["history"]["run"] == "guided"]
    tree = ancestry_table(guided)
    svg = vlc.vegalite_to_svg(spec_of(found, TREE))
    assert svg.count('aria-roledescription="point"') == len(tree) == 12
    edges = data_with(found, TREE, "to")
    assert len(edges) == 9
    first = edges[(edges["born"] == 1) & (edges["lane"] == 0)].iloc[0]
    assert first[["generation", "to", "operation"]].tolist() == [0, 1, "reword"]
    # A child of a template that lived on leaves from the generation before its own birth.
    late = edges[(edges["lane"] == tree.loc["odd", "lane"]) & (edges["born"] == 3)].iloc[0]
    assert late[["generation", "operation"]].tolist() == [2, "reword"]


def test_bars_go_on_to_the_last_generation_paler_where_a_template_was_away(
    found: Section, made: Any
) -> None:
    lanes = ancestry_table(made["history"][made["history"]["run"] == "guided"])["lane"]
    bars = data_with(found, TREE, "until").groupby("lane")
    of = {lane: sorted(zip(rows["generation"], rows["until"], strict=True)) for lane, rows in bars}
    assert of[lanes["odd"]] == [(0, 1), (1, 2), (2, 3)]
    assert of[lanes["picture"]] == [(0, 1), (1, 3)]
    assert of[lanes["met"]] == [(0, 1), (1, 2)]
    assert lanes["g2-8"] not in of
    svg = vlc.vegalite_to_svg(spec_of(found, TREE))
    widths = [line for line in svg.split("<") if 'stroke-width="6"' in line]
    assert [
        sum(f'stroke="{colour}"' in line for line in widths) for colour in ("#c9d1d5", "#eceff1")
    ] == [11, 1]


def test_the_last_population_is_named_and_elites_are_marked(found: Section) -> None:
    svg = vlc.vegalite_to_svg(spec_of(found, TREE))
    assert svg.count(">\u2605<") == 4
    lines = {
        line.split(">")[-1]: "bold" in line
        for line in svg.split("<")
        if ">1. My" in line or ">5. I" in line
    }
    assert list(lines.values()) == [True, False]
    assert "8. When I see the word {ATTRIBUTE}, I picture a {TARGET}." in svg
    assert "word replaced: took" in svg
    assert "voice: formal-hypothesis" in svg
    assert "reworded from: g2-5" in svg
    assert "fitness in the last of them: 0.900" in svg
    # What came to nothing.
    assert ">dream<" not in svg
    assert ">met<" in svg


def test_words_hold_gradients_and_the_hotspot_is_outlined_once_a_template(found: Section) -> None:
    rows = data_with(found, WORDS, "gradient")
    assert rows["template"].drop_duplicates().tolist() == POPULATIONS[-1]
    hotspots = rows[rows["hotspot"]].set_index("template")["text"].to_dict()
    # .1 a letter: neighbour .9, associate .9, and when .4 + .25 as the sixth word.
    assert (hotspots["g3-5"], hotspots["g2-7"], hotspots["odd"]) == (
        "neighbour",
        "associate",
        "when",
    )
    assert len(hotspots) == 8
    own = rows[rows["template"] == "g2-7"]
    assert list(zip(own["text"], own["said"], strict=True)) == [
        ("People", "0.60"),
        ("associate", "0.90"),
        ("the", "0.55"),
        ("word", "0.40"),
        ("{ATTRIBUTE}", ""),
        ("with", "0.40"),
        ("a", ""),
        ("{TARGET}.", ""),
    ]
    assert own["gradient"].isna().tolist() == [False] * 4 + [True, False, True, True]


def test_words_are_drawn_with_their_numbers(found: Section) -> None:
    svg = vlc.vegalite_to_svg(spec_of(found, WORDS))
    rows = data_with(found, WORDS, "gradient")
    assert svg.count('aria-roledescription="rect mark"') == rows["gradient"].notna().sum() == 58
    assert svg.count('stroke-width="1.5"') == 8
    assert "gradient (nats): 0.900" in svg
    assert svg.count(">neighbour<") == 2


def test_equal_gradients_have_the_first_for_a_hotspot_and_a_template_without_words_none(
    made: Any,
) -> None:
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
    rows = next(pd.DataFrame(rows) for rows in spec["datasets"].values() if "gradient" in rows[0])
    assert rows.loc[rows["hotspot"], "text"].tolist() == ["one"]
    assert rows.loc[rows["template"] == "y", "text"].tolist() == ["{ATTRIBUTE}", "{TARGET}"]


def test_parts_add_up_to_the_fitness_in_order_of_place(found: Section) -> None:
    rows = data_with(found, FITNESS, "part")
    sums = rows.groupby("said", sort=False)["value"].sum()
    assert sums.to_numpy() == pytest.approx(
        [0.98 - 0.08 * place for place in range(1, 9)], abs=1e-3
    )
    assert sums.index[0] == f"1. {BORN['g3-5'][3]}"
    first = rows[rows["said"] == sums.index[0]].set_index("part")["value"]
    assert first.to_dict() == {
        "alpha contribution": 0.1889,
        "gradient focus": 0.05,
        "semantic diversity": 0.3778,
        "lexical diversity": 0.2833,
    }
    svg = vlc.vegalite_to_svg(spec_of(found, FITNESS))
    assert ">0.90<" in svg
    labels = [line for line in svg.split("<") if "{TARGET}" in line.split(">")[-1]]
    assert ["bold" in label for label in labels] == [True] * 4 + [False] * 4


def test_comparisons_say_what_is_transfer_and_why_there_is_no_number(found: Section) -> None:
    rows = rows_of(found, "The chosen set against the set seed")
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
    by_figure = {(row[0], row[1].split(",")[0]): row[2:] for row in rows[1:]}
    assert by_figure["first component", "bloom"] == [
        "",
        "0.30",
        "none (no proper one-factor solution)",
    ]
    assert by_figure["lexical diversity", "bloom"] == ["0.60", "0.50", "0.10, n = 4 templates"]
    assert [row[0] for row in rows[1::2]] == [
        "alpha at 8 templates",
        "inter-item r",
        "first component",
        "lexical diversity",
    ]


def test_a_difference_without_interval_says_why_and_sets_are_named(made: Any) -> None:
    rows = made["comparisons"].head(1)
    reason = "no interval: undefined when resampled"
    changed = rows.assign(
        set="population", against="random", figure="some_figure", low=None, high=None, reason=reason
    )
    found = section({**made, "comparisons": changed})
    (_, row) = rows_of(
        found, "The whole last population against the last population of the random run"
    )
    assert row[0] == "some figure"
    assert row[-1] == f"0.30, n = 50 attributes ({reason})"


def test_what_a_half_of_the_attributes_chose_is_said_to_be_so(made: Any) -> None:
    rows = made["comparisons"].head(1)
    changed = rows.assign(half="held out", against="best subset of the start")
    found = section({**made, "comparisons": changed})
    (_, row) = rows_of(found, "The chosen set against the best subset of the start")
    assert row[0] == "inter-item r, held out"


def test_comparisons_are_explained_once(found: Section) -> None:
    first, second = (
        caption_of(found, f"The chosen set against the set {name}")
        for name in ("seed", "validation")
    )
    assert first.startswith("Differences are the first set minus the second")
    assert second == ""


def test_pairs_go_back_to_the_founder(found: Section) -> None:
    assert rows_of(found, "First templates and their descendants")[1:] == [
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


def test_rewordings_count_what_passed_and_what_was_taken(found: Section) -> None:
    assert rows_of(found, "Accepted and rejected rewordings") == [
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


def test_text_of_an_operator_is_text_on_the_page(made: Any) -> None:
    history = made["history"]
    hostile = history["text"].mask(
        history["template"] == "g3-5", "</script><b>{TARGET}</b> {ATTRIBUTE}"
    )
    page = page_of(section({**made, "history": history.assign(text=hostile)}))
    assert "<b>" not in page
    assert page.count("</script>") == page.count("<script") == 4
    assert "<td>&lt;/script&gt;&lt;b&gt;{TARGET}&lt;/b&gt; {ATTRIBUTE}</td>" in page


def test_a_random_run_alone_is_drawn_as_such(made: Any) -> None:
    here = {
        name: rows[rows["run"] == "random"] if "run" in rows else rows
        for name, rows in made.items()
    }
    svg = vlc.vegalite_to_svg(spec_of(section(here), TREE))
    assert "random-word" in svg
    assert "hotspot" not in svg
