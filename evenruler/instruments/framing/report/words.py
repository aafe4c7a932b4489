"""What slugs of contrasts are called on the page."""

from evenruler.instruments.framing.declare.framings import cues_of

METRICS = {"token": "token probability", "choice": "proportion of choices"}
CONFIGURATIONS = {"plain": "plain prompt", "chat": "chat template"}


def in_words(slug: str) -> str:
    """A slug as words."""
    return slug.replace("-", " ")


def cell_in_words(framing: str) -> str:
    """The cues of a cell."""
    return " + ".join(map(in_words, cues_of(framing))) or "no cue"
