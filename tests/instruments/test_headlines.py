"""No family publishes a headline without a bound and a verdict, nor a verdict on anything else."""

import pandas as pd
import pytest

from evenruler.instruments.diagnosing import require_confirmed
from evenruler.instruments.instrument import FigureHeading
from evenruler.measurement import Figure
from evenruler.measurement.figures import as_rows
from evenruler.measurement.resampling import Interval
from evenruler.measurement.verdicts import HeadlineTest, ValidityCheck, judge, mark_invalid
from evenruler.tables.schemas import FIGURES

GAIN = FigureHeading("gain", "gain", "", figure_type="headline")
SPREAD = FigureHeading("spread", "spread", "")

BARE = Figure("gain", 0.5, 20, "attributes")
JUDGED = judge(
    HeadlineTest(
        "gain",
        "attributes",
        {"attributes": 20},
        Interval(1.0, 0.5, 1.5),
        0.1,
        no_null="attributes are alike",
    )
)


def rows(*figures: Figure, model: str | None = "m") -> pd.DataFrame:
    return pd.DataFrame(list(as_rows(figures, "jobs", model))).reindex(columns=FIGURES.names)


def test_a_headline_that_was_not_judged_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^gain: a headline needs a bound and a verdict"):
        require_confirmed(rows(BARE), [GAIN, SPREAD])
    with pytest.raises(ValueError, match=r"^gain: a headline"):
        require_confirmed(rows(mark_invalid(BARE, ValidityCheck(failure="all refused"))), [GAIN])
    require_confirmed(rows(JUDGED), [GAIN, SPREAD])


def test_a_verdict_on_what_is_no_headline_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^gain: confirmed, but no headline"):
        require_confirmed(rows(JUDGED), [FigureHeading("gain", "gain", "")])


def test_what_describes_may_say_that_nothing_was_measured() -> None:
    spread = Figure("spread", 0.5, 20, "attributes")
    require_confirmed(
        rows(spread, mark_invalid(spread, ValidityCheck(failure="all refused"))), [SPREAD]
    )
    require_confirmed(rows(BARE, model=None), [GAIN])
