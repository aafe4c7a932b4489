"""Prompts with something before them, to see how brittle a benchmark is."""

from collections.abc import Mapping, Sequence
from typing import Any

from evenruler.instruments.saged.scrape.scraping import FAMILY
from evenruler.tables.ids import row_id


def framed(domain: str, prompts: Sequence[Mapping[str, Any]], prefixes: Mapping[str, str]) -> list[dict[str, Any]]:
    """Every prompt after every framing.

    Args:
        domain: Its slug.
        prompts: By `schemas.PROMPTS`.
        prefixes: What stands before a prompt, by framing.

    Returns:
        By `schemas.FRAMED`.
    """
    return [
        {
            "id": row_id(family=FAMILY, benchmark=domain, bare=prompt["id"], framing=framing),
            "framing": framing,
            "before": before,
            "bare_id": prompt["id"],
            "concept": prompt["concept"],
            "root_id": prompt["root_id"],
        }
        for prompt in prompts
        for framing, before in prefixes.items()
    ]
