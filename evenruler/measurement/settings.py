"""How intervals are computed. It imports no statistics, so that what is declared is read without them."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Resampling:
    """How intervals are computed."""

    level: float
    resamples: int
    seed: int
