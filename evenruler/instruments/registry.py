"""The families, one line each, and their doors."""

from importlib import import_module
from types import ModuleType
from typing import Any, Final

FAMILIES: Final[dict[str, str]] = {
    "probes": "evenruler.instruments.probes",
    "questionnaires": "evenruler.instruments.questionnaires",
    "framing": "evenruler.instruments.framing",
    "saged": "evenruler.instruments.saged",
}
"""The package of each; the name is that of its instruments' folders and of its sources."""


def room(family: str, name: str) -> Any:
    """A room of a family, imported when it is asked for: `declare`, `rows`, `ask`, `diagnose`, `card` or `report`."""
    found: ModuleType = import_module(f"{FAMILIES[family]}.{name}")
    return found
