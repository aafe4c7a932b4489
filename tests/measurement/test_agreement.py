import math

import numpy as np
import pandas as pd
import pytest

from evenruler.measurement import cronbach_alpha, spearman
from evenruler.measurement.agreement import icc_agreement, icc_of_mean, mean_spearman
from tests.later import Later

pingouin = Later("pingouin")

JUDGES = np.array([[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]], dtype=float)
"""Six targets by four judges: table 2 of Shrout and Fleiss (1979)."""


def by_pingouin(x: np.ndarray) -> pd.DataFrame:
    long = pd.DataFrame(x).reset_index().melt(id_vars="index")
    found = pingouin.intraclass_corr(long, targets="index", raters="variable", ratings="value")
    return found.set_index("Type")


class TestIntraclass:
    def test_of_the_paper(self) -> None:
        # Table 4: ICC(2,1) .29, ICC(3,4) .91; its interval of ICC(2,1) is .02 to .76.
        found = icc_agreement(JUDGES)
        assert (round(found.value, 2), round(found.low, 2), round(found.high, 2)) == (0.29, 0.02, 0.76)
        assert round(icc_of_mean(JUDGES).value, 2) == 0.91

    @pytest.mark.filterwarnings("ignore::pandas.errors.Pandas4Warning")  # pingouin's own
    @pytest.mark.parametrize("shape", [(7, 3), (13, 3), (9, 2)])
    def test_is_that_of_pingouin(self, shape) -> None:
        rng = np.random.default_rng(shape[0])
        x = rng.normal(size=(shape[0], 1)) + rng.normal(size=(1, shape[1])) / 2 + rng.normal(size=shape)
        expected = by_pingouin(x)
        for found, name in ((icc_agreement(x), "ICC(A,1)"), (icc_of_mean(x), "ICC(C,k)")):
            assert found.value == pytest.approx(expected.loc[name, "ICC"], abs=1e-12)
            assert [round(found.low, 2), round(found.high, 2)] == list(expected.loc[name, "CI95"])

    def test_the_mean_is_cronbachs_alpha(self) -> None:
        assert icc_of_mean(JUDGES).value == pytest.approx(cronbach_alpha(JUDGES), abs=1e-12)

    def test_a_rater_that_is_higher_throughout_agrees_less_but_orders_alike(self) -> None:
        higher = JUDGES + np.array([5.0, 0.0, 0.0, 0.0])
        assert icc_agreement(higher).value < icc_agreement(JUDGES).value - 0.05
        assert icc_of_mean(higher).value == pytest.approx(icc_of_mean(JUDGES).value, abs=1e-12)

    def test_raters_that_agree_wholly_have_no_interval(self) -> None:
        same = np.repeat(JUDGES[:, :1], 3, axis=1)
        for found in (icc_agreement(same), icc_of_mean(same)):
            assert found.value == pytest.approx(1, abs=1e-12)
            assert math.isnan(found.low)
            assert math.isnan(found.high)

    def test_nan_where_nothing_differs(self) -> None:
        for found in (icc_agreement(np.ones((6, 3))), icc_of_mean(np.ones((6, 3)))):
            assert all(map(math.isnan, (found.value, found.low, found.high)))

    @pytest.mark.parametrize("targets", [6, 7, 9, 13])
    def test_intervals_cover(self, targets) -> None:
        """Of 600 draws of three raters, 92 to 98 of 100 hold the true value, but for the error of simulation."""
        rng = np.random.default_rng(targets)
        level, held = {"one": 0.5, "mean": 1 - 0.4 / (3 * 0.5 + 0.4)}, {"one": 0, "mean": 0}
        for _ in range(600):
            noise = rng.normal(size=(targets, 3)) * math.sqrt(0.4)
            x = rng.normal(size=(targets, 1)) * math.sqrt(0.5) + rng.normal(size=(1, 3)) * math.sqrt(0.1) + noise
            for name, found in (("one", icc_agreement(x)), ("mean", icc_of_mean(x))):
                held[name] += found.low <= level[name] <= found.high
        assert all(0.91 < n / 600 < 0.985 for n in held.values())


class TestMeanSpearman:
    def test_is_the_mean_over_pairs(self) -> None:
        pairs = [spearman(JUDGES[:, i], JUDGES[:, j]).value for i in range(4) for j in range(i)]
        assert mean_spearman(JUDGES) == pytest.approx(float(np.mean(pairs)), abs=1e-12)

    def test_nan_where_a_rater_gives_all_the_same(self) -> None:
        assert math.isnan(mean_spearman(np.column_stack([JUDGES[:, 0], np.ones(6)])))
