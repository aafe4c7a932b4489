import numpy as np
import pandas as pd
import pytest

from evenruler.instruments.saged import schemas
from evenruler.instruments.saged.declare.settings import Statistic
from evenruler.instruments.saged.diagnose.cells import Cells, cells_of
from evenruler.instruments.saged.diagnose.layout import laid_out
from evenruler.instruments.saged.diagnose.shapes import grubbs, shapes
from evenruler.tables import read_frame, write_table
from tests.instruments.saged.diagnose import measured


def cells(means: list[float | None]) -> Cells:
    """Raw means of concepts c00, c01, ..., each of two prompts that lie .1 about it."""
    prompts = measured.prompts(2, [f"c{i:02d}" for i in range(len(means))])
    by_concept = dict(zip(sorted(set(prompts["concept"])), means, strict=True))
    values = prompts["concept"].map(by_concept).astype(float) + prompts["root_id"].map(
        {"root-000": -0.1, "root-001": 0.1}
    )
    layout = laid_out("fruit", measured.features(prompts, values), prompts)
    return next(cells_of(layout, layout.groups(["concept"]), {"mean": Statistic(kind="mean")}))


def shape(means: list[float | None], p: float = 0.01) -> pd.Series:
    return shapes(cells(means), np.array([p])).iloc[0]


EVEN = [0.50, 0.51, 0.52, 0.53, 0.54, 0.55, 0.56]


@pytest.mark.parametrize(("outlier", "end"), [(0.1, "low"), (0.9, "high")])
def test_one_group_far_out_is_concentrated_on_it(outlier, end, tmp_path) -> None:
    means = [*EVEN[:3], outlier, *EVEN[3:]]
    found = shape(means)
    assert (found["shape"], found["group"], found["end"]) == ("concentrated", "c03", end)
    assert found["z"] == pytest.approx((outlier - np.mean(means)) / np.std(means, ddof=1))
    assert abs(found["z"]) > 2
    assert (found["n_groups"], found["reason"]) == (8, None)
    write_table(shapes(cells(means), np.array([0.01])), schemas.SHAPES, tmp_path / "shapes.parquet")
    assert read_frame(tmp_path / "shapes.parquet")["statistic"].tolist() == ["mean"]


def test_evenly_spread_groups_are_dispersed_and_still_name_the_farthest() -> None:
    found = shape([*EVEN, 0.57, 0.59])
    assert (found["shape"], found["group"], found["end"]) == ("dispersed", "c08", "high")
    assert 0 < found["z"] < 2


def test_two_that_lie_out_together_hide_each_other_from_grubbs() -> None:
    # Dixon's r11 leaves the second one out: (.36 - .30) / (.55 - .30) = .24 is no outlier either.
    found = shape([*EVEN, 0.30, 0.36])
    assert (found["shape"], found["group"], found["end"]) == ("dispersed", "c07", "low")
    assert abs(found["z"]) < grubbs(np.array([9]))[0]


def test_what_dixon_alone_finds_is_mixed() -> None:
    # One at either end: the largest |z| is 1.87 (critical 2.13 of eight), r11 is .35 / .47 (critical .615).
    found = shape([0.10, 0.53, 0.50, 0.55, 0.43, 0.48, 0.45, 0.90])
    assert (found["shape"], found["group"], found["end"]) == ("mixed", "c07", "high")


def test_an_outlier_of_five_groups_is_concentrated() -> None:
    # |z| is at most 1.79 (Shiffler), and Grubbs' critical value of five is 1.715.
    found = shape([0.50, 0.51, 0.52, 0.51, 0.10])
    assert (found["shape"], found["group"], found["end"]) == ("concentrated", "c04", "low")
    assert -1.79 < found["z"] < -1.715


@pytest.mark.parametrize(("n", "critical"), [(3, 1.154), (5, 1.715), (6, 1.887), (10, 2.290), (21, 2.734), (30, 2.908)])
def test_grubbs_critical_values_are_those_of_tables(n: int, critical: float) -> None:
    """Two-sided, 5%."""
    assert grubbs(np.array([n]))[0] == pytest.approx(critical, abs=6e-4)
    assert np.isnan(grubbs(np.array([2]))[0])


def test_groups_that_are_not_apart_beyond_chance_have_no_shape() -> None:
    found = shape([*EVEN, 0.1], p=0.2)
    assert (found["shape"], found["group"], found["reason"]) == (None, "c07", "not apart beyond chance (p = 0.2)")
    assert shape([*EVEN, 0.1], p=np.nan)["reason"] == "no p"


def test_groups_without_a_value_are_left_out() -> None:
    found = shape([*EVEN, None, 0.1])
    assert (found["shape"], found["group"], found["n_groups"]) == ("concentrated", "c08", 8)


@pytest.mark.parametrize(
    ("means", "reason"),
    [
        ([0.1, 0.9], "2 groups with a value, needs 3"),
        ([0.1, None, None], "1 group with a value, needs 3"),
        ([None, None, None], "no groups with a value, needs 3"),
        ([0.5] * 4, "all groups are equal"),
        (list(np.linspace(0, 1, 31)), "31 groups: critical values of Dixon's ratio go to 30"),
    ],
)
def test_null_with_the_reason(means, reason, tmp_path) -> None:
    found = shape(means)
    assert found["shape"] is None
    assert found["reason"] == reason
    write_table(shapes(cells(means), np.array([0.01])), schemas.SHAPES, tmp_path / "shapes.parquet")


def test_beyond_thirty_groups_the_farthest_is_still_named() -> None:
    found = shape([*np.linspace(0.4, 0.6, 30), 2.0])
    assert (found["group"], found["end"]) == ("c30", "high")
