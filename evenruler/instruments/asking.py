"""Ask one model, and the tools that plans name, everything that the instruments of a family
request.

Inputs, settings and answer columns of a request, by operation; for each of n rows:

| operation | inputs | settings | answers |
| --- | --- | --- | --- |
| `loglikelihood` | `text`, opt. `before`, `key` | opt. `between`, `other_start`, `every` | `nats
tokens rule replied` |
| `words` | `prompt`, `surface_form` | `chat` | `nats`, `ends`, `alone`, `first_nats`, `first_token`
|
| `next_words` | `prompt` | `words`, a list | `nats` of each word, a list; NaN where not one token |
| `generate` | `prompt`, opt. `seed`, `system` | `new_tokens`, opt. `chat`, `temperature` | `reply
reason finish` |
| `entail` | `premise`, `hypothesis`, opt. `before` | opt. `every` | `entailment`, `neutral`,
`contradiction` |
| `in_place` | `before`, `word`, `after` | | `nats` per token |
| `pll` | `text`, opt. `before`, `key` | opt. `between` | `nats tokens rule replied` |
| `slor` | `text` | | `slor` |
| `classify` | `text` | optional `whole` | `labels`, and `logits` or (`whole`) `probabilities`,
lists |
| `embed` | `text` | | `vector`, a list |
| `adaptation_progress` | | | `loss` of held-out sentences in the state, nats per token;
`weights_moved`, the share of weights that moved; `weights_norm` of their change |
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from evenruler.instruments.instrument import (
    INSTRUMENT,
    SUBJECT,
    ModelMeta,
    Plan,
    RequestBatch,
    State,
    Tables,
)
from evenruler.models.declarations import OPERATIONS, SHA256, Catalogue
from evenruler.strict import validate
from evenruler.tables.ids import canonical_json
from evenruler.terminal import print_note

if TYPE_CHECKING:  # these libraries take seconds to import
    from evenruler.instruments.family import AskModule
    from evenruler.models.model import Model
    from evenruler.training.adaptation import AdaptationSchedule

TablesAndPlans = Mapping[str, tuple[Tables, Plan]]
"""Published tables and plan of each instrument of a family, by instrument name."""

OperationInputs = Mapping[str, list[Any]]
Columns = dict[str, Any]
RequestFunction = Callable[[Tables, Plan, Tables, ModelMeta], Sequence[RequestBatch]]
"""The function `requests` of a family."""
_AskFunction = Callable[["Model", OperationInputs, Mapping[str, Any]], Columns]
"""Asks a model for one operation: inputs and settings -> columns of answers."""

CALLED: Mapping[str, str] = {
    "loglikelihood": "likelihoods",
    "words": "next-word probabilities",
    "next_words": "lists of next-word probabilities",
    "generate": "replies",
    "entail": "entailment judgements",
    "in_place": "probabilities of words in context",
    "pll": "pseudo-likelihoods",
}

APART = ("generate", "slor")
"""Operations whose answers depend on the other inputs of the call, so each instrument asks them
separately and gets the same answers when measured alone: batching changes the last bits of logits,
which may change a sampled word, and SLOR's unigrams are counted over all texts of the call."""


def model_meta_of(name: str, catalogue: Catalogue) -> ModelMeta:
    """Describe a model of the catalogue as a subject without loading it; UserError if its head was
    never fitted.
    """
    entry, kind, recipe = catalogue.entry(name), catalogue.kind(name), None
    if entry.kind == "encoder":
        from evenruler.models.loading import read_adapter  # only encoders have one

        recipe = read_adapter(name).recipe
    lineage = catalogue.lineage(name)
    origin = catalogue.origins([name])[name]
    return ModelMeta(
        name=name,
        kind=kind,
        lineage=lineage,
        operations=catalogue.list_operations(name),
        chats=entry.chats,
        continues=entry.continues,
        methods=tuple(entry.answering_methods),
        origin=origin,
        adapted=entry.intervention,
        recipe=recipe,
    )


def unanswerable_tables(
    door: "AskModule[Plan]", tables_and_plans: TablesAndPlans, subject: ModelMeta
) -> list[str]:
    """What instruments would ask but the model cannot answer: one line per answer table and
    operation.
    """
    # Keeps the subject's method, if it is asked by only one.
    able = replace(subject, operations=frozenset(OPERATIONS))
    lacking: set[tuple[str, str]] = set()
    for tables, plan in tables_and_plans.values():
        for request in door.requests(tables, plan, {}, able):
            is_of_model = request.by == SUBJECT and request.state is None
            if is_of_model and request.operation not in subject.operations:
                lacking.add((request.table, request.operation))
    return [
        f"{subject.name} (kind {subject.kind}) is left out of {table}: it gives no "
        f"{CALLED.get(operation, operation)}"
        for table, operation in sorted(lacking)
    ]


