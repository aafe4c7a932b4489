"""Prompts with something before them, to see what that moves."""

from collections.abc import Mapping

import pandas as pd

from evenruler.instruments.saged.declare import FAMILY
from evenruler.instruments.saged.schemas import FRAMED
from evenruler.tables.ids import row_id


def framed(domain: str, prompts: pd.DataFrame, prefixes: Mapping[str, str]) -> pd.DataFrame:
    """Every prompt after every prefix.

    Args:
        domain: Its slug.
        prompts: By `schemas.PROMPTS`.
        prefixes: What stands before a prompt, by the name of the framing.

    Returns:
        By `schemas.FRAMED`.
    """
    rows = [
        {
            "id": row_id(family=FAMILY, benchmark=domain, bare=key, framing=framing),
            "framing": framing,
            "before": before,
            "bare_id": key,
            "concept": concept,
            "root_id": root,
        }
        for key, concept, root in prompts[["id", "concept", "root_id"]].itertuples(index=False)
        for framing, before in prefixes.items()
    ]
    return pd.DataFrame(rows, columns=FRAMED.names)
