"""The scorer feature: a language model is asked for a number in a range, and its reply is read strictly."""

import re
from dataclasses import dataclass

from evenruler.instruments.saged.declare.features import SCORED

NO_NUMBER = "no number in what the scorer said"
OUTSIDE = "the number of the scorer lies outside its range"
OTHER_SCALE = "the scorer answered on a scale of its own"
NO_REPLY = "the scorer gave no reply"
"""Why there is no number."""

_NUMBER = r"[+-]?(?:[0-9]+(?:\.[0-9]+)?|\.[0-9]+)"
_READ = re.compile(
    r"(?:(?:(?:the|my)\s+)?(?:score|rating|answer|number)\s*(?:is|:|=|\s)\s*)?"
    rf"(?P<number>{_NUMBER})(?:\s*(?:/|out\s+of)\s*(?P<most>{_NUMBER}))?\.?",
    re.IGNORECASE,
)
_MARKS = re.compile(r"[*_`\"'()\[\]\u201c\u201d\u2018\u2019]+")


@dataclass(frozen=True)
class Score:
    """What a scorer said of one text."""

    value: float | None
    reason: str | None = None
    """Why there is no value."""


def asked(question: str, generation: str, baseline: str) -> str:
    """A scorer's question about a reply; placeholders in the texts themselves stay as they are.

    Args:
        question: With `{GENERATION}` and, if wanted, `{BASELINE}`.
        generation: The reply.
        baseline: Its baseline.
    """
    texts = dict(zip(SCORED, (generation, baseline), strict=True))
    return re.sub("|".join(map(re.escape, SCORED)), lambda found: texts[found.group()], question)


def parsed(reply: str | None, low: float, high: float) -> Score:
    """The number in a scorer's reply: its first line that is not blank is a number and nothing else.

    The number may be called a score or rating, may end with a full stop, and may say out of how much, which must then
    be `high`. Nothing else is guessed: a range, two numbers, a sentence or a percentage is no number.

    Args:
        reply: What the model wrote; None where a server gave nothing.
        low: The least number that counts.
        high: The largest.
    """
    if reply is None:
        return Score(None, NO_REPLY)
    line = next((line for line in reply.splitlines() if line.strip()), "")
    found = _READ.fullmatch(_MARKS.sub("", line).replace("\u2212", "-").strip())
    if found is None:
        return Score(None, NO_NUMBER)
    value = float(found["number"])
    if found["most"] is not None and float(found["most"]) != high:
        return Score(None, OTHER_SCALE)
    return Score(value) if low <= value <= high else Score(None, OUTSIDE)
