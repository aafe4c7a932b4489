import numpy as np
import pandas as pd
import pytest

from evenruler.instruments.saged import schemas
from evenruler.instruments.saged.declare.settings import Statistic
from evenruler.instruments.saged.diagnose.cells import Cells, cells_of
from evenruler.instruments.saged.diagnose.layout import laid_out
from evenruler.instruments.saged.diagnose.verdicts import verdicts
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


def verdict(means: list[float | None]) -> pd.Series:
    return verdicts(cells(means)).iloc[0]


EVEN = [0.50, 0.51, 0.52, 0.53, 0.54, 0.55, 0.56]


@pytest.mark.parametrize(("outlier", "end"), [(0.1, "low"), (0.9, "high")])
def test_one_group_far_out_is_concentrated_on_it(outlier, end, tmp_path) -> None:
    means = [*EVEN[:3], outlier, *EVEN[3:]]
    found = verdict(means)
    assert (found["verdict"], found["group"], found["end"]) == ("concentrated", "c03", end)
    assert found["z"] == pytest.approx((outlier - np.mean(means)) / np.std(means, ddof=1))
    assert abs(found["z"]) > 2
    assert (found["n_groups"], found["reason"]) == (8, None)
    write_table(verdicts(cells(means)), schemas.VERDICTS, tmp_path / "verdicts.parquet")
    assert read_frame(tmp_path / "verdicts.parquet")["statistic"].tolist() == ["mean"]


def test_evenly_spread_groups_are_dispersed_and_still_name_the_farthest() -> None:
    found = verdict([*EVEN, 0.57, 0.59])
    assert (found["verdict"], found["group"], found["end"]) == ("dispersed", "c08", "high")
    assert 0 < found["z"] < 2


def test_far_out_beside_a_second_one_is_mixed() -> None:
    # Two lie low: |z| of the lower is over 2, and the other is too near for the outlier test (r11 = .33 of n = 9).
    found = verdict([*EVEN, 0.30, 0.36])
    assert (found["verdict"], found["group"], found["end"]) == ("mixed", "c07", "low")
    assert found["z"] < -1.7


def test_an_outlier_of_few_groups_cannot_be_far_out() -> None:
    # Dixon's r10 is .4 / .42 = .952, critical .710 of five; |z| is at most 1.79 (Shiffler).
    found = verdict([0.50, 0.51, 0.52, 0.51, 0.10])
    assert (found["verdict"], found["group"], found["end"]) == ("mixed", "c04", "low")
    assert -1.8 < found["z"] < -1.7


def test_groups_without_a_value_are_left_out() -> None:
    found = verdict([*EVEN, None, 0.1])
    assert (found["verdict"], found["group"], found["n_groups"]) == ("concentrated", "c08", 8)


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
    found = verdict(means)
    assert found["verdict"] is None
    assert found["reason"] == reason
    write_table(verdicts(cells(means)), schemas.VERDICTS, tmp_path / "verdicts.parquet")


def test_beyond_thirty_groups_the_farthest_is_still_named() -> None:
    found = verdict([*np.linspace(0.4, 0.6, 30), 2.0])
    assert (found["group"], found["end"]) == ("c30", "high")