def tool_loader(
    plans: Iterable[Plan], where: Path, *, device: str | None = None, published: bool = False
) -> Callable[[str], "Model"]:
    """Cached loader of plans' tools by name; UserError if an entry is invalid. `published`: plans
    are of published benchmarks, whose tools no params.yaml declares.
    """
    models: dict[str, Any] = {}
    training: dict[str, Any] = {}
    for plan in plans:
        models.update(plan["tools"].get("models", {}))
        training.update(plan["tools"].get("training", {}))
    if published:
        model_entries = {name: entry for name, entry in models.items() if isinstance(entry, dict)}
        entries_with_hash = {
            name: entry
            for name, entry in model_entries.items()
            if str(entry.get("source")) in SHA256
        }
        models |= {
            name: {"sha256": SHA256[entry["source"]], **entry}
            for name, entry in entries_with_hash.items()
        }
    catalogue = validate(Catalogue, {"models": models, "training": training}, where)

    @cache
    def load_tool(name: str) -> "Model":
        """Load a tool by name, once; UserError if its entry is invalid."""
        from evenruler.models.catalogue import load_model

        return load_model(
            name,
            catalogue,
            device=device,
            where=f"{where}: tools.models.{name}" if published else None,
        )

    return load_tool


class AnsweringModels:
    """The models that answer: the subject, as it is or adapted to corpora, and the tools."""

    def __init__(
        self,
        subject: "Model",
        tool: Callable[[str], "Model"],
        adapted: Callable[[State], "AdaptationSchedule"] | None = None,
    ) -> None:
        """Set the models; none is loaded. `adapted` is None if the subject is never adapted."""
        self._subject, self._tool, self._adapted = subject, tool, adapted
        self._used: dict[int, Model] = {}
        self.tools: dict[str, Model] = {}
        """The tools that answered, by name."""

    @property
    def n_computed(self) -> int:
        """Number of answers computed by models because the store lacked them."""
        return sum(model.asked for model in self._used.values())

    def answer(self, request: RequestBatch, inputs: OperationInputs, n: int) -> Columns:
        """The answer columns for a request with n rows of inputs."""
        state = request.state
        if request.by != SUBJECT:
            model = self.tools[request.by] = self._tool(request.by)
        elif state is None:
            model = self._subject
        else:
            assert self._adapted is not None
            way, stage = self._adapted(state), (state.corpus, state.fit, state.epoch)
            if request.operation == "adaptation_progress":
                reached = asdict(way.progress(*stage))
                return {name: [number] * n for name, number in reached.items()}
            model = way.model_at(*stage)
        self._used[id(model)] = model
        return _ASKED[request.operation](model, inputs, request.settings)


def collect_answers(
    instruments: TablesAndPlans,
    requests: RequestFunction,
    subject: ModelMeta,
    answering: AnsweringModels,
    *,
    of_model_alone: bool = False,
) -> dict[str, pd.DataFrame]:
    """Ask what the instruments of a family request, until they request nothing more.

    Identical kinds of requests of several instruments are batched, except those in `APART`.
    `of_model_alone` skips requests about the instrument itself. Returns, by answer table, the
    request rows with their answers, preceded by a column `instrument`.
    """
    answers: dict[str, dict[str, pd.DataFrame]] = {name: {} for name in instruments}
    while wanted := _next_requests(instruments, requests, subject, answers, of_model_alone):
        for alike in _batchable_groups(wanted):
            _answer_batch([wanted[place] for place in alike], answering, answers)
    frames_by_table: dict[str, list[pd.DataFrame]] = {}
    for name, tables in answers.items():
        for table, rows in tables.items():
            frames_by_table.setdefault(table, []).append(
                rows.assign(**{INSTRUMENT: name})[[INSTRUMENT, *rows.columns]]
            )
    return {
        table: pd.concat(frames, ignore_index=True) for table, frames in frames_by_table.items()
    }


