"""The families, one line each, and their doors."""

from importlib import import_module
from typing import Any, Final

FAMILIES: Final[dict[str, str]] = {
    "probes": "evenruler.instruments.probes",
    "questionnaires": "evenruler.instruments.questionnaires",
    "framing": "evenruler.instruments.framing",
    "saged": "evenruler.instruments.saged",
    "fixed": "evenruler.instruments.fixed",
}
"""The package of each; the name is that of its instruments' folders and of its sources."""

COMMANDS: Final[dict[str, dict[str, str]]] = {
    "probes": {
        "evolve": "Ask the operator anew how templates are reworded: data/sources/probes/replies/OPERATOR/NAME.jsonl.",
        "ratings": "Have templates rated blind: make sheets, read them back.",
    },
    "questionnaires": {
        "translate": "Make items of a Likert scale: NAME.draft.yaml, for you to read and to fill.",
    },
    "saged": {
        "refresh": "Fetch the pages of a domain from its wiki: data/snapshots/DOMAIN.",
        "find": "Find keywords, pages and replacements, as a domain's `find` says.",
        "plan": "Say how small a difference between concepts a domain can detect, and how many root items it takes.",
    },
}
"""The commands of `evenruler` that families bring in their `commands.app`, and what `evenruler --help` says of each, so
that it imports none of them."""


def room(family: str, name: str) -> Any:
    """A room of a family, its `commands`, or what only this family has, imported when it is asked for."""
    return import_module(f"{FAMILIES[family]}.{name}")
