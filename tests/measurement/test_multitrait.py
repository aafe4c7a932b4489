import math

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from evenruler.measurement.multitrait import shared_changes


def rest_of(scales: list[np.ndarray], *factors: str) -> tuple[float, int]:
    """Residual sum of squares, and the rank, of a linear model of [occasions, items] values."""
    rows = [
        (y, {"item": f"{scale}-{item}", "occasion": occasion, "cell": f"{scale}-{occasion}"})
        for scale, values in enumerate(scales)
        for (occasion, item), y in np.ndenumerate(values)
    ]
    y = np.array([value for value, _ in rows])
    named = pd.DataFrame([names for _, names in rows])[list(factors)].astype(str)
    design = pd.get_dummies(named).to_numpy(dtype=float)
    fitted = design @ np.linalg.lstsq(design, y, rcond=None)[0]
    return float(((y - fitted) ** 2).sum()), int(np.linalg.matrix_rank(design))


class TestSharedChanges:
    def test_by_hand(self) -> None:
        # Changes of the scale's items: (1, 0, -1) and (2, 0, -2); of the other's: (-1, 2, -1) twice.
        found = shared_changes([[6.0, 2], [5, 0], [4, -2]], [[[0.0, 7], [3, 10], [0, 7]]])
        # Products of the two: 4; mean sum of squares (2 + 8) / 2 = 5. Across: means (1.5, 0, -1.5), (-1, 2, -1): 0.
        assert (found.own, found.other) == (pytest.approx(4 / 5), pytest.approx(0))

    def test_by_hand_of_three_items_and_one(self) -> None:
        # Changes (1, 0, -1), (2, 0, -2), (0, 1, -1); of the other's (1, 1, -2). Products within: 4, 1 and 2, mean 7/3;
        # mean sum of squares (2 + 8 + 2) / 3 = 4. Across: means (1, 1/3, -4/3) and (1, 1, -2), product 4; squares 6.
        own, other = np.array([[1.0, 2, 0], [0, 0, 1], [-1, -2, -1]]), np.array([[1.0], [1], [-2]])
        found = shared_changes(own + 5, [other])
        assert (found.own, found.other) == (pytest.approx(7 / 12), pytest.approx(4 / math.sqrt(24)))
        smaller = shared_changes(own / 1000, [other / 1000])
        assert (smaller.own, smaller.other, smaller.p) == pytest.approx((found.own, found.other, found.p))

    def test_p_is_that_of_the_interaction_of_occasion_and_scale(self) -> None:
        rng = np.random.default_rng(3)
        own, other = rng.normal(size=(3, 5)) + rng.normal(size=(3, 1)), rng.normal(size=(3, 4))
        (without, few), (found, many) = (rest_of([own, other], "item", name) for name in ("occasion", "cell"))
        ratio = (without - found) / (many - few) / (found / (own.size + other.size - many))
        expected = stats.f.sf(ratio, many - few, own.size + other.size - many)
        assert shared_changes(own, [other]).p == pytest.approx(expected, abs=1e-12)

    def test_what_all_scales_share_is_no_change_of_one(self) -> None:
        """p is even over [0, 1] where occasions move all items alike: of 1,000 draws, 5% are below .05."""
        rng = np.random.default_rng(0)
        below = 0
        for _ in range(1000):
            common = rng.normal(size=(3, 1))
            scales = [common + rng.normal(size=(3, n)) for n in (7, 9, 13, 6)]
            below += shared_changes(scales[0], scales[1:]).p < 0.05
        assert 0.035 < below / 1000 < 0.065

    def test_items_that_never_change_have_none(self) -> None:
        found = shared_changes(np.ones((3, 4)), [np.ones((3, 2))])
        assert math.isnan(found.own)
        assert math.isnan(found.p)

    def test_rounding_is_no_change(self) -> None:
        own, moves = [[0.1, 0.7]] * 3, [[0.0, 1.0], [1.0, 3.0], [2.0, 2.0]]  # the mean of three times .1 is more
        for scale, other in ((own, moves), (moves, own), (own, own)):
            found = shared_changes(scale, [other])
            assert math.isnan(found.own)
            assert math.isnan(found.other)
        assert math.isnan(shared_changes(own, [own]).p)

    def test_two_occasions_are_too_few(self) -> None:
        with pytest.raises(ValueError, match="at least 3 occasions"):
            shared_changes(np.eye(2), [np.eye(2)])

    def test_a_scale_alone_and_other_occasions_are_refused(self) -> None:
        for others in ([], [np.eye(4)]):
            with pytest.raises(ValueError, match="the same of at least two scales"):
                shared_changes(np.eye(3), others)