def collect_answers_listed(
    instruments: TablesAndPlans,
    requests: RequestFunction,
    subject: ModelMeta,
    answering: AnsweringModels,
) -> tuple[ModelMeta, dict[str, pd.DataFrame]]:
    """The answers of `collect_answers`, and the subject as it was asked.

    A model whose server lists too few next tokens is asked as one that gives no next-word
    probabilities: what needs them is left out, or asked otherwise, and all else is asked. What was
    answered until then is stored.
    """
    from evenruler.models.backends.word_ends import UnlistedWordsError  # few are served

    try:
        return subject, collect_answers(instruments, requests, subject, answering)
    except UnlistedWordsError as error:
        print_note(f"{error}: it is asked without {CALLED['words']}")
    without_words = replace(subject, operations=subject.operations - {"words"})
    return without_words, collect_answers(instruments, requests, without_words, answering)


def _next_requests(
    instruments: TablesAndPlans,
    requests: RequestFunction,
    subject: ModelMeta,
    answers: Mapping[str, Tables],
    of_model: bool = False,
) -> list[tuple[str, RequestBatch]]:
    """The next requests of all instruments, each with the instrument's name."""
    wanted: list[tuple[str, RequestBatch]] = []
    for name, (tables, plan) in instruments.items():
        for request in requests(tables, plan, answers[name], subject):
            if not (of_model and request.of_instrument):
                wanted.append((name, request))
    return wanted


def _answer_batch(
    alike: Sequence[tuple[str, RequestBatch]],
    answering: AnsweringModels,
    answers: Mapping[str, dict[str, pd.DataFrame]],
) -> None:
    """Answer a batch of alike requests and append the answers to each instrument's tables."""
    requested = [request for _, request in alike]
    n = sum(len(request.rows) for request in requested)
    inputs: dict[str, list[Any]] = {input_name: [] for input_name in requested[0].inputs}
    for input_name, values in inputs.items():
        for batch in requested:
            values.extend(batch.inputs[input_name])
    columns = answering.answer(requested[0], inputs, n)
    begin = 0
    for name, request in alike:
        end = begin + len(request.rows)
        answer_columns = {column: cells[begin:end] for column, cells in columns.items()}
        rows = request.rows.reset_index(drop=True).assign(**answer_columns)
        before = answers[name].get(request.table)
        answers[name][request.table] = (
            rows if before is None else pd.concat([before, rows], ignore_index=True)
        )
        begin = end


def _batchable_groups(wanted: Sequence[tuple[str, RequestBatch]]) -> list[list[int]]:
    """Indices of requests that are batched together, groups in order of first occurrence."""
    groups: dict[Any, list[int]] = {}
    for place, (name, request) in enumerate(wanted):
        apart = name if request.operation in APART else ""
        settings = dict(request.settings)
        group_key = canonical_json(
            [request.operation, request.by, settings, sorted(request.inputs), apart, request.part]
        )
        groups.setdefault((group_key, request.state), []).append(place)
    return list(groups.values())


def _generate_replies(
    model: "Model", inputs: OperationInputs, settings: Mapping[str, Any]
) -> Columns:
    """Columns `reply`, `reason` (why there is none) and `finish`, for each prompt; sampled as the
    model's entry says, unless settings give a temperature.
    """
    from evenruler.models.questions import Sampling

    sampling = model.sampling(settings["new_tokens"])
    if "temperature" in settings:
        sampling = Sampling(
            max_new_tokens=settings["new_tokens"], temperature=settings["temperature"]
        )
    replies = model.replies(
        inputs["prompt"],
        sampling=sampling,
        seeds=inputs.get("seed"),
        system=inputs.get("system"),
        chat=settings.get("chat"),
    )
    reply_rows = [(reply.text, reply.reason, reply.finish) for reply in replies]
    columns = zip(*reply_rows, strict=True) if reply_rows else ([], [], [])
    return {
        name: pd.array(column, dtype="str")
        for name, column in zip(("reply", "reason", "finish"), columns, strict=True)
    }


def _score_entailment(
    model: "Model", inputs: OperationInputs, settings: Mapping[str, Any]
) -> Columns:
    """A column of each of `LABELS` (entailment, neutral, contradiction), for each premise and
    hypothesis: logits, or nats of a model that is no classifier.
    """
    from evenruler.models.questions import LABELS

    pairs = list(zip(inputs["premise"], inputs["hypothesis"], strict=True))
    logits = model.entailment(pairs, inputs.get("before"), every=settings.get("every", False))
    return dict(zip(LABELS, logits.T, strict=True))


