"""Framings in one word: which cues a prompt has, or what stands in a cue's place.

`bare` has no cue; else its cues stand in the order of the factors, joined by "+". A placebo in the place of a cue is
the factor with its number, as in `gender-salience~2+instruction`.
"""

from collections.abc import Sequence

from evenruler.tables.schemas import BARE

JOINED, NUMBERED = "+", "~"


def framing_of(cues: Sequence[str]) -> str:
    """What a row with these cues has in its column `framing`."""
    return JOINED.join(cues) or BARE


def cues_of(framing: str) -> list[str]:
    """The cues that `framing_of` named, in their order; a placebo is one of them, with its number."""
    return [] if framing == BARE else framing.split(JOINED)


def without(framing: str, factor: str) -> str:
    """The same framing without the cue of a factor."""
    return framing_of([cue for cue in cues_of(framing) if cue != factor])


def with_placebo(framing: str, factor: str, placebo: int) -> str:
    """The same framing with a placebo in the place of the cue of a factor.

    Args:
        framing: Has the cue.
        factor: Whose it is.
        placebo: Its number, from 1 on.
    """
    return framing_of([f"{cue}{NUMBERED}{placebo}" if cue == factor else cue for cue in cues_of(framing)])


def placebo_of(framing: str) -> int:
    """The number of the placebo in a framing; 0 where all its cues are real."""
    numbers = [int(number) for cue in cues_of(framing) if (number := cue.partition(NUMBERED)[2])]
    return numbers[0] if numbers else 0


def real_framing(framing: str) -> str:
    """The same framing with the real cue where a placebo stands."""
    return framing_of([cue.partition(NUMBERED)[0] for cue in cues_of(framing)])
