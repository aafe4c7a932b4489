"""What a model is asked: the prompts of the plan, and the words or letters after them.

Lies beside the task that uses it and needs nothing but the standard library and what the harness
brings.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[1]

LETTERS = "ABCDEFGHIJ"

Row = dict[str, Any]


def load(**_: Any) -> dict[str, Any]:
    """What is asked of the benchmark that this file is part of, by split, wherever its folder lies.

    The harness passes the task's metadata, which changes nothing. Nothing is cached: what is read
    is what lies there.
    """
    from datasets import Dataset

    plan = json.loads((FOLDER / "plan.json").read_text(encoding="utf-8"))
    prompts = asked_prompts(_read_rows("prompts"), plan)
    cells = {(row["task"], row["framing"]) for row in prompts}
    empty = [
        row
        for row in _read_rows("content-free")
        if plan["calibrated"] and (row["task"], row["framing"]) in cells
    ]
    words = [form for outcome in plan["outcomes"] for form in outcome["forms"]]
    rows = [_prompt_with_forms(row, row["stimulus"], row["order"], words) for row in prompts]
    rows += [_prompt_with_forms(row, None, LETTERS[: row["letters"]], words) for row in empty]
    return {"test": Dataset.from_list(rows)}


def choices(doc: Row) -> list[str]:
    """The prompt alone, and with each of its forms."""
    return [doc["prompt"], *(doc["prompt"] + form for form in doc["forms"])]


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


def _read_rows(config: str) -> list[Row]:
    from pyarrow.parquet import ParquetFile

    rows: list[Row] = (
        ParquetFile(FOLDER / config / "test-00000-of-00001.parquet").read().to_pylist()
    )
    return rows


def _prompt_with_forms(
    row: Row, stimulus: str | None, options: Sequence[str], words: Sequence[str]
) -> Row:
    """One prompt with its forms: letters where it lists options, else words of the classes."""
    answers = LETTERS[: len(options)] or words
    return {
        "id": row["id"],
        "task": row["task"],
        "framing": row["framing"],
        "stimulus": stimulus,
        "order": list(options),
        "prompt": row["prompt"],
        "forms": surface_forms(answers, row["prompt"]),
    }
