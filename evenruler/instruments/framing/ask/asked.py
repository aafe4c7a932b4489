"""What a model is asked at the decision point of a prompt: surface forms, and replies with seeds (section 4.2)."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from evenruler.instruments.framing.declare.source import LETTERS
from evenruler.tables.ids import content_sha256

BARE_PROMPT, CHAT = "bare", "chat"
"""Configurations: the prompt as it is, and in the model's chat template."""


def surface_forms(words: Sequence[str], after: str, chat: bool) -> list[str]:
    """Words as they may stand at a decision point: as they are and with a capital, after a space and without.

    Without a space a word is one of its own only where no letter or digit stands before it.

    Args:
        words: Of the outcome classes.
        after: The prompt.
        chat: Whether the answer begins a turn of its own.
    """
    bare = chat or not after[-1:].isalnum()
    cased = dict.fromkeys(form for word in words for form in (word, word[0].upper() + word[1:]))
    return [space + form for form in cased for space in (" ", *([""] if bare else []))]


def asked_forms(
    prompts: pd.DataFrame, outcomes: Mapping[str, Sequence[str]], configurations: Sequence[str]
) -> pd.DataFrame:
    """One row per prompt, configuration and surface form: letters where the prompt lists options, else words.

    Args:
        prompts: By `schemas.PROMPTS`.
        outcomes: Surface forms by class.
        configurations: `bare` and `chat`, or one of them.

    Returns:
        `id, configuration, prompt, form`.
    """
    words = [form for forms in outcomes.values() for form in forms]
    rows = []
    for prompt in prompts.to_dict("records"):
        answers = list(LETTERS[: len(prompt["order"])]) or words
        for configuration in configurations:
            for form in surface_forms(answers, prompt["prompt"], configuration == CHAT):
                rows.append((prompt["id"], configuration, prompt["prompt"], form))
    return pd.DataFrame(rows, columns=["id", "configuration", "prompt", "form"])


def asked_replies(prompts: pd.DataFrame, repetitions: int, seed: int, configurations: Sequence[str]) -> pd.DataFrame:
    """One row a reply to sample. Each draws one of the orders of options at random.

    Args:
        prompts: By `schemas.PROMPTS`.
        repetitions: Replies to a task about a stimulus in a cell.
        seed: Of the draws; each row's own seed hangs on it and on what the row is.
        configurations: `bare` and `chat`, or one of them.

    Returns:
        `id, configuration, prompt, repetition, seed`.
    """
    rows = []
    for key, orders in prompts.sort_values("id").groupby(["task", "stimulus", "framing"], sort=True):
        for configuration in configurations:
            for repetition in range(repetitions):
                own = int(content_sha256(seed, *map(str, key), repetition)[:15], 16)
                chosen = orders.iloc[int(np.random.default_rng(own).integers(len(orders)))]
                rows.append((chosen["id"], configuration, chosen["prompt"], repetition, own))
    return pd.DataFrame(rows, columns=["id", "configuration", "prompt", "repetition", "seed"])
