"""The questions to a chat: each statement with its options, in both orders; and the answers in
points of the scale.
"""

import numpy as np
import pandas as pd

from evenruler.instruments.instrument import (
    AskingMethod,
    AskingMethods,
    ColumnsByTable,
    ModelMeta,
    PlanKeys,
    RequestBatch,
    SchemasByTable,
    Tables,
    all_rows,
    split_names,
)
from evenruler.instruments.likert import schemas
from evenruler.instruments.likert.declare import LikertPlan
from evenruler.instruments.methods import choice
from evenruler.instruments.methods.letters import LETTER_MASS, request_letters, share_letters
from evenruler.tables.frames import limit_tables
from evenruler.tables.schemas import BARE
from evenruler.text.replies import LETTERS

READS: ColumnsByTable = {
    "statements": split_names("id item text before subscale about persona key negated")
}

OPTIONAL_TABLES: frozenset[str] = frozenset()

PLANNED: PlanKeys = split_names("labels lowest question instruction stem samples groups personas")

keep_headline_rows = all_rows

MASS, SAMPLED = "mass", "sampled"

METHODS: AskingMethods = {
    MASS: AskingMethod(("words",), chat=True),
    SAMPLED: AskingMethod(("generate",), chat=True, instead=True),
}
"""`mass`: the probabilities of letters, where the model gives them; else replies."""

ANSWERS: SchemasByTable = {choice.TABLE: choice.ANSWERS, LETTER_MASS: schemas.LETTERS}

NEW_TOKENS = 64
"""So long a reply may be: some chats think aloud before they name an option."""

ORDERS = 2


def list_questions(tables: Tables, plan: LikertPlan, samples: int) -> pd.DataFrame:
    """Each statement in both orders of its options, so many samples each.

    Returns:
        `id framing turn order prompt options` and the columns of statements; `order` is 1 where
            the highest option stands first; `options`: points as text, and labels, as they are
            shown.
    """
    labels = list(enumerate(plan["labels"], start=plan["lowest"]))
    options = tuple((str(points), label) for points, label in labels)
    shown = (options, options[::-1])
    statements = tables["statements"].drop(columns="framing", errors="ignore")
    turns: list[pd.DataFrame] = []
    for turn in range(ORDERS * samples):
        order = turn % ORDERS
        prompts = [
            _ask_statement(before, text, shown[order], plan)
            for before, text in zip(statements["before"], statements["text"], strict=True)
        ]
        repeated = pd.Series([shown[order]] * len(statements), index=statements.index)
        turns.append(
            statements.assign(
                framing=BARE, turn=turn, order=order, prompt=prompts, options=repeated
            )
        )
    return pd.concat(turns, ignore_index=True)


def _ask_statement(before: str, text: str, options: choice.Options, plan: LikertPlan) -> str:
    """A statement as people read it: whom it is put to, the question, the item, its options."""
    item = " ".join(filter(None, (plan["stem"], text)))
    labels = [label for _, label in options]
    lettered = zip(LETTERS, labels, strict=False)
    lines = "\n".join(f"{letter}. {label}" for letter, label in lettered)
    parts = (before, plan["question"], item, lines, plan["instruction"])
    return "\n\n".join(filter(None, parts))


def asks_letters(subject: ModelMeta) -> bool:
    """Whether a model gives the probabilities of letters, and is asked for them."""
    return subject.can("words") and subject.uses_method(MASS)


def requests(
    tables: Tables, plan: LikertPlan, answers: Tables, subject: ModelMeta
) -> list[RequestBatch]:
    """All questions at once, unless they are answered."""
    is_answered = choice.TABLE in answers or LETTER_MASS in answers
    if is_answered or not subject.chats:
        return []
    if asks_letters(subject):
        questions = list_questions(tables, plan, samples=1)
        n_options = [len(plan["labels"])] * len(questions)
        return [request_letters(questions, n_options, ["id", "turn"])]
    if subject.can("generate"):
        questions = list_questions(tables, plan, plan["samples"])
        return [choice.request_prompts(questions, NEW_TOKENS)]
    return []


def scores(tables: Tables, plan: LikertPlan, answers: Tables, subject: ModelMeta) -> Tables:
    """The answer to each question (`responses`): `points` of the scale, NaN where no option is
    named, with the rule that read a reply, or the `mass` of letters.
    """
    letters, replies = answers[LETTER_MASS], answers[choice.TABLE]
    if not len(letters) and not len(replies):
        responses = pd.DataFrame()
    elif len(letters):
        responses = _expected_points(list_questions(tables, plan, samples=1), letters)
    else:
        responses = _read_replies(list_questions(tables, plan, plan["samples"]), replies)
    columns = split_names(
        "id turn order item subscale about persona key negated points rule reply reason mass"
    )
    return {"responses": responses.reindex(columns=columns)}


def _expected_points(questions: pd.DataFrame, letters: pd.DataFrame) -> pd.DataFrame:
    """The questions with the mean of `points` over the probabilities of their letters."""
    rows = questions.merge(share_letters(letters, ["id", "turn"]), on=["id", "turn"])
    expected: list[float] = []
    for options, shares in zip(rows["options"], rows["shares"], strict=True):
        points = [float(name) for name, _ in options]
        expected.append(float(np.dot(points, shares)))
    return rows.assign(points=expected, rule="mass", reply=None, reason=None)


def _read_replies(questions: pd.DataFrame, replies: pd.DataFrame) -> pd.DataFrame:
    """The questions with the `points` of the option that a reply names."""
    keys = ["id", "framing", "turn"]
    read = choice.parse_options(replies, questions)
    points = pd.to_numeric(read["said"], errors="coerce")
    columns = questions.drop(columns=["prompt", "options"])
    rows = read.assign(points=points).merge(columns, on=keys, validate="1:1")
    return rows.assign(mass=np.nan)


def limited(tables: Tables, plan: LikertPlan, n: int) -> tuple[Tables, LikertPlan]:
    """Tables cut down to n items, evenly spread."""
    return limit_tables(tables, ("statements",), "item", n), plan
