"""The contrast about hair on a model that never looks at its prompt, from answers to figures."""

from typing import Any

from evenruler.instruments.asking import collect_answers
from evenruler.instruments.framing.ask import requests, scores
from evenruler.instruments.framing.diagnose import figures
from evenruler.instruments.instrument import Record
from evenruler.measurement import Resampling
from tests.instruments.framing.answering import MadeUp, none
from tests.instruments.framing.hair import built, declaration, hair, subject

RESAMPLING = Resampling(level=0.9, resamples=80, seed=3)


def record(
    model: str = "m",
    name: str = "hair",
    answered: bool = True,
    generations: int = 1,
    mass: str = "words",
    first_token: int | None = None,
    **changes: Any,
) -> Record:
    """A contrast about hair, with changes of its source, on a model."""
    source = hair(**changes)
    tables, plan = built(declaration(source, choices="every", generations=generations, mass=mass))
    whom = subject(name=model)
    answers = none()
    if answered:
        answers = collect_answers(
            {name: (tables, plan)}, requests, whom, MadeUp(first_token=first_token)
        )
    diagnosis = figures(name, tables, plan, scores(tables, plan, answers, whom), whom, RESAMPLING)
    return Record(name, whom, tables, plan, diagnosis)
