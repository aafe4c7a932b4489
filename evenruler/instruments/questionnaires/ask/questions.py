"""Requests: prompts of items or twins, also after prefixes, likelihoods, labelled pairs, adapted
states.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import pandas as pd

from evenruler.instruments import prefixes
from evenruler.instruments.instrument import (
    Adaptation,
    ModelMeta,
    Plan,
    RequestBatch,
    State,
    Tables,
)
from evenruler.instruments.questionnaires.declare.plan import QuestionnairePlan
from evenruler.instruments.questionnaires.declare.sentences import N_OF_I
from evenruler.instruments.questionnaires.declare.shared import MNLI, lines_of
from evenruler.instruments.questionnaires.declare.source import INTENSIFIER, TERM, prompt_id
from evenruler.models.declarations import BY_FACTS, LIKELIHOODS, OPTIONS, SENTENCE
from evenruler.tables import evenly_spread
from evenruler.text import locate_slot_word

LOGITS = ["entailment", "neutral", "contradiction"]
"""Names of a model's three logits for a pair."""

ENTAIL = "entail"
"""The group of all methods but `options`: entailment or likelihoods."""

OF_BOTH = ("items", "terms", "prompts")
"""The published tables that hold items and twins."""


def asked_methods(subject: ModelMeta) -> list[str]:
    """The methods by which the model is asked: `options` or the others, if only one was wanted."""
    methods: list[str] = []
    for method in subject.methods:
        group = OPTIONS if method == OPTIONS else ENTAIL
        if subject.uses_method(group):
            methods.append(method)
    return methods


def split_by_placebo(tables: Tables) -> tuple[Tables, Tables]:
    """Split `items`, `terms` and `prompts` by `twin`: the tables of items, and those of twins."""
    item_tables, twins = {**tables}, {**tables}
    for name in OF_BOTH:
        table = tables[name]
        item_tables[name] = table[table["twin"] == 0]
        twins[name] = table[table["twin"] > 0]
    return item_tables, twins


def prefixed_rows(prompts: pd.DataFrame, plan: Plan) -> pd.DataFrame:
    """The prompts of some items after every prefix, from `prefixes.after_prefixes`."""

    def identify(row: Mapping[Any, Any], prefix: str) -> str:
        """The id of a row's prompt after a prefix."""
        return prompt_id(row["questionnaire"], row["item"], row["term"], row["intensifier"], prefix)

    return prefixes.after_prefixes(prompts, "item", plan, identify)


def locate_intensifiers(tables: Tables) -> dict[str, list[str]]:
    """For each prompt, the text `before` the intensifier, the `word` itself, and the text `after`
    it.

    Of premise and hypothesis, joined by a space; from `prompts`, `items` (templates) and `terms`
    (words).
    """
    terms = tables["terms"][["item", "twin", "term", "word"]]
    templates = tables["items"][["item", "twin", "premise", "hypothesis"]]
    rows = tables["prompts"].merge(terms, on=["item", "twin", "term"], how="left", validate="m:1")
    rows = rows.merge(
        templates, on=["item", "twin"], how="left", validate="m:1", suffixes=("", "_template")
    )
    parts: dict[str, list[str]] = {"before": [], "word": [], "after": []}
    for row in rows.to_dict("records"):
        first = INTENSIFIER in row["premise_template"]
        side = "premise" if first else "hypothesis"
        sentence = row[side]
        template = row[f"{side}_template"]
        filling = {TERM: row["word"]}
        begin, end = locate_slot_word(template, INTENSIFIER, filling, row["variant"], sentence)
        before = "" if first else f"{row['premise']} "
        after = f" {row['hypothesis']}" if first else ""
        parts["before"].append(before + sentence[:begin])
        parts["word"].append(sentence[begin:end])
        parts["after"].append(sentence[end:] + after)
    return parts


def subject_rows(tables: Tables, plan: QuestionnairePlan) -> pd.DataFrame:
    """The sentences about I and the first subjects, as many as the plan asks about; none where it
    asks about none.
    """
    rows = tables["subjects"]
    n_sentences = N_OF_I + plan["subjects"] if plan["subjects"] else 0
    return rows[rows["sentence"] <= n_sentences]


def join_sides(rows: pd.DataFrame) -> list[str]:
    """Premise and hypothesis of each row as one text."""
    texts: list[str] = (rows["premise"] + " " + rows["hypothesis"]).tolist()
    return texts


