"""How much of a benchmark is asked."""

from typing import Literal, get_args

Size = Literal["trial", "standard", "full"]
"""How many rows are asked: a first look; enough to find the effect stated in the plan; all."""

SIZES: tuple[Size, ...] = get_args(Size)
"""From the smallest."""

STANDARD: Size = "standard"
"""The size that `measure` uses by default, and that the top-level keys of a plan describe."""
