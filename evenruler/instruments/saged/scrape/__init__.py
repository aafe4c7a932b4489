"""From pages to sentences about concepts (SAGED, sections 2.1 and A.1), and prompts of a user's
table.
"""

from pathlib import Path

import pyarrow as pa

from evenruler.errors import UserError
from evenruler.instruments.saged import schemas
from evenruler.instruments.saged.declare import Source, read_prompts
from evenruler.tables import table_of

__all__ = ["made"]


def source_tables(domain: str, source: Source, folder: Path) -> dict[str, pa.Table]:
    """The tables `sentences` and `sources` of a domain whose prompts are a table in the folder of
    its file.

    UserError where its material is text, which must be scraped first; or as for `read_prompts`.
    """
    if source.material.kind != "table":
        what, remedy = (
            "its prompts are made of text",
            "build it in a clone: docs/adding-a-saged-domain.md",
        )
        raise UserError(what, where=f"{source.title}: material.kind", remedy=remedy)
    prompts, about = read_prompts(domain, source, folder)
    return {
        "sentences": table_of(prompts, schemas.SENTENCES),
        "sources": table_of(about, schemas.SOURCES),
    }
