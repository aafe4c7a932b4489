"""Find the sentences of one domain: `data/sources/saged/{d}.yaml` and its pages ->
`data/scraped/{d}/`.
"""

from evenruler.declaration.params_file import ParamsFile
from evenruler.instruments.saged.declare import load
from evenruler.instruments.saged.scrape.scraping import write_sentence_tables
from stages.files import PIPELINE, SOURCES, path_from_top
from stages.running import run

SCRAPED = PIPELINE / "data/scraped"


def main(domain: str) -> None:
    """Write every sentence that holds a keyword, every page, and the source; say which concepts
    have none.
    """
    params = ParamsFile()
    entry = params.active.entry("scrape", domain)
    path = path_from_top(entry.source)
    source = load(path, params.settings(domain), SOURCES / entry.family / "shared")
    for line in write_sentence_tables(domain, source, path, SCRAPED / domain):
        print(line)


if __name__ == "__main__":
    run(main)
