"""The median, called as a mean was: `mutants.py` puts it in its place."""

from typing import Any

import numpy as np


def median(of: Any, *args: Any, **keywords: Any) -> Any:
    """That of a table, a column or groups of either; else of an array."""
    return (
        of.median(*args, **keywords) if hasattr(of, "median") else np.median(of, *args, **keywords)
    )