def _score_words_in_place(
    model: "Model", inputs: OperationInputs, settings: Mapping[str, Any]
) -> Columns:
    """The column `nats`: pseudo-log-likelihood per token of each word between its `before` and
    `after`.
    """
    from evenruler.models.questions import WordInPlace

    return {
        "nats": model.in_place(
            list(map(WordInPlace, inputs["before"], inputs["word"], inputs["after"]))
        )
    }


def _classify_texts(
    model: "Model", inputs: OperationInputs, settings: Mapping[str, Any]
) -> Columns:
    """The column `labels`, and for each text `logits`, or `probabilities` where settings ask for
    the `whole` text.
    """
    texts, whole = inputs["text"], settings.get("whole", False)
    values = model.probabilities(texts) if whole else model.classify(texts)
    return {
        "labels": [model.labels] * len(texts),
        "probabilities" if whole else "logits": list(values),
    }


def _likelihood_options(inputs: OperationInputs, settings: Mapping[str, Any]) -> dict[str, Any]:
    """The optional arguments of a likelihood request, if given."""
    arguments = {name: settings[name] for name in ("between", "other_start") if name in settings}
    return arguments | ({"keys": inputs["key"]} if "key" in inputs else {})


def _score_loglikelihoods(
    model: "Model", inputs: OperationInputs, settings: Mapping[str, Any]
) -> Columns:
    """Columns `nats` and `tokens` of each text after its `before`; of texts with a key, also the
    recorded reply (`replied`) and the rule that read it.

    UserError where one text cannot be scored, if `every` text is needed.
    """
    likelihoods = model.loglikelihood(
        inputs["text"], inputs.get("before"), **_likelihood_options(inputs, settings)
    )
    if settings.get("every"):
        likelihoods.require_all(model.name, inputs["text"])
    return _likelihood_columns(asdict(likelihoods), inputs)


def _likelihood_columns(answers: Columns, inputs: OperationInputs) -> Columns:
    """Columns `nats` and `tokens`; of texts with a key, which can have recorded replies, also
    `replied` and `rule`, null where there is none.
    """
    if "key" not in inputs:
        return {name: answers[name] for name in ("nats", "tokens")}
    nothing = [None] * len(inputs["text"])
    for name in ("rule", "replied"):
        answers[name] = pd.array(answers.get(name, nothing), dtype="str")
    return answers


def _score_pll(model: "Model", inputs: OperationInputs, settings: Mapping[str, Any]) -> Columns:
    """Columns as of likelihoods: pseudo-log-likelihood of each text after its `before`, of a masked
    model.
    """
    likelihoods = model.pll(
        inputs["text"], inputs.get("before"), **_likelihood_options(inputs, settings)
    )
    return _likelihood_columns(asdict(likelihoods), inputs)


def _score_words(model: "Model", inputs: OperationInputs, settings: Mapping[str, Any]) -> Columns:
    """The likelihood of each surface form as the whole next word after its prompt, a column for
    each field of `WordLikelihoods`.
    """
    likelihoods = model.whole_words(inputs["prompt"], inputs["surface_form"], chat=settings["chat"])
    return asdict(likelihoods)


def _score_next_words(
    model: "Model", inputs: OperationInputs, settings: Mapping[str, Any]
) -> Columns:
    """The column `nats`: for each prompt, [words] log-probabilities of the next word, for the words
    in the settings.
    """
    return {"nats": list(model.next_words(inputs["prompt"], settings["words"]))}


def _score_slor(model: "Model", inputs: OperationInputs, settings: Mapping[str, Any]) -> Columns:
    """The column `slor`: acceptability of each text, its log-likelihood less that of its words
    alone, in nats per token.
    """
    return {"slor": model.slor(inputs["text"])}


def _embed_texts(model: "Model", inputs: OperationInputs, settings: Mapping[str, Any]) -> Columns:
    """The column `vector`: [dimensions] embedding of each text, length 1; empty without texts."""
    texts = inputs["text"]
    return {"vector": list(model.embed(texts)) if texts else []}


_TEXT_SCORES: Mapping[str, _AskFunction] = {
    "loglikelihood": _score_loglikelihoods,
    "pll": _score_pll,
    "slor": _score_slor,
}
_ASKED: Mapping[str, _AskFunction] = {
    **_TEXT_SCORES,
    "words": _score_words,
    "next_words": _score_next_words,
    "generate": _generate_replies,
    "entail": _score_entailment,
    "in_place": _score_words_in_place,
    "classify": _classify_texts,
    "embed": _embed_texts,
}
assert set(_ASKED) == set(OPERATIONS)
