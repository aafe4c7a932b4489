"""What a model is asked: the prompts of the plan, and the words or letters after them."""

from collections.abc import Sequence
from typing import Any

LETTERS = "ABCDEFGHIJ"

Row = dict[str, Any]


ASKED_ORDERS = 2
"""Orders of options in which a stimulus is asked about: one and its reverse."""

CONTROL, CONTROL_NAME = -1, "control"
"""Number of the positive control among alternatives, and its name in a framing."""


def asked_prompts(prompts: Sequence[Row], plan: Row) -> list[Row]:
    """The prompts that are asked: about the stimuli of the plan, each in `ASKED_ORDERS` of options,
    with as many alternatives as are planned (the control, too, where there are any).

    Orders are turned on from stimulus to stimulus, the same for the cue and whatever stands in its
    place.
    """
    places = {stimulus: place for place, stimulus in enumerate(plan["stimuli"])}
    n_alternatives = max((entry["asked"] for entry in plan["alternatives"]), default=0)
    planned_numbers = range(n_alternatives + 1)
    if n_alternatives:
        planned_numbers = range(CONTROL, n_alternatives + 1)
    asked_rows = []
    for row in prompts:
        place = places.get(row["stimulus"])
        if place is None or alternative_of(row["framing"]) not in planned_numbers:
            continue
        n_orders = orders_of(len(row["order"]))
        turn = (row["turn"] - ASKED_ORDERS * place) % n_orders
        if turn < ASKED_ORDERS:
            asked_rows.append(row)
    return asked_rows


def orders_of(options: int) -> int:
    """How many orders balance so many options, each and its reverse, whether or not their prompts
    were kept.
    """
    if options < 2:
        return 1
    return options if options % 2 == 0 else 2 * options


def alternative_of(framing: str) -> int:
    """The number of the alternative in a framing; 0 where all its cues are as cells have them,
    `CONTROL` for the positive control.
    """
    for cue in framing.split("+"):
        _, _, label = cue.partition("~")
        if label:
            return CONTROL if label == CONTROL_NAME else int(label)
    return 0


def surface_forms(words: Sequence[str], after: str) -> list[str]:
    """Words as they may stand after a prompt: as they are and with a capital, after a space and
    without.

    Without a space a word is one of its own only where no letter or digit stands before it.
    """
    bare = not after[-1:].isalnum()
    cased: list[str] = []
    for word in words:
        cased += [word, word[0].upper() + word[1:]]
    spaces = [" ", ""] if bare else [" "]
    return [space + form for form in dict.fromkeys(cased) for space in spaces]
