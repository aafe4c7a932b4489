"""What the data of each picture hold, and that Vega-Lite draws it without a complaint."""

from io import StringIO
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import vl_convert as vlc

from evenruler.instruments.questionnaires import report as charts
from evenruler.instruments.questionnaires.declare.source import load_questionnaire
from evenruler.instruments.questionnaires.report import of_interventions, of_questionnaires
from evenruler.instruments.questionnaires.rows import fill_templates
from evenruler.report.page import Picture, Section
from tests.report.pages import page_of

SOURCES = Path(__file__).parents[4] / "data/sources"


def pictures(sections: Any) -> dict[str, Picture]:
    parts = chain.from_iterable(section.parts for section in sections)
    return {part.title: part for part in parts if isinstance(part, Picture)}


@pytest.fixture
def drawn(declared: Any, corpora: Any, tables: Any) -> dict[str, Picture]:
    return pictures([*of_questionnaires(declared, tables), *of_interventions(corpora, tables)])


def only_data(spec: dict[str, Any]) -> Any:
    (rows,) = spec["datasets"].values()
    return rows


def test_heat_maps_hold_every_cell_once_and_rounded(drawn: dict[str, Picture], tables: Any) -> None:
    spec = drawn["Entailment, raw and normalised"].chart.to_dict()
    frame = pd.read_csv(StringIO(only_data(spec)))
    assert len(frame) * 3 == len(tables["cells"])
    of_item, of_model = (parameter["bind"] for parameter in spec["params"][:2])
    assert of_item["labels"] == ["worry: one", "worry: two", "trust: one"]
    assert of_model["labels"] == ["speaker", "head-a", "head-low (does not count)"]
    shown = frame.query("item == 1 and term == 'on edge' and intensifier == 'very rarely'")
    of_cell = "questionnaire == 'worry' and item == 'two' and term == 'on-edge'"
    cells = tables["cells"].query(f"{of_cell} and intensifier == 'very-rarely'")
    assert list(cells["model"]) == ["speaker", "head-a", "head-low"]
    for column, letter in (("p", "p"), ("pss", "s")):
        columns = [f"{letter}{number}" for number in range(3)]
        assert shown[columns].iloc[0].tolist() == cells[column].round(4).tolist()


def test_drop_downs_choose_what_is_shown_by_level_and_with_source_terms_above(
    drawn: dict[str, Picture], tables: Any
) -> None:
    spec = drawn["Entailment, raw and normalised"].chart.to_dict()
    of_item, of_model = spec["params"][:2]
    assert of_item["bind"]["options"] == [0, 1, 2]
    of_item["value"] = 2
    of_model["value"] = 1
    svg = vlc.vegalite_to_svg(spec)
    for words in (
        ["never", "very rarely", "often", "always"],
        ["nervous", "on edge", "calm", "at ease"],
    ):
        assert sorted(words, key=lambda word: svg.index(f">{word}<")) == words
    cells = tables["cells"]
    chosen = cells.query("questionnaire == 'trust' and model == 'head-a'")
    assert "hypothesis: I {INTENSIFIER} feel one." in svg
    for p in chosen["p"]:
        assert f"p: {p:.4f}" in svg
    assert f"{chosen['p'].max() + 0.0001:.4f}" not in svg


def test_a_word_like_a_date_stays_a_word() -> None:
    rows = pd.DataFrame({"polarity": ["source", "inverse"], "term": ["true", "1999-01-01"]})
    rows = rows.assign(item="i", intensifier="2020", level=1, model="m", p=0.5, pss=0.5)
    chart = charts.heat_maps(rows, {"i": ["premise"]})
    svg = vlc.vegalite_to_svg(chart.to_dict())
    assert all(f">{word}<" in svg for word in ("true", "1999-01-01", "2020"))


@pytest.mark.slow
def test_a_page_with_every_shipped_prompt_and_six_models_stays_light() -> None:
    """About 1,700 prompts below 2 MB, of which Vega takes 0.9."""
    models = pd.DataFrame({"model": [f"a-model-with-a-long-name-{n}" for n in range(6)]})
    prompts, templates = [], {}
    for path in sorted((SOURCES / "questionnaires").glob("*.yaml")):
        source, scale = load_questionnaire(path, SOURCES / "questionnaires/shared/scales")
        for slug, item in source.items.items():
            templates[f"{path.stem}: {slug}"] = [item.premise, item.hypothesis]
        prompts += fill_templates(path.stem, source, scale).prompts
    rows = pd.DataFrame(prompts).query("twin == 0").merge(models, how="cross")
    shares = np.random.default_rng(1).random((2, len(rows)))
    names = rows["questionnaire"] + ": " + rows["item"]
    rows = rows.assign(item=names, p=shares[0], pss=shares[1])
    assert len(rows) > 1500 * len(models)
    picture = Picture("Cells", "", charts.heat_maps(rows, templates))
    assert len(page_of(Section("Items", "", [picture]))) < 2_000_000


def test_courses_are_a_row_a_model_and_intervention_beside_its_control(
    drawn: dict[str, Picture],
) -> None:
    picture = drawn["Answers during adaptation"]
    spec = picture.chart.to_dict()
    (row,) = spec["vconcat"]
    assert row["title"]["text"] == "head-a: gloom"
    lines, differences = row["hconcat"]
    assert lines["facet"]["field"] == "questionnaire"
    points = spec["datasets"][lines["data"]["name"]]
    assert len(points) == 20
    same = {"questionnaire": "worry", "fit": 1, "epoch": 1, "answer": 0.1}
    assert points[1] == {**same, "role": "intervention", "corpus": "gloom"}
    assert {**same, "role": "control", "corpus": "bolts"} in points
    (difference,) = spec["datasets"][differences["layer"][1]["data"]["name"]]
    assert difference == {"questionnaire": "worry", "value": 0.2, "low": 0.15, "high": 0.25, "n": 6}
    assert "Expected: gloom: worry up, trust down." in picture.caption


def test_without_intervals_there_are_no_differences(corpora: Any, tables: Any) -> None:
    without_intervals = {**tables, "figures": tables["figures"].assign(low=float("nan"))}
    (picture,) = pictures(of_interventions(corpora, without_intervals)).values()
    (row,) = picture.chart.to_dict()["vconcat"]
    assert "hconcat" not in row


def test_every_picture_is_drawn_without_a_complaint(
    drawn: dict[str, Picture], capfd: pytest.CaptureFixture[str]
) -> None:
    for title, picture in drawn.items():
        svg = vlc.vegalite_to_svg(picture.chart.to_dict(), show_warnings=True)
        assert svg.count("<text") > 5, title
        assert capfd.readouterr() == ("", ""), title
