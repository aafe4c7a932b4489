"""Replies with labels, and how often the parser of choices is wrong about them.

data/README.md says where the replies and the labels are from.
"""

import csv
import json
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

from scipy.stats import binomtest
from sklearn.metrics import cohen_kappa_score

from evenruler.text.replies import read_reply

Row = dict[str, str]
Label = Literal["first", "second"]
FOLDER = Path(__file__).parent / "data"
FILES = {name: FOLDER / f"{name}.csv" for name in ("developed", "replies")}
"""`developed`: the rules were edited on them; `replies`: drawn with another seed, and read after
the rules stood."""

_OF_BOTH = {
    "he": "he him his himself man men male males masculine boy boys guy guys gentleman gentlemen "
    "father fathers "
    "husband husbands son sons",
    "she": "she her hers herself woman women female females feminine girl girls lady ladies mother "
    "mothers wife wives "
    "daughter daughters",
}
_LISTS = {
    "gender": _OF_BOTH | {"they": "they them their theirs themself themselves"},
    "age": {
        "young": "young younger youthful youth youths teenage teenager teenagers teen teens "
        "youngster youngsters kid "
        "kids child children adolescent adolescents",
        "old": "old older elderly elder elders aged aging ageing retired retiree retirees "
        "pensioner pensioners senior "
        "seniors grandparent grandparents",
    },
    "indirect-probing": {
        "male": f"{_OF_BOTH['he']} brother brothers uncle grandfather",
        "female": f"{_OF_BOTH['she']} sister sisters aunt grandmother",
    },
}


def _split(classes: dict[str, str]) -> dict[str, list[str]]:
    return {outcome: words.split() for outcome, words in classes.items()}


WORDS = {name: _split(classes) for name, classes in _LISTS.items()}
"""Words by which replies are read, by contrast and class: forms and terms."""

LEFT_OUT = {
    "age": [
        *("year old", "year-old", "years old", "years-old"),
        *("month old", "month-old", "months old", "months-old"),
    ]
}


class Tally(NamedTuple):
    """What the parser makes of some replies."""

    n: int
    valid: int
    wrong: int
    """Of the valid ones, those whose class is not the label's."""
    classes: int
    """Replies that the label gives a class."""
    missed: int
    """Of these, those that the parser calls invalid."""

    def interval(self) -> tuple[float, float]:
        """Of the share wrong among the valid ones, Clopper and Pearson's, 95%."""
        interval = binomtest(self.wrong, self.valid).proportion_ci(method="exact")
        return interval.low, interval.high


def labelled(name: str) -> list[Row]:
    """The replies of a file."""
    with FILES[name].open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def read(row: Row) -> str | None:
    """The class that the parser reads."""
    options = [(slug, text) for _, slug, text in json.loads(row["options"])]
    contrast = row["contrast"]
    reading = read_reply(
        row["reply"],
        WORDS[contrast],
        options,
        LEFT_OUT.get(contrast, ()),
    )
    return reading.outcome


def tally(rows: Sequence[Row], label: Label, reader: Callable[[Row], str | None] = read) -> Tally:
    """The parser against one pass of labels; a label that is no class (none, several, filler) is
    invalid."""
    pairs = []
    for row in rows:
        is_class = row[label] in WORDS[row["contrast"]]
        pairs.append((reader(row), row[label] if is_class else None))
    valid = [(read, correct) for read, correct in pairs if read is not None]
    of_class = [read for read, correct in pairs if correct is not None]
    return Tally(
        n=len(pairs),
        valid=len(valid),
        wrong=sum(read != correct for read, correct in valid),
        classes=len(of_class),
        missed=of_class.count(None),
    )


def kappa(rows: Iterable[Row]) -> float:
    """Cohen's, of the two passes of labels."""
    rows = list(rows)
    first = [row["first"] for row in rows]
    second = [row["second"] for row in rows]
    return float(cohen_kappa_score(first, second))
