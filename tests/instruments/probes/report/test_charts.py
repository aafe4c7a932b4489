"""Pictures of sets of templates are drawn."""

import numpy as np
import pandas as pd
import pytest
import vl_convert as vlc

from evenruler.instruments.probes.report import charts

PLACE = np.arange(12.0)
ASSOCIATIONS = pd.DataFrame(
    {
        "model": "m",
        "word": [f"w{number}" for number in range(12)],
        "centred": PLACE,
        "low": PLACE - 1,
        "high": PLACE + 1,
        "criterion": 10 + 2 * PLACE,
        "match": "exact",
    }
)
PAIRS = pd.DataFrame(
    {"model": "m", "template": list("xxyy"), "other": list("xyxy"), "correlation": 0.7}
)
BIASES = pd.DataFrame(
    {
        "model": "m",
        "template": list("x" * 9 + "y" * 9),
        "attribute": list("012345678" * 2),
        "bias": np.tile(PLACE[:9], 2),
    }
)


def test_every_picture_is_drawn_without_a_complaint(capfd: pytest.CaptureFixture[str]) -> None:
    for chart in (
        charts.draw_validity(ASSOCIATIONS, "men (%)", "men"),
        charts.draw_item_correlations(PAIRS),
        charts.draw_bias_distributions(BIASES, "men"),
    ):
        svg = vlc.vegalite_to_svg(chart.to_dict(), show_warnings=True)
        assert svg.count("<text") > 5
        assert capfd.readouterr() == ("", "")


def test_axes_name_the_group_and_panels_share_them() -> None:
    other = ASSOCIATIONS.assign(model="n", centred=PLACE / 10)
    several = pd.concat([ASSOCIATIONS, other])
    spec = charts.draw_validity(several, "men (%)", "young people").to_dict()
    assert spec["facet"]["field"] == "model"
    assert "resolve" not in spec  # one scale for all
    for layer in spec["spec"]["layer"]:
        title = tuple(layer["encoding"]["x"]["title"])
        assert title == ("bias beyond the mean of all", "(nats; positive: closer to young people)")


def test_names_lie_on_no_other() -> None:
    """Points 5 and up are in one place: one of them is named, and one at the other end."""
    in_heap = PLACE >= 5
    centred = np.where(in_heap, 11 + (PLACE - 5) / 100, PLACE)
    heap = ASSOCIATIONS.assign(centred=centred, criterion=np.where(in_heap, 30, PLACE))
    spec = charts.draw_validity(heap, "men (%)", "men").to_dict()
    rows = next(iter(spec["datasets"].values()))
    named = [row["name"] for row in rows if row["name"]]
    assert [name for name in named if int(name[1:]) >= 5] == ["w11"]
    assert "w0" in named
