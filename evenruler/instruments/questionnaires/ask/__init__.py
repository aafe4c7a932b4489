"""Requests to models and tools for questionnaires, and the scores computed from their answers."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pandas as pd

from evenruler.instruments.instrument import (
    AskingMethod,
    AskingMethods,
    ColumnsByTable,
    ModelMeta,
    PlanKeys,
    RequestBatch,
    SchemasByTable,
    State,
    Tables,
    all_rows,
    split_names,
)
from evenruler.instruments.methods.letters import LETTER_MASS
from evenruler.instruments.questionnaires import schemas
from evenruler.instruments.questionnaires.ask import options, questions
from evenruler.instruments.questionnaires.ask.item_scores import (
    embedding_request,
    judge_request,
    scores,
)
from evenruler.instruments.questionnaires.ask.questions import (
    ENTAIL,
    asked_methods,
    without_token_counts,
)
from evenruler.instruments.questionnaires.declare.plan import QuestionnairePlan
from evenruler.models.declarations import BY_FACTS, LIKELIHOODS, OPTIONS, SENTENCE, VERBALISER
from evenruler.tables.frames import limit_tables

__all__ = [
    "ANSWERS",
    "METHODS",
    "OPTIONAL_TABLES",
    "PLANNED",
    "READS",
    "keep_headline_rows",
    "limited",
    "requests",
    "scores",
]

READS: ColumnsByTable = {
    "items": split_names("id premise hypothesis original item twin subscale keying"),
    "prompts": split_names(
        "id premise hypothesis questionnaire item twin term polarity intensifier level weight "
        "variant"
    ),
    "subjects": split_names(
        "id premise hypothesis questionnaire item sentence subject form wording control "
        "keying term polarity intensifier word level weight begin"
    ),
    "terms": split_names("item twin word term"),
}

OPTIONAL_TABLES: frozenset[str] = frozenset()

PLANNED: PlanKeys = split_names(
    "accuracy bound corpora embedder judge least orders placebos prefixed refused "
    "subjects temperature three_way tools"
)

keep_headline_rows = all_rows

METHODS: AskingMethods = {
    ENTAIL: AskingMethod(("entail", "in_place")),
    OPTIONS: AskingMethod(("generate",), chat=True),
}

ANSWERS: SchemasByTable = {
    "entailment": schemas.ENTAILMENT,
    "likelihoods": schemas.LIKELIHOODS,
    "labelled_pairs": schemas.LABELLED_PAIRS,
    "known_answers": schemas.KNOWN_ANSWERS,
    options.REPLIES: schemas.OPTIONS,
    LETTER_MASS: schemas.LETTERS,
    "pairs": schemas.PAIRS,
    "replies": schemas.REPLIES,
    "losses": schemas.LOSSES,
    "embeddings": schemas.EMBEDDINGS,
    "slor": schemas.SLOR,
    "acceptability": schemas.ACCEPTABILITY,
}


def requests(
    tables: Tables, plan: QuestionnairePlan, answers: Tables, subject: ModelMeta
) -> list[RequestBatch]:
    """The requests to send next: all that the model can do whose table of answers is missing.

    A model is asked every prompt by all its methods, and items also after prefixes by the method
    `verbaliser`; then again after every measured epoch of every fit to every corpus, in this order,
    so that nothing is trained twice.
    """
    wanted = _all_requests(tables, plan, subject)
    return [request for request in wanted if request.table not in answers and len(request.rows)]


def _all_requests(
    tables: Tables, plan: QuestionnairePlan, subject: ModelMeta
) -> Iterator[RequestBatch]:
    """All requests that the model can answer, in order of asking, also empty and answered ones."""
    item_tables, twins = questions.split_by_placebo(tables)
    yield from questions.labelled_requests(plan, subject)
    yield from questions.known_requests(plan, subject)
    yield from _prompt_requests(item_tables, subject)
    yield from _prompt_requests(twins, subject)
    of_subjects = questions.subject_rows(tables, plan)
    locate_words = partial(questions.locate_written_words, of_subjects)
    yield from _method_requests(of_subjects, locate_words, subject)
    if OPTIONS in asked_methods(subject):
        yield from options.requests(tables, plan, subject)
    if VERBALISER in asked_methods(subject) and subject.can("entail"):
        after = questions.prefixed_rows(item_tables["prompts"], plan)
        yield _entailment_request(after, VERBALISER, None, before=after["before"].tolist())
    for state in questions.adaptation_states(plan, subject):
        if state.epoch:  # at epoch 0 the answers are those of the unadapted model
            yield from _prompt_requests(
                questions.adaptation_items(item_tables, plan), subject, state
            )
        yield from questions.course_requests(state, plan, subject)
    yield embedding_request(item_tables, plan)
    if plan["judge"] is not None:
        yield judge_request(tables, plan)


def _prompt_requests(
    tables: Tables, subject: ModelMeta, state: State | None = None
) -> Iterator[RequestBatch]:
    """Requests for prompts of items or of twins, by every method but options; `state`: of the
    adapted model that is asked, None for the model as it is.
    """
    locate_words = partial(questions.locate_intensifiers, tables)
    return _method_requests(tables["prompts"], locate_words, subject, state)


def _method_requests(
    sentences: pd.DataFrame,
    locate_words: Callable[[], dict[str, list[str]]],
    subject: ModelMeta,
    state: State | None = None,
) -> Iterator[RequestBatch]:
    """The sentences by every method but options; `locate_words`: the intensifier in each of
    them.
    """
    for method in asked_methods(subject):
        rows = _request_rows(sentences, method, state)
        if method == SENTENCE and subject.can("loglikelihood"):
            inputs = {"text": questions.join_sides(sentences)}
            yield RequestBatch(
                "likelihoods", "loglikelihood", rows, inputs, {"every": True}, state=state
            )
        elif method in LIKELIHOODS and subject.can("in_place"):
            yield RequestBatch(
                "likelihoods",
                "in_place",
                without_token_counts(rows),
                locate_words(),
                state=state,
            )
        if method not in BY_FACTS and subject.can("entail"):
            yield _entailment_request(sentences, method, state)


def _entailment_request(
    prompts: pd.DataFrame, method: str, state: State | None, **more: list[str]
) -> RequestBatch:
    """The request for the entailment logits of each premise and hypothesis; `more`: further inputs
    by name, such as the prefix `before` each.
    """
    sides = {"premise": prompts["premise"].tolist(), "hypothesis": prompts["hypothesis"].tolist()}
    rows = _request_rows(prompts, method, state)
    return RequestBatch(
        "entailment", "entail", rows, {**sides, **more}, {"every": True}, state=state
    )


def _request_rows(prompts: pd.DataFrame, method: str, state: State | None) -> pd.DataFrame:
    """What identifies each answer: id of the prompt, method, and corpus, fit and epoch of the
    adaptation ("", 0 and 0 without one).
    """
    stage = (state.corpus, state.fit, state.epoch) if state else ("", 0, 0)
    stage_columns: dict[str, Any] = dict(zip(questions.STAGE, stage, strict=True))
    return prompts[["id"]].assign(method=method, **stage_columns)


def limited(tables: Tables, plan: QuestionnairePlan, n: int) -> tuple[Tables, QuestionnairePlan]:
    """The tables of n items and their twins, evenly spread over the items' names."""
    return limit_tables(tables, ("items", "prompts", "subjects", "terms"), "item", n), plan
