import pytest

from evenruler.report.grid import Axis


@pytest.mark.parametrize(
    ("values", "ticks"),
    [
        ([0.35, 0.44, 0.09], [0, 0.1, 0.2, 0.3, 0.4, 0.5]),
        ([-0.6, 0.8], [-1, -0.5, 0, 0.5, 1]),
        ([1200], [0, 500, 1000, 1500]),
        ([-0.003], [-0.003, -0.002, -0.001, 0]),
        ([], [0, 0.2]),
    ],
)
def test_axes_hold_all_values_and_zero(values, ticks):
    assert Axis.over(values).ticks == ticks
