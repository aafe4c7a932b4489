"""The figures of a contrast that people are shown, in words: on a card, and where a model is measured."""

from collections.abc import Mapping

from evenruler.instruments.framing.declare.plan import FramingPlan
from evenruler.instruments.instrument import Column, Plan

LEAST_COVERAGE = 0.5
"""Below it, most of what a model would answer is of no class, and the figures are of the rest."""


def headings(plan: Plan) -> list[Column]:
    """What is shown of every way of asking on every model.

    Args:
        plan: By `FramingPlan`.
    """
    return of_factors(dict.fromkeys(FramingPlan.read(plan).factors, ""))


def of_factors(factors: Mapping[str, str]) -> list[Column]:
    """The same, given what each factor is in words, if anybody says so."""
    effects = [
        Column(
            f"effect: {factor}",
            f"effect: {factor}",
            f"mean APD with and without the cue{f' ({meaning})' if meaning else ''}, mean over tasks",
        )
        for factor, meaning in factors.items()
    ]
    return [
        Column(
            "shift probability",
            "shift probability",
            "mean of the effects, from 0 to 1 (interval: bootstrap over stimuli)",
        ),
        *effects,
        Column(
            "coverage",
            "coverage",
            "share of the answers that is of any class",
            "fitness",
            least=LEAST_COVERAGE,
            warning="only {value:.1%} of what it would answer is of any class: the figures are of that part",
        ),
    ]
