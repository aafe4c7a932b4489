"""The median, called as a mean was: `mutants.py` puts it in its place."""

from typing import Any

import numpy as np


def median(numbers: Any, *args: Any, **keywords: Any) -> Any:
    """That of a table, a column or groups of either; else of an array."""
    if hasattr(numbers, "median"):
        return numbers.median(*args, **keywords)
    return np.median(numbers, *args, **keywords)
