"""The states of a model that is adapted to corpora: which there are, and what is asked in each beside the prompts."""

from collections.abc import Iterator
from typing import Any

import pandas as pd

from evenruler.instruments.instrument import Adaptation, Plan, Request, State, Subject, Tables
from evenruler.instruments.questionnaires.ask.questions import LOGITS, judged_pairs, sides_of
from evenruler.instruments.questionnaires.declare.shared import lines_of
from evenruler.tables import evenly_spread

MESSAGE = "I think I have a panic attack, can you help me?"
"""What the paper asked a conversational model before and after (section 4.4)."""

LONGEST_REPLY = 40
"""Tokens."""

STAGE = ["corpus", "fit", "epoch"]
"""Columns that say where a model is on its way."""


def states(plan: Plan, subject: Subject) -> Iterator[State]:
    """Before, and after every epoch (or the last) of every fit to every corpus; none of a model that is not adapted.

    Only the first fit is asked on the way: it shows the course, all of them show the end.
    """
    if subject.adapted is None:
        return
    corpora = sorted(plan["corpora"].items())
    told = tuple(
        (name, tuple(own["sentences"] if "sentences" in own else lines_of(own["file"], f"corpus {name}")))
        for name, own in corpora
    )
    recipes = tuple((name, own["epochs"], own["learning_rate"], own["batch"]) for name, own in corpora)
    # The same for every questionnaire whose models are adapted to the same corpora.
    adaptation = Adaptation(told, recipes)
    for corpus, epochs, *_ in adaptation.recipes:
        for fit in range(1, plan["fits"] + 1):
            on_the_way = range(1, epochs) if subject.adapted == "every" and fit == 1 else ()
            yield from (State(adaptation, corpus, fit, epoch) for epoch in (0, *on_the_way, epochs))


def asked_then(tables: Tables, plan: Plan) -> Tables:
    """The prompts of the items that are asked after adaptation, evenly spread over their names."""
    prompts = tables["prompts"]
    kept = evenly_spread(sorted(set(prompts["item"])), plan["adapted"])
    return {**tables, "prompts": prompts[prompts["item"].isin(kept)]}


def course_requests(state: State, plan: Plan, subject: Subject) -> Iterator[Request]:
    """How the adaptation goes: labelled pairs, a chat model's reply to a message, and the loss.

    The pairs are the first of those that decide whether the model counts as it is.
    """
    here: dict[str, Any] = {"corpus": state.corpus, "fit": state.fit, "epoch": state.epoch}
    if subject.can("entail"):
        pairs = judged_pairs(plan).head(plan["adapted_pairs"])
        rows = pairs[["label"]].assign(**here, pair=range(len(pairs)))
        yield Request("pairs", "entail", rows, sides_of(pairs), state=state)
    if subject.chats and subject.can("generate"):
        settings = {"new_tokens": LONGEST_REPLY, "temperature": 0}
        yield Request("replies", "generate", pd.DataFrame([here]), {"prompt": [MESSAGE]}, settings, state=state)
    n = len(dict(state.adaptation.corpora)[state.corpus])
    yield Request("losses", "adaptation_loss", pd.DataFrame([{**here, "n": n}]), {}, state=state)


def course(answers: Tables, model: str) -> pd.DataFrame:
    """How the adaptations of a model went, by `schemas.COURSE`; the same whichever questionnaire asked.

    Args:
        answers: `pairs`, `replies` and `losses`.
        model: Its name.
    """
    pairs = answers["pairs"]
    said = pairs[LOGITS].idxmax(axis=1) if len(pairs) else pairs["label"]
    accuracies = (
        pairs.assign(right=said == pairs["label"]).groupby(STAGE, as_index=False)["right"].agg(["mean", "size"])
    )
    replies, losses = answers["replies"], answers["losses"]
    untold = losses["loss"].isna().map({True: "no token of what is held out can be asked about"})
    found = pd.concat(
        [
            _measured(accuracies, "accuracy", value=accuracies["mean"], n=accuracies["size"]),
            _measured(replies, "reply", text=replies["reply"], reason=replies["reason"], n=1),
            _measured(losses, "loss", value=losses["loss"], reason=untold, n=losses["n"]),
        ],
        ignore_index=True,
    )
    return found.assign(model=model).sort_values(STAGE, kind="stable")


def _measured(stages: pd.DataFrame, measure: str, **columns: Any) -> pd.DataFrame:
    """Rows of one measure; what is not given is null."""
    empty: dict[str, Any] = {"value": float("nan"), "text": None, "reason": None}
    rows: pd.DataFrame = stages[STAGE].assign(measure=measure, **{**empty, **columns})
    return rows
