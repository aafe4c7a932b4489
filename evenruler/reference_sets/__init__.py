"""Lists that nobody chose word by word, which figures are compared with (README.md: rules, source,
licence, checksums).
"""

from pathlib import Path
from typing import Final, NamedTuple


class ReferenceSource(NamedTuple):
    """Where the words of a reference set come from (`tables.ids.Attributed`)."""

    source: str
    licence: str


WORDNET: Final = ReferenceSource("WordNet 3.1 (Princeton University)", "wordnet-3.1")

PERSON_NOUNS: Final = Path(__file__).with_name("person-nouns.csv")
"""Nouns for persons, in themes."""

ANIMAL_NOUNS: Final = Path(__file__).with_name("animal-nouns.csv")
"""Nouns for single animals, by `studies.reference_subjects`."""

PLACES: Final = Path(__file__).with_name("places.csv")
"""Names of single places, by kind."""
