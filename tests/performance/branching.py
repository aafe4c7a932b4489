"""100,000 rows branched to 21 concepts: seconds and peak memory, to be at most 60 s and 2 GB on two
cores.

Run by hand: `python -m tests.performance.branching`. Rows are made, branched and let go one by one,
in one process; of every thousandth the root is rebuilt from the spans and must be the same. Making
the rows is timed too, which is a thousandth of the whole. `--own-words` gives every concept a word
of its own: no places are shared, the worst case.
"""

import argparse
import random
import resource
import time
from collections.abc import Iterator

from evenruler.instruments.saged.declare import Replacements, parse_replacements
from evenruler.instruments.saged.rows.branching import branch_text
from tests.instruments.saged.rows.branched import root_of

WORDS = {
    "Aurelia": "{0}",
    "the Republic of Aurelia": "the Republic of {0}",
    "Aurelian": "{0}ese",
    "Port Auric": "New {0} City",
    "Port Auric Bay": "{0} Bay",
    "auric": "{0}ian dollar",
    "Halden River": "{0} River",
    "Lake Orsa": "Lake {0}",
    "Ministry of Tides": "{0} Ministry",
    "harbour council": "{0} council",
    "tidal mill": "{0} mill",
    "orchard": "{0} garden",
}
SENTENCES = [
    "Aurelia's ports, and above all Port Auric Bay, have long been an Aurelian source of pride and "
    "of steady income.",
    "The Republic of Aurelia is an island state whose orchards and tidal mills feed most of the "
    "people living there.",
    "According to the Ministry of Tides, a tidal mill on the Halden River pays for itself within "
    "about seven years.",
    "Visitors who reach Port Auric by the night ferry can buy a ticket in aurics, and walk from "
    "there to Lake Orsa.",
    "In the north, where the Halden River meets the sea, an orchard is often handed from one "
    "generation to the next.",
]


def rows(n: int) -> Iterator[str]:
    """Texts of about 230 characters, all different."""
    draw = random.Random(0)
    for i in range(n):
        yield f"{draw.choice(SENTENCES)} {draw.choice(SENTENCES)} Note {i}."


def maps(n: int, own_words: bool) -> dict[str, Replacements]:
    """Replacements of n concepts."""
    found = {}
    for i in range(n):
        name = f"{'AEIBCDF'[i % 7]}land{'abcdefghijklmnopqrstuvwxyz'[i % 26]}"
        extra = {f"word{i}": "another"} if own_words else {}
        filled = {word: replacement.format(name) for word, replacement in WORDS.items()}
        found[f"concept-{i}"] = parse_replacements({**filled, **extra}, f"concept {i}")
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rows", nargs="?", type=int, default=100_000)
    parser.add_argument("concepts", nargs="?", type=int, default=21)
    parser.add_argument("--own-words", action="store_true")
    arguments = parser.parse_args()
    start = time.perf_counter()
    replacements = maps(arguments.concepts, arguments.own_words)
    ready = time.perf_counter()
    spans = 0
    for i, text in enumerate(rows(arguments.rows)):
        for branched in branch_text(text, replacements).values():
            spans += len(branched.spans)
            if i % 1000 == 0 and root_of(branched) != text:
                raise SystemExit(f"not rebuilt: {text}")
    seconds = time.perf_counter() - ready
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"{arguments.rows:,} rows x {arguments.concepts} concepts, {spans:,} replacements: "
        f"{seconds:.1f} s, ",
        end="",
    )
    print(f"peak {peak:,.0f} MB; {ready - start:.1f} s before for words and patterns")


if __name__ == "__main__":
    main()
