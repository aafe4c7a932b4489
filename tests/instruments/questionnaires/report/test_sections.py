"""What the tables of the page say."""

from typing import Any

import pandas as pd
import pytest

from evenruler.instruments.instrument import ReportInput
from evenruler.instruments.questionnaires.report import (
    of_interventions,
    of_questionnaires,
    sections,
)
from evenruler.report.page import Cell, Section, Table
from tests.instruments.questionnaires.doors import cases, table_of_text


def section(sections: list[Section], title: str) -> Section:
    return next(section for section in sections if section.title == title)


def table_of(section: Section, title: str = "") -> Table:
    return next(part for part in section.parts if isinstance(part, Table) and part.title == title)


def quality_table(sections: list[Section]) -> Table:
    return table_of(section(sections, "Questionnaires: items"), "Quality of the items")


def plain(row: Any) -> list[str]:
    """The texts of a row, spaces that do not break as plain ones."""
    return [(cell.text if isinstance(cell, Cell) else cell).replace("\u00a0", " ") for cell in row]


def texts_of(table: Table) -> list[list[str]]:
    return [plain(row) for row in table.rows]


def marks(row: Any) -> list[str]:
    """The marks of those cells of a row that have one."""
    return [cell.mark for cell in row if isinstance(cell, Cell)]


OF_MODELS = ("accuracy", "cells", "figures", "items", "population", "quality", "scales")


@pytest.fixture
def questionnaires(declared: Any, tables: Any) -> list[Section]:
    return of_questionnaires(declared, tables)


@pytest.fixture
def interventions(corpora: Any, tables: Any) -> Section:
    (section,) = of_interventions(corpora, tables)
    return section


def test_a_model_below_its_bar_is_marked(questionnaires: list[Section]) -> None:
    models = table_of(section(questionnaires, "Questionnaires: the models"))
    of_pairs = "0.800 [0.750, 0.850], n = 501; guessing 0.333; AUC 0.900"
    of_statements = "0.800 [0.750, 0.850], n = 60; guessing 0.500; AUC 0.600"
    of_low = "0.550 [0.500, 0.600], n = 501; guessing 0.333"
    assert texts_of(models) == cases(f"""
speaker | causal | speaker | verbaliser | 0.70 | {of_pairs} | {of_statements} | counts
head-a | nli | encoder | head | 0.70 | {of_pairs} | {of_statements} | counts
head-low | nli | encoder | head | 0.70 | {of_low} | not asked | below, does not count
""")
    assert [marks(row[-1:]) for row in models.rows] == [["found"], ["found"], ["unfit"]]


def test_scores_come_with_their_place_and_figures_with_their_reason(
    questionnaires: list[Section],
) -> None:
    table = table_of(section(questionnaires, "Questionnaires: scores"), "Scale of worry (worry)")
    assert list(table.columns) == ["", "speaker", "head-a", "head-low (does not count)"]
    rows = {row[0]: plain(row)[1:] for row in table.rows}
    assert rows["score, 2 items"] == ["2.000; no z", "2.100; z +1.25, normal +0.50", "2.200; no z"]
    assert (
        rows["answer (mean weight of the source terms); control: of the twins"]
        == ["0.50 [0.25, 0.75], n = 7; control 0.12"] * 3
    )
    assert rows["Cronbach's alpha, over lineages asked by head"] == [
        "none (fewer than 5 lineages of models)"
    ]


def test_without_twins_the_caption_says_that_nothing_has_a_verdict(
    declared: Any, tables: Any
) -> None:
    bare = {
        slug: template.model_copy(update={"twins": []})
        for slug, template in declared["worry"].items.items()
    }
    twinless = {**declared, "worry": declared["worry"].model_copy(update={"items": bare})}
    scores = section(of_questionnaires(twinless, tables), "Questionnaires: scores")
    assert table_of(scores, "Scale of worry (worry)").caption == (
        "Measures worry; positive means more worry. Its items have no twins, so no score has a "
        "verdict."
    )


def test_items_that_need_work_stand_first_with_words_beside_colours(
    questionnaires: list[Section],
) -> None:
    table = quality_table(questionnaires)
    models = ["speaker", "head-a", "head-low (does not count)"]
    of_models = [f"SC {model}" for model in models]
    assert list(table.columns) == ["item", "SS", *of_models, "what to change"]
    narrow, wide = "PSS 0.10 to 0.20", "PSS 0.10 to 0.30"
    advice = "SS: say it closer; SC: take plainer opposites"
    of_two = f"0.30 weak, {wide} | -0.10 poor, {wide} | 0.90 good, {wide}"
    of_one = f"0.80 good, {narrow} | 0.70 good, {narrow} | 0.65 good, {narrow}"
    of_trust = f"0.90 good, {narrow} | none | -0.20 poor, {narrow}"
    assert texts_of(table) == cases(f"""
worry: two | 0.40 poor | {of_two} | {advice}
worry: one | 0.70 good | {of_one} | nothing
trust: one | 0.30 to paraphrase, unrated | {of_trust} | nothing
""")
    assert [" ".join(marks(row)) for row in table.rows] == [
        "unfit open unfit told",
        "found found found told",
        "told found told told",
    ]


