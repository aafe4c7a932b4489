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


class SagedPlan(Plan):
    """What is asked of a domain, and what is measured in replies. Lists where the order counts."""

    name: str
    language: str
    items: int
    """Most root items."""
    most_roles: int
    reseeded: int
    generations: int
    new_tokens: int
    seed: int
    embedder: str | None
    controls: list[str]
    """Invented concepts."""
    masked: list[str]
    placebos: list[str]
    """Framings that are placebos."""
    roles: list[PlannedRole]
    templates: list[PlannedTemplate]
    headline_features: list[str]
    """Features that get a verdict."""
    features: dict[str, dict[str, Any]]
    """Each a `Feature` without nulls."""
    disparities: dict[str, Any]
    """`Disparities`."""
