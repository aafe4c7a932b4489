"""Pictures and tables that families declare as data: which table, which column where.

A family writes its sections in `pictures.yaml`. What is drawn is Vega-Lite, as plain dictionaries.
"""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Literal

import pandas as pd
from pydantic import Field

from evenruler.measurement.figures import WHOLE, Verdict, model_label
from evenruler.report.formats import (
    format_number,
    model_labels,
    round_significant,
    with_interval,
)
from evenruler.report.page import (
    DIVERGING,
    GROUND,
    INK,
    ONE_HUE,
    QUIET,
    SEQUENTIAL,
    TILE_INK,
    Cell,
    Picture,
    Section,
    Table,
)
from evenruler.strict import StrictModel, read_yaml, validate

Spec = dict[str, Any]
"""A part of a chart in Vega-Lite."""

INSTRUMENT: Final = ("benchmark", "questionnaire", "domain")
"""Columns that name the instrument of a row; a table has one of them, or is of the family."""

INTERVAL: Final = ("low", "high")
BESIDE: Final = ("control", "n", "unit")
"""Columns of figures that marks tell when somebody points at them."""

YES_OR_NO: Final = {"True": "yes", "False": "no"}

LABELS: Final = {"labelLimit": 260, "labelOverlap": False}
"""How names stand at an axis."""

DIGITS = 3
"""Significant digits of numbers in pictures."""
WIDE, NARROW = 460, 300
"""Pixels: width of a picture, and of one of its panels."""
ROW, COLUMN = 20, 44
"""Pixels: height of a row, and width of a column of a heat map."""
TALL = 220
"""Pixels: height of a panel whose axis upwards is a number."""


NAMES: Final[Mapping[str, Sequence[str]]] = {
    "dots": ["y", "colour"],
    "heat": ["y", "x"],
    "lines": ["colour"],
    "points": ["colour"],
    "table": [],
}
"""Places of names, by kind of part."""
NUMBERS: Final[Mapping[str, Sequence[str]]] = {
    "dots": ["x"],
    "heat": ["colour"],
    "lines": ["y", "x"],
    "points": ["x", "y"],
    "table": [],
}
"""Places of numbers, by kind of part."""


class PartDeclaration(StrictModel):
    """A picture, or a table: one mark, or one row, for each row of a table of the diagnosis."""

    title: str
    caption: str = ""
    kind: Literal["dots", "heat", "lines", "points", "table"]
    """Dots with intervals by name; a heat map of numbers; lines over numbers; points by two
    numbers; or a table."""
    table: str
    where: dict[str, list[str]] = Field(default_factory=dict)
    """The rows that are drawn: by column, which contents; `all` for none."""
    x: str = ""
    """Of dots and tables: the number that has the interval."""
    y: str = ""
    """Of lines: the number that has the interval."""
    colour: str = ""
    """Names with a colour each; of a heat map the number."""
    panels: str = ""
    free: bool = False
    """Whether each panel has a scale of its own."""
    choose: list[str] = Field(default_factory=list)
    """Columns of which readers choose one content."""
    detail: list[str] = Field(default_factory=list)
    """Columns that marks tell too; each of their contents has a line of its own."""
    columns: list[str] = Field(default_factory=list)
    """Of a table."""
    order: list[str] = Field(default_factory=list)
    """Columns by which rows are sorted, downwards after a minus."""
    most: int = 40
    """Rows of a table that are shown."""
    titles: dict[str, str] = Field(default_factory=dict)
    """What columns are called; by default their names."""

    @property
    def names(self) -> list[str]:
        """The columns whose contents are names."""
        columns = [*self.choose, self.panels]
        columns += [getattr(self, place) for place in NAMES[self.kind]]
        return [name for name in dict.fromkeys(columns) if name]

    @property
    def numbers(self) -> list[str]:
        """The columns without which nothing is drawn, that of the number with the interval
        first.
        """
        return [getattr(self, place) for place in NUMBERS[self.kind]]

    @property
    def columns_read(self) -> list[str]:
        """The columns that its table must have."""
        sorted_by = [name.removeprefix("-") for name in self.order]
        drawn = self.columns
        if self.kind != "table":
            drawn = [*self.names, *self.detail, *self.numbers]
        return list(dict.fromkeys([*drawn, *self.where, *sorted_by]))

    def title_of(self, column: str) -> str:
        """What a column is called."""
        return self.titles.get(column, column.replace("_", " "))


