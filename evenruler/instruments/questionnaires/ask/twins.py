"""Items and their impersonal twins apart: both are asked and scored alike, and never enter one score together."""

from evenruler.instruments.instrument import Tables

OF_BOTH = ("items", "terms", "prompts")
"""The published tables that hold both."""


def apart(tables: Tables) -> tuple[Tables, Tables]:
    """The published tables of the items alone, and of their twins alone.

    Args:
        tables: `items`, `terms` and `prompts`, each with `twin`.

    Returns:
        Twice the same tables; those of the twins have no row where a questionnaire has none.
    """
    own = {name: tables[name][~tables[name]["twin"].astype(bool)] for name in OF_BOTH}
    twins = {name: tables[name][tables[name]["twin"].astype(bool)] for name in OF_BOTH}
    return {**tables, **own}, {**tables, **twins}
