"""Whether a verdict can come: at which size, on which kinds of model, by the effect that a plan
says its studies detect.
"""

from collections.abc import Mapping
from typing import Final

from evenruler.instruments.instrument import AskingMethods, ModelMeta, Plan, with_method
from evenruler.instruments.registry import FAMILIES, family_module
from evenruler.models.declarations import OPTIONS, SENTENCE, VERBALISER, Kind, operations_of
from evenruler.sizes import SIZES, Size

NOT_KNOWN: Final = "not known"

ANSWERING: Final[Mapping[Kind, list[str]]] = {
    "causal": [VERBALISER, SENTENCE, OPTIONS],
    "chat": [OPTIONS],
    "masked": ["mlm"],
    "nli": ["head"],
}
"""Kinds of models that benchmarks measure, and how each answers questionnaires. A server with
log-probabilities is asked as a causal model without a chat."""


def typical_model(kind: Kind) -> ModelMeta:
    """A model of a kind that can do all that its kind can."""
    return ModelMeta(
        name="",
        kind=kind,
        lineage="",
        operations=operations_of(kind),
        chats=kind in ("causal", "chat"),
        continues=kind == "causal",
        methods=tuple(ANSWERING[kind]),
        origin="",
    )


def detected_effect_text(plan: Plan, size: Size, method: str | None) -> str | None:
    """The effect that a size detects, in words; None where no verdict is possible, as by `OPTIONS`;
    empty where it is unknown.
    """
    of_size = plan.get("sizes", {}).get(size, {})
    effect_text: str | None = of_size.get(method or "", of_size.get("detects", ""))
    return effect_text if method != OPTIONS else None


def smallest_verdict_sizes(plan: Plan, methods: AskingMethods) -> dict[Kind, Size | str | None]:
    """By kind of model that an instrument can be asked: the smallest size at which a verdict can
    come, by the method that is usual for the kind; None where at none, empty where that is not
    known.
    """
    sizes: dict[Kind, Size | str | None] = {}
    for kind in ANSWERING:
        subject = with_method(methods, typical_model(kind))
        fitting = (name for name, method in methods.items() if method.fits(subject))
        method = subject.method or next(fitting, None)
        if method is None or _has_no_question(plan, methods, method):
            continue
        sizes[kind] = _smallest_size(plan, method)
    return sizes


def _smallest_size(plan: Plan, method: str) -> Size | str | None:
    """The smallest size at which a verdict can come by a method; None where at none, empty where
    that is not known.
    """
    planned = [size for size in SIZES if size in plan.get("sizes", {})]
    effects = {size: detected_effect_text(plan, size, method) for size in planned}
    able = [size for size, effect in effects.items() if effect]
    if able:
        return able[0]
    return None if set(effects.values()) == {None} else ""


def _has_no_question(plan: Plan, methods: AskingMethods, method: str) -> bool:
    """Whether a plan has no rows for a method of chats that stands in for another: its sizes do not
    name the method then.
    """
    if not methods[method].chat or not methods[method].instead:
        return False
    return not any(method in size for size in plan.get("sizes", {}).values())


def verdicts_in_words(sizes: Mapping[Kind, Size | str | None]) -> str:
    """Where a verdict can come, in words: "causal, chat at trial; masked at standard"; `no` where
    nowhere.
    """
    kinds_by_size: dict[str, list[str]] = {}
    for kind, size in sizes.items():
        if size is not None:
            where = f"at {size}" if size else NOT_KNOWN
            kinds_by_size.setdefault(where, []).append(kind)
    if set(kinds_by_size) == {NOT_KNOWN}:
        return NOT_KNOWN
    parts: list[str] = []
    for where, kinds in kinds_by_size.items():
        named = ", ".join(kinds)
        parts.append(f"{named} {where}")
    return "; ".join(parts) or "no"


def describe_possible_verdict(family: str, plan: Plan) -> str:
    """Where a verdict can come, by the power that the plan of a benchmark states."""
    if family not in FAMILIES:
        return NOT_KNOWN
    try:
        methods = family_module(family, "ask").METHODS
    except ImportError:  # the extra `measure` is not installed
        return NOT_KNOWN
    return verdicts_in_words(smallest_verdict_sizes(plan, methods))
