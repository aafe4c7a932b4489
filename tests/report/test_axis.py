import pytest

from evenruler.report.findings import axis_over


@pytest.mark.parametrize(
    ("values", "ends"),
    [
        ([0.35, 0.44, 0.09], (0, 0.5)),
        ([-0.6, 0.8], (-1, 1)),
        ([-0.003], (-0.003, 0)),
        ([], (0, 0.2)),
    ],
)
def test_axes_hold_all_values_and_zero(values, ends):
    assert axis_over(values) == ends
