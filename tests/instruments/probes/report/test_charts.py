"""Pictures of sets of templates are drawn."""

import altair as alt
import pandas as pd
import pytest
import vl_convert as vlc

from evenruler.instruments.probes.report import charts

ASSOCIATIONS = pd.DataFrame(
    {
        "model": ["m"] * 12,
        "word": [f"w{i}" for i in range(12)],
        "centred": [float(i) for i in range(12)],
        "low": [i - 1.0 for i in range(12)],
        "high": [i + 1.0 for i in range(12)],
        "criterion": [10.0 + 2 * i for i in range(12)],
        "match": ["exact"] * 12,
    }
)
PAIRS = pd.DataFrame([{"model": "m", "template": a, "other": b, "correlation": 0.7} for a in "xy" for b in "xy"])
BIASES = pd.DataFrame(
    [{"model": "m", "template": t, "attribute": str(i), "bias": float(i)} for t in "xy" for i in range(9)]
)


@pytest.mark.parametrize(
    "chart",
    [
        pytest.param(charts.validity(ASSOCIATIONS, "men (%)"), id="validity"),
        pytest.param(charts.correlations(PAIRS), id="correlations"),
        pytest.param(charts.distributions(BIASES), id="distributions"),
    ],
)
def test_every_picture_is_drawn_without_a_complaint(
    chart: alt.TopLevelMixin, capfd: pytest.CaptureFixture[str]
) -> None:
    svg = vlc.vegalite_to_svg(chart.to_dict(), show_warnings=True)
    assert svg.count("<text") > 5
    assert capfd.readouterr() == ("", "")
