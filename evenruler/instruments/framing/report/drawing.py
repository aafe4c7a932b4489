"""What the charts of the framing family have in common.

Names stand as they are to be read, in the order of their rows.
"""

from typing import Any

import altair as alt
import pandas as pd

from evenruler.measurement.resampling import FEWEST_UNITS

DIGITS = 4
"""Decimals that a page keeps; values that agree in them are one value."""
FEWEST_DRAWN = FEWEST_UNITS
"""Stimuli below which no density and no mean is drawn, which nobody saw; only the dots."""
WIDE = 640
LABELS = 230
"""Pixels that a name of a model may take."""


def in_order(names: "pd.Series[Any]") -> list[str]:
    """Each name once, as they come."""
    return [str(name) for name in names.unique()]


def rows(names: "pd.Series[Any]") -> alt.Row:
    """A panel a name, each below the other, the name on its left."""
    header = alt.Header(labelAngle=0, labelAlign="left", labelLimit=LABELS, labelFontSize=12)
    return alt.Row(f"{names.name}:N", sort=in_order(names), title=None, header=header)


def intervals() -> alt.Chart:
    """Rows that have an interval: one value has none."""
    chart: alt.Chart = alt.Chart().transform_filter("isValid(datum.low)")
    return chart


def of_mean() -> list[alt.Tooltip]:
    """What is told of a mean with its interval."""
    return [
        alt.Tooltip(f"{field}:Q", title=title, format=".3f")
        for field, title in (("value", "mean"), ("low", "interval from"), ("high", "to"))
    ]
