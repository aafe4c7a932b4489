"""What the data of each picture hold, and that Vega-Lite draws it without a complaint."""

import random
from io import StringIO
from itertools import product
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import vl_convert as vlc

from evenruler.instruments.questionnaires import report as charts
from evenruler.instruments.questionnaires.declare.source import load_questionnaire
from evenruler.instruments.questionnaires.report import of_interventions, of_questionnaires
from evenruler.report.page import Picture, Section
from tests.instruments.questionnaires.report.conftest import INTENSIFIERS
from tests.report.pages import page_of

SOURCES = Path(__file__).parents[4] / "data/sources"


def pictures(sections: Any) -> dict[str, Picture]:
    return {
        part.title: part
        for section in sections
        for part in section.parts
        if isinstance(part, Picture)
    }


@pytest.fixture
def drawn(declared: Any, corpora: Any, tables: Any) -> dict[str, Picture]:
    return pictures([*of_questionnaires(declared, tables), *of_interventions(corpora, tables)])


def only_data(spec: dict[str, Any]) -> Any:
    (data,) = spec["datasets"].values()
    return data


def test_heat_maps_hold_every_cell_once_and_rounded(drawn: dict[str, Picture], tables: Any) -> None:
    spec = drawn["Entailment, raw and normalised"].chart.to_dict()
    frame = pd.read_csv(StringIO(only_data(spec)))
    assert len(frame) * 3 == len(tables["cells"])
    assert list(frame) == [
        "item",
        "term",
        "polarity",
        "intensifier",
        "level",
        "p0",
        "p1",
        "p2",
        "s0",
        "s1",
        "s2",
    ]
    item, model = (parameter["bind"]["labels"] for parameter in spec["params"][:2])
    assert item == ["worry: one", "worry: two", "trust: one"]
    assert model == ["speaker", "head-a", "head-low (does not count)"]
    known = tables["cells"].set_index(["questionnaire", "item", "model", "term", "intensifier"])
    for number, name in enumerate(("speaker", "head-a", "head-low")):
        row = frame[
            (frame["item"] == 1)
            & (frame["term"] == "on edge")
            & (frame["intensifier"] == "very rarely")
        ]
        cell = known.loc[("worry", "two", name, "on-edge", "very-rarely")]
        assert row[f"p{number}"].item() == round(cell["p"], 4)
        assert row[f"s{number}"].item() == round(cell["pss"], 4)


def shown_order(svg: str, words: list[str]) -> list[str]:
    """Words in the order in which they first stand in a picture."""
    return sorted(words, key=lambda word: svg.index(f">{word}<"))


def test_heat_maps_show_levels_from_left_to_right_and_source_terms_above(
    drawn: dict[str, Picture],
) -> None:
    chart = drawn["Entailment, raw and normalised"].chart
    svg = vlc.vegalite_to_svg(chart.to_dict())
    words = [word.replace("-", " ") for word in INTENSIFIERS]
    assert shown_order(svg, sorted(words)) == words
    assert shown_order(svg, ["at ease", "calm", "nervous", "on edge"]) == [
        "nervous",
        "on edge",
        "calm",
        "at ease",
    ]
    raw, normalised = chart.to_dict()["hconcat"]
    titles = [
        [block["layer"][0]["encoding"]["color"]["legend"]["title"] for block in m["vconcat"]]
        for m in (raw, normalised)
    ]
    assert titles == [["p", "p"], ["PSS", "PSS"]]
    assert chart.to_dict()["resolve"] == {"scale": {"color": "independent"}}


def test_drop_downs_choose_what_is_shown(drawn: dict[str, Picture], tables: Any) -> None:
    spec = drawn["Entailment, raw and normalised"].chart.to_dict()
    assert spec["params"][0]["bind"]["options"] == [0, 1, 2]
    spec["params"][0]["value"], spec["params"][1]["value"] = 2, 1
    svg = vlc.vegalite_to_svg(spec)
    cells = tables["cells"]
    chosen = cells[(cells["questionnaire"] == "trust") & (cells["model"] == "head-a")]
    assert "hypothesis: I {INTENSIFIER} feel one." in svg
    for value in chosen["p"]:
        assert f"p: {value:.4f}" in svg
    assert f"{chosen['p'].max() + 0.0001:.4f}" not in svg


def test_a_word_like_a_date_stays_a_word() -> None:
    rows = [
        {
            "item": "i",
            "polarity": polarity,
            "term": term,
            "intensifier": "2020",
            "level": 1,
            "model": "m",
            "p": 0.5,
        }
        for polarity, term in (("source", "true"), ("inverse", "1999-01-01"))
    ]
    chart = charts.heat_maps(pd.DataFrame(rows).assign(pss=0.5), {"i": ["premise"]})
    svg = vlc.vegalite_to_svg(chart.to_dict())
    assert all(f">{word}<" in svg for word in ("true", "1999-01-01", "2020"))


def test_a_page_with_every_shipped_prompt_and_six_models_stays_light() -> None:
    """About 1,700 prompts below 2 MB, of which Vega takes 0.9."""
    rng = random.Random(1)
    models = [f"a-model-with-a-long-name-{number}" for number in range(6)]
    rows, templates = [], {}
    for path in sorted((SOURCES / "questionnaires").glob("*.yaml")):
        source, scale = load_questionnaire(path, SOURCES / "questionnaires/shared/scales")
        for slug, item in source.items.items():
            name = f"{path.stem}: {slug}"
            templates[name] = [item.premise, item.hypothesis]
            terms = [("source", word) for word in item.terms.source.values()]
            terms += [("inverse", word) for word in item.terms.inverse.values()]
            words = [
                (level, word)
                for level, step in enumerate(scale.levels)
                for word in step.words.values()
            ]
            for (polarity, term), (level, word), model in product(terms, words, models):
                row = {
                    "item": name,
                    "polarity": polarity,
                    "term": term,
                    "intensifier": word,
                    "level": level,
                }
                rows.append({**row, "model": model, "p": rng.random(), "pss": rng.random()})
    assert len(rows) > 1500 * len(models)
    picture = Picture("Cells", "", charts.heat_maps(pd.DataFrame(rows), templates))
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
    data = spec["datasets"][lines["data"]["name"]]
    assert len(data) == 20
    same = {"questionnaire": "worry", "fit": 1, "epoch": 1, "answer": 0.1}
    assert data[1] == {**same, "role": "intervention", "corpus": "gloom"}
    assert {**same, "role": "control", "corpus": "bolts"} in data
    (told,) = spec["datasets"][differences["layer"][1]["data"]["name"]]
    assert told == {"questionnaire": "worry", "value": 0.2, "low": 0.15, "high": 0.25, "n": 6}
    assert "Expected: gloom: worry up, trust down." in picture.caption


def test_without_intervals_there_are_no_differences(corpora: Any, tables: Any) -> None:
    one = {**tables, "figures": tables["figures"].assign(low=float("nan"))}
    (found,) = pictures(of_interventions(corpora, one)).values()
    (row,) = found.chart.to_dict()["vconcat"]
    assert "hconcat" not in row


def test_every_picture_is_drawn_without_a_complaint(
    drawn: dict[str, Picture], capfd: pytest.CaptureFixture[str]
) -> None:
    for title, picture in drawn.items():
        svg = vlc.vegalite_to_svg(picture.chart.to_dict(), show_warnings=True)
        assert svg.count("<text") > 5, title
        assert capfd.readouterr() == ("", ""), title
