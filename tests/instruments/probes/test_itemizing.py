"""What each template says and brings, and what controls beside it do."""

import math

import numpy as np
import pandas as pd
import pingouin
import pytest
from scipy import stats

from evenruler.instruments.probes.diagnose.cubes import Cube
from evenruler.instruments.probes.diagnose.itemizing import items_of
from evenruler.measurement.resampling import CORRELATION, jackknife
from tests.instruments.probes.known import BIAS


def cube(biases: pd.DataFrame) -> Cube:
    """Scores that have these biases."""
    scores = biases.to_numpy()[:, :, None] * np.array([0.5, 0.5, -0.5, -0.5]) + [1.0, -1.0, 2.0, -2.0]
    poles = np.array([1, 1, -1, -1], dtype=np.int8)
    return Cube(scores, list(biases.index), list(biases), ["man", "uncle", "woman", "girl"], poles, np.ones(4))


def interval(x: pd.Series, y: pd.Series) -> tuple[float, float]:
    """Of their correlation, by the jackknife over attributes."""
    found = jackknife(lambda one, other: stats.pearsonr(one, other).statistic, x, y, scale=CORRELATION, level=0.9)
    return found.low, found.high


def rows_of(biases: pd.DataFrame, controls: pd.DataFrame | None = None, level: float = 0.9) -> pd.DataFrame:
    found = items_of(cube(biases), None if controls is None else cube(controls), level)
    assert found["template"].is_unique
    return found.set_index("template")


class TestTemplates:
    @pytest.mark.parametrize("name", BIAS)
    def test_what_one_says_and_adds(self, name) -> None:
        others = BIAS.drop(columns=name)

        row = rows_of(BIAS).loc[name]

        assert not row["control"]
        assert row["mean"] == pytest.approx(BIAS[name].mean(), abs=1e-12)
        assert row["sd"] == pytest.approx(BIAS[name].std(ddof=1), abs=1e-12)
        rest = stats.pearsonr(BIAS[name], others.sum(axis=1)).statistic
        assert row["item_rest_correlation"] == pytest.approx(rest, abs=1e-12)
        assert (row["low"], row["high"]) == pytest.approx(interval(BIAS[name], others.sum(axis=1)), abs=1e-9)
        assert row["alpha_if_removed"] == pytest.approx(pingouin.cronbach_alpha(others)[0], abs=1e-12)

    def test_one_that_is_read_the_other_way_round(self) -> None:
        """Eight attributes whose correlation with the rest is surely below 0."""
        rest = BIAS["first"] + BIAS["last"]
        turned = [0.25, -0.5, 0.0, 0.25, 0.5, -0.25, 0.0, -0.25] - rest
        rows = rows_of(BIAS.assign(odd=turned))
        assert rows.loc["odd", "high"] < 0
        assert rows.loc["odd", "item_rest_correlation"] == pytest.approx(np.corrcoef(turned, rest)[0, 1], abs=1e-12)

    def test_one_that_tells_nothing_apart(self) -> None:
        rows = rows_of(BIAS.assign(last=0.25))
        assert rows.loc["last", ["item_rest_correlation", "low", "high"]].isna().all()
        assert rows.loc["last", ["mean", "sd"]].tolist() == [0.25, 0]
        assert rows.loc["first", "item_rest_correlation"] == pytest.approx(
            np.corrcoef(BIAS["first"], BIAS["odd"])[0, 1], abs=1e-12
        )

    def test_alone_there_is_nothing_to_hold_it_against(self) -> None:
        row = rows_of(BIAS[["first"]]).loc["first"]
        assert row[["item_rest_correlation", "low", "high", "alpha_if_removed"]].isna().all()
        assert row["mean"] == BIAS["first"].mean()

    def test_two_are_held_against_each_other(self) -> None:
        rows = rows_of(BIAS[["first", "odd"]])
        r = np.corrcoef(BIAS["first"], BIAS["odd"])[0, 1]
        assert rows["item_rest_correlation"].tolist() == pytest.approx([r, r], abs=1e-12)

    def test_of_two_attributes_there_is_the_alpha_without_it(self) -> None:
        rows = rows_of(BIAS.iloc[:2])
        others = pingouin.cronbach_alpha(BIAS.iloc[:2].drop(columns="first"))[0]
        assert rows.loc["first", "alpha_if_removed"] == pytest.approx(others, abs=1e-12)

    @pytest.mark.parametrize(("n", "known"), [(3, False), (4, True)])
    def test_so_many_attributes_at_least(self, n, known) -> None:
        rows = rows_of(BIAS.iloc[:n])
        assert rows["item_rest_correlation"].notna().all() == known

    def test_of_one_attribute_there_is_its_bias(self) -> None:
        rows = rows_of(BIAS.iloc[:1])
        assert rows["mean"].to_dict() == BIAS.loc["smith"].to_dict()
        assert rows[["sd", "item_rest_correlation", "alpha_if_removed"]].isna().all(axis=None)


class TestControls:
    @pytest.fixture
    def controls(self) -> pd.DataFrame:
        """One goes with the others, one against them."""
        wobble = [0.5, -0.25, 0.25, 0.0, -0.5, 0.0, 0.25, -0.25]
        total = BIAS.sum(axis=1)
        return pd.DataFrame({"same": total + wobble, "against": 0.5 - total + wobble})

    def test_are_held_against_all_that_are_in(self, controls) -> None:
        rows = rows_of(BIAS, controls)
        for name in controls:
            expected = stats.pearsonr(controls[name], BIAS.sum(axis=1))
            assert rows.loc[name, "item_rest_correlation"] == pytest.approx(expected.statistic, abs=1e-12)
            assert tuple(rows.loc[name, ["low", "high"]]) == pytest.approx(
                interval(controls[name], BIAS.sum(axis=1)), abs=1e-9
            )
        assert rows["control"].to_dict() == {**dict.fromkeys(BIAS, False), "same": True, "against": True}
        assert rows.loc["same", "low"] > 0 > rows.loc["against", "high"]
        assert rows.loc["against", "mean"] == pytest.approx(controls["against"].mean(), abs=1e-12)
        assert math.isnan(rows.loc["against", "alpha_if_removed"])

    def test_change_nothing_of_the_others(self, controls) -> None:
        pd.testing.assert_frame_equal(rows_of(BIAS, controls).loc[list(BIAS)], rows_of(BIAS))

    def test_an_attribute_that_they_lack_stays_out_of_theirs_alone(self, controls) -> None:
        rows = rows_of(BIAS, controls.drop(index="nurse"))
        without = BIAS.drop(index="nurse").sum(axis=1)
        assert rows.loc["same", "item_rest_correlation"] == pytest.approx(
            np.corrcoef(controls["same"].drop("nurse"), without)[0, 1], abs=1e-12
        )
        assert rows.loc["first", "mean"] == BIAS["first"].mean()

    def test_one_that_is_left_out_of_the_set_stays_out_of_theirs(self, controls) -> None:
        rows = rows_of(BIAS.drop(index="nurse"), controls)
        assert rows.loc["same", "mean"] == pytest.approx(controls["same"].drop("nurse").mean(), abs=1e-12)