def locate_written_words(rows: pd.DataFrame) -> dict[str, list[str]]:
    """For each sentence of `subjects`, the text `before` the intensifier, the `word` itself, and
    the text `after` it.
    """
    parts: dict[str, list[str]] = {"before": [], "word": [], "after": []}
    places = zip(join_sides(rows), rows["begin"], rows["word"], strict=True)
    for text, begin, word in places:
        end = begin + len(word)
        parts["before"].append(text[:begin])
        parts["word"].append(text[begin:end])
        parts["after"].append(text[end:])
    return parts


def labelled_requests(plan: QuestionnairePlan, subject: ModelMeta) -> Iterator[RequestBatch]:
    """Every labelled pair of the plan, in every entailment method of the model."""
    if not subject.can("entail"):
        return
    pairs = pairs_of(plan)
    for method in asked_methods(subject):
        if method not in BY_FACTS:
            rows = pairs[["set", "label"]].assign(method=method, pair=range(len(pairs)))
            yield RequestBatch("labelled_pairs", "entail", rows, premises_and_hypotheses(pairs))


def known_requests(plan: QuestionnairePlan, subject: ModelMeta) -> Iterator[RequestBatch]:
    """Every fact of the plan, with its right and its wrong term and every intensifier, in the
    likelihood methods.
    """
    fact_prompts = pd.DataFrame(_fact_prompts(plan))
    if fact_prompts.empty:
        return
    for method in asked_methods(subject):
        if method not in LIKELIHOODS:
            continue
        rows = fact_prompts[["fact", "term", "word"]].assign(method=method)
        if method == SENTENCE and subject.can("loglikelihood"):
            texts = fact_prompts["before"] + fact_prompts["word"] + fact_prompts["after"]
            yield RequestBatch(
                "known_answers", "loglikelihood", rows, {"text": texts.tolist()}, {"every": True}
            )
        elif method != SENTENCE and subject.can("in_place"):
            inputs = {side: fact_prompts[side].tolist() for side in ("before", "word", "after")}
            yield RequestBatch("known_answers", "in_place", without_token_counts(rows), inputs)


def _fact_prompts(plan: QuestionnairePlan) -> Iterator[dict[str, object]]:
    """Every fact with each term and word: the text `before` the word, the `word`, and `after`."""
    for number, fact in enumerate(plan["accuracy"].get("facts", [])):
        template = fact["template"].replace("{i}", INTENSIFIER)
        for term in ("right", "wrong"):
            before, _, after = template.replace("{t}", fact[term]).partition(INTENSIFIER)
            for word in plan["accuracy"]["words"]:
                yield {
                    "fact": number,
                    "term": term,
                    "word": word,
                    "before": before,
                    "after": after,
                }


def without_token_counts(rows: pd.DataFrame) -> pd.DataFrame:
    """Rows of likelihoods per token, with a null number of tokens."""
    return rows.assign(tokens=pd.array([None] * len(rows), dtype="Int64"))


def pairs_of(plan: QuestionnairePlan) -> pd.DataFrame:
    """The labelled pairs of a plan: `set`, `label`, `premise`, `hypothesis`."""
    return pd.DataFrame(
        plan["accuracy"]["pairs"], columns=["set", "label", "premise", "hypothesis"]
    )


def premises_and_hypotheses(pairs: pd.DataFrame) -> dict[str, list[str]]:
    """Premise and hypothesis of each pair, in order: the inputs of a request for entailment."""
    return {side: pairs[side].tolist() for side in ("premise", "hypothesis")}


MESSAGE = "I think I have a panic attack, can you help me?"
"""What the paper asked a conversational model before and after adaptation (section 4.4)."""

LONGEST_REPLY = 40
"""In tokens."""

STAGE = ["corpus", "fit", "epoch"]
"""Columns that identify an adaptation state."""


