"""What the stage `scrape` makes of a domain: its sentences, where they are from, and the source with what was found."""

from dataclasses import dataclass
from pathlib import Path

from ruamel.yaml import YAML

from evenruler.errors import UserError
from evenruler.instruments.saged import schemas
from evenruler.instruments.saged.declare import Source
from evenruler.instruments.saged.scrape.reading import read
from evenruler.instruments.saged.scrape.scraping import scrape, without_sentences
from evenruler.tables import write_table

SOURCE = "source.yaml"


@dataclass(frozen=True)
class Made:
    """How much was found."""

    sentences: int
    pages: int
    missing: int
    """Pages without a sentence."""
    without: list[str]
    """Concepts that no sentence is about."""


def make(domain: str, source: Source, path: Path, folder: Path, root: Path = Path()) -> Made:
    """Find the sentences of a domain and write them.

    Args:
        domain: Its slug.
        source: What the user wrote, with what was found.
        path: Its file, for errors.
        folder: Where `source.yaml`, `sentences.parquet` and `sources.parquet` go.
        root: The repository.

    Raises:
        UserError: No sentence is about a concept that others are branched from; or as `read` and `scrape` say.
    """
    keywords = {concept: source.keywords_of(concept) for concept in source.roots}
    found = scrape(domain, keywords, read(domain, source, root), source.source, source.licence)
    without = without_sentences(keywords, found.sentences)
    if without and source.branch:
        raise UserError(
            f"no sentence about {without[0]} (keywords {', '.join(keywords[without[0]])})",
            where=str(path),
            remedy="mend its keywords or give it more text",
        )
    write_table(found.sentences, schemas.SENTENCES, folder / "sentences.parquet")
    write_table(found.sources, schemas.SOURCES, folder / "sources.parquet")
    yaml = YAML(pure=True)  # which keeps the order of concepts
    yaml.dump(
        source.resolved().model_dump(mode="json", by_alias=True, exclude_unset=True, exclude_none=True), folder / SOURCE
    )
    missing = sum(1 for row in found.sources if not row["sentences"])
    return Made(len(found.sentences), len(found.sources), missing, without)
