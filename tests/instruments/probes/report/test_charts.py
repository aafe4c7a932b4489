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
PAIRS = pd.DataFrame(
    [{"model": "m", "template": a, "other": b, "correlation": 0.7} for a in "xy" for b in "xy"]
)
BIASES = pd.DataFrame(
    [
        {"model": "m", "template": t, "attribute": str(i), "bias": float(i)}
        for t in "xy"
        for i in range(9)
    ]
)


@pytest.mark.parametrize(
    "chart",
    [
        pytest.param(charts.draw_validity(ASSOCIATIONS, "men (%)", "men"), id="validity"),
        pytest.param(charts.draw_item_correlations(PAIRS), id="correlations"),
        pytest.param(charts.draw_bias_distributions(BIASES, "men"), id="distributions"),
    ],
)
def test_every_picture_is_drawn_without_a_complaint(
    chart: alt.TopLevelMixin, capfd: pytest.CaptureFixture[str]
) -> None:
    svg = vlc.vegalite_to_svg(chart.to_dict(), show_warnings=True)
    assert svg.count("<text") > 5
    assert capfd.readouterr() == ("", "")


def test_axes_name_the_group_and_panels_share_them() -> None:
    several = pd.concat(
        [ASSOCIATIONS, ASSOCIATIONS.assign(model="n", centred=ASSOCIATIONS["centred"] / 10)]
    )
    spec = charts.draw_validity(several, "men (%)", "young people").to_dict()
    assert spec["facet"]["field"] == "model"
    assert "resolve" not in spec  # one scale for all
    (title,) = {tuple(layer["encoding"]["x"]["title"]) for layer in spec["spec"]["layer"]}
    assert title == ("bias beyond the mean of all", "(nats; positive: closer to young people)")


def test_names_lie_on_no_other() -> None:
    """Points 5 and up are in one place: one of them is named, and one at the other end."""
    heap = ASSOCIATIONS.assign(
        centred=[*range(5), *[11.0 + i / 100 for i in range(7)]], criterion=[*range(5), *[30] * 7]
    )
    spec = charts.draw_validity(heap, "men (%)", "men").to_dict()
    named = [row["name"] for row in next(iter(spec["datasets"].values())) if row["name"]]
    assert [name for name in named if int(name[1:]) >= 5] == ["w11"]
    assert "w0" in named
