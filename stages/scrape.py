"""Find the sentences of one domain: `data/sources/domains/{d}.yaml` and its pages -> `data/sentences/{d}/`."""

from pathlib import Path

from evenruler.declared import Declared
from evenruler.errors import UserError
from evenruler.instruments.saged import schemas
from evenruler.instruments.saged.scrape.reading import read
from evenruler.instruments.saged.scrape.scraping import scrape, without_sentences
from evenruler.instruments.saged.settings import DomainSettings
from evenruler.instruments.saged.source import load_domain, require_fitting
from evenruler.tables import write_table
from stages.running import SENTENCES, SOURCES, run


def main(domain: str) -> None:
    """Write every sentence that holds a keyword, and every page; say which concepts have none."""
    path = SOURCES / "domains" / f"{domain}.yaml"
    source = load_domain(path)
    require_fitting(domain, Declared().entry("domains", domain, DomainSettings), source, Path("params.yaml"))
    keywords = {concept: source.keywords_of(concept) for concept in source.roots}
    found = scrape(domain, keywords, read(domain, source), source.source, source.licence)
    for concept in without_sentences(keywords, found.sentences):
        if source.branch:
            raise UserError(
                f"no sentence about {concept} (keywords {', '.join(keywords[concept])})",
                where=str(path),
                remedy="mend its keywords or give it more text",
            )
        print(f"{domain}: no sentence about {concept}")
    folder = SENTENCES / domain
    write_table(found.sentences, schemas.SENTENCES, folder / "sentences.parquet")
    write_table(found.sources, schemas.SOURCES, folder / "sources.parquet")
    missing = sum(1 for row in found.sources if not row["sentences"])
    print(f"{domain}: {len(found.sentences):,} sentences, {missing} of {len(found.sources)} pages without any")


if __name__ == "__main__":
    run(main)
