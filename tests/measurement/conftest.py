import math

from evenruler.measurement.figures import HeadlineFigure
from evenruler.measurement.resampling import Transformation


def log_or_nan(value: float) -> float:
    return math.log(value) if value > 0 else math.nan


POSITIVE = Transformation(log_or_nan, math.exp)
"""What is above 0, as a standard deviation."""


NULL = "criterion randomised spectrally over 43 attributes, 9,999 randomisations, seed 0"

JUDGED = HeadlineFigure(
    "gain",
    1.0,
    43,
    "attributes",
    0.8,
    1.2,
    0.001,
    verdict="detected",
    why="The randomisation's p is at most .05, and the interval leaves out 0.",
    dimensions={"set": "next-word"},
    null=NULL,
    facets="43 attributes, 16 sentences, 1 pair (fixed)",
    bound=0.5,
    detects=1.06,
    reference_set="person nouns",
    alternatives=351.0,
    percentile=98.0,
    percentile_low=95.0,
    percentile_high=100.0,
    same_test=0.03,
    positive_control="brides and monks",
    positive_value=3.2,
    positive_low=2.2,
    positive_high=4.2,
    positive_p=0.0004,
)
"""A headline with every field."""
