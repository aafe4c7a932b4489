"""Two models on other scales: differences by hand, and what `compare` shows below a lean."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from evenruler.instruments.probes.schemas import HEADLINES
from evenruler.measurement.resampling import Interval
from evenruler.results.comparison import compare
from evenruler.results.scales import DISAGREE, compare_scales, scales_disagree
from evenruler.results.store import StoredResult, read_stored_result, write_result
from evenruler.results.view import as_markdown
from evenruler.tables.schemas import SCALES
from tests.results.synthetic import CONFIRMED, figure_row, gain_of, synthetic

UNITS = [f"unit-{place:02}" for place in range(12)]
"""Those of `gain_of`."""


def scales(values: Any, sd: float = 1.0, n: int = 5) -> pd.DataFrame:
    rows = pd.DataFrame({"unit": UNITS, "value": np.broadcast_to(values, 12)})
    rows = rows.assign(figure="gain", model="any", sd=sd, n=n, weight=1 / 12)
    return rows[SCALES.names]


def test_the_difference_is_paired_over_units() -> None:
    """With one SD in each unit, the jackknife of d/SD is that of a mean."""
    random = np.random.default_rng(1)
    first = random.normal(1, 1, size=12)
    second = random.normal(0, 1, size=12)
    differences = compare_scales(scales(first, 2.0), scales(second, 4.0))
    assert differences is not None
    apart = first - second
    quantile = stats.t.ppf(0.975, 11) / np.sqrt(12)
    reach = quantile * apart.std(ddof=1)
    assert differences.nats.value == pytest.approx(apart.mean())
    assert differences.nats.high == pytest.approx(apart.mean() + reach)
    scaled = first / 2 - second / 4
    reach = quantile * scaled.std(ddof=1)
    assert differences.d_sd.value == pytest.approx(scaled.mean())
    assert differences.d_sd.low == pytest.approx(scaled.mean() - reach)


def test_nats_are_never_alone() -> None:
    """Of one item a unit, or items that do not vary, there is no SD."""
    assert compare_scales(scales(1.0, sd=0.0), scales(0.5)) is None
    assert compare_scales(scales(1.0, n=1), scales(0.5, n=1)) is None
    assert compare_scales(scales(1.0)[:4], scales(0.5)) is None


def test_scales_disagree_where_both_leave_out_0_on_different_sides() -> None:
    above, below = Interval(1, 0.5, 1.5), Interval(-1, -1.5, -0.5)
    wide = Interval(-1, -2.5, 0.5)
    disagreeing = [(0.1, 0.3, below), (-0.3, -0.1, above)]
    alike = [(0.1, 0.3, above), (0.1, 0.3, wide)]
    alike += [(-0.1, 0.3, below), (None, None, below)]
    assert all(scales_disagree(*ends) for ends in disagreeing)
    assert not any(scales_disagree(*ends) for ends in alike)


def result_of(folder: Path, name: str, slope: float, rows: pd.DataFrame | None) -> StoredResult:
    gain = figure_row("gain", slope, name, **{**CONFIRMED, "bound": 0.693})
    result = synthetic(name, figures=[gain])
    of_gain = gain_of(name, slope, figure="gain")
    made_of = pd.concat([pd.DataFrame(columns=HEADLINES.names), of_gain], ignore_index=True)
    tables = {} if rows is None else {"scales": rows}
    written = write_result(result.with_tables(made_of, {}), folder, tables)
    return read_stored_result(written / "result.json")


def test_compare_shows_both_scales_below_the_lean_and_says_where_they_disagree(
    tmp_path: Path,
) -> None:
    """The verdict is on the headline alone."""
    noise = np.random.default_rng(3).normal(0, 0.1, size=12)
    results = [
        result_of(tmp_path, "one", 3.0, scales(2 + noise, 8.0)),
        result_of(tmp_path, "two", 1.0, scales(1.0, 1.0)),
    ]
    comparisons = compare(results)
    (row,) = comparisons.to_dict("records")
    assert (row["verdict"], row["says"]) == ("detected", "one: more than two")
    assert row["nats"] == pytest.approx(1, abs=0.1)
    assert row["nats_low"] > 0
    assert row["d_sd"] == pytest.approx(0.25 - 1, abs=0.1)
    assert row["d_sd_high"] < 0
    assert str(row["reason"]).endswith(DISAGREE)
    text = as_markdown(results, comparisons)
    assert "| gain:set=seed, in nats |" in text
    assert "| gain:set=seed, in nats by the SD within units, d/SD |" in text
    assert DISAGREE in text
