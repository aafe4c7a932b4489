"""That Vega-Lite draws every picture of probes without a complaint."""

import altair as alt
import pandas as pd
import pytest
import vl_convert as vlc

from evenruler.report import charts
from tests.report.test_page import ASSOCIATIONS


def of_probes() -> dict[str, alt.TopLevelMixin]:
    pairs = [{"model": "m", "template": a, "other": b, "correlation": 0.7} for a in "xy" for b in "xy"]
    biases = [{"model": "m", "template": t, "attribute": str(i), "bias": float(i)} for t in "xy" for i in range(9)]
    return {
        "validity": charts.validity(ASSOCIATIONS, "men (%)"),
        "correlations": charts.correlations(pd.DataFrame(pairs)),
        "distributions": charts.distributions(pd.DataFrame(biases)),
    }


def test_every_picture_is_drawn_without_a_complaint(capfd: pytest.CaptureFixture[str]) -> None:
    for title, chart in of_probes().items():
        svg = vlc.vegalite_to_svg(chart.to_dict(), show_warnings=True)
        assert svg.count("<text") > 5, title
        assert capfd.readouterr() == ("", ""), title
