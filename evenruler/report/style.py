"""How charts look: one hue, the same greys, legends and drop-downs on the whole page."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import altair as alt
import pandas as pd

from evenruler.report.page import GROUND, INK, ONE_HUE, PALE, PALE_HUE, QUIET, SEQUENTIAL, TILE_INK

# Colours that charts take from here.
__all__ = ["GROUND", "INK", "ONE_HUE", "PALE", "PALE_HUE", "QUIET", "SEQUENTIAL", "TILE_INK"]

CATEGORIES: Final = "tableau10"
DIVERGING: Final = "blueorange"
LEGEND: Final = alt.Legend(title=None, orient="top", symbolSize=90)
PANEL_HEADER: Final = alt.Header(labelFontSize=12, labelFontWeight="bold", labelLimit=300)
"""Over a panel of many."""
COLUMNS: Final = 2
"""Panels beside each other, before the page's script knows how many fit."""
Panels = alt.LayerChart | alt.FacetChart
"""What Altair says that layers may be."""

EVERY = -1
"""The choice of no one in particular."""
SIGNIFICANT = "%.4g"
"""Digits that a page keeps of a number."""


@dataclass(frozen=True)
class Choices:
    """Names in the order in which a drop-down offers them, by column of a table."""

    names: Mapping[str, Sequence[str]]
    at_first: Mapping[str, int]
    """What a column shows before anybody chooses; the first by default."""

    def coded(self, table: pd.DataFrame) -> alt.InlineData:
        """One line a row, as CSV; the number of a name in place of the name, nothing in place of nothing."""
        kept = {own: names for own, names in self.names.items() if own in table}
        numbered = {own: {name: number for number, name in enumerate(names)} for own, names in kept.items()}
        codes = {own: table[own].map(numbers).astype("Int64") for own, numbers in numbered.items()}
        text = table.assign(**codes).to_csv(index=False, lineterminator="\n", float_format=SIGNIFICANT)
        numbers = dict.fromkeys(map(str, table), "number")
        return alt.InlineData(text, format=alt.CsvDataFormat(type="csv", parse=numbers))

    def parameters(self, columns: Sequence[str], filters: Sequence[str], whole: Sequence[str] = ()) -> list[Any]:
        """What a picture needs at its top: names by number, and drop-downs under `chosen_` and the column.

        `columns`: whose names it says; `filters`: of which a reader chooses one, without a drop-down where there is but
        one; `whole`: those of them that may stay unchosen.
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
        """The rows of what is chosen, as an expression of Vega."""
        chosen = {name: f"datum.{name} == chosen_{name}" for name in filters}
        for name in chosen.keys() & {*whole}:
            chosen[name] = f"(chosen_{name} == {EVERY} || {chosen[name]})"
        return " && ".join(chosen.values())

    @staticmethod
    def named(*columns: str) -> dict[str, str]:
        """Calculations that put a name in the place of its number; nothing where there is none."""
        return {name: f"isValid(datum.{name}) ? names_of_{name}[datum.{name}] : null" for name in columns}
