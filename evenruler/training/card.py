"""The card of an adapter: `README.md` with front matter as the Hub reads it."""

from collections.abc import Mapping
from typing import Any

import jinja2

from evenruler.models.entry import ModelEntry

WHAT_IS_FITTED = {
    "adapter": "low-rank changes of every layer (rank {rank}) and the head; the encoder's own weights stay as they are",
    "head": "the head alone; the encoder is frozen",
    "whole": "the encoder and the head",
}


def render(name: str, entry: ModelEntry, record: Mapping[str, Any]) -> str:
    """The card's text.

    Args:
        name: Of the model in the catalogue.
        entry: Its declaration.
        record: `training.json`.
    """
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("evenruler.training", "."),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,  # Markdown
    )
    recipe = record["recipe"]
    return environment.get_template("card.md.j2").render(
        name=name,
        entry=entry,
        record=record,
        recipe=recipe,
        held_out=record["held_out"],
        fitted=WHAT_IS_FITTED[recipe["fit"]].format(**recipe),
        below=record["held_out"]["accuracy"] < recipe["bar"],
        checks=record.get("sense_checks", []),
        failures=[check for check in record.get("sense_checks", []) if check["said"] != check["expected"]],
    )
