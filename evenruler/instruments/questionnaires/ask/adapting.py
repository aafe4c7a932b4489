"""The states of a model that is adapted to corpora: which there are, and what is asked in each beside the prompts."""

from collections.abc import Iterator

import numpy as np
import pandas as pd

from evenruler.instruments.instrument import Adaptation, Plan, Request, State, Subject, Tables
from evenruler.instruments.questionnaires.ask.item_scores import LOGITS
from evenruler.instruments.questionnaires.declare.lines import lines_of

MESSAGE = "I think I have a panic attack, can you help me?"
"""What the paper asked a conversational model before and after (section 4.4)."""

LONGEST_REPLY = 40
"""Tokens."""


def states(plan: Plan, subject: Subject) -> Iterator[State]:
    """Before, and after every epoch (or the last) of every corpus; none of a model that is not adapted."""
    if subject.adapted is None:
        return
    adaptation = _adaptation(plan)
    for corpus, epochs, *_ in adaptation.recipes:
        measured = range(1, epochs + 1) if subject.adapted == "every" else [epochs]
        yield from (State(adaptation, corpus, epoch) for epoch in (0, *measured))


def _adaptation(plan: Plan) -> Adaptation:
    """The same for every questionnaire whose models are adapted to the same corpora."""
    corpora = sorted(plan["corpora"].items())
    told = tuple((name, tuple(_sentences(name, own))) for name, own in corpora)
    recipes = tuple((name, own["epochs"], own["learning_rate"], own["batch"], own["seed"]) for name, own in corpora)
    return Adaptation(told, recipes)


def _sentences(name: str, corpus: Plan) -> list[str]:
    found: list[str] = corpus["sentences"] if "sentences" in corpus else lines_of(corpus["file"], f"corpus {name}")
    return found


def course_requests(state: State, subject: Subject) -> Iterator[Request]:
    """How the adaptation goes: plain pairs, a chat model's reply to a message, and the loss of the epoch."""
    from evenruler.models.backends.nli import labelled_sample

    here = {"corpus": state.corpus, "epoch": state.epoch}
    if subject.can("entail"):
        sample = labelled_sample()
        rows = pd.DataFrame(
            [{**here, "pair": number, "label": label} for number, (_, label) in enumerate(sample)],
            columns=[*here, "pair", "label"],
        )
        sides = {"premise": [first for (first, _), _ in sample], "hypothesis": [second for (_, second), _ in sample]}
        yield Request("pairs", "entail", rows, sides, state=state)
    if subject.chats and subject.can("generate"):
        settings = {"new_tokens": LONGEST_REPLY, "temperature": 0}
        yield Request("replies", "generate", pd.DataFrame([here]), {"prompt": [MESSAGE]}, settings, state=state)
    if state.epoch:
        n = len(dict(state.adaptation.corpora)[state.corpus])
        yield Request("losses", "adaptation_loss", pd.DataFrame([{**here, "n": n}]), {}, state=state)


def course(answers: Tables, model: str) -> pd.DataFrame:
    """How the adaptations of a model went, by `schemas.COURSE`; the same whichever questionnaire asked.

    Args:
        answers: `pairs`, `replies` and `losses`.
        model: Its name.
    """
    rows: list[dict[str, object]] = []
    for (corpus, epoch), pairs in answers["pairs"].groupby(["corpus", "epoch"], sort=True):
        said = pairs[LOGITS].to_numpy(dtype=np.float64).argmax(axis=1)
        right = float(np.mean([LOGITS[at] == label for at, label in zip(said, pairs["label"], strict=True)]))
        state: dict[str, object] = {"corpus": corpus, "epoch": epoch, "measure": "plain_pairs"}
        rows.append({**state, "value": right, "text": None, "n": len(pairs)})
    for reply in answers["replies"].dropna(subset=["reply"]).to_dict("records"):
        here = {"corpus": reply["corpus"], "epoch": reply["epoch"], "measure": "reply"}
        rows.append({**here, "value": None, "text": reply["reply"], "n": 1})
    for passed in answers["losses"].to_dict("records"):
        here = {"corpus": passed["corpus"], "epoch": passed["epoch"], "measure": "loss"}
        rows.append({**here, "value": passed["loss"], "text": None, "n": passed["n"]})
    found = pd.DataFrame(rows, columns=["corpus", "epoch", "measure", "value", "text", "n"])
    return found.assign(model=model).sort_values(["corpus", "epoch"], kind="stable")
