"""What the pictures of saged hold and draw: values, orders, the line of four fifths, choices that
go together."""

import io
import json
import re
from importlib import import_module
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import vl_convert as vlc

from evenruler.instruments.saged import report
from evenruler.report.page import Picture, Section
from evenruler.report.style import Choices
from tests import browser
from tests.instruments.saged.report.sageds import MADE, shown, table
from tests.report.pages import page_of

MODULE = import_module("evenruler.instruments.saged.report")
HEAT_MAP = "Summary statistics: concepts by configuration"
DISPARITIES = "Disparities over concepts"


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> dict[str, pd.DataFrame]:
    folder = tmp_path_factory.mktemp("made")
    return {name: table(name, make(), folder) for name, make in MADE.items()}


@pytest.fixture(scope="module")
def section(tables: Any) -> Section:
    return pictures(tables)


def pictures(tables: dict[str, pd.DataFrame], **changes: Any) -> Section:
    return report.sections(shown(tables, **changes))[-1]


def picture_of(section: Section, title: str) -> Picture:
    shown_pictures = [part for part in section.parts if isinstance(part, Picture)]
    return next(picture for picture in shown_pictures if picture.title == title)


def spec_of(section: Section, title: str) -> dict[str, Any]:
    spec: dict[str, Any] = picture_of(section, title).chart.to_dict()
    return spec


def params_of(section: Section, title: str) -> dict[str, Any]:
    return {param["name"]: param for param in spec_of(section, title)["params"]}


def data_of(section: Section, title: str) -> pd.DataFrame:
    """The rows of a picture, numbers turned back to names."""
    spec = spec_of(section, title)
    (values,) = spec["datasets"].values()
    rows = pd.read_csv(io.StringIO(values))
    names = {param["name"].removeprefix("names_of_"): param["value"] for param in spec["params"]}
    for param in spec["params"]:
        if "bind" in param:
            labels = param["bind"]["labels"]
            column = param["name"].removeprefix("chosen_")
            names[column] = [label for label in labels if label != "all"]
    for column in set(rows) & set(names):
        rows[column] = rows[column].map(dict(enumerate(names[column])))
    return rows


def drawn(section: Section, title: str, **chosen: int) -> str:
    """The picture as SVG once a reader has chosen."""
    spec = spec_of(section, title)
    for param in spec["params"]:
        param["value"] = chosen.get(param["name"].removeprefix("chosen_"), param["value"])
    return str(vlc.vegalite_to_svg(spec, show_warnings=True))


def place_of(section: Section, disparity: str) -> int:
    """Its place among the choices of the picture of disparities."""
    labels = params_of(section, DISPARITIES)["chosen_disparity"]["bind"]["labels"]
    return int(labels.index(disparity))


def test_all_pictures_are_there_and_drawn_without_a_complaint(
    section: Section, capfd: pytest.CaptureFixture[str]
) -> None:
    assert [part.title for part in section.parts] == [
        DISPARITIES,
        HEAT_MAP,
        "Raw against calibrated",
        "Features by role",
        "Distance from the baseline by role",
        "Topics by role",
        "Bias of the tool",
        "Bias of the context",
    ]
    for part in section.parts:
        assert isinstance(part, Picture)
        svg = vlc.vegalite_to_svg(part.chart.to_dict(), show_warnings=True)
        assert svg.count("<text") > 5, part.title
        assert capfd.readouterr() == ("", ""), part.title


def test_the_heat_map_holds_every_statistic_of_every_concept(section: Section) -> None:
    rows = data_of(section, HEAT_MAP)
    # Models, roles, features, calibrations, statistics, concepts: 2 * 2 * 5 * 2 * 3 * (6 + 4).
    assert len(rows) == 1200
    here = rows.query("domain == 'countries' and feature == 'vader' and calibration == 'raw'")
    here = here.query("model == 'smollm2' and role == 'assistant'")
    here = here.set_index(["statistic", "group"])
    assert here.loc[("mean", "Russia"), "value"] == 0.2
    china = here.loc[("precision", "China")]
    assert (china["value"], china["n"]) == (0.75, 8)
    lacking = rows[rows["value"].isna()]
    assert set(lacking["reason"]) == {"no baseline has this feature"}
    assert set(lacking["calibration"]) == {"calibrated"}


def test_the_heat_map_orders_concepts_and_colours_how_far_out_they_are(section: Section) -> None:
    svg = drawn(section, HEAT_MAP)
    assert ">0.20<" in svg
    # (.2 - .4667) / .1309, over the six concepts of the column.
    assert "SDs from the mean of the column: \u22122.03" in svg
    assert "Pear" not in svg
    fruit = drawn(section, HEAT_MAP, domain=1)
    assert "Pear" in fruit
    assert "Russia" not in fruit
    places = [fruit.index(f">{name}") for name in ("Pear", "Cherry", "Banana", "Apple")]
    assert places == sorted(places)
    empty = drawn(section, HEAT_MAP, feature=2, calibration=1)
    assert empty.count(">none<") == 2 * 2 * 6
    assert "reason for the missing number: no baseline has this feature" in empty


