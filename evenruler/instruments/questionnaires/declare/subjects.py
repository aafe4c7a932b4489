"""The subjects that items are asked about besides "I", drawn from a reference set by a fixed seed.

`studies/reference_subjects.py` draws them, so that nobody chose one by hand.
"""

from functools import cache
from pathlib import Path
from typing import Final, Literal

from evenruler.errors import UserError
from evenruler.strict import StrictModel, Text, Word, read_text, validate
from evenruler.tables.records import parse_text_table

FIRST_PERSON: Final = "I"

Form = Literal["noun", "he or she", "it"]
"""How the second sentence takes a subject up again: by its noun, or by a pronoun."""

Pronoun = Literal["he", "she", "it"]

FEWEST_SUBJECTS: Final = 2


class Subject(StrictModel):
    """Somebody, or some animal, that an item is asked about."""

    noun: Word
    """With its article: "the tenant"."""
    form: Form
    pronoun: Pronoun
    """Of later mentions in the same sentence, and of the second one unless the noun is repeated."""
    source: Text
    licence: Text

    @property
    def taken_up(self) -> str:
        """The subject of the second sentence: "the tenant", or "she"."""
        return self.noun if self.form == "noun" else self.pronoun


def load_subjects(path: Path) -> list[Subject]:
    """Read and check subjects: a CSV file, UTF-8, with the fields of `Subject` as columns.

    Empty where there is no file. UserError where a row is invalid, one stands twice, or there is
    one alone.
    """
    if not path.is_file():
        return []
    return _parse_subjects(read_text(path), path)


@cache
def _parse_subjects(text: str, path: Path) -> list[Subject]:
    """Check subjects; once, since all questionnaires share them."""
    _, rows = parse_text_table(text, str(path))
    subjects = [validate(Subject, row, path) for _, row in rows]
    nouns = [subject.noun for subject in subjects]
    if len(set(nouns)) < len(nouns):
        raise UserError("a subject stands twice", where=str(path), remedy="drop one")
    if len(subjects) < FEWEST_SUBJECTS:
        what = f"{len(subjects)} subjects, expected {FEWEST_SUBJECTS} at least"
        raise UserError(what, where=str(path), remedy="draw more")
    return subjects
