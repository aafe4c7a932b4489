"""How charts look: one hue, the same greys, legends and drop-downs on the whole page."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, cast

import altair as alt
import pandas as pd

from evenruler.report.page import GROUND, INK, ONE_HUE, PALE, QUIET, SEQUENTIAL, TILE_INK
from evenruler.strict import read_yaml

STYLE: Final[Mapping[str, Any]] = {
    "hue": ONE_HUE,
    "quiet": QUIET,
    "ink": INK,
    "pale": PALE,
    "ground": GROUND,
    "tile_ink": TILE_INK,
    "sequential": SEQUENTIAL,
    "categories": "tableau10",
    "diverging": "blueorange",
    "legend": {"title": None, "orient": "top", "symbolSize": 90},
    "panel_header": {"labelFontSize": 12, "labelFontWeight": "bold", "labelLimit": 300},
}
"""What every `charts.yaml` may name."""

Data = pd.DataFrame | alt.InlineData | Mapping[str, pd.DataFrame]

_PLACE = re.compile(r"\$\{(\w+)\}")


def fill_placeholders(part: object, values: Mapping[str, object]) -> object:
    """Replace every `${name}`: a text that is nothing else by the value itself, within a text by
    its words.
    """
    if isinstance(part, dict):
        return {key: fill_placeholders(subpart, values) for key, subpart in part.items()}
    if isinstance(part, list):
        return [fill_placeholders(subpart, values) for subpart in part]
    if not isinstance(part, str):
        return part
    alone = _PLACE.fullmatch(part)
    if alone:
        return values[alone[1]]
    return _PLACE.sub(lambda match: str(values[match[1]]), part)


class Charts:
    """The charts of a family, in Vega-Lite's own keys in a file beside its module."""

    def __init__(self, path: Path) -> None:
        self._written: Mapping[str, Any] = read_yaml(path)

    def part(self, name: str, /, **values: object) -> dict[str, Any]:
        """What is written under a name, with the values and those of `STYLE` filled in."""
        filled_part = fill_placeholders(self._written[name], {**STYLE, **values})
        return cast(dict[str, Any], filled_part)

    def chart(self, name: str, data: Data, /, **values: object) -> alt.TopLevelMixin:
        """The chart of a name, with values filled in."""
        return self.drawn(self.part(name, **values), data)

    @staticmethod
    def drawn(specification: Mapping[str, Any], data: Data) -> alt.TopLevelMixin:
        """A chart in Altair, validated; `data`: of the whole chart, or by the names that its parts
        use.
        """
        # The schema wants data above panels. They come afterwards, since to validate rows takes
        # long.
        above = {} if isinstance(data, Mapping) else {"data": {"name": "data"}}
        chart: Any = alt.Chart.from_dict({**above, **specification})
        if isinstance(data, Mapping):
            chart.datasets = {name: alt.to_values(frame)["values"] for name, frame in data.items()}
        else:
            chart.data = data
        return cast(alt.TopLevelMixin, chart)


EVERY = -1
"""The choice of all options."""
SIGNIFICANT = "%.4g"
"""Format of numbers in the page's data."""


@dataclass(frozen=True)
class Choices:
    """The options of drop-downs: by column of a table, its names in order."""

    names: Mapping[str, Sequence[str]]
    at_first: Mapping[str, int]
    """By column, the number of the option chosen at first; 0 by default."""

    def coded(self, table: pd.DataFrame) -> alt.InlineData:
        """The table as CSV, with names replaced by their numbers; missing values are empty."""
        codes: dict[str, Any] = {}
        for column, names in self.names.items():
            if column in table:
                numbers = {name: number for number, name in enumerate(names)}
                codes[column] = table[column].map(numbers).astype("Int64")
        text = table.assign(**codes).to_csv(
            index=False, lineterminator="\n", float_format=SIGNIFICANT
        )
        csv_format = alt.CsvDataFormat(type="csv", parse=dict.fromkeys(map(str, table), "number"))
        return alt.InlineData(text, format=csv_format)

    def chosen(
        self,
        specification: Mapping[str, Any],
        columns: Sequence[str],
        filters: Sequence[str],
        whole: Sequence[str] = (),
    ) -> dict[str, Any]:
        """A specification of the chosen rows only, before its own transformations, with drop-downs
        to choose.

        `columns`: whose numbers are replaced by names, parameters `names_of_` a column; null stays
        null. `filters`: of which a reader chooses one option, parameters `chosen_` a column,
        without a drop-down where there is only one; `whole`: filters that may be set to all.
        """
        params = [
            {"name": f"names_of_{column}", "value": list(self.names[column])} for column in columns
        ]
        params += [self._drop_down(name, name in whole) for name in filters]
        chosen = {name: f"datum.{name} == chosen_{name}" for name in filters}
        for name in chosen.keys() & {*whole}:
            condition = chosen[name]
            chosen[name] = f"(chosen_{name} == {EVERY} || {condition})"
        conditions = " && ".join(chosen.values())
        transform: list[dict[str, Any]] = [{"filter": conditions}]
        for name in columns:
            expression = f"isValid(datum.{name}) ? names_of_{name}[datum.{name}] : null"
            transform.append({"calculate": expression, "as": name})
        return {
            **specification,
            "params": params,
            "transform": [*transform, *specification.get("transform", [])],
        }

    def _drop_down(self, column: str, whole: bool) -> dict[str, Any]:
        labels = list(self.names[column])
        first = self.at_first.get(column, 0)
        options = list(range(len(labels)))
        drop_down: dict[str, Any] = {"name": f"chosen_{column}", "value": first}
        if len(labels) > 1:
            if whole:
                options, labels = [EVERY, *options], ["all", *labels]
            drop_down["bind"] = {
                "input": "select",
                "options": options,
                "labels": labels,
                "name": f"{column} ",
            }
        return drop_down
