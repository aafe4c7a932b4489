import numpy as np
import pytest

from evenruler.instruments.saged.diagnose import summary
from evenruler.instruments.saged.diagnose.blocks import pairs
from evenruler.instruments.saged.diagnose.groups import placed, places_of
from evenruler.instruments.saged.diagnose.statistics import STATISTICS, USES_BASELINE, cell_options
from evenruler.instruments.saged.diagnose.summary import Summary

ROWS = 24
OPTIONS = {"selection_rate": {"standard": "median", "method": "within_range", "margin": 0.2}}


def numbers() -> tuple[np.ndarray, np.ndarray]:
    """[4 series, rows] values and baselines with nulls; one series of equal values, one without any."""
    draw = np.random.default_rng(2)
    values, baselines = draw.random((2, 4, ROWS)).round(2) + 3
    values[1, draw.random(ROWS) < 0.4] = np.nan
    baselines[1, draw.random(ROWS) < 0.4] = np.nan
    values[2], values[3] = 3.25, np.nan
    return values, baselines


@pytest.mark.parametrize("at_once", [1, 300, 10**6])
@pytest.mark.parametrize("kind", [*STATISTICS, "numpy.ptp"])
def test_every_group_of_every_draw_is_summarised_by_itself(kind: str, at_once: int, monkeypatch) -> None:
    monkeypatch.setattr(summary, "_AT_ONCE", at_once)
    values, baselines = numbers()
    sizes = np.array([[3, 20, 0], [8, 8, 8], [1, 2, 4]])
    rows = np.random.default_rng(3).integers(0, ROWS, sizes.sum())
    own = Summary.of(kind, values, baselines, OPTIONS.get(kind))
    found = own(placed(rows, sizes, ROWS), slice(1, 4))
    assert found.shape == (3, 3, 3)
    groups = list(np.split(rows, np.cumsum(sizes)[:-1]))
    for line, summaries in zip((1, 2, 3), found, strict=True):
        seen = pairs(values[line], baselines[line]) if kind in USES_BASELINE else (values[line], baselines[line])
        given = cell_options(kind, *seen, **OPTIONS.get(kind, {}))
        wanted = [own.statistic(values[line, group], baselines[line, group], **given) for group in groups]
        np.testing.assert_allclose(summaries.ravel(), wanted, rtol=1e-9, atol=1e-12)


def test_numbers_are_counted_and_what_is_undefined_has_a_reason() -> None:
    values, baselines = np.array([[1.0, 2.0, np.nan, 4.0, 5.0]]), np.array([[1.0, np.nan, 3.0, 2.0, 9.0]])
    places = places_of(np.array([0, 0, 1, 2, 2]), 3)
    own = Summary.of("correlation", values, baselines)
    np.testing.assert_array_equal(own.n(places), [[[1, 0, 2]]])
    found = own(places)
    np.testing.assert_allclose(found, [[[np.nan, np.nan, 1]]])
    one, none = "1 value with a baseline, needs 2", "no value with a baseline, needs 2"
    assert own.reasons(found, places).tolist() == [[[one, none, None]]]
    np.testing.assert_array_equal(Summary.of("mean", values, baselines).n(places), [[[2, 0, 2]]])


def test_no_series_have_no_summaries() -> None:
    places = places_of(np.array([0, 1, 1]), 2)
    for kind in (*STATISTICS, "numpy.ptp"):
        assert Summary.of(kind, np.empty((0, 3)), np.empty((0, 3)))(places).shape == (0, 1, 2)