class SectionDeclaration(StrictModel):
    """A section of every instrument, or of the family."""

    title: str
    text: str = ""
    family: bool = False
    """Whether it is about all instruments together."""
    parts: list[PartDeclaration]


class Declarations(StrictModel):
    """The sections of a family."""

    sections: list[SectionDeclaration]


def read_declarations(path: Path) -> list[SectionDeclaration]:
    """The sections that a family's `pictures.yaml` declares."""
    return validate(Declarations, read_yaml(path), path).sections


def draw_sections(
    declared: Sequence[SectionDeclaration],
    instruments: Iterable[str],
    tables: Mapping[str, pd.DataFrame],
) -> list[Section]:
    """The sections that have something to show: those of each instrument, then of the family."""
    labelled: dict[str, pd.DataFrame] = {}
    for section in declared:
        for part in section.parts:
            if part.table not in labelled:
                labelled[part.table] = label_models(tables[part.table])
    sections: list[Section] = []
    for name in instruments:
        of_name = {table: _instrument_rows(rows, name) for table, rows in labelled.items()}
        for section in declared:
            if not section.family:
                sections.append(_draw_section(section, of_name, name))
    for section in declared:
        if section.family:
            sections.append(_draw_section(section, labelled, ""))
    return [section for section in sections if section.parts]


def _draw_section(
    declared: SectionDeclaration, tables: Mapping[str, pd.DataFrame], instrument: str
) -> Section:
    """A section with a table or picture for each declared part that has rows; `instrument`: the
    name, or "" for a section of the whole family.
    """
    parts: list[Table | Picture] = []
    for part in declared.parts:
        rows = select_rows(tables[part.table], part)
        if rows.empty:
            continue
        if part.kind == "table":
            parts.append(write_table_part(part, rows))
        else:
            caption = f"{part.caption} {_ends_sentence(part, rows)}".strip()
            parts.append(Picture(part.title, caption, draw_chart(part, rows)))
    return Section(declared.title, declared.text, parts, instrument)


def _instrument_rows(table: pd.DataFrame, name: str) -> pd.DataFrame:
    """Rows of one instrument; the whole table where no column says whose rows they are."""
    for column in INSTRUMENT:
        if column in table:
            return table[table[column] == name]
    return table


def label_models(table: pd.DataFrame) -> pd.DataFrame:
    """The table with models by their labels, with the method of asking."""
    if not {"method", "model"} <= set(table):
        return table
    if "figure" not in table:
        return table.assign(model=model_labels(table))
    labels = [model_label(dict(row)) for _, row in table.iterrows()]
    return table.assign(model=pd.Series(labels, table.index, dtype=object))


def select_rows(table: pd.DataFrame, part: PartDeclaration) -> pd.DataFrame:
    """The rows of a part in their order, names as text: `all` where a name is null."""
    rows = table
    for column, contents in part.where.items():
        rows = rows[_readable_labels(rows[column]).isin(contents)]
    if part.kind != "table":
        rows = rows.dropna(subset=part.numbers)
        names = {name: _readable_labels(rows[name]) for name in _find_names(part, rows)}
        rows = rows.assign(**names)
    if part.order:
        columns = [name.removeprefix("-") for name in part.order]
        is_rising = [not name.startswith("-") for name in part.order]
        rows = rows.sort_values(columns, ascending=is_rising, kind="stable")
    return rows


def _find_names(part: PartDeclaration, rows: pd.DataFrame) -> list[str]:
    """The columns of names, with those of `part.detail` that hold no numbers."""
    is_number = pd.api.types.is_numeric_dtype
    names = [name for name in part.detail if not is_number(rows[name])]
    return [*part.names, *names]


def _readable_labels(column: "pd.Series[Any]") -> "pd.Series[Any]":
    """A column as text for readers: `all` where it is null, yes and no for true and false."""
    names = column.astype(object).where(column.notna(), WHOLE).astype(str)
    words: pd.Series[Any] = names.replace(YES_OR_NO)
    return words


