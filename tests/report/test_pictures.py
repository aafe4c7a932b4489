"""Pictures and tables that are declared as data: which rows they show, and what is drawn."""

from pathlib import Path
from typing import Any

import altair as alt
import pandas as pd
import pytest

from evenruler.errors import UserError
from evenruler.report.page import ONE_HUE, Cell, Picture, Table
from evenruler.report.pictures import (
    WIDE,
    PartDeclaration,
    SectionDeclaration,
    draw_chart,
    draw_sections,
    label_models,
    read_declarations,
    select_rows,
    write_table_part,
)
from tests.text_tables import table_of_text

TABLE = table_of_text("""\
benchmark|model|set|epoch|value|low|high|n
jobs|b||1|0.123456|0.1|0.2|1200
jobs|a|seed|0|-0.5|||8
jobs|a||1||||0
age|a|seed|0|0.9|0.8|1.0|5
""")


def part_of(kind: str, **more: Any) -> PartDeclaration:
    declared = {"title": "Title", "kind": kind, "table": "figures", **more}
    return PartDeclaration.model_validate(declared)


DOTS = part_of("dots", x="value", y="model", choose=["set"])
HEAT = part_of("heat", x="set", y="model", colour="value")
LINES = part_of("lines", x="epoch", y="value", colour="model", panels="set", free=True)
POINTS = part_of("points", x="low", y="high", detail=["model"])


def draw_rows(part: PartDeclaration) -> dict[str, Any]:
    return draw_chart(part, select_rows(TABLE, part))


class TestRows:
    def test_without_a_number_are_left_out_and_a_null_name_is_all(self) -> None:
        rows = select_rows(TABLE, DOTS)
        assert list(zip(rows["model"], rows["set"], strict=True)) == [
            ("b", "all"),
            ("a", "seed"),
            ("a", "seed"),
        ]

    @pytest.mark.parametrize(
        ("where", "values"),
        [
            ({"set": ["all"]}, [0.123456]),
            ({"epoch": ["0"]}, [-0.5, 0.9]),
            ({"model": ["a", "b"], "n": ["8"]}, [-0.5]),
            ({"model": ["c"]}, []),
        ],
    )
    def test_are_those_that_have_what_is_declared(
        self, where: dict[str, list[str]], values: list[float]
    ) -> None:
        part = part_of("dots", x="value", y="model", where=where)
        assert list(select_rows(TABLE, part)["value"]) == values

    def test_are_sorted_upwards_or_downwards(self) -> None:
        part = part_of("dots", x="value", y="model", order=["benchmark", "-n"])
        assert list(select_rows(TABLE, part)["n"]) == [5, 1200, 8]

    def test_have_models_with_the_method_of_asking(self) -> None:
        answers = pd.DataFrame({"model": ["a", "a"], "method": ["head", "mlm"]})
        figures = pd.DataFrame({"model": ["a", None], "figure": "r", "method": ["mlm", None]})
        assert list(label_models(answers)["model"]) == ["a", "a (mlm)"]
        assert list(label_models(figures)["model"]) == ["a (mlm)", ""]


class TestSections:
    def test_are_of_each_instrument_and_then_of_the_family(self) -> None:
        parts = [DOTS, part_of("table", columns=["n"], where={"model": ["b"]})]
        declared = [
            SectionDeclaration(title="All", family=True, parts=[LINES]),
            SectionDeclaration(title="Each", text="Words.", parts=parts),
        ]
        sections = draw_sections(declared, ["jobs", "age", "none"], {"figures": TABLE})
        shown = [(section.title, section.instrument, len(section.parts)) for section in sections]
        assert shown == [("Each", "jobs", 2), ("Each", "age", 1), ("All", "", 1)]

    def test_say_in_words_what_a_picture_shows(self) -> None:
        dots = DOTS.model_copy(update={"detail": ["n", "unit"]})
        declared = [SectionDeclaration(title="Each", parts=[dots])]
        tables = {"figures": TABLE.assign(unit="words")}
        captions: list[str] = []
        for section in draw_sections(declared, ["jobs", "age"], tables):
            picture = section.parts[0]
            assert isinstance(picture, Picture)
            captions.append(picture.caption)
        assert captions == [
            "2 numbers, from -0.500 (seed, a, words) to 0.123 (all, b, words).",
            "One number: 0.900 (seed, a, words).",
        ]


