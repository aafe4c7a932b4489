"""What a model is asked: the prompts of the plan, and the words or letters after them."""

from collections.abc import Sequence
from typing import Any

LETTERS = "ABCDEFGHIJ"

Row = dict[str, Any]


def asked_prompts(prompts: Sequence[Row], plan: Row) -> list[Row]:
    """The prompts that are asked: about so many stimuli, about fewer with a placebo, in so many
    orders and wordings.

    Each placebo has stimuli of its own, evenly spread over the list. Orders are turned on from
    stimulus to stimulus: through those of one placebo, then through those of the next.
    """
    places = {stimulus: place for place, stimulus in enumerate(plan["stimuli"])}
    step = -(-len(places) // plan["placebo_stimuli"])
    by_placebo = sorted(places.values(), key=lambda place: (place % step, place))
    ranks = {place: rank for rank, place in enumerate(by_placebo)}
    asked_rows = []
    for row in prompts:
        place = places.get(row["stimulus"])
        if place is None:
            continue
        size = orders_of(len(row["order"]))
        placebo = placebo_of(row["framing"])
        turn = (row["turn"] - plan["orders"] * ranks[place]) % size
        in_orders = turn < plan["orders"]
        in_placebos = -plan["most_wordings"] <= placebo <= plan["most_placebos"]
        if in_orders and in_placebos and (placebo <= 0 or place % step == placebo % step):
            asked_rows.append(row)
    return asked_rows


def orders_of(options: int) -> int:
    """How many orders balance so many options, each and its reverse, whether or not their prompts
    were kept.
    """
    if options < 2:
        return 1
    return options if options % 2 == 0 else 2 * options


def placebo_of(framing: str) -> int:
    """The number of the placebo in a framing; 0 where all its cues are as cells have them, -2 at
    the second wording.
    """
    numbers = [cue.partition("~")[2] for cue in framing.split("+")]
    placebos = [int(number) for number in numbers if number]
    return placebos[0] if placebos else 0


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