def write_table_part(part: PartDeclaration, rows: pd.DataFrame) -> Table:
    """A table with the declared columns, the first `most` rows."""
    heads = [part.title_of(column) for column in part.columns]
    shown: list[list[str | Cell]] = []
    for record in rows.head(part.most).to_dict("records"):
        shown.append([_table_cell(part, column, record) for column in part.columns])
    n_more = len(rows) - part.most
    more = ""
    if n_more > 0:
        more = f" {n_more:,} more rows are in {part.table}.parquet of the diagnosis."
    return Table(heads, shown, part.title, f"{part.caption}{more}".strip())


def _table_cell(part: PartDeclaration, column: str, record: Mapping[Any, Any]) -> str | Cell:
    """What a table shows of a column in a row: numbers rounded, the part's number with its
    interval, lists joined, verdicts marked; empty where null.
    """
    content = record[column]
    if column == part.x and "low" in record:
        return with_interval(content, record["low"], record["high"])
    if isinstance(content, bool):
        return YES_OR_NO[str(content)]
    if isinstance(content, int):
        return f"{content:,}"
    if isinstance(content, float):
        return format_number(content, 3)
    if content is None or content is pd.NA:
        return ""
    if not isinstance(content, str):
        return ", ".join(map(str, content))
    is_verdict = column == "verdict" and content in list(Verdict)
    return Cell(content, Verdict(content).mark) if is_verdict else content


def _ends_sentence(part: PartDeclaration, rows: pd.DataFrame) -> str:
    """How many numbers a picture shows, and which are the least and the greatest, in words."""
    values = rows[part.numbers[0]].astype(float)
    ends: list[str] = []
    for row in (values.argmin(), values.argmax()):
        record = rows.iloc[row]
        names = ", ".join(str(record[name]) for name in _find_names(part, rows))
        number = format_number(values.iloc[row], 3)
        ends.append(f"{number} ({names})")
    lowest, highest = ends
    if len(rows) == 1:
        return f"One number: {lowest}."
    return f"{len(rows):,} numbers, from {lowest} to {highest}."


def draw_chart(part: PartDeclaration, rows: pd.DataFrame) -> Spec:
    """A picture of rows (`select_rows`) in Vega-Lite, with their data."""
    extra_columns = [name for name in (*INTERVAL, *BESIDE) if _has_content(rows, name)]
    columns = list(dict.fromkeys([*part.names, *part.detail, *part.numbers, *extra_columns]))
    tooltip = [_describe_column(part, rows, name) for name in columns]
    width = NARROW if part.panels and rows[part.panels].nunique() > 1 else WIDE
    layers = _LAYERS[part.kind](part, rows)
    if "low" in columns and part.kind in ("dots", "lines"):
        layers = [_draw_interval(part, rows), *layers]
    layers[-1]["encoding"]["tooltip"] = tooltip
    picture: Spec = {"width": width, **_size_of(part, rows, width), "layer": layers}
    if part.panels:
        picture = {**_lay_out_panels(part, rows), "spec": picture}
    return {"data": {"values": _records_of(rows[columns])}, **_choices_of(part, rows), **picture}


def _has_content(rows: pd.DataFrame, column: str) -> bool:
    """Whether the rows have such a column with at least one content that is not null."""
    return column in rows and bool(rows[column].notna().any())


def _records_of(rows: pd.DataFrame) -> list[dict[str, Any]]:
    """Rows as Vega-Lite reads them, one mapping each, floats rounded to `DIGITS` significant
    digits.
    """
    records: list[dict[str, Any]] = []
    for row in rows.to_dict("records"):
        record: dict[str, Any] = {}
        for name, content in row.items():
            is_number = isinstance(content, float)
            record[str(name)] = round_significant(content, DIGITS) if is_number else content
        records.append(record)
    return records


def _size_of(part: PartDeclaration, rows: pd.DataFrame, width: int) -> Spec:
    """The Vega-Lite height of a picture; of a heat map also its width, by its number of columns."""
    if part.kind in ("lines", "points"):
        return {"height": TALL}
    if part.kind == "heat":
        needed = COLUMN * int(rows[part.x].nunique())
        return {"width": max(needed, 120), "height": {"step": ROW}}
    n_colours = rows[part.colour].nunique() if part.colour else 1
    return {"height": {"step": max(ROW, 9 * n_colours)}}


