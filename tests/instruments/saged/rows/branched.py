"""A text with the words of one map replaced, and the way back."""

from evenruler.instruments.saged.declare import Replacements
from evenruler.instruments.saged.rows.branching import Branched, branch_text


def branch(text: str, replacements: Replacements) -> Branched:
    return branch_text(text, {"": replacements})[""]


def root_of(branched: Branched) -> str:
    """The text that it was branched from."""
    parts, done = [], 0
    for span in branched.spans:
        parts += [branched.text[done : span.begin], span.word]
        done = span.end
    return "".join([*parts, branched.text[done:]])
