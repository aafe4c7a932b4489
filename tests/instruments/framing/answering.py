"""Answers made up: a model that never looks at its prompt."""

import math
from typing import Any

import pandas as pd

from evenruler.instruments.asking import AnsweringModels, OperationInputs
from evenruler.instruments.framing.ask import ANSWERS
from evenruler.instruments.instrument import RequestBatch

NATS = {
    "he": math.log(0.3),
    "she": math.log(0.1),
}
"""Of every form but these `REST`."""
REST = math.log(0.01)


class MadeUp(AnsweringModels):
    """Remembers what it was asked; replies "He." but to the first prompt, which it does not
    take."""

    def __init__(self, first_token: int | None = None) -> None:
        """`first_token`: that of all words; None: each has one of its own."""
        self.first_token = first_token
        self.requests: list[tuple[RequestBatch, OperationInputs]] = []

    def answer(self, request: RequestBatch, inputs: OperationInputs, n: int) -> dict[str, Any]:
        self.requests.append((request, inputs))
        if request.operation == "words":
            nats = [NATS.get(form, REST) for form in inputs["surface_form"]]
            certain = [0.0] * n
            first_tokens = list(range(n))
            if self.first_token is not None:
                first_tokens = [self.first_token] * n
            return {
                "nats": nats,
                "ends": certain,
                "alone": certain,
                "first_nats": nats,
                "first_token": first_tokens,
            }
        replies = pd.array(
            [None, *["He."] * (n - 1)],
            dtype="str",
        )
        reasons = pd.array(
            ["too rude", *[None] * (n - 1)],
            dtype="str",
        )
        return {"reply": replies, "reason": reasons}


def none() -> dict[str, pd.DataFrame]:
    """Where nothing was asked."""
    return {name: pd.DataFrame(columns=schema.names) for name, schema in ANSWERS.items()}
