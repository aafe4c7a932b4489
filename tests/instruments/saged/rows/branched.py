"""A text with the words of one map replaced."""

from evenruler.instruments.saged.declare.replacements import Replacements
from evenruler.instruments.saged.rows.branching import Branched, branches


def branch(text: str, replacements: Replacements) -> Branched:
    return branches(text, {"": replacements})[""]
