"""Distributions over classes, written down cell by cell."""

from collections.abc import Mapping, Sequence

import pandas as pd

Shares = Mapping[str, Sequence[float]]
Cells = Mapping[tuple[str, str], Shares]
"""By task and framing, by stimulus: the share of every class."""


def cells_of_text(text: str) -> Cells:
    """Cells of lines `TASK, FRAMING: STIMULUS SHARE SHARE; STIMULUS SHARE SHARE`."""
    cells: dict[tuple[str, str], Shares] = {}
    for line in text.strip().splitlines():
        name, _, stimuli = line.partition(":")
        task, framing = name.split(", ")
        shares_by_stimulus = {}
        for words in stimuli.split(";"):
            stimulus, *shares = words.split()
            shares_by_stimulus[stimulus] = [float(share) for share in shares]
        cells[task, framing] = shares_by_stimulus
    return cells


def distributions(
    cells: Cells,
    benchmark: str = "pronouns",
    classes: Sequence[str] = ("he", "she", "they"),
    **more: str,
) -> pd.DataFrame:
    """By `schemas.DISTRIBUTIONS`; half of the mass is on the classes."""
    rows = []
    for (task, framing), stimuli in cells.items():
        for stimulus, shares in stimuli.items():
            cell = {"task": task, "framing": framing, "stimulus": stimulus}
            rows += [
                {**cell, "outcome": outcome, "share": share}
                for outcome, share in zip(classes, shares, strict=True)
            ]
    frame = pd.DataFrame(rows)
    same = {
        "model": "m0",
        "prompt_format": "plain",
        "readout": "token",
        **more,
    }
    same.setdefault("lineage", same["model"])
    return frame.assign(
        benchmark=benchmark,
        mass=frame["share"] / 2,
        coverage=0.5,
        n=1,
        **same,
    )
