"""What slugs of contrasts are called on the page."""

import re

from evenruler.instruments.framing.declare.framings import cues_of
from evenruler.instruments.framing.declare.source import ContrastSource

METRICS = {"token": "token probability", "choice": "proportion of choices"}
CONFIGURATIONS = {"plain": "plain prompt", "chat": "chat template"}


def in_words(slug: str) -> str:
    """A slug as words."""
    return slug.replace("-", " ")


def cell_in_words(framing: str) -> str:
    """The cues of a cell."""
    return " + ".join(map(in_words, cues_of(framing))) or "no cue"


def with_titles(told: str, source: ContrastSource) -> str:
    """A text with the titles of tasks in the place of their slugs."""
    names = "|".join(map(re.escape, sorted(source.tasks, key=len, reverse=True)))
    return re.sub(rf"(?<![\w-])(?:{names})(?![\w-])", lambda found: f"“{source.tasks[found.group()].title}”", told)
