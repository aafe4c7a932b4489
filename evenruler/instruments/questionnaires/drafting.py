"""Items that a causal model proposes for the questions of a scale, as YAML for a person to read.

The model goes on with a few items that we wrote, several times over. Every reply that reads as an item goes through
the linter; the one whose prompts are nearest to the question is taken, the others are listed with what is wrong.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import Field, ValidationError

from evenruler.errors import UserError
from evenruler.instruments.questionnaires.declare import source
from evenruler.models.declared import Catalogue
from evenruler.models.records import CausalModel, Embedder, Sampling
from evenruler.strict import Slug, Strict, Text, read_yaml, validate
from evenruler.text import fill, slug_of

REPLIES = 8
"""How often a model is asked for each item; every reply has a seed of its own, counted from 0."""

SAMPLING = Sampling(max_new_tokens=80, temperature=0.7, top_p=0.9)

FEWEST, MOST = 2, 4
"""Terms of each side of an item."""

LONGEST = 6
"""Words of a term: what is longer is a sentence."""

FIELDS = ("Premise", "Hypothesis", "Same", "Opposite")
"""The lines of an item, in the order in which a model writes them."""

EXAMPLES: list[dict[str, str]] = read_yaml(Path(__file__).with_name("drafting.yaml"))
"""Questions and the `FIELDS` of their items."""


class Questions(Strict):
    """The questions of a scale, as a user writes them."""

    title: Text
    stem: Text | None = None
    """What every item is introduced by."""
    items: dict[Slug, Text] = Field(min_length=1)
    """By item."""


@dataclass(frozen=True)
class Refused:
    """A reply that is no item."""

    seed: int
    said: str
    reason: str


@dataclass(frozen=True)
class Draft:
    """What a model proposed for one question."""

    question: str
    item: source.Item | None
    """The nearest that passes; None where nothing does."""
    nearness: float | None
    """Mean cosine between the question and its source prompts."""
    refused: Sequence[Refused]


def questions_of(path: Path, questionnaire: source.QuestionnaireSource | None = None) -> Questions:
    """The questions of a file, or of a questionnaire that is declared already; UserError where the file is wrong."""
    if questionnaire is None:
        return validate(Questions, read_yaml(path), path)
    items = {slug: item.original for slug, item in questionnaire.items.items()}
    return Questions(title=questionnaire.title, stem=questionnaire.original.stem, items=items)


def first_that_chats(in_use: Iterable[str], catalogue: Catalogue) -> str:
    """The first causal model in use that was tuned to answer people; UserError where there is none."""
    for name in in_use:
        if name in catalogue.models and catalogue.models[name].chat and catalogue.can(name, "loglikelihood"):
            return name
    what = "no model in use has `chat: true`"
    raise UserError(what, where="params.yaml: active.ask", remedy="name a causal one with --model")


def draft(writer: CausalModel, embedder: Embedder, questions: Questions, scale: source.Scale) -> dict[str, Draft]:
    """Ask a model for `REPLIES` items a question, and keep by question the nearest that passes the linter.

    What the model said once is not asked again.
    """
    asked = [question for question in questions.items.values() for _ in range(REPLIES)]
    replies = writer.generate(
        [prompt(question) for question in asked],
        sampling=SAMPLING,
        seeds=[*range(REPLIES)] * len(questions.items),
        chat=False,  # small models go on with a list, and do not know what to say of one
    )
    return {
        slug: _draft(question, replies[place * REPLIES : (place + 1) * REPLIES], embedder, questions.stem, scale)
        for place, (slug, question) in enumerate(questions.items.items())
    }


def _draft(question: str, replies: Sequence[str], embedder: Embedder, stem: str | None, scale: source.Scale) -> Draft:
    passed: list[source.Item] = []
    refused: list[Refused] = []
    for seed, reply in enumerate(replies):
        try:
            item = read(reply, question, scale)
        except ValueError as error:
            refused.append(Refused(seed, " | ".join(reply.split("\n\n")[0].split("\n")), str(error)))
        else:
            passed += [] if item in passed else [item]
    whole = f"{stem} {question}" if stem else question
    found = sorted(((_nearness(embedder, whole, item, scale), -n, item) for n, item in enumerate(passed)), reverse=True)
    return Draft(question, found[0][2], found[0][0], refused) if found else Draft(question, None, None, refused)


def prompt(question: str) -> str:
    """The text that a model goes on with: questions with their items, and the question without one."""
    shown = ["\n".join(f"{field}: {said}" for field, said in own.items()) for own in EXAMPLES]
    return "\n\n".join([*shown, f"Question: {question}\n{FIELDS[0]}:"])


def read(reply: str, question: str, scale: source.Scale) -> source.Item:
    """The item that a reply proposes; ValueError, in words, where it is none or the linter refuses it."""
    lines = f"{FIELDS[0]}:{reply}".split("\n\n")[0].split("\n")
    said = {name.strip(): text.strip() for name, colon, text in (line.partition(":") for line in lines) if colon}
    if lacking := [field for field in FIELDS if not said.get(field)]:
        raise ValueError(f"no line {lacking[0]!r}")
    premise, hypothesis, same, opposite = (said[field] for field in FIELDS)
    if (premise, hypothesis) in [(own["Premise"], own["Hypothesis"]) for own in EXAMPLES]:
        raise ValueError("repeats an example")
    terms = {"source": _terms(same), "inverse": _terms(opposite)}
    for side, words in terms.items():
        if len(words) < FEWEST:
            raise ValueError(f"fewer than {FEWEST} {side} terms")
    try:
        item = source.Item.model_validate(
            {"original": question, "premise": premise, "hypothesis": hypothesis, "terms": terms}
        )
    except ValidationError as error:
        raise ValueError(error.errors()[0]["msg"].removeprefix("Value error, ")) from None
    if word := source.own_intensifier(item, scale):
        raise ValueError(f"the intensifier {word!r} stands in a template")
    return item


def _terms(text: str) -> dict[str, str]:
    """The entries of a list in a reply, each once, those that are words."""
    entries = (entry.strip(" \"'.").lower() for entry in text.split(","))
    named = {slug_of(entry): entry for entry in entries if entry and len(entry.split()) <= LONGEST}
    return dict([(slug, word) for slug, word in named.items() if re.fullmatch(r"[^\W\d_][\w' -]*", word)][:MOST])


def _nearness(embedder: Embedder, question: str, item: source.Item, scale: source.Scale) -> float:
    """Mean cosine between a question and the source prompts of an item (SS)."""
    fillings = [
        {source.TERM: term, source.INTENSIFIER: how}
        for term in item.terms.source.values()
        for level in scale.levels
        for how in level.words.values()
    ]
    texts = [" ".join(fill(text, own, source.VARIANT) for text in item.templates.values()) for own in fillings]
    vectors = np.asarray(embedder.embed([question, *texts]), dtype=np.float64)
    return float((vectors[1:] @ vectors[0]).mean())


def as_yaml(drafts: Mapping[str, Draft], model: str) -> str:
    """Drafts as YAML: `items` of a questionnaire, under a key that no questionnaire may have."""
    passed = sum(found.item is not None for found in drafts.values())
    head = [
        f"# Proposed by {model}, a language model; nobody has read it.",
        f"# {passed} of {len(drafts)} questions have one of {REPLIES} replies that passes the linter.",
        "# That does not make it a good item: read and mend every word, say `subscale` and `keying` where needed, and",
        "# only then put `items` into a questionnaire (`evenruler new questionnaires NAME`), which refuses `unread`.",
        "unread: true",
        "items:" if passed else "items: {}",
    ]
    return "\n".join([*head, *(line for slug, found in drafts.items() for line in _lines(slug, found))]) + "\n"


def _lines(slug: str, found: Draft) -> Iterator[str]:
    if found.item is None:
        yield f"  # {slug}: nothing that was proposed passes; {_scalar(found.question)}"
    else:
        item = found.item
        yield f"  {_scalar(slug)}: # SS {found.nearness:.2f}"
        for key, text in (("original", item.original), ("premise", item.premise), ("hypothesis", item.hypothesis)):
            yield f"    {key}: {_scalar(text)}"
        yield "    terms:"
        for side, words in item.terms.by_polarity.items():
            yield f"      {side}: [{', '.join(map(_scalar, words.values()))}]"
    for reply in found.refused:
        yield f"    # refused, seed {reply.seed}: {reply.reason}: {_scalar(reply.said)}"


def _scalar(text: Any) -> str:
    """A text as YAML reads it back, on one line."""
    return json.dumps(text, ensure_ascii=False)
