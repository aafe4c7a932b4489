"""Charts that are written as data: what is filled in, what is refused, what readers choose."""

from pathlib import Path

import pandas as pd
import pytest

from evenruler.report.style import Charts, Choices, fill_placeholders

WRITTEN = """
dots:
  width: ${width}
  mark: {type: point, color: '${ink}'}
  encoding:
    x: {field: value, type: quantitative, title: '${unit} of ${width} pixels', scale: {domain: '${ends}'}}
two:
  layer:
    - {data: {name: one}, mark: point}
    - {data: {name: other}, mark: line}
"""


@pytest.fixture
def charts(tmp_path: Path) -> Charts:
    (tmp_path / "charts.yaml").write_text(WRITTEN, encoding="utf-8")
    return Charts(tmp_path / "charts.yaml")


def test_a_value_alone_keeps_its_type_and_within_a_text_is_its_words() -> None:
    written = {"a": ["${n}", "${n} of ${of}", 3], "b": {"c": "${gone}"}}
    assert fill_placeholders(written, {"n": 2, "of": [1], "gone": None}) == {
        "a": [2, "2 of [1]", 3],
        "b": {"c": None},
    }


def test_a_value_that_is_not_given_is_an_error(charts: Charts) -> None:
    with pytest.raises(KeyError, match="unit"):
        charts.part("dots", width=100, ends=[0, 1])


def test_a_chart_is_what_is_written_with_its_data(charts: Charts) -> None:
    points = pd.DataFrame({"value": [0.5, None]})
    spec = charts.chart("dots", points, width=100, unit="share", ends=[0, 1]).to_dict()
    assert spec["width"] == 100
    assert spec["mark"] == {"type": "point", "color": "#1d2529"}
    title, scale = "share of 100 pixels", {"domain": [0, 1]}
    assert spec["encoding"]["x"] == {
        "field": "value",
        "type": "quantitative",
        "title": title,
        "scale": scale,
    }
    name = spec["data"]["name"]
    assert spec["datasets"] == {name: [{"value": 0.5}, {"value": None}]}


def test_parts_of_a_chart_have_data_by_name(charts: Charts) -> None:
    frames = {"one": pd.DataFrame({"x": [1]}), "other": pd.DataFrame({"x": [2]})}
    spec = charts.chart("two", frames).to_dict()
    assert [layer["data"]["name"] for layer in spec["layer"]] == ["one", "other"]
    assert spec["datasets"] == {"one": [{"x": 1}], "other": [{"x": 2}]}


def test_only_chosen_rows_are_drawn_and_a_single_option_has_no_drop_down() -> None:
    choices = Choices({"model": ["a", "b"], "domain": ["d"]}, {"model": -1})
    spec = choices.chosen(
        {"mark": "point", "transform": [{"sample": 5}]}, ["domain"], ["model", "domain"], ["model"]
    )
    several = {
        "input": "select",
        "options": [-1, 0, 1],
        "labels": ["all", "a", "b"],
        "name": "model ",
    }
    assert spec["params"] == [
        {"name": "names_of_domain", "value": ["d"]},
        {"name": "chosen_model", "value": -1, "bind": several},
        {"name": "chosen_domain", "value": 0},
    ]
    assert spec["transform"] == [
        {
            "filter": "(chosen_model == -1 || datum.model == chosen_model) && datum.domain == "
            "chosen_domain"
        },
        {
            "calculate": "isValid(datum.domain) ? names_of_domain[datum.domain] : null",
            "as": "domain",
        },
        {"sample": 5},
    ]