class TestTables:
    def test_cells_are_words(self) -> None:
        record = table_of_text("""\
value|low|high|n|elite|p|verdict|reason
0.5|0.25|0.75|1200|True|0.0004|detected|
""").assign(words=[["sea", "sky"]])
        columns = ["value", "n", "elite", "p", "words", "verdict", "reason"]
        part = part_of("table", columns=columns, x="value", titles={"n": "replies"})
        table = write_table_part(part, record)
        detected = Cell("detected", "detected")
        interval = "0.500 [0.250,\u00a00.750]"
        row: list[str | Cell] = [interval, "1,200", "yes", "0.000", "sea, sky", detected, ""]
        assert table == Table(["value", "replies", *columns[2:]], [row], "Title", "")

    def test_long_ones_are_cut_and_say_where_the_rest_is(self) -> None:
        part = part_of("table", columns=["n"], caption="Counts.", most=3)
        table = write_table_part(part, TABLE)
        assert [row[0] for row in table.rows] == ["1,200", "8", "0"]
        assert table.caption == "Counts. 1 more rows are in figures.parquet of the diagnosis."


class TestCharts:
    @pytest.mark.parametrize("part", [DOTS, HEAT, LINES, POINTS])
    def test_are_vega_lite(self, part: PartDeclaration) -> None:
        alt.Chart.from_dict(draw_rows(part)).to_dict()

    @pytest.mark.parametrize(
        ("part", "size"),
        [
            (DOTS, (WIDE, {"step": 20})),
            (HEAT, (120, {"step": 20})),
            (part_of("heat", x="n", y="model", colour="value"), (3 * 44, {"step": 20})),
        ],
    )
    def test_have_room_for_rows_and_columns(self, part: PartDeclaration, size: Any) -> None:
        chart = draw_rows(part)
        assert (chart["width"], chart["height"]) == size

    def test_have_the_columns_that_they_show_rounded(self) -> None:
        first, second, _ = draw_rows(DOTS)["data"]["values"]
        named = {"set": "all", "model": "b"}
        assert first == {**named, "value": 0.123, "low": 0.1, "high": 0.2, "n": 1200}
        assert second["low"] is None

    def test_of_dots_have_an_interval_a_zero_and_the_numbers(self) -> None:
        interval, zero, dot = draw_rows(DOTS)["layer"]
        ends = interval["encoding"]
        assert (ends["x"]["field"], ends["x2"]["field"]) == ("low", "high")
        assert interval["transform"] == [{"filter": "isValid(datum.low)"}]
        assert zero["encoding"] == {"x": {"datum": 0}}
        assert dot["encoding"]["x"]["field"] == "value"
        assert dot["encoding"]["y"]["sort"] == ["b", "a"]
        assert dot["encoding"]["color"] == {"value": ONE_HUE}

    def test_of_dots_have_a_stroke_where_controls_are(self) -> None:
        rows = select_rows(TABLE.assign(control=0.25), DOTS)
        layers = draw_chart(DOTS, rows)["layer"]
        fields = [layer["encoding"]["x"].get("field") for layer in layers]
        assert fields == ["low", None, "control", "value"]

    @pytest.mark.parametrize(("least", "n_colours"), [(-0.5, 3), (0.5, 2)])
    def test_of_heat_show_signs_by_colour(self, least: float, n_colours: int) -> None:
        rows = select_rows(TABLE.assign(value=[least, 0.6, 0.7, 0.8]), HEAT)
        tiles, numbers = draw_chart(HEAT, rows)["layer"]
        scale = tiles["encoding"]["color"]["scale"]
        assert len(scale["range"]) == n_colours
        assert scale.get("domainMid") == (0 if n_colours == 3 else None)
        assert numbers["encoding"]["text"]["field"] == "value"

    def test_of_lines_go_over_numbers_or_over_names(self) -> None:
        of_epochs = draw_rows(LINES)["spec"]["layer"][-1]["encoding"]["x"]
        assert of_epochs["type"] == "quantitative"
        of_names = draw_rows(part_of("lines", x="model", y="value"))["layer"][-1]["encoding"]["x"]
        assert of_names["sort"] == ["b", "a"]

    def test_have_a_drop_down_where_there_is_a_choice(self) -> None:
        bound = {"input": "select", "options": ["all", "seed"], "name": "set "}
        chart = draw_rows(DOTS)
        assert chart["params"] == [{"name": "chosen_set", "value": "all", "bind": bound}]
        assert chart["transform"] == [{"filter": "datum['set'] == chosen_set"}]
        one_set = DOTS.model_copy(update={"where": {"set": ["seed"]}})
        assert "params" not in draw_rows(one_set)


def test_an_unknown_key_of_a_declaration_is_named(tmp_path: Path) -> None:
    written = "sections: [{title: One, parts: [{title: A, kind: dots, table: t, hue: x}]}]"
    (tmp_path / "pictures.yaml").write_text(written, encoding="utf-8")
    with pytest.raises(UserError, match="unknown key 'hue'"):
        read_declarations(tmp_path / "pictures.yaml")
