"""Pages scraped for keywords: time against the length of the text and against the number of
keywords.

Run by hand: `python -m tests.performance.scraping`. Prints a Markdown table. Everything from text
to rows is timed (sentences found by the parser, keywords matched, rows made); matching alone is
timed too. `parsed` is how often the text goes through the parser: once, whatever the number of
keywords. Contenders take turns, the best of the turns counts; loading the parser is not timed.
Keywords are ten a concept; each stands in a part of the sentences, and each sentence holds one, so
that more keywords also find more sentences.
"""

import argparse
import time
from dataclasses import dataclass, field
from unittest import mock

from evenruler.instruments.saged.scrape import scraping
from evenruler.instruments.saged.scrape.pages import Page
from evenruler.instruments.saged.scrape.scraping import match_keywords, split_sentences
from tests.instruments.saged.domains import places

MEGABYTE = 1_000_000
KEYWORDS = 50
CASES = [(0.25, 1), (0.25, KEYWORDS), (1.0, 1), (1.0, KEYWORDS)]
TURNS = 2
SENTENCES_A_PARAGRAPH = 6
PARAGRAPHS_A_SECTION = 20
SUBJECTS = [
    "The farmers of {}",
    "Most schools in {}",
    "The old railway between {} and its neighbours",
    "Visitors to {}",
]
VERBS = [
    "were praised in the first census",
    "keep what the old law asks for",
    "know long winters",
    "set up a fund",
]
ENDINGS = [
    "for the young",
    "because the soil is thin",
    "in the north of the continent",
    "and trade followed",
]


@dataclass
class Measured:
    """What one pair of sizes took, in seconds, and found."""

    whole: float = float("inf")
    matching: float = float("inf")
    rows: int = 0
    parsed: list[int] = field(default_factory=list)


def keyword(index: int) -> str:
    """A made-up name that is no part of another one."""
    return f"{'ABDFGKLMNP'[index // 5]}{'aeiou'[index % 5]}relia"


def page(megabytes: float) -> Page:
    """A page of sections; its sentences are numbered, so that none is like another."""
    sections: list[tuple[str, str]] = []
    size = number = 0
    while size < megabytes * MEGABYTE:
        paragraphs = []
        for _ in range(PARAGRAPHS_A_SECTION):
            said = [_sentence(number + offset) for offset in range(SENTENCES_A_PARAGRAPH)]
            number += SENTENCES_A_PARAGRAPH
            paragraphs.append(" ".join(said))
        text = "\n".join(paragraphs)
        sections.append((f"Section {len(sections)}", text))
        size += len(text)
    return Page("Page", "Page", "", "en", "Even Ruler", "cc-by-4.0", tuple(sections))


def _sentence(number: int) -> str:
    subject, verb, end = (
        SUBJECTS[number % 4].format(keyword(number % KEYWORDS)),
        VERBS[number // 4 % 4],
        ENDINGS[number // 16 % 4],
    )
    return f"{subject} {verb} {end}, according to note {number}."


def concepts(n: int) -> dict[str, list[str]]:
    """n keywords, ten a concept."""
    words = [keyword(index) for index in range(n)]
    return {f"concept-{begin // 10}": words[begin : begin + 10] for begin in range(0, n, 10)}


def measure(text: Page, n: int, found: Measured) -> None:
    """Scrape once, and keep the better time."""
    parsed: list[int] = []

    def counted(section: str) -> list[str]:
        parsed.append(len(section))
        return split_sentences(section)

    source = places(
        concepts={name: {"name": name, "keywords": words} for name, words in concepts(n).items()}
    )
    with mock.patch.object(scraping, "split_sentences", counted):
        start = time.perf_counter()
        scraped = scraping.scrape("performance", source, [(source.roots, text)])
        found.whole = min(found.whole, time.perf_counter() - start)
    found.rows, found.parsed = len(scraped.sentences), parsed


def measure_matching(listed: list[str], n: int, found: Measured) -> None:
    """Match once, and keep the better time."""
    start = time.perf_counter()
    match_keywords(listed, concepts(n))
    found.matching = min(found.matching, time.perf_counter() - start)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", type=int, default=TURNS)
    arguments = parser.parse_args()
    pages = {size: page(size) for size, _ in CASES}
    split_sentences(pages[0.25].sections[0][1])
    listed = {
        size: [line for _, text in own.sections for line in split_sentences(text)]
        for size, own in pages.items()
    }
    measured = {case: Measured() for case in CASES}
    for _ in range(arguments.turns):
        for (size, n), found in measured.items():
            measure(pages[size], n, found)
            measure_matching(listed[size], n, found)
    print(
        "| MB | keywords | sentences found | parsed | seconds | seconds / MB | matching alone, s |"
    )
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for (size, n), found in measured.items():
        length = sum(len(text) for _, text in pages[size].sections)
        print(
            f"| {length / MEGABYTE:.2f} | {n} | {found.rows:,} | {sum(found.parsed) / length:.1f} "
            "times "
            f"| {found.whole:.1f} | {found.whole / length * MEGABYTE:.1f} | {found.matching:.2f} |"
        )


if __name__ == "__main__":
    main()
