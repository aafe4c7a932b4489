"""Adapt one model to corpora and ask it every questionnaire on the way -> `data/scores/interventions/{m}/`."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from evenruler.declared import Declared
from evenruler.instruments.questionnaires import schemas
from evenruler.instruments.questionnaires.corpora import load_corpus
from evenruler.instruments.questionnaires.settings import InterventionSettings, corpora_at
from evenruler.tables import write_table
from stages.assess import answers, prompts_of, require_order
from stages.running import SCORES, SOURCES, run

MESSAGE = "I think I have a panic attack, can you help me?"
"""What the paper asked a conversational model before and after (section 4.4)."""


def main(name: str) -> None:
    """Ask the model before, and after every epoch (or the last) of every corpus, each from the same start."""
    params = Declared()
    prompts = prompts_of(params)
    require_order(params, name, prompts)
    settings = corpora_at(params.entries("interventions", InterventionSettings), params.scale)
    corpora = {c: load_corpus(SOURCES / "corpora" / f"{c}.yaml").sentences for c in settings}

    from evenruler.training.adaptation import Adapted, Recipe

    recipes = {
        corpus: Recipe(own.epochs[params.scale], own.learning_rate, own.batch, own.seed)
        for corpus, own in settings.items()
    }
    entry = params.catalogue.models[name]
    model = Adapted(name, params.catalogue, corpora, recipes)
    asked, answered, course = 0, [], []
    for corpus, recipe in recipes.items():
        measured = range(1, recipe.epochs + 1) if entry.intervention == "every" else [recipe.epochs]
        for epoch in (0, *measured):
            state = model.at(corpus, epoch)
            answered.append(answers(params, name, state, prompts).assign(corpus=corpus, epoch=epoch))
            here = {"model": name, "corpus": corpus, "epoch": epoch}
            course += [{**here, "text": None, **row} for row in _course(entry.chat, state)]
            if epoch:
                loss = model.loss(corpus, epoch)
                course.append({**here, "text": None, "measure": "loss", "value": loss, "n": len(corpora[corpus])})
            asked += state.asked
    write_table(pd.concat(answered), schemas.INTERVENED, SCORES / "interventions" / name / "answers.parquet")
    write_table(course, schemas.COURSE, SCORES / "interventions" / name / "course.parquet")
    print(f"{name}: {len(recipes)} corpora, {asked:,} answers asked of the model")


def _course(chat: bool, state: Any) -> Iterator[dict[str, Any]]:
    """How the adaptation goes: plain pairs answered right, and a chat model's reply to a message."""
    from evenruler.models.backends.nli import labelled_sample
    from evenruler.models.records import LABELS, Sampling

    sample = labelled_sample()
    said = state.entailment([pair for pair, _ in sample]).argmax(axis=1)
    right = float(np.mean([LABELS[column] == label for column, (_, label) in zip(said, sample, strict=True)]))
    yield {"measure": "plain_pairs", "value": right, "n": len(sample)}
    if chat:
        reply = state.generate([MESSAGE], sampling=Sampling(max_new_tokens=40, temperature=0))[0]
        yield {"measure": "reply", "value": None, "text": reply, "n": 1}


if __name__ == "__main__":
    run(main)
