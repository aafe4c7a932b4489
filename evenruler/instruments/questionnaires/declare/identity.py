"""What names a row of a questionnaire, whoever writes it."""

from typing import Final

from evenruler.tables.ids import row_id

FAMILY: Final = "questionnaires"
VARIANT: Final = "agree"
"""How articles before a slot are written."""


def prompt_id(questionnaire: str, item: str, term: str, intensifier: str, framing: str, **more: str) -> str:
    """The id of a prompt; `framing` names what stands before it, `bare` where nothing does; `more` is of twins."""
    of_prompt = {"benchmark": questionnaire, "item": item, "term": term, "intensifier": intensifier}
    return row_id(family=FAMILY, **of_prompt, variant=VARIANT, framing=framing, **more)