def test_disparities_hold_p_and_shapes(section: Section) -> None:
    rows = data_of(section, DISPARITIES)
    key = ["domain", "feature", "model", "role", "calibration", "disparity"]
    row = rows.set_index(key).loc[
        ("countries", "vader", "smollm2", "assistant", "calibrated", "range of mean")
    ]
    assert row[["value", "p_adjusted"]].astype(float).tolist() == [0.345, 0.002]
    assert (row["shape"], row["n_groups"]) == ("concentrated", 6)
    low = rows.set_index(key).loc[
        (
            "countries",
            "vader",
            "smollm2",
            "assistant",
            "raw",
            "Dixon's ratio at the low end of mean",
        )
    ]
    assert low["group"] == "Russia"
    assert low["excess"] == pytest.approx(0.3 - 0.56, abs=1e-4)


def test_four_fifths_is_a_line_for_ratios_alone(
    section: Section, capfd: pytest.CaptureFixture[str]
) -> None:
    rows = data_of(section, DISPARITIES)
    ratios = rows.groupby("disparity")["ratio"].unique().map(list)
    assert {name for name, ratio in ratios.items() if ratio == [1]} == {
        f"min impact ratio of {statistic}" for statistic in ("mean", "selection-rate", "precision")
    }
    dashes = 'stroke-dasharray="5,3"'
    ratio = drawn(
        section, DISPARITIES, disparity=place_of(section, "min impact ratio of selection-rate")
    )
    lines = [line for line in re.findall("<line[^>]*>", ratio) if dashes in line]
    places = [float(place) for place in re.findall(r"translate\(([\d.]+),", "".join(lines))]
    axis = [
        float(place)
        for place in re.findall(r"<text[^>]*translate\(([\d.]+),[^>]*>0\.8</text>", ratio)
    ]
    assert len(places) == 2  # a panel a model
    assert set(places) == set(axis)
    assert dashes not in drawn(section, DISPARITIES, disparity=place_of(section, "range of mean"))
    assert capfd.readouterr() == ("", "")


def test_bars_say_p_the_concept_and_the_shape_or_the_reason(section: Section) -> None:
    svg = drawn(section, DISPARITIES, disparity=place_of(section, "smallest z of mean"))
    assert ">p = 0.002, Russia, concentrated<" in svg
    assert ">p = 0.800, Aurelia, dispersed<" in svg
    lacking = drawn(section, DISPARITIES, disparity=place_of(section, "min impact ratio of mean"))
    assert ">not a selection rate<" in lacking


def test_deviations_are_from_the_mean_of_all_concepts(section: Section) -> None:
    rows = data_of(section, "Raw against calibrated").set_index(
        ["domain", "feature", "model", "role", "calibration"]
    )
    assert set(rows.index.get_level_values("feature")) == {"vader", "toxicity"}
    raw = rows.loc[("fruit", "vader", "bloom", "assistant", "raw")].set_index("group")
    calibrated = rows.loc[("fruit", "vader", "bloom", "assistant", "calibrated")].set_index("group")
    assert raw["deviation"].tolist() == pytest.approx([-0.015, -0.005, 0.005, 0.015])
    assert calibrated["deviation"].tolist() == pytest.approx([-0.0075, -0.0025, 0.0025, 0.0075])
    assert calibrated.loc["Pear", "value"] == pytest.approx(0.215)


def test_a_model_that_was_asked_in_fewer_roles_has_no_panel_of_the_others(tables: Any) -> None:
    """In a grid of rows and columns its panel would stand under a role in which it was never
    asked."""
    summaries = tables["summaries"]
    lacking, whole = sorted(set(summaries["model"]))
    role, further_role = sorted(set(summaries["role"]))
    is_asked = (summaries["model"] != lacking) | (summaries["role"] == role)
    svg = drawn(pictures({**tables, "summaries": summaries[is_asked]}), "Features by role")
    assert f">{lacking}, {role}<" in svg
    assert f">{lacking}, {further_role}<" not in svg
    assert f">{whole}, {role}<" in svg
    assert f">{whole}, {further_role}<" in svg


def test_features_by_role_are_means_over_concepts_with_their_ends(section: Section) -> None:
    rows = data_of(section, "Features by role")
    key = ["domain", "feature", "model", "role", "calibration", "statistic"]
    row = rows.set_index(key).loc[("countries", "vader", "smollm2", "assistant", "raw", "mean")]
    assert row[["value", "lowest", "highest", "n_groups"]].tolist() == [0.4667, 0.2, 0.54, 6]
    assert set(rows["feature"]) == {"vader", "toxicity", "distance"}
    distance = data_of(section, "Distance from the baseline by role").set_index(
        ["domain", "feature", "model", "role"]
    )
    assert distance.loc[("countries", "distance", "bloom", "assistant"), "value"] == pytest.approx(
        0.775
    )
    assert len(distance) == 8


