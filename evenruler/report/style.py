"""How charts look: one hue, the same greys and the same legends on the whole page."""

from typing import Final

import altair as alt

ONE_HUE: Final = "#1b5e7a"
QUIET, INK, PALE = "#8a979d", "#1d2529", "#eceff1"
SEQUENTIAL: Final = ["#f5f8fa", "#62a8cc"]
"""Light enough at both ends for dark numbers on it."""
CATEGORIES: Final = "tableau10"
DIVERGING: Final = "blueorange"
LEGEND: Final = alt.Legend(title=None, orient="top", symbolSize=90)
Panels = alt.LayerChart | alt.FacetChart
"""What Altair says that layers may be."""