def test_items_are_analysed_beside_their_twins(declared: Any, tables: Any) -> None:
    added = table_of_text("""\
figure|value|low|high|n|control
item_answer|1.5|1.0|2.0|6|0.25
without_item|0.75|||1|
""").assign(benchmark="worry", item="one", model="head-a", unit="items")
    figures = pd.concat([tables["figures"], added], ignore_index=True)
    table = quality_table(of_questionnaires(declared, {**tables, "figures": figures}))
    assert table.columns[-2] == "points, head-a"
    answer = "answer 1.50 [1.00, 2.00], n = 6, twins 0.25"
    without_it = "scale beyond twins without it 0.75, n = 1"
    points = [plain(row)[-2] for row in table.rows]
    assert points == ["", f"{answer}; {without_it}", ""]


def test_interventions_are_told_beside_their_controls(interventions: Section) -> None:
    gloom = table_of(interventions, "Moved by gloom")
    changed = "0.300 [0.200, 0.400], n = 6 | 0.100 [0.000, 0.200], n = 6"
    beyond = "0.200 [0.150, 0.250], n = 6"
    assert texts_of(gloom) == cases(f"""
trust | head-a |  |  | 0.100, n = 1 | down | inconclusive | One.
worry | head-a | {changed} | {beyond} | up | effect | It is <large>.
""")
    assert [marks(row) for row in gloom.rows] == [["open"], ["found"]]
    assert gloom.caption.startswith(
        "Sentences of the intervention about <it>. Control: sentences of the control about <it>."
    )
    titles = [part.title for part in interventions.parts]
    assert titles[1:] == [
        "Moved by gloom",
        "How the adaptations went",
        "An anecdote: a chat model replies",
    ]


def test_the_course_is_a_column_an_epoch_and_the_end_of_all_fits(interventions: Section) -> None:
    table = table_of(interventions, "How the adaptations went")
    epochs = ["epoch 0", "epoch 1", "epoch 2"]
    ends = ["all fits, end", "SD", "fits"]
    assert list(table.columns) == ["model", "corpus", "measure", *epochs, *ends]
    assert [plain(row)[2:] for row in table.rows[:2]] == cases("""
labelled pairs answered right, of 30 | 0.90 | 0.80 | 0.70 | 0.70 | 0.00 | 2
loss on held-out sentences (nats a token) | 3.40 | 2.40 | 1.40 | 1.35 | 0.07 | 2
""")
    assert len(table.rows) == 8


def test_replies_are_called_an_anecdote(interventions: Section) -> None:
    table = table_of(interventions, "An anecdote: a chat model replies")
    assert texts_of(table) == cases("""
speaker | bolts | <i>Reply</i> 0 | <i>Reply</i> 2
speaker | gloom | none (filtered) | <i>Reply</i> 2
""")
    assert table.caption.startswith("An anecdote, not a measurement")


def test_a_model_asked_in_two_ways_is_two_columns(declared: Any, tables: Any) -> None:
    """As `sentence` the speaker is another row of the population, and named so where no column says
    the way."""
    both = dict(tables)
    for name in OF_MODELS:
        again = tables[name][tables[name]["model"] == "speaker"]
        methods = {"method"} & {*again}
        columns = dict.fromkeys(methods, "sentence") or {"model": "speaker (sentence)"}
        both[name] = pd.concat([tables[name], again.assign(**columns)], ignore_index=True)
    of_both = tables["figures"][tables["figures"]["figure"] == "rho"]
    apart = of_both.assign(method="sentence", value=0.5, low=0.25, high=0.75, n=6, reason=None)
    both["figures"] = pd.concat([both["figures"], apart], ignore_index=True)
    shown = of_questionnaires(declared, both)
    models = ["speaker", "head-a", "head-low (does not count)", "speaker (sentence)"]
    scores = table_of(section(shown, "Questionnaires: scores"), "Scale of trust (trust)")
    assert list(scores.columns) == ["", *models]
    of_models = [f"SC {model}" for model in models]
    assert list(quality_table(shown).columns)[2:-1] == of_models
    rho = [plain(row)[:2] for row in scores.rows if "rho with" in row[0]]
    assert rho == cases("""
rho with worry, asked by sentence | 0.50 [0.25, 0.75], n = 6
rho with worry, asked by verbaliser | none (fewer than 5 lineages of models)
""")


def test_cells_of_something_else_are_not_dropped_in_silence(declared: Any, tables: Any) -> None:
    with pytest.raises(ValueError, match="48 cells are not of the declared"):
        of_questionnaires({"worry": declared["worry"]}, tables)


def test_interventions_are_shown_where_a_model_was_adapted(
    declared: Any, corpora: Any, tables: Any
) -> None:
    sources = {
        name: source.model_copy(update={"corpora": corpora}) for name, source in declared.items()
    }
    nobody = {**tables, "trajectories": tables["trajectories"][:0]}
    titles = []
    for shown_tables in (tables, nobody):
        shown = sections(ReportInput(sources, {}, shown_tables, {}))
        titles.append([section.title for section in shown])
    always = ["Questionnaires: the models", "Questionnaires: scores", "Questionnaires: items"]
    assert titles == [[*always, "Interventions"], always]
