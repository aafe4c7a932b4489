"""The instrument families and the loading of their modules."""

from importlib import import_module
from typing import TYPE_CHECKING, Final, Literal, overload

if TYPE_CHECKING:
    from evenruler.instruments.family import (
        AnyCardModule,
        AnyDeclareModule,
        AnyEvolveModule,
        AnyReportModule,
        AnyRowsModule,
        AskModule,
        CommandsModule,
        DiagnoseModule,
        SchemasModule,
    )
    from evenruler.instruments.instrument import Plan

FAMILIES: Final[dict[str, str]] = {
    "probes": "evenruler.instruments.probes",
    "questionnaires": "evenruler.instruments.questionnaires",
    "framing": "evenruler.instruments.framing",
    "saged": "evenruler.instruments.saged",
    "external": "evenruler.instruments.external",
    "likert": "evenruler.instruments.likert",
}
"""The package of each family; the name is also that of its folders and sources."""

COMMANDS: Final[dict[str, dict[str, str]]] = {
    "probes": {
        "evolve": "Ask the operator again how templates are reworded: "
        "data/sources/probes/replies/OPERATOR/NAME.jsonl.",
        "ratings": "Have templates rated blind: make sheets, read them back.",
    },
    "questionnaires": {
        "translate": "Make a source of a Likert scale: items for chats, or drafts of sentences.",
    },
    "saged": {
        "refresh": "Fetch the pages of a domain from its wiki: data/snapshots/DOMAIN.",
        "find": "Find keywords and replacements, as a domain's `find` says.",
        "power": "Say how small a difference between concepts a domain can detect, and how many "
        "root items it takes.",
    },
}
"""Commands that families add to `evenruler` (`commands.app`), with their help, so that `evenruler
--help` need not import them."""


@overload
def family_module(family: str, name: Literal["declare"]) -> "AnyDeclareModule": ...
@overload
def family_module(family: str, name: Literal["rows"]) -> "AnyRowsModule": ...
@overload
def family_module(family: str, name: Literal["ask"]) -> "AskModule[Plan]": ...
@overload
def family_module(family: str, name: Literal["diagnose"]) -> "DiagnoseModule[Plan]": ...
@overload
def family_module(family: str, name: Literal["report"]) -> "AnyReportModule": ...
@overload
def family_module(family: str, name: Literal["card"]) -> "AnyCardModule": ...
@overload
def family_module(family: str, name: Literal["evolve"]) -> "AnyEvolveModule": ...
@overload
def family_module(family: str, name: Literal["schemas"]) -> "SchemasModule": ...
@overload
def family_module(family: str, name: Literal["commands"]) -> "CommandsModule": ...
def family_module(family: str, name: str) -> object:
    """Import a module of a family on demand. Its types are those of any family."""
    return import_module(f"{FAMILIES[family]}.{name}")