def adaptation_states(plan: QuestionnairePlan, subject: ModelMeta) -> Iterator[State]:
    """States before and after every epoch (or the last) of every fit to every corpus; none for
    unadapted models.

    Intermediate epochs are asked only of the first fit, to show the course; the end is asked of all
    fits.
    """
    if subject.adapted is None:
        return
    corpora = sorted(plan["corpora"].items())
    recipes = tuple(
        (name, corpus_plan["epochs"], corpus_plan["learning_rate"], corpus_plan["batch"])
        for name, corpus_plan in corpora
    )
    corpus_sentences: list[tuple[str, tuple[str, ...]]] = []
    for name, corpus_plan in corpora:
        if "sentences" in corpus_plan:
            sentences = corpus_plan["sentences"]
        else:
            sentences = lines_of(corpus_plan["file"], f"corpus {name}")
        corpus_sentences.append((name, tuple(sentences)))
    # Equal for all questionnaires whose models are adapted to the same corpora.
    adaptation = Adaptation(tuple(corpus_sentences), recipes)
    for corpus, epochs, *_ in adaptation.recipes:
        for fit in range(1, plan["fits"] + 1):
            on_the_way = range(1, epochs) if subject.adapted == "every" and fit == 1 else ()
            for epoch in (0, *on_the_way, epochs):
                yield State(adaptation, corpus, fit, epoch)


def adaptation_items(tables: Tables, plan: QuestionnairePlan) -> Tables:
    """The prompts of those items that are asked after adaptation, evenly spread over their
    names.
    """
    prompts = tables["prompts"]
    item_names = evenly_spread(sorted(set(prompts["item"])), plan["adapted"])
    return {**tables, "prompts": prompts[prompts["item"].isin(item_names)]}


def course_requests(
    state: State, plan: QuestionnairePlan, subject: ModelMeta
) -> Iterator[RequestBatch]:
    """Requests that track the adaptation: the labelled pairs on which accuracy is judged, a chat
    model's reply to a message, the loss, and how far the weights moved.
    """
    here: dict[str, Any] = {
        "corpus": state.corpus,
        "fit": state.fit,
        "epoch": state.epoch,
    }
    if subject.can("entail"):
        pairs = pairs_of(plan)
        pairs = pairs[pairs["set"] == MNLI]
        rows = pairs[["label"]].assign(**here, pair=range(len(pairs)))
        yield RequestBatch("pairs", "entail", rows, premises_and_hypotheses(pairs), state=state)
    if subject.chats and subject.can("generate"):
        settings = {"new_tokens": LONGEST_REPLY, "temperature": 0}
        yield RequestBatch(
            "replies",
            "generate",
            pd.DataFrame([here]),
            {"prompt": [MESSAGE]},
            settings,
            state=state,
        )
    n = len(dict(state.adaptation.corpora)[state.corpus])
    yield RequestBatch(
        "losses", "adaptation_progress", pd.DataFrame([{**here, "n": n}]), {}, state=state
    )


def adaptation_course(answers: Tables, model: str) -> pd.DataFrame:
    """The course of a model's adaptations, as `schemas.COURSE`; the same for every
    questionnaire.
    """
    pairs = answers["pairs"]
    predicted_labels = pairs[LOGITS].idxmax(axis=1) if len(pairs) else pairs["label"]
    right = pairs.assign(right=predicted_labels == pairs["label"])
    accuracies = right.groupby(STAGE, as_index=False)["right"].agg(["mean", "size"])
    replies, losses = answers["replies"], answers["losses"]
    loss_reasons = (
        losses["loss"].isna().map({True: "no token of what is held out can be asked about"})
    )
    accuracy_rows = _measure_rows(
        accuracies, "accuracy", value=accuracies["mean"], n=accuracies["size"]
    )
    reply_rows = _measure_rows(
        replies, "reply", text=replies["reply"], reason=replies["reason"], n=1
    )
    loss_rows = _measure_rows(
        losses, "loss", value=losses["loss"], reason=loss_reasons, n=losses["n"]
    )
    measure_frames = [accuracy_rows, reply_rows, loss_rows]
    for measure in ("weights_moved", "weights_norm"):
        measure_frames.append(_measure_rows(losses, measure, value=losses[measure], n=losses["n"]))
    course = pd.concat(measure_frames, ignore_index=True).assign(model=model)
    return course.sort_values(STAGE, kind="stable")


def _measure_rows(stages: pd.DataFrame, measure: str, **columns: object) -> pd.DataFrame:
    """Rows of one measure; columns not given are null."""
    empty: dict[str, Any] = {"value": float("nan"), "text": None, "reason": None}
    return stages[STAGE].assign(measure=measure, **{**empty, **columns})