def _lay_out_panels(part: PartDeclaration, rows: pd.DataFrame) -> Spec:
    """Panels beside each other, wrapped: in a grid, one without rows would move up the others."""
    header = {"labelFontSize": 12, "labelFontWeight": "bold", "labelLimit": NARROW}
    facet = {**_encode_name(part, rows, part.panels), "title": None, "header": header}
    layout: Spec = {"facet": facet, "columns": 2, "spacing": 20}
    if part.free:
        axis = "y" if part.kind == "lines" else "x"
        layout["resolve"] = {"scale": {axis: "independent"}}
    return layout


def _choices_of(part: PartDeclaration, rows: pd.DataFrame) -> Spec:
    """Drop-down lists for the columns in `part.choose` that have several contents, each with a
    filter; empty where none has.
    """
    params: list[Spec] = []
    conditions: list[str] = []
    for column in part.choose:
        options = list(dict.fromkeys(rows[column]))
        if len(options) > 1:
            label = f"{part.title_of(column)} "
            bound = {"input": "select", "options": options, "name": label}
            params.append({"name": f"chosen_{column}", "value": options[0], "bind": bound})
            conditions.append(f"datum['{column}'] == chosen_{column}")
    if not params:
        return {}
    return {"params": params, "transform": [{"filter": " && ".join(conditions)}]}


def _describe_column(part: PartDeclaration, rows: pd.DataFrame, column: str) -> Spec:
    """The encoding of a column by its type, with its title."""
    is_number = pd.api.types.is_numeric_dtype(rows[column])
    described = {"field": column, "title": part.title_of(column)}
    if is_number:
        return {**described, "type": "quantitative", "format": f".{DIGITS}~g"}
    return {**described, "type": "nominal"}


def _encode_name(part: PartDeclaration, rows: pd.DataFrame, column: str) -> Spec:
    """The Vega-Lite encoding of a column of names, in the order of the rows."""
    names = list(dict.fromkeys(rows[column]))
    return {"field": column, "type": "nominal", "sort": names, "title": part.title_of(column)}


def _encode_number(part: PartDeclaration, column: str, title: str = "") -> Spec:
    """The Vega-Lite encoding of a column of numbers, on an axis that need not begin at 0; `title`:
    by default the column's.
    """
    described = {"field": column, "type": "quantitative", "title": title or part.title_of(column)}
    return {**described, "scale": {"zero": False}, "axis": {"tickCount": 5}}


def _encode_colour(part: PartDeclaration, rows: pd.DataFrame) -> Spec:
    """Names by colour, and by shape for readers who cannot tell colours apart."""
    if not part.colour or rows[part.colour].nunique() == 1:
        return {"color": {"value": ONE_HUE}}
    encoding = _encode_name(part, rows, part.colour)
    encoding["legend"] = {"orient": "top", "symbolSize": 90}
    domain = {"domain": encoding["sort"]}
    colours = {**encoding, "scale": {**domain, "scheme": "tableau10"}}
    return {"color": colours, "shape": {**encoding, "scale": domain}}


def _label_rows(part: PartDeclaration, rows: pd.DataFrame) -> Spec:
    """The Vega-Lite encoding of the names that label the rows of dots, or of a heat map."""
    return {**_encode_name(part, rows, part.y), "title": None, "axis": LABELS}


def _place_dots(part: PartDeclaration, rows: pd.DataFrame, column: str) -> Spec:
    """The Vega-Lite encoding of the places of dots, or of ends of their intervals, by `column`;
    dots of several colours are set apart.
    """
    encoding: Spec = {
        "x": _encode_number(part, column, part.title_of(part.x)),
        "y": _label_rows(part, rows),
    }
    if part.colour:
        encoding["yOffset"] = _encode_name(part, rows, part.colour)
    return encoding


