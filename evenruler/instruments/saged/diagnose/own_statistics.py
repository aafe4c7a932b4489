"""Statistics that a user brings: a function by its dotted name, array -> number."""

import importlib
import math
import numbers
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from evenruler.errors import UserError
from evenruler.instruments.saged.diagnose.blocks import Floats


@dataclass(frozen=True)
class OwnStatistic:
    """A user's function, applied to every group of a block.

    Attributes:
        name: Its dotted name.
        function: Takes float64[n], the values that there are, and the options; gives a number.
    """

    name: str
    function: Callable[..., Any]

    def __call__(self, values: Floats, baseline: Floats | None = None, **options: Any) -> Floats:
        """float64[...] of a block float64[..., n]; NaN where there is no value, the function fails or gives NaN."""
        groups = values.reshape(math.prod(values.shape[:-1]), values.shape[-1])
        found = [self.of_group(group, options)[0] for group in groups]
        return np.array(found, dtype=np.float64).reshape(values.shape[:-1])

    def of_group(self, values: Floats, options: dict[str, Any]) -> tuple[float, str]:
        """The number of one group, float64[n] with NaN where missing; or NaN and why."""
        present = values[~np.isnan(values)]
        if not present.size:
            return math.nan, "no value"
        try:
            number = self.function(present, **options)
        except Exception as error:  # whatever a user's function raises is that group's reason
            return math.nan, " ".join(f"{self.name} raised {type(error).__name__}: {error}".split())
        if not isinstance(number, numbers.Real):
            return math.nan, f"{self.name} gave {type(number).__name__}, not a number"
        if not math.isfinite(number):
            return math.nan, f"{self.name} gave {float(number)}"
        return float(number), ""


def own_statistic(name: str) -> OwnStatistic:
    """The function of a dotted name.

    Args:
        name: Such as `mypackage.module.function`, importable where this runs.

    Raises:
        UserError: It cannot be imported, or cannot be called.
    """
    module, _, function = name.rpartition(".")
    try:
        found = getattr(importlib.import_module(module), function)
    except (ImportError, AttributeError, ValueError) as error:
        what = f"the statistic {name} cannot be imported ({error})"
        raise UserError(what, remedy="write module.function, of a module on the Python path") from error
    if not callable(found):
        raise UserError(f"the statistic {name} is no function", remedy="name a function that takes an array")
    return OwnStatistic(name, found)
