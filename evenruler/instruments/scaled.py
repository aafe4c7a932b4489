"""Settings that differ by scale: written as one value for both, or as `{quick: 5, paper: 1000}`."""

from typing import Annotated, Any, TypeVar, get_args

from pydantic import ValidationError, ValidationInfo, ValidatorFunctionWrapHandler, WrapValidator

from evenruler.instruments.instrument import Scale

SCALES: tuple[Scale, ...] = get_args(Scale)


def _at_scale(value: Any, handler: ValidatorFunctionWrapHandler, info: ValidationInfo) -> Any:
    """The value of the scale that is read; the other one is checked as well."""
    if not isinstance(value, dict):
        return handler(value)
    if not set(value) & set(SCALES):
        try:
            return handler(value)
        except ValidationError:
            raise ValueError(f"found {value}, expected one value, or one for quick and one for paper") from None
    if set(value) != set(SCALES):
        raise ValueError(f"found {value}, expected one for quick and one for paper")
    found = {scale: handler(own) for scale, own in value.items()}
    if info.context is None:
        raise RuntimeError("settings by scale are read without a scale")
    return found[info.context["scale"]]


Value = TypeVar("Value")

Scaled = Annotated[Value, WrapValidator(_at_scale)]
"""A setting that may differ by scale; the model that is read holds that of the scale in use. Give a default as
`Field(default={"quick": 5, "paper": 1000}, validate_default=True)`."""


def at_scale(entries: Any, scale: Scale) -> Any:
    """Of named entries, those without `scale` or with this one, and the key taken out; for a validator before others.

    Args:
        entries: A mapping of mappings (other values stay), as it was read.
        scale: The one in use.
    """
    if not isinstance(entries, dict):
        return entries
    kept = {}
    for name, entry in entries.items():
        own = entry.get("scale") if isinstance(entry, dict) else None
        if own not in (None, *SCALES):
            raise ValueError(f"{name}: no scale {own!r}, there are {' and '.join(SCALES)}")
        if own in (None, scale):
            kept[name] = {key: value for key, value in entry.items() if key != "scale"} if own else entry
    return kept