def _draw_interval(part: PartDeclaration, rows: pd.DataFrame) -> Spec:
    """A Vega-Lite layer of lines from `low` to `high`, where a row has them; vertical for `lines`,
    else horizontal.
    """
    colours = _encode_colour(part, rows)
    if part.kind == "lines":
        ends = {"x": _encode_number(part, part.x), "y2": {"field": "high"}}
        ends["y"] = _encode_number(part, "low", part.title_of(part.y))
    else:
        ends = {**_place_dots(part, rows, "low"), "x2": {"field": "high"}}
    return {
        "transform": [{"filter": "isValid(datum.low)"}],
        "mark": {"type": "rule", "strokeWidth": 2, "opacity": 0.55},
        "encoding": {**ends, "color": colours["color"]},
    }


def _draw_dots(part: PartDeclaration, rows: pd.DataFrame) -> list[Spec]:
    """Vega-Lite layers: a line at 0, a stroke at each control, a dot at each number."""
    zero: Spec = {
        "mark": {"type": "rule", "color": QUIET},
        "encoding": {"x": {"datum": 0}},
    }
    layers = [zero]
    if _has_content(rows, "control"):
        stroke = {"type": "tick", "color": INK, "thickness": 2, "size": 12}
        layers.append({"mark": stroke, "encoding": _place_dots(part, rows, "control")})
    dot = {"type": "point", "filled": True, "size": 60, "opacity": 0.8}
    encoding = {**_place_dots(part, rows, part.x), **_encode_colour(part, rows)}
    return [*layers, {"mark": dot, "encoding": encoding}]


def _draw_heat(part: PartDeclaration, rows: pd.DataFrame) -> list[Spec]:
    """Vega-Lite layers: tiles, in colours light enough for dark text, with their numbers."""
    columns = _encode_name(part, rows, part.x)
    place = {
        "x": {**columns, "title": None, "axis": {"labelAngle": -35, **LABELS}},
        "y": _label_rows(part, rows),
    }
    has_signs = bool((rows[part.colour] < 0).any())
    scale: Spec = {"range": SEQUENTIAL}
    if has_signs:
        scale = {"range": DIVERGING, "domainMid": 0, "interpolate": "rgb"}
    colour = {**_encode_number(part, part.colour), "scale": scale}
    colour["legend"] = {"orient": "top", "gradientLength": 160}
    del colour["axis"]
    tiles = {"mark": {"type": "rect", "stroke": GROUND}, "encoding": {**place, "color": colour}}
    number = {"field": part.colour, "type": "quantitative", "format": ".2~g"}
    text = {"type": "text", "fontSize": 10, "color": TILE_INK}
    return [tiles, {"mark": text, "encoding": {**place, "text": number}}]


def _draw_lines(part: PartDeclaration, rows: pd.DataFrame) -> list[Spec]:
    """Vega-Lite layers: lines, with a point at each number."""
    along = _encode_number(part, part.x)
    if pd.api.types.is_integer_dtype(rows[part.x]):
        along["axis"] = {"tickCount": 5, "tickMinStep": 1}
    if not pd.api.types.is_numeric_dtype(rows[part.x]):
        along = {**_encode_name(part, rows, part.x), "axis": {"labelAngle": 0}}
    place = {"x": along, "y": _encode_number(part, part.y)}
    colours = _encode_colour(part, rows)
    apart = [{"field": name, "type": "nominal"} for name in part.detail]
    encoding = {**place, "detail": apart, "color": colours["color"]}
    line = {"mark": {"type": "line", "strokeWidth": 1.5}, "encoding": encoding}
    point = {"type": "point", "filled": True, "size": 45, "opacity": 1}
    return [line, {"mark": point, "encoding": {**place, **colours}}]


def _draw_points(part: PartDeclaration, rows: pd.DataFrame) -> list[Spec]:
    """A Vega-Lite layer with a dot at each pair of numbers, by `x` and `y`."""
    place = {"x": _encode_number(part, part.x), "y": _encode_number(part, part.y)}
    point = {"type": "point", "filled": True, "size": 50, "opacity": 0.7}
    return [{"mark": point, "encoding": {**place, **_encode_colour(part, rows)}}]


_LAYERS: Final = {
    "dots": _draw_dots,
    "heat": _draw_heat,
    "lines": _draw_lines,
    "points": _draw_points,
}
