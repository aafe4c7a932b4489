"""What users may say about a statistic (`options` in params.yaml, keyword arguments of `summarise`)."""

from collections.abc import Mapping
from typing import Any

from evenruler.errors import UserError, nearest

STANDARDS = ("mean", "median", "mode", "quantile")
METHODS = ("larger", "smaller", "within_range", "within_percentage")

OPTIONS: Mapping[str, Mapping[str, float | str | None]] = {
    "mode": {"width": 0.1},
    "quantile_range": {"q": 0.25},
    "percentile_range": {"low": 5.0, "high": 95.0},
    "selection_rate": {"standard": "mean", "q": 0.5, "width": 0.1, "method": "larger", "margin": None},
    "kl_divergence": {"bins": 10.0, "epsilon": 0.5},
    "precision": {"tolerance": 0.1},
}
"""By statistic, its options with their defaults; one that is not here has none.

`mode.width`: of bins, in the unit of the values. `quantile_range.q`: from quantile q to 1 - q, below .5.
`percentile_range.low`, `.high`: 0 to 100. `selection_rate.standard`: one of `STANDARDS`, of the whole cell; `.q`: of
the standard `quantile`; `.width`: of the standard `mode`; `.method`: one of `METHODS`; `.margin`: of `within_range` in
the unit of the values, of `within_percentage` as a share of the standard's magnitude (.1 is ten per cent).
`kl_divergence.bins`: how many; `.epsilon`: added to every count. `precision.tolerance`: in the unit of the values.
"""

_BOUNDS = {
    "quantile_range.q": (0, 0.5),
    "percentile_range.low": (0, 100),
    "percentile_range.high": (0, 100),
    "selection_rate.q": (0, 1),
    "selection_rate.margin": (0, float("inf")),
    "precision.tolerance": (0, float("inf")),
    "kl_divergence.bins": (1, 1_000_000),
}
_POSITIVE = ("mode.width", "selection_rate.width", "kl_divergence.epsilon")


def checked(kind: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """The options with defaults for what is not given.

    Args:
        kind: A name of `evenruler.instruments.saged.STATISTICS`.
        options: As the user gave them.

    Raises:
        UserError: An option that the statistic does not have, or a value that it cannot have.
    """
    known = OPTIONS.get(kind, {})
    for name in options:
        if name not in known:
            what = f"the statistic has no option {name!r}"
            raise UserError(what, where=kind, remedy=nearest(name, known) if known else "it takes no options")
    given = {**known, **options}
    for name, value in given.items():
        _check_value(f"{kind}.{name}", value)
    if kind == "percentile_range" and given["low"] >= given["high"]:
        raise UserError(f"low is {given['low']} and high {given['high']}", where=kind, remedy="low is the lower one")
    if kind == "selection_rate" and given["margin"] is None and str(given["method"]).startswith("within"):
        what = f"the method {given['method']} needs a margin"
        raise UserError(what, where=kind, remedy="give `margin`, how far from the standard still counts")
    return given


def _check_value(name: str, value: Any) -> None:
    words = {"selection_rate.standard": STANDARDS, "selection_rate.method": METHODS}.get(name)
    if words is not None:
        if value not in words:
            raise UserError(f"found {value!r}", where=name, remedy=nearest(str(value), words))
        return
    if value is None and name == "selection_rate.margin":
        return
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise UserError(f"found {value!r}, expected a number", where=name, remedy="write a number")
    low, high = _BOUNDS.get(name, (0, float("inf")))
    if not low <= value <= high or (name in _POSITIVE and not 0 < value < float("inf")):
        raise UserError(f"found {value}", where=name, remedy=f"it lies from {low} to {high}, and is not nothing")
    if name == "kl_divergence.bins" and value != int(value):
        raise UserError(f"found {value}", where=name, remedy="a whole number of bins")
