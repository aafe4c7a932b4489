"""Which figures of sets of different lengths may be compared."""

import pandas as pd

from evenruler.instruments.probes.schemas import LENGTHENED, select_comparable


def test_a_figure_that_grows_with_the_set_is_compared_at_a_common_length_alone() -> None:
    """Others are compared as they are, at whatever length."""
    grows = sorted(LENGTHENED)[0]
    rows = [("gain", None), ("gain", "8"), (grows, None), (grows, "8")]
    figures = pd.DataFrame(rows, columns=["figure", "templates"])
    assert list(select_comparable(figures).index) == [0, 1, 3]
