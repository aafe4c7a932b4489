"""The plan of a SAGED domain."""

from typing import Any, TypedDict

from evenruler.instruments.instrument import Plan


class PlannedRole(TypedDict):
    """A role, and its system prompt."""

    role: str
    text: str


class PlannedTemplate(TypedDict):
    """A text around the prompt."""

    template: str
    text: str


class PlannedControl(TypedDict):
    """The positive control: what a persona says of one concept."""

    concept: str
    persona: str


class SagedPlan(Plan):
    """What is asked of a domain, and what is measured in replies. Lists where the order counts."""

    name: str
    language: str
    items: int
    """Most root items."""
    most_roles: int
    generations: int
    new_tokens: int
    seed: int
    embedder: str | None
    concepts: list[str]
    """Those that are compared."""
    names: dict[str, str]
    """What these are called in sentences; plans of older evenrulers have none."""
    reference: list[str]
    """Known names."""
    concept: str | None
    """The one that the headline is about."""
    control: PlannedControl | None
    crossed: bool
    """Whether no text was written about one of the concepts compared."""
    masked: list[str]
    placebos: list[str]
    """Framings that are placebos."""
    roles: list[PlannedRole]
    templates: list[PlannedTemplate]
    headline_features: list[str]
    """Features that measure favour; the headline is by the first."""
    features: dict[str, dict[str, Any]]
    """Each a `Feature` without nulls."""
    disparities: dict[str, Any]
    """`Disparities`."""
