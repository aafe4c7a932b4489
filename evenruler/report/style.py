"""How charts look: one hue, the same greys, legends and drop-downs on the whole page."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import altair as alt
import pandas as pd

from evenruler.report.page import GROUND, INK, ONE_HUE, PALE, PALE_HUE, QUIET, SEQUENTIAL, TILE_INK

# Colours that charts import from here.
__all__ = ["GROUND", "INK", "ONE_HUE", "PALE", "PALE_HUE", "QUIET", "SEQUENTIAL", "TILE_INK"]

CATEGORIES: Final = "tableau10"
DIVERGING: Final = "blueorange"
LEGEND: Final = alt.Legend(title=None, orient="top", symbolSize=90)
PANEL_HEADER: Final = alt.Header(labelFontSize=12, labelFontWeight="bold", labelLimit=300)
"""Header of each of many panels."""
COLUMNS: Final = 2
"""Panels per row, before the page's script knows how many fit."""
Panels = alt.LayerChart | alt.FacetChart
"""Type of layered charts in Altair."""

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
        kept = {own: names for own, names in self.names.items() if own in table}
        numbered = {own: {name: number for number, name in enumerate(names)} for own, names in kept.items()}
        codes = {own: table[own].map(numbers).astype("Int64") for own, numbers in numbered.items()}
        text = table.assign(**codes).to_csv(index=False, lineterminator="\n", float_format=SIGNIFICANT)
        numbers = dict.fromkeys(map(str, table), "number")
        return alt.InlineData(text, format=alt.CsvDataFormat(type="csv", parse=numbers))

    def parameters(self, columns: Sequence[str], filters: Sequence[str], whole: Sequence[str] = ()) -> list[Any]:
        """Parameters of a picture: `names_of_` a column, its names by number, and drop-downs, `chosen_` and the column.

        `columns`: whose names it shows; `filters`: of which a reader chooses one option, without a drop-down where
        there is only one; `whole`: filters that may be set to all.
        """
        said = [alt.param(name=f"names_of_{column}", value=list(self.names[column])) for column in columns]
        return [parameter.param for parameter in [*said, *(self._drop_down(name, name in whole) for name in filters)]]

    def _drop_down(self, column: str, whole: bool) -> alt.Parameter:
        labels, first = list(self.names[column]), self.at_first.get(column, 0)
        numbers = list(range(len(labels)))
        if len(labels) < 2:
            return alt.param(name=f"chosen_{column}", value=first)
        if whole:
            numbers, labels = [EVERY, *numbers], ["all", *labels]
        bind = alt.binding_select(options=numbers, labels=labels, name=f"{column} ")
        return alt.param(name=f"chosen_{column}", value=first, bind=bind)

    @staticmethod
    def filtered(filters: Sequence[str], whole: Sequence[str] = ()) -> str:
        """Vega expression for the rows that are chosen."""
        chosen = {name: f"datum.{name} == chosen_{name}" for name in filters}
        for name in chosen.keys() & {*whole}:
            chosen[name] = f"(chosen_{name} == {EVERY} || {chosen[name]})"
        return " && ".join(chosen.values())

    @staticmethod
    def named(*columns: str) -> dict[str, str]:
        """Vega calculations that replace numbers by names; null stays null."""
        return {name: f"isValid(datum.{name}) ? names_of_{name}[datum.{name}] : null" for name in columns}