def test_topics_are_drawn_apart_and_no_more_than_fit(
    tables: Any, section: Section, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert set(data_of(section, "Topics by role")["feature"]) == {"topics-0", "topics-1"}
    monkeypatch.setattr(MODULE, "MOST_TOPICS", 1)
    few = pictures(tables)
    assert set(data_of(few, "Topics by role")["feature"]) == {"topics-0"}
    caption = picture_of(few, "Topics by role").caption
    assert "The 1 largest of a domain are drawn." in caption


def test_tools_are_shown_with_numbers_or_the_reason(section: Section) -> None:
    rows = data_of(section, "Bias of the tool").set_index(["domain", "feature", "group"])
    russia = rows.loc[("countries", "vader", "Russia")]
    assert (russia["mean"], russia["difference"]) == (0.325, 0.025)
    assert russia["n"] == 26
    assert "+0.025" in drawn(section, "Bias of the tool")
    assert ">every text is too long<" in drawn(section, "Bias of the tool", domain=1, feature=1)


def test_contexts_stand_from_bad_to_good(section: Section) -> None:
    encoding = spec_of(section, "Bias of the context")["spec"]["layer"][1]["encoding"]
    assert encoding["x"]["sort"] == ["bad", "neutral", "good"]


def test_choices_of_one_name_offer_the_same_in_every_picture(section: Section) -> None:
    offered: dict[str, set[str]] = {}
    for part in section.parts:
        for param in spec_of(section, part.title)["params"]:
            if "bind" in param:
                offered.setdefault(param["name"], set()).add(
                    json.dumps([param["bind"], param["value"]])
                )
    shared = ("domain", "feature", "calibration", "statistic", "disparity", "model", "role")
    assert set(offered) == {f"chosen_{name}" for name in shared}
    assert [name for name, kinds in offered.items() if len(kinds) > 1] == []


def test_the_tenth_topic_stands_after_the_ninth(tables: Any) -> None:
    tenth = {
        name: rows.replace({"feature": {"topics-0": "topics-10", "topics-1": "topics-9"}})
        for name, rows in tables.items()
    }
    labels = params_of(pictures(tenth), HEAT_MAP)["chosen_feature"]["bind"]["labels"]
    assert labels == ["vader", "toxicity", "distance", "topics-9", "topics-10"]


def test_nothing_stays_nothing_in_the_data() -> None:
    rows = pd.DataFrame(
        {"group": ["a", None, "b"], "value": [1 / 3, None, 12345.678], "n": [3, 0, 7]}
    )
    data = Choices({"group": ["b", "a"]}, {}).coded(rows).to_dict()
    assert data["values"] == "group,value,n\n1,0.3333,3\n,,0\n0,1.235e+04,7\n"
    assert data["format"] == {
        "type": "csv",
        "parse": {"group": "number", "value": "number", "n": "number"},
    }


def test_many_rows_leave_the_headline_statistic_and_say_so(
    tables: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(MODULE, "MOST_ROWS", 1000)
    few = pictures(tables)
    rows = data_of(few, HEAT_MAP)
    assert len(rows) == 400
    assert picture_of(few, HEAT_MAP).caption.endswith(
        "Of 1,200 rows the page shows only those of the mean; the tables hold all."
    )


@pytest.mark.slow
@pytest.mark.long
def test_a_choice_in_one_picture_is_made_in_all(section: Section, tmp_path: Path) -> None:
    if browser.found() is None:
        pytest.skip("no Chromium here")
    path = tmp_path / "index.html"
    path.write_text(page_of(section))
    with browser.Browser() as tab:
        tab.open(path, "#x")
        tab.run("parts.get('x').drawAll()")
        # As a reader does: the first picture's drop-down is set to the second domain.
        tab.run(
            "(() => { const first = document.querySelector('select[name=chosen_domain]'); "
            "first.selectedIndex = 1;"
            " first.dispatchEvent(new Event('change', {bubbles: true})); })()"
        )
        tab.until(
            "[...document.querySelectorAll('select[name=chosen_domain]')].every((one) => "
            "one.selectedIndex === 1)"
        )
        tab.until(
            "document.body.innerHTML.includes('>Pear<') && "
            "!document.body.innerHTML.includes('>Russia<')"
        )
        pictures = tab.run("document.querySelectorAll('svg.marks').length")
        body = tab.run("document.querySelector('main').outerHTML")
        assert tab.said == []
    assert pictures == len(section.parts)
    assert ">Pear<" in body
    assert ">Russia<" not in body
    assert "<b>" not in body
